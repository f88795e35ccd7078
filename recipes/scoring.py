"""Scores what models predicted: figures, claims and pictures, recipe by recipe.

In: `runs/NAME/seed-N/`. Out: `recipes/results/NAME.json` with every figure of every seed, `claims.json`, pictures, and
`RESULTS.md` from all that has been measured so far.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from figures import MERGED, figures, hypothesis, means
from interpunct.metrics.evaluate import evaluate
from interpunct.metrics.plot import draw
from learning_curve import draw_learning_curves
from recipe import HERE, Recipe, Row, recipes
from results_page import write_results
from testsets import cased_reference, documents
from training import FACTS, PREDICTIONS, is_complete

RESULTS = HERE / "results"
PICTURES = HERE / "pictures"
Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Claim:
    """One row said to be better than another, on some sets, by a metric."""

    title: str
    system: tuple[str, str]
    baseline: tuple[str, str]
    sets: tuple[str, ...]
    metric: str


def score_all(chosen: Iterable[Recipe], runs: Path) -> None:
    """Score recipes, draw them, test the claims whose rows are there, and write the tables."""
    for recipe in chosen:
        score(recipe, runs)
    RESULTS.mkdir(exist_ok=True)
    tested = [found for claim in claims() for found in compare(claim, runs)]
    write_claims(tested, RESULTS / "claims.json")
    write_results(HERE)


def write_claims(tested: list[dict[str, Any]], path: Path) -> None:
    """Write comparisons; those of claims whose models are not here now stay as they were measured."""
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    known = {(each["claim"], each["set"]): each for each in [*before, *tested]}
    order = {(claim.title, name): place for place, (claim, name) in enumerate((c, n) for c in claims() for n in c.sets)}
    kept = sorted((key for key in known if key in order), key=lambda key: order[key])
    path.write_text(json.dumps([known[key] for key in kept], indent=1) + "\n", encoding="utf-8")


def score(recipe: Recipe, runs: Path) -> None:
    """Score every seed of a recipe and write its figures and pictures."""
    folders = {seed: runs / recipe.name / f"seed-{seed}" for seed in recipe.seeds}
    present = {seed: folder for seed, folder in folders.items() if is_complete(recipe, seed, runs)}
    if len(present) < len(folders):
        missing = ", ".join(str(seed) for seed in folders if seed not in present)
        print(f"{recipe.name}: seed {missing} not trained, or by another configuration; not scored")
        return
    arrays = {seed: _arrays(folder) for seed, folder in present.items()}
    rows: dict[str, Any] = {}
    for row in recipe.rows:
        each = {seed: figures(found, recipe, row) for seed, found in arrays.items()}
        first = next(iter(each.values()))
        rows[row.title] = {
            "mean": {name: round(value, 2) for name, value in means(list(each.values())).items()},
            "intervals": {name: [_rounded(low), _rounded(high)] for name, (_, low, high) in first.items()},
            "seeds": {seed: {name: _rounded(found[0]) for name, found in one.items()} for seed, one in each.items()},
            "expected": row.expected,
        }
    facts = {seed: json.loads((folder / FACTS).read_text(encoding="utf-8")) for seed, folder in present.items()}
    result = {
        "recipe": recipe.name, "paper": recipe.paper, "note": recipe.note, "tests": recipe.tests,
        "tasks": recipe.model.tasks, "command": f"python recipes/run.py {recipe.name}", "facts": facts, "rows": rows,
    }  # fmt: skip
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{recipe.name}.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    _draw(recipe, present, arrays)
    print(f"{recipe.name}: scored")


def _draw(recipe: Recipe, folders: Mapping[int, Path], arrays: Mapping[int, Arrays]) -> None:
    PICTURES.mkdir(exist_ok=True)
    seed = next(iter(folders))
    name = "test2011" if recipe.tests == "ted" else "iq2test"
    if "mark" in recipe.model.tasks:
        guess = hypothesis(name, arrays[seed], recipe, recipe.rows[0])
        reference = {document.source: document for document in documents(name)}
        draw(evaluate(reference, guess, metrics=["prf"]), PICTURES / f"{recipe.name}.png")
    logs = {seed: folder / "log.jsonl" for seed, folder in folders.items() if (folder / "log.jsonl").exists()}
    if logs:
        draw_learning_curves(recipe.name, logs, PICTURES / f"{recipe.name}-learning.png")


def claims() -> list[Claim]:
    """Read the claims."""
    tables = tomllib.loads((HERE / "claims.toml").read_text(encoding="utf-8"))["claims"]
    return [Claim(t["title"], tuple(t["system"]), tuple(t["baseline"]), tuple(t["sets"]), t["metric"]) for t in tables]


def compare(claim: Claim, runs: Path) -> list[dict[str, Any]]:
    """Compare the two rows of a claim on each set, seed by seed."""
    known = recipes()
    sides = [(known[name], _row(known[name], title)) for name, title in (claim.system, claim.baseline)]
    seeds = [seed for seed in sides[0][0].seeds if all(is_complete(recipe, seed, runs) for recipe, _ in sides)]
    found = []
    for name in claim.sets if seeds else ():
        compared = []
        for seed in seeds:
            guesses = [
                hypothesis(name, _arrays(runs / recipe.name / f"seed-{seed}"), recipe, row) for recipe, row in sides
            ]
            cased = claim.metric == "case" and name.startswith("test2011")
            reference = {document.source: cased_reference() if cased else document for document in documents(name)}
            aligned = cased and name == "test2011asr"
            compared.append(
                evaluate(
                    reference, guesses[0], metrics=[claim.metric], options=MERGED, baseline=guesses[1], align=aligned
                ).comparisons[claim.metric]
            )
        found.append({
            "claim": claim.title, "set": name, "seeds": seeds,
            "deltas": [round(100 * (each.delta or 0.0), 2) for each in compared],
            "p": [_rounded(each.p, 4) for each in compared],
            "p_randomisation": [_rounded(each.p_randomisation, 4) for each in compared],
        })  # fmt: skip
    return found


def _row(recipe: Recipe, title: str) -> Row:
    (found,) = (row for row in recipe.rows if row.title == title)
    return found


def _arrays(folder: Path) -> dict[str, npt.NDArray[Any]]:
    with np.load(folder / PREDICTIONS) as file:
        return {name: file[name] for name in file.files}


def _rounded(value: float | None, places: int = 2) -> float | None:
    return None if value is None else round(value, places)
