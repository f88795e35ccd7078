"""Counts per label over two label sequences of the same places.

In: reference and hypothesis labels, place by place. Out: counts per label and, summed, overall. A correct
"nothing" is not counted, as in the papers; a reference of None is a place nobody knows and is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from interpunct.errors import InputError
from interpunct.labels import to_three
from interpunct.metrics.counts import Counts

OVERALL = "overall"


def prf(reference: Iterable[str | None], hypothesis: Iterable[str | None], *, nothing: str) -> dict[str, Counts]:
    """Count each label but `nothing`; `overall` is their sum (micro).

    >>> prf([",", "", "."], [",", ",", "?"], nothing="")["overall"]
    Counts(correct=1, predicted=3, expected=2)
    """
    correct: Counter[str] = Counter()
    predicted: Counter[str] = Counter()
    expected: Counter[str] = Counter()
    try:
        for right, guess in zip(reference, hypothesis, strict=True):
            if right is None:
                continue
            expected[right] += 1
            predicted[guess or nothing] += 1
            correct[right] += right == guess
    except ValueError:
        raise InputError("reference and hypothesis have different numbers of words; align them first") from None
    counts = {
        label: Counts(correct[label], predicted[label], expected[label])
        for label in sorted(expected | predicted)
        if label != nothing
    }
    return counts | {OVERALL: sum(counts.values(), Counts())}


def mark_prf(reference: Iterable[str | None], hypothesis: Iterable[str | None]) -> dict[str, Counts]:
    """Count the papers' three marks: comma, period and question mark.

    >>> mark_prf(["!", "—"], [".", ""])["overall"].f1
    0.6666666666666666
    """
    return prf(
        (None if mark is None else to_three(mark) for mark in reference),
        (None if mark is None else to_three(mark) for mark in hypothesis),
        nothing="",
    )


def case_prf(reference: Iterable[str | None], hypothesis: Iterable[str | None]) -> dict[str, Counts]:
    """Count every case but lower."""
    return prf(reference, hypothesis, nothing="lower")
