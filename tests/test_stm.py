from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpunct.errors import InputError
from interpunct.formats import Source, WriteOptions, read_source, written
from interpunct.formats.stm import STM
from interpunct.labels import parse_text
from interpunct.transcript import Transcript, Word

SAMPLES = Path(__file__).parent / "samples"


def read(text: str) -> list[Transcript]:
    return list(STM.read(Source("talk.stm", text.encode())))


def write(*transcripts: Transcript) -> str:
    return b"".join(written(transcripts, STM, WriteOptions())).decode()


def spans(transcript: Transcript) -> list[tuple[str, float | None, float | None]]:
    return [(word.text, word.start, word.end) for word in transcript.words]


def test_stm_read_gives_segment_times_to_first_and_last_word() -> None:
    (transcript,) = read("f 1 ann 1.5 3.25 <o,f0,female> We are here.\nf 1 bob 3.5 4 Yes.\n")
    assert spans(transcript) == [
        ("We", 1.5, None),
        ("are", None, None),
        ("here", None, 3.25),
        ("Yes", 3.5, 4.0),
    ]
    assert [word.speaker for word in transcript.words] == ["ann", "ann", "ann", "bob"]


def test_stm_read_gives_no_time_to_a_mark_standing_alone() -> None:
    (transcript,) = read("f 1 ann 1 2 Hello .\nf 1 ann 2 3 -- you there ?\n")
    assert spans(transcript) == [("Hello", 1.0, 2.0), ("you", 2.0, None), ("there", None, 3.0)]
    assert transcript.marks == (".", "", "?")


def test_stm_read_passes_over_ignored_and_empty_segments_but_keeps_the_document() -> None:
    transcripts = read("f 1 gap 0 9 <o,,> IGNORE_TIME_SEGMENT_IN_SCORING\nf 2 ann 0 1\nf 2 ann 1 2 hi\n")
    assert [(transcript.source, len(transcript)) for transcript in transcripts] == [("f:1", 0), ("f:2", 1)]


def test_stm_read_takes_first_alternatives_and_keeps_words_in_angle_brackets() -> None:
    (transcript,) = read("f 1 ann 0 1 <unk> so { we'd / we would } { @ / uh } go { home\n")
    assert [word.text for word in transcript.words] == ["<unk>", "so", "we'd", "go", "{", "home"]


def test_stm_sample_has_a_transcript_for_each_file_and_channel() -> None:
    transcripts = list(STM.read(Source.open(SAMPLES / "stm.stm")))
    assert [(transcript.source, len(transcript)) for transcript in transcripts] == [
        ("council:1", 14),
        ("council:2", 4),
        ("radio:A", 6),
    ]
    assert transcripts[2].words[0].speaker is None


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("f 1 ann 0 1 hi\nf 1 ann 3 2 we are back\n", 2, "end 2.0 is before start 3.0"),
        ("f 1 ann 1,5 2 hi\n", 1, "start '1,5' is not a number"),
        ("f 1 ann -1 2 hi there\n", 1, "not a time"),
        ("f 1 ann 1\n", 1, "4 columns"),
    ],
)
def test_stm_error_names_line_and_reason(text: str, line: int, what: str) -> None:
    with pytest.raises(InputError, match=what) as caught:
        read(text)
    assert caught.value.line == line


def test_stm_broken_sample_names_path_and_line() -> None:
    with pytest.raises(InputError, match=r"broken/stm\.stm:2: "):
        list(read_source(Source.open(SAMPLES / "broken" / "stm.stm"), STM))


def test_stm_write_gives_each_sentence_a_segment() -> None:
    words = (
        Word("So", 0.1, 0.2, mark=","),
        Word("yes", 0.2, 0.30000000000000004, mark="."),
        Word("Why", 1.0, 2.0, speaker="Ann Lee", mark="?"),
    )
    assert write(Transcript(words, "talk.srt")) == (
        "talk 1 unknown 0.1 0.30000000000000004 So, yes.\ntalk 1 Ann_Lee 1.0 2.0 Why?\n"
    )


def test_stm_write_keeps_a_first_word_that_looks_like_a_label() -> None:
    words = (Word("<a,b>", 0.0, 1.0, mark=""), Word("yes", 1.0, 2.0, mark="."))
    (again,) = read(write(Transcript(words, "f:1")))
    assert [word.text for word in again.words] == ["<a,b>", "yes"]


def test_stm_write_joins_sentences_that_have_no_time_between_them() -> None:
    text = "f 1 ann 0.0 2.5 One. Two. Three.\nf 1 ann 2.5 3.0 Four.\n"
    assert write(*read(text)) == text


def test_stm_write_says_which_sentence_lacks_a_time() -> None:
    words = (Word("Yes", 0.0, 1.0, mark="."), Word("I", 1.0, mark=""), Word("do", mark="."))
    with pytest.raises(InputError, match=r"word 3 \('do'\) has no end.*'I do\.'.*use --to json"):
        write(Transcript(words, "f:1"))


def test_stm_round_trip_of_the_sample_keeps_all_words() -> None:
    transcripts = list(STM.read(Source.open(SAMPLES / "stm.stm")))
    assert read(write(*transcripts)) == transcripts


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["Yes.", "Is it so?", "Well, go — now!", "In the U.S. today."]),
            st.floats(0, 1e6),
            st.floats(0, 1e6),
            st.sampled_from([None, "ann", "bob"]),
        ),
        max_size=8,
    )
)
def test_stm_round_trip_keeps_segments(rows: list[tuple[str, float, float, str | None]]) -> None:
    lines = [
        f"f A {speaker or 'unknown'} {min(one, other)!r} {max(one, other)!r} {text}\n"
        for text, one, other, speaker in rows
    ]
    transcripts = read("".join(lines))
    assert read(write(*transcripts)) == transcripts
    assert [word.text for transcript in transcripts for word in transcript.words] == [
        word.text for text, *_ in rows for word in parse_text(text)
    ]


@pytest.mark.parametrize(
    "text",
    [
        ';; CATEGORY "0" "" ""\r\n\r\nf 1 ann 0.5 1.5 <o,f0,male> hi\r\n',
        "f 1 ann 0 10 hello there\n" * 4000,
        "f A ann 0 1.5",
    ],
)
def test_stm_sniff_knows_stm(text: str) -> None:
    assert STM.sniff(Source("x", text.encode()))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "We sat there 3.5 4 hours.\n",
        "f 1 0.1 0.2 42 0.9\nf 1 0.3 0.2 43 0.9\nf 1 0.5 0.2 44 0.9\n",
        "LEXEME talk 1 0.5 0.2 did lex dana 0.9 <NA>\n" * 3,
        "There is a hill, and there is a road.\nIt goes up.\nWe took it.\n",
    ],
)
def test_stm_sniff_refuses_the_rest(text: str) -> None:
    assert not STM.sniff(Source("x", text.encode()))


def test_write_leaves_out_a_segment_without_text() -> None:
    words = (Word("", 0.0, 0.5, speaker="A"), Word("yes", 1.0, 1.5, speaker="B", mark="."))
    (line,) = write(Transcript(words)).splitlines()
    assert line.endswith("B 1.0 1.5 yes.")
