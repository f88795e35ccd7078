from __future__ import annotations

import math

import numpy as np
import pytest

from interpunct.audio.sound import RATE, Samples
from interpunct.features.mfcc import frames_between, mel_bands, mfcc


def noise(seconds: float, seed: int = 1) -> Samples:
    return np.random.default_rng(seed).normal(0, 0.1, round(seconds * RATE)).astype(np.float32)


def slow_mfcc(samples: Samples) -> list[list[float]]:
    """The definition, a sum at a time: 25 ms of 16 kHz every 10 ms, 26 bands, 13 coefficients."""
    wave = [float(s) for s in samples]
    wave = [wave[0], *(wave[n] - 0.97 * wave[n - 1] for n in range(1, len(wave)))]

    def hertz(number: int) -> float:
        top = 2595 * math.log10(1 + 8000 / 700)
        return 700 * (10 ** (top * number / 27 / 2595) - 1)

    frames = []
    for begin in range(0, len(wave) - 399, 160):
        window = [wave[begin + n] * (0.54 - 0.46 * math.cos(2 * math.pi * n / 399)) for n in range(400)]
        power = []
        for k in range(257):
            real = sum(value * math.cos(2 * math.pi * k * n / 512) for n, value in enumerate(window))
            imaginary = sum(value * math.sin(2 * math.pi * k * n / 512) for n, value in enumerate(window))
            power.append((real**2 + imaginary**2) / 512)
        logs = []
        for band in range(26):
            low, middle, high = hertz(band), hertz(band + 1), hertz(band + 2)
            total = 0.0
            for k, value in enumerate(power):
                at = k * 16000 / 512
                if low < at <= middle:
                    total += value * (at - low) / (middle - low)
                elif middle < at < high:
                    total += value * (high - at) / (high - middle)
            logs.append(math.log(max(total, 1e-10)))
        frames.append(
            [
                math.sqrt((1 if c == 0 else 2) / 26)
                * sum(value * math.cos(math.pi * c * (band + 0.5) / 26) for band, value in enumerate(logs))
                for c in range(13)
            ]
        )
    return frames


def test_mfcc_equals_the_slow_version() -> None:
    samples = noise(0.055)
    samples += 0.3 * np.sin(2 * np.pi * 440 * np.arange(len(samples)) / RATE).astype(np.float32)
    expected = np.array(slow_mfcc(samples))
    assert expected.shape == (4, 13)
    np.testing.assert_allclose(mfcc(samples), expected, atol=1e-4)


def test_mfcc_equals_librosa() -> None:
    librosa = pytest.importorskip("librosa")
    samples = noise(0.5)
    raised = np.append(samples[0], samples[1:] - 0.97 * samples[:-1])
    powers = librosa.feature.melspectrogram(
        y=np.pad(raised, (56, 56)),
        sr=RATE,
        n_fft=512,
        hop_length=160,
        win_length=400,
        window=np.hamming(400),
        center=False,
        n_mels=26,
        htk=True,
        norm=None,
    )
    found = librosa.feature.mfcc(S=np.log(powers / 512), n_mfcc=13)
    assert found.T.shape == mfcc(samples).shape
    np.testing.assert_allclose(mfcc(samples), found.T, atol=1e-2)


def test_mfcc_of_an_octave_more_loudness_moves_the_first_coefficient_only() -> None:
    change = mfcc(2 * noise(0.3)) - mfcc(noise(0.3))
    np.testing.assert_allclose(change[:, 0], 2 * math.log(2) * math.sqrt(26), rtol=1e-4)
    np.testing.assert_allclose(change[:, 1:], 0, atol=1e-4)


@pytest.mark.parametrize(("count", "frames"), [(0, 0), (399, 0), (400, 1), (559, 1), (560, 2), (16_000, 98)])
def test_mfcc_has_a_frame_for_every_whole_window(count: int, frames: int) -> None:
    assert mfcc(noise(1)[:count]).shape == (frames, 13)


def test_mfcc_of_a_long_recording_is_that_of_its_parts() -> None:
    samples = noise(50)  # more than a block of frames
    whole = mfcc(samples)
    at = 4090
    np.testing.assert_allclose(whole[at + 1 : at + 20], mfcc(samples[at * 160 :][: 20 * 160 + 400])[1:20], atol=1e-4)


def test_mfcc_of_silence_is_finite_and_leaves_its_input() -> None:
    samples = np.zeros(800, dtype=np.float32)
    assert np.isfinite(mfcc(samples)).all()
    assert not samples.any()


def test_mel_bands_overlap_to_one_between_the_outer_middles() -> None:
    bands = mel_bands()
    assert bands.shape == (26, 257)
    peak = bands.argmax(axis=1)
    np.testing.assert_allclose(bands.sum(axis=0)[peak[0] + 1 : peak[-1]], 1)


@pytest.mark.parametrize("span", [(0.0, 0.031), (0.031, 0.2), (0.2, 0.2025), (0.2025, 0.77), (0.77, 0.98)])
def test_frames_between_are_all_that_lie_wholly_inside(span: tuple[float, float]) -> None:
    inside = [n for n in range(1000) if 0.01 * n > span[0] - 1e-9 and 0.01 * n + 0.025 < span[1] + 1e-9]
    assert list(range(1000)[frames_between(*span)]) == inside


def test_frames_between_hear_nothing_of_what_is_outside() -> None:
    quiet = noise(0.5)
    loud = quiet.copy()
    loud[: round(0.2 * RATE) - 1] *= 9  # the last sample before is used to raise the highs of the first
    loud[round(0.4 * RATE) :] *= 9
    inside = frames_between(0.2, 0.4)
    np.testing.assert_array_equal(mfcc(loud)[inside], mfcc(quiet)[inside])
    assert np.abs(mfcc(loud)[inside.stop] - mfcc(quiet)[inside.stop]).max() > 0.1
