from __future__ import annotations

import csv
import fcntl
import json
import lzma
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest

from interpunct import config
from interpunct.cli import main
from interpunct.errors import ConfigError, InputError, MissingExtraError, ModelError, UnknownNameError
from interpunct.train import Log, TrainConfig, train
from interpunct.train.tune import TuneConfig, Tuned, tune

RECIPE = Path(__file__).parents[1] / "recipes" / "tune-birnn.toml"
TEXT = "I bought an iPhone in New York, and you? No, I did not. So what did you do? We went home, thanks."
BASE = """
[model]
type = "birnn"
name = "small"
version = "1"

[data]
train = ["iwslt:train"]
dev = ["iwslt:dev"]

[options]
vocabulary = 100
embedding = 8
units = 8
hidden = 8
batch = 4

[options.weights]
mark = 1.0
case = 0.5

[train]
epochs = 3
rate = 0.02
device = "cpu"

[tune]
task = "mark"
trials = 4
epochs = 2
startup = 2
"""
RANGES = """
[ranges]
"options.cell" = ["simple", "gru"]
options.units = { low = 4, high = 12, step = 4 }
"options.output_dropout" = { low = 0, high = 1 }
"options.weights.case" = { low = 0.1, high = 2.0, log = true }
"""


@pytest.fixture
def small_corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The layout of the real corpora, with a text of our own in every split."""
    folder = tmp_path / "data" / "iwslt"
    folder.mkdir(parents=True)
    for split in ("train", "dev"):
        row = {"id": split, "title": "", "published": None, "start_ms": None, "paragraphs": [TEXT] * 8}
        (folder / f"{split}.jsonl.xz").write_bytes(lzma.compress((json.dumps(row) + "\n").encode()))
    monkeypatch.setenv("INTERPUNCT_DATA", str(tmp_path / "data"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return written(tmp_path, RANGES)


def written(folder: Path, ranges: str) -> Path:
    path = folder / "search.toml"
    path.write_text(BASE + ranges)
    return path


def table(folder: Path) -> list[dict[str, str]]:
    with (folder / "trials.csv").open(newline="") as file:
        return list(csv.DictReader(file))


class Imitation:
    """Stands in for `train`: an epoch's SER is a function of the settings and the epoch, and weights are a file."""

    def __init__(self, rate: Callable[[TrainConfig, int], Any]) -> None:
        self.rate, self.settings = rate, list[TrainConfig]()

    def __call__(self, path: Path, folder: Path, *, log: Log) -> None:
        settings = config.load(TrainConfig, path)
        self.settings.append(settings)
        for epoch in range(1, settings.train.epochs + 1):
            log({"epoch": epoch, "mark_ser": self.rate(settings, epoch), "seconds": 0.1})
        (folder / "weights.pt").write_bytes(b"weights")
        (folder / "log.jsonl").write_text("{}\n")


@pytest.fixture
def imitate(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Imitation]:
    def install(rate: Callable[[TrainConfig, int], Any]) -> Imitation:
        stand_in = Imitation(rate)
        monkeypatch.setattr("interpunct.train.tune.train", stand_in)
        return stand_in

    return install


def smooth(settings: TrainConfig, epoch: int) -> float:
    """Lowest at 8 units without dropout, in the second epoch."""
    options = settings.options
    return (1 + abs(int(options["units"]) - 8) / 8 + float(options["output_dropout"])) / (4 if epoch == 2 else 3)


@pytest.mark.usefixtures("small_corpora")
def test_tune_writes_a_best_configuration_that_train_takes(path: Path, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = []
    out = tmp_path / "out"
    tuned = tune(path, out, overrides=["tune.prune=false"], log=rows.append)
    # The oracle is the log: the lowest rate of any epoch of any trial.
    epochs = [row for row in rows if "loss" in row]
    assert [(row["trial"], row["epoch"]) for row in epochs] == [(n, e) for n in range(4) for e in (1, 2)]
    best = min(epochs, key=lambda row: float(row["mark_ser"]))
    assert (tuned.task, tuned.value, tuned.trials, tuned.config) == ("mark", best["mark_ser"], 4, out / "best.toml")
    found = config.load(TrainConfig, tuned.config)
    assert (found.train.epochs, found.options["embedding"], found.options["weights"]["mark"]) == (3, 8, 1.0)
    assert tuned.params == {
        "options.cell": found.options["cell"],
        "options.units": found.options["units"],
        "options.output_dropout": found.options["output_dropout"],
        "options.weights.case": found.options["weights"]["case"],
    }
    assert found.options["units"] in (4, 8, 12)
    assert isinstance(found.options["units"], int)
    lines = table(out)
    assert [line["state"] for line in lines] == ["complete"] * 4
    assert min(float(line["mark_ser"]) for line in lines) == tuned.value
    for number, line in enumerate(lines):
        place = out / "trials" / f"{number:03d}"
        used = config.load(TrainConfig, place / "config.toml")
        assert used.train.epochs == 2
        assert line["options.cell"] == used.options["cell"]
        assert float(line["options.weights.case"]) == used.options["weights"]["case"]
        assert len((place / "log.jsonl").read_text().splitlines()) == 2
        assert (place / "weights.pt").exists() == (number == best["trial"])
    assert train(tuned.config, tmp_path / "model").type == "birnn"


@pytest.mark.usefixtures("small_corpora")
def test_tune_gives_up_a_bad_trial_out_of_a_real_training(path: Path, tmp_path: Path) -> None:
    class Stern:
        def prune(self, _study: object, trial: optuna.trial.FrozenTrial) -> bool:
            return bool(trial.number == 1)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optuna.pruners, "MedianPruner", lambda **_: Stern())
        tune(path, tmp_path / "out", overrides=["tune.trials=3"])
    assert [line["state"] for line in table(tmp_path / "out")] == ["complete", "pruned", "complete"]
    place = tmp_path / "out" / "trials" / "001"
    assert sorted(file.name for file in place.iterdir()) == ["config.toml", "log.jsonl"]
    (row,) = map(json.loads, (place / "log.jsonl").read_text().splitlines())
    assert row["epoch"] == 1


def test_tune_goes_on_as_if_it_had_never_stopped(path: Path, tmp_path: Path, imitate: Callable[..., Imitation]) -> None:
    imitate(smooth)
    whole = tune(path, tmp_path / "whole", overrides=["tune.trials=12"])

    class Stop(BaseException):
        """A killed run: nothing may catch it."""

    def dying(settings: TrainConfig, epoch: int) -> float:
        if len(stand_in.settings) == 6:
            raise Stop
        return smooth(settings, epoch)

    stand_in = imitate(dying)
    with pytest.raises(Stop):
        tune(path, tmp_path / "parts", overrides=["tune.trials=12"])
    with (tmp_path / "parts" / "journal.log").open("ab") as journal:
        journal.write(b'{"op_code": 6, "wor')  # what a kill in the middle of a write leaves
    assert config.load(TrainConfig, tmp_path / "parts" / "best.toml")
    later = imitate(smooth)
    parts = tune(path, tmp_path / "parts", overrides=["tune.trials=12"])
    assert len(later.settings) == 7
    assert later.settings[0] == stand_in.settings[5]
    assert (parts.value, parts.params, parts.trials) == (whole.value, whole.params, 12)
    expected, got = table(tmp_path / "whole"), table(tmp_path / "parts")
    assert [line["state"] for line in got].count("interrupted") == 1
    assert got[5]["state"] == "interrupted"
    assert got[5]["seconds"] == ""
    keys = [key for key in expected[0] if key not in ("trial", "seconds")]
    kept = [line for line in got if line["state"] != "interrupted"]
    assert [[line[key] for key in keys] for line in kept] == [[line[key] for key in keys] for line in expected]


def test_tune_trains_nothing_again_and_takes_more_trials(
    path: Path, tmp_path: Path, imitate: Callable[..., Imitation]
) -> None:
    stand_in = imitate(smooth)
    first = tune(path, tmp_path / "out", overrides=["tune.trials=3"])
    assert tune(path, tmp_path / "out", overrides=["tune.trials=3"]) == first
    assert tune(path, tmp_path / "out", overrides=["tune.trials=2"]).trials == 3
    assert len(stand_in.settings) == 3
    assert tune(path, tmp_path / "out", overrides=["tune.trials=5"]).trials == 5
    draws = [json.dumps(settings.options, sort_keys=True) for settings in stand_in.settings]
    assert len(set(draws)) == 5


def test_tune_draws_by_its_seed(path: Path, tmp_path: Path, imitate: Callable[..., Imitation]) -> None:
    def draws(folder: str, seed: int) -> list[dict[str, Any]]:
        stand_in = imitate(smooth)
        tune(path, tmp_path / folder, overrides=[f"tune.seed={seed}"])
        return [settings.options for settings in stand_in.settings]

    assert draws("a", 1) == draws("b", 1)
    assert not [one for one in draws("c", 2) if one in draws("d", 1)]


def test_tune_finds_the_lowest(path: Path, tmp_path: Path, imitate: Callable[..., Imitation]) -> None:
    imitate(smooth)
    tuned = tune(path, tmp_path / "out", overrides=["tune.trials=40"])
    assert tuned.params["options.units"] == 8
    assert tuned.params["options.output_dropout"] < 0.2
    assert {line["epoch"] for line in table(tmp_path / "out") if line["state"] == "complete"} == {"2"}


def test_tune_gives_up_what_is_worse_than_the_median(
    path: Path, tmp_path: Path, imitate: Callable[..., Imitation]
) -> None:
    def worse_and_worse(_settings: TrainConfig, epoch: int) -> float:
        return float(len(stand_in.settings)) if epoch < 9 else 0.0  # and all alike at the end

    stand_in = imitate(worse_and_worse)
    tune(path, tmp_path / "out", overrides=["tune.epochs=9", "tune.trials=4", "tune.startup=3"])
    lines = table(tmp_path / "out")
    assert [line["state"] for line in lines] == ["complete"] * 3 + ["pruned"]
    # A quarter of nine epochs is never cut, which leaves the first.
    assert len((tmp_path / "out" / "trials" / "003" / "log.jsonl").read_text().splitlines()) == 2
    imitate(worse_and_worse)
    tune(path, tmp_path / "no", overrides=["tune.epochs=9", "tune.trials=4", "tune.startup=3", "tune.prune=false"])
    assert [line["state"] for line in table(tmp_path / "no")] == ["complete"] * 4


def test_tune_goes_on_after_a_trial_that_failed(path: Path, tmp_path: Path, imitate: Callable[..., Imitation]) -> None:
    class OutOfMemoryError(RuntimeError):
        """As torch names it."""

    def failing(settings: TrainConfig, epoch: int) -> float | None:
        if len(stand_in.settings) == 1:
            raise ModelError("training diverged")
        if len(stand_in.settings) == 2:
            raise OutOfMemoryError("too large\nby far")
        return None if len(stand_in.settings) == 3 or epoch == 1 else smooth(settings, epoch)

    stand_in = imitate(failing)
    assert tune(path, tmp_path / "out").trials == 4
    lines = table(tmp_path / "out")
    assert [line["state"] for line in lines] == ["fail", "fail", "fail", "complete"]
    assert [line["error"] for line in lines] == ["training diverged", "too large", "no epoch has a mark SER on dev", ""]
    assert len(stand_in.settings) == 4
    assert tune(path, tmp_path / "out").trials == 4


def test_tune_says_why_when_all_trials_fail(path: Path, tmp_path: Path, imitate: Callable[..., Imitation]) -> None:
    def failing(_settings: TrainConfig, _epoch: int) -> float:
        raise ModelError("training diverged; lower train.rate")

    imitate(failing)
    with pytest.raises(ModelError, match="every trial failed, the first with: training diverged"):
        tune(path, tmp_path / "out")
    assert not (tmp_path / "out" / "best.toml").exists()


def test_tune_skips_values_that_do_not_go_together(tmp_path: Path, imitate: Callable[..., Imitation]) -> None:
    stand_in = imitate(lambda settings, _epoch: settings.options["shortest"] / settings.options["longest"])
    ranges = '[ranges]\n"options.shortest" = [5, 30]\n"options.longest" = [20, 40]\n'
    path = written(tmp_path, ranges)
    tune(path, tmp_path / "out", overrides=["options.longest=60", "options.shortest=1", "tune.trials=12"])
    lines = table(tmp_path / "out")
    mismatched = [line for line in lines if (line["options.shortest"], line["options.longest"]) == ("30", "20")]
    assert mismatched
    assert all(line["state"] == "fail" and "do not go together" in line["error"] for line in mismatched)
    assert len(stand_in.settings) == 12 - len(mismatched)


def test_tune_stops_at_an_error_of_its_own(path: Path, tmp_path: Path, imitate: Callable[..., Imitation]) -> None:
    def broken(settings: TrainConfig, epoch: int) -> float:
        return smooth(settings, epoch) / 0

    imitate(broken)
    with pytest.raises(ZeroDivisionError):
        tune(path, tmp_path / "out")
    imitate(smooth)
    assert tune(path, tmp_path / "out").trials == 4
    imitate(smooth)
    with pytest.raises(ConfigError, match="birnn tell no case_ser"):
        tune(path, tmp_path / "other", overrides=["tune.task=case"])


def test_tune_refuses_another_configuration_for_a_search(
    path: Path, tmp_path: Path, imitate: Callable[..., Imitation]
) -> None:
    stand_in = imitate(smooth)
    tune(path, tmp_path / "out")
    with pytest.raises(ConfigError) as caught:
        tune(path, tmp_path / "out", overrides=["options.embedding=16", "ranges.options.units.high=20", "train.clip=2"])
    assert "options.embedding was 8, is 16" in caught.value.problems
    assert "ranges.options.units.high was 12, is 20" in caught.value.problems
    assert "train.clip was 1.0, is 2.0" in caught.value.problems
    assert len(caught.value.problems) == 5  # and what happened, and what to do
    assert len(stand_in.settings) == 4
    quoted = written(tmp_path, RANGES.replace("options.units", '"options.units"'))
    assert tune(quoted, tmp_path / "out").trials == 4


@pytest.mark.usefixtures("small_corpora")
def test_tune_lets_a_configuration_be_mended_that_no_trial_was_made_with(path: Path, tmp_path: Path) -> None:
    few = ["tune.trials=1", "train.epochs=1"]
    with pytest.raises(UnknownNameError, match="split"):
        tune(path, tmp_path / "out", overrides=[*few, 'data.train=["iwslt:trian"]'])
    mended = written(tmp_path, RANGES.replace('["simple", "gru"]', '["simple"]'))
    assert tune(mended, tmp_path / "out", overrides=few).trials == 1


def test_tune_refuses_a_folder_where_a_search_is_running(
    path: Path, tmp_path: Path, imitate: Callable[..., Imitation]
) -> None:
    imitate(smooth)
    (tmp_path / "out").mkdir()
    with (tmp_path / "out" / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="running here"):
            tune(path, tmp_path / "out")
    assert tune(path, tmp_path / "out").trials == 4


def test_tune_tells_all_mistakes_of_ranges_at_once(tmp_path: Path) -> None:
    path = written(tmp_path, """
[ranges]
"options.unitts" = [4, 8]
"optoins.units" = [4, 8]
"options.cell" = ["simple", "gruu"]
"options.layers" = { low = 1.5, high = 3 }
"options.hidden" = { low = 9, high = 3 }
"options.batch" = { low = 4, high = 8, stepp = 2 }
"options.embedding" = { low = 4, high = 9, step = 2 }
"options.rnn_dropout" = { low = 0.0, high = 0.5, log = true }
"options.output_dropout" = 0.3
"options.vocabulary" = []
"options.weights.cse" = [0.5, 1.0]
"train.warmup" = { low = 0, high = 2 }
"data.dev" = ["iwslt:dev", "iwslt:train"]
"train.epochs" = [1, 2]
tune.trials = [1, 2]
""")  # fmt: skip
    with pytest.raises(ConfigError) as caught:
        tune(path, tmp_path / "out", overrides=['model.tasks=["case"]'])
    told = caught.value.problems
    for key, what in [
        ("options.unitts", "did you mean 'units'?"),
        ("optoins.units", "did you mean 'options'?"),
        ("options.cell", "'gruu'; it must be one of 'simple'"),
        ("options.layers", "1.5; it must be a whole number"),
        ("options.hidden", "low must be below high"),
        ("options.batch", "did you mean 'step'?"),
        ("options.embedding", "whole number of steps"),
        ("options.rnn_dropout", "log needs a low above 0"),
        ("options.output_dropout", "neither a list of choices nor a table"),
        ("options.vocabulary", "one or more"),
        ("options.weights.cse", "not among model.tasks"),
        ("train.warmup", "warmup 2.0"),
        ("data.dev", "must be a list"),
        ("tune.trials", "unknown key 'tune'"),
    ]:
        assert any(problem.startswith(f"ranges.{key}: ") and what in problem for problem in told), key
    assert any("tune.task is 'mark'" in problem for problem in told)
    assert any("exclude each other" in problem for problem in told)
    # data.dev and layers have two mistakes each, one per value
    assert len(told) == 18
    assert not (tmp_path / "out").exists()


def test_tune_refuses_other_mistakes_before_it_starts(path: Path, tmp_path: Path) -> None:
    def refuse(*overrides: str, match: str) -> None:
        with pytest.raises(ConfigError, match=match):
            tune(path, tmp_path / "out", overrides=overrides)

    refuse("tune.trial=3", match="did you mean 'trials'")
    refuse("tune.task=pause", match="'mark', 'case'")
    refuse("tune.trials=0", match="at least 1")
    refuse("options.hiden=3", match="did you mean 'hidden'")
    refuse("ranges={}", match="ranges is empty")
    refuse('ranges.options.cell=["gru"]', match=r"ranges\.options\.cell: it is there twice")
    refuse("model.type=onnx", match="cannot be trained")
    assert not (tmp_path / "out").exists()


def test_tune_names_its_extra(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtraError, match=r"interpunct\[tune\]"):
        tune(path, tmp_path / "out")


def test_recipe_is_a_search_over_what_the_paper_tunes(tmp_path: Path, imitate: Callable[..., Imitation]) -> None:
    settings = config.load(TuneConfig, RECIPE)
    assert set(settings.ranges) == {"options"}
    assert set(settings.ranges["options"]) == {
        "cell", "layers", "units", "rnn_dropout", "output_dropout", "hidden", "activation", "weights", "batch",
    }  # fmt: skip
    stand_in = imitate(lambda _settings, epoch: 1 / epoch)
    tuned: Tuned = tune(RECIPE, tmp_path / "out", overrides=["tune.trials=12"])
    assert tuned.trials == len(stand_in.settings) == 12
    assert {trial.train.epochs for trial in stand_in.settings} == {settings.tune.epochs} == {4}
    assert config.load(TrainConfig, tuned.config).train.epochs == settings.train.epochs == 8


@pytest.mark.usefixtures("small_corpora")
def test_command_prints_the_best_and_logs_to_stderr(
    path: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for logged in (6, 0):  # the second call trains nothing and has nothing to tell
        with pytest.raises(SystemExit) as caught:
            main(["tune", str(path), "-o", str(tmp_path / "out"), "--set", "tune.trials=2"])
        assert not caught.value.code
        out, err = capfd.readouterr()
        lowest = min(float(line["mark_ser"]) for line in table(tmp_path / "out"))
        assert out.startswith(f"mark SER {lowest:.4f} on dev, the best of 2 trials")
        assert "options.cell = " in out
        assert str(tmp_path / "out" / "best.toml") in out
        assert [line.split()[0] for line in err.splitlines()] == ["trial"] * logged  # Optuna itself is silent
