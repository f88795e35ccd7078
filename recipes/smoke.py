"""A tiny text that every recipe must learn by heart.

In: a recipe. Out: how well its own small differences, run the whole way from corpora to figures, know the text that
they were shown. The data folder is laid out as the real one, with a text of our own in every split.
"""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from figures import figures
from interpunct.clitics import split_clitics
from interpunct.features import normalise
from interpunct.features.embeddings import Embeddings
from interpunct.labels import parse_text, to_three
from recipe import named
from testsets import cased_reference, documents, second_reference
from training import PREDICTIONS, needs, train_one

TEXT = (
    "So, what do we do on a Sunday? We walk to the river, and we don't talk much. My sister Anna brings bread from "
    "Paris, my brother brings nothing, and I bring the dog. Is it far? No, it's two miles from NASA's old gate. When "
    "the sun is out, the boats come down from York. Have you seen them? They are small, red and slow. I'm sure you "
    "like them."
)
_POS = "DT NN VB JJ IN"


@contextmanager
def tiny_data(folder: Path) -> Iterator[None]:
    """Lay out a data folder and make it the one that corpora are read from."""
    _write(folder)
    before = os.environ.get("INTERPUNCT_DATA")
    os.environ["INTERPUNCT_DATA"] = str(folder)
    _forget()
    try:
        yield
    finally:
        _forget()
        if before is None:
            del os.environ["INTERPUNCT_DATA"]
        else:
            os.environ["INTERPUNCT_DATA"] = before


def learned_by_heart(name: str, runs: Path) -> dict[str, float]:
    """Run a recipe's smoke version, and those it needs; return the F1 of each task on the text it was shown."""
    recipe = named(name, smoke=True)
    (runs / "smoke").mkdir(parents=True, exist_ok=True)
    for need in needs(recipe):
        learned_by_heart(need, runs)
    train_one(recipe, 1, runs, "cpu")
    with np.load(runs / name / "seed-1" / PREDICTIONS) as arrays:
        found = figures(arrays, recipe, recipe.rows[0])
    short = "ref" if recipe.tests == "ted" else "iq2"
    keys = {"mark": f"{short}.f1", "case": f"{short}.case_f1"}
    return {task: (found[key][0] or 0.0) / 100 for task, key in keys.items() if task in recipe.model.tasks}


def _forget() -> None:
    documents.cache_clear()
    cased_reference.cache_clear()
    second_reference.cache_clear()


def _write(folder: Path) -> None:
    words = parse_text(TEXT)
    tokens = [(part, word.mark if last else "") for word in words for part, last in _parts(word.text)]
    names = {"": "O", ",": "COMMA", ".": "PERIOD", "?": "QUESTION"}
    (folder / "iwslt").mkdir(parents=True)
    for split in ("train", "dev", "test", "extra"):
        times = 8 if split == "train" else 1
        talk = {"id": split, "title": "", "published": None, "start_ms": None, "paragraphs": [TEXT] * times}
        _compressed(folder / "iwslt" / f"{split}.jsonl.xz", json.dumps(talk))
    tagged = "".join(f"{part.lower()}\t{names[to_three(mark or '')]}\n" for part, mark in tokens)
    for split in ("dev2012", "test2011", "test2011asr"):
        (folder / "iwslt" / split).write_text(tagged, encoding="utf-8")
    (folder / "iq2").mkdir()
    debates = [{"id": f"{number:02}", "turns": [["A", TEXT]] * 4} for number in range(10)]
    _compressed(folder / "iq2" / "debates.jsonl.xz", "\n".join(map(json.dumps, debates)))
    (folder / "syntax").mkdir()
    pos = _POS.split()
    rows = "".join(f"{part}\tX\t{pos[len(part) % len(pos)]}\n" for part, _ in tokens)
    _compressed(folder / "syntax" / "gum.tsv.xz", "".join(f"# doc {n}\n{rows}\n" for n in range(4)))
    (folder / "vectors").mkdir()
    known = sorted({normalise(part) for part, _ in tokens})
    numbers = np.random.default_rng(1).normal(size=(len(known), 16))
    Embeddings(tuple(known), numbers.astype(np.float32)).save(folder / "vectors" / "tiny.npz")


def _parts(text: str) -> list[tuple[str, bool]]:
    parts = split_clitics(text)
    return [(part, number == len(parts) - 1) for number, part in enumerate(parts)]


def _compressed(path: Path, text: str) -> None:
    path.write_bytes(lzma.compress((text + "\n").encode()))
