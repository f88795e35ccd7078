"""Slot error rate and punctuation error rate.

In: a pair. Out: slots that are right, of the wrong kind, missed or added, per place. SER divides the errors by
the reference's slots (paper 000, footnote 1; it may exceed 1), PER by all slots of either side (LibriSpeech-PC;
it never does).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from interpunct.metrics.boundaries import Mask
from interpunct.metrics.classes import class_of
from interpunct.metrics.counts import Slots
from interpunct.metrics.metric import Metric
from interpunct.metrics.pair import Pair
from interpunct.metrics.prf import OVERALL


def slot_counts(reference: Sequence[str], hypothesis: Sequence[str], scored: Mask) -> Slots:
    """Count slots per place; "" is no slot."""
    names = sorted({*reference, *hypothesis} - {""})
    codes = {"": 0} | {name: code for code, name in enumerate(names, start=1)}
    right = np.fromiter((codes[name] for name in reference), dtype=np.int16, count=len(reference))
    guess = np.fromiter((codes[name] for name in hypothesis), dtype=np.int16, count=len(hypothesis))
    wanted, given, same = (right > 0) & scored, (guess > 0) & scored, right == guess
    return Slots(
        (wanted & same).astype(np.int64),
        (wanted & given & ~same).astype(np.int64),
        (wanted & ~given).astype(np.int64),
        (given & ~wanted).astype(np.int64),
    )


def count(pair: Pair, *, classes: int = 4) -> dict[str, Slots]:
    """Count the marks' slots per place."""
    reference = [class_of(mark, classes) for mark in pair.reference_marks]
    hypothesis = [class_of(mark, classes) for mark in pair.hypothesis_marks]
    return {OVERALL: slot_counts(reference, hypothesis, pair.marks_scored)}


def _metric(rate: str, summary: str) -> Metric:
    return Metric(
        name=rate,
        summary=summary,
        count=lambda pair, options: count(pair, classes=options.classes),
        value=lambda totals: totals[OVERALL].rates()[rate],
        headline=(OVERALL, rate),
        rates=(rate,),
        lower_is_better=True,
    )


SER = _metric("ser", "slot error rate of marks: substituted, deleted and inserted over the reference's")
PER = _metric("per", "punctuation error rate (LibriSpeech-PC): the same errors over all slots of either side")
