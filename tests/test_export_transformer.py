from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import onnx
import pytest
import torch
from click.testing import CliRunner
from onnx import numpy_helper

from interpunct import models
from interpunct.cases import CASES
from interpunct.cli.command import cli
from interpunct.errors import ModelError
from interpunct.export import export
from interpunct.export import transformer as writer
from interpunct.export.graph import Graph
from interpunct.export.recover import recover
from interpunct.export.rows import stored_table
from interpunct.features import Features
from interpunct.labels import MARKS, parse_text
from interpunct.models.batch import piece_batch
from interpunct.models.branch import BRANCH
from interpunct.models.folder import LEXICON, Description
from interpunct.models.loop_options import LoopOptions
from interpunct.models.onnx import OnnxModel
from interpunct.models.scores import Scores
from interpunct.models.transformer import Network, Transformer
from interpunct.restore import find_model
from interpunct.transcript import Transcript

TEXT = (
    "So how are you? I am fine, thanks. My name is Anna, and I live in New York. "
    "Have you met Bob? No, but I know NATO's boss."
)
Floats = npt.NDArray[np.float32]


@pytest.fixture(scope="module")
def model() -> Transformer:
    """A small model that knows its text."""
    options = {
        "vocabulary": 120, "width": 32, "heads": 4, "layers": 2, "inner": 64, "positions": 128, "window": 128,
        "overlap": 48, "noise": 0.0, "batch": 4, "dropout": 0.0, "attention_dropout": 0.0,
    }  # fmt: skip
    transcript = Transcript(parse_text(TEXT))
    made = Transformer.create(
        name="tiny", version="1", labels={"mark": MARKS, "case": CASES}, options=options,
        words=Features.of(word.text for word in transcript.words).texts,
    )  # fmt: skip
    data = made.encode([transcript] * 4)
    return made.fit(data, data, loop=LoopOptions(epochs=60, rate=1e-2, device="cpu"), log=lambda _: None)


@pytest.fixture(scope="module")
def folder(model: Transformer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model's folder, its export as floats in `whole`, and as bytes in `small`."""
    folder = tmp_path_factory.mktemp("transformer")
    model.save(folder / "trained")
    export(folder / "trained", folder / "whole")
    export(folder / "trained", folder / "small", int8=True)
    return folder


def windows() -> list[Features]:
    """Windows of unequal length, one of one word, one of more pieces than there are positions."""
    texts = ["so how are you i am fine thanks my name is anna and i live in new york", "bob", "no but i know"]
    return [Features.of(text.split()) for text in texts] + [Features(tuple(["xyzzyx"] * 30))]


def logs(scores: list[Scores], task: str) -> Floats:
    return np.concatenate([window.tasks[task] for window in scores])


def test_export_of_a_transformer_equals_torch(model: Transformer, folder: Path) -> None:
    exported: Any = models.load(folder / "whole")
    for given in (windows(), windows()[:1], windows()[1:2], windows()[3:]):
        for right, found in zip(model.forward(given), exported.forward(given), strict=True):
            for task in right.tasks:
                np.testing.assert_allclose(found.tasks[task], right.tasks[task], atol=1e-4)


def test_export_of_a_transformer_to_int8_is_nearly_the_same(model: Transformer, folder: Path) -> None:
    exported: Any = models.load(folder / "small")
    right, found = model.forward(windows()), exported.forward(windows())
    for task in model.labels:
        one, other = logs(right, task), logs(found, task)
        assert np.corrcoef(one.ravel(), other.ravel())[0, 1] > 0.999
        assert (one.argmax(axis=1) == other.argmax(axis=1)).mean() > 0.95
        np.testing.assert_allclose(np.exp(other).sum(axis=1), 1, atol=1e-5)
    words = parse_text(TEXT)
    (known,) = exported.forward([Features.of(word.text for word in words)])
    assert [MARKS[label] for label in known.chosen("mark")] == [word.mark for word in words]


def test_export_of_a_transformer_to_int8_computes_rows_by_their_own_scales(model: Transformer, folder: Path) -> None:
    """The graph gives what a slow network gives that rounds each weight column and each state by itself."""
    exported: Any = models.load(folder / "small")
    for given in windows():
        (found,) = exported.forward([given])
        right = rounded_forward(model, given)
        for task in model.labels:
            np.testing.assert_allclose(found.tasks[task], right[task], atol=0.02)


def test_export_of_a_transformer_to_int8_does_not_depend_on_the_batch(folder: Path) -> None:
    exported: Any = models.load(folder / "small")
    for window, together in zip(windows(), exported.forward(windows()), strict=True):
        (alone,) = exported.forward([window])
        for task in alone.tasks:
            np.testing.assert_allclose(together.tasks[task], alone.tasks[task], atol=0.02)


def test_export_of_a_transformer_to_int8_holds_no_large_floats(model: Transformer, folder: Path) -> None:
    """Memory: tables stay bytes, too, until their rows are read."""
    stored = tensors(onnx.load(folder / "small" / "model.onnx"))
    floats = [value.size for value in stored.values() if value.dtype == np.float32]
    assert max(floats) <= max(len(model.vocabulary), 3 * model.options.width, len(MARKS) * model.options.width)
    assert (folder / "small" / "model.onnx").stat().st_size < 0.5 * (folder / "whole" / "model.onnx").stat().st_size


@pytest.mark.parametrize("reduce_range", [True, False])
def test_export_of_a_transformer_keeps_products_within_16_bits(model: Transformer, reduce_range: bool) -> None:
    """Two products of an unsigned byte and a weight, added, as x86 does without VNNI."""
    graph = Graph(int8=True)
    writer.write(model, graph, reduce_range=reduce_range)
    made = graph.model("tiny", model.labels)
    products = {node.input[1] for node in made.graph.node if node.op_type == "MatMulIntegerToFloat"}
    weights = [value for name, value in tensors(made).items() if name in products]
    assert len(weights) == 4 * model.options.layers
    largest = max(int(np.abs(weight.astype(np.int64)).max()) for weight in weights)
    assert (2 * 255 * largest <= 32_767) is reduce_range


def test_export_of_a_transformer_is_the_same_model_when_copied(folder: Path, tmp_path: Path) -> None:
    exported: Any = models.load(folder / "small")
    assert isinstance(exported, OnnxModel)
    exported.save(tmp_path / "copy")
    again: Any = models.load(tmp_path / "copy")
    np.testing.assert_array_equal(
        logs(exported.forward(windows()[:1]), "mark"), logs(again.forward(windows()[:1]), "mark")
    )


def tensors(made: Any) -> dict[str, npt.NDArray[Any]]:
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in made.graph.initializer}


def rounded(values: torch.Tensor, levels: int, axis: int) -> torch.Tensor:
    scale = values.abs().amax(dim=axis, keepdim=True).clamp(min=1e-8) / levels
    return torch.round(values / scale) * scale


def halved(table: torch.Tensor) -> torch.Tensor:
    """Round each row to half bytes; of the scales that may be, the one that leaves the least error.

    Columns that are larger or smaller than most are made like them before, by powers of the root of two.
    """
    sizes = table.square().mean(dim=0).sqrt()
    columns = torch.tensor([2 ** (round(2 * math.log2(size / np.median(sizes))) / 2) for size in sizes.tolist()])
    rows = []
    for row in table / columns:
        scales = [float(row.abs().max().clamp(min=1e-8)) / 7 * share / 100 for share in range(100, 49, -5)]
        tried = [torch.round(row / scale).clamp(-7, 7) * scale for scale in scales]
        rows.append(min(tried, key=lambda each: float((each - row).square().sum())))
    return torch.stack(rows) * columns


def rounded_gelu(values: torch.Tensor) -> torch.Tensor:
    """Round each row to bytes, 32 of them below zero; GELU is never below -0.17."""
    scale = (values.amax(dim=-1, keepdim=True) / 223).clamp(min=0.17 / 32)
    return torch.round(values / scale).clamp(-32, 223) * scale


@torch.no_grad()
def rounded_forward(model: Transformer, window: Features) -> dict[str, Floats]:
    """The network by hand, for one window, with its weights and states rounded."""
    network: Any = model.network
    batch = piece_batch([window], model.vocabulary)
    places = torch.arange(batch.pieces.shape[1]).clamp(max=model.options.positions - 1)
    tables = [halved(network.embedding.weight), rounded(network.positions.weight, 127, 1)]
    states = network.norm(tables[0][torch.from_numpy(batch.pieces[0])] + tables[1][places])

    def linear(layer: Any, given: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.linear(given, rounded(layer.weight, 64, 1), layer.bias)

    for layer in network.layers:
        parts = linear(layer.projections, rounded(states, 127, 1)).chunk(3, dim=1)
        queries, keys, values = (part.reshape(len(part), layer.heads, -1).transpose(0, 1) for part in parts)
        shares = torch.softmax(queries @ keys.transpose(1, 2) / queries.shape[2] ** 0.5, dim=-1)
        attended = (shares @ values).transpose(0, 1).flatten(1)
        states = layer.output_norm(states + linear(layer.output, rounded(attended, 127, 1)))
        inner = torch.nn.functional.gelu(linear(layer.up, rounded(states, 127, 1)))
        states = layer.down_norm(states + linear(layer.down, rounded_gelu(inner)))
    at_words = states[torch.from_numpy(batch.words[0])]
    return {task: torch.log_softmax(head(at_words), dim=-1).numpy() for task, head in network.heads.items()}


@pytest.mark.parametrize("kind", ["whole", "small"])
def test_recovered_model_is_exported_to_the_same_file(folder: Path, tmp_path: Path, kind: str) -> None:
    recovered = recover(folder / kind, tmp_path / "back")
    assert recovered.type == "transformer"
    export(tmp_path / "back", tmp_path / "again", int8=kind == "small")
    first, again = (
        {each.name: numpy_helper.to_array(each) for each in onnx.load(str(place / "model.onnx")).graph.initializer}
        for place in (folder / kind, tmp_path / "again")
    )
    assert list(first) == list(again)
    for name, value in first.items():
        if not name.startswith("embedding."):
            np.testing.assert_allclose(again[name], value, rtol=1e-6, err_msg=name)
    # A column's size may be another once its numbers were rounded, and then they are rounded once more.
    once, twice = (stored_table("embedding", each) for each in (first, again))
    np.testing.assert_allclose(twice, once, atol=0.1 * float(np.abs(once).max()))


@pytest.mark.parametrize("doubted", [20, 100])
def test_export_of_a_second_look_equals_torch_and_comes_back(
    model: Transformer, folder: Path, tmp_path: Path, doubted: int
) -> None:
    options = {"glance": 1, "doubted": doubted, "layers": 4}
    looks = Transformer.go_on(folder / "trained", name="tiny", version="2", options=options)
    data = looks.encode([Transcript(parse_text(TEXT))] * 4)
    looks.fit(data, data, loop=LoopOptions(epochs=20, rate=1e-2, device="cpu"), log=lambda _: None)
    looks.save(tmp_path / "trained")
    # Words of several pieces stand first: a padded word points at the first piece, in the midst of them.
    texts = [f"{first} so how are you {first} fine" for first in ("xyzzyx", "bobanna", "yorkame", "natolive", "hazfi")]
    given = [*windows(), *(Features.of(text.split()) for text in texts)]
    for kind, apart in (("whole", 1e-4), ("small", 0.1)):
        export(tmp_path / "trained", tmp_path / kind, int8=kind == "small")
        exported: Any = models.load(tmp_path / kind)
        recover(tmp_path / kind, tmp_path / f"{kind}-back")
        back: Any = models.load(tmp_path / f"{kind}-back")
        for task in model.labels:
            right = np.exp(logs(looks.forward(given), task))
            np.testing.assert_allclose(np.exp(logs(exported.forward(given), task)), right, atol=apart)
            np.testing.assert_allclose(np.exp(logs(back.forward(given), task)), right, atol=apart)
        alone = [exported.forward([window])[0] for window in given]
        exported._at_once = None  # all in one go, with padding
        np.testing.assert_allclose(logs(exported.forward(given), "mark"), logs(alone, "mark"), atol=0.02)


def test_a_large_column_of_a_table_leaves_the_others_their_half_bytes(tmp_path: Path, folder: Path) -> None:
    loud = Transformer.load(folder / "trained")
    table = cast(Network, loud.network).embedding.weight
    with torch.no_grad():
        table[:, 3] *= 50
    loud.save(tmp_path / "trained")
    export(tmp_path / "trained", tmp_path / "small", int8=True)
    recover(tmp_path / "small", tmp_path / "back")
    back = cast(Network, Transformer.load(tmp_path / "back").network).embedding.weight
    off = (back - table).detach().square().mean(dim=0) / table.detach().square().mean(dim=0)
    assert float(off.max()) < 0.05
    assert tensors(onnx.load(tmp_path / "small" / "model.onnx"))["embedding.columns"][3] >= 16


def test_table_of_an_odd_width_is_bytes_and_comes_back(tmp_path: Path) -> None:
    options = {"vocabulary": 60, "width": 15, "heads": 3, "layers": 1, "inner": 8, "positions": 64, "window": 16,
               "overlap": 4}  # fmt: skip
    odd = Transformer.create(
        name="odd", version="1", labels={"mark": MARKS, "case": CASES}, options=options, words=TEXT.lower().split()
    )
    odd.save(tmp_path / "trained")
    export(tmp_path / "trained", tmp_path / "small", int8=True)
    assert tensors(onnx.load(tmp_path / "small" / "model.onnx"))["embedding.int8"].shape == (len(odd.vocabulary), 15)
    recover(tmp_path / "small", tmp_path / "back")
    back = cast(Network, Transformer.load(tmp_path / "back").network).embedding.weight
    torch.testing.assert_close(back, cast(Network, odd.network).embedding.weight, atol=1e-3, rtol=0)


def test_recovered_model_goes_on_learning(model: Transformer, folder: Path, tmp_path: Path) -> None:
    recover(folder / "small", tmp_path / "back")
    on = Transformer.go_on(tmp_path / "back", name="tiny", version="2", options={"batch": 2})
    right, found = logs(model.forward(windows()), "mark"), logs(on.forward(windows()), "mark")
    assert np.abs(np.exp(found) - np.exp(right)).max() < 0.1
    assert (found.argmax(axis=1) == right.argmax(axis=1)).mean() > 0.95
    data = on.encode([Transcript(parse_text(TEXT))] * 4)
    on.fit(data, data, loop=LoopOptions(epochs=1, device="cpu"), log=lambda _: None)


def test_recover_tells_what_is_wrong_and_writes_nothing(folder: Path, tmp_path: Path) -> None:
    def told(model: Path, reason: str) -> None:
        with pytest.raises(ModelError, match=reason):
            recover(model, tmp_path / "back")
        assert not (tmp_path / "back").exists()

    def changed(name: str, file: str, change: Callable[[Path], object]) -> Path:
        shutil.copytree(folder / "small", tmp_path / name)
        change(tmp_path / name / file)
        return tmp_path / name

    def described(**changes: Any) -> Callable[[Path], object]:
        return lambda path: replace(Description.load(path.parent), **changes).save(path.parent)

    small = Description.load(folder / "small")
    told(folder / "trained", "it was never exported; training can go on from it as it is")
    told(changed("older", "model.json", described(exported_from="")), "what it was trained as; export it again")
    told(changed("bigru", "model.json", described(exported_from="bigru")), "no way back from an exported bigru")
    told(changed("gone", "model.onnx", Path.unlink), "model.onnx: cannot be read")
    told(changed("broken", "model.onnx", lambda path: path.write_bytes(b"no graph")), "model.onnx: cannot be read")
    wider = described(options={**small.options, "inner": 96})
    told(changed("wider", "model.json", wider), "model.onnx is not what model.json says: .*size mismatch")
    with pytest.raises(ModelError, match="cannot be recovered onto itself"):
        recover(folder / "small", folder / "small")


def test_recover_finds_a_layer_too_many(tmp_path: Path) -> None:
    """The fast model's layers have no names in its file: their number must be right."""
    shutil.copytree(find_model("fast"), tmp_path / "fast")
    fast = Description.load(tmp_path / "fast")
    replace(fast, options={**fast.options, "dilations": [1, 2]}).save(tmp_path / "fast")
    with pytest.raises(ModelError, match=r"model\.onnx is not what model\.json says: zip"):
        recover(tmp_path / "fast", tmp_path / "back")


@pytest.mark.parametrize("name", ["default", "fast"])
def test_command_recovers_a_bundled_model_that_gives_the_same(name: str, tmp_path: Path) -> None:
    told = CliRunner().invoke(cli, ["recover", name, "-o", str(tmp_path / "back")], catch_exceptions=False)
    assert told.exit_code == 0
    assert f"{models.load(find_model(name)).name}, a " in told.output
    bundled: Any = models.load(find_model(name))
    back: Any = models.load(tmp_path / "back")
    right, found = logs(bundled.forward(windows()[:3]), "case"), logs(back.forward(windows()[:3]), "case")
    assert np.abs(np.exp(found) - np.exp(right)).max() < 0.1


@pytest.mark.parametrize("way", ["export", "recover", "save"])
def test_nothing_of_another_model_stays_in_the_folder(way: str, folder: Path, tmp_path: Path) -> None:
    """A prosody branch and a lexicon are of one model alone."""
    target = tmp_path / "used"
    shutil.copytree(find_model("default"), target)
    assert (target / BRANCH).exists()
    assert (target / LEXICON).exists()
    if way == "recover":
        recover(folder / "small", target)
    elif way == "save":
        OnnxModel.load(folder / "small").save(target)
    else:
        recover(folder / "small", tmp_path / "back")
        export(tmp_path / "back", target)
    assert not (target / BRANCH).exists()
    assert not (target / LEXICON).exists()


def test_model_that_goes_on_forgets_its_factors(folder: Path, tmp_path: Path) -> None:
    recover(folder / "small", tmp_path / "back")
    replace(Description.load(tmp_path / "back"), scales={",": 2.0}).save(tmp_path / "back")
    assert not Transformer.go_on(tmp_path / "back", name="tiny", version="2", options={}).description.scales
