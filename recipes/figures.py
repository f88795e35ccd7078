"""Predictions to figures: every number of the papers' tables, with its interval.

In: what a model labelled, set by set. Out: figures by name, per cent: `ref.f1`, `asr.ser`, `ref.case_f1`, ...
`ref` and `asr` are test2011 and test2011asr at every place of the files; `restricted` is paper 000's protocol: the
reference's tags aligned to the recognised words, marks scored between two words that were recognised, case on words
that were. `iq2` are the held-out debates, `dev` the development set. Suffixes _3 and _2 are the merged classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from interpunct.cases import CASES
from interpunct.metrics import MetricOptions
from interpunct.metrics.evaluate import Evaluation, evaluate
from interpunct.metrics.wisebe import Wisebe, value
from interpunct.transcript import Transcript
from recipe import Recipe, Row
from testsets import cased_reference, documents, second_reference

Arrays = Mapping[str, npt.NDArray[Any]]
Figures = dict[str, tuple[float | None, float | None, float | None]]
"""Value, low and high end of its interval."""
MERGED = MetricOptions(merge_mixed=True)
SETS = {"dev2012": "dev", "dev": "dev", "test2011": "ref", "test2011asr": "asr", "iq2dev": "dev", "iq2test": "iq2"}


def figures(arrays: Arrays, recipe: Recipe, row: Row) -> Figures:
    """Return every figure of one row."""
    found: Figures = {}
    for name, short in SETS.items():
        for task in ("mark", "case"):
            if f"{name}/{task}/{row.title}" in arrays and not (task == "case" and name.startswith("test2011")):
                found |= _of_set(name, short, task, arrays, recipe, row)
    if f"test2011/mark/{row.title}" in arrays:
        found |= _wisebe(hypothesis("test2011", arrays, recipe, row))
    if f"test2011/case/{row.title}" in arrays:
        guess = hypothesis("test2011", arrays, recipe, row)
        reference = {document.source: cased_reference() for document in guess.values()}
        found |= named_rates(evaluate(reference, guess, metrics=["case"], options=MERGED), "ref")
    if f"test2011asr/mark/{row.title}" in arrays or f"test2011asr/case/{row.title}" in arrays:
        found |= named_rates(restricted(arrays, recipe, row), "restricted")
    return found


def _of_set(name: str, short: str, task: str, arrays: Arrays, recipe: Recipe, row: Row) -> Figures:
    reference = {document.source: document for document in documents(name)}
    guess = hypothesis(name, arrays, recipe, row)
    if task == "case":
        return named_rates(evaluate(reference, guess, metrics=["case"], options=MERGED), short)
    if name == "dev" and f"dev2012/mark/{row.title}" in arrays:
        return {}  # marks are scored on the papers' own dev set where the model has read it
    found = named_rates(evaluate(reference, guess, metrics=["prf", "ser"]), short)
    if short != "dev":
        for classes in (3, 2):
            options = MetricOptions(classes=classes)
            merged = evaluate(reference, guess, metrics=["prf"], options=options)
            found |= {f"{key}_{classes}": value for key, value in named_rates(merged, short).items()}
    return found


def _wisebe(guess: Mapping[str, Transcript]) -> Figures:
    """Score sentence ends against both editions of the talks (paper 003)."""
    ((source, written),) = guess.items()
    references = [{source: documents("test2011")[0]}, {source: second_reference()}]
    (found,) = evaluate(references, {source: written}, metrics=["wisebe"]).wisebe
    return {f"ref.{name}": (100 * value, None, None) for name, value in _wisebe_rates(found).items()}


def _wisebe_rates(found: Wisebe) -> dict[str, float]:
    shown = value(found)
    return {name: shown[name] for name in ("wisebe", "f1_rw", "agreement_ratio", "f1_mean")}


def restricted(arrays: Arrays, recipe: Recipe, row: Row) -> Evaluation:
    """Score the recognised words by paper 000's protocol."""
    guess = hypothesis("test2011asr", arrays, recipe, row)
    reference = {source: cased_reference() for source in guess}
    tasks = {"mark": ["prf", "ser"], "case": ["case"]}
    metrics = [metric for task in recipe.model.tasks for metric in tasks.get(task, [])]
    return evaluate(reference, guess, metrics=metrics, options=MERGED, align=True)


def hypothesis(name: str, arrays: Arrays, recipe: Recipe, row: Row) -> dict[str, Transcript]:
    """Return the documents of a set with what a model wrote."""
    marks, cases = (arrays.get(f"{name}/{task}/{row.title}") for task in ("mark", "case"))
    chances = arrays.get(f"{name}/chances/{row.beam}")
    found: dict[str, Transcript] = {}
    place = 0
    for document in documents(name):
        words = []
        for word in document.words:
            mark = None if marks is None else recipe.model.marks[int(marks[place])]
            confidence = None
            if chances is not None and marks is not None:
                confidence = float(chances[place, int(marks[place])])
            case = None if cases is None else CASES[int(cases[place])]
            words.append(replace(word, mark=mark, case=case, mark_confidence=confidence))
            place += 1
        found[document.source] = Transcript(tuple(words), document.source, recipe.name)
    return found


def named_rates(evaluation: Evaluation, prefix: str) -> Figures:
    """Return an evaluation's rates in per cent, by short names."""
    found: Figures = {}
    for row in evaluation.rows:
        label = "" if row.label == "overall" else f"{row.label}_"
        if row.metric == "case":
            label = "case_" if row.label in ("overall", "ser") else f"case_{row.label}_"
        if row.label == "macro":
            continue
        for rate, interval in row.rates.items():
            values = (interval.value, interval.low, interval.high)
            found[f"{prefix}.{label}{rate}"] = tuple(None if v is None else 100 * v for v in values)  # type: ignore[assignment]
    return found


def means(seeds: Sequence[Figures]) -> dict[str, float]:
    """Return each figure's mean over the seeds."""
    found: dict[str, float] = {}
    for name in seeds[0]:
        values = [each[name][0] for each in seeds]
        if all(value is not None for value in values):
            found[name] = float(np.mean([value for value in values if value is not None]))
    return found
