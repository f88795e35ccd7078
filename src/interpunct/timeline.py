"""Times for words that have none, between those that have one: what subtitles and sentences are cut and timed by.

In: words, of which some have times, as those of subtitles do, and how long each is written. Out: a start and an end for
each of them. The words themselves keep what they had.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from interpunct.errors import InputError
from interpunct.labels import surface
from interpunct.transcript import Word

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_CHARACTERS_SPOKEN_PER_S = 15.0


def timeline(words: Sequence[Word], lengths: Ints) -> tuple[Floats, Floats]:
    """Return a start and an end for each word.

    Known times stand. A missing one lies between its known neighbours, shared out by the words' lengths. Where nothing
    says that speech filled the time between them, as a cue does from its first word's start to its last one's end, and
    around all known times, words follow one another at an ordinary pace.
    """
    known = np.array([np.nan if time is None else time for word in words for time in (word.start, word.end)])
    anchors = np.flatnonzero(~np.isnan(known))
    if not len(anchors):
        raise InputError("no word has a time, and subtitles need some; use a timed input, or --to plain")
    # A word's start and end are its length apart, an end and the next start are not.
    weights = np.zeros(len(known))
    weights[1::2] = lengths
    places = np.cumsum(weights)
    told = known.copy()
    for before, after in zip(anchors[:-1].tolist(), anchors[1:].tolist(), strict=True):
        spoken_s = (places[after] - places[before]) / _CHARACTERS_SPOKEN_PER_S
        if after > before + 1 and known[after] - known[before] > spoken_s:
            if after % 2 == 0:  # a start: silence may lie before it
                told[after - 1] = known[before] + spoken_s
            elif before % 2:  # from an end to an end: silence may lie behind the first
                told[before + 1] = known[after] - spoken_s
    anchors = np.flatnonzero(~np.isnan(told))
    anchor_places, anchor_times = places[anchors], told[anchors]
    if anchors[0] > 0:
        first = max(0.0, told[anchors[0]] - (places[anchors[0]] + 1) / _CHARACTERS_SPOKEN_PER_S)
        anchor_places, anchor_times = np.append(-1.0, anchor_places), np.append(first, anchor_times)
    behind = places[-1] - places[anchors[-1]]
    if behind:
        anchor_places = np.append(anchor_places, places[-1])
        anchor_times = np.append(anchor_times, told[anchors[-1]] + behind / _CHARACTERS_SPOKEN_PER_S)
    times = np.where(np.isnan(told), np.interp(places, anchor_places, anchor_times), told)
    starts, ends = times[0::2], times[1::2]
    # Of a word that has one of its times, the other gives way.
    starts = np.where(np.isnan(known[0::2]) & ~np.isnan(known[1::2]), np.minimum(starts, ends), starts)
    return starts, np.maximum(starts, ends)


def known_or_between(words: Sequence[Word]) -> list[tuple[float | None, float | None]]:
    """Return each word's times; one that is missing between known ones is estimated, to the millisecond.

    >>> known_or_between([Word("a", start=1.0), Word("b"), Word("c", end=4.0), Word("d")])
    [(1.0, 2.0), (2.0, 3.0), (3.0, 4.0), (None, None)]
    """
    times = [(word.start, word.end) for word in words]
    if not any(None in pair for pair in times):
        return times
    told = [time for pair in times for time in pair]
    known = [place for place, time in enumerate(told) if time is not None]
    if known:
        starts, ends = timeline(words, np.array([len(surface(word)) + 1 for word in words], dtype=np.int64))
        for place in range(known[0], known[-1]):
            if told[place] is None:
                told[place] = round(float((ends if place % 2 else starts)[place // 2]), 3)
    return list(zip(told[0::2], told[1::2], strict=True))
