from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import timed
from interpunct.cues import CueLimits, cues
from interpunct.errors import InputError
from interpunct.labels import parse_text, parse_words, surface
from interpunct.timeline import timeline
from interpunct.transcript import Transcript, Word

TALK = (
    "Good morning, everyone. I am Dr. Anna K. Miller from the University of New South Wales, and today I would "
    "like to talk about the work that we have done in the U.S. over the last 4,754 days, which is a very long "
    "time indeed. Yes. No. Is it? I think so; but who knows: maybe Mr. John Smith knows about it and will come "
    "and tell us all when he arrives in San Francisco tomorrow with the others."
)


def parsed(transcript: Transcript) -> Transcript:
    return Transcript(tuple(parse_words(transcript.words)))


token = st.sampled_from(["a", "word", "longer-word", "end.", "what?", "so,", "Dr.", "New", "x" * 50, "U.S.", "—"])
gap = st.sampled_from([0.0, 0.05, 0.5, 3.0])


@st.composite
def transcripts(draw: st.DrawFn) -> Transcript:
    time = 0.0
    words: list[Word] = []
    for text in draw(st.lists(token, min_size=1, max_size=40)):
        time += draw(gap)
        length = draw(st.sampled_from([0.0, 0.1, 0.4, 1.0]))
        known = draw(st.booleans()) or not words
        words.append(Word(text, time if known else None, time + length if known else None))
        time += length
    return parsed(Transcript(tuple(words)))


@given(transcripts(), st.sampled_from([CueLimits(), CueLimits(line_characters=20, lines=1, max_s=3.0)]))
def test_cues_hold_every_word_once_in_order_within_limits(transcript: Transcript, limits: CueLimits) -> None:
    shown = list(cues(transcript, limits))
    places = [place for cue in shown for place in range(cue.first, cue.last + 1)]
    assert places == sorted({*places})
    assert not any(surface(transcript.words[place]) for place in {*range(len(transcript))} - {*places})
    for before, after in pairwise(shown):
        assert before.start <= before.end <= after.start <= after.end
    for cue in shown:
        one_word = cue.first == cue.last
        assert one_word or len(cue.lines) <= limits.lines
        assert one_word or cue.end - cue.start <= limits.max_s + 1e-9
        assert all(len(line) <= limits.line_characters or " " not in line.rstrip(" —") for line in cue.lines)


def test_cues_end_at_sentences_and_never_after_abbreviations_or_inside_names() -> None:
    shown = list(cues(parsed(timed(TALK))))
    lines = [line for cue in shown for line in cue.lines]
    assert shown[0].lines == ("Good morning, everyone.",)
    assert not any(line.endswith(("Dr.", "K.", "Mr.", "Anna", "New", "South", "San", "John")) for line in lines)
    assert all(cue.end - cue.start <= CueLimits().max_s for cue in shown)
    assert all(len(line) <= 42 for line in lines)
    ends = [cue.lines[-1][-1] for cue in shown]
    assert sum(end in ".?!,;:" for end in ends) >= len(ends) / 2


def test_cues_grow_into_silence_until_they_can_be_read() -> None:
    words = (Word("Extraordinarily", 0.0, 0.2, mark="."), Word("Yes", 5.0, 5.1, mark="."))
    first, second = cues(Transcript(words))
    assert first.end == pytest.approx(0.833)
    assert second.end == pytest.approx(5.833)
    assert words[0].end == 0.2


def test_cues_as_read_are_kept_when_asked_for() -> None:
    words = (Word("one", 0.0), Word("two", None, 2.0), Word("three", 3.0, 4.0))
    kept = list(cues(Transcript(words), recut=False))
    assert [(cue.first, cue.last, cue.start, cue.end) for cue in kept] == [(0, 1, 0.0, 2.0), (2, 2, 3.0, 4.0)]


def test_cues_change_with_the_speaker() -> None:
    words = (Word("yes", 0.0, 0.3, speaker="A"), Word("no", 0.3, 0.6, speaker="B"))
    assert [cue.speaker for cue in cues(Transcript(words))] == ["A", "B"]


def test_cues_without_any_time_are_an_error_and_without_words_are_none() -> None:
    with pytest.raises(InputError, match="no word has a time"):
        list(cues(Transcript((Word("a"),))))
    assert list(cues(Transcript(()))) == []


def test_cues_without_anything_to_show_are_none() -> None:
    words = (Word("Yes", 0.0, 0.5, mark="."), Word("", 5.0, 5.5), Word("No", 9.0, 9.5, mark="."))
    assert [(cue.start, cue.lines) for cue in cues(Transcript(words))] == [(0.0, ("Yes.",)), (9.0, ("No.",))]


def test_cue_limits_refuse_nonsense() -> None:
    with pytest.raises(InputError, match="line_characters"):
        CueLimits(line_characters=0)
    with pytest.raises(InputError, match="min_s"):
        CueLimits(min_s=9.0)


def test_timeline_shares_missing_times_out_by_length() -> None:
    words = [Word("aa", 0.0), Word("bbbb"), Word("cc", None, 8.0)]
    starts, ends = timeline(words, np.array([2, 4, 2]))
    assert starts.tolist() == [0.0, 2.0, 6.0]
    assert ends.tolist() == [2.0, 6.0, 8.0]


def test_timeline_leaves_silence_where_nothing_says_that_somebody_spoke() -> None:
    words = [Word("in", 2.0, 3.0), Word("2014"), Word("yes", 70.0, 71.0), Word("x" * 15), Word("no", None, 90.0)]
    starts, ends = timeline(words, np.array([2, 15, 3, 15, 15]))
    assert (starts[1], ends[1]) == (3.0, 4.0)
    assert (starts[3], ends[3], starts[4]) == (88.0, 89.0, 89.0)


def test_timeline_keeps_the_one_time_that_a_word_has() -> None:
    starts, ends = timeline([Word("a", 0.0, 12.0), Word("b", None, 8.0)], np.array([2, 2]))
    assert (starts[1], ends[1]) == (8.0, 8.0)


def test_timeline_begins_at_zero_and_goes_on_behind_the_last_known_time() -> None:
    words = [Word("aa"), Word("bb", 2.0, 3.0), Word("c" * 15)]
    starts, ends = timeline(words, np.array([2, 2, 15]))
    assert 0.0 < ends[0] <= 2.0
    assert (starts[2], ends[2]) == (3.0, 4.0)


def test_cues_of_overlapping_speakers_keep_their_own_times() -> None:
    said = [("well", 0.0, 0.5, "A"), ("think", 0.8, 5.0, "A"), ("yes", 1.0, 1.4, "B"), ("so", 5.2, 5.5, "A")]
    words = tuple(Word(text, start, end, speaker=speaker) for text, start, end, speaker in said)
    shown = [(cue.start, cue.end, cue.speaker) for cue in cues(Transcript(words))]
    assert [(start, speaker) for start, _, speaker in shown] == [(0.0, "A"), (1.0, "B"), (5.2, "A")]
    assert shown[0][1] == 5.0
    assert shown[1][1] == pytest.approx(1.833)


def test_cues_as_read_keep_their_very_times_even_where_they_overlap() -> None:
    words = (Word("Hi", 1.0, 1.2), Word("Yes", 1.1), Word("it"), Word("is", None, 3.0), Word("Stop", 20.0, 20.1))
    kept = list(cues(Transcript(words), recut=False))
    assert [(cue.start, cue.end) for cue in kept] == [(1.0, 1.2), (1.1, 3.0), (20.0, 20.1)]


def test_cues_of_subtitles_that_were_cut_well_stay_as_they_are() -> None:
    first = list(cues(parsed(timed(TALK))))
    words = list(parsed(timed(TALK)).words)
    for cue in first:
        for place in range(cue.first, cue.last + 1):
            words[place] = replace(
                words[place],
                start=cue.start if place == cue.first else None,
                end=cue.end if place == cue.last else None,
            )
    again = list(cues(Transcript(tuple(words))))
    assert [(cue.first, cue.last, cue.start, cue.end) for cue in again] == [
        (cue.first, cue.last, cue.start, cue.end) for cue in first
    ]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("-So how are you? -Fine, thanks.", ("-So how are you?", "-Fine, thanks.")),
        (">>And now the news. >>Hello there.", (">>And now the news.", ">>Hello there.")),
        ("It was -5 or -6 degrees.", ("It was -5 or -6 degrees.",)),
        ("-Fine -ish -I -guess.", ("-Fine -ish -I -guess.",)),
    ],
)
def test_each_turn_of_a_cue_has_a_line_where_there_are_enough(text: str, lines: tuple[str, ...]) -> None:
    first, *others = parse_text(text)
    words = (replace(first, start=0.0), *others[:-1], replace(others[-1], end=4.0))
    (cue,) = cues(Transcript(words))
    assert cue.lines == lines
