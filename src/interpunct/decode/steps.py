"""Labels written one after another: greedy or by beam search.

In: the steps of a model that reads what it has written. Out: scores for each window: the labels chosen together, and
each word's probabilities given the labels before it. There are no thresholds here: a later label has been chosen with
the earlier ones in view.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from interpunct.models.model import Steps
from interpunct.models.scores import Array, Ints, Scores


def write(steps: Steps, lengths: Sequence[int], labels: Mapping[str, Sequence[str]], *, beam: int = 1) -> list[Scores]:
    """Write the labels of windows of so many words, keeping the `beam` best sequences of each on the way."""
    windows, longest = len(lengths), max(lengths, default=0)
    sizes = [len(names) for names in labels.values()]
    parents = np.repeat(np.arange(windows), beam)
    written = np.zeros(windows * beam, dtype=np.int64)
    # All sequences begin alike; only one of each window may go on, or the beam would hold copies.
    totals = np.full((windows, beam), -np.inf)
    totals[:, 0] = 0.0
    came_from = np.zeros((longest, windows, beam), dtype=np.int64)
    chosen = np.zeros((longest, windows, beam), dtype=np.int64)
    chances = np.zeros((longest, windows, beam, int(np.prod(sizes))), dtype=np.float32)
    lasting = np.asarray(lengths)
    for word in range(longest):
        logs = steps.step(parents, written).reshape(windows, beam, -1)
        reached = (totals[:, :, None] + logs).reshape(windows, -1)
        best = np.argsort(-reached, axis=1, kind="stable")[:, :beam]
        kept, label = np.divmod(best, logs.shape[2])
        over = (lasting <= word)[:, None]  # a window that has ended keeps its sequences as they are
        kept, label = np.where(over, np.arange(beam), kept), np.where(over, 0, label)
        totals = np.where(over, totals, np.take_along_axis(reached, best, axis=1))
        came_from[word], chosen[word], chances[word] = kept, label, logs
        parents = (kept + np.arange(windows)[:, None] * beam).ravel()
        written = label.ravel()
    return [
        _scores(window, length, totals[window], came_from, chosen, chances, dict(zip(labels, sizes, strict=True)))
        for window, length in enumerate(lengths)
    ]


def _scores(
    window: int, length: int, totals: Array, came_from: Ints, chosen: Ints, chances: Array, sizes: Mapping[str, int]
) -> Scores:
    """Follow the best sequence of a window back to its begin."""
    labels = np.empty(length, dtype=np.int64)
    rows = np.empty((length, chances.shape[-1]), dtype=np.float32)
    place = int(totals.argmax())
    for word in range(length - 1, -1, -1):
        labels[word] = chosen[word, window, place]
        place = int(came_from[word, window, place])
        rows[word] = chances[word, window, place]
    together = np.exp(rows).reshape(length, *sizes.values())
    tasks: dict[str, Array] = {}
    for axis, task in enumerate(sizes, start=1):
        others = tuple(other for other in range(1, together.ndim) if other != axis)
        alone = together.sum(axis=others)
        tasks[task] = np.log(np.maximum(alone, 1e-12)).astype(np.float32)
    best = dict(zip(sizes, np.unravel_index(labels, tuple(sizes.values())), strict=True))
    return Scores(tasks, {}, {task: column.astype(np.int64) for task, column in best.items()})
