"""Speech: where somebody talks and where nobody does.

In: mono samples at 16 kHz. Out: pauses, as half-open ranges of seconds, and places where a long recording may be
cut. Energy alone: a frame is speech when it stands clearly above the quiet frames around it. Music and noise as loud
as speech are speech here; whoever aligns words has better evidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from interpunct.audio.sound import RATE, Samples

HOP_S = 0.01
_HOP = int(RATE * HOP_S)
_FLOOR_DB = -90.0  # quieter than this is silence whatever stands around it: 16 bits hold no more
_RANGE_DB = 50.0  # so far below the loud frames all is silence, too: digital silence has no level to measure from
_MARGIN_DB = 6.0  # steady noise wavers by a few dB; speech rises above it by more
_SHARE = 0.35  # of the way from the quiet to the loud frames


@dataclass(frozen=True, slots=True)
class Pause:
    """A stretch without speech, half open."""

    start_s: float
    end_s: float

    @property
    def duration_s(self) -> float:
        """Seconds from start to end."""
        return self.end_s - self.start_s


def loudness_db(samples: Samples) -> NDArray[np.float64]:
    """Return the power of each 10 ms in dB below full scale; a rest shorter than that is left out."""
    count = len(samples) // _HOP
    frames = samples[: count * _HOP].astype(np.float64).reshape(count, _HOP)
    frames = frames - frames.mean(axis=1, keepdims=True)
    return np.asarray(10.0 * np.log10(np.mean(frames**2, axis=1) + 1e-12))


def speech_frames(samples: Samples) -> NDArray[np.bool_]:
    """Say of each 10 ms whether it is speech.

    The threshold lies between the quiet and the loud frames of these samples. Steady sound has no quiet frames:
    all of it is speech, or all silence where it is below -90 dB.
    """
    level = loudness_db(samples)
    if not len(level):
        return np.zeros(0, dtype=np.bool_)
    quiet, loud = (float(share) for share in np.percentile(level, (5, 95)))
    quiet = max(quiet, loud - _RANGE_DB, _FLOOR_DB)
    if loud - quiet < _MARGIN_DB:
        return level > _FLOOR_DB
    return level > quiet + max(_MARGIN_DB, _SHARE * (loud - quiet))


def pauses(samples: Samples, *, min_pause_s: float = 0.2, min_speech_s: float = 0.05) -> list[Pause]:
    """Return the stretches of at least `min_pause_s` without speech; a click shorter than `min_speech_s` is none."""
    talk = _without_short_runs(speech_frames(samples), True, round(min_speech_s / HOP_S))
    return [
        Pause(first * HOP_S, last * HOP_S)
        for first, last, value in _runs(talk)
        if not value and last - first >= round(min_pause_s / HOP_S)
    ]


def cut_place(samples: Samples, first_s: float, last_s: float) -> float:
    """Return where to cut between two times: inside the longest pause, else at the quietest 100 ms."""
    best: Pause | None = None
    for pause in pauses(samples, min_pause_s=0.15):
        inside = Pause(max(pause.start_s, first_s), min(pause.end_s, last_s))
        if inside.duration_s > 0 and (best is None or inside.duration_s > best.duration_s):
            best = inside
    if best is not None:
        return (best.start_s + best.end_s) / 2
    level = loudness_db(samples)[round(first_s / HOP_S) : round(last_s / HOP_S)]
    if len(level) < 10:
        return last_s
    smooth = np.convolve(10 ** (level / 10), np.ones(10), mode="valid")
    return first_s + (int(smooth.argmin()) + 5) * HOP_S


def _runs(values: NDArray[np.bool_]) -> list[tuple[int, int, bool]]:
    if not len(values):
        return []
    edges = [0, *(np.flatnonzero(values[1:] != values[:-1]) + 1).tolist(), len(values)]
    return [(first, last, bool(values[first])) for first, last in pairwise(edges)]


def _without_short_runs(values: NDArray[np.bool_], of: bool, shortest: int) -> NDArray[np.bool_]:
    kept = values.copy()
    for first, last, value in _runs(values):
        if value is of and last - first < shortest:
            kept[first:last] = not of
    return kept
