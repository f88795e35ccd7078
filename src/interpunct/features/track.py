"""Track: what is heard in a recording, frame by frame.

In: a recording, or its samples in blocks. Out: pitch and intensity on one grid of 16 ms, in one pass over the sound.
Nothing but the frames stays in memory: an hour has 225,000 of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from interpunct.audio.sound import Samples, sound_blocks
from interpunct.features.intensity import IntensityMeter
from interpunct.features.pitch import HOP_S, Pitch, PitchTracker, Values


@dataclass(frozen=True)
class Track:
    """Pitch and level of every frame; frame n is centred at n × 16 ms."""

    pitch: Pitch
    level_db: Values

    def __len__(self) -> int:
        return len(self.level_db)

    @property
    def duration_s(self) -> float:
        """How long the recording is, to a frame."""
        return len(self) * HOP_S


def read_track(audio: str | Path) -> Track:
    """Listen to a recording."""
    return track_blocks(sound_blocks(audio))


def track_blocks(blocks: Iterable[Samples]) -> Track:
    """Listen to samples at 16 kHz."""
    pitch, intensity = PitchTracker(), IntensityMeter()
    for block in blocks:
        pitch.push(block)
        intensity.push(block)
    return Track(pitch.finish(), intensity.finish())
