"""Counts, which add up, and the rates that are read from them last.

In: how often something was right, wrong, missing. Out: rates, None where one is undefined. A count is a
number, or an array of them: one for each place, each unit of a bootstrap or each of its draws; the rates are
then arrays, too, with NaN for the undefined. Corpus figures come from summed counts, never from a mean of rates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

Count = Any
"""An int, or an integer array."""
Rate = Any
"""A float or None, or a float array with NaN."""


def ratio(part: Count, whole: Count) -> Rate:
    """Divide counts; nothing by nothing is undefined.

    >>> ratio(1, 2), ratio(0, 0)
    (0.5, None)
    """
    if isinstance(part, np.ndarray) or isinstance(whole, np.ndarray):
        part, whole = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
        return np.divide(part, whole, out=np.full(np.broadcast(part, whole).shape, np.nan), where=whole != 0)
    return part / whole if whole else None


@dataclass(frozen=True)
class Counts:
    """The base: counts of one kind add field by field."""

    RATES: ClassVar[tuple[str, ...]] = ()
    """The names of the properties that are rates."""

    def mapped(self, change: Callable[[Count], Count]) -> Self:
        """Return the same kind of counts with a function applied to each field."""
        return type(self)(*(change(getattr(self, field.name)) for field in fields(self)))

    def __add__(self, other: Self) -> Self:
        pairs = ((getattr(self, field.name), getattr(other, field.name)) for field in fields(self))
        return type(self)(*(one + two for one, two in pairs))

    def total(self) -> Self:
        """Sum each field over its array."""
        return self.mapped(lambda count: int(np.sum(count)))

    def rates(self) -> dict[str, Rate]:
        """Return every rate by its name."""
        return {name: getattr(self, name) for name in self.RATES}

    def numbers(self) -> dict[str, Count]:
        """Return every count by its name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True)
class PrecisionRecall(Counts):
    """Labels that were right, predicted and expected."""

    RATES: ClassVar[tuple[str, ...]] = ("precision", "recall", "f1")
    correct: Count = 0
    predicted: Count = 0
    expected: Count = 0

    @property
    def precision(self) -> Rate:
        """The share of the predicted that is right."""
        return ratio(self.correct, self.predicted)

    @property
    def recall(self) -> Rate:
        """The share of the expected that was found."""
        return ratio(self.correct, self.expected)

    @property
    def f1(self) -> Rate:
        """The harmonic mean of the two, straight from the counts.

        >>> PrecisionRecall(correct=2, predicted=4, expected=2).f1
        0.6666666666666666
        """
        return ratio(2 * self.correct, self.predicted + self.expected)


@dataclass(frozen=True)
class Slots(Counts):
    """Slots that were right, of the wrong kind, missed, and filled where there is none."""

    RATES: ClassVar[tuple[str, ...]] = ("ser", "per")
    correct: Count = 0
    substituted: Count = 0
    deleted: Count = 0
    inserted: Count = 0

    @property
    def errors(self) -> Count:
        """All that is wrong."""
        return self.substituted + self.deleted + self.inserted

    @property
    def reference(self) -> Count:
        """The slots of the reference."""
        return self.correct + self.substituted + self.deleted

    @property
    def ser(self) -> Rate:
        """Slot error rate: errors over the reference's slots; may exceed 1."""
        return ratio(self.errors, self.reference)

    @property
    def per(self) -> Rate:
        """Punctuation error rate (LibriSpeech-PC): errors over all slots of either side; never above 1."""
        return ratio(self.errors, self.errors + self.correct)


Places = npt.NDArray[np.int64]
