"""Attention that knows how far apart two pieces are, as MPNet's does: its classes, its network and its graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from interpunct import models
from interpunct.errors import ConfigError, InputError, ModelError
from interpunct.export import export
from interpunct.export.recover import recover
from interpunct.features import Features
from interpunct.labels import parse_tokens
from interpunct.models import distances
from interpunct.models.loop_options import LoopOptions
from interpunct.models.pretrained_encoder import convert
from interpunct.models.transformer import Transformer
from interpunct.transcript import Transcript
from published_encoders import CLASSES, EPSILON, LAYERS, mpnet_weights, slow_class, write_beside, write_safetensors
from test_transformer import made, network_of

Marks = npt.NDArray[np.floating[Any]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Transformer:
    """A model of MPNet's weights; its layers' are half as large, so that no piece is all that another one sees."""
    folder = tmp_path_factory.mktemp("mpnet")
    write_beside(folder, model_type="mpnet", layer_norm_eps=EPSILON)
    convert(write_safetensors(mpnet_weights(), folder / "model.safetensors"), folder / "mpnet.npz")
    found = made(folder / "mpnet.npz", layers=LAYERS, distances=CLASSES, epsilon=EPSILON)
    with torch.no_grad():
        for layer in network_of(found).layers:
            for weight in layer.parameters():
                weight.mul_(0.5)
    return found


def windows() -> list[Features]:
    return [Features.of(text.split()) for text in ("the going don't e-mail the cafe", "go", "the mail is going")]


@pytest.mark.parametrize("classes", [4, 16, 32, 64, 256])
def test_distances_fall_into_their_classes(classes: int) -> None:
    far = list(range(-600, 601))
    found = distances.class_of(torch.tensor(far), classes).tolist()
    assert found == [slow_class(distance, classes) for distance in far]


@pytest.mark.parametrize("bad", [{"distances": 6}, {"distances": -4}, {"distances": 260}, {"epsilon": 0.0}], ids=str)
def test_options_refuse_nonsense(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(bad))):
        made(**bad)


def test_an_encoder_says_which_distances_and_epsilon_it_has(model: Transformer) -> None:
    with pytest.raises(InputError, match=rf"write distances = {CLASSES}; epsilon is 1e-12"):
        made(model.options.pretrained, layers=LAYERS)


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


def test_a_model_goes_on_with_the_distances_it_has(model: Transformer, tmp_path: Path) -> None:
    model.save(tmp_path)
    for other in (0, 8):
        with pytest.raises(ModelError, match=f"has distances = {CLASSES}; go on with these"):
            Transformer.go_on(tmp_path, name="t", version="2", options={"distances": other})
    again = Transformer.go_on(tmp_path, name="t", version="2", options={"dropout": 0.2})
    assert again.options.distances == CLASSES


def check_both_ways(model: Transformer, folder: Path, *, small: float) -> Marks:
    """Export and recover a model, as floats and as bytes, which may be so far off; return what it says of windows."""
    model.save(folder / "trained")
    right = np.concatenate([np.exp(scores.tasks["mark"]) for scores in model.forward(windows())])
    for kind, apart in (("whole", 1e-4), ("small", small)):
        export(folder / "trained", folder / kind, int8=kind == "small")
        recover(folder / kind, folder / f"{kind}-back")
        for each in (folder / kind, folder / f"{kind}-back"):
            found: Any = models.load(each)
            given = np.concatenate([np.exp(scores.tasks["mark"]) for scores in found.forward(windows())])
            np.testing.assert_allclose(given, right, atol=apart)
    return right


def test_export_equals_torch_and_comes_back(model: Transformer, tmp_path: Path) -> None:
    right = check_both_ways(model, tmp_path, small=0.1)
    exported: Any = models.load(tmp_path / "whole")
    exported._at_once = None  # all in one go, with padding
    given = np.concatenate([np.exp(scores.tasks["mark"]) for scores in exported.forward(windows())])
    np.testing.assert_allclose(given, right, atol=1e-4)


def test_export_knows_the_farthest_distances(tmp_path: Path) -> None:
    far = made(vocabulary=60, positions=400, window=300, overlap=8, distances=32, seed=5)
    with torch.no_grad():
        for weight in far.network.parameters():
            weight.mul_(8)
    far.save(tmp_path / "trained")
    export(tmp_path / "trained", tmp_path / "whole")
    exported: Any = models.load(tmp_path / "whole")
    given = [Features(tuple("abcdefghij"[i % 10] for i in range(words))) for words in (290, 150, 3)]
    for right, found in zip(far.forward(given), exported.forward(given), strict=True):
        np.testing.assert_allclose(np.exp(found.tasks["mark"]), np.exp(right.tasks["mark"]), atol=1e-4)
    network = network_of(far)
    assert network.distances is not None
    with torch.no_grad():
        network.distances.weight[[15, 31]] += 3.0  # the farthest class of either side
    changed = far.forward(given)[0].tasks["mark"]
    assert np.abs(np.exp(changed) - np.exp(exported.forward(given)[0].tasks["mark"])).max() > 0.01


@pytest.mark.parametrize("own", [False, True])
def test_export_of_a_glance_knows_distances_where_it_looks_again(own: bool, tmp_path: Path) -> None:
    options: dict[str, Any] = {"layers": 4, "glance": 2, "doubted": 40}
    model = made(vocabulary=60, seed=7, distances=8, own_distances=own, **options)
    with torch.no_grad():
        for weight in model.network.parameters():
            weight.mul_(8)
    model.save(tmp_path / "trained")
    export(tmp_path / "trained", tmp_path / "whole")
    recover(tmp_path / "whole", tmp_path / "back")
    exported: Any = models.load(tmp_path / "whole")
    right = marks(model)
    np.testing.assert_allclose(marks(exported), right, atol=1e-4)
    np.testing.assert_allclose(marks(models.load(tmp_path / "back")), right, atol=1e-4)
    exported._at_once = None  # all in one go, with padding
    np.testing.assert_allclose(marks(exported), right, atol=1e-4)
    learned = network_of(model).distances
    assert learned is not None
    with torch.no_grad():
        learned.weight[:, -1] += torch.arange(8.0)  # the last layer's last head, alone or like all others
    assert np.abs(marks(model) - right).max() > 0.01


def marks(model: Any) -> Marks:
    return np.concatenate([np.exp(scores.tasks["mark"]) for scores in model.forward(windows())])


@pytest.mark.parametrize("learned", [False, True])
def test_distances_are_learned_or_stay_as_they_are(learned: bool) -> None:
    model = made(distances=8, learn_distances=learned, vocabulary=60)
    weighing = network_of(model).distances
    assert weighing is not None
    before = weighing.weight.detach().clone()
    encoded = model.encode([Transcript(tuple(parse_tokens(("the mail is going . go to the cafe . " * 9).split())))])
    model.fit(encoded, encoded, loop=LoopOptions(rate=0.01, epochs=1, warmup=0, device="cpu"), log=lambda _: None)
    after = network_of(model).distances
    assert after is not None
    assert torch.equal(after.weight, before) is not learned
