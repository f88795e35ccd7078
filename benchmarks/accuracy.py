"""Micro F1 of the marks on the IWSLT test files, and of case on the cased talks, with 95 % intervals.

    python benchmarks/accuracy.py [--model NAME_OR_DIR]

Marks: test2011 and test2011asr, at every place of the files, over comma, period and question mark; the model
reads joined words, and a place inside a joined word counts as none. Sentence ends: the same files, places with
`. ? ! ;`. Case: the cased talks of tst2011, every class but lower. Argmax, no thresholds. Intervals by blocks
of ten sentences.
"""

from __future__ import annotations

from typing import Any

import interpunct
from interpunct import corpora
from interpunct.metrics.evaluate import Evaluation, evaluate
from report import arguments, report


def main() -> None:
    """Score one model."""
    given = arguments(__doc__).parse_args()
    restorer = interpunct.load(given.model)
    rows: list[dict[str, Any]] = []
    for split in ("test2011", "test2011asr"):
        (reference,) = corpora.read("iwslt", split)
        rows += _rows(split, evaluate(reference, restorer.restore(reference), metrics=["prf", "su_er"]))
    talks = {talk.source: talk for talk in corpora.read("iwslt", "test")}
    restored = dict(zip(talks, restorer.restore_all(talks.values()), strict=True))
    rows += _rows("test", evaluate(talks, restored, metrics=["case"]))
    report("accuracy", rows, given.json)


def _rows(test: str, found: Evaluation) -> list[dict[str, Any]]:
    rows = []
    for row in found.rows:
        if "precision" in row.rates:  # all but the macro average, which has no counts of its own
            f1 = row.rates["f1"]
            half = None if f1.low is None or f1.high is None else 50 * (f1.high - f1.low)
            rates = {name: _percent(row.rates[name].value) for name in ("precision", "recall", "f1")}
            rows.append({"test": test, "metric": row.metric, "label": row.label, **rates, "f1 ±": half, **row.counts})
    return rows


def _percent(rate: float | None) -> float | None:
    return None if rate is None else 100 * rate


if __name__ == "__main__":
    main()
