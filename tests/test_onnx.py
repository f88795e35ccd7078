"""An exported network whose windows are read side by side."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from interpunct.export import export
from interpunct.features import Features
from interpunct.models import Scores, type_named
from interpunct.models.onnx import WINDOWS_AT_ONCE, OnnxModel

WORDS = "so how are you i am fine thanks my name is anna".split()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small untrained network that reads one window at a time, exported."""
    place = tmp_path_factory.mktemp("models")
    model = type_named("dilated").create(
        name="tiny", version="1", labels={"mark": ("", "."), "case": ("lower", "sentence")},
        options={"vocabulary": 60, "width": 16, "embedding": 8, "pairs": 0, "dilations": [1, 2]}, words=WORDS,
    )  # fmt: skip
    model.save(place / "torch")
    assert export(place / "torch", place / "onnx").options[WINDOWS_AT_ONCE] == 1
    return place / "onnx"


def windows() -> list[Features]:
    return [Features(tuple(WORDS[place % 5 : place % 5 + 1 + place % 7])) for place in range(40)]


def same(one: list[Scores], other: list[Scores]) -> bool:
    return len(one) == len(other) and all(
        np.array_equal(first.tasks[task], second.tasks[task])
        for first, second in zip(one, other, strict=True)
        for task in first.tasks
    )


def test_windows_read_side_by_side_come_out_in_order(folder: Path) -> None:
    alone, together = (OnnxModel.load(folder, threads=threads) for threads in (1, 4))
    assert same(alone.forward(windows()), together.forward(windows()))
    assert same(together.forward(windows()[:1]), alone.forward(windows()[:1]))
    assert together.forward([]) == []


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_reads_on(folder: Path) -> None:
    model = OnnxModel.load(folder, threads=2)
    before = model.forward(windows())
    context = multiprocessing.get_context("fork")
    told: Any = context.Queue()
    child = context.Process(target=lambda: told.put(same(model.forward(windows()), before)), daemon=True)
    child.start()
    assert told.get(timeout=30) is True
    child.join()
