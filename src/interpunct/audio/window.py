"""Windows: a long recording, a piece at a time.

In: a recording, and the second at which a piece shall begin. Out: its samples, which never are more than a piece and
a block in memory; the same with long pauses shortened, and the clock that tells the recording's time of what is found
in them. Silence then costs no search, and cannot draw words into it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from interpunct.audio.sound import RATE, Samples, sound_blocks
from interpunct.audio.speech import pauses

_LONG_PAUSE_S = 1.0  # a longer pause is shortened
_KEPT_PAUSE_S = 0.25  # what is left of it on either side


class Reel:
    """A recording that is read forwards only."""

    def __init__(self, audio: str | Path) -> None:
        self._blocks = sound_blocks(audio)
        self._held: Samples = np.zeros(0, dtype=np.float32)
        self._first = 0  # the place of the first held sample in the recording

    def window(self, start_s: float, length_s: float) -> Samples:
        """Return the samples from a time on, which must not be before the last one asked for; fewer at the end."""
        start, length = round(start_s * RATE), round(length_s * RATE)
        while self._first + len(self._held) < start + length and (block := next(self._blocks, None)) is not None:
            past = min(start - self._first, len(self._held))
            self._held = np.concatenate([self._held[past:], block])
            self._first += past
        return self._held[start - self._first :][:length]


@dataclass(frozen=True, slots=True)
class Clock:
    """Maps seconds of a shortened piece to seconds of the recording.

    `places` are the seconds of the piece at which a stretch begins, `times` those of the recording there.

    >>> clock = Clock((0.0, 2.0), (10.0, 15.0))
    >>> clock.time(1.5), clock.time(2.5), clock.span(1.9, 2.5)
    (11.5, 15.5, (15.0, 15.5))
    """

    places: tuple[float, ...]
    times: tuple[float, ...]

    def time(self, place_s: float) -> float:
        """Return when something begins."""
        stretch = int(np.searchsorted(self.places, place_s, side="right")) - 1
        return self.times[stretch] + place_s - self.places[stretch]

    def span(self, first_s: float, last_s: float) -> tuple[float, float]:
        """Return start and end; of what lies across a shortened pause only the longest part within one stretch."""
        begin = int(np.searchsorted(self.places, first_s, side="right")) - 1
        end = max(begin, int(np.searchsorted(self.places, last_s, side="left")) - 1)
        edges = [first_s, *self.places[begin + 1 : end + 1], last_s]
        part = int(np.argmax(np.diff(edges)))
        offset = self.times[begin + part] - self.places[begin + part]
        return round(offset + edges[part], 4), round(offset + edges[part + 1], 4)


def shortened(samples: Samples, at_s: float) -> tuple[Samples, Clock]:
    """Return the samples with long pauses shortened, and the clock that undoes it; `at_s` is when they begin."""
    pieces: list[Samples] = []
    places, times = [0.0], [at_s]
    begin = size = 0
    for pause in pauses(samples, min_pause_s=_LONG_PAUSE_S):
        first = int((pause.start_s + _KEPT_PAUSE_S) * RATE)
        last = int((pause.end_s - _KEPT_PAUSE_S) * RATE)
        pieces.append(samples[begin:first])
        size += first - begin
        begin = last
        places.append(size / RATE)
        times.append(at_s + last / RATE)
    pieces.append(samples[begin:])
    return np.concatenate(pieces), Clock(tuple(places), tuple(times))
