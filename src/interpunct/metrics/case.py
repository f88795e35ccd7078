"""Precision, recall, F1 and slot error rate of capitals.

In: a pair. Out: counts per place for every class but lower, and over all. The papers merge mixed into
sentence case; that is an option here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from interpunct.cases import CASES
from interpunct.metrics.counts import Counts, PrecisionRecall
from interpunct.metrics.metric import Metric
from interpunct.metrics.pair import Pair
from interpunct.metrics.prf import OVERALL, label_counts, totals_of
from interpunct.metrics.slots import slot_counts

SER = "ser"


def classes(merge_mixed: bool) -> list[str]:
    """Return the classes that are counted."""
    return [case for case in CASES if case != "lower" and not (merge_mixed and case == "mixed")]


def _merged(cases: Sequence[str | None], merge_mixed: bool) -> list[str]:
    return ["sentence" if merge_mixed and case == "mixed" else case or "lower" for case in cases]


def count(pair: Pair, *, merge_mixed: bool = False) -> dict[str, Counts]:
    """Count cases per place; `ser` holds the slots."""
    reference = _merged(pair.reference_cases, merge_mixed)
    hypothesis = _merged(pair.hypothesis_cases, merge_mixed)
    counted: dict[str, Counts] = dict(
        label_counts(reference, hypothesis, pair.case_scored, labels=classes(merge_mixed))
    )
    slots = [["" if case == "lower" else case for case in side] for side in (reference, hypothesis)]
    return counted | {SER: slot_counts(slots[0], slots[1], pair.case_scored)}


def case_prf(reference: Sequence[str | None], hypothesis: Sequence[str | None]) -> dict[str, PrecisionRecall]:
    """Count cases over two sequences; a reference of None is a place nobody knows.

    >>> case_prf(["lower", "upper", "lower"], ["lower", "upper", "sentence"])["overall"].precision
    0.5
    """
    known = np.fromiter((case is not None for case in reference), dtype=np.bool_, count=len(reference))
    return totals_of(_merged(reference, False), _merged(hypothesis, False), known, labels=classes(False))


def value(totals: Mapping[str, Counts]) -> dict[str, Any]:
    """Show rates and counts by class, and the slot error rate."""
    shown: dict[str, Any] = {
        label: {**found.rates(), **found.numbers()} for label, found in totals.items() if label != SER
    }
    return shown | {SER: totals[SER].rates()["ser"]}


CASE = Metric(
    name="case",
    summary="precision, recall, F1 and slot error rate of capitals",
    count=lambda pair, options: count(pair, merge_mixed=options.merge_mixed),
    value=value,
    headline=(OVERALL, "f1"),
    rates=("precision", "recall", "f1", "ser"),
)
