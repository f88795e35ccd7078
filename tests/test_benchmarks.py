"""The benchmarks' own code on small data: their figures are measured elsewhere, but they must run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import accuracy
import commercial
import metrics as metrics_benchmark
import report
from interpunct.labels import parse_text
from interpunct.metrics.evaluate import evaluate
from interpunct.transcript import Transcript

REFERENCE = Transcript(parse_text("So, how are you? I am fine, thanks. " * 15))
HYPOTHESIS = Transcript(parse_text("So how are you? I am fine. Thanks. " * 15))


def test_accuracy_shows_a_row_for_each_label_with_counts() -> None:
    rows = accuracy._rows("small", evaluate(REFERENCE, HYPOTHESIS, metrics=["prf", "su_er", "case"], draws=20))
    labels = [(row["metric"], row["label"]) for row in rows]
    assert ("prf", "overall") in labels
    assert ("case", "overall") in labels
    assert ("prf", "macro") not in labels


def test_commercial_shows_figures_with_intervals_and_the_comparison() -> None:
    found = evaluate(REFERENCE, HYPOTHESIS, align=True, baseline=REFERENCE, draws=20)
    row = commercial._row("small", "ours", found)
    assert row["WER"] == 0.0
    assert "±" in row["overall F1"]
    assert row["F1 against its own"].startswith("-")
    assert "| small | ours | 0.0 |" in commercial._page([row], found.signature)


def test_metrics_benchmark_makes_what_it_says() -> None:
    spoken = metrics_benchmark.spoken(500)
    assert len(metrics_benchmark.restored(spoken)) == 500
    heard = metrics_benchmark.recognised(spoken)
    assert 0.05 < evaluate(spoken, heard, align=True, metrics=["ser"], draws=5).metrics["wer"] < 0.35


def test_report_writes_a_table_and_json_with_its_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report.report("small", [{"what": "x", "ms": 12.34}, {"what": "y", "ms": None}], tmp_path / "small.json")
    assert "| x | 12.3 |" in capsys.readouterr().out
    written = json.loads((tmp_path / "small.json").read_text())
    assert written["rows"][0] == {"what": "x", "ms": 12.34}
    assert {"date", "commit", "machine"} <= set(written)
