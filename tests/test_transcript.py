from __future__ import annotations

import math

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
