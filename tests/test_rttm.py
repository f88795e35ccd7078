from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpunct.errors import InputError
from interpunct.formats import Source, WriteOptions, read_source, written
from interpunct.formats.rttm import RTTM, Unit, read_units
from interpunct.transcript import Transcript, Word

SAMPLES = Path(__file__).parent / "samples"


def read(text: str) -> list[Transcript]:
    return list(RTTM.read(Source("talk.rttm", text.encode())))


def write(*transcripts: Transcript) -> str:
    return b"".join(written(transcripts, RTTM, WriteOptions())).decode()


def lexeme(start: float, text: str, speaker: str = "ann", duration: float = 1.0) -> str:
    return f"LEXEME f 1 {start} {duration} {text} lex {speaker} <NA>\n"


def unit(start: float, duration: float, subtype: str, speaker: str = "ann") -> str:
    return f"SU f 1 {start} {duration} <NA> {subtype} {speaker} <NA>\n"


def test_rttm_sample_marks_the_last_word_of_each_unit() -> None:
    (transcript,) = RTTM.read(Source.open(SAMPLES / "rttm.rttm"))
    assert transcript.source == "talk:1"
    assert " ".join(word.text for word in transcript.words) == "did you sleep well mm uh because if I did"
    assert transcript.marks == ("", "", "", "?", ".", "", ",", "—", "", ".")
    assert [word.speaker for word in transcript.words] == ["dana"] * 4 + ["omar"] + ["dana"] * 3 + ["omar"] * 2
    assert (transcript.words[2].start, transcript.words[2].end) == (0.85, 1.25)


def test_rttm_unit_of_one_speaker_does_not_mark_words_of_another() -> None:
    (transcript,) = read(lexeme(0, "a") + lexeme(1, "b", "bob") + unit(0, 2, "statement"))
    assert transcript.marks == (".", "")


def test_rttm_unit_leaves_a_word_its_own_mark_and_unknown_subtypes_mark_nothing() -> None:
    (transcript,) = read(lexeme(0, "stop!") + unit(0, 1, "statement") + lexeme(1, "a") + unit(1, 1, "unannotated"))
    assert transcript.marks == ("!", "")


def test_rttm_speaker_lines_name_nameless_words_unless_two_speak() -> None:
    turns = "SPEAKER f 1 0 3 <NA> <NA> ann <NA>\nSPEAKER f 1 2 2 <NA> <NA> bob <NA>\n"
    (transcript,) = read(turns + "".join(lexeme(start, "a", "<NA>") for start in range(5)))
    assert [word.speaker for word in transcript.words] == ["ann", "ann", None, "bob", None]


def test_rttm_word_without_times_is_kept_without_them() -> None:
    (transcript,) = read("LEXEME f 1 <NA> <NA> hm lex ann <NA>\n" + lexeme(1, "a") + unit(1, 1, "question"))
    assert [(word.text, word.start, word.mark) for word in transcript.words] == [
        ("hm", None, ""),
        ("a", 1.0, "?"),
    ]


def test_rttm_without_words_says_so() -> None:
    with pytest.raises(InputError, match="no LEXEME lines"):
        read(unit(0, 1, "statement"))


def test_rttm_read_units_gives_su_lines_with_exact_times() -> None:
    units = read_units(Source.open(SAMPLES / "rttm.rttm"))
    assert [(one.start, one.end, one.subtype, one.speaker) for one in units] == [
        (0.5, 1.95, "question", "dana"),
        (2.1, 2.4, "backchannel", "omar"),
        (2.5, 3.6, "incomplete", "dana"),
        (4.0, 5.3, "statement", "omar"),
    ]
    alone = read_units(Source("x", b"SU f A 0.1 0.2 <NA> <NA> <NA> <NA>\n"))
    assert alone == [Unit("f", "A", 0.1, 0.3, "", None)]


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (lexeme(0, "a") + lexeme(1, "b", duration=-1), 2, "before start"),
        (lexeme(0, "a") + unit(1, -1, "statement"), 2, "end not before start"),
        (lexeme(0, "a") + unit(-1, 1, "statement"), 2, "SU from -1.0"),
        ("LEXEME f 1 0 x a lex ann <NA>\n", 1, "duration 'x'"),
        ("LEXEME f 1 0 1 a\n", 1, "6 columns"),
        (";; note\nLEXEM f 1 0 1 a lex ann <NA>\n", 2, "unknown type 'LEXEM'; known: .*LEXEME"),
    ],
)
def test_rttm_error_names_line_and_reason(text: str, line: int, what: str) -> None:
    with pytest.raises(InputError, match=what) as caught:
        read(text)
    assert caught.value.line == line


def test_rttm_broken_sample_names_path_and_line() -> None:
    with pytest.raises(InputError, match=r"broken/rttm\.rttm:3: "):
        list(read_source(Source.open(SAMPLES / "broken" / "rttm.rttm"), RTTM))


def test_rttm_write_puts_sentence_ends_into_units_and_other_marks_on_words() -> None:
    words = (
        Word("So", 0.1, 0.3, 0.5, "Ann Lee", mark=","),
        Word("where", 0.3, 0.7, None, "Ann Lee", mark="?"),
        Word("stop", 1.0, 2.0, mark="!"),
        Word("we", 2.0, 2.5),
    )
    assert write(Transcript(words, "talk:B")).splitlines() == [
        "SU talk B 0.1 0.6 <NA> question Ann_Lee <NA> <NA>",
        "LEXEME talk B 0.1 0.2 So, lex Ann_Lee 0.5 <NA>",
        "LEXEME talk B 0.3 0.4 where lex Ann_Lee <NA> <NA>",
        "SU talk B 1.0 1.0 <NA> statement <NA> <NA> <NA>",
        "LEXEME talk B 1.0 1.0 stop! lex <NA> <NA> <NA>",
        "SU talk B 2.0 0.5 <NA> unannotated <NA> <NA> <NA>",
        "LEXEME talk B 2.0 0.5 we lex <NA> <NA> <NA>",
    ]


def test_rttm_write_refuses_words_without_times() -> None:
    with pytest.raises(InputError, match=r"word 2 \('b'\) has no start.*RTTM.*use --to json"):
        write(Transcript((Word("a", 0.0, 1.0), Word("b", None, 2.0)), "f:1"))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["word", "U.S.", '"quote"', "4,754"]),
            st.sampled_from(["", ",", ".", "?", "!", "—"]),
            st.floats(0.001, 10),
            st.floats(0.001, 10),
            st.sampled_from(["ann", "bob"]),
        ),
        max_size=12,
    )
)
def test_rttm_round_trip_keeps_times_and_marks(rows: list[tuple[str, str, float, float, str]]) -> None:
    words: list[Word] = []
    time = 0.0
    for text, mark, pause, length, speaker in rows:
        words.append(Word(text, time + pause, time + pause + length, None, speaker, mark=mark))
        time += pause + length
    if not words:
        return
    words[-1] = Word("end", time + 1, time + 2, None, "ann", mark=".")
    (again,) = read(write(Transcript(tuple(words), "f:1")))
    assert [(w.text, w.start, w.end, w.speaker, w.mark) for w in again.words] == [
        (w.text, w.start, w.end, w.speaker, w.mark) for w in words
    ]


def test_rttm_sniff_knows_rttm_by_its_types() -> None:
    assert RTTM.sniff(Source.open(SAMPLES / "rttm.rttm"))
    assert RTTM.sniff(Source.open(SAMPLES / "broken" / "rttm.rttm"))
    assert RTTM.sniff(Source("x", b"SPEAKER f 1 0.5 2.5 <NA> <NA> ann <NA> <NA>\r\n"))
    assert not RTTM.sniff(Source("x", b"SPEAKER of the house\nLEXEME is a word\nSU is a unit\n"))
    assert not RTTM.sniff(Source("x", b"f 1 ann 0.5 2.5 hello there\n" * 3))


def test_rttm_written_ends_a_unit_with_the_last_word_that_is_there() -> None:
    words = (Word("you", 0.0, 1.0, mark="?"), Word("", 1.0, 1.2), Word("fine", 2.0, 3.0, mark="."), Word("", 3.0, 3.1))
    rows = [line.split() for line in write(Transcript(words)).splitlines()]
    assert [row[6] for row in rows if row[0] == "SU"] == ["question", "statement"]
    assert [row[5] for row in rows if row[0] == "LEXEME" and row[5] in ("you", "fine")] == ["you", "fine"]
