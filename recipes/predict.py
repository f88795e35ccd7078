"""A trained model's labels on the test sets, as small arrays that can travel.

In: a model and the sets it is to read. Out: for each set, task and row of the recipe the label of every word; for the
test sets also the marks' probabilities, from which precision and recall are drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from interpunct.decode.decoder import scaled
from interpunct.decode.reading import score_tokens
from interpunct.metrics.prf import OVERALL, mark_prf
from interpunct.models import Context, Model, Scores, Writer
from interpunct.transcript import Transcript
from recipe import Recipe, Row
from testsets import SETS, TESTS, documents

Arrays = dict[str, npt.NDArray[Any]]
_PART = 1000
"""Words of a dev talk that a restarting model reads at a time: many parts side by side take the time of one."""
_LONGEST = 60_000
"""Words of dev2012 that are read in one go: its 300,000 are more than a GPU's recurrent layers take in one shot."""


def predict(model: Model, recipe: Recipe, *, batch: int = 128) -> Arrays:
    """Read the recipe's sets."""
    arrays: Arrays = {}
    chosen = [name for name in SETS[recipe.tests] if _is_read(name, model)]
    for beam in sorted({row.beam for row in recipe.rows}):
        rows = [row for row in recipe.rows if row.beam == beam]
        # Both test files side by side: a model that goes step by step takes no longer for two.
        for group in (tests_of(chosen), *([name] for name in chosen if name not in TESTS)):
            texts = [(name, part) for name in group for part in _parts(name, model)]
            found = list(score_tokens(model, [tokens for _, tokens in texts], batch=batch, beam=beam))
            for name in group:
                scores = [each for each, (owner, _) in zip(found, texts, strict=True) if owner == name]
                arrays |= _arrays(name, scores, model, rows)
    return arrays


def tests_of(names: Iterable[str]) -> list[str]:
    """Return which of some sets are tests."""
    return [name for name in names if name in TESTS]


def choose_window(model: Any, recipe: Recipe, *, batch: int = 512) -> dict[int, float]:
    """Give the model the window that does best on the dev talks, and return the F1 of each that was tried."""
    dev = "dev" if recipe.tests == "ted" else "iq2dev"
    right = [mark for document in documents(dev) for mark in document.marks]
    parts = [part for document in documents(dev) for part in _cut(_texts(document))]
    tried: dict[int, float] = {}
    for words in recipe.windows:
        model.description = replace(model.description, context=Context(words, restart=True))
        labels = [scores.chosen("mark") for scores in score_tokens(model, parts, batch=batch)]
        guess = [model.labels["mark"][label] for label in np.concatenate(labels).tolist()]
        tried[words] = mark_prf(right, guess)[OVERALL].f1 or 0.0
    best = max(tried, key=lambda words: tried[words])
    model.description = replace(model.description, context=Context(best, restart=True))
    return tried


def _is_read(name: str, model: Model) -> bool:
    """Say whether a model reads a set: dev2012 has no cases, and step by step it would take an hour."""
    if name == "dev2012":
        return "mark" in model.labels and not isinstance(model, Writer)
    return name != "dev" or "case" in model.labels or isinstance(model, Writer)


def _texts(document: Transcript) -> list[str]:
    return [word.text for word in document.words]


def _parts(name: str, model: Model) -> list[list[str]]:
    """Return what a model reads of a set in one go: its documents, but parts of those that would take too long."""
    texts = [_texts(document) for document in documents(name)]
    words = _PART if name == "dev" and isinstance(model, Writer) else _LONGEST
    return [part for each in texts for part in _cut(each, words)]


def _cut(texts: list[str], words: int = _PART) -> list[list[str]]:
    return [texts[first : first + words] for first in range(0, len(texts), words)]


def _arrays(name: str, scores: Sequence[Scores], model: Model, rows: Sequence[Row]) -> Arrays:
    arrays: Arrays = {}
    for row in rows:
        for task in ("mark", "case"):
            if task in model.labels:
                labels = [_labels(each, task, model, row) for each in scores]
                arrays[f"{name}/{task}/{row.title}"] = np.concatenate(labels).astype(np.uint8)
    if name in TESTS and "mark" in model.labels:
        chances = np.exp(np.concatenate([each.tasks["mark"] for each in scores]))
        arrays[f"{name}/chances/{rows[0].beam}"] = chances.astype(np.float16)
    return arrays


def _labels(scores: Scores, task: str, model: Model, row: Row) -> npt.NDArray[np.int64]:
    if task != "mark" or not row.scales:
        return scores.chosen(task)
    scales = {mark.replace("none", ""): factor for mark, factor in row.scales.items()}
    found: npt.NDArray[np.int64] = scaled(np.exp(scores.tasks["mark"]), model.labels["mark"], scales).argmax(axis=1)
    return found
