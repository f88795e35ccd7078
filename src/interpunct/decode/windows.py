"""Documents of any length through a model of bounded context.

In: features of documents, one after another. Out: their scores, in order, in blocks. Windows that overlap have their
probabilities averaged, with weights that fall towards the windows' edges, so that neither a window's end nor a join
shows; memory is then constant. Windows that restart keep what stands before the last sentence end found in them.
Windows of several documents share a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import TypeVar

import numpy as np

from interpunct.decode.pending import Pending, groups
from interpunct.decode.steps import write
from interpunct.features import Features
from interpunct.labels import SENTENCE_MARKS
from interpunct.models.lattice import settled
from interpunct.models.model import Context, Model, Scorer, Writer
from interpunct.models.scores import Array, Scores, joined

T = TypeVar("T")
R = TypeVar("R")
_BATCHES_AHEAD = 8  # windows looked at together, so that those of like length share a batch


def scored(model: Model, windows: Sequence[Features], *, beam: int = 1) -> list[Scores]:
    """Score windows by what the model can do: all words at once, or label after label."""
    if isinstance(model, Writer):
        lengths = [len(window) for window in windows]
        return write(model.steps(windows), lengths, model.labels, beam=beam) if windows else []
    if not isinstance(model, Scorer):
        raise TypeError(f"{type(model).__name__} neither scores nor writes labels")
    return settled(model.forward(windows))


def score(
    model: Model, documents: Iterable[Features], *, batch: int = 16, beam: int = 1
) -> Iterator[tuple[int, Scores]]:
    """Yield (document's index, scores of its next words), every document's blocks in order.

    A document without words yields nothing.
    """
    if model.context.words is None or model.context.restart:
        return _in_turn(model, documents, batch=batch, beam=beam)
    return _overlapping(model, documents, model.context, batch=batch, beam=beam)


def _in_turn(model: Model, documents: Iterable[Features], *, batch: int, beam: int) -> Iterator[tuple[int, Scores]]:
    """Take documents side by side, each window where the one before it left off."""
    words = model.context.words
    for group in groups(enumerate(documents), batch):
        blocks: dict[int, list[Scores]] = {index: [] for index, _ in group}
        begin = dict.fromkeys(blocks, 0)
        going = {index: features for index, features in group if len(features)}
        while going:
            windows = {
                index: features[begin[index] : len(features) if words is None else begin[index] + words]
                for index, features in going.items()
            }
            found = scored(model, list(windows.values()), beam=beam)
            for (index, window), scores in zip(windows.items(), found, strict=True):
                whole = begin[index] + len(window) >= len(going[index])
                kept = len(window) if whole else _end_of_sentences(model, scores)
                blocks[index].append(scores[:kept])
                begin[index] += kept
                if whole:
                    del going[index]
        for index, parts in blocks.items():
            if parts:
                yield index, joined(parts)


def _end_of_sentences(model: Model, scores: Scores) -> int:
    """Return how many words stand before the end of the last whole sentence; all of them where there is none."""
    names = model.labels.get("mark", ())
    closing = [label for label, mark in enumerate(names) if mark in SENTENCE_MARKS]
    ends = np.flatnonzero(np.isin(scores.chosen("mark"), closing)) if closing else np.zeros(0, dtype=np.int64)
    return int(ends[-1]) + 1 if len(ends) else len(scores)


@dataclass(frozen=True)
class Window:
    """Words `first` to `stop` (half-open) of a document; `final` says how many of its words no later window sees."""

    document: int
    first: int
    final: int
    features: Features


def cut(documents: Iterable[Features], words: int, overlap: int) -> Iterator[Window]:
    """Cut documents into windows; the last one of a document is moved back to be as full as the others."""
    for index, features in enumerate(documents):
        count = len(features)
        last = max(0, count - words)
        if not count:
            continue
        starts = [*range(0, last, words - overlap), last]
        for start, following in zip(starts, [*starts[1:], count], strict=True):
            yield Window(index, start, following - start, features[start : start + words])


def weights(count: int) -> Array:
    """Return a weight for each word of a window, 1 in the middle and falling towards the edges.

    >>> [round(float(w), 2) for w in weights(5)]
    [0.33, 0.67, 1.0, 0.67, 0.33]
    """
    place = np.arange(1, count + 1, dtype=np.float32)
    return (np.minimum(place, place[::-1]) / ((count + 1) // 2)).astype(np.float32)


def _overlapping(
    model: Model, documents: Iterable[Features], context: Context, *, batch: int, beam: int
) -> Iterator[tuple[int, Scores]]:
    windows = cut(documents, context.words or 1, context.overlap)
    blend = _Blend()
    together = groups(windows, batch * _BATCHES_AHEAD)
    for group, found in _one_ahead(together, partial(_scored_group, model, batch=batch, beam=beam)):
        for window, scores in zip(group, found, strict=True):
            yield window.document, blend.add(window, scores)


def _scored_group(model: Model, group: Sequence[Window], stopped: Event, *, batch: int, beam: int) -> list[Scores]:
    """Score windows, those of like length in a batch; return their scores in the windows' order.

    Once nobody wants them any more, none are returned.
    """
    order = sorted(range(len(group)), key=lambda index: len(group[index].features))
    found: dict[int, Scores] = {}
    for first in range(0, len(order), batch):
        if stopped.is_set():
            return []
        chosen = order[first : first + batch]
        found.update(zip(chosen, scored(model, [group[index].features for index in chosen], beam=beam), strict=True))
    return [found[index] for index in range(len(group))]


def _one_ahead(items: Iterator[T], work: Callable[[T, Event], R]) -> Iterator[tuple[T, R]]:
    """Yield items with what work makes of each, which is already at the next one while the caller has the last.

    A network computes without Python's lock, so that the caller's Python and the network share the machine. Where the
    items end in an error, those before it are worked on first. A caller who leaves does not wait: work is told to stop.
    """
    stopped, pending = Event(), Pending(items)
    item, following = pending.next(), pending.next()
    if item is not None and following is None:  # most documents are this short: no thread for them
        yield item, work(item, stopped)
    elif item is not None:
        thread = ThreadPoolExecutor(1, thread_name_prefix="interpunct-ahead")
        try:
            doing = thread.submit(work, item, stopped)
            while item is not None:
                done = doing.result()
                if following is not None:
                    doing = thread.submit(work, following, stopped)
                yield item, done
                item, following = following, pending.next()
        finally:
            stopped.set()
            thread.shutdown(wait=False, cancel_futures=True)
    pending.tell()


class _Blend:
    """The weighted sums of what is not final yet: never more than one window's words."""

    def __init__(self) -> None:
        self.sums: dict[str, Array] = {}

    def add(self, window: Window, scores: Scores) -> Scores:
        """Take a window's scores in and hand back those of its words that no later window will see."""
        if window.first == 0:
            self.sums = {}
        scale = weights(len(scores))[:, None]
        finished: dict[str, Array] = {}
        for task, logs in scores.tasks.items():
            sums = np.exp(logs) * scale
            pending = self.sums.get(task)
            if pending is not None:
                sums[: len(pending)] += pending
            done, self.sums[task] = sums[: window.final], sums[window.final :]
            finished[task] = np.log(np.maximum(done / done.sum(axis=1, keepdims=True), np.float32(1e-12)))
        return Scores(finished)
