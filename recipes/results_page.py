"""`RESULTS.md`: every row of the papers' tables, ours beside theirs.

In: `results/*.json`. Out: one page of tables. Nothing is measured here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import paper004_page

PAPERS = {
    "000": "Paper 000: joint punctuation and capitalization with BiRNNs",
    "001": "Paper 001: word vectors with DNN and CNN",
    "002": "Paper 002: self-attention, and the systems it compares with",
}
SYNTAX = "Paper 004: parts of speech and chunks, of lower-case words without punctuation (`syntax.py`)"
WISEBE = "Paper 003: sentence ends against two editions of the talks (WiSeBE)"
EDITIONS = """The paper's transcripts with three references are not to be had. The eight talks exist in two editions by
different hands, the benchmark's and the cased one; both are references here. The paper's S1 is a CNN over a sliding
window (CNN-1 and CNN-2 below), its S2 a BiRNN with attention (T-BRNN).
"""
INTRODUCTION = """# The papers' systems, trained here

Written by `python recipes/run.py all`; do not edit by hand (what was tried is told in `NOTES.md`). All figures are
per cent. *Ref* and *ASR* are `test2011` and `test2011asr`, every place of the files, split tokens, micro F1 over comma,
period and question mark; *restricted* is paper 000's protocol on the recognised words (marks between two words that
were recognised, case on words that were); *dev* is `dev2012` (dev talks for models that write label after label, and
for case). Ours is the mean over the seeds; the interval (95 %, bootstrap over blocks of sentences) is the first seed's.
*Reached*: our mean and half the width of that interval come up to the paper's figure (for SER: down to it). Models
were chosen on dev; `NOTES.md` says of which models that are not in these tables test figures were seen.
"""


def write_results(folder: Path) -> None:
    """Write the page from what has been measured."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((folder / "results").glob("*.json"))]
    measured = [each for each in found if isinstance(each, dict) and "recipe" in each]
    order = {name: place for place, name in enumerate(_order(folder))}
    measured.sort(key=lambda each: order.get(each["recipe"], len(order)))
    parts = [INTRODUCTION]
    for paper, title in PAPERS.items():
        chosen = [each for each in measured if each["paper"] == paper]
        if chosen:
            parts += [f"\n## {title}\n", *_sections(chosen)]
    wisebe = _wisebe([each for each in measured if each["tests"] == "ted" and "mark" in each["tasks"]])
    if wisebe:
        parts += [f"\n## {WISEBE}\n", EDITIONS, wisebe]
    syntax = folder / "results" / "syntax.json"
    if syntax.exists():
        parts += [f"\n## {SYNTAX}\n", _syntax(json.loads(syntax.read_text(encoding="utf-8")))]
    parts += paper004_page.section(folder)
    claims = folder / "results" / "claims.json"
    if claims.exists():
        parts += ["\n## The claims, tested\n", _claims(json.loads(claims.read_text(encoding="utf-8")))]
    parts += ["\n## How each was made\n", _facts(measured), "\n## Pictures\n", _pictures(folder, measured)]
    (folder / "RESULTS.md").write_text("\n".join(parts) + "\n", encoding="utf-8")


def _syntax(found: dict[str, Any]) -> str:
    columns = list(dict.fromkeys(key for row in found["rows"] for key in row))
    return _table(columns, [[row.get(column, "") for column in columns] for row in found["rows"]])


def _order(folder: Path) -> list[str]:
    import tomllib

    tables = [tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("paper*.toml"))]
    return [name for table in tables for name in table["recipes"]]


def _sections(chosen: Sequence[dict[str, Any]]) -> list[str]:
    ted = [each for each in chosen if each["tests"] == "ted"]
    iq2 = [each for each in chosen if each["tests"] == "iq2"]
    parts: list[str] = []
    marked = [each for each in ted if "mark" in each["tasks"]]
    if marked:
        parts += ["### Punctuation, TED\n", _punctuation(marked), "\nBy mark (F1):\n", _by_class(marked, "ref", "Ref")]
        parts += ["\n" + _by_class(marked, "asr", "ASR")]
        if any("ref.f1_2" in row["expected"] for each in marked for row in each["rows"].values()):
            parts += ["\nBy classes (F1):\n", _classes(marked)]
    if any("restricted.f1" in row["expected"] for each in marked for row in each["rows"].values()):
        parts += ["\nRecognised words by the paper's own protocol:\n", _restricted(marked)]
    cased = [each for each in ted if "case" in each["tasks"]]
    if cased:
        parts += ["\n### Capitalization, TED\n", _case(cased, ("ref", "restricted"))]
    if iq2:
        parts += ["\n### Debates (IQ2, 42 debates; the paper had 45)\n"]
        parts += [_debates([each for each in iq2 if "mark" in each["tasks"]])]
        parts += ["\n" + _case([each for each in iq2 if "case" in each["tasks"]], ("iq2",))]
    notes = [f"- {each['recipe']}: {each['note']}." for each in chosen if each["note"]]
    return [*parts, "\n" + "\n".join(notes)] if notes else parts


def _punctuation(chosen: Iterable[dict[str, Any]]) -> str:
    head = [
        "row", "recipe", "dev F1", "Ref F1", "by seed", "95 %", "paper", "Ref SER", "paper",
        "ASR F1", "95 %", "paper", "reached",
    ]  # fmt: skip
    rows = []
    for each, title, row in _rows(chosen):
        mean, paper = row["mean"], row["expected"]
        rows.append([
            title, each["recipe"], _number(mean.get("dev.f1")),
            _number(mean["ref.f1"]), ", ".join(_number(one["ref.f1"]) for one in row["seeds"].values()),
            _interval(row, "ref.f1"), _number(paper.get("ref.f1")),
            _number(mean["ref.ser"]), _number(paper.get("ref.ser")),
            _number(mean["asr.f1"]), _interval(row, "asr.f1"), _number(paper.get("asr.f1")),
            _reached(row, ["ref.f1", "ref.ser", "asr.f1"]),
        ])  # fmt: skip
    return _table(head, rows)


def _by_class(chosen: Iterable[dict[str, Any]], short: str, name: str) -> str:
    marks = ("comma", "period", "question")
    head = [f"row, {name}", *(part for mark in marks for part in (mark, "paper"))]
    rows = []
    for _, title, row in _rows(chosen):
        figures = [(row["mean"].get(f"{short}.{mark}_f1"), row["expected"].get(f"{short}.{mark}_f1")) for mark in marks]
        rows.append([title, *(_number(value) for pair in figures for value in pair)])
    return _table(head, rows)


def _classes(chosen: Iterable[dict[str, Any]]) -> str:
    keys = [f"{short}.f1{suffix}" for short in ("ref", "asr") for suffix in ("", "_3", "_2")]
    names = [f"{short} {classes}" for short in ("Ref", "ASR") for classes in ("4 classes", "3", "2")]
    head = ["row", *(part for name in names for part in (name, "paper"))]
    rows = [
        [title, *(_number(value) for key in keys for value in (row["mean"].get(key), row["expected"].get(key)))]
        for _, title, row in _rows(chosen)
    ]
    return _table(head, rows)


def _restricted(chosen: Iterable[dict[str, Any]]) -> str:
    head = ["row", "F1", "95 %", "paper", "SER", "paper", "reached"]
    rows = [
        [
            title, _number(row["mean"]["restricted.f1"]), _interval(row, "restricted.f1"),
            _number(row["expected"].get("restricted.f1")), _number(row["mean"]["restricted.ser"]),
            _number(row["expected"].get("restricted.ser")), _reached(row, ["restricted.f1", "restricted.ser"]),
        ]
        for _, title, row in _rows(chosen)
    ]  # fmt: skip
    return _table(head, rows)


def _case(chosen: Iterable[dict[str, Any]], shorts: Sequence[str]) -> str:
    head = [
        "row", "set", "F1", "95 %", "paper", "SER", "paper", "upper F1", "paper", "sentence F1", "paper",
        "single F1", "paper", "reached",
    ]  # fmt: skip
    names = {"ref": "Ref", "restricted": "ASR, restricted", "iq2": "IQ2"}
    rows = []
    for _, title, row in _rows(chosen):
        for short in shorts:
            keys = [f"{short}.case_{label}f1" for label in ("upper_", "sentence_", "single_")]
            pairs = [(row["mean"].get(key), row["expected"].get(key)) for key in keys]
            rows.append([
                title, names[short], _number(row["mean"][f"{short}.case_f1"]), _interval(row, f"{short}.case_f1"),
                _number(row["expected"].get(f"{short}.case_f1")), _number(row["mean"][f"{short}.case_ser"]),
                _number(row["expected"].get(f"{short}.case_ser")),
                *(_number(value) for pair in pairs for value in pair),
                _reached(row, [f"{short}.case_f1", f"{short}.case_ser"]),
            ])  # fmt: skip
    return _table(head, rows)


def _debates(chosen: Iterable[dict[str, Any]]) -> str:
    marks = ("comma", "period", "question")
    head = [
        "row",
        "dev F1",
        "F1",
        "95 %",
        "paper",
        "SER",
        "paper",
        *(p for m in marks for p in (m, "paper")),
        "reached",
    ]
    rows = []
    for _, title, row in _rows(chosen):
        pairs = [(row["mean"].get(f"iq2.{mark}_f1"), row["expected"].get(f"iq2.{mark}_f1")) for mark in marks]
        rows.append([
            title, _number(row["mean"].get("dev.f1")), _number(row["mean"]["iq2.f1"]), _interval(row, "iq2.f1"),
            _number(row["expected"].get("iq2.f1")), _number(row["mean"]["iq2.ser"]),
            _number(row["expected"].get("iq2.ser")), *(_number(value) for pair in pairs for value in pair),
            _reached(row, ["iq2.f1", "iq2.ser"]),
        ])  # fmt: skip
    return _table(head, rows)


def _wisebe(chosen: Iterable[dict[str, Any]]) -> str:
    head = ["row", "WiSeBE", "F1 in windows", "agreement ratio", "mean F1 over the references"]
    keys = ("ref.wisebe", "ref.f1_rw", "ref.agreement_ratio", "ref.f1_mean")
    rows = [
        [title, *(_number(row["mean"][key]) for key in keys)]
        for _, title, row in _rows(chosen)
        if "ref.wisebe" in row["mean"]
    ]
    return _table(head, rows) if rows else ""


def _claims(tested: Iterable[dict[str, Any]]) -> str:
    """Show each comparison; it holds where every seed's difference is positive and its p at most 0.05."""
    head = ["claim", "set", "difference by seed (F1)", "p, paired bootstrap", "p, randomisation", "holds"]
    rows = []
    for each in tested:
        better = [delta > 0 and p <= 0.05 for delta, p in zip(each["deltas"], each["p"], strict=True)]
        worse = [delta < 0 and p <= 0.05 for delta, p in zip(each["deltas"], each["p"], strict=True)]
        verdict = (
            "yes" if all(better) else "no, the contrary" if all(worse) else f"{sum(better)} of {len(better)} seeds"
        )
        rows.append([
            each["claim"], each["set"], ", ".join(f"{delta:+.1f}" for delta in each["deltas"]),
            ", ".join(f"{p:.3f}" for p in each["p"]), ", ".join(f"{p:.3f}" for p in each["p_randomisation"]), verdict,
        ])  # fmt: skip
    return _table(head, rows)


def _facts(measured: Iterable[dict[str, Any]]) -> str:
    head = ["recipe", "command", "seeds", "parameters", "training, s", "reading the sets, s", "window chosen on dev",
            "device", "commit", "date"]  # fmt: skip
    rows = []
    for each in measured:
        facts = list(each["facts"].values())
        windows = [_best_window(one["windows"]) for one in facts if one["windows"]]
        rows.append([
            each["recipe"], f"`{each['command']}`", ", ".join(each["facts"]), _millions(facts[0]["parameters"]),
            ", ".join(f"{one['train_seconds']:.0f}" for one in facts),
            ", ".join("–" if one["predict_seconds"] is None else f"{one['predict_seconds']:.0f}" for one in facts),
            ", ".join(windows) or "–", facts[0]["device"], facts[0]["commit"], facts[0]["date"][:10],
        ])  # fmt: skip
    return _table(head, rows)


def _best_window(tried: dict[str, float]) -> str:
    return max(tried, key=lambda words: tried[words])


def _pictures(folder: Path, measured: Iterable[dict[str, Any]]) -> str:
    lines = []
    for each in measured:
        files = {"figures, confusion, precision and recall": "", "learning curves": "-learning"}
        names = {what: f"{each['recipe']}{suffix}.png" for what, suffix in files.items()}
        there = {what: name for what, name in names.items() if (folder / "pictures" / name).exists()}
        links = [f"[{what}](pictures/{name})" for what, name in there.items()]
        if links:
            lines.append(f"- {each['recipe']}: {', '.join(links)}")
    return "\n".join(lines)


def _rows(chosen: Iterable[dict[str, Any]]) -> list[tuple[dict[str, Any], str, dict[str, Any]]]:
    return [(each, title, row) for each in chosen for title, row in each["rows"].items()]


def _reached(row: dict[str, Any], keys: Sequence[str]) -> str:
    known = [key for key in keys if key in row["expected"]]
    if not known:
        return "–"
    verdicts = []
    for key in known:
        low, high = row["intervals"][key]
        half = 0.0 if low is None else (high - low) / 2
        better = (
            row["expected"][key] - row["mean"][key] if key.endswith("ser") else row["mean"][key] - row["expected"][key]
        )
        verdicts.append(better + half >= 0)
    return " / ".join(
        f"{_short(key)} {'yes' if verdict else 'no'}" for key, verdict in zip(known, verdicts, strict=True)
    )


def _short(key: str) -> str:
    """Return what a verdict is about: the set where there are several, and SER where it is that."""
    name, figure = key.split(".")
    shown = {"ref": "Ref", "asr": "ASR"}.get(name, "")
    return f"{shown} {'SER' if figure.endswith('ser') else 'F1'}".strip()


def _millions(count: int | None) -> str:
    return f"{count / 1e6:.1f}M" if count else "–"


def _interval(row: dict[str, Any], key: str) -> str:
    low, high = row["intervals"][key]
    return "n/a" if low is None else f"{low:.1f}–{high:.1f}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])
