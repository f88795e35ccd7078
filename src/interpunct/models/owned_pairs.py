"""Which pairs of pieces have a row of their own in a table of vectors for pairs.

In: an encoded corpus. Out: for each row of the table the pair it belongs to. There are a hundred times as many pairs as
rows; where all of them share the rows, each hears what others have to say. Rows go to those that tell most of a word's
labels beyond what either piece tells alone (in nats, over the whole corpus), and other pairs have none. A pair can
stand in one of two rows (Azar et al. 1999, "Balanced allocations"), so that few of the best find both taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from torch import Tensor

from interpunct.models.encoded import IGNORED, Encoded
from interpunct.models.scores import Ints

NOBODY = -1
"""The owner of a row that belongs to no pair."""
FACTORS = ((40_503, 1), (25_717, 48_611))
"""A pair's rows are (the piece before × the first + the piece × the second) modulo the rows, of either two."""
_DOUBT = 4.0
"""What a pair tells is drawn towards what its pieces tell, as if these had been seen so often more beside it."""
_CANDIDATES = 8
"""Pairs for each row that are asked whether they want it."""

Floats = npt.NDArray[np.float64]
Numbers = TypeVar("Numbers", Ints, Tensor)


def row_of(before: Numbers, piece: Numbers, rows: int, choice: int = 0) -> Numbers:
    """Return the row in which pairs stand by their first or second choice."""
    of_before, of_piece = FACTORS[choice]
    return (before * of_before + piece * of_piece) % rows


def owners(encoded: Encoded, rows: int, vocabulary: int, weights: Mapping[str, float]) -> Ints:
    """Return each row's owner, as the piece before × vocabulary + the piece, or `NOBODY`.

    What is told of a task counts as much as its weight says, 1 where it says nothing.
    """
    before, piece = encoded.pieces[:-1], encoded.pieces[1:]
    pairs, which = np.unique(before * vocabulary + piece, return_inverse=True)
    told = np.zeros(len(pairs))
    for task, labels in encoded.labels.items():
        if weight := weights.get(task, 1.0):
            told += weight * _told(labels, encoded, pairs, which, vocabulary)
    best = np.argsort(-told, kind="stable")[: _CANDIDATES * rows]
    return _placed(pairs[best[told[best] > 0]], rows, vocabulary)


def _told(labels: Ints, encoded: Encoded, pairs: Ints, which: Ints, vocabulary: int) -> Floats:
    """Return what each pair tells of a task: of the word that its first piece ends, and of the one its second ends."""
    size = int(labels.max(initial=0)) + 1
    tags = np.full(len(encoded.pieces), IGNORED)
    tags[encoded.ends[1:] - 1] = labels
    before, piece = pairs // vocabulary, pairs % vocabulary
    told = np.zeros(len(pairs))
    for tag, known in ((tags[:-1], (before, piece)), (tags[1:], (piece,))):
        there = tag >= 0
        counts = _counts(which[there], tag[there], len(pairs), size)
        mean = counts.sum(axis=0) + 1
        mean /= mean.sum()
        alone = np.broadcast_to(mean, counts.shape)
        for pieces in known:
            of_piece = np.zeros((vocabulary, size))
            np.add.at(of_piece, pieces, counts)
            alone = alone * ((of_piece + mean) / (of_piece.sum(axis=1, keepdims=True) + 1))[pieces] / mean
        alone = alone / alone.sum(axis=1, keepdims=True)
        together = (counts + _DOUBT * alone) / (counts.sum(axis=1, keepdims=True) + _DOUBT)
        told += (counts * np.log(together / alone)).sum(axis=1)
    return told


def _counts(rows: Ints, columns: Ints, height: int, width: int) -> Floats:
    return np.bincount(rows * width + columns, minlength=height * width).reshape(height, width).astype(np.float64)


def _placed(pairs: Ints, rows: int, vocabulary: int) -> Ints:
    """Give rows to pairs, best first: of a pair's two rows the first that is free."""
    found = np.full(rows, NOBODY, dtype=np.int64)
    before, piece = pairs // vocabulary, pairs % vocabulary
    first, second = (row_of(before, piece, rows, choice).tolist() for choice in range(2))
    for pair, one, other in zip(pairs.tolist(), first, second, strict=True):
        if found[one] == NOBODY:
            found[one] = pair
        elif found[other] == NOBODY:
            found[other] = pair
    return found
