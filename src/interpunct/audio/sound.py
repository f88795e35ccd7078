"""Sound: any recording as mono samples at 16 kHz.

In: a path that soundfile reads (wav, flac, ogg, opus, mp3), any rate, any number of channels. Out: float32 blocks
of bounded size. Channels are averaged; a dead channel is left out, and channels that cancel each other are not
averaged. Rates are converted by soxr, whose low-pass keeps aliases out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interpunct.errors import InputError, MissingExtraError

RATE = 16_000

Samples = NDArray[np.float32]

_DEAD = 1e-4  # a channel with this share of the loudest one's power (-40 dB) carries crosstalk or hum, no speech
_CANCELLED = 1e-2  # an average with this share of its channels' power has lost the speech


@dataclass(frozen=True, slots=True)
class SoundInfo:
    """What a file's header says."""

    rate_hz: int
    channels: int
    duration_s: float


def sound_info(path: str | Path) -> SoundInfo:
    """Return rate, channels and duration of a recording."""
    with _opened(path) as file:
        return SoundInfo(file.samplerate, file.channels, file.frames / file.samplerate)


def sound_blocks(path: str | Path, *, block_s: float = 10.0) -> Iterator[Samples]:
    """Yield the recording as mono float32 at 16 kHz, at most about `block_s` seconds at a time."""
    soxr = _soxr()
    with _opened(path) as file:
        weights = _channel_weights(file, block_s)
        file.seek(0)
        resampler = None if file.samplerate == RATE else soxr.ResampleStream(file.samplerate, RATE, 1, dtype="float32")
        for block in _raw_blocks(file, block_s, path):
            mono = np.ascontiguousarray(block @ weights)
            if resampler is not None:
                mono = resampler.resample_chunk(mono, last=False)
            if len(mono):
                yield mono
        if resampler is not None:
            rest = resampler.resample_chunk(np.zeros(0, dtype=np.float32), last=True)
            if len(rest):
                yield rest


def read_sound(path: str | Path) -> Samples:
    """Return the whole recording as mono float32 at 16 kHz: for clips, not for hours."""
    return np.concatenate(list(sound_blocks(path)) or [np.zeros(0, dtype=np.float32)])


def _opened(path: str | Path) -> Any:
    try:
        import soundfile
    except ImportError:
        raise MissingExtraError("reading audio", "audio") from None
    path = Path(path)
    if path.is_dir():
        raise InputError("a folder, and no audio file; give a recording", path=str(path))
    if not path.is_file():
        raise InputError("no such audio file; check the path", path=str(path))
    if path.stat().st_size == 0:
        raise InputError("the audio file is empty; record or copy it again", path=str(path))
    try:
        file = soundfile.SoundFile(str(path))
    except (soundfile.LibsndfileError, RuntimeError, TypeError) as error:
        raise InputError(f"not audio that can be read ({error}); give wav, flac, ogg or mp3", path=str(path)) from None
    if file.frames == 0:
        file.close()
        raise InputError("the audio file holds no samples; record or copy it again", path=str(path))
    return file


def _soxr() -> Any:
    try:
        import soxr
    except ImportError:
        raise MissingExtraError("reading audio", "audio") from None
    return soxr


def _raw_blocks(file: Any, block_s: float, path: str | Path) -> Iterator[Samples]:
    size = max(1, int(block_s * file.samplerate))
    while True:
        try:
            block: Samples = file.read(size, dtype="float32", always_2d=True)
        except RuntimeError as error:
            raise InputError(f"the audio breaks off ({error}); copy or convert it again", path=str(path)) from None
        if not len(block):
            return
        # A float file may hold NaN or infinity, which would poison every filter behind.
        yield np.nan_to_num(block, copy=False, nan=0.0, posinf=1.0, neginf=-1.0)


def _channel_weights(file: Any, block_s: float) -> Samples:
    """Return what each channel counts in the mono signal; one pass over the file, only where it has several."""
    count = file.channels
    if count == 1:
        return np.ones(1, dtype=np.float32)
    total, squares, seen = np.zeros(count), np.zeros((count, count)), 0
    for block in _raw_blocks(file, block_s, file.name):
        wide = block.astype(np.float64)
        total += wide.sum(axis=0)
        squares += wide.T @ wide
        seen += len(wide)
    mean = total / max(seen, 1)
    spread = squares / max(seen, 1) - np.outer(mean, mean)  # a constant offset is not sound
    power = np.diag(spread)
    alive = (power > _DEAD * power.max()) | (power.max() <= 0)
    weights = alive / alive.sum()
    if weights @ spread @ weights < _CANCELLED * power.max():
        weights = np.eye(count)[int(power.argmax())]
    return np.asarray(weights, dtype=np.float32)
