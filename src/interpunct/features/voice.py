"""Voice: the families f0, energy and boundary, which need the sound.

In: a track, words' times and speakers. Out: columns by name, NaN where a value is missing: a region holds no frame, or
none that is voiced, or too few for a slope. F0 is read from the stylised contour, after octave errors are mended.
Every word is measured three times, whole, in its first and in its last 200 ms; a boundary then compares the word
before it with the word after.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from interpunct.features import prosody_table
from interpunct.features.contour import Contour, stylise
from interpunct.features.durations import Columns
from interpunct.features.octaves import mended
from interpunct.features.pitch import HOP_S, Pitch, Values
from interpunct.features.register import Owners, Register, learn_register
from interpunct.features.spans import Spans, after
from interpunct.features.track import Track

_LEAST = 60  # frames (1 s) of a speaker that make a register
_SMALLEST = 0.5  # semitones, dB: no voice is flatter
_SLOPE_FRAMES = 3  # fewer have no slope that could be trusted
_EDGE_FRAMES = 3  # the first and the last level are means over 48 ms, a few periods of a voice

_MEASURES = ("mean", "lowest", "highest", "range", "first", "last", "slope")
_Frames = Sequence[tuple[int, int]]


def voices(track: Track, spans: Spans, owners: Owners, speakers: int) -> Columns:
    """Return the families f0, energy, f0 across, energy across and boundary."""
    count = len(track)
    whole = spans.frames(count)
    frame_owners = _owners_of_frames(whole, owners, count)
    contour = speaker_contour(track.pitch, frame_owners, speakers)
    pitch = _register(np.where(contour.voiced, contour.semitones, np.nan), frame_owners, speakers).of(owners)
    level = _register(track.level_db, frame_owners, speakers).of(owners)
    f0: dict[str, Columns] = {}
    energy: dict[str, Columns] = {}
    for region, of_region in (("word", spans), ("head", spans.heads), ("tail", spans.tails)):
        frames = of_region.frames(count)
        f0[region] = _f0(contour, frames)
        energy[region] = _energy(track.level_db, frames)
    columns: Columns = {}
    for name, measured, register in (("f0", f0, pitch), ("energy", energy, level)):
        for region, source, shifted in (
            ("word_before", "word", False),
            ("word_after", "word", True),
            ("window_before", "tail", False),
            ("window_after", "head", True),
        ):
            placed = _relative(measured[source], register, at_start=shifted)
            for statistic in prosody_table.F0_STATISTICS if name == "f0" else prosody_table.ENERGY_STATISTICS:
                column = placed[statistic]
                columns[f"{name}_{region}_{statistic}"] = after(column) if shifted else column
        for pair, source_before, source_after in (("words", "word", "word"), ("windows", "tail", "head")):
            columns |= _across(f"{name}_{pair}", measured[source_before], measured[source_after], register)
    return columns | _boundary(track, contour, spans, level)


def speaker_contour(pitch: Pitch, frame_owners: Owners, speakers: int) -> Contour:
    """Return the stylised contour, octave errors mended around the middle of each speaker's voice."""
    everybody = float(np.median(pitch.semitones[pitch.voiced])) if pitch.voiced.any() else 0.0
    middle = np.full(len(pitch.semitones), everybody)
    for speaker in range(speakers):
        own = frame_owners == speaker
        heard = pitch.semitones[own & pitch.voiced]
        if len(heard) >= _LEAST:
            middle[own] = np.median(heard)
    return stylise(mended(pitch.semitones, pitch.voiced, middle), pitch.voiced)


def _owners_of_frames(frames: _Frames, owners: Owners, count: int) -> Owners:
    """Return whose each frame is, -1 where nobody speaks; of two who speak at once it is the later word's."""
    found = np.full(count, -1, dtype=np.int64)
    for (first, last), owner in zip(frames, owners.tolist(), strict=True):
        found[first:last] = owner
    return found


def _register(values: Values, frame_owners: Owners, speakers: int) -> Register:
    return learn_register(values, frame_owners, speakers, least=_LEAST, smallest=_SMALLEST)


def _f0(contour: Contour, frames: _Frames) -> Columns:
    names = (*_MEASURES, "first_slope", "last_slope", "voiced")
    rows = np.full((len(frames), len(names)), np.nan)
    for row, (first, last) in zip(rows, frames, strict=True):
        if last <= first:
            continue
        places = first + np.flatnonzero(contour.voiced[first:last])
        row[-1] = len(places) / (last - first)
        if len(places):
            values, slopes = contour.semitones[places], contour.slopes[places]
            row[:-1] = (*_measures(values, places, edge=1), slopes[0], slopes[-1])
    return dict(zip(names, rows.T, strict=True))


def _energy(level_db: Values, frames: _Frames) -> Columns:
    rows = np.full((len(frames), len(_MEASURES)), np.nan)
    for row, (first, last) in zip(rows, frames, strict=True):
        if last > first:
            row[:] = _measures(level_db[first:last], np.arange(first, last), edge=_EDGE_FRAMES)
    return dict(zip(_MEASURES, rows.T, strict=True))


def _measures(values: Values, places: Sequence[int] | np.ndarray, *, edge: int) -> tuple[float, ...]:
    """Return mean, lowest, highest, range, first, last and slope of at least one frame."""
    lowest, highest = float(values.min()), float(values.max())
    spread = highest - lowest if len(values) > 1 else math.nan
    first, last = float(values[:edge].mean()), float(values[-edge:].mean())
    return float(values.mean()), lowest, highest, spread, first, last, _slope(values, np.asarray(places))


def _slope(values: Values, places: np.ndarray) -> float:
    """Return units a second, by least squares."""
    if len(values) < _SLOPE_FRAMES:
        return math.nan
    time_s = (places - places.mean()) * HOP_S
    return float(time_s @ values / (time_s @ time_s))


def _relative(measured: Columns, register: Register, *, at_start: bool) -> Columns:
    """Return statistics as a speaker's register sees them; the edge is where the boundary is."""
    levels = {name: measured[name] - register.mean for name in ("mean", "lowest", "highest", "first", "last")}
    edge = "first" if at_start else "last"
    return {
        **measured,
        **levels,
        "mean_z": register.z(measured["mean"]),
        "edge_slope": measured.get(f"{edge}_slope", measured["slope"]),
        "edge_floor": measured[edge] - register.floor,
        "lowest_floor": measured["lowest"] - register.floor,
    }


def _across(name: str, measured_before: Columns, measured_after: Columns, register: Register) -> Columns:
    """Return after less before: as the logarithm of a ratio, and in the deviations of the speaker of each side."""
    columns: Columns = {f"{name}_slope": after(measured_after["slope"]) - measured_before["slope"]}
    for statistic in prosody_table.ACROSS_STATISTICS:
        left = measured_before["last" if statistic == "reset" else statistic]
        right = measured_after["first" if statistic == "reset" else statistic]
        columns[f"{name}_{statistic}_ratio"] = after(right) - left
        if statistic == "range":
            columns[f"{name}_{statistic}_z"] = after(right / register.deviation) - left / register.deviation
        else:
            columns[f"{name}_{statistic}_z"] = after(register.z(right)) - register.z(left)
    return columns


def _boundary(track: Track, contour: Contour, spans: Spans, level: Register) -> Columns:
    """Return what is heard between two words, and for how long there is no voice around their boundary."""
    count = len(track)
    loud, voiced = np.full(len(spans.ends), np.nan), np.full(len(spans.ends), np.nan)
    for place, (first, last) in enumerate(spans.gaps.frames(count)):
        if last > first:
            loud[place] = track.level_db[first:last].mean()
            voiced[place] = contour.voiced[first:last].mean()
    heard_s = np.concatenate([[np.nan], np.flatnonzero(contour.voiced) * HOP_S, [np.nan]])
    middle = (spans.ends + after(spans.starts)) / 2.0
    behind = np.searchsorted(heard_s[1:-1], middle, side="right")
    silent = np.where(np.isnan(middle), np.nan, np.maximum(heard_s[behind + 1] - heard_s[behind] - HOP_S, 0.0))
    return {
        "boundary_level": loud - level.mean,
        "boundary_voiced": voiced,
        "boundary_unvoiced_s": silent,
    }
