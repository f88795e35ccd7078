from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpunct.corpora import cleaning
from interpunct.labels import parse_words
from interpunct.transcript import Word

TOKENS = st.sampled_from(
    ["so", "Dr.", "U.S.", "etc.", "The", "we", "no.", "why?", "—", "--", ",", "...", '."', "-", "a.m.", "Oh!",
     '"So', 'end."', "wait--", "yes--no", "I", "Smith,", "(ok)", "3.5", "well-known", "I.", "J.", "&", ":"]
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("So (Laughter) we left.", "So we left."),
        ("That is all. [applause]", "That is all."),
        ("(Applause ends) Thank you.", "Thank you."),
        ("We said (inaudible), and left.", "We said , and left."),
        ("Good [Loud and long applause.] evening.", "Good evening."),
        ("Fine [laughs} then.", "Fine then."),
        ("Ask Mr. Braun (ph) about it.", "Ask Mr. Braun about it."),
        ("A tax[12] on salt.", "A tax on salt."),
        ("A call f( ) to it.", "A call f to it."),
    ],
)
def test_clean_drops_what_nobody_said(text: str, expected: str) -> None:
    assert cleaning.clean(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "We met (she was early) at noon.",
        "Section 4(a)(1) holds.",
        "They play (as I once heard it) loud music here.",
        "The well-known mother-in-law came.",
        "Bruce–Grey is a riding.",
        "In 1914—1918 or 1939--1945.",
        "Call sync.Map or testing.T or os.Exit there.",
        "A Ph.D. at www.example.org for 4,754 people.",
        "Wait... and then?",
        "He said “so be it” and 'yes' to it.",
        "Chris Anderson: Welcome.",
        "A file_name and it’s fine.",
    ],
)
def test_clean_leaves_what_was_said(text: str) -> None:
    assert cleaning.clean(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "the Speaker—good man—left",
            [("the", ""), ("Speaker", "—"), ("good", ""), ("man", "—"), ("left", "")],
        ),
        ("wait--no", [("wait", "—"), ("no", "")]),
        ("He cried--“now!”", [("He", ""), ("cried", "—"), ("“now”", "!")]),
        ("this,--and that", [("this", "—"), ("and", ""), ("that", "")]),
        ("of 12--twelve", [("of", ""), ("12", "—"), ("twelve", "")]),
        ("so --the end", [("so", "—"), ("the", ""), ("end", "")]),
        ("I thought--", [("I", ""), ("thought", "—")]),
        ('I thought--"', [("I", ""), ('thought"', "—")]),
        ("so –- no", [("so", "—"), ("no", "")]),
    ],
)
def test_words_take_a_dash_for_a_mark(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(word.text, word.mark) for word in cleaning.words([text])] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one, two, three.Audience: Four.", "one, two, three. Audience: Four."),
        ("It ended.Then it began.", "It ended. Then it began."),
        ("It's here.I'm sure.", "It's here. I'm sure."),
        ("Is it here?Student: Yes!No!", "Is it here? Student: Yes! No!"),
        ("near St.Paul with Mrs.Gray", "near St. Paul with Mrs. Gray"),
        ("for peace,and for bread", "for peace, and for bread"),
        ('She asked,"Who came?"', 'She asked, "Who came?"'),
        ('"It is so."He went.', '"It is so." He went.'),
        ("and then...And there…we", "and then... And there… we"),
        ("we don?t know, it?s late", "we don't know, it's late"),
    ],
)
def test_clean_puts_lost_characters_back(text: str, expected: str) -> None:
    assert cleaning.clean(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-- And so", "And so"),
        ("—and so", "and so"),
        ("... . And so", "And so"),
        (": And so", "And so"),
        ('" And so', "And so"),
        ("...and so", "...and so"),
        ("* * * * *", ""),
        ("-- .", ""),
        ("", ""),
    ],
)
def test_clean_drops_marks_at_the_start(text: str, expected: str) -> None:
    assert cleaning.clean(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("_then_ it", "then it"),
        ("two T_V_s.", "two TVs."),
        ("a \u201c_word_\u201d", "a “word”"),
        ("so _ it", "so it"),
    ],
)
def test_clean_takes_underscores_out(text: str, expected: str) -> None:
    assert cleaning.clean(text) == expected


@pytest.mark.parametrize(
    ("token", "sound"),
    [("<crosstalk>…", True), ("<laugh>-", True), ("[inaudible]", True), ("(so)", False), ("music", False)],
)
def test_is_sound_knows_bracketed_sounds_only(token: str, sound: bool) -> None:
    assert cleaning.is_sound(token) is sound


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("CHAPTER IV", True),
        ("BOOK II. THE RIVER.", True),
        ("ANY QUESTIONS?", False),
        ("OK.", False),
        ("I I", False),
        ("A short line", False),
        ("", False),
    ],
)
def test_is_heading_knows_capitals(line: str, heading: bool) -> None:
    assert cleaning.is_heading(line) is heading


def test_count_counts_each_rule() -> None:
    counts = cleaning.count("-- Yes--no (laughs) and so.Then [applause] it ended.")
    assert counts["sound"] == 2
    assert counts["dash before a word"] == 1
    assert counts["lost space, full stop"] == 1
    assert counts["mark at the start"] == 1
    assert set(counts) <= {rule.name for rule in cleaning.RULES}


def test_words_end_a_paragraph_without_a_mark_where_it_has_none() -> None:
    marks = [word.mark for word in cleaning.words(["So we went", "home by night."])]
    assert marks == ["", "", "", "", "", "."]


def test_words_do_not_take_a_mark_from_the_next_paragraph() -> None:
    first, second = cleaning.words(["So", "-- and"])
    assert (first.mark, second.text) == ("", "and")


def test_words_carry_the_speaker() -> None:
    assert {word.speaker for word in cleaning.words(["Well, Dr. Gray — yes."], speaker="A")} == {"A"}


def test_words_share_equal_words() -> None:
    first, second = cleaning.words(["again again"])
    assert first is second


@given(st.lists(st.lists(TOKENS, max_size=12).map(" ".join), max_size=4), st.sampled_from([None, "A"]))
def test_words_are_what_parse_words_gives(paragraphs: list[str], speaker: str | None) -> None:
    expected = [
        word
        for paragraph in paragraphs
        for word in parse_words(Word(token, speaker=speaker) for token in cleaning.clean(paragraph).split())
    ]
    assert list(cleaning.words(paragraphs, speaker=speaker)) == expected


@given(st.text("abCD12 \t.,?!:;-—–…\"'“”*|/&é") | st.lists(TOKENS).map(" ".join))
def test_clean_keeps_every_letter_outside_brackets(text: str) -> None:
    text = text.replace("(", "").replace(")", "")
    assert re.sub(r"[\W_]", "", cleaning.clean(text)) == re.sub(r"[\W_]", "", text)


@given(st.text("abCD12 .,?!-—…\"'()[]_sound"))
def test_words_never_hold_white_space_or_nothing(text: str) -> None:
    for word in cleaning.words([text]):
        assert word.text
        assert not re.search(r"\s", word.text)
        assert word.mark is not None
        assert word.case is not None
