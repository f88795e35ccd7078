"""A narrower network cut out of a trained one, and networks whose heads are narrower than their states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from cut import main as cut_main
from interpunct import models
from interpunct.cases import CASES
from interpunct.errors import ConfigError, InputError, ModelError
from interpunct.labels import MARKS, parse_tokens
from interpunct.models import type_named
from interpunct.models.pretrained_encoder import convert
from interpunct.models.transformer import Layer, Transformer
from interpunct.train.cut import Sizes, cut, eliminated, gradients
from interpunct.train.drawn import drawn
from interpunct.train.pack import Pack
from interpunct.transcript import Transcript
from published_encoders import (
    CLASSES,
    EPSILON,
    HEADS,
    INNER,
    LAYERS,
    WIDTH,
    mpnet_weights,
    write_beside,
    write_safetensors,
)  # fmt: skip
from test_distances import check_both_ways, windows
from test_transformer import made, network_of

HEAD = WIDTH // HEADS


def grown(**changes: Any) -> Transformer:
    """A model whose weights are larger than a new network's, so that its answers differ."""
    found = made(vocabulary=60, seed=3, distances=8, **changes)
    with torch.no_grad():
        for weight in found.network.parameters():
            weight.mul_(8)
    return found


def pieces(windows: int = 60) -> Tensor:
    return torch.randint(2, 25, (windows, 16), generator=torch.Generator().manual_seed(1))


def layers_of(model: Transformer) -> list[Layer]:
    return [layer for layer in network_of(model).layers if isinstance(layer, Layer)]


def answers(model: Transformer) -> Tensor:
    words = torch.arange(16).expand(5, -1)
    with torch.no_grad():
        found: Tensor = network_of(model)(pieces()[:5], None, words)["mark"].softmax(dim=-1)
    return found


def apart(one: Transformer, other: Transformer) -> float:
    return float((answers(one) - answers(other)).abs().mean())


# Heads that are narrower than the states


OWN = {"distances": 8, "own_distances": True}
GLANCE = {"glance": 1, "doubted": 100}


@pytest.mark.parametrize("changes", [{}, {"distances": 8}, OWN, GLANCE, GLANCE | OWN])
def test_narrow_heads_are_exported_as_they_are(changes: dict[str, Any], tmp_path: Path) -> None:
    model = made(vocabulary=60, seed=4, heads=3, head=2, inner=6, **changes)
    with torch.no_grad():
        for weight in model.network.parameters():
            weight.mul_(8)
    check_both_ways(model, tmp_path, small=0.2)


def test_layers_weigh_distances_by_themselves() -> None:
    model = made(vocabulary=60, heads=2, distances=8, own_distances=True)
    network = network_of(model)
    assert network.distances is not None
    assert network.distances.weight.shape == (8, 2 * len(network.layers))
    before = answers(model)
    with torch.no_grad():
        network.distances.weight[:, 2:] += torch.arange(8.0)[:, None]  # the second layer's alone
        first = network.layers[0](torch.ones(1, 16, WIDTH), network.masks(16, None)[0])
        second = network.masks(16, None)[1]
    assert second is not None
    assert float(second.abs().max()) > 5 > float(first.abs().max())
    assert not torch.allclose(answers(model), before)


def test_options_refuse_nonsense() -> None:
    with pytest.raises(ConfigError, match="own_distances needs distances"):
        made(own_distances=True)
    with pytest.raises(ConfigError, match="or head given"):
        made(heads=3)
    with pytest.raises(ConfigError, match="head 0 is too small"):
        made(head=0)


def test_a_model_with_narrow_heads_goes_on(tmp_path: Path) -> None:
    model = grown(heads=3, head=2, own_distances=True)
    model.save(tmp_path)
    again = Transformer.go_on(tmp_path, name="t", version="2", options={"dropout": 0.2})
    assert apart(model, again) == 0
    with pytest.raises(ModelError, match="another shape"):
        Transformer.go_on(tmp_path, name="t", version="2", options={"own_distances": False})


# Least squares with ever fewer features


def test_what_others_can_stand_in_for_goes_first() -> None:
    generator = torch.Generator().manual_seed(1)
    features = torch.randn(200, 6, generator=generator, dtype=torch.float64)
    features[:, 2] = features[:, 0] - 2 * features[:, 4] + 1e-3 * features[:, 2]
    wanted = features @ torch.randn(6, 3, generator=generator, dtype=torch.float64)
    kept, matrix = eliminated(features.T @ features, features.T @ wanted, torch.eye(3).double(), left=5, group=1)
    assert len(kept) == 5
    assert {0, 2, 4} - set(kept.tolist()), "one of the three says what the other two say"
    torch.testing.assert_close(features[:, kept] @ matrix, wanted, atol=0.05, rtol=0)


def test_eliminated_fits_what_is_left_as_well_as_can_be() -> None:
    generator = torch.Generator().manual_seed(2)
    features = torch.randn(300, 40, generator=generator, dtype=torch.float64) @ torch.randn(
        40, 40, generator=generator, dtype=torch.float64
    )
    wanted = torch.randn(300, 4, generator=generator, dtype=torch.float64) + features[:, :4]
    for group, left in ((1, 7), (8, 2)):
        kept, matrix = eliminated(
            features.T @ features, features.T @ wanted, torch.eye(4).double(), left=left, group=group
        )
        assert len(kept) == left * group
        assert (kept.view(left, group) % group == torch.arange(group)).all() or group == 1
        best = torch.linalg.lstsq(features[:, kept], wanted).solution
        torch.testing.assert_close(matrix, best, atol=1e-6, rtol=1e-6)


def test_errors_that_change_no_answer_count_nothing() -> None:
    """Each feature is wanted in one direction; which one is given up depends on what the directions count."""
    squares, products = torch.eye(2).double(), torch.eye(2).double()
    for counted in (0, 1):
        counts = torch.zeros(2, 2, dtype=torch.float64)
        counts[counted, counted] = 1
        kept, _ = eliminated(squares, products, counts, left=1, group=1)
        assert kept.tolist() == [counted]


# Networks


def test_a_network_that_keeps_everything_stays_as_it_is() -> None:
    model = grown()
    same = cut(model, pieces(), Sizes(HEADS, INNER), graded=8)
    assert same.options.own_distances
    assert apart(model, same) < 0.01


def test_what_does_nothing_goes() -> None:
    model = grown()
    dead = torch.tensor([1, 2, 5, 7])
    with torch.no_grad():
        for layer in layers_of(model):
            layer.down.weight[:, dead] = 0
            layer.output.weight[:, :HEAD] = 0  # the first head
    told: list[str] = []
    narrow = cut(model, pieces(), Sizes(HEADS - 1, INNER - len(dead)), graded=8, told=told.append)
    assert (narrow.options.heads, narrow.options.head, narrow.options.inner) == (HEADS - 1, HEAD, INNER - len(dead))
    assert apart(model, narrow) < 0.01
    assert any("layer 2: heads [1]" in line for line in told)
    for before, after in zip(layers_of(model), layers_of(narrow), strict=True):
        stays = [number for number in range(INNER) if number not in dead]
        torch.testing.assert_close(after.up.weight, before.up.weight[stays])


def test_a_cut_network_answers_nearly_as_the_whole_and_goes_on(tmp_path: Path) -> None:
    model = grown()
    narrow = cut(model, pieces(200), Sizes(HEADS, INNER - 4), graded=16)
    plain = cut(model, pieces(200), Sizes(HEADS, INNER - 4), graded=16)
    with torch.no_grad():
        for whole, layer in zip(layers_of(model), layers_of(plain), strict=True):
            layer.up.weight.copy_(whole.up.weight[: INNER - 4])
            layer.up.bias.copy_(whole.up.bias[: INNER - 4])
            layer.down.weight.copy_(whole.down.weight[:, : INNER - 4])
            layer.down.bias.copy_(whole.down.bias)
    assert apart(model, narrow) < 0.7 * apart(model, plain), "chosen and fitted, it is nearer than what comes first"
    narrow.save(tmp_path)
    assert apart(narrow, Transformer.go_on(tmp_path, name="t", version="2", options={})) == 0


def test_gradients_are_of_the_networks_own_answers() -> None:
    model = grown()
    sums = [norm for layer in layers_of(model) for norm in (layer.output_norm, layer.down_norm)]
    found = gradients(network_of(model), pieces(8), before=sums)
    assert len(found) == 2 * len(network_of(model).layers)
    for each in found:
        torch.testing.assert_close(each.diagonal().mean(), torch.tensor(1.0))
        assert float(torch.linalg.eigvalsh(each).min()) > -1e-4
    assert all(weight.grad is None for weight in model.network.parameters())


@pytest.mark.parametrize(("sizes", "graded"), [(Sizes(0, 4), 2), (Sizes(1, 0), 2), (Sizes(1, 4), 0)])
def test_nothing_cannot_be_left(sizes: Sizes, graded: int) -> None:
    with pytest.raises(InputError, match="one at least of each"):
        cut(grown(), pieces(4), sizes, graded=graded)


def test_packs_too_short_for_a_window_are_refused() -> None:
    short = Pack.of([Transcript(tuple(parse_tokens("Go, the mail.".split())))], sources=["iwslt:train"])
    model = made(vocabulary=60)
    with pytest.raises(InputError, match="a pack of 3 words is too short for windows of 16 pieces"):
        drawn(model, [short], 2)
    with pytest.raises(InputError, match="0 windows are none"):
        drawn(model, [short], 0)


def test_no_more_can_be_left_than_there_is() -> None:
    for sizes in (Sizes(HEADS + 1, INNER), Sizes(HEADS, INNER + 1)):
        with pytest.raises(ModelError, match="cannot be cut"):
            cut(grown(), pieces(4), sizes, graded=2)
    with pytest.raises(ModelError, match="cannot be cut"):
        cut(made(vocabulary=60, glance=1), pieces(4), Sizes(1, 2), graded=2)


# The command


def test_command_cuts_pieces_heads_and_inner_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_beside(tmp_path, model_type="mpnet", layer_norm_eps=EPSILON)
    encoder = tmp_path / "mpnet.npz"
    convert(write_safetensors(mpnet_weights(), tmp_path / "model.safetensors"), encoder)
    teacher: Any = made(encoder, layers=LAYERS, distances=CLASSES, epsilon=EPSILON, pieces=12)
    teacher.save(tmp_path / "teacher")
    spoken = "Don't go, the mail is going. " * 40
    pack = tmp_path / "spoken.pack"
    Pack.of([Transcript(tuple(parse_tokens(spoken.split())))], sources=["iwslt:train"]).save(pack)
    monkeypatch.setattr("sys.argv", [
        "cut.py", str(tmp_path / "teacher"), "-o", str(tmp_path / "cut"), "--encoder", str(encoder),
        "--packs", str(pack), "--pieces", "66", "--heads", "1", "--inner", "5", "--windows", "12", "--graded", "4",
    ])  # fmt: skip
    assert cut_main() == 0
    found: Any = models.load(tmp_path / "cut")
    assert (found.options.heads, found.options.inner, len(found.vocabulary)) == (1, 5, 66)
    names = found.vocabulary.names()
    assert {"don", "the", "mail", "##ing"} <= set(names)
    assert "cafe" not in names
    whole = teacher.vocabulary.names()
    for piece in ("don", "##t", "mail"):
        torch.testing.assert_close(
            network_of(found).embedding.weight[names.index(piece)],
            network_of(teacher).embedding.weight[whole.index(piece)],
        )
    assert len(found.forward(windows())) == len(windows())
    monkeypatch.setattr("sys.argv", ["cut.py", str(tmp_path / "teacher"), "-o", str(tmp_path / "teacher")])
    assert cut_main() == 1
    assert "be written over" in capsys.readouterr().err


def test_command_cuts_transformers_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bigru = type_named("bigru").create(
        name="b", version="1", labels={"mark": MARKS, "case": CASES},
        options={"vocabulary": 60, "embedding": 8, "hidden": 8, "layers": 1}, words=["the", "going"],
    )  # fmt: skip
    bigru.save(tmp_path / "teacher")
    monkeypatch.setattr("sys.argv", ["cut.py", str(tmp_path / "teacher"), "-o", str(tmp_path / "cut")])
    assert cut_main() == 1
    assert "only a transformer can be cut" in capsys.readouterr().err
