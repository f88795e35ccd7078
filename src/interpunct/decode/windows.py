"""Documents of any length through a model of bounded context, in constant memory.

In: features of documents, one after another. Out: their scores, in order, in blocks. Windows overlap;
where they do, probabilities are averaged with weights that fall towards the windows' edges, so that
neither a window's end nor a join shows. Windows of several documents share a batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from interpunct.features import Features
from interpunct.models.model import Context, Model
from interpunct.models.scores import Array, Scores

_BATCHES_AHEAD = 8  # windows looked at together, so that those of like length share a batch


@dataclass(frozen=True)
class Window:
    """Words `first` to `stop` (half-open) of a document; `final` says how many of its words no later window sees."""

    document: int
    first: int
    final: int
    features: Features


def cut(documents: Iterable[Features], context: Context) -> Iterator[Window]:
    """Cut documents into windows; the last one of a document is moved back to be as full as the others."""
    stride = context.words - context.overlap
    for index, features in enumerate(documents):
        count = len(features)
        last = max(0, count - context.words)
        if not count:
            continue
        starts = [*range(0, last, stride), last]
        for start, following in zip(starts, [*starts[1:], count], strict=True):
            yield Window(index, start, following - start, features[start : start + context.words])


def weights(count: int) -> Array:
    """Return a weight for each word of a window, 1 in the middle and falling towards the edges.

    >>> [round(float(w), 2) for w in weights(5)]
    [0.33, 0.67, 1.0, 0.67, 0.33]
    """
    place = np.arange(1, count + 1, dtype=np.float32)
    return (np.minimum(place, place[::-1]) / ((count + 1) // 2)).astype(np.float32)


def score(model: Model, documents: Iterable[Features], *, batch: int = 16) -> Iterator[tuple[int, Scores]]:
    """Yield (document's index, scores of its next words), every document's blocks in order.

    A document without words yields nothing.
    """
    windows = cut(documents, model.context)
    blend = _Blend()
    while ahead := list(islice(windows, batch * _BATCHES_AHEAD)):
        order = sorted(range(len(ahead)), key=lambda index: len(ahead[index].features))
        scored: dict[int, Scores] = {}
        for first in range(0, len(order), batch):
            chosen = order[first : first + batch]
            scored.update(zip(chosen, model.forward([ahead[index].features for index in chosen]), strict=True))
        for index, window in enumerate(ahead):
            yield window.document, blend.add(window, scored[index])


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
