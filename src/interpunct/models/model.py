"""`Model`: what a restorer asks of a model, and `Context`: how much of a document it sees at once.

In: windows of features. Out: a `Scores` for each (`Scorer`), or a way to write labels one after another (`Writer`).
A model never sees more than its context at a time; `decode.windows` cuts documents for it and joins what it says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from interpunct.features import Features
from interpunct.models.scores import Array, Ints, Scores

Clitics = Literal["joined", "split"]


@dataclass(frozen=True)
class Context:
    """How much of a document a model sees at once.

    A window of `words` words that overlaps the next by `overlap`; or, with `restart`, one whose next begins after the
    last sentence end found in it (T-BRNN, a peer in papers 000 and 002); or, without `words`, the whole document
    (paper 000).
    """

    words: int | None
    overlap: int = 0
    restart: bool = False

    def __post_init__(self) -> None:
        if self.words is None:
            if self.overlap or self.restart:
                raise ValueError("a context of the whole document neither overlaps nor restarts")
        elif not 0 <= self.overlap < self.words:
            raise ValueError(f"a window of {self.words} words cannot overlap the next by {self.overlap}")
        elif self.restart and self.overlap:
            raise ValueError("a window that restarts after a sentence does not overlap the next")


class Model(Protocol):
    """What every model says of itself. The types in `MODELS` can also be saved to a folder and loaded from it."""

    @property
    def name(self) -> str:
        """The model's name and version, as results carry it."""

    @property
    def labels(self) -> Mapping[str, tuple[str, ...]]:
        """The labels of each task, in the order of the scores' columns."""

    @property
    def context(self) -> Context:
        """How much the model sees at once."""

    @property
    def clitics(self) -> Clitics:
        """Whether the model reads "don't" as one word or as "do" and "n't"."""


@runtime_checkable
class Scorer(Model, Protocol):
    """A model that scores all words of a window at once."""

    def forward(self, windows: Sequence[Features]) -> list[Scores]:
        """Score windows, each of at least one word and at most `context.words`."""


@runtime_checkable
class Listener(Model, Protocol):
    """A model that may read prosody beside the words."""

    @property
    def hears(self) -> bool:
        """Whether it was made to read prosody."""


class Steps(Protocol):
    """Windows on their way through a model that writes labels one after another.

    All tasks' labels of a word are one label here: their places in the product of the tasks' labels, in their order.
    """

    def step(self, parents: Ints, labels: Ints) -> Array:
        """Go on one word: row r continues row `parents[r]` of the last step, after the label `labels[r]` was written.

        At the first step `parents` are windows, and the labels are not looked at. Returns log-probabilities of
        the next label, rows × labels.
        """


@runtime_checkable
class Writer(Model, Protocol):
    """A model that writes the labels of a window one after another."""

    def steps(self, windows: Sequence[Features]) -> Steps:
        """Begin to write the labels of windows."""
