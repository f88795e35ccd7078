"""Intensity: how loud a recording is, every 16 ms.

In: mono samples at 16 kHz, block after block. Out: dB below full scale of the 32 ms around each frame of `pitch.py`,
never below -90. A constant offset is not sound and does not count. What is loud for a speaker is decided by
`register.py`.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from interpunct.audio.sound import Samples
from interpunct.features.pitch import HOP, Values

FLOOR_DB = -90.0  # 16 bits hold no more


class IntensityMeter:
    """Measures block by block; `finish` gives all frames, one for every whole 16 ms pushed."""

    def __init__(self) -> None:
        self._rest: Samples = np.zeros(0, dtype=np.float32)
        self._sums: list[Values] = []
        self._squares: list[Values] = []

    def push(self, samples: Samples) -> None:
        """Measure the next samples."""
        held = np.concatenate([self._rest, samples])
        count = len(held) // HOP
        hops = held[: count * HOP].reshape(count, HOP).astype(np.float64)
        self._rest = held[count * HOP :]
        self._sums.append(hops.sum(axis=1))
        self._squares.append((hops**2).sum(axis=1))

    def finish(self) -> Values:
        """Return the level of every frame in dB."""
        total = _with_previous(np.concatenate([np.zeros(0), *self._sums]))
        squares = _with_previous(np.concatenate([np.zeros(0), *self._squares]))
        size = np.full(len(total), 2.0 * HOP)
        size[:1] = HOP  # nothing stands before the first
        power = squares / size - (total / size) ** 2
        return np.asarray(10.0 * np.log10(np.maximum(power, 10.0 ** (FLOOR_DB / 10.0))))


def track_intensity(blocks: Iterable[Samples]) -> Values:
    """Return the level in dB of a recording that comes in blocks."""
    meter = IntensityMeter()
    for block in blocks:
        meter.push(block)
    return meter.finish()


def _with_previous(hops: Values) -> Values:
    """Frame n is centred on the edge between the hops n-1 and n."""
    frames = hops.copy()
    frames[1:] += hops[:-1]
    return frames
