"""The recipe that scores the syntax tagger: what it counts."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pycrfsuite")

import syntax
from interpunct.models.encoded import Tagged
from interpunct.transcript import Transcript, Word


def said(text: str, *tags: str) -> Tagged:
    return Tagged(Transcript(tuple(map(Word, text.split())), "GUM_vlog_test"), {"pos": tags})


TRAIN = [said("the run", "DT", "NN"), said("the run", "DT", "VB"), said("they run", "PRP", "VB")]


def test_commonest_tag_of_a_word_and_of_an_unknown_one() -> None:
    commonest = syntax.Commonest([*TRAIN, said("xylophone", "NN")], "pos")
    assert commonest.tags(["the", "run", "they"]) == ["DT", "VB", "PRP"]
    assert commonest.tags(["unheard"])[0] in ("PRP", "NN")
    assert syntax.tags_of(TRAIN, "pos") == ("DT", "NN", "PRP", "VB")
    assert syntax.genre(TRAIN[0]) in syntax.SPEECH


def test_share_with_interval_is_that_of_all_words() -> None:
    counts = np.array([[9, 10], [1, 10], [5, 5]])
    share, half = (float(part) for part in syntax.with_interval(counts).split(" ±"))
    assert share == 60.0
    assert 10 < half < 50
    assert syntax.with_interval(np.array([[5, 10]] * 4)) == "50.0 ±0.0"
