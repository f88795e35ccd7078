"""Windows of words as the arrays that a subword network reads.

In: features and a vocabulary. Out: piece ids, how many there are, and where each word's last piece stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from interpunct.features import Features
from interpunct.models.pieces import PAD, Vocabulary
from interpunct.models.scores import Array, Scores

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PieceBatch:
    """Padded windows: `pieces` (windows × pieces), `lengths` (windows), `words` (windows × words)."""

    pieces: Ints
    lengths: Ints
    words: Ints


def piece_batch(windows: Sequence[Features], vocabulary: Vocabulary) -> PieceBatch:
    """Pad windows to one shape; a padded word points at piece 0, and nobody reads it."""
    rows: list[list[int]] = []
    lasts: list[list[int]] = []
    for window in windows:
        row: list[int] = []
        last: list[int] = []
        for text in window.texts:
            row.extend(vocabulary.ids(text))
            last.append(len(row) - 1)
        rows.append(row)
        lasts.append(last)
    return PieceBatch(_padded(rows, PAD), np.array([len(row) for row in rows], dtype=np.int64), _padded(lasts, 0))


def window_scores(logs: Mapping[str, Array], windows: Sequence[Features]) -> list[Scores]:
    """Cut padded log-probabilities (windows × words × labels per task) back into a `Scores` for each window."""
    return [
        Scores({task: values[row, : len(window)] for task, values in logs.items()})
        for row, window in enumerate(windows)
    ]


def _padded(rows: Sequence[Sequence[int]], filler: int) -> Ints:
    table = np.full((len(rows), max(map(len, rows), default=0)), filler, dtype=np.int64)
    for index, row in enumerate(rows):
        table[index, : len(row)] = row
    return table
