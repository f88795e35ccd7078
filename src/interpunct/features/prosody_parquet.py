"""Prosody as Parquet, by pyarrow (the extra [tables]).

In: transcripts with their prosody. Out: a table of one row per word: document, index, word, start, end, then the 162
features as float32, null where a value is missing. Each document is a row group, handed on as soon as it is written,
so that memory holds one at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from interpunct import formats
from interpunct.errors import InputError, MissingExtraError
from interpunct.features.prosody import Prosody
from interpunct.features.prosody_table import NAMES
from interpunct.formats.sink import Sink
from interpunct.transcript import Transcript

WORD_COLUMNS = ("document", "index", "word", "start", "end")


def write_prosody(path: str | Path, documents: Iterable[tuple[Transcript, Prosody]]) -> None:
    """Write documents into one file, which appears whole or not at all."""
    formats.replace_file(Path(path), prosody_pieces(documents))


def prosody_pieces(documents: Iterable[tuple[Transcript, Prosody]]) -> Iterator[bytes]:
    """Yield the bytes of the file, a document at a time."""
    pyarrow, parquet = _pyarrow()
    schema = pyarrow.schema(
        [
            pyarrow.field("document", pyarrow.string()),
            pyarrow.field("index", pyarrow.int32()),
            pyarrow.field("word", pyarrow.string()),
            pyarrow.field("start", pyarrow.float64()),
            pyarrow.field("end", pyarrow.float64()),
            *(pyarrow.field(name, pyarrow.float32()) for name in NAMES),
        ]
    )
    sink = Sink()
    with parquet.ParquetWriter(pyarrow.PythonFile(sink, mode="w"), schema) as writer:
        for transcript, prosody in documents:
            writer.write_table(pyarrow.table(_arrays(pyarrow, transcript, prosody), schema=schema))
            yield sink.taken()
    yield sink.taken()


def _arrays(pyarrow: Any, transcript: Transcript, prosody: Prosody) -> list[Any]:
    words = transcript.words
    if len(words) != len(prosody):
        raise InputError(f"prosody of {len(prosody)} words for a transcript of {len(words)}; measure it again")
    return [
        pyarrow.array([transcript.source] * len(words), pyarrow.string()),
        pyarrow.array(np.arange(len(words), dtype=np.int32)),
        pyarrow.array([word.text for word in words], pyarrow.string()),
        pyarrow.array([word.start for word in words], pyarrow.float64()),
        pyarrow.array([word.end for word in words], pyarrow.float64()),
        *(
            pyarrow.array(np.ascontiguousarray(values), pyarrow.float32(), mask=~known)
            for values, known in zip(prosody.values.T, prosody.known.T, strict=True)
        ),
    ]


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("writing Parquet", "tables") from None
    return pyarrow, parquet
