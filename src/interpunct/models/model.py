"""`Model`: what a restorer asks of a model, and `Context`: how much of a document it sees at once.

In: windows of features. Out: a `Scores` for each. A model never sees more than its context at a time;
`windows` cuts documents for it and joins what it says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from interpunct.features import Features
from interpunct.models.scores import Scores

TASKS = ("mark", "case")
"""The tasks that decoding knows."""


@dataclass(frozen=True)
class Context:
    """A window of so many words, overlapping the next by so many."""

    words: int
    overlap: int

    def __post_init__(self) -> None:
        if not 0 <= self.overlap < self.words:
            raise ValueError(f"a window of {self.words} words cannot overlap the next by {self.overlap}")


class Model(Protocol):
    """Anything that scores words. The types in `MODELS` can also be saved to a folder and loaded from it."""

    @property
    def name(self) -> str:
        """The model's name and version, as results carry it."""

    @property
    def labels(self) -> Mapping[str, tuple[str, ...]]:
        """The labels of each task, in the order of the scores' columns."""

    @property
    def context(self) -> Context:
        """How much the model sees at once."""

    def forward(self, windows: Sequence[Features]) -> list[Scores]:
        """Score windows, each of at least one word and at most `context.words`."""
