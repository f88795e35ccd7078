"""Micro F1 of the marks on the IWSLT test files, and of case on the cased talks.

    python benchmarks/accuracy.py [--model NAME_OR_DIR]

Marks: test2011 and test2011asr, at every place of the files, over comma, period and question mark; the model
reads joined words, and a place inside a joined word counts as none. Case: the cased talks of tst2011, every
class but lower. Argmax, no thresholds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import interpunct
from interpunct import corpora
from interpunct.metrics.case import case_prf
from interpunct.metrics.counts import PrecisionRecall
from interpunct.metrics.prf import mark_prf
from report import arguments, report


def main() -> None:
    """Score one model."""
    given = arguments(__doc__).parse_args()
    restorer = interpunct.load(given.model)
    rows: list[dict[str, Any]] = []
    for split in ("test2011", "test2011asr"):
        (reference,) = corpora.read("iwslt", split)
        rows += _rows(split, mark_prf(reference.marks, restorer.restore(reference).marks))
    cased = PrecisionRecall()
    for talk in corpora.read("iwslt", "test"):
        cased += case_prf(talk.cases, restorer.restore(talk).cases)["overall"]
    rows += _rows("test (case)", {"overall": cased})
    report("accuracy", rows, given.json)


def _rows(test: str, counts: Mapping[str, PrecisionRecall]) -> list[dict[str, Any]]:
    return [
        {
            "test": test,
            "label": label,
            "precision": _percent(count.precision),
            "recall": _percent(count.recall),
            "F1": _percent(count.f1),
            "correct": count.correct,
            "predicted": count.predicted,
            "expected": count.expected,
        }
        for label, count in counts.items()
    ]


def _percent(rate: float | None) -> float | None:
    return None if rate is None else 100 * rate


if __name__ == "__main__":
    main()
