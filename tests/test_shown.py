"""What a network is shown of a corpus: every word's pieces and labels, and words misheard."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from interpunct.models.encoded import IGNORED, Encoded, Heard  # noqa: E402
from interpunct.models.shown import Batch, Shown, covering  # noqa: E402

MARKED = (3, 7, 11, 19)
CPU = torch.device("cpu")


@dataclass(frozen=True)
class Options:
    window: int = 8
    shortest: int = 0
    longest: int = 0
    batch: int = 3
    pieces: int = 0
    noise: float = 0.0
    dropped: float = 0.0
    doubled: float = 0.0
    misheard: float = 1.0
    clean: float = 0.0


def corpus(words: int = 21) -> Encoded:
    """Word i has 1 to 3 pieces, 100 i and the numbers behind; the mark 1 behind some words."""
    sizes = np.array([1 + i % 3 for i in range(words)])
    pieces = np.array([100 * (i + 1) + part for i in range(words) for part in range(sizes[i])])
    marks = np.array([int(i in MARKED) for i in range(words)])
    return Encoded(
        pieces, np.concatenate([[0], np.cumsum(sizes)]), np.array([0, 4, 8]), {"mark": marks, "case": marks * 0 + 2}
    )  # fmt: skip


def read(batch: Batch) -> Iterator[list[tuple[int, int]]]:
    """Yield each sequence as (word, mark), checking on the way that its pieces are those of its words, in order."""
    for row in range(len(batch.pieces)):
        known = (batch.labels["mark"][row] != IGNORED).sum().item()
        lasts = batch.words[row, :known].tolist()
        assert lasts[-1] + 1 == batch.lengths[row]
        assert not batch.pieces[row, lasts[-1] + 1 :].any()
        words = []
        begin = 0
        for last, mark in zip(lasts, batch.labels["mark"][row, :known].tolist(), strict=True):
            found = batch.pieces[row, begin : last + 1].tolist()
            word = found[0] // 100 - 1
            assert found == [100 * (word + 1) + part for part in range(1 + word % 3)]
            words.append((word, mark))
            begin = last + 1
        assert (batch.labels["case"][row, known:] == IGNORED).all()
        yield words


def test_shown_gives_every_word_once_and_in_order() -> None:
    shown = Shown(corpus(), Options(), CPU)
    words = [pair for batch in shown.plain_batches() for sequence in read(batch) for pair in sequence]
    assert words == [(word, int(word in MARKED)) for word in range(21)]


def test_shown_sequences_that_begin_with_a_sentence_are_whole() -> None:
    shown = Shown(corpus(), Options(shortest=5, longest=6), CPU)
    for batch in shown.batches(1):
        for sequence in read(batch):
            first = sequence[0][0]
            assert first in (0, 4, 8) or first > 8
            assert sequence == [(word, int(word in MARKED)) for word in range(first, first + len(sequence))]


def test_shown_leaves_out_only_words_without_marks() -> None:
    shown = Shown(corpus(), Options(window=21, dropped=1.0), CPU, unmarked=0)
    found = [sequence for batch in shown.batches(2) for sequence in read(batch)]
    assert found
    for sequence in found:
        assert {word for word, _ in sequence[1:]} <= set(MARKED)
        assert all(mark == int(word in MARKED) for word, mark in sequence)


def test_shown_marks_only_the_last_of_a_word_said_twice() -> None:
    shown = Shown(corpus(), Options(window=8, doubled=1.0), CPU, unmarked=0)
    for batch in shown.batches(3):
        for sequence in read(batch):
            words = [word for word, _ in sequence]
            assert words[0::2] == words[1::2]
            assert all(mark == 0 for _, mark in sequence[0::2])
            assert all(mark == int(word in MARKED) for word, mark in sequence[1::2])


def test_shown_teaches_no_mark_after_a_word_that_is_said_again() -> None:
    pieces = corpus()
    sure = np.eye(2, dtype=np.float32)[pieces.labels["mark"]]
    taught = replace(pieces, targets={"mark": sure})
    for batch in Shown(taught, Options(window=8, doubled=1.0), CPU, unmarked=0).batches(3):
        known = batch.labels["mark"] != IGNORED
        assert torch.equal(batch.targets["mark"].argmax(dim=-1)[known], batch.labels["mark"][known])
        assert (batch.labels["case"][:, 1::2] == IGNORED).all()


def test_shown_mishears_about_as_often_as_told() -> None:
    options = Options(window=1000, batch=4, dropped=0.2, doubled=0.1)
    shown = Shown(corpus(20_000), options, CPU, unmarked=0)
    torch.manual_seed(1)
    kept: set[int] = set()
    twice = total = 0
    for batch in shown.batches(4):
        for sequence in read(batch):
            words = [word for word, _ in sequence]
            kept |= {*words}
            twice += sum(one == other for one, other in pairwise(words))
            total += max(words) - min(words) + 1
    assert 0.16 < 1 - len(kept) / total < 0.24
    assert 0.07 < twice / total < 0.13


@pytest.mark.parametrize("noised", [False, True])
def test_shown_windows_of_so_many_pieces_are_full(noised: bool) -> None:
    options = Options(window=8, pieces=16, batch=4, dropped=0.1 * noised, doubled=0.1 * noised)
    shown = Shown(corpus(300), options, CPU, unmarked=0)
    torch.manual_seed(1)
    batches = [batch for seed in range(3) for batch in shown.batches(seed)]
    full = [batch for batch in batches if batch.full]
    assert len(full) > len(batches) / 2
    words = set()
    for batch in full:
        assert batch.pieces.shape[1] == 16
        assert batch.lengths.tolist() == [16] * len(batch.lengths)
        for row, lasts in enumerate(batch.words):
            known = batch.labels["mark"][row] != IGNORED
            first = 0
            for last, mark in zip(lasts[known].tolist(), batch.labels["mark"][row][known].tolist(), strict=True):
                found = batch.pieces[row, first : last + 1].tolist()
                word = found[0] // 100 - 1
                assert found == [100 * (word + 1) + part for part in range(1 + word % 3)]
                assert noised or mark == int(word in MARKED)
                words.add(word)
                first = last + 1
            cut = batch.pieces[row, first:].tolist()  # the word that the window's end cuts has no label
            assert len(cut) < 3
            assert len({piece // 100 for piece in cut}) < 2
    assert len(words) > 250


@example([1, 1, 1, 1, 3], 4, 2)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=40), st.integers(1, 9), st.integers(0, 5))
def test_covering_windows_hold_every_word_and_no_piece_too_many(sizes: list[int], pieces: int, overlap: int) -> None:
    ends = np.concatenate([[0], np.cumsum(sizes)])
    begin, stop = covering(ends, pieces, overlap)
    assert (begin[0], stop[-1]) == (0, len(sizes))
    for first, last in zip(begin.tolist(), stop.tolist(), strict=True):
        assert ends[last] - ends[first] <= pieces or last == first + 1
        assert last == len(sizes) or ends[last + 1] - ends[first] > pieces  # it is as long as it can be
    for (first, last), (following, end) in pairwise(zip(begin.tolist(), stop.tolist(), strict=True)):
        assert first < following <= last
        assert last < end
        assert last - following <= overlap


def test_shown_words_misheard_keep_their_labels() -> None:
    pieces = corpus(21)
    others = np.full((21, 2), 20)  # every word is heard as the last one, which has three pieces
    heard = Heard(np.arange(21, dtype=np.uint32), others, np.ones(21, np.float32), np.zeros(21, np.float32))
    shown = Shown(replace(pieces, heard=heard), Options(window=21), CPU, unmarked=0)
    whole = [batch for seed in range(20) for batch in shown.batches(seed) if batch.words.shape[1] == 21]
    assert whole  # some batches are cut short
    for batch in whole:
        assert batch.lengths.tolist() == [63]
        assert set(batch.pieces.flatten().tolist()) <= {2100, 2101, 2102}
        assert torch.equal(batch.labels["mark"][0], torch.from_numpy(pieces.labels["mark"]))
    plain = [pair for batch in shown.plain_batches() for sequence in read(batch) for pair in sequence]
    assert plain == [(word, int(word in MARKED)) for word in range(21)]


def test_shown_clean_sequences_have_no_mistakes_and_the_others_have() -> None:
    words = 2100
    others = np.full((words, 2), 20)
    heard = Heard(
        np.arange(words, dtype=np.uint32), others, np.full(words, 0.5, np.float32), np.zeros(words, np.float32)
    )
    options = Options(window=21, batch=20, noise=0.3, doubled=0.3, clean=0.5)
    shown = Shown(replace(corpus(words), heard=heard), options, CPU, unmarked=0)
    plain = {tuple(range(100 * (first + 1), 100 * (first + 22), 100)) for first in range(words - 20)}
    whole = [batch for seed in range(4) for batch in shown.batches(seed) if batch.words.shape[1] == 21]
    found = [tuple(row[(row > 0) & (row % 100 == 0)].tolist()) in plain for batch in whole for row in batch.pieces]
    assert 0.35 < sum(found) / len(found) < 0.65
