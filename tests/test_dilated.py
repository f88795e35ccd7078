"""The stack of dilated convolutions: against loops over places, with padding, and as far as it sees."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor

from interpunct.errors import ConfigError
from interpunct.features import Features
from interpunct.models.dilated import (
    EPSILON,
    NIBBLE_GAIN,
    NIBBLE_STEP,
    PAIR_FACTOR,
    RECTIFIED_STEP,
    STEEPEST,
    STEP,
    WEIGHT_STEPS,
    Dilated,
    Network,
    Product,
    bounded,
    neighbours,
)

LABELS = {"mark": ("", ",", "."), "case": ("lower", "sentence")}
WORDS = "so how are you i am fine thanks my name is anna and unbelievable".split()
TINY: dict[str, Any] = {"vocabulary": 60, "embedding": 12, "pair_embedding": 6, "width": 16, "dropout": 0.0, "batch": 4}
SHAPES: list[dict[str, Any]] = [
    {"pairs": 0, "dilations": (1, 2, 4)},
    {"pairs": 50, "dilations": (1, 3), "piece_dilations": (1, 2)},
    {"pairs": 50, "dilations": (2, 1), "inner": 24, "kernel": 5},
    {"pairs": 0, "dilations": (), "piece_dilations": (4,), "kernel": 1},
    {"pairs": 0, "dilations": (1, 2), "inner": 24, "inner_kernel": 3},
    {"pairs": 0, "dilations": (1, 2), "inner": 24, "inner_kernel": 3, "signed": True},
    {"pairs": 50, "dilations": (1, 2), "attention": (1, 2), "heads": 2, "keys": 6, "values": 8},
    {"pairs": 50, "dilations": (1, 2), "attention": (2,), "heads": 2, "keys": 6, "values": 8, "stride": 1},
    {"pairs": 50, "dilations": (2,), "table_bits": 4},
]
every_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)


def made(seed: int = 1, **options: Any) -> Dilated:
    return Dilated.create(
        name="tiny", version="1", labels=LABELS, options=TINY | options, words=WORDS * 2, seed=seed
    )  # fmt: skip


def network_of(model: Dilated) -> Network:
    return cast(Network, model.network)


def windows_of(*lengths: int) -> list[Features]:
    return [
        Features(tuple(WORDS[(5 * row + 3 * place) % len(WORDS)] for place in range(length)))
        for row, length in enumerate(lengths)
    ]


def ids(*pieces: int) -> Tensor:
    return torch.tensor([pieces])


@torch.no_grad()
def logits(model: Dilated, pieces: Tensor, words: Tensor, lengths: Tensor | None = None) -> Tensor:
    lengths = torch.tensor([pieces.shape[1]]) if lengths is None else lengths
    return cast(Tensor, model.network(pieces, lengths, words)["mark"])


def slow(model: Dilated, pieces: list[int], words: list[int]) -> dict[str, np.ndarray]:
    """One window's logits, by loops over places and taps."""
    options, state = model.options, {name: t.numpy() for name, t in model.network.state_dict().items()}

    def scaled(row: np.ndarray) -> np.ndarray:
        return np.asarray(row / np.sqrt(np.mean(row**2) + EPSILON))

    def read(name: str, rows: list[np.ndarray], dilation: int, kernel: int) -> list[np.ndarray]:
        found = []
        for place in range(len(rows)):
            around = [place + dilation * (tap - kernel // 2) for tap in range(kernel)]
            given = [rows[p] if 0 <= p < len(rows) else np.zeros_like(rows[0]) for p in around]
            found.append(state[f"{name}.weight"] @ np.concatenate(given) + state[f"{name}.bias"])
        return found

    def block(name: str, rows: list[np.ndarray], dilation: int) -> list[np.ndarray]:
        limits = (-128 * STEP, 127 * STEP) if options.signed else (0, 255 * RECTIFIED_STEP)
        given = [np.clip(scaled(row), *limits) for row in rows]
        found = read(f"{name}.reads", given, dilation, options.kernel)
        if options.inner:
            inner = [np.clip(row, 0, 255 * RECTIFIED_STEP) for row in found]
            found = read(f"{name}.writes", inner, dilation, options.inner_kernel)
        return [row + added for row, added in zip(rows, found, strict=True)]

    def attention(name: str, rows: list[np.ndarray]) -> list[np.ndarray]:
        given = [np.clip(scaled(row), -128 * STEP, 127 * STEP) for row in rows]
        asked = [state[f"{name}.asks.weight"] @ row + state[f"{name}.asks.bias"] for row in given]
        looked_at = range(0, len(rows), options.stride)
        answers = [state[f"{name}.reads.weight"] @ given[place] + state[f"{name}.reads.bias"] for place in looked_at]
        heads, keys, values = options.heads, options.keys, options.values
        steep = STEEPEST / (1 + np.exp(-state[f"{name}.sharpness"]))
        found = []
        for place, row in enumerate(asked):
            mixed = []
            for head in range(heads):
                query = row[head * keys : (head + 1) * keys]
                wins = []
                for other, answer in zip(looked_at, answers, strict=True):
                    off = other - place - state[f"{name}.shift"][head]
                    content = query @ answer[head * keys : (head + 1) * keys] / np.sqrt(keys)
                    wins.append(np.exp(content - steep[head] * off**2))
                first = heads * keys + head * values
                shares = np.array(wins) / sum(wins)
                mixed.append(sum(s * answer[first : first + values] for s, answer in zip(shares, answers, strict=True)))
            found.append(np.clip(np.concatenate(mixed), -128 * STEP, 127 * STEP))
        weight, bias = state[f"{name}.writes.weight"], state[f"{name}.writes.bias"]
        return [row + weight @ added + bias for row, added in zip(rows, found, strict=True)]

    rows = []
    for place, piece in enumerate(pieces):
        row = scaled(state["embedding.weight"][piece])
        if options.pairs:
            before = pieces[place - 1] if place else 0
            row = np.concatenate([row, state["pairs.weight"][(before * PAIR_FACTOR + piece) % options.pairs]])
        if options.table_bits == 4:
            rows.append(np.clip(row * NIBBLE_GAIN, -8 * NIBBLE_STEP, 7 * NIBBLE_STEP))
        else:
            rows.append(np.clip(row, -128 * STEP, 127 * STEP))
    rows = read("stem", rows, 1, options.kernel)
    for number, dilation in enumerate(options.piece_dilations):
        rows = block(f"piece_blocks.{number}", rows, dilation)
    rows = [rows[last] for last in words]
    for number, dilation in enumerate(options.dilations):
        rows = block(f"word_blocks.{number}", rows, dilation)
        if number + 1 in options.attention:
            rows = attention(f"attention.{number + 1}", rows)
    return {
        task: np.array([state[f"heads.{task}.weight"] @ scaled(row) + state[f"heads.{task}.bias"] for row in rows])
        for task in LABELS
    }


@every_shape
def test_network_equals_loops_over_places(shape: dict[str, Any]) -> None:
    model = made(**shape)
    with torch.no_grad():
        for name, parameter in model.network.named_parameters():
            if name.endswith("shift"):
                parameter.uniform_(-3, 3)  # heads that look before and behind
    pieces, words = [5, 9, 3, 30, 7, 7, 12, 41, 2, 8, 17], [0, 2, 3, 6, 7, 10]
    with torch.no_grad():
        found = model.network(torch.tensor([pieces]), torch.tensor([len(pieces)]), torch.tensor([words]))
    for task, expected in slow(model, pieces, words).items():
        np.testing.assert_allclose(found[task][0].numpy(), expected, atol=2e-5)


@every_shape
def test_network_does_not_see_padding(shape: dict[str, Any]) -> None:
    model = made(**shape)
    alone = logits(model, ids(5, 9, 3, 30), torch.tensor([[1, 3]]))
    for filler in (0, 11, 29):  # whatever stands there, and however many windows and words there are besides
        pieces = torch.tensor([[5, 9, 3, 30, *[filler] * 6], [4, 8, 15, 16, 23, 42, 1, 2, 3, 4]])
        words = torch.tensor([[1, 3, 0, 0, 0], [0, 2, 5, 7, 9]])
        both = logits(model, pieces, words, torch.tensor([4, 10]))
        torch.testing.assert_close(both[0, :2], alone[0], atol=1e-6, rtol=0)


@every_shape
def test_model_scores_windows_of_unequal_length_as_if_alone(shape: dict[str, Any]) -> None:
    model = made(**shape)
    given = windows_of(9, 1, 30, 4)
    for window, scores in zip(given, model.forward(given), strict=True):
        (alone,) = model.forward([window])
        assert len(scores) == len(window)
        for task in LABELS:
            np.testing.assert_allclose(scores.tasks[task], alone.tasks[task], atol=1e-6)


@pytest.mark.parametrize(
    ("shape", "reach"),
    [({"dilations": (1, 2, 4, 8)}, 15), ({"dilations": (1, 4), "inner": 20, "inner_kernel": 3, "signed": True}, 10)],
    ids=str,
)
def test_model_sees_as_many_words_as_it_says(shape: dict[str, Any], reach: int) -> None:
    model = made(pairs=0, **shape)
    assert model.options.reach == reach
    count, middle = 60, 30
    pieces, words = torch.full((1, count), 7), torch.arange(count)[None]
    before = logits(model, pieces, words)[0, middle]
    moved = []
    for place in range(count):
        changed = pieces.clone()
        changed[0, place] = 9
        if not torch.equal(logits(model, changed, words)[0, middle], before):
            moved.append(place)
    side = model.options.reach + model.options.piece_reach  # each word here is one piece, and its neighbours' as well
    assert moved == list(range(middle - side, middle + side + 1))


def test_attention_sees_the_whole_window() -> None:
    model = made(pairs=0, dilations=(1,), attention=(1,), stride=2)
    count, middle = 30, 15
    pieces, words = torch.full((1, count), 7), torch.arange(count)[None]
    before = logits(model, pieces, words)[0, middle]
    for place in range(count):
        changed = pieces.clone()
        changed[0, place] = 9
        assert not torch.equal(logits(model, changed, words)[0, middle], before), place


def test_model_sees_as_many_pieces_around_a_word_as_it_says() -> None:
    count, word = 40, 20
    pieces, words = torch.full((1, count), 7), torch.tensor([[word]])
    for pairs, more in ((0, 0), (40, 1)):
        model = made(pairs=pairs, dilations=(), piece_dilations=(1, 2), kernel=5)
        assert model.options.piece_reach == 8
        before = logits(model, pieces, words)
        changes = [pieces.clone() for _ in range(count)]
        for place, changed in enumerate(changes):
            changed[0, place] = 9
        moved = [p for p, changed in enumerate(changes) if not torch.equal(logits(model, changed, words), before)]
        assert moved == list(range(word - 8 - more, word + 8 + 1))


def test_defaults_see_forty_words_and_pieces() -> None:
    options = Dilated.OPTIONS()
    assert options.reach + options.piece_reach >= 39
    assert options.overlap < options.window


def test_neighbours_stand_in_order_of_place() -> None:
    states = torch.arange(1.0, 6.0).reshape(1, 5, 1)
    assert neighbours(states, 3, 2)[0].tolist() == [[0, 1, 3], [0, 2, 4], [1, 3, 5], [2, 4, 0], [3, 5, 0]]


def test_bounded_rounds_to_steps_and_lets_the_gradient_through() -> None:
    given = torch.tensor([-1.0, 0.26, 0.9, 7.0], requires_grad=True)
    found = bounded(given, 0, 4, 0.5, rounds=True)
    torch.testing.assert_close(found, torch.tensor([0.0, 0.5, 1.0, 2.0]))
    found.sum().backward()  # type: ignore[no-untyped-call]
    assert given.grad is not None
    assert given.grad.tolist() == [0, 1, 1, 0]  # what is cut off has none


def test_product_rounds_weights_to_seven_bits_in_training_alone() -> None:
    product = Product(40, 3, rounds=True)
    weight = product.weight.detach()
    torch.testing.assert_close(product.eval()(torch.eye(40)) - product.bias, weight.T)
    rounded = (product.train()(torch.eye(40)) - product.bias).detach().T
    steps = rounded / (weight.abs().amax(dim=1, keepdim=True) / WEIGHT_STEPS)
    torch.testing.assert_close(steps, steps.round(), atol=1e-3, rtol=0)
    assert steps.abs().max() == pytest.approx(WEIGHT_STEPS, abs=1e-3)
    assert 0 < (rounded - weight).abs().max() < weight.abs().max() / WEIGHT_STEPS


@pytest.mark.parametrize("rounded", [False, True])
def test_every_parameter_learns(rounded: bool) -> None:
    model = made(
        pairs=50, dilations=(1, 2), piece_dilations=(1,), inner=20, inner_kernel=3, rounded=rounded,
        attention=(1,), heads=2, keys=4, values=6, window=12, overlap=4, table_bits=4,
    )  # fmt: skip
    network = model.network.train()
    pieces, words = torch.randint(2, 40, (3, 20)), torch.arange(0, 20, 2).repeat(3, 1)
    found = network(pieces, torch.tensor([20, 20, 20]), words)
    sum(values.square().sum() for values in found.values()).backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


# A CPU that has no bfloat16: torch says so, and computes it all the same.
@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")
def test_network_is_one_graph_and_takes_bfloat16() -> None:
    """Nothing in it waits for a device, or makes the compiler give up."""
    model = made(pairs=50, dilations=(1, 2), attention=(2,), heads=2)
    pieces, words = torch.randint(2, 40, (3, 20)), torch.arange(0, 20, 2).repeat(3, 1)
    given = (pieces, torch.tensor([20, 12, 20]), words)
    compiled = torch.compile(model.network, backend="eager", fullgraph=True)
    with torch.no_grad():
        exact = model.network(*given)
        torch.testing.assert_close(compiled(*given), exact)
        with torch.autocast("cpu", torch.bfloat16):
            rough = model.network(*given)
    assert rough["mark"].dtype == torch.bfloat16
    torch.testing.assert_close(rough["mark"].float(), exact["mark"], atol=0.1, rtol=0)


def test_model_saved_and_loaded_gives_the_same_scores(tmp_path: Path) -> None:
    model = made(dilations=(1, 2), pairs=50)
    model.save(tmp_path / "m")
    again = Dilated.load(tmp_path / "m")
    assert again.options == model.options
    (one,), (other,) = model.forward(windows_of(12)), again.forward(windows_of(12))
    for task in LABELS:
        np.testing.assert_array_equal(one.tasks[task], other.tasks[task])


@pytest.mark.parametrize(
    "bad",
    [
        {"kernel": 4}, {"width": 0}, {"pairs": -1}, {"dilations": (1, 0)}, {"inner": -1},
        {"inner_kernel": 3}, {"inner_kernel": 2, "inner": 8}, {"attention": (9,)}, {"attention": (1, 1)},
        {"signed": True}, {"table_bits": 5}, {"table_bits": 4, "embedding": 7},
    ],
)  # fmt: skip
def test_options_refuse_nonsense(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(bad))):
        made(**bad)
