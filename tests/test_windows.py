from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpunct.decode.reading import score_tokens
from interpunct.decode.windows import cut, score, weights
from interpunct.errors import InputError, ModelError
from interpunct.features import Features
from interpunct.models.model import Clitics, Context
from interpunct.models.scores import Array, Scores


class Echo:
    """Scores each word by its own text ("12" -> label 12 % 3), sure of itself in proportion to its context."""

    name = "echo 0"
    labels: Mapping[str, tuple[str, ...]] = {"mark": ("", ",", ".")}
    clitics: Clitics = "joined"

    def __init__(self, context: Context) -> None:
        self.context = context
        self.calls: list[int] = []

    def forward(self, windows: Sequence[Features]) -> list[Scores]:
        self.calls.append(len(windows))
        return [Scores({"mark": self._logs(window)}) for window in windows]

    def _logs(self, window: Features) -> Array:
        chances = np.full((len(window), 3), 0.1, dtype=np.float32)
        for row, text in enumerate(window.texts):
            chances[row, int(text) % 3] = 0.8
        return np.log(chances)


def numbered(count: int) -> Features:
    return Features(tuple(map(str, range(count))))


overlapping = st.integers(1, 9).flatmap(lambda w: st.builds(Context, st.just(w), st.integers(0, w - 1)))
restarting = st.builds(Context, st.integers(1, 9), restart=st.just(True))
contexts = st.one_of(overlapping, restarting, st.just(Context(None)))


@given(st.lists(st.integers(0, 40), max_size=6), contexts, st.integers(1, 5))
def test_score_gives_every_word_of_every_document_once_in_order(sizes: list[int], context: Context, batch: int) -> None:
    documents = [numbered(size) for size in sizes]
    got: dict[int, list[Array]] = {}
    order = []
    for index, scores in score(Echo(context), documents, batch=batch):
        got.setdefault(index, []).append(scores.tasks["mark"])
        order.append(index)
    assert order == sorted(order)
    for index, size in enumerate(sizes):
        if size:
            logs = np.concatenate(got[index])
            assert logs.argmax(axis=1).tolist() == [place % 3 for place in range(size)]
            np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1, atol=1e-5)


@given(st.integers(1, 60), st.integers(1, 9), st.integers(0, 8))
def test_cut_covers_a_document_and_its_finals_add_up(size: int, words: int, overlap: int) -> None:
    windows = list(cut([numbered(size)], words, min(overlap, words - 1)))
    assert sum(window.final for window in windows) == size
    seen = {window.first + row for window in windows for row in range(len(window.features))}
    assert seen == set(range(size))
    assert all(len(window.features) == min(size, words) for window in windows)


def test_score_averages_overlaps_by_weights_that_fall_to_the_edges() -> None:
    class Opinionated(Echo):
        def _logs(self, window: Features) -> Array:
            chances = [0.9, 0.05, 0.05] if window.texts[0] == "0" else [0.1, 0.45, 0.45]
            return np.log(np.array([chances] * len(window), dtype=np.float32))

    context = Context(4, 2)
    logs = np.concatenate([s.tasks["mark"] for _, s in score(Opinionated(context), [numbered(6)])])
    scale = weights(4)
    expected = (scale[2] * 0.9 + scale[0] * 0.1) / (scale[2] + scale[0])
    assert np.exp(logs)[2, 0] == pytest.approx(expected, abs=1e-5)
    assert np.exp(logs)[0, 0] == pytest.approx(0.9, abs=1e-5)
    assert np.exp(logs)[5, 0] == pytest.approx(0.1, abs=1e-5)


def test_score_puts_short_documents_into_one_batch() -> None:
    echo = Echo(Context(8, 2))
    list(score(echo, [numbered(3)] * 10, batch=16))
    assert echo.calls == [10]


class Seen(Echo):
    """Remembers which words each window held."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.windows: list[tuple[str, ...]] = []

    def forward(self, windows: Sequence[Features]) -> list[Scores]:
        self.windows += [window.texts for window in windows]
        return super().forward(windows)


def test_score_restarts_after_the_last_sentence_end() -> None:
    """Words 2, 5, 8, ... end sentences: a window of five words keeps what stands up to the last of them."""
    seen = Seen(Context(5, restart=True))
    list(score(seen, [numbered(8)]))
    assert seen.windows == [tuple("01234"), tuple("34567")]
    seen = Seen(Context(2, restart=True))
    list(score(seen, [numbered(5)]))
    assert seen.windows == [tuple("01"), tuple("23"), tuple("34")]  # "01" has no end: all of it is kept


def test_score_shows_a_whole_document_at_once() -> None:
    seen = Seen(Context(None))
    list(score(seen, [numbered(50), numbered(0), numbered(7)]))
    assert [len(window) for window in seen.windows] == [50, 7]


@pytest.mark.parametrize(
    "bad", [{"words": 4, "overlap": 4}, {"words": None, "restart": True}, {"words": 9, "overlap": 2, "restart": True}]
)
def test_context_refuses_what_contradicts_itself(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"overlap|restart"):
        Context(**bad)


def test_score_tokens_takes_empty_documents_and_symbols() -> None:
    found = list(score_tokens(Echo(Context(None)), [["1"], [], ["♪"], ["2", "♪"]]))
    assert [len(scores) for scores in found] == [1, 0, 1, 2]
    np.testing.assert_allclose(np.exp(found[3].tasks["mark"])[:, 0], [0.8, 1.0], atol=1e-5)  # symbols have no mark


class Failing(Echo):
    """Scores some windows, then fails."""

    def forward(self, windows: Sequence[Features]) -> list[Scores]:
        if len(self.calls) == 9:
            raise ModelError("out of paper")
        return super().forward(windows)


def test_score_tells_what_went_wrong_while_it_worked_ahead() -> None:
    found = score(Failing(Context(2)), [numbered(100)], batch=2)
    first = [next(found)[0] for _ in range(16)]  # what was scored before is still handed out
    assert first == [0] * 16
    with pytest.raises(ModelError, match="out of paper"):
        next(found)


@pytest.mark.parametrize("context", [Context(2), Context(None), Context(2, restart=True)], ids=str)
def test_score_hands_out_what_came_before_an_error_of_the_documents(context: Context) -> None:
    def documents() -> Iterator[Features]:
        yield from [numbered(2)] * 29
        raise InputError("the disk is gone")

    found = score(Echo(context), documents(), batch=2)
    assert [next(found)[0] for _ in range(29)] == [*range(29)]
    with pytest.raises(InputError, match="the disk is gone"):
        list(found)


def test_score_left_early_stops_working_ahead() -> None:
    class Slow(Echo):
        def forward(self, windows: Sequence[Features]) -> list[Scores]:
            time.sleep(0.05)
            return super().forward(windows)

    model = Slow(Context(2))
    found = score(model, [numbered(1000)], batch=2)
    next(found)
    left = len(model.calls)
    found.close()  # type: ignore[attr-defined]
    for thread in threading.enumerate():
        if thread.name.startswith("interpunct-ahead"):
            thread.join()
    assert len(model.calls) <= left + 2


def test_score_of_a_short_document_starts_no_thread() -> None:
    threads = {threading.active_count() for _ in score(Echo(Context(2)), [numbered(20)], batch=2)}
    assert threads == {threading.active_count()}
