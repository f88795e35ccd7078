"""Contour: pitch drawn with as few straight lines as will do.

In: semitones and which frames are voiced. Out: for every voiced frame the stylised pitch and the slope of its line. The
breaks of a run of voiced frames are the cheapest of all: squared distances summed, and a price for every line. Then
the lines are fitted together, by least squares, joined at the breaks. Runs of one or two frames are too short to be a
voice: they count as unvoiced here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from interpunct.features.pitch import HOP_S, Flags, Values

_PRICE = 2.0  # squared semitones a line must save: over ten frames, a bend of about a semitone does
_SHORTEST = 3  # frames of a run, and of a line within one
_LONGEST = 125  # frames (2 s) that are fitted together: a hum may last for minutes


@dataclass(frozen=True)
class Contour:
    """Stylised semitones and slopes (semitones a second), 0 where a frame is not voiced; the breaks, as frames."""

    semitones: Values
    slopes: Values
    voiced: Flags
    breaks: tuple[int, ...]


def runs(flags: Flags) -> list[tuple[int, int]]:
    """Return the half-open ranges in which all flags are set.

    >>> runs(np.array([True, True, False, True]))
    [(0, 2), (3, 4)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8))).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def stylise(semitones: Values, voiced: Flags) -> Contour:
    """Return the contour of a recording or of a part of one."""
    drawn, slopes, kept = np.zeros(len(semitones)), np.zeros(len(semitones)), np.zeros(len(semitones), dtype=np.bool_)
    breaks: list[int] = []
    for first, last in _pieces(voiced):
        knots, heights = _fit(semitones[first:last])
        frames = np.arange(last - first)
        drawn[first:last] = np.interp(frames, knots, heights)
        line = np.clip(np.searchsorted(knots, frames, side="right") - 1, 0, len(knots) - 2)
        slopes[first:last] = (np.diff(heights) / (np.diff(knots) * HOP_S))[line]
        kept[first:last] = True
        breaks += [first + knot for knot in knots[1:-1]]
    return Contour(drawn, slopes, kept, tuple(breaks))


def _pieces(voiced: Flags) -> Iterator[tuple[int, int]]:
    """Yield the runs that are long enough, long ones cut into equal parts."""
    for first, last in runs(voiced):
        if last - first >= _SHORTEST:
            parts = -(-(last - first) // _LONGEST)
            edges = np.linspace(first, last, parts + 1).round().astype(int).tolist()
            yield from pairwise(edges)


def _fit(values: Values) -> tuple[list[int], Values]:
    """Return the ends and breaks of a run's lines and the heights there."""
    knots = [*_cuts(values), len(values) - 1]
    return knots, _heights(values, knots)


def _cuts(values: Values) -> list[int]:
    """Return where the lines begin on the cheapest way through a run, the first at 0."""
    count = len(values)
    frames = np.arange(count, dtype=np.float64)
    shifted = values - values.mean()  # small numbers, so that sums can be taken from sums
    sums = np.zeros((5, count + 1))
    np.cumsum([frames, frames**2, shifted, shifted**2, frames * shifted], axis=1, out=sums[:, 1:])
    cost, began = np.full(count + 1, np.inf), np.zeros(count + 1, dtype=np.int64)
    cost[0] = 0.0
    for end in range(_SHORTEST, count + 1):
        x, xx, y, yy, xy = sums[:, end, None] - sums[:, : end - _SHORTEST + 1]
        size = end - np.arange(end - _SHORTEST + 1)
        spread = xx - x * x / size
        error = yy - y * y / size - (xy - x * y / size) ** 2 / spread
        ways = cost[: end - _SHORTEST + 1] + np.maximum(error, 0.0) + _PRICE
        began[end] = ways.argmin()
        cost[end] = ways[began[end]]
    starts = [count]
    while starts[-1] > 0:
        starts.append(int(began[starts[-1]]))
    return starts[:0:-1]


def _heights(values: Values, knots: list[int]) -> Values:
    """Fit joined lines: each frame is a mixture of the two knots around it."""
    frames = np.arange(len(values))
    right = np.clip(np.searchsorted(knots, frames, side="right"), 1, len(knots) - 1)
    ends = np.asarray(knots)
    share = (frames - ends[right - 1]) / (ends[right] - ends[right - 1])
    mixture = np.zeros((len(values), len(knots)))
    mixture[frames, right] = share
    mixture[frames, right - 1] = 1.0 - share
    return np.asarray(np.linalg.lstsq(mixture, values, rcond=None)[0])
