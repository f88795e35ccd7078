"""`Scores`: what every model says, and the only thing that decoding sees.

In: nothing. Out: for each task a words × labels array of log-probabilities, normalised per word. A CRF gives emissions
instead, and transitions with them; decoding settles those into probabilities and the best labels of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from interpunct.labels import SENTENCE_MARKS

Array = npt.NDArray[np.float32]
Chances = npt.NDArray[np.float16] | npt.NDArray[np.float32]
"""Probabilities, words × labels; those of millions of words in half precision."""
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Scores:
    """Log-probabilities per task, one row per word."""

    tasks: Mapping[str, Array]
    transitions: Mapping[str, Array] = field(default_factory=dict)
    """For a task of a CRF, labels × labels: what it adds to go from the row's label to the column's."""
    best: Mapping[str, Ints] = field(default_factory=dict)
    """For a task whose labels were chosen together, the label chosen for each word."""

    def __len__(self) -> int:
        return len(next(iter(self.tasks.values())))

    def __getitem__(self, rows: slice) -> Scores:
        """Return some words' scores."""
        return Scores(
            {task: logs[rows] for task, logs in self.tasks.items()},
            self.transitions,
            {task: labels[rows] for task, labels in self.best.items()},
        )

    def chosen(self, task: str) -> Ints:
        """Return each word's label: the one chosen together with the others', or the likeliest."""
        return self.best[task] if task in self.best else self.tasks[task].argmax(axis=1)


def end_chances(parts: Iterable[Scores], marks: Sequence[str]) -> Array:
    """Return the probability of a mark that ends a sentence after each of successive words."""
    ends = [label for label, mark in enumerate(marks) if mark in SENTENCE_MARKS]
    found = [np.exp(part.tasks["mark"][:, ends]).sum(axis=1) for part in parts if "mark" in part.tasks]
    return np.concatenate([np.zeros(0, dtype=np.float32), *found])


def joined(parts: list[Scores]) -> Scores:
    """Put the scores of successive words together."""
    first = parts[0]
    if len(parts) == 1:
        return first
    return Scores(
        {task: np.concatenate([part.tasks[task] for part in parts]) for task in first.tasks},
        first.transitions,
        {task: np.concatenate([part.best[task] for part in parts]) for task in first.best},
    )
