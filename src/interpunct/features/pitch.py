"""Pitch: the fundamental frequency of a voice, every 16 ms.

In: mono samples at 16 kHz, block after block. Out: F0 in semitones above 1 Hz and whether a frame is voiced. swift-f0
(the extra [audio]) listens; a frame is voiced where its confidence is at least 0.3. A block's edges leave no trace, and
an hour needs no more memory than its frames. Octave errors are mended in `octaves.py`, which wants to know the speaker.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpunct.audio.sound import RATE, Samples
from interpunct.errors import MissingExtraError
from interpunct.offline import keep_offline

HOP = 256
HOP_S = HOP / RATE
LOWEST_HZ = 50.0
HIGHEST_HZ = 550.0  # no voice speaks above it; children and shouts come near
_VOICED = 0.3  # at swift-f0's own 0.5 a tenth of the frames that two other trackers hear is lost, most at ends
_BLOCK = 10 * RATE  # a caller's block may be an hour; the network sees no more than this at once

Values = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Pitch:
    """Semitones above 1 Hz, 0 where a frame is not voiced; frame n is centred at n × 16 ms.

    >>> Pitch(np.array([12 * np.log2(100), 0.0]), np.array([True, False])).f0_hz.round(3).tolist()
    [100.0, 0.0]
    """

    semitones: Values
    voiced: Flags

    @property
    def f0_hz(self) -> Values:
        """The frequency in Hz, 0 where a frame is not voiced."""
        return np.where(self.voiced, 2.0 ** (self.semitones / 12.0), 0.0)


class PitchTracker:
    """Listens block by block; `finish` gives all frames, one for every whole 16 ms pushed."""

    def __init__(self) -> None:
        self._stream: Any = _detector().stream(LOWEST_HZ, HIGHEST_HZ)
        self._parts: list[Any] = []
        self._heard = 0

    def push(self, samples: Samples) -> None:
        """Listen to the next samples."""
        for first in range(0, len(samples), _BLOCK):
            self._parts.append(_thin(self._stream.push(samples[first : first + _BLOCK], RATE)))
        self._heard += len(samples)

    def finish(self) -> Pitch:
        """Return the pitch of all that was pushed."""
        if self._heard:
            self._parts.append(_thin(self._stream.flush()))
        count = self._heard // HOP
        hz, sure = (np.concatenate([part[row] for part in self._parts] or [np.zeros(0)])[:count] for row in (0, 1))
        voiced = (sure >= _VOICED) & (hz > 0)
        return Pitch(np.where(voiced, 12.0 * np.log2(np.where(voiced, hz, 1.0)), 0.0), voiced)


def track_pitch(blocks: Iterable[Samples]) -> Pitch:
    """Return the pitch of a recording that comes in blocks."""
    tracker = PitchTracker()
    for block in blocks:
        tracker.push(block)
    return tracker.finish()


def _thin(result: Any) -> tuple[Values, Values]:
    return np.asarray(result.pitch_hz), np.asarray(result.confidence)


@cache
def _detector() -> Any:
    keep_offline()
    try:
        from swift_f0 import SwiftF0
    except ImportError:
        raise MissingExtraError("measuring pitch", "audio") from None
    # One thread: the network is small, and whoever has many recordings runs them side by side.
    return SwiftF0(threads=1, spin=False)
