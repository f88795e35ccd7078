"""Parquet: one document a row, by pyarrow (the extra [tables]).

In: a table with a `words` column (lists of strings or of structs) or a `text` column, and perhaps `id`,
`source` or `name`, as in JSONL. Out: a table of `source`, `model`, `text` and `words`, in which nothing is
lost. Rows are read and written in batches. Where an error names a line, it is the row, counted from 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from interpunct import render
from interpunct.errors import InputError, MissingExtraError
from interpunct.formats import jsonl, own
from interpunct.formats.format import Format, WriteOptions
from interpunct.formats.sink import Sink
from interpunct.formats.source import Source
from interpunct.transcript import Transcript

_MAGIC = b"PAR1"
_ROWS = 64
_COLUMNS = ("id", "source", "name", "model", "text", "words")
_TEXTS = frozenset(("text", "raw", "speaker", "mark", "case"))
_FIELDS = (
    "text", "raw", "start", "end", "confidence", "speaker",
    "mark", "mark_confidence", "case", "case_confidence",
)  # fmt: skip


def read(source: Source) -> Iterator[Transcript]:
    """Read a document from each row."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("reading Parquet", "tables") from None
    try:
        file = parquet.ParquetFile(pyarrow.BufferReader(source.data))
        columns = [name for name in _COLUMNS if name in file.schema_arrow.names]
        if "text" not in columns and "words" not in columns:
            there = ", ".join(file.schema_arrow.names[:8]) or "none"
            raise InputError(f"neither a 'words' nor a 'text' column (there is: {there}); rename one", line=1)
        count = 0
        for batch in file.iter_batches(batch_size=_ROWS, columns=columns):
            for row in batch.to_pylist():
                count += 1
                yield _transcript(row, source.id if file.metadata.num_rows == 1 else f"{source.id}#{count}", count)
    except InputError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        what = str(error).partition("\n")[0]
        raise InputError(f"broken Parquet: {what}; make or copy the file again") from None


def _transcript(row: dict[str, Any], name: str, number: int) -> Transcript:
    try:
        return jsonl.from_row(row, name)
    except InputError as error:
        raise error.at(line=number) from None


def write(transcripts: Iterable[Transcript], _: WriteOptions) -> Iterator[bytes]:
    """Write a row for each transcript, a batch of rows at a time."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("writing Parquet", "tables") from None
    word = pyarrow.struct([(name, pyarrow.string() if name in _TEXTS else pyarrow.float64()) for name in _FIELDS])
    texts = [(name, pyarrow.string()) for name in ("source", "model", "text")]
    schema = pyarrow.schema([*texts, ("words", pyarrow.list_(word))])
    sink = Sink()
    remaining = iter(transcripts)
    with parquet.ParquetWriter(sink, schema) as writer:
        while rows := [_row(transcript) for transcript in islice(remaining, _ROWS)]:
            writer.write_table(pyarrow.Table.from_pylist(rows, schema=schema))
            yield sink.taken()
    yield sink.taken()


def _row(transcript: Transcript) -> dict[str, Any]:
    return {
        "source": transcript.source,
        "model": transcript.model,
        "text": render.text(transcript),
        "words": list(map(own.to_item, transcript.words)),
    }


PARQUET = Format(
    name="parquet",
    summary="one document a row, with a text or words column (needs the extra [tables])",
    extensions=(".parquet",),
    sniff=lambda source: source.data[:4] == _MAGIC,
    read=read,
    write=write,
    timed=True,
    many=True,
)
