"""The Llama type: its network against slow versions of its parts, and a pretrained network read from a GGUF file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
import torch

from gguf_files import CONTROL, Weights, gguf_tokens, gguf_weights, write_gguf
from interpunct.decode.windows import scored
from interpunct.errors import ConfigError, InputError, MissingExtraError, ModelError
from interpunct.features import Features
from interpunct.labels import parse_text
from interpunct.models.llama import Attention, Llama, LlamaOptions, Network, rotated, rotation
from interpunct.models.loop_options import LoopOptions
from interpunct.models.pieces import Pieces
from interpunct.transcript import Transcript

Write = Callable[..., tuple[Path, Weights]]
Floats = npt.NDArray[np.float64]
WORDS = "so how are you i am fine thanks my name is anna".split()
LABELS = {"mark": ("", ",", "."), "case": ("lower", "sentence")}
SHAPE: dict[str, Any] = {"width": 32, "layers": 2, "heads": 4, "kv_heads": 2, "inner": 64, "theta": 1000.0}
"""A network in small; its weights' rows can be quantised, 32 numbers at a time."""


def made(seed: int = 1, **options: Any) -> Llama:
    return Llama.create(name="tiny", version="1", labels=LABELS, options=options, words=WORDS, seed=seed)


def tiny(**options: Any) -> Llama:
    return made(**SHAPE, vocabulary=60, **options)


def network_of(model: Llama) -> Network:
    return cast(Network, model.network)


def complex_turn(vectors: Floats, theta: float) -> npt.NDArray[np.complex128]:
    """Rotate pairs that stand side by side: places × pairs × 2 → complex numbers."""
    places, pairs, _ = vectors.shape
    angles = np.arange(places)[:, None] * theta ** (-np.arange(pairs) / pairs)
    turned: npt.NDArray[np.complex128] = (vectors[..., 0] + 1j * vectors[..., 1]) * np.exp(1j * angles)
    return turned


def slow_attention(
    queries: Floats, keys: Floats, values: Floats, kv_heads: int, theta: float, visible: npt.NDArray[np.bool_]
) -> Floats:
    """Attend head by head and place by place: places × numbers of all heads; rotated pairs stand side by side."""
    places, heads = len(queries), len(queries[0]) * kv_heads // len(keys[0])
    size = queries.shape[1] // heads
    found = np.zeros_like(queries)
    for head in range(heads):
        shared = head * kv_heads // heads
        own, others = slice(head * size, (head + 1) * size), slice(shared * size, (shared + 1) * size)
        turned = complex_turn(queries[:, own].reshape(places, -1, 2), theta)
        read = complex_turn(keys[:, others].reshape(places, -1, 2), theta)
        for place in range(places):
            logits = (turned[place] * read.conj()).real.sum(axis=1) / np.sqrt(size)
            shares = np.where(visible[place], np.exp(logits - logits.max()), 0)
            found[place, own] = (shares / shares.sum()) @ values[:, others]
    return found


def side_by_side(rows: Floats, heads: int) -> Floats:
    """Put a head's two halves (along the first axis) side by side, as files have them."""
    halves = rows.reshape(heads, 2, -1, *rows.shape[1:])
    return np.concatenate([np.stack(list(pair), axis=1).reshape(-1, *rows.shape[1:]) for pair in halves])


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_attention_agrees_with_a_slow_loop(kv_heads: int) -> None:
    torch.manual_seed(1)
    attention = Attention(LlamaOptions(**SHAPE | {"kv_heads": kv_heads}))
    states, length = torch.randn(1, 7, 32), 5
    visible = np.tile(np.arange(7) < length, (7, 1))
    paces = SHAPE["theta"] ** (-torch.arange(4) / 4)
    with torch.no_grad():
        turn = rotation(torch.arange(7), paces)
        fast = attention(states, turn, torch.from_numpy(visible[None, None])).numpy()[0]
    normed = states[0].double().numpy()
    normed /= np.sqrt((normed**2).mean(axis=1, keepdims=True) + 1e-5)
    matrix = attention.input.weight.detach().double().numpy()
    queries, keys, values = np.split(matrix, [32, 32 + 8 * kv_heads])
    slow = slow_attention(
        normed @ side_by_side(queries, 4).T, normed @ side_by_side(keys, kv_heads).T, normed @ values.T,
        kv_heads, SHAPE["theta"], visible,
    )  # fmt: skip
    np.testing.assert_allclose(fast, slow @ attention.output.weight.detach().double().numpy().T, atol=1e-5)


def test_rotation_depends_on_distance_alone() -> None:
    torch.manual_seed(1)
    queries, keys, paces = torch.randn(6, 16), torch.randn(6, 16), 1000.0 ** (-torch.arange(8) / 8)

    def scores(first: int, other: int) -> Any:
        here, there = rotation(torch.arange(6) + first, paces), rotation(torch.arange(6) + other, paces)
        return (rotated(queries, here) @ rotated(keys, there).T).numpy()

    np.testing.assert_allclose(scores(0, 0), scores(37, 37), atol=1e-4)
    assert not np.allclose(scores(0, 0), scores(0, 1), atol=0.1)
    np.testing.assert_allclose(rotated(queries, rotation(torch.arange(6), paces)).norm(dim=1), queries.norm(dim=1))


@torch.no_grad()
def test_network_does_not_look_at_padding() -> None:
    network = network_of(tiny())
    pieces, words = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[0, 2, 3]])
    alone = network(pieces, torch.tensor([4]), words)
    padded = torch.tensor([[5, 6, 7, 8, 9, 3], [4, 4, 4, 4, 4, 4]])
    both = network(padded, torch.tensor([4, 6]), words.expand(2, -1))
    for task, logits in alone.items():
        torch.testing.assert_close(both[task][:1], logits)
    assert not torch.allclose(network(padded[:1], torch.tensor([6]), words)["mark"], alone["mark"], atol=1e-3)


@torch.no_grad()
def test_network_reads_what_follows_unless_it_is_hidden() -> None:
    trunk = network_of(tiny()).trunk
    one, other = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[5, 6, 7, 9]])
    everything, past = torch.ones(1, 1, 4, 4, dtype=torch.bool), torch.ones(1, 1, 4, 4, dtype=torch.bool).tril()
    assert not torch.allclose(trunk(one, everything)[0, 0], trunk(other, everything)[0, 0], atol=1e-3)
    torch.testing.assert_close(trunk(one, past)[0, :3], trunk(other, past)[0, :3])


@torch.no_grad()
def test_causal_layers_read_what_came_before_alone() -> None:
    one, other = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[5, 6, 7, 9]])
    past = torch.ones(1, 1, 4, 4, dtype=torch.bool).tril()
    whole, half = (network_of(tiny(causal=layers)).trunk for layers in (2, 1))
    torch.testing.assert_close(whole(one, None), network_of(tiny()).trunk(one, past))
    torch.testing.assert_close(whole(one, None)[0, :3], whole(other, None)[0, :3])
    assert not torch.allclose(half(one, None)[0, 0], half(other, None)[0, 0], atol=1e-3)
    half.layers = half.layers[:1]
    torch.testing.assert_close(half(one, None)[0, :3], half(other, None)[0, :3])


@torch.no_grad()
def test_causal_layers_do_not_look_at_padding() -> None:
    network = network_of(tiny(causal=1))
    alone = network(torch.tensor([[5, 6, 7]]), None, torch.tensor([[0, 2]]))
    padded = network(torch.tensor([[5, 6, 7, 9]]), torch.tensor([3]), torch.tensor([[0, 2]]))
    torch.testing.assert_close(padded["mark"], alone["mark"])


@torch.no_grad()
def test_network_in_bfloat16_is_nearly_the_same() -> None:
    network = network_of(tiny())
    given = torch.tensor([[5, 6, 7, 8], [5, 6, 0, 0]]), torch.tensor([4, 2]), torch.tensor([[0, 3], [1, 0]])
    whole = network(*given)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = network(*given)
    for task, logits in whole.items():
        torch.testing.assert_close(mixed[task].float(), logits, atol=0.05, rtol=0.05)


def test_network_never_asks_the_device_for_a_number() -> None:
    """On the meta device there are no numbers: a forward pass that waited for one would raise."""
    network = network_of(tiny()).to("meta")
    given = (
        torch.zeros(2, 4, dtype=torch.int64),
        torch.ones(2, dtype=torch.int64),
        torch.zeros(2, 3, dtype=torch.int64),
    )
    logits = network(*(tensor.to("meta") for tensor in given))
    assert {task: tuple(values.shape) for task, values in logits.items()} == {"mark": (2, 3, 3), "case": (2, 3, 2)}


def test_dropout_works_in_training_only() -> None:
    network = network_of(tiny(dropout=0.5))
    given = torch.tensor([[5, 6, 7, 8]]), torch.tensor([4]), torch.tensor([[0, 3]])
    still, again = (network(*given)["mark"] for _ in range(2))
    torch.testing.assert_close(still, again)
    network.train()
    torch.manual_seed(1)
    assert not torch.allclose(network(*given)["mark"], still, atol=1e-3)


def test_layer_dropout_is_of_all_that_a_layer_adds() -> None:
    trunk = network_of(tiny(layer_dropout=1.0)).trunk
    pieces, mask = torch.tensor([[5, 6, 7, 8]]), torch.ones(1, 1, 1, 4, dtype=torch.bool)
    nothing_added = trunk.norm(trunk.embedding(pieces))
    assert not torch.allclose(trunk(pieces, mask), nothing_added, atol=1e-3)
    torch.testing.assert_close(trunk.train()(pieces, mask), nothing_added)


def test_model_saved_and_loaded_gives_the_same_scores(tmp_path: Path) -> None:
    model = tiny(noise=0.0, batch=2)
    data = model.encode([Transcript(parse_text("So how are you. I am fine, thanks. My name is Anna."))])
    model.fit(data, data, loop=LoopOptions(epochs=2, device="cpu"), log=lambda _: None)
    model.save(tmp_path / "m")
    windows = [Features.of(["so", "how"]), Features.of(["fine"])]
    for one, other in zip(scored(model, windows), scored(Llama.load(tmp_path / "m"), windows), strict=True):
        np.testing.assert_array_equal(one.tasks["mark"], other.tasks["mark"])


def test_model_goes_on_with_some_of_its_layers(tmp_path: Path) -> None:
    model = made(layers=4)
    model.save(tmp_path / "deep")
    window = Features.of("the mail is going".split())

    def said(folder: str, **options: Any) -> npt.NDArray[np.float32]:
        on = Llama.go_on(tmp_path / folder, name="l", version="2", options=options)
        on.save(tmp_path / "last")
        return on.forward([window])[0].tasks["mark"]

    layers = network_of(model).trunk.layers
    for options, places in (({"layers": 2}, (1, 3)), ({"layers": 3, "keep_layers": [1, 2, 4]}, (0, 1, 3))):
        found = said("deep", **options)
        network_of(model).trunk.layers = torch.nn.ModuleList(layers[place] for place in places)
        np.testing.assert_array_equal(found, model.forward([window])[0].tasks["mark"])
    np.testing.assert_array_equal(said("last"), found)
    with pytest.raises(ModelError, match="has 3 layers, and a llama cannot go on with more"):
        said("last", layers=5)
    with pytest.raises(ConfigError, match=r"name it in model\.start"):
        made(layers=1, keep_layers=[2])


def test_layers_that_leave_do_not_change_what_those_that_stay_see(tmp_path: Path) -> None:
    made(layers=4, causal=2).save(tmp_path / "deep")

    def on(**options: Any) -> Llama:
        return Llama.go_on(tmp_path / "deep", name="l", version="2", options=options)

    for options, causal in (({"layers": 2}, 1), ({"layers": 2, "keep_layers": [3, 4]}, 0)):
        assert on(**options, causal=causal).options.causal == causal
        with pytest.raises(ModelError, match=f"{causal} see the past alone; set options.causal to {causal}"):
            on(**options)
    assert (on().options.causal, on(causal=0).options.causal) == (2, 0)


@pytest.mark.parametrize(
    "bad",
    [
        {"causal": 3}, {"causal": -1}, {"heads": 3}, {"kv_heads": 3},
        {"width": 36}, {"theta": 0.0}, {"epsilon": -1e-5}, {"layer_dropout": 2.0},
    ],
    ids=str,
)  # fmt: skip
def test_options_refuse_what_no_network_can_have(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(bad))):
        made(**SHAPE | bad)


@pytest.fixture
def written(tmp_path: Path) -> Write:
    """Write a file in small; returns its path and the weights that it holds, as quantised."""
    pytest.importorskip("gguf")
    return partial(write_gguf, tmp_path / "tiny.gguf")


def slow_states(weights: Weights, ids: list[int], *, paired: bool = True) -> Floats:
    """Compute a network's last states by the file's own weights; rotated pairs stand side by side, or a half apart."""

    def norm(states: Floats, name: str) -> Floats:
        scaled: Floats = states / np.sqrt((states**2).mean(axis=1, keepdims=True) + 1e-5) * weights[f"{name}.weight"]
        return scaled

    states = weights["token_embd.weight"][ids].astype(np.float64)
    visible = np.ones((len(ids), len(ids)), dtype=bool)
    for layer in ("blk.0", "blk.1"):
        matrix = {
            name.removeprefix(f"{layer}.").removesuffix(".weight"): weight.T
            for name, weight in weights.items() if name.startswith(layer)
        }  # fmt: skip
        read = norm(states, f"{layer}.attn_norm")
        queries, keys, values = (read @ matrix[f"attn_{p}"] + matrix.get(f"attn_{p}.bias", 0) for p in "qkv")
        if not paired:
            queries, keys = side_by_side(queries.T, 4).T, side_by_side(keys.T, 2).T
        found = slow_attention(queries, keys, values, 2, 1000.0, visible)
        states = states + found @ matrix["attn_output"]
        read = norm(states, f"{layer}.ffn_norm")
        gate = read @ matrix["ffn_gate"]
        states = states + (gate / (1 + np.exp(-gate)) * (read @ matrix["ffn_up"])) @ matrix["ffn_down"]
    return norm(states, "output_norm")


@pytest.mark.parametrize("architecture", ["llama", "qwen2"])
def test_pretrained_network_computes_what_the_file_describes(architecture: str, written: Write) -> None:
    qwen = architecture == "qwen2"
    path, weights = written(gguf_weights(biases=qwen), architecture=architecture, pre="qwen2" if qwen else "smollm")
    model = made(pretrained=str(path))
    ids = [3, 70, 250, 99, 120]
    with torch.no_grad():
        fast = network_of(model).trunk(torch.tensor([ids]), torch.ones(1, 1, 5, 5, dtype=torch.bool))[0]
    np.testing.assert_allclose(fast.numpy(), slow_states(weights, ids, paired=not qwen), atol=1e-4)
    assert model.options.biases is qwen


def test_pretrained_model_has_the_shape_of_its_file(written: Write) -> None:
    path, _ = written()
    model = made(pretrained=str(path), width=32, epsilon=1e-5)  # what agrees may be said
    options = model.options
    assert {name: getattr(options, name) for name in SHAPE} == SHAPE
    assert (options.epsilon, options.vocabulary, len(model.vocabulary)) == (1e-5, 267, 267)
    with pytest.raises(ConfigError, match=r"options.width is 64, but 32 .*options.theta is 10000.0, but 1000.0"):
        made(pretrained=str(path), width=64, theta=10000.0)
    with pytest.raises(ConfigError, match="causal is 3, above the 2 layers"):
        made(pretrained=str(path), causal=3)


def test_pretrained_vocabulary_reads_words_as_in_running_text(written: Write) -> None:
    path, _ = written()
    vocabulary = cast(Pieces, made(pretrained=str(path)).vocabulary)
    tokens = gguf_tokens()
    cut = {word: [tokens[piece] for piece in vocabulary.ids(word)] for word in ("so", "sos", "don't", "00", "é")}
    assert cut == {
        "so": ["Ġso"], "sos": ["Ġso", "s"], "don't": ["Ġdon", "'t"], "00": ["Ġ", "0", "0"], "é": ["Ġ", "Ã", "©"],
    }  # fmt: skip
    assert [tokens[piece] for piece in vocabulary.ids("ж")] == ["Ġ", "<|im_start|>", "¶"]  # its first byte is unknown
    assert vocabulary.written([[piece for word in cut for piece in vocabulary.ids(word)], []]) == [" ".join(cut), ""]
    assert vocabulary.ids("") == (1,)
    assert 0 not in vocabulary.ids("<|endoftext|>")
    assert len(vocabulary.ids("x" * 99)) == 8


def test_pretrained_vocabulary_of_qwen_cuts_words_by_its_own_rule(written: Write) -> None:
    tokens = gguf_tokens()

    def cut(word: str, **file: str) -> list[str]:
        path, _ = written(gguf_weights(biases="architecture" in file), **file)
        return [tokens[piece] for piece in made(pretrained=str(path)).vocabulary.ids(word)]

    qwen = {"architecture": "qwen2", "pre": "qwen2"}
    assert [cut(word, **qwen) for word in ("so", "don't", "00")] == [["Ġso"], ["Ġdon", "'t"], ["Ġ", "0", "0"]]
    assert (cut("so-t", **qwen), cut("so-t")) == (["Ġso", "-t"], ["Ġso", "-", "t"])


def test_pretrained_file_whose_first_pieces_are_letters_is_refused(written: Write) -> None:
    path, _ = written(tokens=[*gguf_tokens()[3:], *CONTROL])
    with pytest.raises(InputError, match=r"piece 0 is '!', and a control token has to stand there"):
        made(pretrained=str(path))


def test_pretrained_model_loads_without_its_file_and_the_package(
    written: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = written()
    model = made(pretrained=str(path))
    model.save(tmp_path / "m")
    path.unlink()
    monkeypatch.setitem(sys.modules, "gguf", None)
    again = Llama.load(tmp_path / "m")
    windows = [Features.of(["so", "don't", "ж"])]
    np.testing.assert_array_equal(scored(model, windows)[0].tasks["mark"], scored(again, windows)[0].tasks["mark"])


def test_pretrained_file_is_found_in_the_data_folder(written: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path, _ = written()
    monkeypatch.setenv("INTERPUNCT_DATA", str(path.parent))
    assert made(pretrained=path.name).options.width == 32
    with pytest.raises(InputError, match=r"other\.gguf: no such file; check options\.pretrained"):
        made(pretrained="other.gguf")


def test_pretrained_file_needs_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "any.gguf").write_bytes(b"GGUF")
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(MissingExtraError, match=r"any\.gguf needs the extra \[bundled\]"):
        made(pretrained=str(tmp_path / "any.gguf"))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"architecture": "gpt2"}, "general.architecture is 'gpt2', and only 'llama' and 'qwen2' can be read"),
        ({"pre": "qwen2"}, "tokenizer.ggml.pre is 'qwen2'"),
        ({"rotated_numbers": 4}, "llama.rope.dimension_count is 4"),
        (
            {"weights": {k: v for k, v in gguf_weights().items() if "1.attn_k" not in k}},
            "no weights blk.1.attn_k.weight",
        ),
        (
            {"weights": gguf_weights() | {"rope_freqs.weight": np.ones(4, np.float32)}},
            "weights rope_freqs.weight have no place",
        ),
        ({"weights": gguf_weights() | {"output_norm.weight": np.ones(64, np.float32)}}, "do not fit"),
    ],
    ids=["architecture", "cutting", "rotated", "missing", "more", "size"],
)
def test_pretrained_file_of_another_network_is_refused(changes: dict[str, Any], told: str, written: Write) -> None:
    path, _ = written(**changes)
    with pytest.raises(InputError, match=told) as caught:
        made(pretrained=str(path))
    assert str(path) in str(caught.value)


def test_pretrained_file_that_is_cut_short_is_refused(written: Write) -> None:
    path, _ = written()
    whole = path.read_bytes()
    for size in (0, 3, 100, len(whole) // 2, len(whole) - 1000):
        path.write_bytes(whole[:size])
        with pytest.raises(InputError, match="not a whole GGUF file"):
            made(pretrained=str(path))
