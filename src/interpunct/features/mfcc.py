"""MFCCs: what a recording sounds like, every 10 ms, whoever's pitch it has.

In: mono samples at 16 kHz. Out: 13 mel-frequency cepstral coefficients a frame, the first one the level. A frame is
25 ms long; frames that would reach beyond the recording are left out. The samples' highs are raised, a Hamming
window taken, the power spectrum summed in 26 triangles that are equally wide in mel, and the logarithms of the sums
turned into coefficients by an orthonormal cosine transform. Nothing is normalised: whoever compares speakers does that.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from interpunct.audio.sound import RATE, Samples

COEFFICIENTS = 13
WINDOW_S = 0.025
STEP_S = 0.01

Frames = NDArray[np.float32]
Matrix = NDArray[np.float64]

_WINDOW, _STEP, _FFT = round(WINDOW_S * RATE), round(STEP_S * RATE), 512
_BANDS = 26
_EMPHASIS = 0.97
_FLOOR = 1e-10  # of a band's power, so that digital silence has a logarithm
_BLOCK = 4096  # frames whose spectra are in memory at a time


def mfcc(samples: Samples) -> Frames:
    """Return frames × 13 coefficients.

    >>> mfcc(np.zeros(16_000, dtype=np.float32)).shape
    (98, 13)
    """
    count = max(0, 1 + (len(samples) - _WINDOW) // _STEP)
    if not count:
        return np.zeros((0, COEFFICIENTS), dtype=np.float32)
    raised = samples.astype(np.float64)
    raised[1:] -= _EMPHASIS * samples[:-1]
    windows = np.lib.stride_tricks.sliding_window_view(raised, _WINDOW)[::_STEP]
    hamming, bands, cosines = np.hamming(_WINDOW), mel_bands(), _cosines()
    parts = []
    for first in range(0, count, _BLOCK):
        power = np.abs(np.fft.rfft(windows[first : first + _BLOCK] * hamming, _FFT)) ** 2 / _FFT
        parts.append(np.log(np.maximum(power @ bands.T, _FLOOR)) @ cosines.T)
    return np.concatenate(parts).astype(np.float32)


def frames_between(start_s: float, end_s: float) -> slice:
    """Return the frames that lie wholly between two times: nothing that sounds before or after is heard in them.

    >>> frames_between(0.0, 0.05), frames_between(0.041, 0.08), frames_between(0.1, 0.12)
    (slice(0, 3, None), slice(5, 6, None), slice(10, 10, None))
    """
    first = max(0, math.ceil(round(start_s / STEP_S, 6)))
    return slice(first, max(first, 1 + math.floor(round((end_s - WINDOW_S) / STEP_S, 6))))


@cache
def mel_bands() -> Matrix:
    """Return the triangles, bands × bins of the spectrum: each rises from the middle of the one before."""
    mel = np.linspace(0.0, 2595.0 * math.log10(1 + RATE / 2 / 700.0), _BANDS + 2)
    edges = 700.0 * (10 ** (mel / 2595.0) - 1)[:, None]
    bins = np.arange(_FFT // 2 + 1) * RATE / _FFT
    rising = (bins - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - bins) / (edges[2:] - edges[1:-1])
    return np.maximum(0.0, np.minimum(rising, falling))


@cache
def _cosines() -> Matrix:
    """Return the first rows of the orthonormal DCT-II, coefficients × bands."""
    order = np.arange(COEFFICIENTS)[:, None]
    table = math.sqrt(2 / _BANDS) * np.cos(math.pi / _BANDS * (np.arange(_BANDS) + 0.5) * order)
    table[0] /= math.sqrt(2)
    return np.asarray(table)
