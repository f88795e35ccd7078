from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpunct.errors import InputError
from interpunct.formats import Source, WriteOptions, read_source, written
from interpunct.formats.ctm import CTM
from interpunct.formats.nist import file_and_channel
from interpunct.transcript import Transcript, Word

SAMPLES = Path(__file__).parent / "samples"


def read(text: str) -> list[Transcript]:
    return list(CTM.read(Source("talk.ctm", text.encode())))


def write(*transcripts: Transcript) -> str:
    return b"".join(written(transcripts, CTM, WriteOptions())).decode()


def test_ctm_read_gives_a_transcript_for_each_file_and_channel() -> None:
    transcripts = list(CTM.read(Source.open(SAMPLES / "ctm.ctm")))
    assert [transcript.source for transcript in transcripts] == ["call01:A", "call01:B", "memo:1"]
    caller = transcripts[0]
    assert " ".join(word.text for word in caller.words) == "good morning is this the bakery uh rye bread"
    assert caller.marks == ("", ",", "", "", "", "?", "", "", ".")
    assert caller.words[1].confidence == 0.97
    assert [word.confidence for word in transcripts[1].words] == [0.99, None, None]
    assert {word.speaker for word in transcripts[2].words} == {"anna"}


def test_ctm_read_adds_durations_in_decimal() -> None:
    (transcript,) = read("f 1 0.1 0.2 a\nf 1 1.02 0.08 b\nf 1 12 .5 c\nf 1 1e-1 2E-1 d\n")
    assert [word.end for word in transcript.words] == [0.3, 1.1, 12.5, 0.3]


def test_ctm_read_takes_the_first_alternative_and_leaves_out_its_empty_word() -> None:
    rows = [
        "f 1 0 1 a",
        "f 1 * * <ALT_BEGIN>",
        "f 1 1 1 @",
        "f 1 * * <ALT>",
        "f 1 1 1 uh",
        "f 1 * * <ALT_END>",
    ]
    (transcript,) = read("\n".join([*rows, "f 1 2 1 b"]))
    assert [word.text for word in transcript.words] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("f 1 0 1 a\nf 1 1 -1 b\n", 2, "before start"),
        (";; note\n\nf 1 -1 2 a\n", 3, "not a time"),
        ("f 1 nan 1 a\n", 1, "start 'nan' is not a number"),
        ("f 1 0 1e999 a\n", 1, "not a time"),
        ("f 1 0 1_0 a\n", 1, "duration '1_0' is not a number"),
        ("f 1 0 1\n", 1, "4 columns"),
        ("f 1 0 1 a b\n", 1, "confidence 'b'"),
        ("f 1 * * <ALT>\n", 1, "out of place"),
        ("f 1 0 1 a\nf 1 * * <ALT_BEGIN>\nf 1 1 1 b\n", 2, "never closed"),
    ],
)
def test_ctm_error_names_line_and_reason(text: str, line: int, what: str) -> None:
    with pytest.raises(InputError, match=what) as caught:
        read(text)
    assert caught.value.line == line


def test_ctm_broken_sample_names_path_and_line() -> None:
    with pytest.raises(InputError, match=r"broken/ctm\.ctm:3: "):
        list(read_source(Source.open(SAMPLES / "broken" / "ctm.ctm"), CTM))


def test_ctm_read_keeps_a_no_break_space_in_its_word() -> None:
    (transcript,) = read("f 1 0 1 10\u00a0000 0.5\n")
    assert (transcript.words[0].text, transcript.words[0].confidence) == ("10\u00a0000", 0.5)


def test_ctm_write_keeps_marks_columns_and_unrounded_times() -> None:
    words = (
        Word("Hello", 0.1, 0.30000000000000004, 0.5, mark=","),
        Word("you", 1.0, 2.0, raw="you —", mark="—"),
        Word("too", 2.0, 2.0, speaker="Ann Lee", mark="."),
    )
    assert write(Transcript(words, "call:B")) == (
        "call B 0.1 0.20000000000000004 Hello, 0.5\ncall B 1.0 1.0 you—\ncall B 2.0 0.0 too. NA lex Ann_Lee\n"
    )


def test_ctm_write_refuses_words_without_times_and_documents_of_one_name() -> None:
    with pytest.raises(InputError, match=r"word 2 \('b'\) has no end.*use --to json"):
        write(Transcript((Word("a", 0.0, 1.0), Word("b", 1.0)), "f:1"))
    with pytest.raises(InputError, match="both called f:1"):
        write(Transcript((), "f:1"), Transcript((), "f.srt"))


@pytest.mark.parametrize(
    ("source", "columns"),
    [
        ("talk:A", ("talk", "A")),
        ("c:talk:2", ("c:talk", "2")),
        ("my talk.v2.srt", ("my_talk.v2", "1")),
        ("calls/talks.jsonl#2", ("talks#2", "1")),
        ("call.2024-01", ("call.2024-01", "1")),
        ("v1.5", ("v1.5", "1")),
        ("", ("transcript", "1")),
        ("talk:", ("talk", "1")),
    ],
)
def test_ctm_columns_come_from_the_source(source: str, columns: tuple[str, str]) -> None:
    assert file_and_channel(source) == columns


times = st.floats(min_value=0, allow_infinity=False, allow_nan=False)


@given(st.lists(st.tuples(times, times, st.none() | st.floats(0, 1), st.sampled_from(["", ",", ".", "?", "—"]))))
def test_ctm_round_trip_gives_identical_floats(rows: list[tuple[float, float, float | None, str]]) -> None:
    words = tuple(
        Word("word", min(one, other), max(one, other), sure, "me" if sure is None else None, mark=mark)
        for one, other, sure, mark in rows
    )
    again = read(write(Transcript(words, "f:A")))
    assert [transcript.source for transcript in again] == (["f:A"] if words else [])
    found = again[0].words if again else ()
    assert [(w.text, w.start, w.end, w.confidence, w.speaker, w.mark) for w in found] == [
        (w.text, w.start, w.end, w.confidence, w.speaker, w.mark) for w in words
    ]


def test_ctm_round_trip_of_the_sample_changes_nothing() -> None:
    transcripts = list(CTM.read(Source.open(SAMPLES / "ctm.ctm")))
    assert read(write(*transcripts)) == transcripts


@pytest.mark.parametrize(
    "text",
    [
        ";; note\r\n\r\nf A 0.1 0.2 hello 0.9\r\nf A 0.3 0.2 you\r\n",
        "f 1 0 0.5 hello",
        "f x 0 1 a\nf x 1 1 b\nf x 2 1 c\nf x 3 bad d\nf x 4 1 e\n",
        "f 1 0.5 0.25 word 0.75\n" * 3000,
    ],
)
def test_ctm_sniff_knows_ctm(text: str) -> None:
    assert CTM.sniff(Source("x", text.encode()))


@pytest.mark.parametrize(
    "text",
    [
        "",
        ";; only a comment\n",
        "I scored 3 5 times.\n",
        "It cost about 3.5 4 dollars.\n",
        "The boat was late,\nand we waited\nfor 2 3 hours.\n",
        "f 1 speaker 0.5 1.5 hello there\n" * 3,
        "word\tO\n" * 5,
    ],
)
def test_ctm_sniff_refuses_the_rest(text: str) -> None:
    assert not CTM.sniff(Source("x", text.encode()))


def test_ctm_is_not_prose_with_numbers() -> None:
    rows = b"there were 10 20 people\nthere are 30 40 houses\nthere will 50 60 be\n"
    assert not CTM.sniff(Source("talk.txt", rows))
    assert CTM.sniff(Source("talk", rows))
    assert CTM.sniff(Source("talk.txt", b"talk A 0.1 0.2 so\n" * 3))
