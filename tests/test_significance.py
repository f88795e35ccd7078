from __future__ import annotations

import numpy as np
import pytest

from interpunct.labels import parse_text
from interpunct.metrics import prf
from interpunct.metrics.counts import PrecisionRecall
from interpunct.metrics.pair import Pair, pair
from interpunct.metrics.significance import (
    Bootstrap,
    Units,
    block_units,
    by_unit,
    choose_units,
    compare,
    document_units,
)
from interpunct.transcript import Transcript


def document(written: str, guessed: str) -> Pair:
    return pair(Transcript(parse_text(written)), Transcript(parse_text(guessed)))


def units(size: int) -> Units:
    return Units("test", (np.arange(size),))


def test_units_are_documents_from_ten_on_and_blocks_of_sentences_below() -> None:
    one = document("A b. " * 25, "a b. " * 25)
    assert choose_units([one] * 10).kind == "document"
    assert choose_units([one]).kind == "block of 1 sentence"
    assert choose_units([document("A b. " * 200, "a b. " * 200)]).kind == "block of 10 sentences"
    assert block_units([one]).starts[0].tolist() == [0, 20, 40]
    nothing = document("", "")
    assert choose_units([one, *[nothing] * 11]).kind == "block of 1 sentence"
    assert len(document_units([one, one])) == 2


def test_by_unit_sums_counts_whatever_the_units() -> None:
    pairs = [document("A, b. " * 12, "a b. " * 12), document("Yes? No.", "yes. no.")]
    counts = [prf.count(each)["overall"] for each in pairs]
    totals = [count.total() for count in counts]
    for chosen in (document_units(pairs), block_units(pairs, 5)):
        assert by_unit(counts, chosen).total() == totals[0] + totals[1]


def test_interval_of_a_known_proportion_is_right() -> None:
    """Of 400 units 300 are right: the normal interval is .75 ± .0424."""
    right = np.repeat([1, 0], [300, 100])
    counts = PrecisionRecall(right, np.ones(400, dtype=np.int64), np.ones(400, dtype=np.int64))
    found = Bootstrap(units(400), draws=4000).intervals(counts)["precision"]
    assert found.value == 0.75
    assert found.low == pytest.approx(0.75 - 0.0424, abs=0.006)
    assert found.high == pytest.approx(0.75 + 0.0424, abs=0.006)


def test_interval_is_the_same_each_time_and_none_where_undefined() -> None:
    some = PrecisionRecall(np.array([1, 0, 1]), np.array([1, 1, 1]), np.array([1, 1, 1]))
    none = PrecisionRecall(np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64))
    assert Bootstrap(units(3)).intervals(some) == Bootstrap(units(3)).intervals(some)
    undefined = Bootstrap(units(3)).intervals(none)["f1"]
    assert (undefined.value, undefined.low, undefined.high) == (None, None, None)


def test_compare_knows_a_real_difference_from_none() -> None:
    generator = np.random.default_rng(3)
    ones = np.ones(300, dtype=np.int64)
    good = PrecisionRecall((generator.random(300) < 0.8).astype(np.int64), ones, ones)
    bad = PrecisionRecall((generator.random(300) < 0.6).astype(np.int64), ones, ones)
    bootstrap = Bootstrap(units(300))
    real = compare(good, bad, "f1", bootstrap)
    assert real.delta is not None
    assert real.delta > 0.1
    assert real.p is not None
    assert real.p < 0.01
    assert real.p_randomisation is not None
    assert real.p_randomisation < 0.01
    same = compare(good, good, "f1", bootstrap)
    assert (same.delta, same.p, same.p_randomisation) == (0.0, 1.0, 1.0)
    alone = compare(good.mapped(lambda a: a[:1]), bad.mapped(lambda a: a[:1]), "f1", Bootstrap(units(1)))
    assert (alone.p, alone.p_randomisation) == (None, None)
    reverse = compare(bad, good, "f1", bootstrap)
    assert reverse.delta == pytest.approx(-real.delta)


def test_approximate_randomisation_is_calibrated_under_no_difference() -> None:
    """Two systems of the same quality: p is below .05 in about one of twenty comparisons."""
    generator = np.random.default_rng(7)
    ones = np.ones(80, dtype=np.int64)
    below = 0
    for _ in range(200):
        sides = [PrecisionRecall((generator.random(80) < 0.7).astype(np.int64), ones, ones) for _ in range(2)]
        p = compare(sides[0], sides[1], "precision", Bootstrap(units(80), draws=10), draws=200).p_randomisation
        assert p is not None
        below += p < 0.05
    assert below <= 20
