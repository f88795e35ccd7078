"""Pitch, intensity, octaves and contour, on sounds whose truth is known."""

from __future__ import annotations

import sys
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from interpunct.audio.sound import RATE, Samples
from interpunct.errors import MissingExtraError
from interpunct.features import pitch as pitch_module
from interpunct.features.contour import runs, stylise
from interpunct.features.intensity import FLOOR_DB, track_intensity
from interpunct.features.octaves import mended
from interpunct.features.pitch import HOP, HOP_S, Flags, Values, track_pitch


def voice(f0_hz: Values, *, level: float = 0.1) -> Samples:
    """A harmonic complex with falling harmonics; `f0_hz` has one value a sample, 0 where it is silent."""
    phase = 2 * np.pi * np.cumsum(f0_hz) / RATE
    wave = sum(np.sin(number * phase) / number for number in range(1, 12))
    return (level * np.asarray(wave) * (f0_hz > 0)).astype(np.float32)


def glide(first_hz: float, last_hz: float, seconds: float) -> Values:
    return np.geomspace(first_hz, last_hz, round(seconds * RATE))


def silence(seconds: float) -> Values:
    return np.zeros(round(seconds * RATE))


def semitones(f0_hz: Values | float) -> Values:
    return np.asarray(12 * np.log2(f0_hz))


def test_pitch_follows_a_gliding_voice_and_its_pauses() -> None:
    pytest.importorskip("swift_f0")
    truth = np.concatenate([silence(0.5), glide(220, 110, 1.0), silence(0.5), glide(100, 150, 0.5)])
    found = track_pitch([voice(truth)])
    assert len(found.voiced) == len(truth) // HOP
    expected = truth[np.arange(len(found.voiced)) * HOP]
    assert np.mean(found.voiced == (expected > 0)) > 0.93
    both = found.voiced & (expected > 0)
    assert np.median(np.abs(semitones(found.f0_hz[both]) - semitones(expected[both]))) < 0.2
    assert (found.f0_hz[~found.voiced] == 0).all()


def test_pitch_of_blocks_is_that_of_the_whole() -> None:
    pytest.importorskip("swift_f0")
    whole = voice(np.concatenate([silence(0.3), glide(180, 90, 2.1), silence(0.2), glide(300, 200, 1.0)]))
    once = track_pitch([whole])
    for size in (100, 1000, 7777):
        parts = track_pitch(whole[first : first + size] for first in range(0, len(whole), size))
        assert (parts.voiced == once.voiced).all()
        assert np.allclose(parts.semitones, once.semitones, atol=1e-3)


def test_pitch_of_long_blocks_is_cut_without_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("swift_f0")
    whole = voice(glide(180, 90, 3.0))
    once = track_pitch([whole])
    monkeypatch.setattr(pitch_module, "_BLOCK", RATE)
    assert np.allclose(track_pitch([whole]).semitones, once.semitones, atol=1e-3)


@pytest.mark.parametrize("samples", [0, 1, HOP - 1, HOP, 3000])
def test_pitch_of_silence_is_unvoiced_however_short(samples: int) -> None:
    pytest.importorskip("swift_f0")
    found = track_pitch([np.zeros(samples, dtype=np.float32)])
    assert len(found.voiced) == len(found.semitones) == samples // HOP
    assert not found.voiced.any()


def test_pitch_without_the_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "swift_f0", None)
    pitch_module._detector.cache_clear()
    with pytest.raises(MissingExtraError, match=r"interpunct\[audio\]"):
        track_pitch([])


def test_intensity_is_the_level_around_each_frame() -> None:
    rng = np.random.default_rng(1)
    samples = (rng.normal(size=20 * HOP + 100) * np.repeat([0.01, 0.1], 10 * HOP + 50)).astype(np.float32)
    found = track_intensity([samples])
    assert len(found) == 20
    for frame in range(1, 20):
        around = samples[(frame - 1) * HOP : (frame + 1) * HOP].astype(np.float64)
        assert found[frame] == pytest.approx(10 * np.log10(around.var()), abs=1e-6)
    assert found[12:].mean() - found[:9].mean() == pytest.approx(20, abs=1)


def test_intensity_hears_no_constant_offset() -> None:
    assert (track_intensity([np.full(10 * HOP, 0.5, dtype=np.float32)]) == FLOOR_DB).all()


def test_intensity_of_blocks_is_that_of_the_whole() -> None:
    samples = np.random.default_rng(2).normal(size=5000).astype(np.float32)
    parts = track_intensity(samples[first : first + 333] for first in range(0, 5000, 333))
    assert np.allclose(parts, track_intensity([samples]))
    assert not len(track_intensity([]))


def test_octaves_of_halved_and_doubled_frames_are_mended() -> None:
    truth = semitones(np.geomspace(240, 120, 120))
    voiced = np.ones(120, dtype=np.bool_)
    voiced[60:63] = False
    heard = np.where(voiced, truth, 0.0)
    for first, last, move in ((10, 11, -12), (30, 50, -12), (58, 60, 12), (63, 70, 12), (100, 120, -12)):
        heard[first:last] += move * voiced[first:last]
    found = mended(heard, voiced, float(np.median(truth)))
    assert np.allclose(found[voiced], truth[voiced])
    assert (found[~voiced] == 0).all()


def test_octaves_of_a_run_that_lies_wholly_too_low_are_mended_by_the_speakers_middle() -> None:
    heard = np.concatenate([np.full(20, 88.0), np.zeros(30), np.full(20, 75.5)])
    found = mended(heard, heard > 0, 88.0)
    assert found[-1] == 87.5
    # A low end of a sentence is no error.
    assert mended(np.where(heard == 75.5, 79.0, heard), heard > 0, 88.0)[-1] == 79.0


def test_octaves_of_a_voice_that_leaps_and_stays_are_left_alone() -> None:
    leap = np.repeat([82.0, 94.0, 82.0], [60, 63, 60])
    assert (mended(leap, leap > 0, 86.0) == leap).all()
    short = np.repeat([82.0, 94.0, 82.0], [60, 30, 60])
    assert (mended(short, short > 0, 86.0) == 82.0).all()


def test_octaves_of_two_speakers_are_judged_by_their_own_middles() -> None:
    heard = np.concatenate([np.full(30, 92.0), np.zeros(20), np.full(30, 79.0)])
    middle = np.concatenate([np.full(50, 92.0), np.full(30, 79.0)])
    assert (mended(heard, heard > 0, middle) == heard).all()


@given(
    values=st.lists(st.floats(67, 110), min_size=1, max_size=6),
    gaps=st.lists(st.booleans(), min_size=6, max_size=6),
    middle=st.floats(75, 100),
)
def test_octaves_are_those_of_the_cheapest_of_all_ways(values: list[float], gaps: list[bool], middle: float) -> None:
    """The search against every way there is."""
    places: list[int] = []
    for gap in gaps[: len(values)]:
        places.append((places[-1] if places else -1) + (9 if gap else 1))
    heard = np.zeros(places[-1] + 1)
    heard[places] = values

    def cost(moves: tuple[float, ...]) -> float:
        moved = [value + move for value, move in zip(values, moves, strict=True)]
        total = sum(0.15 * max(abs(value - middle) - 8, 0) for value in moved) + 0.5 * sum(move != 0 for move in moves)
        for place in range(1, len(moved)):
            if places[place] - places[place - 1] <= 5:
                total += abs(moved[place] - moved[place - 1])
        return total

    ways = np.array(np.meshgrid(*[[0.0, 12.0, -12.0]] * len(values))).reshape(len(values), -1).T
    found = mended(heard, heard > 0, middle)[places] - np.array(values)
    assert cost(tuple(np.round(found))) == pytest.approx(min(cost(tuple(way)) for way in ways))


def test_contour_finds_the_breaks_of_straight_lines() -> None:
    knots, heights = [0, 20, 45, 60], [84.0, 92.0, 80.0, 83.0]
    truth = np.interp(np.arange(61), knots, heights)
    noisy = truth + np.random.default_rng(3).normal(scale=0.1, size=61)
    found = stylise(noisy, np.ones(61, dtype=np.bool_))
    assert len(found.breaks) == 2
    assert all(min(abs(knot - brk) for brk in found.breaks) <= 2 for knot in knots[1:-1])
    assert np.abs(found.semitones - truth).max() < 0.6
    assert found.slopes[10] == pytest.approx(8 / (20 * HOP_S), rel=0.1)
    assert found.slopes[33] == pytest.approx(-12 / (25 * HOP_S), rel=0.1)


@given(st.integers(0, 1000), st.integers(3, 9))
def test_contour_breaks_are_the_cheapest_of_all(seed: int, count: int) -> None:
    """The search against every way there is."""
    values = 80 + np.random.default_rng(seed).normal(scale=3, size=count).cumsum()

    def cost(edges: tuple[int, ...]) -> float:
        total = 0.0
        for first, last in pairwise(edges):
            frames = np.arange(first, last)
            line = np.polyval(np.polyfit(frames, values[first:last], 1), frames)
            total += 2.0 + float(((values[first:last] - line) ** 2).sum())
        return total

    ways = [
        (0, *inner, count)
        for size in range(count // 3)
        for inner in combinations(range(3, count - 2), size)
        if all(last - first >= 3 for first, last in pairwise((0, *inner, count)))
    ]
    found = stylise(values, np.ones(count, dtype=np.bool_))
    assert cost((0, *found.breaks, count)) == pytest.approx(min(map(cost, ways)))


def test_contour_of_one_line_has_no_break() -> None:
    line = 80 + np.random.default_rng(4).normal(scale=0.15, size=80) + 0.05 * np.arange(80)
    found = stylise(line, np.ones(80, dtype=np.bool_))
    assert found.breaks == ()
    assert np.allclose(found.slopes, found.slopes[0])


def test_contour_leaves_out_what_is_too_short_to_be_a_voice() -> None:
    voiced = np.array([True, True, False, True, True, True, False])
    found = stylise(np.where(voiced, 80.0, 0.0), voiced)
    assert found.voiced.tolist() == [False, False, False, True, True, True, False]
    assert found.semitones.tolist() == pytest.approx([0, 0, 0, 80, 80, 80, 0])


def test_contour_of_a_voice_without_end_is_drawn_piece_by_piece() -> None:
    tune = 85 + 3 * np.sin(np.arange(4000) / 20)
    found = stylise(tune, np.ones(4000, dtype=np.bool_))
    assert np.abs(found.semitones - tune).max() < 1.0
    assert 50 < len(found.breaks) < 200


@given(arrays.arrays(np.bool_, st.integers(0, 40)), st.integers(0, 10))
def test_contour_is_finite_and_near_the_voice(voiced: Flags, seed: int) -> None:
    values = np.where(voiced, np.random.default_rng(seed).uniform(70, 100, len(voiced)), 0.0)
    found = stylise(values, voiced)
    assert np.isfinite(found.semitones).all()
    assert np.isfinite(found.slopes).all()
    assert (found.semitones[~found.voiced] == 0).all()
    assert not (found.voiced & ~voiced).any()
    assert [flag for first, last in runs(voiced) for flag in voiced[first:last]] == [True] * int(voiced.sum())
