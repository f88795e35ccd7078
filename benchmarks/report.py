"""Prints a benchmark's table and writes it as JSON with the machine, the commit and the date."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import interpunct

RESULTS = Path(__file__).parent / "results"


def arguments(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with what every benchmark takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--model", default="default", help="a bundled model or a folder")
    parser.add_argument("--json", type=Path, help="where to write the figures (benchmarks/results/NAME.json)")
    return parser


def machine() -> dict[str, Any]:
    """Describe where the figures were measured."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    changed = subprocess.run(["git", "status", "--porcelain"], capture_output=True, text=True, check=False)
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit.stdout.strip() + ("+" if changed.stdout.strip() else ""),
        "interpunct": interpunct.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "command": " ".join(["python", *sys.argv]),
    }


def report(name: str, rows: Sequence[Mapping[str, Any]], target: Path | None = None) -> None:
    """Print the rows as a Markdown table and write them to a file."""
    print(markdown(rows))
    target = target or RESULTS / f"{name}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps({**machine(), "rows": list(rows)}, indent=1, ensure_ascii=False) + "\n")


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as a Markdown table of all their columns.

    >>> print(markdown([{"model": "a", "F1": 71.26}, {"model": "b", "MB": 5}]))
    | model | F1 | MB |
    |---|---|---|
    | a | 71.3 | n/a |
    | b | n/a | 5 |
    """
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(_shown(row.get(column)) for column in columns) + " |" for row in rows]
    return "\n".join(lines)


def _shown(value: Any) -> str:
    if value is None:
        return "n/a"
    if isinstance(value, float):
        return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"
    return str(value)
