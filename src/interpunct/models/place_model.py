"""`PlaceModel`: what models have in common that decide a place from a row of numbers (Xu et al. 2017).

In: windows of words, perhaps with prosody; for training, encoded texts. Out: scores; a trained model in its folder, as
arrays. A model type adds what it learns and how. `PlaceInputs` makes the rows.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from interpunct import config
from interpunct.errors import ConfigError, MissingExtraError, ModelError
from interpunct.features import Features
from interpunct.models.dev_scores import dev_scores
from interpunct.models.encoded import IGNORED, Tagged
from interpunct.models.encoded_texts import EncodedTexts, check_corpora, encode_texts
from interpunct.models.folder import DESCRIPTION, Description
from interpunct.models.learner import Learner
from interpunct.models.loop_options import LoopOptions
from interpunct.models.place_inputs import InputOptions, PlaceInputs, load_arrays
from interpunct.models.scores import Array, Ints, Scores
from interpunct.transcript import Transcript

Arrays = dict[str, npt.NDArray[Any]]
Log = Callable[[dict[str, float]], None]
ARRAYS = "arrays.npz"
LEAST = 1e-12

Options = TypeVar("Options", bound=InputOptions)


@dataclass(frozen=True)
class Rows:
    """A corpus as rows of numbers and a label per task and word, document by document."""

    documents: Sequence[Array]
    labels: Sequence[Mapping[str, Ints]]

    def __len__(self) -> int:
        return sum(map(len, self.documents))

    def known(self, task: str) -> tuple[Array, Ints]:
        """Return the rows and labels of all words whose label for a task is known."""
        column = np.concatenate([labels[task] for labels in self.labels])
        return np.concatenate(self.documents)[column != IGNORED], column[column != IGNORED]


class PlaceModel(Learner, ABC, Generic[Options]):
    """A model with its inputs and its description; a subclass names its type, learns and scores."""

    SCALED: ClassVar[bool] = True
    """Whether numbers are scaled and missing ones filled in; else they are as measured, and NaN where missing."""

    def __init__(self, description: Description, inputs: PlaceInputs) -> None:
        self.description = description
        self.options: Options = config.build(self.OPTIONS, description.options)
        self.inputs = inputs

    @classmethod
    def untrained(cls, description: Description, options: Any, _words: Iterable[str], seed: int) -> Self:
        """Return a model that has learned nothing yet; it has no vocabulary of its own."""
        model = cls(description, PlaceInputs.of(options))
        model.start(seed)
        return model

    @property
    def hears(self) -> bool:
        """Whether it reads prosody."""
        return self.inputs.prosody

    def start(self, _seed: int) -> None:
        """Do what a new model needs before it learns: nothing, unless a type says so."""

    def forward(self, windows: Sequence[Features]) -> list[Scores]:
        """Score windows."""
        return [Scores(logs) for logs in self.read([self.row_block(window) for window in windows])]

    @abstractmethod
    def read(self, windows: Sequence[Array]) -> list[dict[str, Array]]:
        """Return log-probabilities per task, words × labels, of windows of rows."""

    @abstractmethod
    def learn(self, train: Rows, dev: Rows, *, loop: LoopOptions, log: Log) -> None:
        """Learn from rows, and tell the log."""

    @abstractmethod
    def arrays(self) -> Arrays:
        """Return what was learned."""

    @abstractmethod
    def take(self, arrays: Arrays) -> None:
        """Take what was learned; raises KeyError, ValueError or RuntimeError where it does not fit."""

    def row_block(self, features: Features) -> Array:
        """Return a window's rows."""
        return self._finished(self.inputs.numbers(features), self.inputs.tag_columns(features))

    def _finished(self, numbers: Array, tags: Array) -> Array:
        return np.concatenate([self.inputs.scaled(numbers) if self.SCALED else numbers, tags], axis=1)

    @property
    def width(self) -> int:
        """Columns of a row."""
        flags = 0 if self.SCALED else self.inputs.flags_width
        return self.inputs.width - flags

    def encode(self, documents: Iterable[Transcript | Tagged]) -> EncodedTexts:
        """Encode documents with the model's own labels; every word is kept."""
        return encode_texts(documents, self.labels, clitics=self.clitics)

    def fit(self, train: EncodedTexts, dev: EncodedTexts, *, loop: LoopOptions, log: Log) -> Self:
        """Learn from encoded transcripts; what dev is good for is a type's own affair."""
        check_corpora(train, dev)
        if not loop.epochs:
            return self
        self.inputs.to(loop.device)
        windows = list(train.windows())
        numbers = [self.inputs.numbers(features) for features, _ in windows]
        self.inputs.learn(numbers)
        rows = [
            self._finished(part, self.inputs.tag_columns(features))
            for part, (features, _) in zip(numbers, windows, strict=True)
        ]
        del numbers
        learned = Rows(rows, [labels for _, labels in windows])
        windows = list(dev.windows())
        held_out = Rows([self.row_block(features) for features, _ in windows], [labels for _, labels in windows])
        self.inputs.to("cpu")
        self.learn(learned, held_out, loop=loop, log=log)
        return self

    def tell(self, log: Log, train: Rows, dev: Rows, *, started: float) -> None:
        """Log how well a model that learns in one go does: its loss on train, its scores on dev."""
        confusion = {task: np.zeros((len(names), len(names)), dtype=np.int64) for task, names in self.labels.items()}
        loss, count = 0.0, 0
        for corpus in (train, dev):
            for rows, labels in zip(corpus.documents, corpus.labels, strict=True):
                (logs,) = self.read([rows])
                for task, column in labels.items():
                    known = np.flatnonzero(column != IGNORED)
                    if corpus is train:
                        loss, count = loss - float(logs[task][known, column[known]].sum()), count + len(known)
                    else:
                        np.add.at(confusion[task], (column[known], logs[task][known].argmax(axis=1)), 1)
        row = {"epoch": 1, "loss": loss / max(1, count), **dev_scores(self.labels, confusion)}
        log({name: round(value, 5) for name, value in row.items()} | {"seconds": round(time.monotonic() - started, 1)})

    def save(self, folder: Path) -> None:
        """Write the model into a folder."""
        self.description.save(folder)
        self.inputs.save(folder)
        np.savez(folder / ARRAYS, **self.arrays())  # type: ignore[arg-type]

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a trained model from its folder."""
        description = Description.load(folder)
        try:
            options = config.build(cls.OPTIONS, description.options)
        except ConfigError as error:
            raise ModelError(f"{folder / DESCRIPTION}: {error}; train the model again") from None
        model = cls(description, PlaceInputs.load(folder, options))
        try:
            model.take(load_arrays(folder / ARRAYS))
        except (KeyError, ValueError, RuntimeError) as error:
            reason = str(error).splitlines()[0]
            raise ModelError(f"{folder / ARRAYS}: not what this model learned: {reason}; train it again") from None
        return model


def scikit(module: str) -> Any:
    """Return a module of scikit-learn, which only learning needs."""
    try:
        return import_module(f"sklearn.{module}")
    except ImportError:
        raise MissingExtraError("learning with scikit-learn", "papers") from None
