"""A Llama network in ONNX: as floats what torch gives, as bytes nearly, and back to one that learns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
import torch
from onnx import numpy_helper

from interpunct import models
from interpunct.cases import CASES
from interpunct.export import export
from interpunct.export.recover import recover
from interpunct.features import Features
from interpunct.labels import MARKS, parse_text
from interpunct.models.llama import Llama
from interpunct.models.loop_options import LoopOptions
from interpunct.models.scores import Scores
from interpunct.transcript import Transcript

TEXT = (
    "So how are you? I am fine, thanks. My name is Anna, and I live in New York. "
    "Have you met Bob? No, but I know NATO's boss."
)
LABELS = {"mark": MARKS, "case": CASES}
SHAPE: dict[str, Any] = {"vocabulary": 120, "width": 32, "heads": 4, "layers": 2, "inner": 48, "window": 128,
                         "overlap": 48}  # fmt: skip
WINDOWS = [
    Features.of(text.split())
    for text in ("so how are you i am fine thanks my name is anna and i live in new york", "bob", "no but i know")
]


def made(**shape: Any) -> Llama:
    """Return a small model that knows its text; its norms have gains of their own."""
    transcript = Transcript(parse_text(TEXT))
    words = Features.of(word.text for word in transcript.words).texts
    options = {**SHAPE, **shape, "noise": 0.0, "batch": 4, "dropout": 0.0}
    model = Llama.create(name="tiny", version="1", labels=LABELS, options=options, words=words)
    chance = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, weight in model.network.named_parameters():
            if "norm" in name:
                weight.copy_(0.5 + torch.rand(weight.shape, generator=chance))
    data = model.encode([transcript] * 4)
    return model.fit(data, data, loop=LoopOptions(epochs=60, rate=1e-2, device="cpu"), log=lambda _: None)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param({"kv_heads": 2}, id="2-heads-of-keys"),
        pytest.param({"kv_heads": 4}, id="4-heads-of-keys"),
        pytest.param({"kv_heads": 1}, id="1-head-of-keys"),
        pytest.param({"kv_heads": 2, "biases": True, "causal": 1}, id="biases-and-a-causal-layer"),
    ],
)
def model(request: pytest.FixtureRequest) -> Llama:
    return made(**request.param)


@pytest.fixture(scope="module")
def folder(model: Llama, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model's folder, its export as floats in `whole`, and as bytes in `small`."""
    folder = tmp_path_factory.mktemp("llama")
    model.save(folder / "trained")
    export(folder / "trained", folder / "whole")
    export(folder / "trained", folder / "small", int8=True)
    return folder


def logs(scores: list[Scores], task: str) -> npt.NDArray[np.float32]:
    return np.concatenate([window.tasks[task] for window in scores])


def test_export_of_a_llama_equals_torch(model: Llama, folder: Path) -> None:
    exported: Any = models.load(folder / "whole")
    for given in (WINDOWS, WINDOWS[:1], WINDOWS[1:2]):
        for task in model.labels:
            np.testing.assert_allclose(logs(exported.forward(given), task), logs(model.forward(given), task), atol=1e-4)


def test_export_of_a_llama_reads_padded_windows_as_it_reads_them_alone(folder: Path) -> None:
    """A window at a time is fastest, but the graph takes several."""
    for kind, apart in (("whole", 1e-4), ("small", 0.02)):
        exported: Any = models.load(folder / kind)
        alone = [exported.forward([window])[0] for window in WINDOWS]
        exported._at_once = None
        for task in ("mark", "case"):
            np.testing.assert_allclose(logs(exported.forward(WINDOWS), task), logs(alone, task), atol=apart)


def test_export_of_a_llama_to_int8_is_nearly_the_same(model: Llama, folder: Path) -> None:
    exported: Any = models.load(folder / "small")
    right, found = model.forward(WINDOWS), exported.forward(WINDOWS)
    for task in model.labels:
        assert np.corrcoef(logs(right, task).ravel(), logs(found, task).ravel())[0, 1] > 0.998
    text = [Features.of(word.text for word in parse_text(TEXT))]
    (right_marks,), (marks,) = ([each.chosen("mark") for each in said.forward(text)] for said in (model, exported))
    assert np.count_nonzero(right_marks) > 5
    np.testing.assert_array_equal(marks, right_marks)
    sizes = [(folder / kind / "model.onnx").stat().st_size for kind in ("small", "whole")]
    assert sizes[0] < 0.6 * sizes[1]
    stored = [numpy_helper.to_array(each) for each in onnx.load(folder / "small" / "model.onnx").graph.initializer]
    assert max(each.size for each in stored if each.dtype == np.float32) <= len(MARKS) * SHAPE["width"]


@pytest.mark.parametrize("kind", ["whole", "small"])
def test_recovered_llama_says_the_same_and_goes_on(folder: Path, tmp_path: Path, kind: str) -> None:
    assert recover(folder / kind, tmp_path / "back").type == "llama"
    back = Llama.go_on(tmp_path / "back", name="tiny", version="2", options={"batch": 2})
    exported: Any = models.load(folder / kind)
    apart = 0.02 if kind == "whole" else 0.2  # of what is rounded on the way nothing comes back
    for task in back.labels:
        found, right = (np.exp(logs(each.forward(WINDOWS), task)) for each in (back, exported))
        np.testing.assert_allclose(found, right, atol=apart)
    data = back.encode([Transcript(parse_text(TEXT))] * 4)
    back.fit(data, data, loop=LoopOptions(epochs=1, device="cpu"), log=lambda _: None)
