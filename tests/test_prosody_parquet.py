"""Prosody as Parquet: what is written can be read, and what is missing is null."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from interpunct.errors import InputError, MissingExtraError
from interpunct.features.prosody import measure_prosody
from interpunct.features.prosody_parquet import WORD_COLUMNS, write_prosody
from interpunct.features.prosody_table import NAMES
from interpunct.transcript import Transcript, Word

ONE = Transcript((Word("so", 0.0, 0.25, speaker="A"), Word("it", 0.5, 0.75, speaker="B"), Word("goes")), "one")
NONE = Transcript((), "none")
TWO = Transcript((Word("on", 1.0, 2.0),), "two")


def test_parquet_holds_every_word_and_null_where_a_value_is_missing(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "features.parquet"
    documents = [(transcript, measure_prosody(transcript)) for transcript in (ONE, NONE, TWO)]
    write_prosody(path, iter(documents))
    table = parquet.read_table(path)
    assert tuple(table.column_names) == (*WORD_COLUMNS, *NAMES)
    assert table["document"].to_pylist() == ["one"] * 3 + ["two"]
    assert table["index"].to_pylist() == [0, 1, 2, 0]
    assert table["word"].to_pylist() == ["so", "it", "goes", "on"]
    assert table["start"].to_pylist() == [0.0, 0.5, None, 1.0]
    assert table["pause_after_s"].to_pylist() == [0.25, None, None, None]
    for place, name in enumerate(NAMES):
        column = table[name]
        known = np.concatenate([prosody.known[:, place] for _, prosody in documents])
        assert str(column.type) == "float"
        assert [each is not None for each in column.to_pylist()] == known.tolist()


def test_parquet_refuses_prosody_of_another_transcript(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    with pytest.raises(InputError, match="prosody of 1 words for a transcript of 3"):
        write_prosody(tmp_path / "features.parquet", [(ONE, measure_prosody(TWO))])
    assert not list(tmp_path.iterdir())


def test_parquet_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"interpunct\[tables\]"):
        write_prosody(tmp_path / "features.parquet", [])
