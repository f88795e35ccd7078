"""A stretch of speech as a picture: wave, pitch and pauses, and below them where sentences end.

In: words with times, the probability of a sentence end after each, and the recording where there is one. Out: one
figure of at most a minute, as PNG, SVG or PDF by the file's extension. It needs the extra [plot]; sound needs [audio].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from interpunct.audio.sound import RATE, Samples, sound_blocks
from interpunct.errors import InputError, MissingExtraError
from interpunct.features.pitch import HOP_S, Pitch, track_pitch
from interpunct.labels import surface
from interpunct.metrics import plot
from interpunct.transcript import Word

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW_S = 10.0
"""Seconds a row."""
ROWS = 6
_PAUSE_S = 0.1  # shorter ones are not drawn
_TOLD_S = 0.25  # and shorter ones are not told in figures
_LOWEST_HZ, _HIGHEST_HZ = 50.0, 450.0
_HIGHEST_PLACE = 1.62  # of the axis of probabilities: words stand above 1

_Timed = tuple[Word, float, float, float]
"""A word, its start and end, and the probability of an end after it."""


def check_picture(path: str | Path) -> None:
    """Refuse a name that says no kind of picture, a folder that is not there, and a machine that cannot draw."""
    plot.check_extension(path)
    if not Path(path).parent.is_dir():
        raise InputError("no such folder; make it first, or give another", path=str(Path(path).parent))
    try:
        import matplotlib  # noqa: F401 - only whether it is there
    except ImportError:
        raise MissingExtraError("plots", "plot") from None


def draw_speech(
    path: str | Path,
    words: Sequence[Word],
    ends: Sequence[float],
    *,
    audio: str | Path | None = None,
    begin_s: float = 0.0,
) -> None:
    """Draw a minute from `begin_s` on into a file; it appears whole or not at all."""
    check_picture(path)
    plot.save_picture(speech_figure(words, ends, audio=audio, begin_s=begin_s), path)


def speech_figure(
    words: Sequence[Word],
    ends: Sequence[float],
    *,
    audio: str | Path | None = None,
    begin_s: float = 0.0,
) -> Figure:
    """Return the matplotlib figure of a minute; without a recording, of what the times alone tell."""
    import matplotlib
    from matplotlib.figure import Figure

    timed = [
        (word, word.start, word.end, float(end))
        for word, end in zip(words, ends, strict=True)
        if word.start is not None and word.end is not None
    ]
    timed = sorted((each for each in timed if each[2] > begin_s), key=lambda each: (each[1], each[2]))
    if not timed or timed[0][1] > begin_s + ROW_S * ROWS:
        raise InputError("no word has times in what is to be drawn; give a recording, or begin elsewhere")
    last_s = min(timed[-1][2], begin_s + ROW_S * ROWS)
    rows = max(1, math.ceil((last_s - begin_s) / ROW_S))
    samples = None if audio is None else _cut_out(audio, begin_s, begin_s + rows * ROW_S)
    pitch = None if samples is None else track_pitch([samples])
    with matplotlib.rc_context(plot.STYLE):
        per_row = 1 if samples is None else 2
        drawn = Figure(figsize=(15, (1.5 if samples is None else 3.0) * rows + 0.6), layout="constrained")
        axes = drawn.subplots(rows * per_row, 1, squeeze=False)[:, 0]
        for row in range(rows):
            first_s = begin_s + row * ROW_S
            inside = [each for each in timed if each[2] > first_s and each[1] < first_s + ROW_S]
            around = _with_neighbours(timed, first_s, first_s + ROW_S)
            if samples is not None and pitch is not None:
                _draw_sound(axes[per_row * row], samples, pitch, first_s - begin_s, begin_s)
            _draw_ends(axes[per_row * row + per_row - 1], inside)
            for of_row in axes[per_row * row : per_row * (row + 1)]:
                _draw_pauses(of_row, around, told=of_row is axes[per_row * row])
                of_row.set_xlim(first_s, first_s + ROW_S)
        axes[-1].set_xlabel("seconds")
        sound = "" if samples is None else "wave (grey), pitch (dots), "
        drawn.suptitle(f"{sound}pauses (shaded), probability of a sentence end after each word (bars)", fontsize=11)
    return drawn


def _with_neighbours(timed: Sequence[_Timed], first_s: float, last_s: float) -> Sequence[_Timed]:
    """Return the words of a row, and what is said last before it and first behind it: pauses reach into rows."""
    begins = [place for place, (_, start, _, _) in enumerate(timed) if start >= first_s]
    first = begins[0] if begins else len(timed)
    # Of those that begin before the row, the one that ends last bounds the pause.
    before = max(timed[:first], key=lambda each: each[2], default=None)
    rest = timed[first:]
    behind = next((place for place, (_, start, _, _) in enumerate(rest) if start >= last_s), len(rest) - 1)
    return [*([] if before is None else [before]), *rest[: behind + 1]]


def _cut_out(audio: str | Path, first_s: float, last_s: float) -> Samples:
    """Read the samples of a stretch, block by block, and no farther than its end."""
    first, last, at = round(first_s * RATE), round(last_s * RATE), 0
    parts: list[Samples] = [np.zeros(0, dtype=np.float32)]
    for block in sound_blocks(audio):
        parts.append(block[max(0, first - at) : max(0, last - at)])
        at += len(block)
        if at >= last:
            break
    return np.concatenate(parts)


def _draw_sound(axes: Axes, samples: Samples, pitch: Pitch, from_s: float, begin_s: float) -> None:
    """Draw the wave as the range of every 5 ms, and the pitch over it."""
    step = RATE // 200
    shown = samples[round(from_s * RATE) : round((from_s + ROW_S) * RATE)]
    steps = shown[: len(shown) // step * step].reshape(-1, step)
    middle, half = (_LOWEST_HZ + _HIGHEST_HZ) / 2, (_HIGHEST_HZ - _LOWEST_HZ) / 2
    loudest = max(float(np.abs(samples).max(initial=0.0)), 1e-6)
    if len(steps):
        time_s = begin_s + from_s + np.arange(len(steps)) * step / RATE
        low, high = (middle + half * edge / loudest for edge in (steps.min(axis=1), steps.max(axis=1)))
        axes.fill_between(time_s, low, high, color=plot.FAINT, alpha=0.45, linewidth=0)
    voiced = np.flatnonzero(pitch.voiced)
    axes.plot(begin_s + voiced * HOP_S, pitch.f0_hz[voiced], ".", markersize=2.5, color=plot.COLOURS[1])
    axes.set_ylim(_LOWEST_HZ, _HIGHEST_HZ)
    axes.set_yticks([100, 200, 300, 400])
    axes.set_ylabel("Hz")
    axes.tick_params(labelbottom=False)


def _draw_pauses(axes: Axes, timed: Sequence[_Timed], *, told: bool) -> None:
    """Shade the time in which nobody speaks."""
    heard_s = timed[0][2] if timed else 0.0
    for (_, _, end, _), (_, start, _, _) in pairwise(timed):
        heard_s = max(heard_s, end)
        if start - heard_s < _PAUSE_S:
            continue
        axes.axvspan(heard_s, start, color=plot.RATES["recall"], alpha=0.22, linewidth=0)
        if told and start - heard_s >= _TOLD_S:
            axes.annotate(
                f"{start - heard_s:.2f} s", ((heard_s + start) / 2, 0.98), xycoords=("data", "axes fraction"),
                ha="center", va="top", fontsize=7, clip_on=True, annotation_clip=True,
            )  # fmt: skip


def _draw_ends(axes: Axes, inside: Sequence[_Timed]) -> None:
    """Draw a bar at each word's end, and the word above its time, in two heights so that short words stay apart."""
    for number, (word, start, end, chance) in enumerate(inside):
        axes.bar(end, chance, width=0.05, color=plot.COLOURS[0])
        axes.text(
            (start + end) / 2, 1.12 + 0.26 * (number % 2), surface(word), ha="center", va="center", fontsize=7.5,
            clip_on=True, parse_math=False, color=plot.COLOURS[0] if word.mark else plot.INK,
        )  # fmt: skip
    axes.set_ylim(0, _HIGHEST_PLACE)
    axes.set_yticks([0, 0.5, 1])
    axes.set_ylabel("end")
