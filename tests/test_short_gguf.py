"""A language model's first layers and pieces as a file of their own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch

from gguf_files import CONTROL, gguf_tokens, gguf_weights, write_gguf
from interpunct.cases import CASES
from interpunct.errors import InputError
from interpunct.labels import MARKS
from interpunct.models.gguf_weights import GgufFile
from interpunct.models.llama import Llama, Network
from short_gguf import main, shorten

pytest.importorskip("gguf")
WHOLE = len(gguf_tokens())
LAST = [*gguf_tokens()[len(CONTROL) :], *CONTROL]
"""Pieces in the order that many files have them in: control tokens behind all others."""


def opened(path: Path) -> Llama:
    labels = {"mark": MARKS, "case": CASES}
    return Llama.create(name="x", version="1", labels=labels, options={"pretrained": str(path)}, words=())


def states(model: Llama, word: str) -> Any:
    ids = torch.tensor([model.vocabulary.ids(word)])
    with torch.no_grad():
        return cast(Network, model.network).trunk(ids, None)[0].numpy()


@pytest.fixture(params=["llama", "qwen2"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    pre = {"llama": "smollm", "qwen2": "qwen2"}[request.param]
    weights = gguf_weights(biases=request.param == "qwen2")
    return write_gguf(tmp_path / "long.gguf", weights, architecture=request.param, pre=pre, tokens=LAST)[0]


def test_short_file_has_the_weights_and_the_shape_of_the_whole_one(file: Path, tmp_path: Path) -> None:
    shorten(file, tmp_path / "one.gguf", layers=1, pieces=WHOLE - 1)  # all but the third control token
    whole, short = GgufFile(file), GgufFile(tmp_path / "one.gguf")
    assert {tensor.name for tensor in whole.reader.tensors} >= {"output.weight", "blk.1.attn_q.weight"}
    assert not [tensor.name for tensor in short.reader.tensors if tensor.name.startswith(("output.", "blk.1."))]
    assert short.shape == whole.shape | {"layers": 1, "vocabulary": WHOLE - 1}
    right, found = whole.weights(), short.weights()
    others = WHOLE - len(CONTROL)
    order = [others, others + 1, *range(others)]
    np.testing.assert_array_equal(found.pop("embedding.weight"), right["embedding.weight"][order])
    assert found.keys() == {name for name in right if "layers.1." not in name} - {"embedding.weight"}
    for name, weight in found.items():
        np.testing.assert_array_equal(weight, right[name])


def test_short_file_reads_words_as_the_whole_one_does_by_the_layers_that_stay(file: Path, tmp_path: Path) -> None:
    shorten(file, tmp_path / "all.gguf", layers=2, pieces=WHOLE - 1)
    shorten(file, tmp_path / "one.gguf", layers=1, pieces=WHOLE - 1)
    whole, short = opened(tmp_path / "all.gguf"), opened(tmp_path / "one.gguf")
    trunk = cast(Network, whole.network).trunk
    assert not np.allclose(states(whole, "so"), states(short, "so"), atol=1e-3)
    trunk.layers = trunk.layers[:1]
    np.testing.assert_array_equal(states(whole, "so"), states(short, "so"))


def test_short_file_has_the_first_pieces_and_what_merges_into_them(file: Path, tmp_path: Path) -> None:
    shorten(file, tmp_path / "short.gguf", layers=1, pieces=WHOLE - 1 - 2)  # without the last two merges
    names = cast(Any, opened(tmp_path / "short.gguf").vocabulary).names()
    assert names == [*CONTROL[:2], *LAST[: WHOLE - 2 - 3]]
    vocabulary = opened(tmp_path / "short.gguf").vocabulary
    assert [[names[piece] for piece in vocabulary.ids(word)] for word in ("don't", "00")] == [
        ["Ġdon", "'t"], ["Ġ", "0", "0"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("layers", "pieces", "told"),
    [
        (3, WHOLE - 1, "3 of 2 layers"),
        (0, WHOLE - 1, "0 of 2 layers"),
        (1, WHOLE, f"{WHOLE} pieces asked for, and words need the first 257 at least, of {WHOLE - 1}; "),
        (1, 256, "256 pieces asked for"),
    ],
)
def test_more_than_there_is_or_less_than_words_need_is_refused(
    layers: int, pieces: int, told: str, file: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=told):
        shorten(file, tmp_path / "short.gguf", layers=layers, pieces=pieces)
    assert not (tmp_path / "short.gguf").exists()


def test_file_that_could_not_be_read_is_not_shortened(tmp_path: Path) -> None:
    scaled, _ = write_gguf(tmp_path / "scaled.gguf", tokens=LAST, rotated_numbers=4)
    unpadded, _ = write_gguf(tmp_path / "none.gguf", tokens=[*gguf_tokens()[3:], "<a>", "<b>", CONTROL[0]])
    for path, told in ((scaled, "rope.dimension_count is 4"), (unpadded, "fewer than two control tokens")):
        with pytest.raises(InputError, match=told):
            shorten(path, tmp_path / "short.gguf", layers=1, pieces=WHOLE - 1)


def test_command_shortens_a_file(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = [str(file), str(tmp_path / "short.gguf"), "--layers", "1", "--pieces", "260"]
    monkeypatch.setattr(sys, "argv", ["short_gguf.py", *given])
    assert main() == 0
    assert GgufFile(tmp_path / "short.gguf").shape["vocabulary"] == 260


def test_file_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cut.gguf").write_bytes(b"GGUF")
    with pytest.raises(InputError, match="not a whole GGUF file"):
        shorten(tmp_path / "cut.gguf", tmp_path / "short.gguf", layers=1, pieces=300)
