from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from interpunct.errors import InputError
from interpunct.transcript import Transcript, Word, span


@pytest.mark.parametrize(
    ("start", "end"),
    [(-0.1, 1.0), (math.nan, 1.0), (0.0, math.nan), (2.0, 1.0), (0.0, math.inf), (None, -1.0)],
)
def test_word_refuses_impossible_times(start: float | None, end: float | None) -> None:
    with pytest.raises(InputError, match="word 'x'"):
        Word("x", start, end)


def test_word_accepts_missing_and_empty_times() -> None:
    assert Word("x").duration_s is None
    assert Word("x", 1.0).duration_s is None
    assert Word("x", 1.0, 1.0).duration_s == 0.0


def test_transcript_is_frozen_and_holds_a_tuple() -> None:
    transcript = Transcript([Word("a")])  # type: ignore[arg-type]
    assert transcript.words == (Word("a"),)
    with pytest.raises(AttributeError):
        transcript.words = ()  # type: ignore[misc]


def test_span_takes_the_outermost_known_times() -> None:
    assert span([Word("a", 2.0, 3.0), Word("b", 1.0, None), Word("c")]) == (1.0, 3.0)
    assert span([Word("a")]) == (None, None)


def test_word_takes_the_numbers_of_numpy_as_plain_ones() -> None:
    numbers: list[Any] = [np.float32(0.5), np.int64(2), np.float32(0.25)]
    word = Word("so", *numbers)
    assert (type(word.start), type(word.end), type(word.confidence)) == (float, float, float)
    assert (word.start, word.end, word.confidence) == (0.5, 2.0, 0.25)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"text": None}, "text None is no text"),
        ({"text": "so", "speaker": 0}, "word 'so': speaker 0 is no text"),
        ({"text": "so", "start": "0.1"}, "word 'so': start '0.1' is no number"),
        ({"text": "so", "confidence": "high"}, "word 'so': confidence 'high' is no number"),
    ],
)
def test_word_refuses_what_no_file_could_hold(given: dict[str, Any], what: str) -> None:
    with pytest.raises(InputError, match=what):
        Word(**given)
