from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from interpunct.cases import CASES
from interpunct.errors import ConfigError, InputError, ModelError
from interpunct.features import Features, normalise
from interpunct.labels import MARKS, parse_text
from interpunct.models.depth import evenly_spaced
from interpunct.models.loop_options import LoopOptions
from interpunct.models.pieces import PAD, UNKNOWN
from interpunct.models.pretrained_encoder import (
    PretrainedEncoder,
    WordPieces,
    convert,
    read_published,
    word_pieces,
)
from interpunct.models.shown import Shown
from interpunct.models.transformer import Network, Transformer, TransformerOptions, fill
from interpunct.train import DataConfig, ModelConfig, TrainConfig, _check
from interpunct.transcript import Transcript

WIDTH, HEADS, INNER, LAYERS, POSITIONS = 8, 2, 12, 4, 20
LETTERS = "abcdefghijklmnopqrstuvwxyz0"
PUBLISHED = (
    "[PAD] [unused0] [UNK] [CLS] [SEP] [MASK] ! ' , - . " + " ".join(LETTERS) + " don mail the ##ing go cafe 000"
).split() + [f"##{letter}" for letter in LETTERS]
Rows = npt.NDArray[Any]
BERT = Mapping[str, npt.NDArray[np.float32]]


def bert_weights(seed: int = 1) -> dict[str, npt.NDArray[np.float32]]:
    """Random weights with BERT's own names."""
    generator = np.random.default_rng(seed)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(PUBLISHED), WIDTH),
        "embeddings.position_embeddings.weight": (POSITIONS, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "embeddings.LayerNorm.weight": (WIDTH,),
        "embeddings.LayerNorm.bias": (WIDTH,),
    }
    for layer in range(LAYERS):
        begin = f"encoder.layer.{layer}"
        square = ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"]
        dense = dict.fromkeys(square, (WIDTH, WIDTH))
        dense |= {"intermediate.dense": (INNER, WIDTH), "output.dense": (WIDTH, INNER)}
        for name, shape in dense.items():
            shapes |= {f"{begin}.{name}.weight": shape, f"{begin}.{name}.bias": shape[:1]}
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"{begin}.{name}.weight": (WIDTH,), f"{begin}.{name}.bias": (WIDTH,)}
    return {name: generator.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def write_beside(folder: Path, **changes: Any) -> None:
    config = {"model_type": "bert", "hidden_act": "gelu", "num_attention_heads": HEADS} | changes
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "vocab.txt").write_text("\n".join(PUBLISHED) + "\n")


def write_safetensors(weights: BERT, path: Path, prefix: str = "") -> Path:
    contents: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, weight in weights.items():
        contents[prefix + name] = {
            "dtype": "F32", "shape": list(weight.shape), "data_offsets": [len(data), len(data) + weight.nbytes],
        }  # fmt: skip
        data += weight.tobytes()
    head = json.dumps(contents).encode()
    path.write_bytes(len(head).to_bytes(8, "little") + head + data)
    return path


def write_onnx(weights: BERT, path: Path) -> Path:
    """Write a graph as torch does: matrices lie the other way and have numbers for names, in no useful order."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    nodes, stored = [], []
    for number, (name, weight) in enumerate(sorted(weights.items(), reverse=True)):
        if weight.ndim == 2 and "embeddings" not in name:
            bias = name.replace(".weight", ".bias")
            stored.append(numpy_helper.from_array(np.ascontiguousarray(weight.T), f"onnx::MatMul_{number}"))
            nodes.append(helper.make_node("MatMul", ["x", f"onnx::MatMul_{number}"], [f"p{number}"]))
            nodes.append(helper.make_node("Add", [bias, f"p{number}"][:: 1 - 2 * (number % 2)], [f"s{number}"]))
        else:
            stored.append(numpy_helper.from_array(weight, name))
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, None)
    onnx.save(helper.make_model(helper.make_graph(nodes, "bert", [value], [], stored)), str(path))
    return path


def slow_bert(weights: BERT, ids: list[int], layers: int = LAYERS) -> Rows:
    """BERT by its definition: one piece, one head, one number at a time where that is bearable."""

    def norm(rows: Rows, name: str) -> Rows:
        centred = rows - rows.mean(axis=1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True))
        return np.asarray(centred / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"])

    def dense(rows: Rows, name: str) -> Rows:
        return np.asarray(rows @ weights[f"{name}.weight"].T + weights[f"{name}.bias"])

    embedded = [
        weights["embeddings.word_embeddings.weight"][piece]
        + weights["embeddings.position_embeddings.weight"][place]
        + weights["embeddings.token_type_embeddings.weight"][0]
        for place, piece in enumerate(ids)
    ]
    states = norm(np.array(embedded, dtype=np.float64), "embeddings.LayerNorm")
    size = WIDTH // HEADS
    for layer in range(layers):
        begin = f"encoder.layer.{layer}"
        queries, keys, values = (dense(states, f"{begin}.attention.self.{n}") for n in ("query", "key", "value"))
        found = np.zeros_like(states)
        for head in range(HEADS):
            part = slice(head * size, (head + 1) * size)
            for row in range(len(ids)):
                scores = [queries[row, part] @ keys[other, part] / math.sqrt(size) for other in range(len(ids))]
                shares = np.exp(scores) / np.exp(scores).sum()
                found[row, part] = sum(share * values[i, part] for i, share in enumerate(shares))
        states = norm(states + dense(found, f"{begin}.attention.output.dense"), f"{begin}.attention.output.LayerNorm")
        inner = dense(states, f"{begin}.intermediate.dense")
        gelu = inner * (1 + np.vectorize(math.erf)(inner / math.sqrt(2))) / 2
        states = norm(states + dense(gelu, f"{begin}.output.dense"), f"{begin}.output.LayerNorm")
    return states


def options(**changes: Any) -> TransformerOptions:
    shape = {"width": WIDTH, "heads": HEADS, "inner": INNER, "layers": LAYERS, "positions": POSITIONS, "window": 16}
    return TransformerOptions(**(shape | {"overlap": 4} | changes))


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A converted encoder of random weights."""
    folder = tmp_path_factory.mktemp("published")
    write_beside(folder)
    target = folder / "encoder.npz"
    convert(write_safetensors(bert_weights(), folder / "model.safetensors"), target)
    return target


def made(pretrained: Path | str = "", words: str = "the going don't", seed: int = 1, **changes: Any) -> Transformer:
    given = {
        "width": WIDTH, "heads": HEADS, "inner": INNER, "layers": 2, "positions": POSITIONS, "window": 16, "overlap": 4,
        "pretrained": str(pretrained),
    }  # fmt: skip
    return Transformer.create(
        name="t", version="1", labels={"mark": MARKS, "case": CASES}, options=given | changes, words=words.split(),
        seed=seed,
    )  # fmt: skip


def network_of(model: Transformer) -> Network:
    return cast(Network, model.network)


@pytest.fixture(scope="module")
def model() -> Transformer:
    """A model whose weights are larger than a new network's, so that what must not leak would be seen."""
    found = made(vocabulary=60, seed=3)
    with torch.no_grad():
        for weight in found.network.parameters():
            weight.mul_(8)
    return found


@pytest.mark.parametrize("kind", ["safetensors", "onnx"])
def test_pretrained_encoder_gives_the_states_of_bert(kind: str, tmp_path: Path) -> None:
    write_beside(tmp_path)
    weights = bert_weights()
    if kind == "onnx":
        (tmp_path / "onnx").mkdir()  # published ONNX files lie a folder below the configuration
        source = write_onnx(weights, tmp_path / "onnx" / "model.onnx")
    else:
        source = write_safetensors(weights, tmp_path / "model.safetensors", prefix="bert.")
    found = read_published(source)
    network = Network(options(), {"mark": 3}, len(PUBLISHED)).eval()
    fill(network, found, options(), PUBLISHED)
    ids = [3, 20, 7, 41, 20, 4]
    with torch.no_grad():
        states = network.states(torch.tensor([ids]), None)[0].numpy()
    np.testing.assert_allclose(states, slow_bert(weights, ids), atol=1e-4)


def test_pretrained_encoder_survives_its_file_in_half_precision(tmp_path: Path) -> None:
    write_beside(tmp_path)
    before = convert(write_safetensors(bert_weights(), tmp_path / "m.safetensors"), tmp_path / "new" / "e.npz")
    after = PretrainedEncoder.load(tmp_path / "new" / "e.npz")
    assert after.pieces == tuple(PUBLISHED)
    assert (after.width, after.heads, after.inner, after.layers, after.positions) == (
        WIDTH, HEADS, INNER, LAYERS, POSITIONS,
    )  # fmt: skip
    for name, weight in before.weights.items():
        assert after.weights[name].dtype == np.float16
        np.testing.assert_allclose(after.weights[name], weight, rtol=1e-3, atol=1e-6)


def test_pretrained_encoder_says_what_is_wrong(tmp_path: Path) -> None:
    weights = bert_weights()
    source = write_safetensors(weights, tmp_path / "model.safetensors")
    with pytest.raises(InputError, match=r"no config\.json beside it"):
        read_published(source)
    write_beside(tmp_path, hidden_act="relu")
    with pytest.raises(InputError, match="only bert and mpnet with gelu"):
        read_published(source)
    write_beside(tmp_path)
    with pytest.raises(InputError, match="ends in"):
        read_published(tmp_path / "vocab.txt")
    del weights["encoder.layer.1.output.dense.weight"]
    with pytest.raises(InputError, match=r"encoder\.layer\.1\.output\.dense\.weight"):
        read_published(write_safetensors(weights, source))
    source.write_bytes(b"nothing at all")
    with pytest.raises(InputError, match="not a safetensors file"):
        read_published(source)
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n")
    with pytest.raises(InputError, match="2 pieces"):
        read_published(write_safetensors(bert_weights(), source))
    (tmp_path / "broken.npz").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"broken\.npz: not a pretrained encoder"):
        PretrainedEncoder.load(tmp_path / "broken.npz")
    np.savez(tmp_path / "other.npz", vectors=np.zeros(3))
    with pytest.raises(InputError, match=r"other\.npz: not a pretrained encoder"):
        PretrainedEncoder.load(tmp_path / "other.npz")
    with pytest.raises(InputError, match="no such file"):
        made(tmp_path / "absent.npz")


def test_word_pieces_split_words_as_bert_does() -> None:
    vocabulary = word_pieces(PUBLISHED, [], size=1000, longest=8)
    assert vocabulary.split(normalise("Don’t")) == ["don", "'", "t"]
    assert vocabulary.split(normalise("e-mail")) == ["e", "-", "mail"]
    assert vocabulary.split(normalise("3.5")) == ["0", ".", "0"]
    assert vocabulary.split(normalise("4,754")) == ["0", ",", "000"]
    assert vocabulary.split(normalise("café")) == ["cafe"]
    assert vocabulary.split("going") == ["go", "##ing"]
    assert vocabulary.split("ж") == ["[UNK]"]


def test_word_pieces_are_renumbered() -> None:
    vocabulary = word_pieces(PUBLISHED, [], size=1000, longest=2)
    names = vocabulary.names()
    assert (names[PAD], names[UNKNOWN]) == ("[PAD]", "[UNK]")
    assert not {"[CLS]", "[SEP]", "[MASK]", "[unused0]"} & set(names)
    assert len(vocabulary) == len(names) == len(PUBLISHED) - 4
    assert [names[number] for number in vocabulary.ids("don't")] == ["don", "'"]  # no more than two
    assert vocabulary.ids("ж") == vocabulary.ids("") == (UNKNOWN,)


def test_word_pieces_keep_what_the_words_need_most() -> None:
    words = ["going"] * 3 + ["the"] * 2 + ["mail"]
    letters = sum(len(piece.removeprefix("##")) == 1 for piece in PUBLISHED)
    vocabulary = word_pieces(PUBLISHED, words, size=letters + 2 + 3, longest=8)
    assert set(vocabulary.names()) - {*LETTERS} >= {"go", "##ing", "the"}
    assert "mail" not in vocabulary.names()
    assert vocabulary.split("mail") == ["m", "##a", "##i", "##l"]
    assert vocabulary.split("the") == ["the"]
    with pytest.raises(ModelError, match="too small"):
        word_pieces(PUBLISHED, words, size=letters + 1, longest=8)


def test_word_pieces_survive_their_file(tmp_path: Path) -> None:
    vocabulary = word_pieces(PUBLISHED, [], size=1000, longest=8)
    vocabulary.save(tmp_path / "pieces.json")
    again = WordPieces.load(tmp_path / "pieces.json", longest=8)
    for word in ("don't", "going", "e-mail", "000.0", "zzz"):
        assert again.ids(word) == vocabulary.ids(word)


@given(st.integers(1, 30), st.data())
def test_evenly_spaced_layers_rise_and_end_with_the_last(layers: int, data: st.DataObject) -> None:
    kept = data.draw(st.integers(1, layers))
    found = evenly_spaced(kept, layers)
    steps = np.diff([0, *found])
    assert len(found) == kept
    assert found[-1] == layers
    assert steps.min() >= 1
    assert steps.max() - steps.min() <= 1


def test_transformer_takes_pretrained_rows_positions_and_layers(published: Path) -> None:
    model = made(published, vocabulary=70, positions=16)
    pretrained = PretrainedEncoder.load(published)
    weights = network_of(model).state_dict()
    for piece, row in zip(cast(WordPieces, model.vocabulary).names(), weights["embedding.weight"], strict=True):
        right = pretrained.weights["embedding.weight"][PUBLISHED.index(piece)]
        np.testing.assert_array_equal(row, np.zeros(WIDTH) if piece == "[PAD]" else right)
    np.testing.assert_array_equal(weights["positions.weight"], pretrained.weights["positions.weight"][:16])
    for ours, theirs in ((0, 1), (1, 3)):  # every second layer
        np.testing.assert_array_equal(
            weights[f"layers.{ours}.up.weight"], pretrained.weights[f"layers.{theirs}.up.weight"]
        )
    chosen = network_of(made(published, keep_layers=[1, 3])).state_dict()
    np.testing.assert_array_equal(chosen["layers.1.down.bias"], pretrained.weights["layers.2.down.bias"])


def test_transformer_refuses_an_encoder_of_another_shape(published: Path) -> None:
    with pytest.raises(InputError, match=r"heads is 4 but the encoder's is 2.*inner is 16"):
        made(published, heads=4, inner=16)
    with pytest.raises(InputError, match="the encoder has 4"):
        made(published, layers=5)
    with pytest.raises(InputError, match="the encoder has 4"):
        made(published, keep_layers=[4, 5])
    with pytest.raises(InputError, match="the encoder has 20"):
        made(published, positions=21)


@pytest.mark.parametrize(
    "bad",
    [
        {"heads": 3}, {"positions": 15}, {"context": "whole", "overlap": 0}, {"keep_layers": [1]}, {"dropout": 1.5},
        {"keep_layers": [1, 2]}, {"attention_dropout": -0.1}, {"keep_layers": [0, 1]}, {"keep_layers": [2, 1]},
        {"glance": 2}, {"glance": -1}, {"doubted": 0}, {"doubted": 101},
    ],
    ids=str,
)  # fmt: skip
def test_transformer_options_refuse_nonsense(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(bad)).replace("context", "positions")):
        made(**bad)


def test_transformer_loads_without_the_pretrained_file(published: Path, tmp_path: Path) -> None:
    copy = tmp_path / "encoder.npz"
    copy.write_bytes(published.read_bytes())
    model = made(copy)
    model.save(tmp_path / "model")
    copy.unlink()
    again = Transformer.load(tmp_path / "model")
    window = Features.of("The going, don't e-mail.".split())
    before, after = model.forward([window])[0], again.forward([window])[0]
    for task in before.tasks:
        np.testing.assert_array_equal(before.tasks[task], after.tasks[task])


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 16), min_size=1, max_size=5), st.integers(0, 100))
def test_transformer_scores_do_not_depend_on_padding(model: Transformer, sizes: list[int], seed: int) -> None:
    generator = np.random.default_rng(seed)
    words = ["the", "going", "don't", "mail", "zzz"]
    windows = [Features(tuple(generator.choice(words, size=size))) for size in sizes]
    for window, scores in zip(windows, model.forward(windows), strict=True):
        alone = model.forward([window])[0]
        for task, logs in scores.tasks.items():
            assert logs.shape == (len(window), len(model.labels[task]))
            np.testing.assert_allclose(logs, alone.tasks[task], atol=1e-5)


def test_transformer_reads_the_whole_window_and_each_words_own_place(model: Transformer) -> None:
    """Another last word changes the first word's scores; the same word twice has not the same scores."""
    texts = "the going the going mail".split()
    one = model.forward([Features(tuple(texts))])[0].tasks["mark"]
    other = model.forward([Features((*texts[:-1], "don't"))])[0].tasks["mark"]
    assert np.abs(one[0] - other[0]).max() > 1e-4
    assert np.abs(one[0] - one[2]).max() > 1e-4


def test_transformer_reads_windows_of_more_pieces_than_positions(model: Transformer) -> None:
    texts = tuple(["zzzzzzzz"] * 16)  # 16 words, at most 8 pieces each, 20 positions
    (scores,) = model.forward([Features(texts)])
    assert len(scores) == 16
    assert np.isfinite(scores.tasks["mark"]).all()


def test_transformer_learns_under_autocast() -> None:
    model = made(vocabulary=60)
    network = network_of(model).train()
    pieces, lengths, words = torch.randint(2, 10, (3, 9)), torch.tensor([9, 4, 1]), torch.zeros(3, 2, dtype=torch.int64)
    with torch.autocast("cpu", torch.bfloat16):
        loss = sum(logits.float().square().mean() for logits in network(pieces, lengths, words).values())
    cast(torch.Tensor, loss).backward()  # type: ignore[no-untyped-call]
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name


def test_transformer_that_goes_on_with_more_layers_says_nearly_the_same(tmp_path: Path) -> None:
    model = made(vocabulary=60, layers=4, seed=3)
    chance = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, weight in network_of(model).named_parameters():
            if "norm" in name:  # as a trained one's: numbers of each its own length, and a mean that is not zero
                spread = torch.rand(weight.shape, generator=chance)
                weight.copy_(0.5 + spread if name.endswith("weight") else 0.4 + 0.3 * spread)
            else:
                weight.mul_(2)
    model.save(tmp_path / "shallow")
    window = Features.of("the going mail don't the mail".split())

    def distance(*layers: int) -> float:
        one, other = (
            Transformer.go_on(tmp_path / "shallow", name="t", version="2", options={"layers": count})
            for count in layers
        )
        assert (len(network_of(one).layers), len(network_of(other).layers)) == layers
        said = [np.exp(each.forward([window])[0].tasks["mark"]) for each in (one, other)]
        return float(np.abs(said[0] - said[1]).max())

    said = np.exp(model.forward([window])[0].tasks["mark"])
    assert distance(4, 4) == 0
    assert 0 < distance(4, 6) < 0.1 * float(np.ptp(said, axis=0).max())
    with pytest.raises(ModelError, match="layers can be 8 at most"):
        Transformer.go_on(tmp_path / "shallow", name="t", version="2", options={"layers": 9})


def test_transformer_goes_on_with_some_of_its_layers(published: Path, tmp_path: Path) -> None:
    model = made(published, keep_layers=[1, 2, 4], layers=3)
    model.save(tmp_path / "deep")

    def gone_on(folder: str, **options: Any) -> Transformer:
        return Transformer.go_on(tmp_path / folder, name="t", version="2", options=options)

    old = network_of(model).state_dict()
    for options, places in (({"layers": 2}, (1, 2)), ({"layers": 2, "keep_layers": [1, 3]}, (0, 2))):
        shallow = gone_on("deep", **options)
        state = network_of(shallow).state_dict()
        assert len(network_of(shallow).layers) == 2
        for name, value in state.items():
            part, _, rest = name.partition(".")
            number, _, inside = rest.partition(".")
            source = f"layers.{places[int(number)]}.{inside}" if part == "layers" else name
            assert torch.equal(value, old[source]), name
    shallow.save(tmp_path / "shallow")
    assert gone_on("shallow").options.keep_layers == ()  # what it began with is not what the next one keeps
    assert len(network_of(gone_on("shallow", layers=3)).layers) == 3
    with pytest.raises(ModelError, match=r"\(1, 3\) are asked for, and there are 2"):
        gone_on("shallow", layers=2, keep_layers=[1, 3])


def test_configuration_may_ask_for_other_layers_than_those_that_its_start_kept(published: Path, tmp_path: Path) -> None:
    made(published, keep_layers=[1, 3]).save(tmp_path / "kept")

    def checked(start: Path | None, **options: Any) -> None:
        model = ModelConfig("transformer", "t", "1", start=None if start is None else str(start))
        _check(TrainConfig(model, DataConfig(("iwslt:train",), ("iwslt:dev",)), options=options))

    checked(tmp_path / "kept", layers=1)
    checked(tmp_path / "kept", layers=4)
    with pytest.raises(ConfigError, match=r"name it in pretrained or model\.start"):
        checked(None, layers=1, keep_layers=[1])


def test_deepened_layers_stand_between_the_old_ones_and_learn(tmp_path: Path) -> None:
    model = made(vocabulary=60, layers=4)
    model.save(tmp_path / "shallow")
    on = Transformer.go_on(tmp_path / "shallow", name="t", version="2", options={"layers": 6, "dropout": 0.0})
    layers, old = network_of(on).layers, network_of(model).layers
    places = {0: 0, 1: 1, 3: 2, 4: 3}  # new ones are behind the second and the last
    for place, layer in enumerate(layers):
        same = all(
            torch.equal(one, other)
            for one, other in zip(layer.parameters(), old[places.get(place, 0)].parameters(), strict=True)
        )
        assert same is (place in places), place
    data = on.encode([Transcript(parse_text("The mail is going. The mail, the mail?"))] * 4)
    on.fit(data, data, loop=LoopOptions(epochs=2, rate=1e-2, device="cpu"), log=lambda _: None)
    for place, layer in enumerate(network_of(on).layers):
        assert layer.get_parameter("down.weight").abs().max() > 0, place


def doubting(**changes: Any) -> Transformer:
    """Return a model with layers above a glance, whose weights are larger than a new network's."""
    model = made(vocabulary=60, layers=4, glance=2, seed=3, **changes)
    with torch.no_grad():
        for name, weight in model.network.named_parameters():
            weight.mul_(1 if "norm" in name else 6)
    return model


def slow_looks(network: Network, pieces: list[int], words: list[int], share: int) -> tuple[Rows, list[int]]:
    """Look at one window twice, place by place; return the logits of marks, and which places were looked at again."""
    states = network.norm(network.embedding(torch.tensor([pieces])) + network.positions.weight[: len(pieces)])
    for layer in network.layers[: network.glance]:
        states = layer(states, None)
    glanced = {task: head(states)[0] for task, head in network.glances.items()}
    sure = [min(float(rows[word].softmax(0).max()) for rows in glanced.values()) for word in words]
    again = [words[rank] for rank in np.argsort(sure, kind="stable")[: -(-len(pieces) * share // 100)]]
    for layer in network.layers[network.glance :]:
        new = layer(states, None)
        states = states.clone()
        for place in again:
            states[0, place] = new[0, place]
    rows = [network.heads["mark"](states[0, word]) if word in again else glanced["mark"][word] for word in words]
    return np.array([row.tolist() for row in rows]), again


@torch.no_grad()
def test_layers_above_a_glance_look_at_doubted_words_alone() -> None:
    network = network_of(doubting(doubted=30)).eval()
    pieces, words = [5, 9, 9, 10, 7, 3, 4, 8, 2, 6], [0, 2, 3, 4, 6, 7, 8, 9]
    right, again = slow_looks(network, pieces, words, 30)
    assert len(again) == 3
    found = network(torch.tensor([pieces]), None, torch.tensor([words]))["mark"][0]
    np.testing.assert_allclose(found, right, atol=1e-4)


@torch.no_grad()
@pytest.mark.parametrize("first", [0, 1, 2], ids="first-word-ends-at-{}".format)
@pytest.mark.parametrize("doubted", [30, 60, 100])
def test_padding_changes_nothing_of_a_second_look(first: int, doubted: int) -> None:
    """Neither how many places are looked at again, nor that a padded word points at the first piece."""
    for seed in range(5):
        network = network_of(doubting(doubted=doubted)).eval()
        pieces = torch.randint(2, 11, (1, 10), generator=torch.Generator().manual_seed(seed))
        words = list(range(first, 10, 2))
        right, _ = slow_looks(network, pieces[0].tolist(), words, doubted)
        padded = torch.nn.functional.pad(pieces, (0, 4))
        found = network(padded, torch.tensor([10]), torch.tensor([[*words, 0, 0]]))["mark"][0, : len(words)]
        np.testing.assert_allclose(found, right, atol=1e-4)


@torch.no_grad()
def test_a_second_look_at_all_words_is_what_all_layers_see() -> None:
    looks = network_of(doubting(doubted=100)).eval()
    whole = network_of(made(vocabulary=60, layers=4)).eval()
    whole.load_state_dict({name: value for name, value in looks.state_dict().items() if "glances" not in name})
    pieces = torch.randint(2, 11, (3, 12), generator=torch.Generator().manual_seed(1))
    words = torch.arange(12).expand(3, -1)
    for task, logits in whole(pieces, None, words).items():
        torch.testing.assert_close(looks(pieces, None, words)[task], logits, atol=1e-4, rtol=1e-4)
    lengths = torch.tensor([12, 5, 1])
    words = words.where(words < lengths[:, None], 0)  # as batches have it
    for task, logits in whole(pieces, lengths, words).items():
        found = looks(pieces, lengths, words)[task]
        for row, length in enumerate(lengths.tolist()):
            torch.testing.assert_close(found[row, :length], logits[row, :length], atol=1e-4, rtol=1e-4)


def test_a_model_goes_on_with_a_glance_and_its_loss_is_of_both_looks(tmp_path: Path) -> None:
    model = made(vocabulary=60, layers=4)
    model.save(tmp_path / "whole")
    on = Transformer.go_on(tmp_path / "whole", name="t", version="2", options={"glance": 2, "dropout": 0.0})
    network, before = network_of(on), network_of(model).heads["mark"].get_parameter("weight")
    assert torch.equal(network.glances["mark"].get_parameter("weight"), before)
    data = on.encode([Transcript(parse_text("The mail is going. The mail, the mail?"))] * 4)
    rows: list[dict[str, float]] = []
    on.fit(data, data, loop=LoopOptions(epochs=8, rate=1e-2, device="cpu"), log=rows.append)
    assert rows[-1]["loss"] < rows[0]["loss"]
    trained = network_of(on).glances["mark"].get_parameter("weight")
    assert not torch.equal(trained, before)
    batch = next(iter(Shown(data, on.options, on.device).plain_batches()))
    looks = network_of(on).looks(batch.pieces, batch.lengths, batch.words)
    assert len(looks) == 2
    glanced, last = (float(on._sum_of_losses(each, batch).detach()) for each in looks)
    assert float(on._loss(on.network, batch).detach()) == pytest.approx(last + 0.5 * glanced)
    assert glanced > 0
    on.save(tmp_path / "looks")

    def gone_on(**options: Any) -> Network:
        return network_of(Transformer.go_on(tmp_path / "looks", name="t", version="3", options=options))

    assert not gone_on(glance=0, layers=6).glances
    for glance in (1, 2):
        assert torch.equal(gone_on(glance=glance).glances["mark"].get_parameter("weight"), trained)
    with pytest.raises(ModelError, match="glances with 2 of its 4 layers"):
        gone_on(layers=6)
