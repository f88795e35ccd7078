"""Labels chosen together: the best sequence and each word's probabilities under emissions and transitions.

In: emissions (… × words × labels) and transitions (labels × labels). Out: the sequence with the highest sum (Viterbi),
and log-probabilities per word (forward-backward). Leading dimensions are separate sequences of one length. A sequence
may begin and end with any label: documents are cut anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from interpunct.models.scores import Ints, Scores

Floats = npt.NDArray[Any]


def viterbi(emissions: Floats, transitions: Floats) -> Ints:
    """Return the labels (… × words) whose emissions and transitions have the highest sum."""
    words = emissions.shape[-2]
    best = np.empty(emissions.shape[:-1], dtype=np.int64)
    if not words:
        return best
    came_from = np.empty(emissions.shape, dtype=np.int64)
    score = emissions[..., 0, :].astype(np.float64)
    for word in range(1, words):
        reached = score[..., :, None] + transitions  # (…, from, to)
        came_from[..., word, :] = reached.argmax(axis=-2)
        score = reached.max(axis=-2) + emissions[..., word, :]
    best[..., -1] = score.argmax(axis=-1)
    for word in range(words - 1, 0, -1):
        following = best[..., word, None]
        best[..., word - 1] = np.take_along_axis(came_from[..., word, :], following, axis=-1)[..., 0]
    return best


def marginals(emissions: Floats, transitions: Floats) -> Floats:
    """Return each word's log-probabilities (… × words × labels), whatever the other words' labels are."""
    emissions = emissions.astype(np.float64)
    words = emissions.shape[-2]
    before = np.zeros_like(emissions)
    after = np.zeros_like(emissions)
    for word in range(1, words):
        reached = before[..., word - 1, :] + emissions[..., word - 1, :]
        before[..., word, :] = _log_sum(_level(reached)[..., :, None] + transitions, axis=-2)
    for word in range(words - 2, -1, -1):
        ahead = after[..., word + 1, :] + emissions[..., word + 1, :]
        after[..., word, :] = _log_sum(transitions + _level(ahead)[..., None, :], axis=-1)
    total = before + emissions + after
    return total - _log_sum(total, axis=-1)[..., None]


def settled(many: Sequence[Scores]) -> list[Scores]:
    """Turn emissions and transitions into log-probabilities and the best labels; leave other scores as they are.

    Windows of one length go through the lattice together, which takes no longer than one of them alone.
    """
    found = list(many)
    alike: dict[int, list[int]] = {}
    for place, scores in enumerate(found):
        if scores.transitions:
            alike.setdefault(len(scores), []).append(place)
    for places in alike.values():
        tasks = [dict(found[place].tasks) for place in places]
        best = [dict(found[place].best) for place in places]
        for task, transitions in found[places[0]].transitions.items():
            emissions = np.stack([found[place].tasks[task] for place in places])
            chances, labels = marginals(emissions, transitions).astype(np.float32), viterbi(emissions, transitions)
            for row in range(len(places)):
                tasks[row][task], best[row][task] = chances[row], labels[row]
        for row, place in enumerate(places):
            found[place] = Scores(tasks[row], {}, best[row])
    return found


def _level(logs: Floats) -> Floats:
    """Take the highest value off: only differences matter, and sums over a long text would lose them."""
    levelled: Floats = logs - logs.max(axis=-1, keepdims=True)
    return levelled


def _log_sum(logs: Floats, *, axis: int) -> Floats:
    highest = logs.max(axis=axis, keepdims=True)
    summed: Floats = np.log(np.exp(logs - highest).sum(axis=axis, keepdims=True)) + highest
    return summed.squeeze(axis)
