"""Octaves: frames whose pitch was heard an octave too high or too low.

In: semitones, which frames are voiced, and the middle of the speaker's voice. Out: the same semitones with octave
errors mended. Every voiced frame may stay or move by an octave; a search (Viterbi) finds the moves that make the voice
jump least, move fewest frames, and stay within about an octave of the speaker's middle. A voice that truly leaps by an
octave and stays there for a second is left alone, unless it is then an octave off the speaker's middle.
"""

from __future__ import annotations

import numpy as np

from interpunct.features.pitch import Flags, Values

_MOVES = (0.0, 12.0, -12.0)
_MOVED = 0.5  # per moved frame: a run of up to 48 frames is moved to spare two jumps of an octave
_NEAR = 8.0  # semitones around the middle where a speaker may be at no cost
_FAR = 0.15  # per semitone and frame beyond: a run by itself moves where it is more than 11.3 semitones off
_BRIDGED = 5  # frames: a voice does not jump over an unvoiced stretch as short as this


def mended(semitones: Values, voiced: Flags, middle: Values | float) -> Values:
    """Return semitones without octave errors; `middle` is the speaker's median, one for all frames or for each.

    >>> mended(np.array([60.0, 60.2, 48.1, 60.1, 60.0]), np.ones(5, dtype=np.bool_), 60.0).round(1).tolist()
    [60.0, 60.2, 60.1, 60.1, 60.0]
    """
    places = np.flatnonzero(voiced)
    if not len(places):
        return semitones.copy()
    moved = semitones[places, None] + np.array(_MOVES)  # frames × moves
    centre = np.broadcast_to(np.asarray(middle, dtype=np.float64), semitones.shape)[places, None]
    local = _FAR * np.maximum(np.abs(moved - centre) - _NEAR, 0.0) + _MOVED * (np.array(_MOVES) != 0.0)
    mend = semitones.copy()
    # What is not linked may jump as it likes, so that each chain of frames is searched by itself.
    for chain in np.split(np.arange(len(places)), np.flatnonzero(np.diff(places) > _BRIDGED) + 1):
        mend[places[chain]] = moved[chain, _best(moved[chain], local[chain])]
    return mend


def _best(moved: Values, local: Values) -> list[int]:
    """Return the move of each frame on the cheapest path."""
    # Plain numbers: with three moves to choose from, arrays would cost more than they save.
    rows, costs = moved.tolist(), local.tolist()
    total: list[float] = costs[0]
    came: list[list[int]] = []
    for before, here, cost in zip(rows, rows[1:], costs[1:], strict=False):
        ways = [[spent + abs(to - source) for spent, source in zip(total, before, strict=True)] for to in here]
        came.append([way.index(min(way)) for way in ways])
        total = [min(way) + own for way, own in zip(ways, cost, strict=True)]
    path = [total.index(min(total))]
    for back in reversed(came):
        path.append(back[path[-1]])
    return path[::-1]
