"""What each network of papers 001 and 002's peers sees, against slow and obvious versions of them."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor, nn

from interpunct.errors import ConfigError
from interpunct.features import Features
from interpunct.models import tbrnn, type_named, word_window
from interpunct.models.encoded import IGNORED
from interpunct.models.loop_options import LoopOptions
from interpunct.models.scores import Scores
from interpunct.models.shown import Batch
from interpunct.transcript import Transcript, Word

WORDS = tuple("so how are you today my old friend bob and anna".split())
LABELS = {"mark": ("", ",", ".")}
SIZES: dict[str, dict[str, Any]] = {
    "dnn": {"embedding": 6, "static": False, "layers": (16, 12)},
    "cnn1": {"embedding": 6, "static": False, "filters": 8, "layers": (16,)},
    "cnn2": {"embedding": 6, "static": False, "filters": (4, 6, 6), "layers": (16,)},
    "tlstm": {"embedding": 6, "units": 8},
    "tbrnn": {"embedding": 6, "units": 8},
}
WINDOWED = ("dnn", "cnn1", "cnn2")
EXACT = 1e-6
CHANGED = 1e-5

every_network = pytest.mark.parametrize("kind", sorted(SIZES))
every_window = pytest.mark.parametrize("kind", WINDOWED)


def untrained(kind: str, labels: dict[str, tuple[str, ...]] | None = None, **options: Any) -> Any:
    return type_named(kind).create(
        name="tiny", version="1", labels=labels or LABELS, options=SIZES[kind] | options, words=WORDS, seed=3
    )


def marks(model: Any, *texts: list[str]) -> list[npt.NDArray[Any]]:
    found: list[Scores] = model.forward([Features.of(text) for text in texts])
    return [scores.tasks["mark"] for scores in found]


def changed_by(model: Any, text: list[str], place: int) -> set[int]:
    """Return the words whose scores change with the word at a place."""
    other = [*text[:place], "anna", *text[place + 1 :]]
    one, two = marks(model, text)[0], marks(model, other)[0]
    difference = np.abs(one - two).max(axis=1)
    assert not np.any((difference > EXACT) & (difference < CHANGED)), "neither the same nor changed"
    return set(np.flatnonzero(difference > EXACT).tolist())


@every_network
def test_network_scores_do_not_depend_on_padding(kind: str) -> None:
    model = untrained(kind)
    texts = [["bob"], list(WORDS), list(WORDS[3:6])]
    for alone, together in zip([marks(model, text)[0] for text in texts], marks(model, *texts), strict=True):
        np.testing.assert_allclose(alone, together, atol=EXACT)


@every_network
def test_network_has_a_branch_for_each_task(kind: str) -> None:
    model = untrained(kind, {"mark": ("", "."), "case": ("lower", "upper", "title")})
    (scores,) = model.forward([Features.of(WORDS)])
    assert {task: logs.shape for task, logs in scores.tasks.items()} == {"mark": (11, 2), "case": (11, 3)}


@every_window
@pytest.mark.parametrize("place", [0, 1, 5, 9])
def test_window_network_sees_two_words_on_each_side(kind: str, place: int) -> None:
    expected = {place + step for step in range(-2, 3)} & set(range(10))
    assert changed_by(untrained(kind), list(WORDS[:10]), place) == expected


@every_window
def test_window_network_asks_for_vectors(kind: str) -> None:
    with pytest.raises(ConfigError, match="static words need vectors"):
        untrained(kind, static=True)


@every_window
def test_window_network_reads_zeros_beyond_the_text(kind: str) -> None:
    """A word whose vector is zero stands for the edge."""
    model = untrained(kind)
    with torch.no_grad():
        model.network.input.tables[0].weight[model.vocabulary.ids("so")[0]] = 0
    middle = list(WORDS[3:6])
    inside = marks(model, ["so", "so", *middle, "so", "so"])[0][2:5]
    np.testing.assert_allclose(marks(model, middle)[0], inside, atol=EXACT)


def test_dnn_and_cnn1_equal_slow_versions() -> None:
    """Paper 001, section 2.2, word by word and filter by filter."""
    for kind in ("dnn", "cnn1"):
        model = untrained(kind)
        weights = {name: value.double().numpy() for name, value in model.network.state_dict().items()}
        table = weights["input.tables.0.weight"]
        nothing = np.zeros(6)
        vectors = [nothing, nothing, *(table[model.vocabulary.ids(word)[0]] for word in WORDS), nothing, nothing]
        expected = []
        for place in range(len(WORDS)):
            matrix = np.stack(vectors[place : place + 5])
            row = matrix.reshape(-1) if kind == "dnn" else _maxima(matrix, weights)
            for layer in range(len(SIZES[kind]["layers"])):
                name = f"hidden.{3 * layer}"
                row = 1 / (1 + np.exp(-(weights[f"{name}.weight"] @ row + weights[f"{name}.bias"]))) - 0.5
            scores = weights["branches.mark.weight"] @ row + weights["branches.mark.bias"]
            expected.append(scores - np.log(np.exp(scores).sum()))
        np.testing.assert_allclose(marks(model, list(WORDS))[0], np.stack(expected), atol=1e-5)


def _maxima(matrix: npt.NDArray[Any], weights: dict[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
    found = []
    for height in range(1, 5):
        filters, bias = weights[f"reader.heights.{height - 1}.weight"], weights[f"reader.heights.{height - 1}.bias"]
        for number in range(len(filters)):  # a filter is embedding × height
            slid = [(matrix[top : top + height] * filters[number].T).sum() for top in range(5 - height + 1)]
            found.append(max(0.0, max(slid) + bias[number]))
    return np.array(found)


def test_cnn2_reads_an_image_that_is_pooled_once() -> None:
    """The paper's filters: 5 × 50 pixels, halved and rounded up behind the first convolution."""
    filters = type_named("cnn2").OPTIONS(static=False).filters
    network = untrained("cnn2", embedding=50, filters=filters, layers=(3,)).network
    assert network.reader[:-1](torch.zeros(7, 5, 50)).shape == (7, 128, 3, 25)
    assert network.hidden[0].weight.shape == (3, 128 * 3 * 25)


@every_window
def test_window_network_reads_a_document_in_parts(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = untrained(kind)
    texts = [list(WORDS) * 2, ["bob"], list(WORDS[:7])]
    whole = marks(model, *texts)
    rows: list[int] = []
    model.network.reader.register_forward_hook(lambda _module, given, _found: rows.append(len(given[0])))
    monkeypatch.setattr(word_window, "PLACES_AT_ONCE", 4)
    for one, other in zip(whole, marks(model, *texts), strict=True):
        np.testing.assert_allclose(one, other, atol=EXACT)
    assert rows == [4] * 7 + [2]  # 22 + 1 + 7 words, none for the padding


def test_squared_loss_is_the_papers() -> None:
    """Eq. 1: the sum over samples of |softmax − label|² by 2 N, over the words whose label is known."""
    model = untrained("dnn")
    logits = torch.randn(2, 3, 3, generator=torch.Generator().manual_seed(1))
    labels = torch.tensor([[0, 2, IGNORED], [1, IGNORED, 0]])
    batch = Batch(torch.zeros(2, 3), torch.zeros(2), torch.zeros(2, 3), {"mark": labels}, {})
    loss = float(model.task_loss("mark", logits, batch))
    assert loss == pytest.approx(_half_mean_square(logits, labels, np.eye(3)[labels.clamp(min=0).numpy()]), rel=1e-5)

    targets = torch.softmax(torch.randn(2, 3, 3, generator=torch.Generator().manual_seed(2)), dim=-1)
    taught = replace(batch, targets={"mark": targets})
    mixed = 0.7 * loss + 0.3 * _half_mean_square(logits, labels, targets.numpy())
    assert float(untrained("dnn", distil=0.3).task_loss("mark", logits, taught)) == pytest.approx(mixed, rel=1e-5)

    cross = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED)
    assert float(untrained("dnn", loss="cross_entropy").task_loss("mark", logits, batch)) == pytest.approx(float(cross))


def _half_mean_square(logits: Tensor, labels: Tensor, right: npt.NDArray[Any]) -> float:
    total, count = 0.0, 0
    for row, column in np.argwhere(labels.numpy() != IGNORED):
        guess = np.exp(logits[row, column].numpy())
        total += float(((guess / guess.sum() - right[row, column]) ** 2).sum())
        count += 1
    return total / (2 * count)


def crossed(count: int, seed: int) -> Transcript:
    """Return words of two kinds, a full stop after each that the next one differs from: no sum over words tells it."""
    texts = random.Random(seed).choices(["bob", "anna"], k=count)
    following = [*texts[1:], texts[-1]]
    return Transcript(
        tuple(Word(one, mark="." if one != two else "") for one, two in zip(texts, following, strict=True))
    )


def learned(kind: str, **options: Any) -> float:
    """Return the share of a new text's words that a model labels rightly once it has learned."""
    show = {"window": 100, "batch": 1, "dropout": 0.0}
    model = untrained(kind, {"mark": ("", ".")}, **show, **options)
    data = model.encode([crossed(800, 1)])
    model.fit(data, data, loop=LoopOptions(epochs=15, rate=1e-2, device="cpu"), log=lambda _: None)
    new = crossed(200, 2)
    guess = marks(model, [word.text for word in new.words])[0].argmax(axis=1)
    return float(np.mean(guess == [word.mark == "." for word in new.words]))


@every_window
def test_window_network_learns_what_no_sum_over_words_tells(kind: str) -> None:
    assert learned(kind, layers=(32, 16)) > 0.95


def test_dnn_without_hidden_layers_is_linear_and_cannot() -> None:
    assert learned("dnn", layers=()) < 0.75


def test_dnn_of_three_sigmoid_layers_hands_on_what_it_reads() -> None:
    """Before it learns: words still look different behind the last layer, which the usual weights would undo."""
    layers = word_window.sigmoid_layers(250, (512, 1024, 512), dropout=0.5).eval()
    with torch.no_grad():
        out = layers(torch.randn(64, 250, generator=torch.Generator().manual_seed(1)))
    assert 0.1 < float(out.std(dim=0).mean()) < 0.4  # of at most 0.5


def test_tlstm_reads_one_word_beyond_the_place() -> None:
    text = list(WORDS[:9])
    assert changed_by(untrained("tlstm"), text, 5) == {4, 5, 6, 7, 8}
    assert changed_by(untrained("tlstm"), text, 0) == set(range(9))


def test_tlstm_reads_padding_behind_the_last_word() -> None:
    """A word whose vector is zero stands for the end, and the end for it."""
    model = untrained("tlstm")
    with torch.no_grad():
        model.network.input.tables[0].weight[model.vocabulary.ids("so")[0]] = 0
    longer = marks(model, ["my", "old", "friend", "so"])[0]
    np.testing.assert_allclose(marks(model, ["my", "old", "friend"])[0], longer[:3], atol=EXACT)


def test_tbrnn_sees_far_words() -> None:
    model, text = untrained("tbrnn"), list(WORDS[:10])
    for place in (0, 9):
        assert changed_by(model, text, place) == set(range(10))


def test_tbrnn_equals_a_slow_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Word by word, with the attention of the state before; computed at once, and in parts."""
    model = untrained("tbrnn")
    expected = _slow_tbrnn(model.network, torch.tensor([model.vocabulary.ids(word) for word in WORDS]))
    np.testing.assert_allclose(marks(model, list(WORDS))[0], expected, atol=1e-5)
    monkeypatch.setattr(tbrnn, "NUMBERS_AT_ONCE", 2 * 2 * len(WORDS) * 16)  # two queries of two windows
    parts: list[int] = []
    model.network.attention.fit.register_forward_hook(lambda _module, given, _found: parts.append(given[0].shape[1]))
    np.testing.assert_allclose(marks(model, list(WORDS), ["bob"])[0], expected, atol=1e-5)
    assert parts == [2] * 5 + [1]


@torch.no_grad()
def _slow_tbrnn(network: Any, ids: Tensor) -> npt.NDArray[Any]:
    """Return a window's log-probabilities, from ids (words × 1)."""
    vectors = network.input(ids)  # (words, 1, embedding)
    around = network.both_ways(vectors.transpose(0, 1))[0][0]  # (words, 2 · units)
    state = torch.zeros(1, 1, network.onward.hidden_size)
    rows = []
    for place in range(len(ids)):
        asked = network.attention.query.weight @ state[0, 0]
        fits = torch.stack(
            [network.attention.fit.weight[0] @ torch.tanh(asked + network.attention.state(h)) for h in around]
        )
        attended = sum(weight * h for weight, h in zip(torch.softmax(fits, dim=0), around, strict=True))
        _, state = network.onward(around[None, place : place + 1], state)
        s = state[0, 0]
        lfc = network.fused.weight @ attended
        gate = torch.sigmoid(
            network.gate_of_fused.weight @ lfc + network.gate_of_state.weight @ s + network.gate_of_state.bias
        )
        rows.append(torch.log_softmax(network.branches["mark"](lfc * gate + s), dim=-1))
    found: npt.NDArray[Any] = torch.stack(rows).numpy()
    return found


@pytest.mark.parametrize(
    ("kind", "options"), [("dnn", {"layers": [4, 0]}), ("cnn2", {"filters": []}), ("dnn", {"loss": "cubed"})]
)
def test_options_refuse_nonsense(kind: str, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        untrained(kind, **options)
