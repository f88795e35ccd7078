from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

import interpunct
from interpunct import config
from interpunct.errors import ConfigError, InputError, ModelError, UnknownNameError
from interpunct.export import export
from interpunct.labels import parse_text
from interpunct.models import load
from interpunct.models.folder import load_lexicon
from interpunct.train import TrainConfig, train
from interpunct.train.pack import Pack
from interpunct.transcript import Transcript

RECIPE = Path(__file__).parents[1] / "recipes" / "bundled" / "bigru.toml"
TINY = [
    "train.epochs=60", "train.rate=0.01", "train.average=0.0", "options.vocabulary=200", "options.hidden=32",
    "options.embedding=24", "options.batch=4", "options.dropout=0.0", "options.noise=0.0", "train.device=cpu",
    "data.lexicon_count=1",
]  # fmt: skip
TEXT = "I bought an iPhone in New York, and you? No, I did not. So what did you do? We went home, thanks."


@pytest.fixture
def small_corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The layout of the real corpora, with a text of our own in every split."""
    folder = tmp_path / "data" / "iwslt"
    folder.mkdir(parents=True)
    for split in ("train", "extra", "dev"):
        row = {"id": split, "title": "", "published": None, "start_ms": None, "paragraphs": [TEXT] * 8}
        (folder / f"{split}.jsonl.xz").write_bytes(lzma.compress((json.dumps(row) + "\n").encode()))
    monkeypatch.setenv("INTERPUNCT_DATA", str(tmp_path / "data"))


@pytest.mark.usefixtures("small_corpora")
def test_train_and_export_make_a_model_that_restores(tmp_path: Path) -> None:
    rows: list[dict[str, float]] = []
    train(RECIPE, tmp_path / "model", overrides=TINY, log=rows.append)
    export(tmp_path / "model", tmp_path / "small", int8=True)
    assert rows[-1]["loss"] < 0.5 * rows[0]["loss"]
    restorer = interpunct.load(tmp_path / "small")
    lower = "i bought an iphone in new york and you no i did not so what did you do we went home thanks"
    assert restorer.restore(lower).text == TEXT
    settings = config.load(TrainConfig, tmp_path / "model" / "config.toml")
    assert settings.train.epochs == 60
    card = (tmp_path / "small" / "CARD.md").read_text()
    assert "iwslt:extra" in card
    assert "CC BY-NC-ND" in card
    assert len((tmp_path / "model" / "log.jsonl").read_text().splitlines()) == 60


@pytest.mark.usefixtures("small_corpora")
def test_train_refuses_unknown_names_before_it_starts(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="model type"):
        train(RECIPE, tmp_path / "m", overrides=["model.type=bigrue"])
    with pytest.raises(ConfigError, match=r"did you mean 'hidden'"):
        train(RECIPE, tmp_path / "m", overrides=["options.hiden=3"])
    with pytest.raises(UnknownNameError, match="corpus"):
        train(RECIPE, tmp_path / "m", overrides=['data.train=["ted:train"]'])
    with pytest.raises(UnknownNameError, match="split"):
        train(RECIPE, tmp_path / "m", overrides=['data.train=["iwslt:trian"]'])
    with pytest.raises(UnknownNameError, match="split"):
        train(RECIPE, tmp_path / "m", overrides=['data.dev=["iwslt:devv"]'])
    with pytest.raises(ConfigError, match=r"model\.marks"):
        train(RECIPE, tmp_path / "m", overrides=['model.marks=["", "%"]'])
    with pytest.raises(ConfigError, match="not trained"):
        train(RECIPE, tmp_path / "m", overrides=["model.type=ensemble"])
    with pytest.raises(ConfigError, match="nothing teaches the task 'pos'"):
        train(RECIPE, tmp_path / "m", overrides=['model.tasks=["mark", "pos"]'])
    for override, message in (
        ("model.tasks=[]", "model.tasks is empty"),
        ('data.tags={mark=["gum:dev"]}', "teaches no task"),
        ("options.weights={foo=2.0}", "weighs no task"),
        ('options.vectors=["nowhere.txt"]', "unknown key"),
    ):
        with pytest.raises(ConfigError, match=message):
            train(RECIPE, tmp_path / "m", overrides=[override])
    assert not (tmp_path / "m").exists()
    with pytest.raises(ConfigError, match="CORPUS:SPLIT"):
        train(RECIPE, tmp_path / "m", overrides=['data.train=["iwslt"]'])


@pytest.mark.usefixtures("small_corpora")
@pytest.mark.parametrize(
    ("override", "what"),
    [
        ("data.documents=-1", "documents"), ("data.lexicon_count=0", "lexicon_count"), ("model.name=", "name"),
        ('model.marks=["", ",", ","]', "twice"), ('model.tasks=["mark", "mark"]', "twice"),
        ("train.weight_decay=-5", "weight_decay"), ("train.seed=99999999999999999999", "seed"),
        ("train.rate=1e38", "rate"), ('options.weights={case="a"}', r"weights\.case"),
        ("options.weights={case=-1.0}", "negative"),
    ],
)  # fmt: skip
def test_train_refuses_numbers_that_are_none(tmp_path: Path, override: str, what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        train(RECIPE, tmp_path / "m", overrides=[*TINY, override])
    assert not (tmp_path / "m").exists()


@pytest.mark.usefixtures("small_corpora")
def test_train_refuses_an_output_that_cannot_be_before_it_learns(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    rows: list[dict[str, float]] = []
    for output, what in ((tmp_path / "file", "a file of this name"), (tmp_path / "file" / "m", "cannot be made")):
        with pytest.raises(InputError, match=what):
            train(RECIPE, output, overrides=TINY, log=rows.append)
    with pytest.raises(InputError, match="no name"):
        train(RECIPE, "", overrides=TINY, log=rows.append)
    assert not rows


@pytest.mark.usefixtures("small_corpora")
def test_train_takes_a_pack_of_ones_own_text(tmp_path: Path) -> None:
    talks = [Transcript(parse_text(" ".join([TEXT] * 8)), "talk")]
    Pack.of(talks, sources=["calls:train"]).save(tmp_path / "calls.pack")
    pack = f'data.train=["{tmp_path / "calls.pack"}"]'
    made = train(RECIPE, tmp_path / "m", overrides=[*TINY, pack, "train.epochs=1"])
    assert (made.trained_on, made.licence) == (("calls:train",), "that of calls")
    assert "| calls:train | not among our corpora |" in (tmp_path / "m" / "CARD.md").read_text()


def test_configuration_may_begin_with_a_bom(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_bytes(b"\xef\xbb\xbf" + RECIPE.read_bytes())
    assert config.load(TrainConfig, tmp_path / "c.toml") == config.load(TrainConfig, RECIPE)


def test_lexicon_that_is_not_utf_8_is_told(tmp_path: Path) -> None:
    (tmp_path / "lexicon.txt").write_bytes(b"caf\xe9")
    with pytest.raises(ModelError, match=r"lexicon\.txt: not UTF-8 at byte 3"):
        load_lexicon(tmp_path)


@pytest.mark.usefixtures("small_corpora")
def test_train_that_breaks_off_leaves_what_was_best(tmp_path: Path) -> None:
    rows: list[dict[str, float]] = []

    def log(row: dict[str, float]) -> None:
        rows.append(row)
        if len(rows) == 2:
            raise KeyboardInterrupt

    train(RECIPE, tmp_path / "m", overrides=[*TINY, "train.epochs=1"])
    (tmp_path / "m" / "prosody.onnx").write_bytes(b"of the model before")
    new = ["train.epochs=3", "options.hidden=16", 'model.version="7"']
    with pytest.raises(KeyboardInterrupt):
        train(RECIPE, tmp_path / "m", overrides=[*TINY, *new], log=log)
    assert len(rows) == 2
    assert load(tmp_path / "m").name == "default 7"
    assert config.load(TrainConfig, tmp_path / "m" / "config.toml").options["hidden"] == 16
    left = {path.name for path in (tmp_path / "m").iterdir()}
    assert left == {"model.json", "pieces.json", "weights.pt", "lexicon.txt", "config.toml"}
