"""`Counts`: what precision, recall and F1 are read from.

In: how many were right, predicted and expected. Out: rates, None where one is undefined. Counts add up;
rates never do.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Counts:
    """Slots that were right, predicted and expected."""

    correct: int = 0
    predicted: int = 0
    expected: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.correct + other.correct, self.predicted + other.predicted, self.expected + other.expected)

    @property
    def precision(self) -> float | None:
        """The share of the predicted that is right."""
        return self.correct / self.predicted if self.predicted else None

    @property
    def recall(self) -> float | None:
        """The share of the expected that was found."""
        return self.correct / self.expected if self.expected else None

    @property
    def f1(self) -> float | None:
        """The harmonic mean of the two, straight from the counts.

        >>> Counts(correct=2, predicted=4, expected=2).f1
        0.6666666666666666
        """
        slots = self.predicted + self.expected
        return 2 * self.correct / slots if slots else None
