"""Published encoders, BERT and MPNet: read as they were published, and their vocabulary."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from interpunct.errors import InputError, ModelError
from interpunct.features import normalise
from interpunct.models.pieces import PAD, UNKNOWN
from interpunct.models.pretrained_encoder import PretrainedEncoder, WordPieces, convert, read_published, word_pieces
from interpunct.models.transformer import Network, fill
from published_encoders import (
    CLASSES,
    EPSILON,
    HEADS,
    INNER,
    LAYERS,
    LETTERS,
    POSITIONS,
    PUBLISHED,
    WIDTH,
    bert_weights,
    mpnet_weights,
    slow_states,
    write_beside,
    write_onnx,
    write_safetensors,
)
from test_transformer import made, options


@pytest.fixture(scope="module")
def mpnet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """MPNet's published weights, and what lies beside them."""
    folder = tmp_path_factory.mktemp("mpnet")
    write_beside(folder, model_type="mpnet", layer_norm_eps=EPSILON)
    return write_safetensors(mpnet_weights(), folder / "model.safetensors", prefix="mpnet.")


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
    np.testing.assert_allclose(states, slow_states(weights, ids), atol=1e-4)


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


@pytest.mark.parametrize("kind", ["safetensors", "onnx"])
def test_pretrained_encoder_gives_the_states_of_mpnet(kind: str, mpnet: Path) -> None:
    source = mpnet if kind == "safetensors" else write_onnx(mpnet_weights(), mpnet.parent / "model.onnx")
    found = read_published(source)
    assert (found.distances, found.epsilon, found.positions) == (CLASSES, EPSILON, POSITIONS)
    shape = options(distances=CLASSES, epsilon=EPSILON)
    network = Network(shape, {"mark": 3}, len(PUBLISHED)).eval()
    fill(network, found, shape, PUBLISHED)
    ids = [3, 20, 7, 41, 20, 4, 9, 9, 30, 11, 40, 41, 12, 20, 3, 5, 6, 31, 22, 20]
    with torch.no_grad():
        states = network.states(torch.tensor([ids]), None)[0].numpy()
    np.testing.assert_allclose(states, slow_states(mpnet_weights(), ids), atol=1e-4)


def test_mpnet_survives_its_file(mpnet: Path, tmp_path: Path) -> None:
    before = convert(mpnet, tmp_path / "e.npz")
    after = PretrainedEncoder.load(tmp_path / "e.npz")
    assert (after.distances, after.epsilon) == (before.distances, before.epsilon) == (CLASSES, EPSILON)
    np.testing.assert_allclose(after.weights["distances.weight"], before.weights["distances.weight"], rtol=1e-3)


def test_mpnet_without_its_distances_is_none(tmp_path: Path) -> None:
    weights = mpnet_weights()
    del weights["encoder.relative_attention_bias.weight"]
    write_beside(tmp_path, model_type="mpnet")
    with pytest.raises(InputError, match=r"relative_attention_bias.*model_type is mpnet"):
        read_published(write_safetensors(weights, tmp_path / "model.safetensors"))


def test_signs_of_mpnet_are_no_pieces_of_text() -> None:
    names = word_pieces(["<s>", "<pad>", "</s>", "[UNK]", "<", ">", "go", "<mask>"], [], size=20, longest=9).names()
    assert names == ["[PAD]", "[UNK]", "<", ">", "go"]
