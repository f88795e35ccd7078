"""Accuracy against speed of several models, in one run: which of them nobody beats at both.

    python benchmarks/curve.py --model NAME_OR_DIR ... [--words N] [--rounds N] [--plot FILE.png] [--page docs/curve.md]

F1: micro, of comma, period and question mark, and of sentence ends, as `accuracy.py --dev` has them: on the cased
talks of iwslt:dev and on dev2012; no test file is opened. Words a second: text in, text out, one text of lower-case
talks, on all cores; each round visits every model once, since the machine's speed changes with its load. Speeds are
medians, a ratio to the first model is the median of the rounds' own. A model is on the front of a set where no other
is as fast and has as good marks, and is better at one of both. `--window` and `--overlap` read each model also in
windows other than its own, as further points.
"""

from __future__ import annotations

import copy
import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import interpunct
import peers
import report
from accuracy import Figure, compare, first_words, megabytes, several_models
from interpunct import corpora
from interpunct.labels import parse_text
from interpunct.metrics import plot
from interpunct.models.folder import Described
from interpunct.models.model import Context
from interpunct.restore import Restorer

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture
    from matplotlib.transforms import Bbox

Floats = npt.NDArray[np.float64]

SETS = {"dev": "Cased talks of iwslt:dev", "dev2012": "iwslt:dev2012"}
"""The splits that are scored, and what the picture calls them."""
METRICS = {"prf": "marks", "su_er": "ends"}
TIMED_WORDS = 20_000

_WIDEST, _NARROWEST = 18.0, 5.0  # points of the picture, in typographic ones
_GAPS = (3.0, 10.0, 20.0)  # between a point and its name
_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1), (1, -1), (-1, 1))  # of a point, for its name


@dataclass(frozen=True)
class Reading:
    """A model as it is loaded, in its own windows or in others."""

    model: str
    restorer: Restorer
    base: str | None = None
    """The name under which the same model stands in its own windows, where these are others."""

    @property
    def context(self) -> Context:
        """The windows it reads in."""
        return self.restorer.model.context


@dataclass(frozen=True)
class Point:
    """Where a model stands: words a second, F1 in percent, and what its folder takes on disk."""

    name: str
    speed: float
    f1: float
    megabytes: float
    base: str | None = None
    """As in `Reading`."""

    @property
    def label(self) -> str:
        """What stands beside it: other windows are tied to their model by a line and need not repeat its name."""
        return f"{self.name}\n{self.megabytes:.1f} MB" if self.base is None else self.name.removeprefix(f"{self.base} ")


def main() -> None:
    """Score every model, then time them round after round."""
    parser = several_models(__doc__)
    parser.add_argument(
        "--words", type=int, help=f"only so many words of each set and of the text (all; {TIMED_WORDS:,})"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="that a model runs in a round (%(default)s)")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--window", type=int, nargs="+", default=[], help="words of other windows to read in")
    parser.add_argument("--overlap", type=int, nargs="+", default=[], help="words that other windows overlap by")
    parser.add_argument("--plot", type=Path, help="draw the curve into a .png, .svg or .pdf")
    parser.add_argument("--page", type=Path, help="write the table as a Markdown page, with the picture that is drawn")
    given = parser.parse_args()
    if given.plot and given.plot.suffix.lower() not in plot.EXTENSIONS:
        parser.error(f"--plot {given.plot}: use {', '.join(plot.EXTENSIONS)}")
    if given.rounds < 1:
        parser.error(f"--rounds {given.rounds}: at least one")
    for target in filter(None, (given.plot, given.page)):
        target.parent.mkdir(parents=True, exist_ok=True)
    try:
        readings = load(given.model, given.window, given.overlap, threads=given.threads)
    except ValueError as error:  # windows that cannot be
        parser.error(str(error))
    scores = score(readings, given.words)
    rows = table(readings, scores, timed(readings, given.words or TIMED_WORDS, given.rounds, seconds=given.seconds))
    report.report("curve", rows, given.json)
    if given.plot:
        plot.save_picture(figure(points(readings, rows)), given.plot)
    if given.page:
        given.page.write_text(page(rows, given.plot and os.path.relpath(given.plot, given.page.parent)), "utf-8")


def load(
    models: Sequence[str], windows: Sequence[int] = (), overlaps: Sequence[int] = (), *, threads: int | None = None
) -> dict[str, Reading]:
    """Load models, each once; return them by a short name, and again for every other context that is asked for."""
    readings = {}
    last_parts = [Path(model).name for model in dict.fromkeys(models)]
    for model, last in zip(dict.fromkeys(models), last_parts, strict=True):
        restorer = interpunct.load(model, threads=threads)
        name = model if last_parts.count(last) > 1 else last
        readings[name] = Reading(model, restorer)
        for context in other_contexts(restorer.model.context, windows, overlaps):
            again = read_in(restorer, context)
            readings[f"{name} {_window(context)}"] = Reading(model, again, name)
    return readings


def other_contexts(own: Context, windows: Sequence[int], overlaps: Sequence[int]) -> list[Context]:
    """Pair windows with overlaps, a model's own where none are given; none for one that has no such windows."""
    if own.words is None or own.restart:
        return []
    asked = [Context(words, overlap) for words in windows or [own.words] for overlap in overlaps or [own.overlap]]
    return [context for context in dict.fromkeys(asked) if context != own]


def read_in(restorer: Restorer, context: Context) -> Restorer:
    """Return a restorer that reads in other windows; the network is shared."""
    again = copy.copy(restorer)
    model = copy.copy(restorer.model)
    if not isinstance(model, Described):
        raise ValueError(f"model {model.name} has no description to change; leave out --window and --overlap")
    model.description = replace(model.description, context=context)
    again.model = model
    return again


def score(readings: Mapping[str, Reading], words: int | None) -> dict[str, dict[str, Figure]]:
    """Return each reading's F1 by "set metric"."""
    found: dict[str, dict[str, Figure]] = {name: {} for name in readings}
    restorers = {name: reading.restorer for name, reading in readings.items()}
    for split in SETS:
        rows = compare(split, first_words(corpora.read("iwslt", split), words), restorers, tuple(METRICS))
        for row in rows:
            if row["label"] == "overall":
                for name in readings:
                    # Precision and recall are in the table of accuracy.py; here they would hide the curve.
                    short = Figure((key, row[name][key]) for key in ("value", "low", "high"))
                    found[name][f"{split} {METRICS[row['metric']]}"] = short
    return found


def timed(readings: Mapping[str, Reading], words: int, rounds: int, *, seconds: float = 0.0) -> list[peers.Job]:
    """Restore the same text with every reading, round after round, a quick one so often that it takes some seconds."""
    text = " ".join(peers.words(None, words))
    count = len(parse_text(text))
    jobs: list[peers.Job] = []
    for name, reading in readings.items():
        began = time.perf_counter()
        repeat(reading.restorer, text, 1)
        times = max(1, round(seconds / (time.perf_counter() - began)))
        run = partial(repeat, reading.restorer, text, times)
        jobs.append(peers.Job(name, "end to end", count * times, run, {}, peer=None if jobs else name))
    peers.visit(jobs, rounds)
    return jobs


def repeat(restorer: Restorer, text: str, times: int) -> None:
    """Restore a text and write it, again and again."""
    for _ in range(times):
        restorer.restore(text).text  # noqa: B018 (the text is written when it is asked for)


def table(
    readings: Mapping[str, Reading], scores: Mapping[str, Mapping[str, Figure]], jobs: Sequence[peers.Job]
) -> list[dict[str, Any]]:
    """Return a row for each reading, with the sets on whose front it is."""
    rows = []
    for (name, reading), job in zip(readings.items(), peers.rows(jobs), strict=True):
        speeds = {key: value for key, value in job.items() if key not in ("system", "what")}
        described = {"model": reading.model, "name": reading.restorer.model.name, "window": _window(reading.context)}
        rows.append({**described, "MB": megabytes(reading.model), **speeds, **scores[name], "front": ""})
    for split in SETS:
        for place in front([(row["words/s"], row[f"{split} marks"]["value"]) for row in rows]):
            rows[place]["front"] += f", {split}" if rows[place]["front"] else split
    return rows


def _window(context: Context) -> str:
    if context.words is None:
        return "all"
    return f"{context.words}/{'sentence' if context.restart else context.overlap}"


def front(points: Sequence[tuple[float, float | None]]) -> list[int]:
    """Return which points (speed, F1) no other beats, from the fastest to the slowest; one without F1 is beaten.

    >>> front([(10, 80.0), (5, 70.0), (20, 75.0)])
    [2, 0]
    """
    standing = [(-speed, -f1, place) for place, (speed, f1) in enumerate(points) if f1 is not None]
    kept: list[tuple[float, float, int]] = []
    for point in sorted(standing):
        # All before it are as fast: it must be better than the best of them, or the same as that one.
        if not kept or point[1] < kept[-1][1] or point[:2] == kept[-1][:2]:
            kept.append(point)
    return [place for _, _, place in kept]


def points(readings: Mapping[str, Reading], rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Point]]:
    """Return what is drawn for each set."""
    return {
        split: [
            Point(name, row["words/s"], row[f"{split} marks"]["value"], row["MB"], reading.base)
            for (name, reading), row in zip(readings.items(), rows, strict=True)
            if row[f"{split} marks"]["value"] is not None
        ]
        for split in SETS
    }


def page(rows: Sequence[Mapping[str, Any]], picture: str | None) -> str:
    """Return the table as a Markdown page."""
    made = report.machine()
    shown = f"![F1 of the marks against words a second]({Path(picture).as_posix()})\n\n" if picture else ""
    return f"""# Accuracy against speed

{shown}F1 in percent, ± half of the 95 % interval: "marks" is the micro average over comma, period and question mark,
"ends" are places with `. ? ! ;`. "dev" are the cased talks of iwslt:dev, "dev2012" is the tagged file of that name; no
test set was opened. Words a second are from text to text, medians of rounds that visit every model in turn
({made["machine"]}); the column with x is the ratio to the first model, the median of the rounds' own ratios. "window"
is how many words a model reads at once and by how many two windows overlap. "front" names the sets on which no other
row is as fast and has as good marks, and is better at one of both.

{report.markdown(rows)}

Made by `{made["command"]}` ({made["date"][:10]}, commit {made["commit"]}).
"""


def figure(panels: Mapping[str, Sequence[Point]]) -> Picture:
    """Return the matplotlib figure: a panel for each set, a named point for each model, a line along the front."""
    import matplotlib
    from matplotlib.figure import Figure as Picture

    with matplotlib.rc_context(plot.STYLE):
        drawn = Picture(figsize=(5.6 * len(panels), 4.8), layout="constrained")
        each = drawn.subplots(1, len(panels), squeeze=False)[0]
        for axes, (split, found) in zip(each, panels.items(), strict=True):
            _draw_panel(axes, SETS[split], found)
        drawn.draw_without_rendering()  # names are placed by where things stand on the page
        for axes, found in zip(each, panels.values(), strict=True):
            _name_points(axes, found)
    return drawn


def _draw_panel(axes: Axes, title: str, found: Sequence[Point]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    best = front([(point.speed, point.f1) for point in found])
    along = [found[place] for place in best]
    axes.plot([p.speed for p in along], [p.f1 for p in along], color=plot.COLOURS[1], linewidth=1.6, zorder=2)
    bases = {point.name: point for point in found}
    for place, point in enumerate(found):
        colour = plot.COLOURS[1] if place in best else plot.FAINT
        fill, edge = (colour, "white") if point.base is None else ("white", colour)
        area = (2 * _radius(point, found)) ** 2
        axes.scatter(point.speed, point.f1, s=area, color=fill, edgecolor=edge, linewidth=1.2, zorder=3)
        if point.base in bases:
            base = bases[point.base]
            axes.plot([base.speed, point.speed], [base.f1, point.f1], color=plot.FAINT, linewidth=0.6, zorder=1)
    axes.set_xscale("log")
    axes.margins(x=0.18, y=0.2)
    low, high = axes.get_xlim()
    ticks = range(1, 10) if high < 3 * low else (1, 2, 5) if high < 300 * low else (1,)
    axes.xaxis.set_major_locator(LogLocator(subs=ticks))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(color=plot.PALE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlabel("words a second, text to text; line: the front; area: MB on disk")
    axes.set_ylabel("F1 of the marks, percent")
    axes.set_title(title, parse_math=False)


def _radius(point: Point, found: Sequence[Point]) -> float:
    """Return half of a point's width in the picture: the area goes with the megabytes, but for other windows."""
    if point.base is not None:
        return _NARROWEST / 2
    largest = max(each.megabytes for each in found)
    return max(_WIDEST * math.sqrt(point.megabytes / largest), _NARROWEST) / 2


def _name_points(axes: Axes, found: Sequence[Point]) -> None:
    """Write each point's name on the side of it where it covers least of names, points and the front."""
    from matplotlib.patheffects import withStroke
    from matplotlib.transforms import Bbox

    pixels = axes.figure.dpi / 72
    centres = [axes.transData.transform((point.speed, point.f1)) for point in found]
    radii = [pixels * _radius(point, found) for point in found]
    taken = [Bbox([centre - radius, centre + radius]) for centre, radius in zip(centres, radii, strict=True)]
    best = front([(point.speed, point.f1) for point in found])
    along = [spot for one, other in pairwise(best) for spot in np.linspace(centres[one], centres[other], 60)]
    room = axes.get_window_extent()

    def cost(box: Bbox) -> float:
        outside = box.width * box.height - _shared(box, room)
        return sum(_shared(box, other) for other in taken) + 50 * box.count_contains(along) + 10 * outside

    for place in [*best, *(place for place in range(len(found)) if place not in best)]:
        point, centre = found[place], centres[place]
        written = axes.annotate(
            point.label, (point.speed, point.f1), xytext=(0.0, 0.0), textcoords="offset points", va="bottom", ha="left",
            fontsize=8.5 if point.base is None else 7, color=plot.INK if place in best else plot.FAINT, zorder=4,
            parse_math=False, path_effects=[withStroke(linewidth=2, foreground="white")], in_layout=False,
        )  # fmt: skip
        size = np.array(written.get_window_extent().size)
        corners = [_corner(centre, size, side, radii[place] + gap * pixels) for gap, side in product(_GAPS, _SIDES)]
        chosen = min(corners, key=lambda corner: cost(Bbox([corner, corner + size])))
        written.set_position((chosen - centre) / pixels)
        written.set_multialignment("right" if chosen[0] + size[0] < centre[0] else "left")
        taken.append(Bbox([chosen, chosen + size]))


def _corner(centre: Floats, size: Floats, side: tuple[int, int], distance: float) -> Floats:
    """Return the lower left corner of a box of a size on one side of a centre."""
    towards: Floats = np.array(side, dtype=np.float64)
    away: Floats = towards * (distance / math.hypot(*side))
    return centre + away + (towards - 1) / 2 * size


def _shared(one: Bbox, other: Bbox) -> float:
    """Return how much of two boxes is the same, in square pixels."""
    from matplotlib.transforms import Bbox

    both = Bbox.intersection(one, other)
    return 0.0 if both is None else float(both.width * both.height)


if __name__ == "__main__":
    main()
