"""Spans: words' times as arrays, and the frames that lie within them.

In: words, perhaps without times. Out: starts and ends in seconds, NaN where a word lacks one of the two; half-open
ranges of frames, empty where there is no time, no frame or no recording that far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from interpunct.features.pitch import HOP_S, Values
from interpunct.transcript import Word

WINDOW_S = 0.2
"""The window on either side of a boundary (section 4.2)."""


@dataclass(frozen=True)
class Spans:
    """Start and end of each word; NaN in both where one is missing."""

    starts: Values
    ends: Values

    @classmethod
    def of(cls, words: Sequence[Word]) -> Spans:
        """Take the times of words."""
        times = np.array([(word.start, word.end) for word in words], dtype=np.float64).reshape(-1, 2)
        times[np.isnan(times).any(axis=1)] = np.nan
        return cls(times[:, 0].copy(), times[:, 1].copy())

    @property
    def heads(self) -> Spans:
        """The 200 ms from each word's start on."""
        return Spans(self.starts, self.starts + WINDOW_S)

    @property
    def tails(self) -> Spans:
        """The 200 ms up to each word's end."""
        return Spans(np.maximum(self.ends - WINDOW_S, 0.0), self.ends)

    @property
    def gaps(self) -> Spans:
        """What lies between each word and the next; empty where they overlap, NaN after the last."""
        following = after(self.starts)
        return Spans(self.ends, np.maximum(following, self.ends))

    def frames(self, count: int) -> list[tuple[int, int]]:
        """Return the half-open range of frames, out of `count`, whose centres lie within each span."""
        edges = np.ceil(np.clip(np.nan_to_num(np.stack([self.starts, self.ends]) / HOP_S, nan=0.0), 0.0, count) - 1e-9)
        return list(zip(*edges.astype(np.int64).tolist(), strict=True))


def after(column: Values) -> Values:
    """Return what the next word has, NaN for the last.

    >>> after(np.array([1.0, 2.0])).tolist()
    [2.0, nan]
    """
    return np.append(column[1:], np.nan)[: len(column)]


def before(column: Values) -> Values:
    """Return what the previous word has, NaN for the first."""
    return np.append(np.nan, column[:-1])[: len(column)]
