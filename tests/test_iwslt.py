from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpunct.errors import InputError
from interpunct.formats import Source, WriteOptions, read_source, written
from interpunct.formats.iwslt import IWSLT
from interpunct.transcript import Transcript, Word

SAMPLES = Path(__file__).parent / "samples"
CORPUS = Path(__file__).parents[2] / "shared" / "data" / "iwslt"


def read(text: str) -> Transcript:
    (transcript,) = IWSLT.read(Source("talk.iwslt", text.encode()))
    return transcript


def write(*transcripts: Transcript) -> bytes:
    return b"".join(written(transcripts, IWSLT, WriteOptions()))


def test_iwslt_read_keeps_every_line_as_a_word_place() -> None:
    (transcript,) = IWSLT.read(Source.open(SAMPLES / "iwslt.iwslt"))
    assert len(transcript) == 14
    assert [word.text for word in transcript.words[7:11]] == ["n't", "mind", "--", ""]
    assert transcript.marks[7:11] == ("", ".", "", ",")
    assert transcript.words[13] == Word("row", mark="?")


def test_iwslt_read_takes_crlf_and_blank_lines() -> None:
    assert [word.text for word in read("a\tO\r\n\r\nb\tPERIOD\r\n").words] == ["a", "b"]


@pytest.mark.parametrize("name", ["dev2012", "test2011", "test2011asr"])
def test_iwslt_round_trip_of_the_published_files_is_exact(name: str) -> None:
    if not CORPUS.is_dir():
        pytest.skip(f"the IWSLT files are not here: {CORPUS}")
    source = Source.open(CORPUS / name)
    assert IWSLT.sniff(source)
    (transcript,) = IWSLT.read(source)
    assert len(transcript) == source.data.count(b"\n")
    assert write(transcript) == source.data


@given(
    st.lists(
        st.tuples(st.text(st.characters(exclude_characters="\t\r\n\0", codec="utf-8")), st.sampled_from(",.?"))
        | st.tuples(st.text("ab", min_size=1), st.just("")),
        max_size=20,
    )
)
def test_iwslt_round_trip_keeps_any_text(rows: list[tuple[str, str]]) -> None:
    words = tuple(Word(text, mark=mark) for text, mark in rows)
    assert read("\n" + write(Transcript(words)).decode()).words == words


def test_iwslt_write_maps_marks_to_three_and_leaves_text_alone() -> None:
    words = (Word("Wait", mark="!"), Word("U.S.", mark="—"), Word("so", mark=None), Word("a\tb", mark=";"))
    assert write(Transcript(words)) == b"Wait\tPERIOD\nU.S.\tCOMMA\nso\tO\na b\tPERIOD\n"


def test_iwslt_write_refuses_a_second_document() -> None:
    with pytest.raises(InputError, match=r"IWSLT holds one document.*-o DIR"):
        write(Transcript(()), Transcript(()))


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("a\tO\nb\tEXCLAMATION\n", 2, "unknown label 'EXCLAMATION'; use one of O, COMMA, PERIOD, QUESTION"),
        ("a O\n", 1, "no label in 'a O'"),
    ],
)
def test_iwslt_error_names_line_and_reason(text: str, line: int, what: str) -> None:
    with pytest.raises(InputError, match=what) as caught:
        read(text)
    assert caught.value.line == line


def test_iwslt_broken_sample_names_path_and_line() -> None:
    source = Source.open(SAMPLES / "broken" / "iwslt.iwslt")
    assert IWSLT.sniff(source)
    with pytest.raises(InputError, match=r"broken/iwslt\.iwslt:4: "):
        list(read_source(source, IWSLT))


def test_iwslt_sniff_tells_labels_from_tables_and_prose() -> None:
    assert IWSLT.sniff(Source("x", b"word\tPERIOD\n" * 9000))
    for text in (
        b"",
        b"\n",
        b"name\tage\nann\t31\n",
        b"O\nCOMMA\n",
        b"A plain sentence.\n",
        b"word O\nword O\n",
    ):
        assert not IWSLT.sniff(Source("x", text))
