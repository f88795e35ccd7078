"""Paper 004's part of `RESULTS.md`.

In: `results/paper004.json` and the recipe that it was made by. Out: tables, ours beside the paper's. Nothing is
measured here.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

TITLE = "Paper 004: sentence boundaries from words and prosody (`paper004.py`)"
ABOUT = """The paper's broadcast news (RT-03F and RT-04F, sold by the LDC) cannot be had, so its figures and ours are of
different speech and different recognisers, and are not to be compared one by one; what can be asked is whether the
order of its systems holds. All figures are SU error rates (missed and inserted ends over the reference's, per cent;
lower is better) at every place between two words, with 95 % intervals; no interval means that there is too little to
tell. Columns ending in *-asr* are recognised words, to which the reference's ends were carried by alignment. Every
system was trained once, on the reference's words.
"""
TABLES = {1: "words (the paper's table 1, and its SVM, of which it prints no figure)", 2: "prosody", 3: "both"}
SIGNIFICANT = 0.05
RECIPE = Path(__file__).parent / "paper004.toml"


def section(folder: Path) -> list[str]:
    """Return the lines of the section; none where nothing has been measured."""
    path = folder / "results" / "paper004.json"
    if not path.exists():
        return []
    setups = json.loads(path.read_text(encoding="utf-8"))["setups"]
    recipe = tomllib.loads(RECIPE.read_text(encoding="utf-8"))
    limits = {name: system["train_words"] for name, system in recipe["systems"].items() if "train_words" in system}
    parts = [f"\n## {TITLE}\n", ABOUT]
    for setup in setups.values():
        parts += _setup(setup, limits)
    pictures = {
        "paper004-importance.png": "what each family of prosodic features is worth",
        "paper004-tsne.png": "t-SNE of the three kinds of word vectors",
    }
    links = [f"[{what}](pictures/{name})" for name, what in pictures.items() if (folder / "pictures" / name).exists()]
    return [*parts, f"\nPictures: {', '.join(links)}."] if links else parts


def _setup(setup: Mapping[str, Any], limits: Mapping[str, int]) -> list[str]:
    tests = [name for name in setup["data"] if name not in ("train", "dev")]
    parts = [f"\n### {setup['title']}\n", f"{setup['about']}.\n", _data(setup["data"])]
    for number, title in TABLES.items():
        rows = {name: row for name, row in setup["systems"].items() if row["table"] == number}
        if rows:
            parts += [f"\nTable {number}, {title}:\n", _systems(rows, tests)]
    parts += ["\nPrecision / recall / F1:\n", _rates(setup["systems"], tests)]
    if setup["claims"]:
        parts += ["\nWhat the paper says of its systems (difference in SU error rate; negative: as it says):\n"]
        parts += [_claims(setup["claims"], tests), "\n" + _order(setup["order"])]
    words = setup["data"]["train"]["words"]
    systems = setup["systems"]
    less = [systems[name]["title"] for name, most in limits.items() if most < words and name in systems]
    if less:
        parts += [f"\nLearned from less text than the others, which counts against them above: {', '.join(less)}."]
    learned = {name: min(words, limits.get(name, words)) for name in systems}
    parts += ["\nHow each was made:\n", _facts(systems, learned)]
    return parts


def _data(data: Mapping[str, Mapping[str, int]]) -> str:
    rows = []
    for name, each in data.items():
        share = f"{100 * each['ends'] / each['words']:.1f}" if each["words"] else "–"
        rows.append([name, str(each["documents"]), str(each["words"]), str(each["ends"]), share])
    return _table(["set", "documents", "words", "ends", "% of the places"], rows)


def _systems(rows: Mapping[str, Any], tests: Sequence[str]) -> str:
    head = ["row", "system", "dev", *(part for name in tests for part in (name, "95 %")), "paper REF", "paper ASR"]
    shown = []
    for name, row in rows.items():
        figures = [row["sets"].get(test, {}).get("error", [None] * 3) for test in tests]
        cells = [cell for value, low, high in figures for cell in (_number(value), _interval(low, high))]
        dev = row["sets"].get("dev", {}).get("error", [None])[0]
        paper = [_number(row["paper"].get(key)) for key in ("ref", "asr")]
        shown.append([row["title"], name, _number(dev), *cells, *paper])
    return _table(head, shown)


def _rates(systems: Mapping[str, Any], tests: Sequence[str]) -> str:
    rows = []
    for row in systems.values():
        found = [row["sets"].get(test, {}) for test in tests]
        cells = [[_number(each.get(rate, [None])[0]) for rate in ("precision", "recall", "f1")] for each in found]
        rows.append([row["title"], *map(" / ".join, cells)])
    return _table(["row", *tests], rows)


def _claims(claims: Iterable[Mapping[str, Any]], tests: Sequence[str]) -> str:
    by_title: dict[str, dict[str, Mapping[str, Any]]] = {}
    for each in claims:
        by_title.setdefault(each["claim"], {})[each["set"]] = each
    rows = [[title, *(_verdict(found.get(test)) for test in tests)] for title, found in by_title.items()]
    return _table(["claim", *(f"{test} (p bootstrap, p randomisation)" for test in tests)], rows)


def _verdict(found: Mapping[str, Any] | None) -> str:
    """Show a difference, and whether it is one: both tests must say so."""
    if found is None or found["delta"] is None:
        return "–"
    if found["p"] is None or found["p_randomisation"] is None:
        return f"{found['delta']:+.1f} (n/a)"
    told = max(found["p"], found["p_randomisation"]) <= SIGNIFICANT
    verdict = ("holds" if found["delta"] < 0 else "the contrary holds") if told else "open"
    return f"{found['delta']:+.1f} ({found['p']:.3f}, {found['p_randomisation']:.3f}): {verdict}"


def _order(orders: Mapping[str, Mapping[str, int]]) -> str:
    told = [
        f"{name} {each['as in the paper']} of {each['pairs']} ({100 * each['as in the paper'] / each['pairs']:.0f} %)"
        for name, each in orders.items()
        if each["pairs"]
    ]
    return f"Pairs of systems that stand in the paper's order (half of them would by chance): {', '.join(told)}."


def _facts(systems: Mapping[str, Any], words: Mapping[str, int]) -> str:
    rows = []
    for name, row in systems.items():
        facts = row["facts"]
        count = facts["parameters"]
        rows.append([
            name, str(words[name]), "–" if count is None else f"{count / 1e6:.2f}M", f"{facts['train_seconds']:.0f}",
            f"{facts['predict_seconds']:.0f}", facts["device"], facts["commit"], facts["date"][:10],
        ])  # fmt: skip
    return _table(["system", "words", "parameters", "training, s", "reading, s", "device", "commit", "date"], rows)


def _interval(low: float | None, high: float | None) -> str:
    return "n/a" if low is None or high is None else f"{low:.1f}–{high:.1f}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])
