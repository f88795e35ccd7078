"""Labels chosen together from probabilities of single places (Xu et al. 2017, section 3.3, eq. 10-12).

In: log-probabilities of each place's labels. Out: the best sequence of labels: each place counts log p(y|x) / p(y),
each step from a label to the next a transition score. Prior and transitions come from a training text's labels; the
transitions are then tuned on dev, by SU error rate. The search itself is `models.lattice`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from interpunct.errors import InputError
from interpunct.labels import SENTENCE_MARKS
from interpunct.models.encoded import IGNORED
from interpunct.models.lattice import viterbi
from interpunct.models.scores import Array, Ints

Floats = npt.NDArray[np.float64]
SCALES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
"""How much of what the training text's transitions say beyond its prior is tried on dev."""
_STEPS = (2.0, 1.0, 0.5, 0.25, 0.1)
_ROUNDS = 20


class Document(NamedTuple):
    """A document of dev: what the model says of each place, and its label; `IGNORED` where nobody knows it."""

    logs: Array
    labels: Ints


@dataclass(frozen=True, eq=False)
class Transitions:
    """Log priors of labels, and log scores of going from the row's label to the column's."""

    prior: Floats
    scores: Floats

    def __post_init__(self) -> None:
        if self.scores.shape != (*self.prior.shape, *self.prior.shape):
            raise InputError(f"transitions of shape {self.scores.shape} for {len(self.prior)} labels; give labels²")

    @classmethod
    def learn(cls, documents: Iterable[Ints], labels: int) -> Self:
        """Count labels and pairs of labels in a training text, each once more than they occur (eq. 2)."""
        single, pairs = np.ones(labels), np.ones((labels, labels))
        for column in documents:
            np.add.at(single, column[column != IGNORED], 1)
            both = (column[:-1] != IGNORED) & (column[1:] != IGNORED)
            np.add.at(pairs, (column[:-1][both], column[1:][both]), 1)
        return cls(np.log(single / single.sum()), np.log(pairs / pairs.sum(axis=1, keepdims=True)))

    def emissions(self, logs: Array) -> Floats:
        """Return what places count: log p(y|x) / p(y) (eq. 10); the first one p(y|x), as p(y) leads to it (eq. 3)."""
        counted = logs.astype(np.float64) - self.prior
        counted[..., :1, :] += self.prior
        return counted

    def best(self, logs: Array) -> Ints:
        """Return the labels with the highest score in all (eq. 12)."""
        return viterbi(self.emissions(logs), self.scores)

    def scaled(self, scale: float) -> Self:
        """Return transitions that count more or less; with 0 each place's likeliest label is the best one."""
        return type(self)(self.prior, self.prior + scale * (self.scores - self.prior))

    def save(self, path: Path) -> None:
        """Write the numbers as JSON."""
        data = {"prior": self.prior.tolist(), "scores": self.scores.tolist()}
        path.write_text(json.dumps(data) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the numbers."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            return cls(np.array(data["prior"], dtype=np.float64), np.array(data["scores"], dtype=np.float64))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"no transitions: {error}; tune them again", path=str(path)) from None


class Tuned(NamedTuple):
    """The transitions that are best on dev, and the SU error rate that they have there."""

    transitions: Transitions
    error: float | None


def tune(start: Transitions, dev: Sequence[Document], marks: Sequence[str]) -> Tuned:
    """Find the transitions with the lowest SU error rate on dev.

    First how much the training text's transitions count, from nothing at all; then each score for itself, up and down
    in steps, as long as that helps. Of equal ones the first stays, so dev is never worse off than with each place's
    likeliest label. All that are tried in a round go through the lattice together.
    """
    closing = np.array([mark in SENTENCE_MARKS for mark in marks])
    tried = [start.scaled(scale) for scale in SCALES]
    errors = _errors(tried, dev, closing)
    best, fewest = tried[int(errors.argmin())], int(errors.min())
    for _ in range(_ROUNDS):
        tried = _around(best)
        errors = _errors(tried, dev, closing)
        if not len(errors) or int(errors.min()) >= fewest:
            break
        best, fewest = tried[int(errors.argmin())], int(errors.min())
    reference = sum(int(closing[document.labels[document.labels != IGNORED]].sum()) for document in dev)
    return Tuned(best, fewest / reference if reference else None)


def _around(transitions: Transitions) -> list[Transitions]:
    """Return transitions of which one score differs; what leads from the first label to itself may stay as it is."""
    found = []
    for step in _STEPS:
        for place in range(1, transitions.scores.size):
            for sign in (1, -1):
                scores = transitions.scores.copy()
                scores.flat[place] += sign * step
                found.append(Transitions(transitions.prior, scores))
    return found


def _errors(tried: Sequence[Transitions], dev: Iterable[Document], closing: npt.NDArray[np.bool_]) -> Ints:
    """Count each one's missed and inserted sentence ends; all of them have one prior."""
    total = np.zeros(len(tried), dtype=np.int64)
    if not tried:
        return total
    scores = np.stack([transitions.scores for transitions in tried])
    for logs, labels in dev:
        emissions = tried[0].emissions(logs)
        found = viterbi(np.broadcast_to(emissions, (len(tried), *emissions.shape)), scores)
        known = labels != IGNORED
        total += (closing[found[:, known]] != closing[labels[known]]).sum(axis=1)
    return total
