"""NIST SU error rate: missed and inserted sentence boundaries over the reference's.

In: a pair, whose sentence ends are counted; or the SU lines of two RTTM files, whose ends are
matched one to one, in order, where they lie within a tolerance. Out: counts. `, : —` and `…` end nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from interpunct.metrics.boundaries import Mask
from interpunct.metrics.counts import Count, Counts, Rate, ratio
from interpunct.metrics.metric import Metric
from interpunct.metrics.pair import Pair
from interpunct.metrics.prf import OVERALL

TOLERANCE_S = 0.5


@dataclass(frozen=True)
class Boundaries(Counts):
    """Boundaries that were found, missed and inserted."""

    RATES: ClassVar[tuple[str, ...]] = ("error", "precision", "recall", "f1")
    correct: Count = 0
    missed: Count = 0
    inserted: Count = 0

    @property
    def reference(self) -> Count:
        """The reference's boundaries."""
        return self.correct + self.missed

    @property
    def error(self) -> Rate:
        """SU error rate; may exceed 1."""
        return ratio(self.missed + self.inserted, self.reference)

    @property
    def precision(self) -> Rate:
        """The share of the hypothesis's boundaries that are the reference's."""
        return ratio(self.correct, self.correct + self.inserted)

    @property
    def recall(self) -> Rate:
        """The share of the reference's boundaries that were found."""
        return ratio(self.correct, self.reference)

    @property
    def f1(self) -> Rate:
        """The harmonic mean of the two."""
        return ratio(2 * self.correct, 2 * self.correct + self.missed + self.inserted)


def boundary_counts(reference: Mask, hypothesis: Mask, scored: Mask) -> Boundaries:
    """Count boundaries per place."""
    return Boundaries(
        (reference & hypothesis & scored).astype(np.int64),
        (reference & ~hypothesis & scored).astype(np.int64),
        (hypothesis & ~reference & scored).astype(np.int64),
    )


def count(pair: Pair) -> dict[str, Boundaries]:
    """Count boundaries per place."""
    return {OVERALL: boundary_counts(pair.reference_ends, pair.hypothesis_ends, pair.ends_scored)}


def count_times(
    reference_ends: Sequence[float], hypothesis_ends: Sequence[float], *, tolerance_s: float = TOLERANCE_S
) -> Boundaries:
    """Count boundaries by time: as many pairs as there can be, in order, none further apart than the tolerance.

    >>> count_times([1.0, 2.0, 5.0], [1.2, 4.0, 5.1])
    Boundaries(correct=2, missed=1, inserted=1)
    """
    wanted, given = sorted(reference_ends), sorted(hypothesis_ends)
    correct = first = second = 0
    while first < len(wanted) and second < len(given):
        if abs(wanted[first] - given[second]) <= tolerance_s:
            correct, first, second = correct + 1, first + 1, second + 1
        elif wanted[first] < given[second]:
            first += 1
        else:
            second += 1
    return Boundaries(correct, len(wanted) - correct, len(given) - correct)


def value(totals: Mapping[str, Counts]) -> dict[str, Any]:
    """Show the error rate, precision, recall, F1 and the counts."""
    found = totals[OVERALL]
    numbers = found.numbers()
    return {**found.rates(), **numbers, "reference": numbers["correct"] + numbers["missed"]}


SU_ER = Metric(
    name="su_er",
    summary="NIST SU error rate: missed and inserted sentence ends over the reference's",
    count=lambda pair, _: count(pair),
    value=value,
    headline=(OVERALL, "error"),
    lower_is_better=True,
)
