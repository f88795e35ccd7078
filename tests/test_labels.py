from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpunct import render
from interpunct.cases import CASES, case_of, recase
from interpunct.clitics import join_clitics, split_clitics
from interpunct.labels import MARKS, attach, parse_text, parse_words, split_token, surface
from interpunct.transcript import Transcript, Word

LEXICON = {"iphone": "iPhone", "mcdonald": "McDonald", "mrna": "mRNA", "ceos": "CEOs"}

lower_words = st.one_of(
    # "etc" and its like are not canonical before a period: it reads as their own.
    st.text(string.ascii_lowercase, min_size=2, max_size=9).filter(lambda low: split_token(f"{low}.")[1]),
    st.sampled_from(["don't", "e-mail", "4,754", "3.5", "i", "café", "über", *LEXICON]),
)
canonical_words = st.builds(
    lambda low, case, opening, closing: opening + recase(low, case, LEXICON) + closing,
    lower_words,
    st.sampled_from(CASES),
    st.sampled_from(["", "", "", '"', "(", '("']),
    st.sampled_from(["", "", "", '"', ")", '")']),
)


@given(st.lists(st.tuples(canonical_words, st.sampled_from(MARKS)), max_size=12))
def test_text_and_tags_are_inverse_on_canonical_text(tagged: list[tuple[str, str]]) -> None:
    words = [Word(text, mark=mark, case=case_of(text)) for text, mark in tagged]
    text = render.join(words)
    parsed = parse_text(text)
    assert [(w.text, w.mark, w.case) for w in parsed] == [(w.text, w.mark, w.case) for w in words]
    assert render.join(parsed) == text


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text_is_written_as_it_was_read(text: str) -> None:
    assert render.join(parse_text(text)) == " ".join(text.split())


@given(st.text(max_size=12), st.sampled_from(CASES))
def test_recase_changes_letters_only(text: str, case: str) -> None:
    changed = recase(text, case)
    assert len(changed) == len(text)
    assert recase(changed, "lower") == recase(text, "lower")


@given(lower_words, st.sampled_from(["sentence", "upper", "lower"]))
def test_recase_gives_the_case_it_was_asked_for(low: str, case: str) -> None:
    got = case_of(recase(low, case))
    if not any(map(str.isalpha, low)):
        assert got == "lower"
    elif len(low) == 1 and case != "lower":
        assert got == "single"
    else:
        assert got == case


@pytest.mark.parametrize(
    ("text", "case"),
    [
        ("hello", "lower"), ("Hello", "sentence"), ("NATO", "upper"), ("NATO's", "upper"), ("CEOs", "upper"),
        ("I", "single"), ("a", "lower"), ("A", "single"), ("I'm", "sentence"), ("iPhone", "mixed"),
        ("Anglo-Saxon", "mixed"), ("McDonald's", "mixed"), ("42", "lower"), ("&", "lower"), ("U.S.", "upper"),
        ('"Hello', "sentence"), ("4th", "lower"), ("B2B", "upper"), ("слово", "lower"), ("Слово", "sentence"),
        ("漢字", "lower"),
        ("10am", "lower"), ("", "lower"), ("As", "sentence"), ("mRNA", "mixed"), ("o'clock", "lower"),
    ],
)  # fmt: skip
def test_case_of_knows_the_classes(text: str, case: str) -> None:
    assert case_of(text) == case


@pytest.mark.parametrize(
    ("token", "text", "mark"),
    [
        ("stop.", "stop", "."), ('stop."', 'stop"', "."), ('stop".', 'stop"', "."), ("(stop)", "(stop)", ""),
        ("(stop),", "(stop)", ","), ("4,754", "4,754", ""), ("4,754.", "4,754", "."), ("3.5", "3.5", ""),
        ("e-mail", "e-mail", ""), ("i.e.", "i.e.", ""), ("i.e.,", "i.e.", ","), ("Mr.", "Mr.", ""),
        ("U.S.", "U.S.", ""), ("etc.,", "etc.", ","), ("let's", "let's", ""), ("smilin',", "smilin'", ","),
        ("wait...", "wait...", ""), ("wait…?", "wait…", "?"), ("why?!", "why", "?"), ("no--", "no", "—"),
        ("no—", "no", "—"), ("mid-", "mid-", ""), ("http://a.example/b?c=1", "http://a.example/b?c=1", ""),
        ("@name:", "@name", ":"), ("a.example,", "a.example", ","), ("J.", "J.", ""), ("I.", "I", "."),
        ("...", "...", ""), (".22", ".22", ""), ("$5.", "$5", "."), ("12:30", "12:30", ""), ("(", "(", ""),
    ],
)  # fmt: skip
def test_split_token_knows_what_is_a_mark(token: str, text: str, mark: str) -> None:
    assert split_token(token)[:2] == (text, mark)


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("hello , world", [",", ""]), ("so -- yes", ["—", ""]), ("- no", ["", ""]),
        ('He said "yes ." Then', ["", "", ".", ""]),
        ("in the U.S. We went", ["", "", ".", "", ""]), ("the U.S. Senate", ["", "", ""]), ("at 5 p.m.", ["", "", "."]),
        ("Dr. I know", ["", "", ""]), ('the "wait..." We', ["", "", ""]), ('so ” , yes', ["", ",", ""]),
        ("wait ... what", ["", ""]), ("u s .", ["", "."]),
    ],
)  # fmt: skip
def test_parse_text_gives_each_mark_to_its_word(text: str, marks: list[str]) -> None:
    assert [word.mark for word in parse_text(text)] == marks


def test_parse_text_parts_words_at_no_break_spaces_outside_numbers() -> None:
    words = parse_text("all\u00a05\u00a0000 people,\u202f1\u202f000,5 or A\u00a02.")
    assert [word.text for word in words] == ["all", "5\u00a0000", "people", "1\u202f000,5", "or", "A", "2"]
    assert words[1].mark == ""


def test_parse_words_keeps_times_and_can_keep_lone_marks_as_words() -> None:
    words = [Word("yes", 0.0, 0.5, 0.9, "A"), Word(",", 0.5, 0.6), Word("no", 1.0, 1.5)]
    joined = list(parse_words(words))
    assert [(w.text, w.mark, w.start, w.end) for w in joined] == [
        ("yes", ",", 0.0, 0.5),
        ("no", "", 1.0, 1.5),
    ]
    assert joined[0].confidence == 0.9
    assert joined[0].speaker == "A"
    assert len(list(parse_words(words, join=False))) == 3


def test_surface_follows_a_changed_mark_and_else_the_token_as_read() -> None:
    assert surface(Word("why", raw="why?!", mark="?")) == "why?!"
    assert surface(Word("Why", raw="why?!", mark="?")) == "Why?!"
    assert surface(Word("why", raw="why?!", mark="?", mark_confidence=0.9)) == "why?"
    assert surface(Word("why", raw="why?!", mark="")) == "why"


def test_attach_puts_marks_where_printers_do() -> None:
    assert attach('he"', ",") == 'he,"'
    assert attach('he"', ";") == 'he";'
    assert attach("(he)", ".") == "(he)."
    assert attach("he", "—") == "he —"
    assert attach("p.m.", ".") == "p.m."
    assert attach("p.m.", "?") == "p.m.?"


@given(st.lists(st.sampled_from(["do", "n't", "you", "'re", "it", "'s", "go", ""]), max_size=10))
def test_join_clitics_loses_no_token(texts: list[str]) -> None:
    joined, first, last = join_clitics(texts)
    assert "".join(joined) == "".join(texts)
    assert len(joined) == len(first) == len(last)
    assert ["".join(texts[a : b + 1]) for a, b in zip(first, last, strict=True)] == joined


@pytest.mark.parametrize("text", ["don't", "you're", "it's", "we'll", "I'd", "I'm", "they've", "go"])
def test_split_clitics_is_what_join_clitics_joins(text: str) -> None:
    assert join_clitics(split_clitics(text))[0] == [text]


def test_transcript_of_parsed_text_has_tags_for_every_word() -> None:
    transcript = Transcript(parse_text("Hello, world. This is McDonald!"))
    assert transcript.marks == (",", ".", "", "", "!")
    assert transcript.cases == ("sentence", "lower", "sentence", "lower", "mixed")


@pytest.mark.parametrize(("text", "written"), [("4th", "4th"), ("10am", "10am"), ("'90s", "'90s"), ('"so', '"So')])
def test_recase_to_sentence_raises_no_letter_behind_a_digit(text: str, written: str) -> None:
    assert recase(text, "sentence") == written


def test_surface_follows_an_edited_text() -> None:
    assert surface(Word("color", raw="colour", mark="")) == "color"
    assert surface(Word("hello", raw="Goodbye.", mark=".")) == "hello."


def test_parse_text_takes_a_long_run_of_lone_marks_in_linear_time() -> None:
    (word,) = parse_text("hello" + " ..." * 20_000)
    assert word.text.startswith("hello...")
