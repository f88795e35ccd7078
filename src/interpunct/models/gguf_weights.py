"""`GgufFile`: a pretrained Llama or Qwen2 network in a GGUF file: its shape, its vocabulary and its weights.

In: a file as llama.cpp reads them, whole or quantised, with a byte-level BPE vocabulary. Out: the shape as options of
the type `llama`, the vocabulary as `Pieces`, the weights as the state of its trunk. Ids are the file's own: those that
pad (0) and stand for the unknown (1) have to be control tokens, which no word is ever cut into, as in SmolLM2's;
`recipes/bundled/short_gguf.py` puts them there. Needs the package gguf, of the extra [bundled]; a model that was saved
needs neither the package nor the file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from torch import Tensor

from interpunct.corpora import data_root
from interpunct.errors import InputError, MissingExtraError
from interpunct.models.pieces import PAD, UNKNOWN, Pieces


@dataclass(frozen=True)
class _Architecture:
    """What the files of one architecture have of their own."""

    cutting: str
    """How text is cut before pieces are merged, by the name that files have for it."""
    parts: tuple[pre_tokenizers.PreTokenizer, ...]
    """What cuts a word so, with the space before it, into parts that no piece crosses."""
    paired: bool
    """Whether the two numbers of a query or a key that are rotated together stand side by side, or a half apart."""
    biases: bool
    """Whether something is added to queries, keys and values."""


_ARCHITECTURES = {
    "llama": _Architecture(
        "smollm",
        (pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)),
        paired=True,
        biases=False,
    ),
    "qwen2": _Architecture(
        "qwen2",
        (
            pre_tokenizers.Split(
                Regex(
                    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
                    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
                ),
                behavior="isolated",
            ),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ),
        paired=False,
        biases=True,
    ),
}
SHAPE = {
    "width": "embedding_length",
    "layers": "block_count",
    "heads": "attention.head_count",
    "kv_heads": "attention.head_count_kv",
    "inner": "feed_forward_length",
    "theta": "rope.freq_base",
    "epsilon": "attention.layer_norm_rms_epsilon",
}
"""Options of the network, and the keys under which files have them."""
TYPES = "tokenizer.ggml.token_type"
CONTROL = 3
"""What files call the type of a control token."""
_OF_NO_USE = {"output.weight"}  # what guesses the next piece


def find_gguf(name: str) -> Path:
    """Return the file of a path, or of a name in the data folder."""
    path = Path(name)
    if not path.exists() and not path.is_absolute():
        path = data_root() / name
    if not path.is_file():
        raise InputError("no such file; check options.pretrained", path=str(path))
    return path


class GgufFile:
    """A GGUF file, opened; weights are read when they are asked for."""

    def __init__(self, path: Path) -> None:
        try:
            import gguf
        except ModuleNotFoundError:
            raise MissingExtraError(f"reading {path}", "bundled") from None
        self._path = path
        try:
            self.reader = gguf.GGUFReader(path)
        except (OSError, ValueError, KeyError, IndexError) as error:
            what = f"not a whole GGUF file: {error}; compare its size and checksum with the original's"
            raise InputError(what, path=str(path)) from None
        self.name: str = self.value("general.architecture")
        """What files call the architecture, under which their other keys stand."""
        if self.name not in _ARCHITECTURES:
            self._refuse([_only("general.architecture", self.name, _ARCHITECTURES)])
        self._architecture = _ARCHITECTURES[self.name]
        required = {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": self._architecture.cutting}
        found = {key: self.value(key) for key in required}
        self._refuse(_only(key, found[key], [known]) for key, known in required.items() if found[key] != known)
        self._tokens: list[str] = self.value("tokenizer.ggml.tokens")
        self.shape: dict[str, int | float] = {
            option: _plain(self.value(f"{self.name}.{key}")) for option, key in SHAPE.items()
        }
        """Options of the network that the file holds."""
        self.shape |= {"vocabulary": len(self._tokens), "biases": self._architecture.biases}
        self._check_positions()

    def vocabulary(self, *, longest: int) -> Pieces:
        """Return the vocabulary; a word is cut as in running text, where a space stands before it."""
        self._check_control()
        merges = [tuple(pair.split(" ")) for pair in self.value("tokenizer.ggml.merges")]
        ids = {token: place for place, token in enumerate(self._tokens)}
        # A few bytes of rare scripts have no piece of their own.
        tokenizer = Tokenizer(models.BPE(vocab=ids, merges=merges, unk_token=self._tokens[UNKNOWN]))
        tokenizer.normalizer = normalizers.Prepend(" ")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(list(self._architecture.parts))
        tokenizer.decoder = decoders.ByteLevel()
        return Pieces(tokenizer, longest=longest)

    def weights(self) -> dict[str, Tensor]:
        """Return the weights, named as in the trunk's state."""
        stored = {tensor.name: tensor for tensor in self.reader.tensors}

        def take(name: str) -> Tensor:
            return self._floats(stored.pop(name, None), name)

        heads, kv_heads = int(self.shape["heads"]), int(self.shape["kv_heads"])
        state = {"embedding.weight": take("token_embd.weight"), "norm.weight": take("output_norm.weight")}
        for layer in range(int(self.shape["layers"])):
            here, there = f"layers.{layer}", f"blk.{layer}"
            queries, keys = take(f"{there}.attn_q.weight"), take(f"{there}.attn_k.weight")
            if self._architecture.paired:
                queries, keys = _halved(queries, heads), _halved(keys, kv_heads)
            if self._architecture.biases:
                added = torch.cat([take(f"{there}.attn_{part}.bias") for part in "qkv"])
                state[f"{here}.attention.input.bias"] = added
            state |= {
                f"{here}.attention.norm.weight": take(f"{there}.attn_norm.weight"),
                f"{here}.attention.input.weight": torch.cat([queries, keys, take(f"{there}.attn_v.weight")]),
                f"{here}.attention.output.weight": take(f"{there}.attn_output.weight"),
                f"{here}.inner.norm.weight": take(f"{there}.ffn_norm.weight"),
                f"{here}.inner.input.weight": torch.cat(
                    [take(f"{there}.ffn_gate.weight"), take(f"{there}.ffn_up.weight")]
                ),
                f"{here}.inner.output.weight": take(f"{there}.ffn_down.weight"),
            }
        self._refuse(
            f"weights {name} have no place in a network of type llama" for name in sorted(stored.keys() - _OF_NO_USE)
        )
        return state

    def _floats(self, tensor: Any, name: str) -> Tensor:
        from gguf.quants import dequantize

        if tensor is None:
            raise InputError(f"no weights {name}; give a file of a whole network", path=str(self._path))
        try:
            return torch.from_numpy(np.array(dequantize(tensor.data, tensor.tensor_type), dtype=np.float32))
        except NotImplementedError as error:
            what = f"{name} cannot be read: {error}; give a file of another quantisation"
            raise InputError(what, path=str(self._path)) from None

    def value(self, key: str) -> Any:
        """Return what the file says under a key."""
        field = self.reader.get_field(key)
        if field is None:
            raise InputError(f"no {key}; give a file of a language model with its vocabulary", path=str(self._path))
        return field.contents()

    def _check_positions(self) -> None:
        problems = []
        rotated = self.reader.get_field(f"{self.name}.rope.dimension_count")
        if rotated is not None and rotated.contents() * self.shape["heads"] != self.shape["width"]:
            problems.append(f"{self.name}.rope.dimension_count is {rotated.contents()}, not all numbers of a head")
        if self.reader.get_field(f"{self.name}.rope.scaling.type") is not None:
            problems.append(f"{self.name}.rope.scaling.type is set, and scaled positions cannot be read")
        self._refuse(problems)

    def _check_control(self) -> None:
        """Refuse a vocabulary whose words are written with the pieces that pad or stand for the unknown."""
        types = self.value(TYPES)
        self._refuse(
            f"piece {place} is {self._tokens[place]!r}, and a control token has to stand there (see short_gguf.py)"
            for place in (PAD, UNKNOWN)
            if types[place] != CONTROL
        )

    def _refuse(self, problems: Iterable[str]) -> None:
        """Raise an error where there are problems: the network differs from what is built here."""
        if found := list(problems):
            raise InputError("; ".join(found) + "; give another file", path=str(self._path))


def _only(key: str, value: Any, known: Iterable[str]) -> str:
    return f"{key} is {value!r}, and only {' and '.join(map(repr, known))} can be read"


def _plain(value: Any) -> int | float:
    """Return a number as a person would write it: a float of four bytes has no more digits than those it holds."""
    return float(str(np.float32(value))) if isinstance(value, float) else int(value)


def _halved(weight: Tensor, heads: int) -> Tensor:
    """Reorder the rows of queries or keys (heads · numbers × width) so that a head's first half meets its second.

    The file has the two numbers that are rotated together side by side.
    """
    return weight.reshape(heads, -1, 2, weight.shape[1]).transpose(1, 2).reshape(weight.shape)
