"""Micro F1 of the marks on the IWSLT files, and of case on the cased talks: models side by side, with 95 % intervals.

    python benchmarks/accuracy.py [--model NAME_OR_DIR ...] [--dev] [--words N]

Marks: test2011 and test2011asr, at every place of the files, over comma, period and question mark; the model
reads joined words, and a place inside a joined word counts as none. Sentence ends: the same files, places with
`. ? ! ;`. Case: the cased talks of tst2011, every class but lower. Argmax, no thresholds. Intervals by blocks of
ten sentences, by talk where there are ten or more. `--dev` scores dev2012 and the cased talks of dev instead,
these also for marks, and opens no test file. A cell is F1 ± half of its interval (precision / recall). From the
second model on, overall figures have beside them the difference from the first model's, and p by paired bootstrap.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import interpunct
from interpunct import corpora
from interpunct.metrics.evaluate import Evaluation, evaluate
from interpunct.metrics.significance import Comparison, Interval
from interpunct.restore import Restored, Restorer, find_model
from interpunct.transcript import Transcript
from report import arguments, report

TESTS = {"test2011": ("prf", "su_er"), "test2011asr": ("prf", "su_er"), "test": ("case",)}
DEV_TESTS = {"dev2012": ("prf", "su_er"), "dev": ("prf", "su_er", "case")}
"""Splits of iwslt, and what is scored on each."""


class Figure(dict[str, Any]):
    """A rate in percent with its interval: short in a table, whole in the JSON."""

    def __str__(self) -> str:
        if self["value"] is None:
            return "n/a"
        shown = f"{self['value']:.1f}"
        if self["low"] is not None:
            shown += f" ±{(self['high'] - self['low']) / 2:.1f}"
        if self.get("precision") is not None and self.get("recall") is not None:
            shown += f" ({self['precision']:.1f} / {self['recall']:.1f})"
        return shown


def main() -> None:
    """Score every model on every test."""
    parser = several_models(__doc__)
    parser.add_argument("--dev", action="store_true", help="score the dev sets, and nothing of the test sets")
    parser.add_argument("--words", type=int, help="only the first so many words of each set")
    given = parser.parse_args()
    restorers = {model: interpunct.load(model) for model in given.model}
    rows = describe(restorers)
    for split, metrics in (DEV_TESTS if given.dev else TESTS).items():
        rows += compare(split, first_words(corpora.read("iwslt", split), given.words), restorers, metrics)
    report("accuracy-dev" if given.dev else "accuracy", rows, given.json)


def several_models(description: str | None, default: Sequence[str] = ("default",)) -> argparse.ArgumentParser:
    """Return a benchmark's parser that takes several models."""
    one = arguments(description)
    parser = argparse.ArgumentParser(description=description, parents=[one], conflict_handler="resolve")
    parser.add_argument("--model", nargs="+", default=list(default), help="bundled models or folders")
    return parser


def describe(restorers: Mapping[str, Restorer]) -> list[dict[str, Any]]:
    """Say which models these are and what their folders take on disk."""
    names = {given: restorer.model.name for given, restorer in restorers.items()}
    sizes = {given: megabytes(given) for given in restorers}
    return [{"test": "", "metric": "model", "label": "", **names}, {"test": "", "metric": "MB", "label": "", **sizes}]


def megabytes(model: str) -> float:
    """Return what a model's folder takes on disk."""
    return sum(path.stat().st_size for path in find_model(model).rglob("*") if path.is_file()) / 1e6


def first_words(documents: Iterable[Transcript], count: int | None) -> list[Transcript]:
    """Return the documents up to a word, the last one cut there; all of them where there is no limit."""
    chosen: list[Transcript] = []
    for document in documents:
        left = len(document) if count is None else count - sum(map(len, chosen))
        if left <= 0:
            break
        chosen.append(Transcript(document.words[:left], document.source))
    return chosen


def compare(
    test: str, references: Sequence[Transcript], restorers: Mapping[str, Restorer], metrics: Sequence[str]
) -> list[dict[str, Any]]:
    """Score models on the same documents: a row for each metric and label, a column for each model."""
    expected = {reference.source: reference for reference in references}
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    first: dict[str, Restored] | None = None
    for given, restorer in restorers.items():
        restored = dict(zip(expected, restorer.restore_all(references), strict=True))
        found = evaluate(expected, restored, metrics=metrics, baseline=first)
        first = first or restored
        for row in _rows(test, found):
            merged = rows.setdefault((row["metric"], row["label"]), {k: row[k] for k in ("test", "metric", "label")})
            merged[given] = row["figure"]
            # The headline of sentence ends is an error rate, which this table does not show.
            headline = row["label"] == "overall" and row["metric"] != "su_er"
            if found.comparisons:
                compared = found.comparisons[row["metric"]] if headline else None
                merged[f"{given} - {next(iter(restorers))}"] = difference(compared)
    return list(rows.values())


def difference(compared: Comparison | None) -> str:
    """Show a difference in percent points with its p."""
    if compared is None or compared.delta is None:
        return ""
    return f"{100 * compared.delta:+.1f}" + ("" if compared.p is None else f" (p {compared.p:.3f})")


def _rows(test: str, found: Evaluation) -> list[dict[str, Any]]:
    rows = []
    for row in found.rows:
        if "precision" in row.rates:  # all but the macro average, which has no counts of its own
            rates = {name: _percent(row.rates[name].value) for name in ("precision", "recall")}
            figure = Figure(percent(row.rates["f1"]), **rates, **row.counts)
            rows.append({"test": test, "metric": row.metric, "label": row.label, "figure": figure})
    return rows


def percent(found: Interval) -> Figure:
    """Return a rate and its interval in percent."""
    return Figure(value=_percent(found.value), low=_percent(found.low), high=_percent(found.high))


def _percent(rate: float | None) -> float | None:
    return None if rate is None else 100 * rate


if __name__ == "__main__":
    main()
