"""Training text shares no eight words in a row with what models are scored on."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpunct import corpora
from interpunct.errors import InputError
from interpunct.labels import SENTENCE_MARKS, parse_tokens
from interpunct.train.pack import Pack
from interpunct.transcript import Transcript, Word
from overlap import HELD_OUT, LENGTH, SHARE, Held, cleared, runs, shared_shares
from pack import PACKS

HASH_OF_EIGHT = 382982914597
SCORED = "We begin here. One two three four five six seven eight nine ten. And we end."


def transcript(text: str) -> Transcript:
    return Transcript(tuple(parse_tokens(text.split())))


def texts(one: Transcript) -> list[str]:
    return [word.text.lower() for word in one.words]


def split_sentences(text: Transcript) -> list[tuple[Word, ...]]:
    found: list[tuple[Word, ...]] = [()]
    for word in text.words:
        found[-1] = (*found[-1], word)
        if word.mark in SENTENCE_MARKS:
            found.append(())
    return found


def shared_slowly(one: Transcript, other: Transcript) -> set[tuple[str, ...]]:
    first, second = (
        {tuple(words[place : place + LENGTH]) for place in range(len(words) - LENGTH + 1)}
        for words in (texts(one), texts(other))
    )
    return first & second


def test_cleared_leaves_out_sentences_that_quote_a_scored_document() -> None:
    held = Held.of([transcript(SCORED)])
    quoting = "He said this. He counted one two three four five six seven eight. Then he stopped."
    assert texts(held.cleared(transcript(quoting))) == "he said this then he stopped".split()
    across = "Stop: four five six, seven? Eight nine ten plus more. Fine."
    assert texts(held.cleared(transcript(across))) == "stop four five six seven eight nine ten plus more fine".split()
    joined = "It is three four five six. Seven eight nine ten we know. Fine."
    assert texts(held.cleared(transcript(joined))) == ["fine"]


def test_cleared_drops_what_is_quoted_whole() -> None:
    held = Held.of([transcript(SCORED)])
    assert list(cleared([transcript(SCORED), transcript("Hello there.")], held)) == [transcript("Hello there.")]


@given(st.lists(st.sampled_from("a b c. d? e".split()), max_size=60), st.lists(st.sampled_from("a b c. d? e".split())))
def test_cleared_texts_share_nothing(scored: list[str], taught: list[str]) -> None:
    one, other = transcript(" ".join(scored)), transcript(" ".join(taught))
    held = Held.of([one])
    assert bool(held.shared(other).any()) == bool(shared_slowly(one, other))
    sentences = [words for words in split_sentences(other) if words]
    quoting = [words for words in sentences if shared_slowly(one, Transcript(words))]
    left = [word.text for word in held.cleared(other).words]
    if quoting:
        assert len(left) <= len(other.words) - sum(map(len, quoting))
    else:
        assert len(left) == len(other.words) or shared_slowly(one, other)


@given(
    st.lists(st.sampled_from("ab"), min_size=LENGTH, max_size=40),
    st.lists(st.lists(st.sampled_from("ab"), min_size=1, max_size=30), max_size=4),
    st.data(),
)
def test_cleared_packs_share_nothing_and_part_where_they_did(
    scored: list[str], taught: list[list[str]], data: st.DataObject
) -> None:
    begin = data.draw(st.integers(0, len(scored) - LENGTH))
    taught = [*taught, [*"ab", *scored[begin : begin + LENGTH + 2], *"ba"]]
    pack = Pack.of(transcript(" ".join(words)) for words in taught)
    left = Held.of([transcript(" ".join(scored))]).cleared_pack(pack)
    known = {tuple(scored[place : place + LENGTH]) for place in range(len(scored) - LENGTH + 1)}
    words = list(left.texts())
    assert not known & {tuple(words[place : place + LENGTH]) for place in range(len(words) - LENGTH + 1)}
    assert len(pack) - len(left) >= LENGTH
    whole = " ".join(word for text in taught for word in text)
    for first, last in pairwise([*left.documents, len(left)]):
        assert " ".join(words[first:last]) in whole


def test_cleared_pack_has_no_run_that_comes_of_leaving_another_out() -> None:
    held = Held.of([transcript("a b c d e f g h"), transcript("one two three four five six seven eight")])
    pack = Pack.of([transcript("x one two three four a b c d e f g h five six seven eight y")])
    assert list(held.cleared_pack(pack).texts()) == ["x", "y"]


def test_cleared_pack_keeps_the_words_around_what_is_scored() -> None:
    pack = Pack.of([transcript("Well, he said one two three four five six seven eight. Then he stopped.")])
    left = Held.of([transcript(SCORED)]).cleared_pack(pack)
    assert list(left.texts()) == "well he said then he stopped".split()
    assert left.documents.tolist() == [0, 3]
    assert left.tags["mark"].tolist() == [pack.tags["mark"][place] for place in (0, 1, 2, 11, 12, 13)]


def test_what_is_held_is_read_as_it_was_written(tmp_path: Path) -> None:
    held = Held.of([transcript(SCORED), transcript("Other words stand here, nine of them, and more follow.")])
    held.save(tmp_path / "held.npz")
    read = Held.load(tmp_path / "held.npz")
    assert read.runs.tolist() == held.runs.tolist()
    assert read.shared(transcript(SCORED)).all()
    (tmp_path / "held.npz").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"overlap\.py"):
        Held.load(tmp_path / "held.npz")


def test_runs_have_the_same_numbers_in_every_process() -> None:
    assert runs(transcript("One two three four five six seven eight.")).tolist() == [HASH_OF_EIGHT]


def test_runs_of_a_short_text_are_none() -> None:
    assert len(runs(transcript("only a few words here."))) == 0


def test_packs_hold_only_training_splits() -> None:
    packed = {spec for specs in PACKS.values() for spec in specs}
    assert not packed & {*HELD_OUT}
    assert all(spec.endswith((":train", ":extra")) for spec in packed)
    assert all(corpora.named(spec.split(":")[0]).shippable for spec in packed)


@pytest.mark.parametrize("spec", ["iwslt:extra", "debater:train", "esic:train"])
def test_cleared_corpora_share_less_than_a_hundredth_with_any_scored_document(data: Path, spec: str) -> None:
    scored = [(name, text) for name in ("iwslt:dev", "iwslt:test", "debater:test", "esic:test")
              for text in corpora.read(*name.split(":"))]  # fmt: skip
    held = Held.of(text for _, text in scored)
    kept = Pack.of(cleared(corpora.read(*spec.split(":")), held))
    shares = shared_shares(scored, [kept])
    assert max(shares.values()) <= SHARE
    assert len(shares) == len(scored)


def test_shares_tell_a_scored_document_that_is_taught() -> None:
    scored = [("iwslt:test", Transcript(transcript(SCORED).words, source="talk"))]
    assert shared_shares(scored, [Pack.of([transcript("Well. " + SCORED)])]) == {"iwslt:test talk": 1.0}
    assert shared_shares(scored, [Pack.of([transcript("Nothing of it.")])]) == {"iwslt:test talk": 0.0}
