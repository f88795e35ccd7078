"""Documents that have lost their apostrophes: which words change, in which documents, and nothing else."""

from __future__ import annotations

import numpy as np

from interpunct.labels import parse_text
from interpunct.train.apostrophes import without_apostrophes
from interpunct.train.pack import Pack
from interpunct.transcript import Transcript

TEXT = "We're sure, it's Anna's. Don't go!"


def packed(*texts: str) -> Pack:
    return Pack.of([Transcript(parse_text(text)) for text in texts], sources=("talks:train",))


def test_words_lose_their_apostrophes_and_keep_what_is_known_of_them() -> None:
    pack = packed(TEXT, "The dogs' bowls were theirs.")
    found = without_apostrophes(pack, 1.0)
    assert " ".join(found.texts()) == "were sure its annas dont go the dogs bowls were theirs"
    assert len(set(found.words)) == len(found.words)
    assert all(np.array_equal(found.tags[task], pack.tags[task]) for task in ("mark", "case"))
    assert found.documents.tolist() == pack.documents.tolist()
    assert found.sources == pack.sources


def test_a_share_of_the_documents_loses_all_and_the_others_none() -> None:
    pack = packed(*[TEXT] * 1000)
    found = without_apostrophes(pack, 0.3, seed=2)
    words = np.array(list(found.texts())).reshape(1000, -1)
    bare = (words == ["were", "sure", "its", "annas", "dont", "go"]).all(axis=1)
    assert 240 < bare.sum() < 360
    assert (words[~bare] == ["we're", "sure", "it's", "anna's", "don't", "go"]).all()
    assert np.array_equal(found.numbers, without_apostrophes(pack, 0.3, seed=2).numbers)
    assert without_apostrophes(pack, 0.0) is pack


def test_a_lone_apostrophe_stays_and_an_empty_pack_too() -> None:
    pack = packed("rock")
    lone = Pack(("'",), pack.numbers, pack.tags, pack.documents, {})
    assert list(without_apostrophes(lone, 1.0).texts()) == ["'"]
    assert len(without_apostrophes(packed(), 1.0)) == 0
