"""Words said letter by letter: which they are, what becomes of their marks, capitals and documents."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pack as packing
from interpunct.cases import CASES
from interpunct.labels import MARKS, parse_text
from interpunct.train.pack import UNKNOWN, Pack
from interpunct.train.spelled import letters_of, spelled
from interpunct.transcript import Transcript
from written import written

TEXT = "Our API, at 6 p.m. in the U.S.? The CEO knows the API and us. CHAPTER. She told US that EBITDA is."


def packed(*texts: str) -> Pack:
    return Pack.of([Transcript(parse_text(text)) for text in texts], sources=("talks:train",))


def test_abbreviations_become_letters_with_their_mark_behind_the_last() -> None:
    found = spelled(packed(TEXT), 1.0)
    assert " ".join(written(found).texts()) == (
        "Our A P I, at 0 p m in the U S? The C E O knows the A P I and us. CHAPTER. She told US that EBITDA is."
    )
    assert found.sources == ("talks:train",)


@pytest.mark.parametrize("word", ["us", "chapter", "ebitda", "0d", "u.s.0", "a", "ok.", "é.t"])
def test_other_words_are_not_said_letter_by_letter(word: str) -> None:
    assert letters_of(word, capitals=False) == ""
    assert letters_of("it's", capitals=True) == ""


def test_a_share_of_them_is_spelled_and_the_same_by_the_same_seed() -> None:
    pack = packed(*["We use the API a lot."] * 1000)
    one, again, other = (spelled(pack, 0.3, seed=seed) for seed in (1, 1, 2))
    assert 480 < len(one) - len(pack) < 720
    assert np.array_equal(one.numbers, again.numbers)
    assert not np.array_equal(one.numbers, other.numbers)
    assert spelled(pack, 0.0) is pack


def test_documents_begin_where_they_began() -> None:
    pack = packed("CEO of IBM. Yes.", "The U.N. said no.", "I agree.")
    found = spelled(pack, 1.0)
    words = list(found.texts())
    assert [words[place] for place in found.documents] == ["c", "the", "i"]
    assert found.documents.tolist() == [0, 8, 13]


def test_what_nobody_knows_stays_unknown() -> None:
    pack = packed("Our API is")
    marks = np.array([0, UNKNOWN, 0], dtype=np.uint8)
    found = spelled(Pack(pack.words, pack.numbers, {**pack.tags, "mark": marks}, pack.documents, {}), 1.0)
    assert found.tags["mark"].tolist() == [0, MARKS.index(""), MARKS.index(""), UNKNOWN, 0]
    cases = np.full(3, UNKNOWN, dtype=np.uint8)
    assert len(spelled(Pack(pack.words, pack.numbers, {**pack.tags, "case": cases}, pack.documents, {}), 1.0)) == 3
    assert found.tags["case"].tolist()[1:4] == [CASES.index("single")] * 3


def test_an_empty_pack_has_nothing_to_spell() -> None:
    assert len(spelled(packed(), 1.0)) == 0


def test_command_makes_packs_with_letters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "FOLDER", tmp_path)
    monkeypatch.setattr(packing, "held_out", list)
    monkeypatch.setattr("interpunct.train.specs.read", lambda _: [Transcript(parse_text("Our API is old."))])
    for share, words in (("0", 4), ("1", 6)):
        monkeypatch.setattr("sys.argv", ["pack.py", "court", "--spelled", share])
        assert packing.main() == 0
        assert len(Pack.load(tmp_path / "court.pack")) == words
    for wrong in (["--spelled", "2"], ["--unapostrophed", "-1"]):
        monkeypatch.setattr("sys.argv", ["pack.py", "court", *wrong])
        with pytest.raises(SystemExit):
            packing.main()
