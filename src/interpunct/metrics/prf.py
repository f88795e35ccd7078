"""Precision, recall and F1 of marks, per mark and micro over all (`overall`).

In: a pair. Out: counts per place. Four classes are the papers' three marks and none, three merge the full
stop and the question mark (`stop`), two ask only whether there is a mark (paper 001, section 4). A correct
"no mark" is not counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from interpunct.errors import InputError
from interpunct.metrics.boundaries import Mask
from interpunct.metrics.classes import CLASSES, class_of
from interpunct.metrics.counts import Counts, PrecisionRecall
from interpunct.metrics.metric import Metric
from interpunct.metrics.pair import Pair

OVERALL = "overall"


def label_counts(
    reference: Sequence[str], hypothesis: Sequence[str], scored: Mask, *, labels: Sequence[str]
) -> dict[str, PrecisionRecall]:
    """Count each label at each scored place; `overall` is any of them (micro)."""
    codes = {label: code for code, label in enumerate(labels, start=1)}
    right = np.fromiter((codes.get(label, 0) for label in reference), dtype=np.int16, count=len(reference))
    guess = np.fromiter((codes.get(label, 0) for label in hypothesis), dtype=np.int16, count=len(hypothesis))
    same = right == guess
    counts = {
        label: PrecisionRecall(
            ((right == code) & same & scored).astype(np.int64),
            ((guess == code) & scored).astype(np.int64),
            ((right == code) & scored).astype(np.int64),
        )
        for label, code in codes.items()
    }
    return counts | {OVERALL: sum(counts.values(), PrecisionRecall())}


def count(pair: Pair, *, classes: int = 4) -> dict[str, PrecisionRecall]:
    """Count marks per place."""
    names = list(dict.fromkeys(CLASSES[classes].values()))
    reference = [class_of(mark, classes) for mark in pair.reference_marks]
    hypothesis = [class_of(mark, classes) for mark in pair.hypothesis_marks]
    return label_counts(reference, hypothesis, pair.marks_scored, labels=names)


def mark_prf(reference: Sequence[str | None], hypothesis: Sequence[str | None]) -> dict[str, PrecisionRecall]:
    """Count the papers' three marks over two sequences; a reference of None is a place nobody knows.

    >>> mark_prf(["!", "—"], [".", ""])["overall"].f1
    0.6666666666666666
    """
    return totals_of(
        [class_of(mark) for mark in reference],
        [class_of(mark) for mark in hypothesis],
        _known(reference, hypothesis),
        labels=list(CLASSES[4].values()),
    )


def totals_of(
    reference: Sequence[str], hypothesis: Sequence[str], scored: Mask, *, labels: Sequence[str]
) -> dict[str, PrecisionRecall]:
    """Count labels and sum over the places."""
    counts = label_counts(reference, hypothesis, scored, labels=labels)
    return {label: count.total() for label, count in counts.items()}


def _known(reference: Sequence[str | None], hypothesis: Sequence[str | None]) -> Mask:
    if len(reference) != len(hypothesis):
        raise InputError("reference and hypothesis have different numbers of words; align them first")
    return np.fromiter((tag is not None for tag in reference), dtype=np.bool_, count=len(reference))


def value(totals: Mapping[str, Counts]) -> dict[str, Any]:
    """Show rates and counts by label, and the plain mean of the labels' F1 as `macro`."""
    shown: dict[str, Any] = {label: {**count.rates(), **count.numbers()} for label, count in totals.items()}
    scores = [entry["f1"] for label, entry in shown.items() if label != OVERALL and entry["f1"] is not None]
    return shown | {"macro": {"f1": sum(scores) / len(scores) if scores else None}}


PRF = Metric(
    name="prf",
    summary="precision, recall and F1 of marks, per mark and micro overall",
    count=lambda pair, options: count(pair, classes=options.classes),
    value=value,
    headline=(OVERALL, "f1"),
)
