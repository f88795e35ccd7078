from __future__ import annotations

import pytest

from interpunct.errors import InputError
from interpunct.metrics.case import case_prf
from interpunct.metrics.counts import PrecisionRecall
from interpunct.metrics.prf import mark_prf


def test_mark_prf_counts_by_hand() -> None:
    # places:       ,hit  ,missed  .as ?   nothing  .hit  ,inserted  unknown
    reference = [",", ",", ".", "", "!", "", None]
    hypothesis = [",", "", "?", "", ".", "—", "."]
    counts = mark_prf(reference, hypothesis)
    assert counts["comma"] == PrecisionRecall(correct=1, predicted=2, expected=2)
    assert counts["period"] == PrecisionRecall(correct=1, predicted=1, expected=2)
    assert counts["question"] == PrecisionRecall(correct=0, predicted=1, expected=0)
    assert counts["overall"] == PrecisionRecall(correct=2, predicted=4, expected=4)
    assert counts["overall"].f1 == pytest.approx(0.5)


def test_case_prf_ignores_correct_lower_case() -> None:
    counts = case_prf(["lower", "upper", "lower"], ["lower", "upper", "sentence"])
    assert counts["overall"] == PrecisionRecall(1, 2, 1)


def test_counts_add_and_undefined_rates_are_none() -> None:
    assert PrecisionRecall(1, 2, 3) + PrecisionRecall(1, 1, 1) == PrecisionRecall(2, 3, 4)
    empty = PrecisionRecall()
    assert (empty.precision, empty.recall, empty.f1) == (None, None, None)


def test_prf_refuses_sequences_of_different_length() -> None:
    with pytest.raises(InputError, match="different numbers of words"):
        mark_prf([","], [])
