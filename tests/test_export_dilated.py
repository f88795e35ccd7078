"""The exported stack of dilated convolutions: what torch gives, in floats and in bytes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper
from torch.nn import functional as F

from interpunct.cases import CASES
from interpunct.errors import ModelError
from interpunct.export.dilated import write
from interpunct.export.dilated_weights import read
from interpunct.export.graph import Graph
from interpunct.features import Features
from interpunct.labels import MARKS, parse_text
from interpunct.models.batch import piece_batch
from interpunct.models.dilated import NIBBLE_GAIN, NIBBLE_STEP, WEIGHT_STEPS, Dilated
from interpunct.models.folder import PIECES
from interpunct.models.loop_options import LoopOptions
from interpunct.models.onnx import GRAPH, OnnxModel
from interpunct.models.scores import Scores
from interpunct.restore import Restorer
from interpunct.transcript import Transcript

LABELS = {"mark": MARKS, "case": CASES}
WORDS = "so how are you i am fine thanks my name is anna and unbelievable".split()
TINY: dict[str, Any] = {"vocabulary": 60, "embedding": 24, "pair_embedding": 8, "width": 32, "dropout": 0.0, "batch": 4}
SHAPES: list[dict[str, Any]] = [
    {"pairs": 0, "dilations": (1, 2, 4)},
    {"pairs": 50, "dilations": (1, 3, 1), "piece_dilations": (1, 2)},
    {"pairs": 50, "dilations": (2, 1), "inner": 40, "kernel": 5},
    {"pairs": 0, "dilations": (), "piece_dilations": (4,), "kernel": 1},
    {"pairs": 0, "dilations": (1, 2), "inner": 24, "inner_kernel": 3},
    {"pairs": 0, "dilations": (1, 2), "inner": 24, "inner_kernel": 3, "signed": True},
    {"pairs": 50, "dilations": (1, 2), "attention": (1, 2), "heads": 2, "keys": 6, "values": 8},
    {"pairs": 50, "dilations": (1, 2), "attention": (2,), "heads": 2, "keys": 6, "values": 8, "stride": 1},
    {"pairs": 50, "dilations": (2,), "table_bits": 4},
    {"pairs": 0, "dilations": (1, 2), "inner": 24, "inner_kernel": 3, "signed": True, "shifted": True},
    {"pairs": 0, "dilations": (1, 2), "piece_dilations": (1,), "inner": 24, "shifted": True},
]
every_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)


def made(**options: Any) -> Dilated:
    return Dilated.create(name="tiny", version="1", labels=LABELS, options=TINY | options, words=WORDS * 2)


def exported(model: Dilated, folder: Path, *, int8: bool) -> OnnxModel:
    graph = Graph(int8=int8)
    write(model, graph)
    written = graph.model("tiny", model.labels)
    onnx.checker.check_model(written)
    replace(model.description, type="onnx").save(folder)
    onnx.save(written, str(folder / GRAPH))
    model.vocabulary.save(folder / PIECES)
    return OnnxModel.load(folder, threads=1)


def windows_of(*lengths: int) -> list[Features]:
    return [
        Features(tuple(WORDS[(5 * row + 3 * place) % len(WORDS)] for place in range(length)))
        for row, length in enumerate(lengths)
    ]


def difference(one: list[Scores], other: list[Scores]) -> float:
    return max(
        float(np.abs(a.tasks[task] - b.tasks[task]).max()) for a, b in zip(one, other, strict=True) for task in LABELS
    )


@every_shape
def test_export_gives_what_torch_gives(shape: dict[str, Any], tmp_path: Path) -> None:
    model = made(**shape)
    again = exported(model, tmp_path, int8=False)
    for given in (windows_of(1), windows_of(40), windows_of(9, 1, 30, 4)):
        assert difference(again.forward(given), model.forward(given)) < 1e-4


def test_export_finds_what_heads_prefer_far_off(tmp_path: Path) -> None:
    """In a window as long as those in use places have large squares, and most of a steep head's shares are nothing."""
    model = made(pairs=0, dilations=(1,), attention=(1,), heads=3, stride=2, window=600)
    with torch.no_grad():
        model.network.attention["1"].shift.copy_(torch.tensor([-7.5, 4.0, 0.0]))  # type: ignore[index, union-attr]
        model.network.attention["1"].sharpness.copy_(torch.tensor([6.0, 0.0, -4.0]))  # type: ignore[index, union-attr]
    given = windows_of(600, 577)
    assert difference(exported(model, tmp_path, int8=False).forward(given), model.forward(given)) < 5e-4


@pytest.mark.parametrize("int8", [False, True])
def test_export_reads_words_where_what_heads_prefer_lies_outside(int8: bool, tmp_path: Path) -> None:
    """All of a steep head's scores are far below 0 then; words that are not there still get no share."""
    model = made(pairs=0, dilations=(1,), attention=(1,), heads=2, stride=1)
    with torch.no_grad():
        attention: Any = model.network.attention["1"]  # type: ignore[index]
        attention.shift.copy_(torch.tensor([40.0, -40.0]))
        attention.sharpness.fill_(6.0)
        attention.writes.weight.mul_(8)  # so that what is read counts
    given = windows_of(9, 1, 30, 4)
    again = exported(model, tmp_path, int8=int8)
    assert difference(again.forward(given), model.forward(given)) < (0.3 if int8 else 1e-3)
    assert difference(again.forward(given), [again.forward([window])[0] for window in given]) < 1e-4


@every_shape
def test_export_to_int8_is_close_and_does_not_depend_on_the_batch(shape: dict[str, Any], tmp_path: Path) -> None:
    model = made(**shape)
    again = exported(model, tmp_path, int8=True)
    given = windows_of(9, 1, 30, 4)
    found = again.forward(given)
    assert 0 < difference(found, model.forward(given)) < (0.5 if "table_bits" in shape else 0.1)
    assert difference(found, [again.forward([window])[0] for window in given]) == 0


@every_shape
def test_export_to_int8_computes_what_rounded_training_computes(shape: dict[str, Any], tmp_path: Path) -> None:
    model = made(rounded=True, **shape)
    with torch.no_grad():  # larger numbers, so that some reach the limits
        for parameter in model.network.parameters():
            parameter.mul_(1.5)
    given = windows_of(9, 1, 30, 4)
    batch = piece_batch(given, model.vocabulary)
    model.network.train()
    with torch.no_grad():
        logits = model.network(*map(torch.from_numpy, (batch.pieces, batch.lengths, batch.words)))
    model.network.eval()
    logs = {task: F.log_softmax(values, dim=-1).numpy() for task, values in logits.items()}
    found = exported(model, tmp_path, int8=True).forward(given)
    # A number that lies between two steps may be rounded to either, which moves the others a little.
    gaps = np.concatenate(
        [np.abs(s.tasks[task] - logs[task][row, : len(s)]).max(1) for row, s in enumerate(found) for task in LABELS]
    )
    assert np.median(gaps) < 1e-4
    assert gaps.max() < 0.03
    assert np.median(gaps) < 0.1 * difference(found, model.forward(given))


def test_export_to_int8_holds_weights_of_seven_bits_and_tables_of_bytes(tmp_path: Path) -> None:
    model = made(pairs=50, dilations=(1, 2))
    exported(model, tmp_path, int8=True)
    values = [numpy_helper.to_array(value) for value in onnx.load(str(tmp_path / GRAPH)).graph.initializer]
    weights = [value for value in values if value.dtype == np.int8]
    assert {value.shape for value in weights} == {(3 * 32, 32)}
    assert len(weights) == 3
    assert all(np.abs(value.astype(int)).max() == WEIGHT_STEPS for value in weights)
    tables = {value.shape for value in values if value.dtype == np.uint8 and value.ndim == 2}
    assert {(len(model.vocabulary), 24), (50, 8)} <= tables
    assert sum(value.size for value in values if value.dtype == np.float32) < 1500


def test_export_of_tables_of_four_bits_puts_two_numbers_into_a_byte(tmp_path: Path) -> None:
    model = made(pairs=50, dilations=(1,), table_bits=4)
    exported(model, tmp_path, int8=True)
    values = [numpy_helper.to_array(value) for value in onnx.load(str(tmp_path / GRAPH)).graph.initializer]
    (packed,) = [value for value in values if value.shape == (50, 4)]
    rows = model.network.state_dict()["pairs.weight"].numpy() * NIBBLE_GAIN / NIBBLE_STEP
    whole = np.clip(np.round(rows), -8, 7) + 8
    np.testing.assert_array_equal(np.concatenate([packed % 16, packed // 16], axis=1), whole)
    assert (len(model.vocabulary), 12) in {value.shape for value in values if value.dtype == np.uint8}


@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if "attention" not in shape], ids=str)
def test_read_fills_a_model_that_gives_the_same(shape: dict[str, Any], int8: bool, tmp_path: Path) -> None:
    first = exported(made(**shape), tmp_path / "first", int8=int8)
    back = made(**shape)
    with torch.no_grad():
        for weight in back.network.parameters():
            weight.fill_(7.0)
    read(onnx.load(str(tmp_path / "first" / GRAPH)).graph, back)
    again, given = exported(back, tmp_path / "again", int8=int8), windows_of(9, 1, 30, 4)
    assert difference(again.forward(given), first.forward(given)) < 1e-4


def test_read_refuses_attention(tmp_path: Path) -> None:
    model = made(dilations=(1, 2), attention=(1,), heads=2)
    exported(model, tmp_path, int8=True)
    with pytest.raises(ModelError, match="tiny 1: no way back from attention; name the folder that training wrote"):
        read(onnx.load(str(tmp_path / GRAPH)).graph, model)


def test_export_to_int8_is_a_quarter_of_the_size(tmp_path: Path) -> None:
    model = made(width=128, dilations=(1, 2, 4), pairs=500)
    for int8 in (False, True):
        exported(model, tmp_path / str(int8), int8=int8)
    small, whole = ((tmp_path / str(int8) / GRAPH).stat().st_size for int8 in (True, False))
    assert small < 0.3 * whole


@pytest.mark.parametrize(
    "shape",
    [
        {"dilations": (1, 2, 4)},
        {"dilations": (1, 2), "inner": 32, "inner_kernel": 3, "signed": True, "attention": (1,), "table_bits": 4},
    ],
    ids=str,
)
def test_export_of_a_model_trained_in_steps_restores_what_it_learned(shape: dict[str, Any], tmp_path: Path) -> None:
    text = "So how are you? I am fine, thanks. My name is Anna, and I live in New York."
    transcript = Transcript(parse_text(text))
    words = Features.of(word.text for word in transcript.words).texts
    model = Dilated.create(
        name="tiny", version="1", labels=LABELS, words=words,
        options=TINY | shape | {"pairs": 64, "noise": 0.0, "rounded": True},
    )  # fmt: skip
    data = model.encode([transcript] * 4)
    model.fit(data, data, loop=LoopOptions(epochs=40, rate=1e-2, device="cpu"), log=lambda _: None)
    lower = text.lower().translate(str.maketrans("", "", ",.?"))
    assert Restorer(model).restore(lower).text == text
    assert Restorer(exported(model, tmp_path, int8=True)).restore(lower).text == text
