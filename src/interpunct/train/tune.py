"""Search a model's options for the lowest slot error rate (SER) on dev, as paper 000 (section 3.2) chose its own.

In: a TOML file that is a training configuration with two more tables, [tune] (task, trials) and [ranges] (which keys to
draw, and from what). Out: a folder with best.toml, which `train` takes as it is, a table of all trials, each trial's
configuration and log, and the model of the best one. The journal in the folder holds every finished trial: a search
that was interrupted goes on where it stopped, with the draws it would have made. Nothing is ever scored but dev.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from interpunct import config
from interpunct.errors import ConfigError, InputError, MissingExtraError, ModelError, UnknownNameError
from interpunct.formats import replace_file
from interpunct.models.folder import make_folder
from interpunct.train import Log, TrainConfig, train
from interpunct.train.ranges import distribution, mistakes, ranges, with_values

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.study import Study
    from optuna.trial import FrozenTrial, Trial

_SETTINGS, _BEST, _TABLE, _JOURNAL, _TRIALS = "tune.toml", "best.toml", "trials.csv", "journal.log", "trials"
_CONFIG, _LOG = "config.toml", "log.jsonl"
_ERROR = "error"  # on a failed trial: it was finished, and failed by itself; an interrupted one has none


@dataclass(frozen=True)
class SearchOptions:
    """How to search."""

    task: Literal["mark", "case"]
    """The task at hand: whose SER on dev counts, also where a model learns both."""
    trials: int
    """How many in all, those of earlier runs included."""
    seed: int = 1
    epochs: int | None = None
    """Epochs of a trial, where fewer than the final training's will do."""
    startup: int = 10
    """The first so many trials are drawn at random, and none of them is given up."""
    prune: bool = True
    """Whether to give up a trial that is worse than the median of the others at the same epoch."""

    def __post_init__(self) -> None:
        if self.trials < 1 or self.startup < 1 or (self.epochs is not None and self.epochs < 1):
            raise ValueError("trials, startup and epochs must be at least 1")
        if self.seed < 0:
            raise ValueError("seed must not be negative")


@dataclass(frozen=True, kw_only=True)
class TuneConfig(TrainConfig):
    """A training run, and which of its keys to search."""

    tune: SearchOptions
    ranges: dict[str, Any]
    """A key of the training configuration, e.g. options.units, → a list of choices or the table of a `Range`."""


@dataclass(frozen=True)
class Tuned:
    """What a search found."""

    task: str
    value: float
    """The lowest SER on dev, as a share."""
    params: dict[str, Any]
    trials: int
    config: Path
    """The configuration of the best trial, to train with."""


def tune(path: str | Path, folder: str | Path, *, overrides: Iterable[str] = (), log: Log | None = None) -> Tuned:
    """Search the ranges that a configuration file names, or go on with the search in `folder`.

    `log` hears of every epoch (`trial`, `epoch`, ...) and of every trial's end (`trial`, `state`, ...).
    """
    try:
        import optuna
        from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock, JournalStorage
    except ModuleNotFoundError:
        raise MissingExtraError("tuning", "tune") from None
    settings = config.load(TuneConfig, path, overrides)
    base, space = _check(settings, str(path))
    folder = make_folder(folder)
    make_folder(folder / _TRIALS)
    with _alone(folder), _quiet():
        _begin(settings, folder)
        journal = folder / _JOURNAL
        _mend(journal)
        # Nobody else writes this journal, so a lock on it was left by a killed run and is soon broken.
        backend = JournalFileBackend(str(journal), lock_obj=JournalFileOpenLock(str(journal), grace_period=3))
        study = optuna.create_study(
            storage=JournalStorage(backend), study_name="tune", load_if_exists=True, direction="minimize"
        )
        if settings.tune.prune:
            epochs = settings.tune.epochs or settings.train.epochs
            study.pruner = optuna.pruners.MedianPruner(
                n_startup_trials=settings.tune.startup,
                n_warmup_steps=epochs // 4,  # a large network begins slowly
            )
        else:
            study.pruner = optuna.pruners.NopPruner()
        search = _Search(study, space, base, settings.tune, folder, log or (lambda _row: None))
        try:
            return search.run()
        except (ConfigError, InputError, UnknownNameError):
            if not search.ended():  # nothing was learned by this configuration, which may be mended
                (folder / _SETTINGS).unlink()
                journal.unlink(missing_ok=True)
            raise


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep a second run out of the folder: it would take this one's running trial for a left one."""
    with (folder / "lock").open("wb") as lock:
        if sys.platform != "win32":
            import fcntl

            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError("a search is running here; wait for it or choose another", path=str(folder)) from None
        yield


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Optuna from writing to stderr; `log` tells what there is to tell."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


def _mend(journal: Path) -> None:
    """Cut off the half line that a killed run may have left: the next line would be written behind it."""
    if journal.exists() and not (data := journal.read_bytes()).endswith(b"\n"):
        with journal.open("r+b") as file:
            file.truncate(data.rfind(b"\n") + 1)


def _begin(settings: TuneConfig, folder: Path) -> None:
    """Note the configuration, or hold it against the one that the search began with; more trials may be asked for."""
    noted = folder / _SETTINGS
    if noted.exists():
        before, after = (_flat(dataclasses.asdict(one)) for one in (config.load(TuneConfig, noted), settings))
        changes = [
            f"{key} was {before.get(key)!r}, is {after.get(key)!r}"
            for key in before | after
            if key != "tune.trials" and before.get(key) != after.get(key)
        ]
        if changes:
            raise ConfigError(
                ["the search here began with another configuration", *changes, "undo that, or choose another folder"],
                path=str(folder),
            )
    replace_file(noted, [config.dump(settings).encode()])


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return a table of tables as one, with dotted keys.

    >>> _flat({"options": {"units": 8, "weights": {"case": 0.5}}})
    {'options.units': 8, 'options.weights.case': 0.5}
    """
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def _check(settings: TuneConfig, path: str) -> tuple[TrainConfig, dict[str, BaseDistribution]]:
    """Refuse what cannot work, all of it at once; return the training configuration and what to draw from."""
    base = TrainConfig(**{field.name: getattr(settings, field.name) for field in dataclasses.fields(TrainConfig)})
    problems = mistakes(base, {})
    space: dict[str, BaseDistribution] = {}
    if not problems:  # else each of them would be told again for each key
        for key, given in sorted(ranges(settings.ranges), key=lambda item: item[0]):
            twice = ["it is there twice, with quotes and without"] if key in space else []
            found = twice or distribution(key, given, base)
            if isinstance(found, list):
                problems += [f"ranges.{key}: {problem}" for problem in found]
            else:
                space[key] = found
    if not settings.ranges:
        problems.append("ranges is empty; give it keys, e.g. options.units = [64, 128]")
    if settings.tune.task not in settings.model.tasks:
        problems.append(f"tune.task is {settings.tune.task!r}, which is not among model.tasks")
    if settings.tune.epochs is not None and "train.epochs" in space:
        problems.append("tune.epochs and ranges.train.epochs exclude each other; give one")
    if problems:
        raise ConfigError(problems, path=path)
    return base, space


@dataclass(frozen=True)
class _Search:
    """A study with all that its trials need."""

    study: Study
    space: dict[str, BaseDistribution]
    base: TrainConfig
    options: SearchOptions
    folder: Path
    log: Log

    def run(self) -> Tuned:
        """Run the trials that are missing and return the best of all."""
        from optuna.samplers import TPESampler
        from optuna.trial import TrialState

        for left in self.study.get_trials(deepcopy=False, states=[TrialState.RUNNING]):
            self.study.tell(left.number, state=TrialState.FAIL)
        while (done := self.finished()) < self.options.trials:
            # The draws of a trial have their own seed, so that an interrupted search draws what it would have drawn.
            seed = int(np.random.SeedSequence([self.options.seed, done]).generate_state(1)[0])
            self.study.sampler = TPESampler(n_startup_trials=self.options.startup, seed=seed)
            self.attempt(self.study.ask(self.space))
            self.write()
        best = self.write()
        if best is None:
            error = next(trial.user_attrs[_ERROR] for trial in self.study.trials if _ERROR in trial.user_attrs)
            raise ModelError(f"{self.folder}: every trial failed, the first with: {error}; change the ranges")
        return Tuned(self.options.task, float(best.values[0]), best.params, done, self.folder / _BEST)

    def finished(self) -> int:
        """Return how many trials count: all but those that were interrupted."""
        from optuna.trial import TrialState

        trials = self.study.get_trials(deepcopy=False)
        return sum(trial.state != TrialState.FAIL or _ERROR in trial.user_attrs for trial in trials)

    def ended(self) -> int:
        """Return how many trials came to an end, well or by themselves."""
        from optuna.trial import TrialState

        return self.finished() - len(self.study.get_trials(deepcopy=False, states=[TrialState.RUNNING]))

    def attempt(self, trial: Trial) -> None:
        """Train with a trial's draws and tell the study how it went."""
        from optuna import TrialPruned
        from optuna.trial import TrialState

        place = self.folder / _TRIALS / f"{trial.number:03d}"
        rows: list[dict[str, Any]] = []
        rates: list[float] = []
        try:
            fewer = {} if self.options.epochs is None else {"train.epochs": self.options.epochs}
            if wrong := mistakes(self.base, trial.params | fewer):
                raise ModelError(f"these values do not go together: {'; '.join(wrong)}")
            settings = with_values(self.base, trial.params | fewer)
            make_folder(place)
            replace_file(place / _CONFIG, [config.dump(settings).encode()])

            def note(row: dict[str, Any]) -> None:
                rows.append(row)
                self.log({"trial": trial.number, **row})
                rate = self.error_rate(row)
                if math.isfinite(rate):
                    rates.append(rate)
                    trial.report(rate, int(row["epoch"]))
                    # After its last epoch a trial has nothing left to save.
                    if row["epoch"] < settings.train.epochs and trial.should_prune():
                        raise TrialPruned

            train(place / _CONFIG, place, log=note)
            if not rates:
                raise ModelError(f"no epoch has a {self.options.task} SER on dev")
            done = self.study.tell(trial, min(rates))
        except TrialPruned:
            replace_file(place / _LOG, [json.dumps(row).encode() + b"\n" for row in rows])
            done = self.study.tell(trial, state=TrialState.PRUNED)
        except Exception as error:
            # What these values are to blame for ends this trial, anything else the search. Torch's own error for a
            # full memory goes by its name: not every model type needs torch.
            if not isinstance(error, ModelError | MemoryError) and type(error).__name__ != "OutOfMemoryError":
                raise
            trial.set_user_attr(_ERROR, str(error).partition("\n")[0] or type(error).__name__)
            done = self.study.tell(trial, state=TrialState.FAIL)
        self.log({name: value for name, value in self.row(done).items() if value != ""} | done.params)

    def error_rate(self, row: Mapping[str, Any]) -> float:
        """Return an epoch's SER of the task at hand; it is not a number where dev has nothing to find."""
        name = f"{self.options.task}_ser"
        if name not in row:
            kind = self.base.model.type
            raise ConfigError([f"models of type {kind} tell no {name} on dev, so they cannot be tuned by it"])
        return math.nan if row[name] is None else float(row[name])

    def row(self, trial: FrozenTrial) -> dict[str, Any]:
        """Return a trial as a row of the table, without its values."""
        from optuna.trial import TrialState

        error = trial.user_attrs.get(_ERROR, "")
        interrupted = trial.state == TrialState.FAIL and not error
        state = "interrupted" if interrupted else trial.state.name.lower()
        rate, epoch = min(((rate, epoch) for epoch, rate in trial.intermediate_values.items()), default=("", ""))
        # Optuna's clock runs until a trial is told of, which for an interrupted one is the next run.
        seconds = "" if interrupted or trial.duration is None else round(trial.duration.total_seconds(), 1)
        return {
            "trial": trial.number, "state": state, f"{self.options.task}_ser": rate, "epoch": epoch,
            "seconds": seconds, "error": error,
        }  # fmt: skip

    def write(self) -> FrozenTrial | None:
        """Write the table and the best configuration, keep of all models only the best, and return its trial."""
        from optuna.trial import TrialState

        trials = self.study.get_trials(deepcopy=False)
        table = io.StringIO()
        rows = [self.row(trial) for trial in trials]
        writer = csv.DictWriter(table, [*rows[0], *self.space], lineterminator="\n")
        writer.writeheader()
        writer.writerows(row | trial.params for row, trial in zip(rows, trials, strict=True))
        replace_file(self.folder / _TABLE, [table.getvalue().encode()])
        complete = [trial for trial in trials if trial.state == TrialState.COMPLETE]
        best = min(complete, key=lambda trial: (trial.value, trial.number), default=None)
        for trial in trials:
            if trial is not best:
                _strip(self.folder / _TRIALS / f"{trial.number:03d}")
        if best is not None:
            replace_file(self.folder / _BEST, [config.dump(with_values(self.base, best.params)).encode()])
        return best


def _strip(place: Path) -> None:
    """Leave of a trial's model what tells how it was made; weights of hundreds of trials would fill the disk."""
    for path in place.glob("*"):
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name not in (_CONFIG, _LOG):
            path.unlink()
