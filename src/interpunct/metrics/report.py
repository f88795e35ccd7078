"""An evaluation as text: a table for people, and CSV, Markdown, LaTeX and JSON for what comes after.

In: an `Evaluation`. Out: strings, or a rich renderable. CSV is one rectangle of fractions at full precision,
low and high ends of intervals in columns of their own; the views for people show percent as `67.6 ±1.9` (half
the width of the 95 % interval) and put rows with the same counts into one table. WiSeBE is shown in
fractions, as in the paper's Tables 4 to 6. An undefined rate is n/a; a cell that has no meaning is empty.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from interpunct.metrics import WISEBE, named, wisebe
from interpunct.metrics.evaluate import Evaluation, Row
from interpunct.metrics.pair import WordErrors
from interpunct.metrics.prf import OVERALL
from interpunct.metrics.significance import Comparison, Interval

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, Group, RenderResult

UNDEFINED = "n/a"
TRANSCRIPT = "transcript"


@dataclass(frozen=True)
class Grid:
    """One table of strings for people: a title, a header and rows; the first `names` columns are names."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: int = 2


def percent(found: Interval) -> str:
    """Write a rate in percent with half the width of its interval.

    >>> percent(Interval(0.6764, 0.66, 0.70)), percent(Interval(0.5)), percent(Interval(None))
    ('67.6 ±2.0', '50.0', 'n/a')
    """
    if found.value is None:
        return UNDEFINED
    if found.low is None or found.high is None:
        return f"{100 * found.value:.1f}"
    return f"{100 * found.value:.1f} ±{50 * (found.high - found.low):.1f}"


def grids(evaluation: Evaluation) -> list[Grid]:
    """Return all tables that people see, in order."""
    found = _rate_grids("Rates in percent, ± half the 95 % interval", [*evaluation.rows, *_word_rows(evaluation)])
    every_place = [row for metric, value in _unrestricted(evaluation).items() for row in rows_of(metric, value)]
    found += _rate_grids("Unrestricted: marks scored at every place", every_place)
    if evaluation.comparisons:
        found.append(_comparison_grid(evaluation.comparisons))
    return found + (_wisebe_grids(evaluation) if evaluation.wisebe else [])


def table(evaluation: Evaluation) -> Group:
    """Return what the terminal shows; the signature is the last line, folded where it is long, never cut."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Group
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    shown: list[Any] = []
    for grid in map(_narrower, grids(evaluation)):
        drawn = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
        for column, name in enumerate(grid.header):
            # Where the terminal is narrow, intervals and transcripts' names go on a second line; nothing else does.
            fixed = name != TRANSCRIPT and not any("±" in row[column] for row in grid.rows)
            justify: Literal["left", "right"] = "left" if column < grid.names else "right"
            drawn.add_column(escape(name), justify=justify, overflow="fold", no_wrap=fixed)
        for row in grid.rows:
            drawn.add_row(*map(escape, row))
        shown += [Text(grid.title, style="italic"), drawn] if grid.title else [drawn]
        shown.append("")
    return Group(*shown, _Signature(evaluation.signature))


def _narrower(grid: Grid) -> Grid:
    """Put metric and label into one column; a metric's only label need not be named."""
    if grid.header[:2] != ("metric", "label"):
        return grid
    often = Counter(row[0] for row in grid.rows)
    rows = (
        (row[0] if often[row[0]] == 1 and row[1] == OVERALL else f"{row[0]} {row[1]}", *row[2:]) for row in grid.rows
    )
    return Grid(grid.title, (grid.header[0], *grid.header[2:]), tuple(rows), names=1)


@dataclass(frozen=True)
class _Signature:
    """The signature over as many lines as it needs, broken behind `|`; the lines join back to it."""

    signature: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.segment import Segment

        line = ""
        for part in re.split(r"(?<=\|)", self.signature):
            if line and len(line) + len(part) > options.max_width:
                yield Segment(line + "\n")
                line = ""
            line += part
            while len(line) > options.max_width:
                yield Segment(line[: options.max_width] + "\n")
                line = line[options.max_width :]
        yield Segment(line + "\n")


def csv_view(evaluation: Evaluation) -> str:
    """Write one line per metric and label: fractions at full precision; the signature is a comment at the end."""
    rows = all_rows(evaluation)
    rates, counts = _names(row.rates for row in rows), _names(row.counts for row in rows)
    compared = list(_COMPARED) if evaluation.comparisons else []
    header = ["metric", "label", *(f"{name}{end}" for name in rates for end in ("", "_low", "_high"))]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*header, *compared, *counts])
    for row in rows:
        cells: list[object] = [row.metric, row.label]
        for name in rates:
            found = row.rates.get(name)
            cells += ["", "", ""] if found is None else [_exact(found.value), _end(found.low), _end(found.high)]
        comparison = _comparison_of(evaluation, row)
        cells += [_exact(getattr(comparison, name)) if comparison else "" for name in compared]
        writer.writerow([*cells, *(row.counts.get(name, "") for name in counts)])
    return f"{text.getvalue()}# {evaluation.signature}\n"


def markdown(evaluation: Evaluation) -> str:
    """Write Markdown tables, and the signature below them."""
    blocks = []
    for grid in grids(evaluation):
        rule = ["---" if column < grid.names else "---:" for column in range(len(grid.header))]
        lines = [grid.header, tuple(rule), *grid.rows]
        drawn = "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
        blocks.append(f"**{grid.title}**\n\n{drawn}" if grid.title else drawn)
    return "\n\n".join([*blocks, f"Signature: `{evaluation.signature}`"]) + "\n"


def latex(evaluation: Evaluation) -> str:
    """Write `tabular`s with the rules of booktabs, and the signature as a comment."""
    blocks = []
    for grid in grids(evaluation):
        lines = [" & ".join(map(_escape_latex, line)) + r" \\" for line in (grid.header, *grid.rows)]
        columns = "l" * grid.names + "r" * (len(grid.header) - grid.names)
        rules = [r"\begin{tabular}{" + columns + "}", r"\toprule", lines[0], r"\midrule", *lines[1:]]
        title = [f"% {grid.title}"] if grid.title else []
        blocks.append("\n".join([*title, *rules, r"\bottomrule", r"\end{tabular}"]))
    return "% needs \\usepackage{booktabs}\n" + "\n\n".join(blocks) + f"\n% {evaluation.signature}\n"


def json_view(evaluation: Evaluation) -> str:
    """Write what `evaluate --json` prints."""
    return json.dumps(evaluation.as_json(), ensure_ascii=False, indent=2) + "\n"


VIEWS: dict[str, Callable[[Evaluation], str]] = {
    "csv": csv_view,
    "markdown": markdown,
    "latex": latex,
    "json": json_view,
}


def all_rows(evaluation: Evaluation) -> list[Row]:
    """Return every figure as rows: the metrics', the words', those of every place, and WiSeBE's by transcript."""
    rows = [*evaluation.rows, *_word_rows(evaluation)]
    for metric, value in _unrestricted(evaluation).items():
        rows += rows_of(f"unrestricted {metric}", value)
    for found in _wisebe_table(evaluation) if evaluation.wisebe else ():
        rates = {name: Interval(value) for name, value in found.items() if name != TRANSCRIPT}
        rows.append(Row(WISEBE, found[TRANSCRIPT], rates, {}))
    return rows


def rows_of(metric: str, value: Any, label: str = OVERALL) -> list[Row]:
    """Read rows out of a metric's JSON: whole numbers are counts, the others rates without interval.

    >>> [(row.label, dict(row.counts)) for row in rows_of("prf", {"comma": {"f1": 0.5, "correct": 3}})]
    [('comma', {'correct': 3})]
    """
    if not isinstance(value, Mapping):
        return [Row(metric, label, {metric.split()[-1]: Interval(value)}, {})]
    rows = [row for key, entry in value.items() if isinstance(entry, Mapping) for row in rows_of(metric, entry, key)]
    single = {key: entry for key, entry in value.items() if entry is None or isinstance(entry, int | float)}
    if rows:  # a rate beside classes, such as the slot error rate of capitals, is a row of its own
        return rows + [Row(metric, key, {key: Interval(entry)}, {}) for key, entry in single.items()]
    counts = {key: entry for key, entry in single.items() if isinstance(entry, int)}
    rates = {key: Interval(entry) for key, entry in single.items() if key not in counts}
    return [Row(metric, label, rates, counts)]


_COMPARED = {"delta": "Δ", "p": "p (paired bootstrap)", "p_randomisation": "p (randomisation)"}


def _names(mappings: Iterable[Mapping[str, object]]) -> list[str]:
    """Return the keys of all, each once, in order of appearance."""
    return list(dict.fromkeys(key for mapping in mappings for key in mapping))


def _exact(number: float | None) -> str:
    return UNDEFINED if number is None else repr(float(number))


def _end(number: float | None) -> str:
    """Write the end of an interval; a figure may have none."""
    return "" if number is None else _exact(number)


def _alike(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Put rows whose counts have the same names together."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.counts), []).append(row)
    yield from groups.values()


def _rate_grids(title: str, rows: Sequence[Row]) -> list[Grid]:
    """Return a table for each kind of counts; the first has the title."""
    return [_rate_grid("" if number else title, group) for number, group in enumerate(_alike(rows))]


def _rate_grid(title: str, rows: Sequence[Row]) -> Grid:
    rates, counts = _names(row.rates for row in rows), _names(row.counts for row in rows)
    lines = [
        (
            row.metric,
            row.label,
            *(percent(row.rates[name]) if name in row.rates else "" for name in rates),
            *(str(row.counts.get(name, "")) for name in counts),
        )
        for row in rows
    ]
    return Grid(title, ("metric", "label", *rates, *counts), tuple(lines))


def _word_rows(evaluation: Evaluation) -> list[Row]:
    found = [pair.word_errors for pair in evaluation.pairs if pair.word_errors]
    if not found:
        return []
    words = sum(found, WordErrors())
    return [Row("wer", OVERALL, {"wer": Interval(words.wer)}, words.numbers())]


def _unrestricted(evaluation: Evaluation) -> Mapping[str, Any]:
    found: Mapping[str, Any] = evaluation.metrics.get("unrestricted", {})
    return found


def _comparison_of(evaluation: Evaluation, row: Row) -> Comparison | None:
    """Return the comparison that belongs to a row: it stands at its metric's headline."""
    found = evaluation.comparisons.get(row.metric)
    return found if found and row.label == named(row.metric).headline[0] else None


def _comparison_grid(comparisons: Mapping[str, Comparison]) -> Grid:
    rows = []
    for metric, found in comparisons.items():
        delta = UNDEFINED if found.delta is None else f"{100 * found.delta:+.1f}"
        chances = map(_chance, (found.p, found.p_randomisation))
        rows.append((metric, " ".join(named(metric).headline), delta, *chances))
    return Grid("Against the baseline, in points", ("metric", "figure", *_COMPARED.values()), tuple(rows))


def _chance(p: float | None) -> str:
    """Write a p; no number of draws shows that it is 0."""
    if p is None:
        return UNDEFINED
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _wisebe_table(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return WiSeBE by transcript; the mean is left out where there is one transcript."""
    names = [pair.source or f"{TRANSCRIPT} {number}" for number, pair in enumerate(evaluation.pairs, start=1)]
    rows = wisebe.table(evaluation.wisebe, names)
    return rows if len(evaluation.wisebe) > 1 else rows[:-1]


def _wisebe_grids(evaluation: Evaluation) -> list[Grid]:
    """Lay WiSeBE out as the paper does (Tables 4, 5 and 6), and the schemes that it reviews."""
    rows = _wisebe_table(evaluation)
    references = range(1, len(evaluation.wisebe[0].per_reference) + 1)
    against = {f"reference {number}": f"_{number}" for number in references} | {"mean": "_mean"}
    rates = ("precision", "recall", "f1")
    single = tuple(
        (row[TRANSCRIPT], name, *(_fraction(row[rate + ending]) for rate in rates))
        for row in rows
        for name, ending in against.items()
    )
    windows = {"precision_rw": "P R_W", "recall_rw": "R R_W", "f1_rw": "F1 R_W"}
    score = {"f1_mean": "F1 mean", **windows, "agreement_ratio": "R_GAR", "wisebe": "WiSeBE"}
    correlation = wisebe.agreement_correlation(evaluation.wisebe)
    correlated = "" if correlation is None else f" (Pearson's r {correlation:.3f})"
    agreement = {"agreement_ratio": "R_GAR", "fleiss_kappa": "Fleiss' κ"}
    schemes = {
        "mean_ser": "mean SER",
        "lenient_ser": "lenient SER",
        "lenient_f1": "lenient F1",
        "majority_ser": "majority SER",
        "majority_f1": "majority F1",
    }
    return [
        Grid("WiSeBE: against each reference alone", (TRANSCRIPT, "against", *rates), single),
        _fractions("WiSeBE: against all references", score, rows),
        _fractions(f"WiSeBE: agreement of the references{correlated}", agreement, rows),
        _fractions("WiSeBE: other schemes for several references", schemes, rows),
    ]


def _fractions(title: str, columns: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> Grid:
    lines = ((row[TRANSCRIPT], *(_fraction(row[key]) for key in columns)) for row in rows)
    return Grid(title, (TRANSCRIPT, *columns.values()), tuple(lines), names=1)


def _fraction(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.3f}"


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "Δ": r"$\Delta$", "κ": r"$\kappa$",
    "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip


def _escape_latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)
