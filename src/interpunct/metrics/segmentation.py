"""WindowDiff, P_k and boundary similarity: how near a segmentation is to the reference's.

In: a pair, whose segments end at the places with `. ? ! ;` and at the document's end. Out: counts per place, so
that they add up over blocks and documents. WindowDiff is Pevzner and Hearst's (2002), P_k Beeferman's (1999),
boundary similarity Fournier's B (2013) with near misses one place off. All places are looked at: a window or a
near miss spans several, and leaving out the unscored ones would tear it. An unknown mark ends nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from interpunct.errors import InputError
from interpunct.metrics.boundaries import Mask
from interpunct.metrics.counts import Count, Counts, Places, Rate, ratio
from interpunct.metrics.metric import Metric
from interpunct.metrics.pair import Pair
from interpunct.metrics.prf import OVERALL

MIN_WINDOW = 2


@dataclass(frozen=True)
class Segments(Counts):
    """Windows that were slid over both segmentations, and boundaries that were matched or not."""

    RATES: ClassVar[tuple[str, ...]] = ("window_diff", "pk", "boundary_similarity")
    windows: Count = 0
    window_diff_errors: Count = 0
    """Windows in which the two have different numbers of boundaries."""
    pk_errors: Count = 0
    """Windows in which one has a boundary and the other has none."""
    matches: Count = 0
    near_misses: Count = 0
    """A boundary of each side, one place apart: Fournier's transposition."""
    missed: Count = 0
    inserted: Count = 0

    @property
    def window_diff(self) -> Rate:
        """The share of windows with different numbers of boundaries; 0 is best."""
        return ratio(self.window_diff_errors, self.windows)

    @property
    def pk(self) -> Rate:
        """The share of windows whose two ends only one side puts into the same segment; 0 is best."""
        return ratio(self.pk_errors, self.windows)

    @property
    def boundary_similarity(self) -> Rate:
        """Matches, and near misses at half their weight, over all of either side; 1 is best.

        >>> Segments(matches=1, near_misses=1, missed=1, inserted=1).boundary_similarity
        0.375
        """
        pairs = self.matches + self.near_misses + self.missed + self.inserted
        return ratio(2 * self.matches + self.near_misses, 2 * pairs)


def window_size(reference: Mask) -> int:
    """Return k: half the mean length of the reference's segments, halves rounded to even, at least 2.

    The document's end closes a segment whether or not it is marked.

    >>> window_size(np.array([0, 0, 0, 1, 0, 0, 0, 0, 0, 1], dtype=np.bool_))
    2
    """
    segments = int(np.count_nonzero(reference[:-1])) + 1
    return max(MIN_WINDOW, round(len(reference) / (2 * segments)))


def segment_counts(reference: Mask, hypothesis: Mask) -> Segments:
    """Count windows and boundaries per place.

    A window stands at its first place, a near miss at the earlier of its two. The document's end is a boundary
    of both and counts for neither.
    """
    if len(reference) != len(hypothesis):
        raise InputError("reference and hypothesis have different numbers of words; align them first")
    words, size = len(reference), window_size(reference)
    right, guess = reference[:-1], hypothesis[:-1]
    wanted, given = _boundaries_in_windows(right, size), _boundaries_in_windows(guess, size)
    near = _near_misses(right, guess)
    paired = near.copy()
    paired[1:] |= near[:-1]
    return Segments(
        _at_places(np.ones(len(wanted), dtype=np.bool_), words),
        _at_places(wanted != given, words),
        _at_places((wanted > 0) != (given > 0), words),
        _at_places(right & guess, words),
        _at_places(near, words),
        _at_places(right & ~guess & ~paired, words),
        _at_places(guess & ~right & ~paired, words),
    )


def _boundaries_in_windows(side: Mask, size: int) -> Places:
    """Count the boundaries among each run of `size` places; there are N - k such runs between N words."""
    before: Places = np.concatenate([[0], np.cumsum(side, dtype=np.int64)])
    inside: Places = before[size:] - before[:-size]
    return inside


def _near_misses(right: Mask, guess: Mask) -> Mask:
    """Mark the first place of each two in which one boundary has moved by one place.

    Where such places overlap, the first is taken, then the next that is free: as many as there can be.
    """
    near = np.zeros(len(right), dtype=np.bool_)
    differ = right != guess
    moved = differ[:-1] & differ[1:] & (right[:-1] != right[1:])
    index = np.arange(len(moved))
    begins = moved.copy()
    begins[1:] &= ~moved[:-1]
    first = np.maximum.accumulate(np.where(begins, index, 0)) if len(moved) else index
    near[: len(moved)] = moved & ((index - first) % 2 == 0)
    return near


def _at_places(found: Mask, words: int) -> Places:
    counted = np.zeros(words, dtype=np.int64)
    counted[: len(found)] = found
    return counted


def count(pair: Pair) -> dict[str, Segments]:
    """Count per place; k comes from the whole pair."""
    if len(pair) and not pair.ends_known:
        nothing = np.zeros(len(pair), dtype=np.int64)
        return {OVERALL: Segments(*[nothing] * len(fields(Segments)))}
    return {OVERALL: segment_counts(pair.reference_ends, pair.hypothesis_ends)}


def value(totals: Mapping[str, Counts]) -> dict[str, Any]:
    """Show the three rates."""
    return totals[OVERALL].rates()


SEGMENTATION = Metric(
    name="segmentation",
    summary="WindowDiff, P_k and boundary similarity of sentence ends",
    count=lambda pair, _: count(pair),
    value=value,
    headline=(OVERALL, "window_diff"),
    lower_is_better=True,
)
