"""Whether a confidence is what it says: of marks given with 0.8, are 80 % right?

    python benchmarks/calibration.py [--model NAME_OR_DIR ...] [--words N] [--plot FILE.png]

The first N words of iwslt:dev and of changelog:dev are restored. A word's confidence is the probability of the
label chosen after it ("" is a label, too); right is the label that the reference teaches the model. Places where
nobody knows the label are left out, and marks that only close a document are not written. 15 bins have equal numbers
of places, except that equal confidences stay together, and that there are fewer bins rather than bins of under 50.
The expected calibration error (ECE) is the bins' mean distance between confidence and share of right ones, weighted
by their places, in percent points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import interpunct
from accuracy import first_words, several_models
from interpunct import corpora
from interpunct.decode import DecodeOptions
from interpunct.labels import to_three
from interpunct.metrics import plot
from interpunct.metrics.classes import CLASSES
from interpunct.models.encoded import taught_mark
from interpunct.restore import Restorer
from interpunct.transcript import Transcript
from report import report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CORPORA = ("iwslt", "changelog")
BINS = 15
FEWEST = 50
"""So many places a bin must have: of fewer, the share of right ones is mostly chance."""
EVERYWHERE, WRITTEN = "every place", "every mark written"

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Bin:
    """Places of like confidence: how many, their mean confidence, and which share is right."""

    places: int
    confidence: float
    right: float


@dataclass(frozen=True)
class Said:
    """Labels that were chosen: how sure each is, and whether it is right."""

    confidences: Floats
    right: npt.NDArray[np.bool_]


def main() -> None:
    """Compare confidences with what is right."""
    parser = several_models(__doc__)
    parser.add_argument("--words", type=int, default=50_000, help="of each corpus (%(default)s)")
    parser.add_argument("--plot", type=Path, help="draw the reliability into a .png, .svg or .pdf")
    given = parser.parse_args()
    if given.plot and given.plot.suffix.lower() not in plot.EXTENSIONS:
        parser.error(f"--plot {given.plot}: use {', '.join(plot.EXTENSIONS)}")
    rows: list[dict[str, Any]] = []
    panels: dict[str, Mapping[str, Said]] = {}
    for model in given.model:
        restorer = interpunct.load(model)
        for corpus in CORPORA:
            said = groups(restorer, first_words(corpora.read(corpus, "dev"), given.words))
            panels[f"{model}, {corpus}:dev"] = said
            rows += [{"model": model, "corpus": f"{corpus}:dev", **row} for row in table(said)]
    report("calibration", rows, given.json)
    if given.plot:
        draw(panels, given.plot)


def groups(restorer: Restorer, references: Sequence[Transcript]) -> dict[str, Said]:
    """Restore documents and return what was said at every place, at marks, and at the marks of each class."""
    names = restorer.model.labels["mark"]
    found: dict[str, tuple[list[float], list[bool]]] = {}
    options = DecodeOptions(close=False)
    for reference, restored in zip(references, restorer.restore_all(references, options), strict=True):
        for expected, word in zip(reference.words, restored.words, strict=True):
            taught = taught_mark(expected, names)
            if taught is None or taught == "…" or word.mark_confidence is None or word.mark is None:
                continue
            marked = (WRITTEN, CLASSES[4][to_three(word.mark)]) if word.mark else ()
            for group in (EVERYWHERE, *marked):
                confidences, right = found.setdefault(group, ([], []))
                confidences.append(word.mark_confidence)
                right.append(word.mark == taught)
    order = (EVERYWHERE, WRITTEN, *CLASSES[4].values())
    return {name: Said(np.array(found[name][0]), np.array(found[name][1])) for name in order if name in found}


def bins(said: Said, count: int = BINS, *, fewest: int = FEWEST) -> list[Bin]:
    """Cut places into bins of equal numbers, by confidence; equal confidences stay together."""
    count = min(count, max(1, len(said.right) // fewest))
    order = np.argsort(said.confidences, kind="stable")
    confidences, right = said.confidences[order], said.right[order]
    wanted = [len(order) * number // count for number in range(1, count + 1)]
    stops = {int(np.searchsorted(confidences, confidences[stop - 1], side="right")) for stop in wanted if stop}
    found, first = [], 0
    for stop in sorted(stops):
        found.append(Bin(stop - first, float(confidences[first:stop].mean()), float(right[first:stop].mean())))
        first = stop
    return found


def calibration_error(said: Said, count: int = BINS, *, fewest: int = FEWEST) -> float | None:
    """Return the expected calibration error, None where nothing was said."""
    found = bins(said, count, fewest=fewest)
    places = sum(each.places for each in found)
    return sum(each.places * abs(each.confidence - each.right) for each in found) / places if places else None


def table(said: Mapping[str, Said]) -> list[dict[str, Any]]:
    """Return a row for each group with its error, then the bins of all places and of all marks."""
    rows: list[dict[str, Any]] = []
    for group, each in said.items():
        error = calibration_error(each)
        mean = Bin(len(each.right), float(each.confidences.mean()), float(each.right.mean()))
        rows.append(_row(group, "all", mean) | {"ECE": None if error is None else 100 * error})
    for group in (EVERYWHERE, WRITTEN):
        if group in said:
            rows += [_row(group, str(number), each) | {"ECE": ""} for number, each in enumerate(bins(said[group]), 1)]
    return rows


def _row(group: str, number: str, each: Bin) -> dict[str, Any]:
    shares = {"confidence": 100 * each.confidence, "right": 100 * each.right}
    return {"of": group, "bin": number, "places": each.places, **shares, "gap": 100 * (each.confidence - each.right)}


def draw(panels: Mapping[str, Mapping[str, Said]], path: Path) -> None:
    """Draw the reliability of each model on each corpus into a file."""
    plot.save_picture(figure(panels), path)


def figure(panels: Mapping[str, Mapping[str, Said]]) -> Figure:
    """Return the matplotlib figure: a panel for each model and corpus, a line for each class of marks."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(plot.STYLE):
        drawn = Figure(figsize=(4.4 * len(panels), 4.6), layout="constrained")
        for axes, (title, said) in zip(np.ravel(drawn.subplots(1, len(panels))), panels.items(), strict=True):
            _draw_panel(axes, title, said)
    return drawn


def _draw_panel(axes: Axes, title: str, said: Mapping[str, Said]) -> None:
    axes.plot([0, 100], [0, 100], color=plot.FAINT, linewidth=1, linestyle=(0, (4, 3)))
    colours = dict(zip(CLASSES[4].values(), plot.COLOURS, strict=True)) | {EVERYWHERE: plot.INK}
    for group, colour in colours.items():
        if group in said:
            points = bins(said[group])
            confidences, right = ([100 * each.confidence for each in points], [100 * each.right for each in points])
            error = calibration_error(said[group]) or 0.0
            label = f"{group}: ECE {100 * error:.1f}"
            axes.plot(confidences, right, color=colour, marker="o", markersize=4, linewidth=1.6, label=label)
    axes.set_xlim(0, 101)
    axes.set_ylim(0, 101)
    axes.set_xticks(range(0, 101, 25))
    axes.set_yticks(range(0, 101, 25))
    axes.set_aspect("equal")
    axes.grid(color=plot.PALE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlabel("confidence, percent; dashed: as it should be")
    axes.set_ylabel("right, percent")
    axes.set_title(title, parse_math=False)
    axes.legend(loc="upper left", frameon=False, fontsize=8.5)


if __name__ == "__main__":
    main()
