"""Figures of paper 004's systems: SU error rates with intervals, tested claims, and whether the paper's order holds.

In: what systems said (`predictions.npz`) and the documents they read. Out: `results/paper004.json`. Every place between
two words is scored. On recognised words the reference's ends were carried over before (`recognised.py`). What is not
trained here now stays in the file as it was measured.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from boundaries import Spoken
from interpunct.errors import InputError
from interpunct.metrics.evaluate import Evaluation, evaluate
from interpunct.models.scores import Ints
from interpunct.transcript import Transcript
from paper004_bench import FACTS, FOLDER
from paper004_data import Data
from paper004_predictions import LABELS, PREDICTIONS, fits, load_predictions
from paper004_systems import Claim, Paper
from results_page import write_results

METRIC = "su_er"
NAME = "paper004.json"


def write_scores(paper: Paper, setup: str, data: Data, runs: Path, folder: Path) -> None:
    """Score a set-up's systems and write the figures and the page."""
    path = folder / "results" / NAME
    path.parent.mkdir(exist_ok=True)
    result = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"setups": {}}
    before = result["setups"].get(setup, {})
    result["setups"][setup] = scored(paper, setup, data, runs, before)
    result["setups"] = {name: result["setups"][name] for name in paper.setups if name in result["setups"]}
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    write_results(folder)


def scored(paper: Paper, setup: str, data: Data, runs: Path, before: Mapping[str, Any]) -> dict[str, Any]:
    """Return everything measured of a set-up."""
    systems, guesses = dict(before.get("systems", {})), {}
    references = {name: reference_of(documents) for name, documents in data.sets.items()}
    for name, system in paper.systems.items():
        folder = runs / FOLDER / setup / name
        if not (folder / PREDICTIONS).exists():
            continue
        said = load_predictions(folder)
        if not fits(said, data.sets):
            raise InputError("what it said is of other documents; read them again with --stage train", path=str(folder))
        guesses[name] = {each: hypothesis_of(data.sets[each], chosen) for each, (_, chosen) in said.items()}
        systems[name] = {
            "title": system.title, "table": system.table, "paper": system.paper,
            "sets": {
                each: figures(evaluate(references[each], guess, metrics=[METRIC]))
                for each, guess in guesses[name].items()
            },
            "facts": json.loads((folder / FACTS).read_text(encoding="utf-8")),
        }  # fmt: skip
    known = {(each["claim"], each["set"]): each for each in before.get("claims", ())}
    for claim in paper.claims:
        if claim.better in guesses and claim.worse in guesses:
            for each in data.tests:
                known[claim.title, each] = compared(claim, each, references[each], guesses)
    described = paper.setups[setup]
    systems = {name: systems[name] for name in paper.systems if name in systems}
    return {
        "title": described.title, "about": described.about,
        "data": {"train": counts(data.train), **{name: counts(documents) for name, documents in data.sets.items()}},
        "systems": systems,
        "claims": [known[claim.title, each] for claim in paper.claims for each in data.tests
                   if (claim.title, each) in known],
        "order": {each: order(systems, each, "asr" if each.endswith("-asr") else "ref") for each in data.tests},
    }  # fmt: skip


def counts(documents: Sequence[Spoken]) -> dict[str, int]:
    """Return how much there is to read."""
    marks = [mark for each in documents for mark in each.transcript.marks]
    return {"documents": len(documents), "words": len(marks), "ends": marks.count(".")}


def reference_of(documents: Sequence[Spoken]) -> dict[str, Transcript]:
    """Return documents by name."""
    return {each.transcript.source: each.transcript for each in documents}


def hypothesis_of(documents: Sequence[Spoken], chosen: Ints) -> dict[str, Transcript]:
    """Return documents with the sentence ends that a system chose; behind the last word nothing is asked."""
    found: dict[str, Transcript] = {}
    first = 0
    for each in documents:
        labels = chosen[first : first + len(each)].tolist()
        first += len(each)
        words = zip(each.transcript.words, labels, strict=True)
        marked = [replace(word, mark=LABELS["mark"][label]) for word, label in words]
        marked[-1:] = [replace(word, mark="") for word in marked[-1:]]
        found[each.transcript.source] = replace(each.transcript, words=tuple(marked))
    return found


def figures(evaluation: Evaluation) -> dict[str, list[float | None]]:
    """Return each rate in per cent, with its interval."""
    (row,) = evaluation.rows
    return {
        rate: [None if value is None else round(100 * value, 2) for value in (found.value, found.low, found.high)]
        for rate, found in row.rates.items()
    }


def compared(
    claim: Claim, name: str, reference: Mapping[str, Transcript], guesses: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Compare two systems on a set; below zero the one that is said to be better makes fewer errors."""
    better, worse = guesses[claim.better][name], guesses[claim.worse][name]
    found = evaluate(reference, better, metrics=[METRIC], baseline=worse).comparisons[METRIC]
    return {
        "claim": claim.title, "set": name,
        "delta": None if found.delta is None else round(100 * found.delta, 2),
        "p": found.p, "p_randomisation": found.p_randomisation,
    }  # fmt: skip


def order(systems: Mapping[str, Any], name: str, printed: str) -> dict[str, int]:
    """Count the pairs of systems that stand in the paper's order by their SU error rates.

    >>> systems = {"a": {"paper": {"ref": 5.0}, "sets": {"x": {"error": [7.0, None, None]}}},
    ...            "b": {"paper": {"ref": 6.0}, "sets": {"x": {"error": [9.0, None, None]}}}}
    >>> order(systems, "x", "ref")
    {'pairs': 1, 'as in the paper': 1}
    """
    both = [
        (system["paper"][printed], system["sets"][name]["error"][0])
        for system in systems.values()
        if printed in system["paper"] and system["sets"].get(name, {}).get("error", [None])[0] is not None
    ]
    told = [(one, two) for one, two in combinations(both, 2) if one[0] != two[0]]
    return {"pairs": len(told), "as in the paper": sum((a[0] < b[0]) == (a[1] < b[1]) for a, b in told)}
