from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet as arrow_parquet

from interpunct.errors import InputError, MissingExtraError
from interpunct.formats.format import WriteOptions
from interpunct.formats.parquet import PARQUET, write
from interpunct.formats.source import Source
from interpunct.transcript import Transcript, Word

SAMPLES = Path(__file__).parent / "samples"


def read(data: bytes) -> list[Transcript]:
    return list(PARQUET.read(Source("talks.parquet", data)))


def table(rows: list[dict[str, Any]], **options: Any) -> bytes:
    file = io.BytesIO()
    arrow_parquet.write_table(pyarrow.Table.from_pylist(rows), file, **options)
    return file.getvalue()


def test_parquet_sample_is_read() -> None:
    porch, attic = PARQUET.read(Source.open(SAMPLES / "parquet.parquet"))
    assert (porch.source, porch.model) == ("porch.wav", "fast 1.0.0")
    assert porch.words[1] == Word("again", 0.4, 0.95, 0.8, "A", "again,", ",", "lower")
    assert attic.words == (Word("Why", None, None, None, None, "why", "?", "sentence", 0.75, 0.5), Word("um"))


def test_parquet_is_known_by_its_first_bytes_even_where_it_is_no_text() -> None:
    assert PARQUET.sniff(Source("x", b"PAR1\xff\xfe"))
    assert not PARQUET.sniff(Source("x", b"PAR"))
    assert not PARQUET.sniff(Source("x", "PARIS in spring".encode("utf-16")))


def test_parquet_reads_a_text_column() -> None:
    (one, two) = read(table([{"id": 7, "text": "so far."}, {"id": 8, "text": ""}]))
    assert (one.source, [word.mark for word in one.words]) == ("7", ["", "."])
    assert (two.source, len(two)) == ("8", 0)


@pytest.mark.parametrize(
    "words",
    [
        ["only", "one?"],
        [{"word": "only", "start": 0.5, "end": 0.75}, {"word": "one?", "start": None, "end": None}],
    ],
)
def test_parquet_reads_words_as_strings_or_structs(words: list[Any]) -> None:
    (transcript,) = read(table([{"words": words, "colour": "red"}]))
    assert [(word.text, word.mark) for word in transcript.words] == [("only", ""), ("one", "?")]
    assert transcript.source == "talks.parquet"


def test_parquet_reads_every_row_group() -> None:
    rows = [{"text": f"word{number}"} for number in range(300)]
    found = read(table(rows, row_group_size=7))
    assert [transcript.words[0].text for transcript in found] == [row["text"] for row in rows]
    assert found[299].source == "talks.parquet#300"


def test_parquet_has_named_columns() -> None:
    data = b"".join(write([Transcript((Word("Hello", 0.5, mark="."),), "a.wav", "fast")], WriteOptions()))
    (row,) = arrow_parquet.read_table(io.BytesIO(data)).to_pylist()
    assert list(row) == ["source", "model", "text", "words"]
    assert (row["source"], row["model"], row["text"]) == ("a.wav", "fast", "Hello.")
    assert row["words"][0] == {
        "text": "Hello", "raw": "Hello", "start": 0.5, "end": None, "confidence": None, "speaker": None,
        "mark": ".", "mark_confidence": None, "case": None, "case_confidence": None,
    }  # fmt: skip


def test_parquet_of_no_transcript_is_an_empty_table() -> None:
    assert read(b"".join(write([], WriteOptions()))) == []


def test_parquet_is_written_batch_by_batch() -> None:
    asked: list[int] = []

    def documents() -> Iterator[Transcript]:
        for number in range(1000):
            asked.append(number)
            yield Transcript((Word(f"word{number}", mark="", case="lower"),), str(number))

    pieces = write(documents(), WriteOptions())
    first = next(pieces)
    assert len(asked) < 1000
    found = read(first + b"".join(pieces))
    assert [transcript.source for transcript in found] == [str(number) for number in range(1000)]


def test_parquet_names_the_row_of_the_broken_sample() -> None:
    with pytest.raises(InputError, match="before start") as caught:
        list(PARQUET.read(Source.open(SAMPLES / "broken" / "parquet.parquet")))
    assert caught.value.line == 2


@pytest.mark.parametrize(
    ("rows", "line", "what"),
    [
        ([{"body": "a"}], 1, "body"),
        ([{"text": "a"}, {"text": None}], 2, "neither"),
        ([{"text": 3}], 1, "'text' is a number"),
        ([{"words": [1.5]}], 1, "a word is a number"),
        ([{"words": [{"text": "a", "start": float("nan")}]}], 1, "start"),
    ],
)
def test_parquet_names_the_row_of_what_is_wrong(rows: list[dict[str, Any]], line: int, what: str) -> None:
    with pytest.raises(InputError, match=what) as caught:
        read(table(rows))
    assert caught.value.line == line


def test_parquet_cut_off_anywhere_is_refused() -> None:
    data = (SAMPLES / "parquet.parquet").read_bytes()
    for stop in range(4, len(data), 97):
        with pytest.raises(InputError, match="broken Parquet"):
            read(data[:stop])


def test_parquet_without_pyarrow_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"reading Parquet needs the extra \[tables\]"):
        read(b"PAR1")
    with pytest.raises(MissingExtraError, match=r"writing Parquet needs the extra \[tables\]"):
        list(write([], WriteOptions()))
