"""An evaluation as a picture.

In: an `Evaluation`. Out: one figure, as PNG, SVG or PDF by the file's extension: precision, recall and F1 of
each mark with 95 % intervals, which mark was taken for which, precision against recall where the hypothesis
has confidences, and with several references their sentence ends along the words. It needs the extra [plot].
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from interpunct import formats
from interpunct.errors import InputError, MissingExtraError
from interpunct.metrics.classes import CLASSES, class_of
from interpunct.metrics.evaluate import Evaluation, Row
from interpunct.metrics.pair import Pair
from interpunct.metrics.wisebe import general_reference, windows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NONE = "none"
FIRST_WORDS = 150
"""So many words of a transcript are drawn along the axis; more would be a blur."""

EXTENSIONS = (".png", ".svg", ".pdf")
DPI = 150
_PANEL_HEIGHT = 4.4

# Okabe and Ito's colours, which people with any kind of colour vision can tell apart.
RATES = {"precision": "#56B4E9", "recall": "#E69F00", "f1": "#0072B2"}
COLOURS = ("#D55E00", "#0072B2", "#009E73")
INK, FAINT, PALE = "#222222", "#767676", "#E6E6E6"
STYLE = {
    "font.family": "sans-serif",
    "font.size": 10.0,
    "axes.titlesize": 11.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 10.0,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.constrained_layout.w_pad": 0.12,
    "figure.constrained_layout.h_pad": 0.1,
}


def draw(evaluation: Evaluation, path: str | Path) -> None:
    """Draw an evaluation into a file; it appears whole or not at all."""
    check_extension(path)
    save_picture(figure(evaluation), path)


def check_extension(path: str | Path) -> None:
    """Refuse a name that says no kind of picture."""
    extension = Path(path).suffix.lower()
    if extension not in EXTENSIONS:
        known = ", ".join(EXTENSIONS)
        raise InputError(f"a picture cannot be {extension or 'without extension'}; use {known}", path=str(path))


def save_picture(drawn: Figure, path: str | Path, *, dpi: int = DPI) -> None:
    """Write a figure into a file, of the kind that its name says; the same figure gives the same file."""
    check_extension(path)
    from matplotlib import rc_context

    extension = Path(path).suffix.lower()
    written = io.BytesIO()
    # Without a date and chance names in it the same figures give the same file.
    metadata = {} if extension == ".png" else {"Date" if extension == ".svg" else "CreationDate": None}
    with rc_context({"svg.hashsalt": "interpunct"}):
        drawn.savefig(written, format=extension[1:], dpi=dpi, metadata=metadata)
    formats.replace_file(Path(path), [written.getvalue()])


def figure(evaluation: Evaluation) -> Figure:
    """Return the matplotlib figure of an evaluation."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("plots", "plot") from None
    panels = _panels(evaluation)
    with matplotlib.rc_context(STYLE):
        heights = [_PANEL_HEIGHT if panels else 0.1, *([_along_height(evaluation)] if evaluation.wisebe else [])]
        drawn = Figure(figsize=(4.2 * max(2, len(panels)), sum(heights) + 0.35), layout="constrained")
        rows = drawn.add_gridspec(len(heights), 1, height_ratios=heights, hspace=0.06)
        columns = rows[0].subgridspec(1, max(1, len(panels)), wspace=0.06)
        for column, panel in enumerate(panels):
            panel(drawn.add_subplot(columns[column]), evaluation)
        if evaluation.wisebe:
            _draw_along(drawn.add_subplot(rows[1]), evaluation)
        signature = _folded(evaluation.signature, 40 * max(2, len(panels)))
        drawn.supxlabel(signature, fontsize=7, color=FAINT, parse_math=False)
    return drawn


def _panels(evaluation: Evaluation) -> list[Callable[[Axes, Evaluation], None]]:
    """Choose the panels there are figures for."""
    panels: list[Callable[[Axes, Evaluation], None]] = []
    if _prf_rows(evaluation):
        panels.append(_draw_rates)
    marked = any(mark for pair in evaluation.pairs for mark in pair.reference_marks)
    if evaluation.pairs and (marked or not evaluation.wisebe):  # line ends alone leave nothing to confuse
        panels.append(_draw_confusion)
    if any(len(recall) for _, recall in curves(evaluation).values()):
        panels.append(_draw_curves)
    return panels


def _folded(signature: str, width: int) -> str:
    """Break the signature behind `|` into lines that fit below the panels."""
    lines = [""]
    for part in re.split(r"(?<=\|)", signature):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def class_names(evaluation: Evaluation) -> list[str]:
    """Return the classes of marks that were scored, as the signature says."""
    return list(dict.fromkeys(CLASSES[evaluation.options.classes].values()))


def _prf_rows(evaluation: Evaluation) -> list[Row]:
    return [row for row in evaluation.rows if row.metric == "prf" and "precision" in row.rates]


def _draw_rates(axes: Axes, evaluation: Evaluation) -> None:
    """Draw a group of three bars for each mark, the overall figures last, with whiskers for the intervals."""
    rows = _prf_rows(evaluation)
    height, halo = 0.26, _halo(2.4)
    for place, row in enumerate(rows):
        for index, (name, colour) in enumerate(RATES.items()):
            found = row.rates[name]
            y = place + (index - 1) * height
            if found.value is None:
                axes.text(1, y, "n/a", va="center", fontsize=8.5, color=FAINT)
                continue
            end = value = 100 * found.value
            axes.barh(y, value, height=height * 0.88, color=colour, label=name if place == 0 else None)
            if found.low is not None and found.high is not None:
                low, end = 100 * found.low, max(value, 100 * found.high)
                axes.hlines(y, low, 100 * found.high, color=INK, linewidth=1.2, path_effects=halo)
            axes.text(end + 1.5, y, f"{value:.1f}", va="center", fontsize=8.5)
            if place == 0 and value > 25:
                ink = "white" if name == "f1" else INK
                axes.text(1.5, y, "F1" if name == "f1" else name, va="center", fontsize=8.5, color=ink)
    axes.set_yticks(range(len(rows)), [f"{row.label}\nn={row.counts['expected']:,}" for row in rows])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(rows) - 0.45, -0.55)
    axes.set_xlim(0, 112)
    axes.set_xticks(range(0, 101, 25))
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("percent; line: 95 % interval")
    axes.set_title("How well each mark is restored")


def confusion(evaluation: Evaluation) -> npt.NDArray[np.int64]:
    """Count scored places by the reference's class (rows) and the hypothesis's (columns); none is the last."""
    names = class_names(evaluation)
    codes = {name: code for code, name in enumerate(names)}
    classes = evaluation.options.classes
    counts = np.zeros((len(names) + 1, len(names) + 1), dtype=np.int64)
    for pair in evaluation.pairs:
        sides = [
            np.asarray([codes.get(class_of(mark, classes), len(names)) for mark in marks], dtype=np.int64)
            for marks in (pair.reference_marks, pair.hypothesis_marks)
        ]
        np.add.at(counts, tuple(side[pair.marks_scored] for side in sides), 1)
    return counts


def _draw_confusion(axes: Axes, evaluation: Evaluation) -> None:
    """Shade each row by its shares, as their roots so that small ones show; none for none stays grey."""
    counts = confusion(evaluation)
    names = [*class_names(evaluation), NONE]
    totals = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, totals, out=np.zeros(counts.shape), where=totals > 0)
    last = len(names) - 1
    shades = np.ma.masked_array(np.sqrt(shares), mask=np.zeros(shares.shape, dtype=bool))
    shades[last, last] = np.ma.masked
    axes.set_facecolor(PALE)
    axes.imshow(shades, cmap="Blues", vmin=0, vmax=1.15, aspect="auto")
    for row in range(len(names)):
        for column in range(len(names)):
            grey = row == column == last
            ink = "white" if shares[row, column] > 0.5 and not grey else INK
            axes.text(column, row - 0.08, f"{counts[row, column]:,}", ha="center", va="center", color=ink)
            if totals[row, 0]:
                share = f"{100 * shares[row, column]:.1f} %"
                axes.text(column, row + 0.2, share, ha="center", va="center", color=ink, fontsize=8)
    axes.set_xticks(range(len(names)), names)
    axes.set_yticks(range(len(names)), names)
    axes.set_xticks(np.arange(last) + 0.5, minor=True)
    axes.set_yticks(np.arange(last) + 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=2)
    axes.tick_params(which="both", length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xlabel("hypothesis")
    axes.set_ylabel("reference")
    axes.set_title("Which mark is taken for which")


def curves(evaluation: Evaluation) -> dict[str, tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]]:
    """Return precision and recall of each class as the least confidence falls over the predicted marks.

    The last point keeps every mark: it is what the hypothesis says. A class has no points where a mark of it
    lacks a confidence, or where the reference has none of it.
    """
    classes = evaluation.options.classes
    found = {}
    for name in class_names(evaluation):
        parts = [_predicted(pair, name, classes) for pair in evaluation.pairs]
        confidence = np.concatenate([part[0] for part in parts]) if parts else np.zeros(0)
        right = np.concatenate([part[1] for part in parts]) if parts else np.zeros(0)
        expected = sum(part[2] for part in parts)
        found[name] = _curve(confidence, right, expected)
    return found


def _predicted(pair: Pair, name: str, classes: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_], int]:
    """Return the confidence of each predicted mark of a class (NaN for none), which are right, and how many exist."""
    scored = pair.marks_scored
    wanted = np.asarray([class_of(mark, classes) == name for mark in pair.reference_marks], dtype=np.bool_)
    given = np.asarray([class_of(mark, classes) == name for mark in pair.hypothesis_marks], dtype=np.bool_)
    chances = [np.nan if chance is None else chance for chance in pair.mark_confidences]
    chosen = given & scored
    return np.asarray(chances, dtype=np.float64)[chosen], wanted[chosen], int(np.count_nonzero(wanted & scored))


def _curve(
    confidence: npt.NDArray[np.float64], right: npt.NDArray[Any], expected: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    if not expected or not len(confidence) or np.isnan(confidence).any():
        return np.zeros(0), np.zeros(0)
    order = np.argsort(-confidence, kind="stable")
    falling, correct = confidence[order], np.cumsum(right[order])
    # Marks of the same confidence come in together: one point for all of them.
    last = np.flatnonzero(np.append(falling[1:] != falling[:-1], True))
    return correct[last] / (last + 1), correct[last] / expected


def _draw_curves(axes: Axes, evaluation: Evaluation) -> None:
    """Draw each class's curve with its name at its end, where the hypothesis stands."""
    ends = []
    for colour, (name, (precision, recall)) in zip(COLOURS, curves(evaluation).items(), strict=False):
        if not len(recall):
            continue
        axes.plot(100 * recall, 100 * precision, color=colour, linewidth=1.8, label=name)
        axes.plot(100 * recall[-1:], 100 * precision[-1:], "o", color=colour, markersize=6)
        ends.append((100 * precision[-1], 100 * recall[-1], name, colour))
    for y, (_, recall_end, name, colour) in zip(_spread([end[0] for end in ends]), ends, strict=True):
        axes.text(recall_end + 3, y, name, color=colour, va="center", fontweight="bold", path_effects=_halo(3))
    axes.set_xlim(0, 118)
    axes.set_ylim(0, 103)
    axes.set_xticks(range(0, 101, 25))
    axes.set_yticks(range(0, 101, 25))
    axes.grid(color=PALE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlabel("recall, percent; dot: the hypothesis as it is")
    axes.set_ylabel("precision, percent")
    axes.set_title("If only the surest marks were kept")


def _halo(width: float) -> list[Any]:
    """Return a white edge that keeps lines and letters legible on what they cross."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=width, foreground="white")]


def _spread(heights: Sequence[float], apart: float = 6.0) -> list[float]:
    """Move labels apart that would cover each other, keeping their order and below 100."""
    order = sorted(range(len(heights)), key=lambda index: heights[index])
    placed = list(heights)
    for below, above in pairwise(order):
        placed[above] = max(placed[above], placed[below] + apart)
    ceiling = 100.0
    for index in reversed(order):
        placed[index] = min(placed[index], ceiling)
        ceiling = placed[index] - apart
    return placed


def _along_height(evaluation: Evaluation) -> float:
    return 0.9 + 0.34 * (len(evaluation.references[0]) + 2)


def _draw_along(axes: Axes, evaluation: Evaluation) -> None:
    """Draw the first transcript's sentence ends: a row for each reference, for the windows, for the hypothesis."""
    pair, masks = evaluation.pairs[0], evaluation.reference_ends[0]
    spans = windows(general_reference(masks), limit=evaluation.options.window)
    candidate = np.flatnonzero(pair.hypothesis_ends)
    inside = np.asarray([any(first <= place < end for first, end in spans) for place in candidate], dtype=np.bool_)
    shown = min(len(pair), FIRST_WORDS)
    names = [*(f"reference {number}" for number in range(1, len(masks) + 1)), "windows $R_W$", "hypothesis"]
    row_windows, row_candidate = len(masks), len(masks) + 1
    for first, end in spans:
        if first < shown:
            axes.axvspan(first + 0.5, end + 0.5, color="#F3EBD3", linewidth=0, zorder=0)
            axes.barh(row_windows, end - first, left=first + 0.5, height=0.5, color="#E69F00", zorder=2)
    for row, mask in enumerate(masks):
        axes.plot(np.flatnonzero(mask) + 1, np.full(int(mask.sum()), row), "|", color=INK, ms=13, mew=2)
    for chosen, colour, name in ((inside, "#0072B2", "in a window"), (~inside, "#D55E00", "in none")):
        marker = "|" if colour == "#0072B2" else "x"
        places = candidate[chosen] + 1
        size = 13 if marker == "|" else 7
        axes.plot(places, np.full(len(places), row_candidate), marker, color=colour, ms=size, mew=2, ls="", label=name)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0.5, shown + 0.5)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("word" if inside.all() else "word; cross: a sentence end of the hypothesis in no window")
    extent = f"first {shown} of {len(pair):,} words" if shown < len(pair) else f"{shown} words"
    shown_of = ", ".join(filter(None, [pair.source, extent]))
    axes.set_title(f"Sentence ends along the words ({shown_of})", parse_math=False)
