"""A pretrained encoder, BERT or MPNet: its weights and its WordPiece vocabulary in one file, whatever they came from.

In: a published encoder as ONNX or safetensors, with `config.json` and `vocab.txt` beside it (`convert`). Out: one
`.npz` in half precision, whose arrays have the names of `transformer.Network`'s weights (`PretrainedEncoder`), and the
vocabulary renumbered as our networks want it, whole or cut down to what a text needs (`WordPieces`). The embedding of
BERT's first token type is added to the positions: there is only one kind of text here. MPNet has none, and two
positions that stand for no place.
"""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from interpunct.errors import InputError, MissingExtraError, ModelError
from interpunct.models.pieces import Pieces

Floats = npt.NDArray[np.floating[Any]]

PAD_PIECE, UNKNOWN_PIECE = "[PAD]", "[UNK]"
_INSIDE = "##"  # what WordPiece writes before a piece that does not begin a word
_LONGEST_WORD = 100  # characters; BERT calls a longer word unknown

_EMBEDDINGS = {
    "embedding.weight": "embeddings.word_embeddings.weight",
    "positions.weight": "embeddings.position_embeddings.weight",
    "norm.weight": "embeddings.LayerNorm.weight",
    "norm.bias": "embeddings.LayerNorm.bias",
}
_TOKEN_TYPES = "embeddings.token_type_embeddings.weight"
_DISTANCES = "encoder.relative_attention_bias.weight"
_SHARED_PARTS = {"up": "intermediate.dense", "down": "output.dense", "down_norm": "output.LayerNorm"}


@dataclass(frozen=True)
class _Published:
    """What a kind of encoder calls its parts, and which places of its tables are no text's."""

    projections: tuple[str, str, str]
    """Queries, keys and values, which become one `projections`."""
    layer: Mapping[str, str]
    """Our names of a layer's other parts → its."""
    positions_before: int
    """Rows of the positions' table before that of the first piece."""
    token_types: bool
    """Whether there are kinds of text."""
    distances: bool
    """Whether attention tells distances apart."""


_KINDS = {
    "bert": _Published(
        projections=("attention.self.query", "attention.self.key", "attention.self.value"),
        layer={"output": "attention.output.dense", "output_norm": "attention.output.LayerNorm", **_SHARED_PARTS},
        positions_before=0, token_types=True, distances=False,
    ),
    "mpnet": _Published(
        projections=("attention.attn.q", "attention.attn.k", "attention.attn.v"),
        layer={"output": "attention.attn.o", "output_norm": "attention.LayerNorm", **_SHARED_PARTS},
        positions_before=2, token_types=False, distances=True,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class PretrainedEncoder:
    """Weights by the names that a network of the same shape gives them, and the pieces in the order of the rows."""

    heads: int
    pieces: tuple[str, ...] = field(repr=False)
    weights: Mapping[str, Floats] = field(repr=False)
    epsilon: float = 1e-12
    """What its normalisations add to a variance; BERT's."""

    @property
    def distances(self) -> int:
        """How many classes of distances between pieces attention tells apart; 0 where it tells none."""
        return len(self.weights.get("distances.weight", ()))

    @property
    def width(self) -> int:
        """Numbers of a piece's state."""
        return int(self.weights["embedding.weight"].shape[1])

    @property
    def inner(self) -> int:
        """Numbers inside a feed-forward layer."""
        return int(self.weights["layers.0.up.weight"].shape[0])

    @property
    def positions(self) -> int:
        """How many places have an embedding."""
        return int(self.weights["positions.weight"].shape[0])

    @cached_property
    def layers(self) -> int:
        """How many layers there are."""
        return sum(name.endswith(".up.weight") for name in self.weights)

    def save(self, path: Path) -> None:
        """Write the encoder into one file, in half precision."""
        arrays: dict[str, Any] = {name: weight.astype(np.float16) for name, weight in self.weights.items()}
        with path.open("wb") as file:  # a name without .npz stays as it is
            np.savez(
                file, heads=np.array(self.heads), pieces=np.array(self.pieces), epsilon=np.array(self.epsilon), **arrays
            )

    @classmethod
    def load(cls, path: Path) -> PretrainedEncoder:
        """Read an encoder from its file."""
        try:
            with np.load(path) as arrays:
                about = ("heads", "pieces", "epsilon")
                weights = {name: arrays[name] for name in arrays.files if name not in about}
                epsilon = float(arrays["epsilon"]) if "epsilon" in arrays.files else cls.epsilon
                found = cls(int(arrays["heads"]), tuple(arrays["pieces"].tolist()), weights, epsilon)
            shape = (found.width, found.inner, found.positions, found.layers)
        except FileNotFoundError:
            raise InputError("no such file; make it with pretrained_encoder.convert", path=str(path)) from None
        except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
            what = f"not a pretrained encoder: {error}; make it with pretrained_encoder.convert"
            raise InputError(what, path=str(path)) from None
        if not all(shape):
            raise InputError("a pretrained encoder without layers; convert it again", path=str(path))
        return found


# The vocabulary


class WordPieces(Pieces):
    """BERT's WordPiece over one word at a time, split at punctuation inside it as BERT splits it."""

    @classmethod
    def of(cls, pieces: Sequence[str], *, longest: int) -> WordPieces:
        """Make a vocabulary of pieces; the first two pad and stand for the unknown."""
        if tuple(pieces[:2]) != (PAD_PIECE, UNKNOWN_PIECE):
            raise ModelError(f"a vocabulary begins with {PAD_PIECE} and {UNKNOWN_PIECE}, not {list(pieces[:2])}")
        index = {piece: number for number, piece in enumerate(pieces)}
        tokenizer = Tokenizer(
            models.WordPiece(
                index, unk_token=UNKNOWN_PIECE, max_input_chars_per_word=_LONGEST_WORD,
                continuing_subword_prefix=_INSIDE,
            )
        )  # fmt: skip
        # As BERT's uncased vocabularies were made: accents go ("café" is "cafe"), "don't" is three words.
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        return cls(tokenizer, longest=longest)

    def split(self, word: str) -> list[str]:
        """Return all pieces of a word, however many."""
        return list(self._tokenizer.encode(word, add_special_tokens=False).tokens)


def word_pieces(published: Sequence[str], words: Iterable[str], *, size: int, longest: int) -> WordPieces:
    """Make a vocabulary of at most `size` of the published pieces: those that the words need most.

    All letters, digits and signs of ASCII stay, at a word's begin and inside, so that a word whose pieces went is
    spelled out and not unknown. Pieces keep the published order.
    """
    whole = [PAD_PIECE, UNKNOWN_PIECE, *(piece for piece in published if not _is_special(piece))]
    vocabulary = WordPieces.of(whole, longest=longest)
    if len(whole) <= size:
        return vocabulary
    needed: Counter[str] = Counter()
    for word, count in Counter(words).items():
        for piece in vocabulary.split(word):
            needed[piece] += count
    letters = {piece for piece in whole[2:] if _is_letter(piece)}
    kept = {PAD_PIECE, UNKNOWN_PIECE, *letters}
    order = {piece: place for place, piece in enumerate(whole)}
    for piece in sorted(order, key=lambda name: (-needed[name], order[name])):
        if len(kept) >= size:
            break
        kept.add(piece)
    if len(kept) > size:
        raise ModelError(f"vocabulary {size} is too small: {len(kept)} pieces are letters; use at least as many")
    return WordPieces.of([piece for piece in whole if piece in kept], longest=longest)


def _is_special(piece: str) -> bool:
    """Tell [CLS], [MASK], [unused7], <pad> and the like from pieces of text."""
    return len(piece) > 2 and (piece[0], piece[-1]) in (("[", "]"), ("<", ">"))


def _is_letter(piece: str) -> bool:
    letter = piece.removeprefix(_INSIDE)
    return len(letter) == 1 and letter.isascii()


# Published files


def convert(source: Path, target: Path) -> PretrainedEncoder:
    """Write a published encoder (.onnx or .safetensors) as one `.npz`, and return it as it was published."""
    found = read_published(source)
    target.parent.mkdir(parents=True, exist_ok=True)
    found.save(target)
    return found


def read_published(source: Path) -> PretrainedEncoder:
    """Read an encoder as ONNX or safetensors; `config.json` and `vocab.txt` lie beside it or one folder up."""
    readers = {".onnx": _onnx_weights, ".safetensors": _safetensors_weights}
    if source.suffix not in readers:
        raise InputError(f"not a published encoder; give a file that ends in {' or '.join(readers)}", path=str(source))
    config_path = _beside(source, "config.json")
    config = json.loads(config_path.read_text(encoding="utf-8"))
    kind = _KINDS.get(config.get("model_type"))
    if kind is None or config.get("hidden_act") != "gelu":
        what = f"model_type {config.get('model_type')!r} with {config.get('hidden_act')!r}"
        raise InputError(f"{what}; only {' and '.join(_KINDS)} with gelu are read", path=str(config_path))
    pieces = tuple(_beside(source, "vocab.txt").read_text(encoding="utf-8").rstrip("\n").split("\n"))
    try:
        # With a head of its own, an encoder's weights are named after its kind.
        found = {
            name.removeprefix(f"{config['model_type']}."): one for name, one in readers[source.suffix](source).items()
        }
        weights = _canonical(found, kind)
    except KeyError as error:
        what = f"no weight {error} in it; give an encoder whose model_type is {config['model_type']}"
        raise InputError(what, path=str(source)) from None
    if len(pieces) != len(weights["embedding.weight"]):
        what = f"{len(pieces)} pieces in vocab.txt but {len(weights['embedding.weight'])} embeddings"
        raise InputError(f"{what}; give files of the same model", path=str(source))
    epsilon = float(config.get("layer_norm_eps", PretrainedEncoder.epsilon))
    return PretrainedEncoder(int(config["num_attention_heads"]), pieces, weights, epsilon)


def _beside(source: Path, name: str) -> Path:
    for folder in (source.parent, source.parent.parent):
        if (folder / name).exists():
            return folder / name
    raise InputError(f"no {name} beside it or one folder up; fetch all files of the model", path=str(source))


def _canonical(published: Mapping[str, Floats], kind: _Published) -> dict[str, Floats]:
    """Give an encoder's weights our names."""
    found = {ours: published[theirs] for ours, theirs in _EMBEDDINGS.items()}
    found["positions.weight"] = found["positions.weight"][kind.positions_before :]
    if kind.token_types:
        found["positions.weight"] = found["positions.weight"] + published[_TOKEN_TYPES][0]
    if kind.distances:
        found["distances.weight"] = published[_DISTANCES]
    for layer in range(sum(name.endswith(".intermediate.dense.bias") for name in published)):
        begin = f"encoder.layer.{layer}"
        for sort in ("weight", "bias"):
            found[f"layers.{layer}.projections.{sort}"] = np.concatenate(
                [published[f"{begin}.{part}.{sort}"] for part in kind.projections]
            )
            for ours, theirs in kind.layer.items():
                found[f"layers.{layer}.{ours}.{sort}"] = published[f"{begin}.{theirs}.{sort}"]
    return found


def _onnx_weights(source: Path) -> dict[str, Floats]:
    """Read named weights, and give a nameless matrix the name of the bias that is added to its product."""
    try:
        import onnx
        from onnx import numpy_helper
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"reading ONNX (no {error.name})", "train") from None
    graph = onnx.load(str(source)).graph
    stored = {tensor.name: tensor for tensor in graph.initializer}
    found: dict[str, Floats] = {name: numpy_helper.to_array(tensor) for name, tensor in stored.items()}
    products = {node.output[0]: node.input[1] for node in graph.node if node.op_type == "MatMul"}
    for node in graph.node:
        if node.op_type == "Add":
            for product, bias in (node.input, reversed(node.input)):
                matrix = products.get(product)
                if matrix in found and bias in found and bias.endswith(".bias"):
                    # ONNX multiplies from the right, so that the matrix lies the other way.
                    found[f"{bias.removesuffix('.bias')}.weight"] = found[matrix].T
    return found


def _safetensors_weights(source: Path) -> dict[str, Floats]:
    """Read a safetensors file: a length, a table of contents in JSON, and the numbers."""
    kinds = {"F32": "<f4", "F16": "<f2", "F64": "<f8"}
    data = source.read_bytes()
    first = 8 + int.from_bytes(data[:8], "little")
    found: dict[str, Floats] = {}
    try:
        contents = json.loads(data[8:first])
        for name, entry in contents.items():
            if name != "__metadata__" and entry["dtype"] in kinds:
                begin, stop = entry["data_offsets"]
                numbers = np.frombuffer(data[first + begin : first + stop], dtype=kinds[entry["dtype"]])
                found[name] = numbers.reshape(entry["shape"]).astype(np.float32)
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(f"not a safetensors file: {error}; fetch it again", path=str(source)) from None
    return found
