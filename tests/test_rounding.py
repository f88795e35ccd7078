"""Rounding by what is read: it errs less than rounding number by number, in a matrix and in a whole network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

torch = pytest.importorskip("torch")
numpy_helper = pytest.importorskip("onnx").numpy_helper

from interpunct import models  # noqa: E402
from interpunct.errors import InputError, ModelError  # noqa: E402
from interpunct.export import export  # noqa: E402
from interpunct.export.graph import Graph  # noqa: E402
from interpunct.export.rounding import together  # noqa: E402
from interpunct.export.rows import Rows, stored_table  # noqa: E402
from interpunct.export.seen import seen  # noqa: E402
from interpunct.export.transformer import write  # noqa: E402
from interpunct.features import Features  # noqa: E402
from interpunct.labels import MARKS, parse_tokens  # noqa: E402
from interpunct.models.dilated import Dilated  # noqa: E402
from interpunct.train.pack import Pack  # noqa: E402
from interpunct.transcript import Transcript  # noqa: E402
from test_transformer import made, network_of  # noqa: E402

TEXT = "so the going of the mail is going , and the cafe is going to the mail . don't go to the cafe ? the cafe is ."


@pytest.mark.parametrize("largest", [7, 31, 64])
def test_product_with_what_is_read_errs_less(largest: int) -> None:
    chance = np.random.default_rng(largest)
    read = chance.normal(size=(400, 12)) @ chance.normal(size=(12, 70))  # seventy numbers, of which twelve are free
    matrix = chance.normal(size=(70, 9)).astype(np.float32)
    scale = (np.abs(matrix).max(axis=0) / largest).astype(np.float32)
    numbers = together(matrix, scale, largest, read.T @ read)
    assert numbers.dtype == np.int8
    assert np.abs(numbers).max() <= largest
    off = [np.square(read @ (found * scale - matrix)).mean() for found in (numbers, np.round(matrix / scale))]
    assert off[0] < 0.2 * off[1]


def test_numbers_that_err_apart_are_rounded_each_to_the_nearest() -> None:
    chance = np.random.default_rng(1)
    matrix, scale = chance.normal(size=(100, 5)).astype(np.float32), np.full(5, 0.1, np.float32)
    numbers = together(matrix, scale, 64, np.diag(chance.uniform(1, 2, size=100)))
    assert np.array_equal(numbers, np.round(matrix / scale))


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("packs") / "some.pack"
    words = parse_tokens((TEXT.split() * 40)[:600])
    Pack.of([Transcript(tuple(words))], sources=["iwslt:train"]).save(path)
    return path


@pytest.fixture(scope="module", params=[0, 1], ids=["whole", "glance"])
def trained(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    model = made(vocabulary=60, seed=3, distances=8, glance=request.param, doubted=40)
    with torch.no_grad():
        for weight in model.network.parameters():
            weight.mul_(8)  # so that answers differ
    model.save(folder)
    return folder


def logs(folder: Path) -> npt.NDArray[np.float32]:
    model: Any = models.load(folder)
    found: npt.NDArray[np.float32] = model.forward([Features.of(["so", "the", "cafe", "is", "going", "to", "mail"])])[
        0
    ].tasks["mark"]
    return found


@pytest.mark.parametrize("bits", [6, 8])
def test_network_rounded_by_text_is_nearer_to_its_floats(trained: Path, pack: Path, tmp_path: Path, bits: Any) -> None:
    export(trained, tmp_path / "floats")
    export(trained, tmp_path / "each", int8=True, bits=bits)
    export(trained, tmp_path / "together", int8=True, bits=bits, packs=[pack])
    right, each, together_ = (logs(tmp_path / name) for name in ("floats", "each", "together"))
    assert np.square(together_ - right).mean() < np.square(each - right).mean()


def test_what_is_seen_has_a_square_for_each_matrix_and_the_table(trained: Path) -> None:
    model: Any = models.load(trained)
    windows = torch.randint(2, 25, (6, 16), generator=torch.Generator().manual_seed(1))
    found = seen(model, windows)
    layer, options = network_of(model).layers[0], model.options
    parts = ["projections", "output", "up", "down"]
    again = ["projections.asked", "projections.told", "output", "up", "down"]  # layers behind a glance
    assert found.keys() == {
        "embedding",
        *(f"layers.{n}.{part}" for n in range(options.glance or options.layers) for part in parts),
        *(f"layers.{n}.{part}" for n in range(options.glance, options.layers) if options.glance for part in again),
    }
    with torch.no_grad():
        states = network_of(model).embedded(windows).flatten(0, 1)
    np.testing.assert_allclose(found["layers.0.projections"], (states.T @ states).numpy(), rtol=1e-4, atol=1e-4)
    assert found["layers.0.down"].shape == (layer.down.in_features,) * 2  # type: ignore[union-attr]


def test_all_that_is_seen_is_rounded_by(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model: Any = models.load(trained)
    found = seen(model, torch.randint(2, 25, (6, 16), generator=torch.Generator().manual_seed(1)))
    graph = Graph(int8=True, seen=found)
    asked: list[str] = []
    by_text = Rows._together

    def together_noted(self: Rows, name: str, *given: Any, **named: Any) -> Any:
        asked.append(name)
        return by_text(self, name, *given, **named)

    monkeypatch.setattr(Rows, "_together", together_noted)
    write(model, graph)
    assert sorted(asked) == sorted(found)


def test_table_whose_columns_differ_in_size_is_rounded_by_what_its_rows_are(tmp_path: Path) -> None:
    chance = np.random.default_rng(2)
    sizes = np.repeat([0.25, 1.0, 4.0], 16).astype(np.float32)
    table = (chance.normal(size=(30, 48)) * sizes).astype(np.float32)
    read = chance.normal(size=(200, 10)) @ chance.normal(size=(10, 48))
    errors = {}
    for name, counts in (("together", {"table": read.T @ read}), ("each", {})):
        graph = Graph(int8=True, seen=counts)
        Rows(graph, {"table.weight": table}, width=48, heads=1, largest=64).looked_up("table", "pieces", halved=True)
        stored = {each.name: numpy_helper.to_array(each) for each in graph.weights}
        errors[name] = np.square((stored_table("table", stored) - table) @ read.T).mean()
    assert errors["together"] < 0.5 * errors["each"]


def test_weights_that_change_nothing_are_told_of() -> None:
    for counts in (np.zeros((4, 4)), np.full((4, 4), np.nan)):
        with pytest.raises(ModelError, match="change nothing in this text"):
            together(np.ones((4, 2)), np.ones(2), 7, counts)


def test_packs_that_nothing_is_rounded_by_are_refused(trained: Path, pack: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="packs are for rounding; use them together with int8"):
        export(trained, tmp_path / "made", packs=[pack])
    model = Dilated.create(name="tiny", version="1", labels={"mark": MARKS}, options={"vocabulary": 60}, words=["so"])
    (tmp_path / "dilated").mkdir()
    model.save(tmp_path / "dilated")
    with pytest.raises(ModelError, match="a dilated is rounded without packs; leave them out"):
        export(tmp_path / "dilated", tmp_path / "made", int8=True, packs=[pack])
