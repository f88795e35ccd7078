from __future__ import annotations

from dataclasses import replace

from interpunct import render
from interpunct.labels import parse_text
from interpunct.transcript import Transcript, Word


def test_text_writes_one_space_between_words_and_none_for_empty_ones() -> None:
    assert render.text(Transcript((Word("a"), Word(""), Word("b", mark="?")))) == "a b?"


def test_text_keeps_numbers_hyphens_links_and_names_untouched() -> None:
    text = "It's 4,754 or 3.5, i.e. e-mail me@home.example or @anna at https://a.example/x,y?z=1 — OK?"
    assert render.text(Transcript(parse_text(text))) == text


def test_sentences_end_at_closing_marks_speakers_and_the_end() -> None:
    words = (
        Word("Yes", 0.0, 0.5, speaker="A", mark="."), Word("I", 1.0, 1.1, speaker="A", mark=""),
        Word("No", 2.0, 2.5, speaker="B", mark=","), Word("but", None, None, speaker="B", mark=""),
    )  # fmt: skip
    found = list(render.sentences(Transcript(words)))
    assert [(s.first, s.last, s.start, s.end, s.speaker, s.text) for s in found] == [
        (0, 0, 0.0, 0.5, "A", "Yes."),
        (1, 1, 1.0, 1.1, "A", "I"),
        (2, 3, 2.0, 2.5, "B", "No, but"),
    ]


def test_sentences_keep_words_of_which_nothing_is_left() -> None:
    words = (Word(""), Word("Yes", mark="."), Word(""), Word(""), Word("I", mark=""), Word("", speaker="B"))
    found = list(render.sentences(Transcript(words)))
    assert [(s.first, s.last, s.text) for s in found] == [(0, 3, "Yes."), (4, 4, "I"), (5, 5, "")]


def test_sentences_inside_a_subtitle_have_the_times_of_its_cues() -> None:
    said = "So we left. Who knows? Yes."
    words = list(parse_text(said))
    words[0], words[-1] = replace(words[0], start=1.0), replace(words[-1], end=6.6)
    transcript = Transcript(tuple(words))
    found = [(s.start, s.end, s.text) for s in render.sentences(transcript)]
    assert found == [(1.0, 3.4, "So we left."), (3.4, 5.6, "Who knows?"), (5.6, 6.6, "Yes.")]
    assert transcript.words[3].start is None


def test_sentences_of_words_without_times_have_none() -> None:
    assert [(s.start, s.end) for s in render.sentences(Transcript(parse_text("So. Yes.")))] == [(None, None)] * 2


def test_sentences_are_not_cut_by_abbreviations_or_numbers() -> None:
    found = list(render.sentences(Transcript(parse_text("Dr. Wu paid 3.5 to U.S. banks, e.g. two. Fine."))))
    assert [s.text for s in found] == ["Dr. Wu paid 3.5 to U.S. banks, e.g. two.", "Fine."]


def test_turns_are_cut_at_speakers_only() -> None:
    words = (Word("A.", speaker="1"), Word("b", speaker="1"), Word("c", speaker="2"))
    assert [t.text for t in render.turns(Transcript(words))] == ["A. b", "c"]


def test_nothing_renders_as_nothing() -> None:
    empty = Transcript(())
    assert (render.text(empty), list(render.sentences(empty)), list(render.turns(empty))) == ("", [], [])
