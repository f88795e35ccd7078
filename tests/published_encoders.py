"""Published encoders of random weights, in the files that they come in, and what they must give."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

WIDTH, HEADS, INNER, LAYERS, POSITIONS = 8, 2, 12, 4, 20
LETTERS = "abcdefghijklmnopqrstuvwxyz0"
PUBLISHED = (
    "[PAD] [unused0] [UNK] [CLS] [SEP] [MASK] ! ' , - . " + " ".join(LETTERS) + " don mail the ##ing go cafe 000"
).split() + [f"##{letter}" for letter in LETTERS]
Rows = npt.NDArray[Any]
Weights = Mapping[str, npt.NDArray[np.float32]]


CLASSES, EPSILON = 16, 1e-3
"""MPNet's distances, and what its normalisations add."""
MPNET_NAMES = {
    "attention.self.query": "attention.attn.q", "attention.self.key": "attention.attn.k",
    "attention.self.value": "attention.attn.v", "attention.output.dense": "attention.attn.o",
    "attention.output.LayerNorm": "attention.LayerNorm",
}  # fmt: skip
"""BERT's names of a layer's parts → MPNet's."""
_TOKEN_TYPES, _POSITIONS = "embeddings.token_type_embeddings.weight", "embeddings.position_embeddings.weight"
_DISTANCES = "encoder.relative_attention_bias.weight"


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


def mpnet_weights() -> dict[str, npt.NDArray[np.float32]]:
    """Random weights with MPNet's own names, and two positions more than there are places."""
    found: dict[str, npt.NDArray[np.float32]] = {}
    for name, weight in bert_weights().items():
        for berts, own in MPNET_NAMES.items():
            name = name.replace(berts, own)
        found[name] = weight
    del found[_TOKEN_TYPES]
    chance = np.random.default_rng(2)
    found[_POSITIONS] = chance.normal(size=(POSITIONS + 2, WIDTH)).astype(np.float32)
    found[_DISTANCES] = 3 * chance.normal(size=(CLASSES, HEADS)).astype(np.float32)
    return found


def write_beside(folder: Path, **changes: Any) -> None:
    config = {"model_type": "bert", "hidden_act": "gelu", "num_attention_heads": HEADS} | changes
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "vocab.txt").write_text("\n".join(PUBLISHED) + "\n")


def write_safetensors(weights: Weights, path: Path, prefix: str = "") -> Path:
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


def write_onnx(weights: Weights, path: Path) -> Path:
    """Write a graph as torch does: matrices lie the other way and have numbers for names, in no useful order."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    nodes, stored = [], []
    for number, (name, weight) in enumerate(sorted(weights.items(), reverse=True)):
        if weight.ndim == 2 and "embeddings" not in name and name != _DISTANCES:
            bias = name.replace(".weight", ".bias")
            stored.append(numpy_helper.from_array(np.ascontiguousarray(weight.T), f"onnx::MatMul_{number}"))
            nodes.append(helper.make_node("MatMul", ["x", f"onnx::MatMul_{number}"], [f"p{number}"]))
            nodes.append(helper.make_node("Add", [bias, f"p{number}"][:: 1 - 2 * (number % 2)], [f"s{number}"]))
        else:
            stored.append(numpy_helper.from_array(weight, name))
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, None)
    onnx.save(helper.make_model(helper.make_graph(nodes, "bert", [value], [], stored)), str(path))
    return path


def slow_class(distance: int, classes: int = CLASSES) -> int:
    """The class of a distance, by its definition: exact up to a quarter of the classes, then by powers up to 128."""
    side = classes // 2
    exact = side // 2
    far = abs(distance)
    if far >= exact:
        far = min(side - 1, exact + int(math.log(far / exact) / math.log(128 / exact) * (side - exact) + 1e-9))
    return far + (side if distance > 0 else 0)


def slow_states(weights: Weights, ids: list[int]) -> Rows:
    """BERT or MPNet by its definition: one piece, one head, one number at a time where that is bearable."""
    mpnet = _DISTANCES in weights
    names = MPNET_NAMES if mpnet else {name: name for name in MPNET_NAMES}

    def norm(rows: Rows, name: str) -> Rows:
        centred = rows - rows.mean(axis=1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True) + (EPSILON if mpnet else 0))
        return np.asarray(centred / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"])

    def dense(rows: Rows, name: str) -> Rows:
        return np.asarray(rows @ weights[f"{name}.weight"].T + weights[f"{name}.bias"])

    def added(row: int, other: int, head: int) -> float:
        return float(weights[_DISTANCES][slow_class(other - row), head]) if mpnet else 0.0

    embedded = [
        weights["embeddings.word_embeddings.weight"][piece]
        + weights[_POSITIONS][place + (2 if mpnet else 0)]
        + (0 if mpnet else weights[_TOKEN_TYPES][0])
        for place, piece in enumerate(ids)
    ]
    states = norm(np.array(embedded, dtype=np.float64), "embeddings.LayerNorm")
    size = WIDTH // HEADS
    for layer in range(LAYERS):
        begin = f"encoder.layer.{layer}"
        queries, keys, values, output, output_norm = (f"{begin}.{name}" for name in names.values())
        asked, told, kept = (dense(states, name) for name in (queries, keys, values))
        found = np.zeros_like(states)
        for head in range(HEADS):
            part = slice(head * size, (head + 1) * size)
            for row in range(len(ids)):
                looks = [
                    asked[row, part] @ told[other, part] / math.sqrt(size) + added(row, other, head)
                    for other in range(len(ids))
                ]
                shares = np.exp(looks) / np.exp(looks).sum()
                found[row, part] = sum(share * kept[i, part] for i, share in enumerate(shares))
        states = norm(states + dense(found, output), output_norm)
        inner = dense(states, f"{begin}.intermediate.dense")
        gelu = inner * (1 + np.vectorize(math.erf)(inner / math.sqrt(2))) / 2
        states = norm(states + dense(gelu, f"{begin}.output.dense"), f"{begin}.output.LayerNorm")
    return states
