"""A trained model folder to ONNX, which restores without torch.

In: a folder of a BiGRU. Out: a folder with `model.onnx` and all it needs. The graph is written operator by
operator: it is short, and the same whatever torch is installed. With `int8` the weights are stored as bytes
with a scale per row, a quarter of the size; they become floats again once, when the file is loaded.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from interpunct.errors import MissingExtraError, ModelError
from interpunct.models.folder import LEXICON, PIECES, Description
from interpunct.models.onnx import GRAPH

if TYPE_CHECKING:
    from interpunct.models.bigru import BiGRU

_OPSET = 17


def export(folder: str | Path, target: str | Path, *, int8: bool = False) -> Description:
    """Export a trained model; everything the restorer needs lies in `target` afterwards."""
    folder, target = Path(folder), Path(target)
    if folder.resolve() == target.resolve():
        raise ModelError(f"{folder}: a model cannot be exported onto itself; give another folder")
    description = Description.load(folder)
    if description.type != "bigru":
        raise ModelError(f"{folder}: models of type {description.type!r} cannot be exported; bigru can")
    try:
        import onnx

        from interpunct.models.bigru import BiGRU
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"exporting (no {error.name})", "train") from None
    model = BiGRU.load(folder)
    target.mkdir(parents=True, exist_ok=True)
    graph = _Graph(int8=int8).bigru(model)
    onnx.checker.check_model(graph)
    onnx.save(graph, str(target / GRAPH))
    exported = replace(description, type="onnx")
    exported.save(target)
    for name in (PIECES, LEXICON, "CARD.md", "config.toml", "log.jsonl"):
        if (folder / name).exists():
            shutil.copyfile(folder / name, target / name)
    return exported


class _Graph:
    """Collects nodes and weights."""

    def __init__(self, *, int8: bool) -> None:
        self.int8 = int8
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def _add(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def _constant(self, name: str, value: Any) -> str:
        from onnx import numpy_helper

        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def _weight(self, name: str, value: np.ndarray) -> str:
        """Store a matrix; as bytes, each row with its own scale, where int8 is asked for."""
        if not self.int8 or value.ndim < 2:
            return self._constant(name, value.astype(np.float32))
        scale = np.maximum(np.abs(value).max(axis=-1, keepdims=True), 1e-8) / 127
        stored = self._constant(f"{name}_int8", np.round(value / scale).astype(np.int8))
        floats = self._add("Cast", [stored], f"{name}_cast", to=1)
        return self._add("Mul", [floats, self._constant(f"{name}_scale", scale.astype(np.float32))], name)

    def bigru(self, model: BiGRU) -> Any:
        """Write the BiGRU's forward pass: `pieces`, `lengths`, `words` to log-probabilities per task."""
        from onnx import TensorProto, helper

        state = {name: tensor.numpy() for name, tensor in model.network.state_dict().items()}
        table = self._weight("embedding", state["embedding.weight"])
        self._add("Gather", [table, "pieces"], "embedded")  # (windows, pieces, embedding)
        current = self._add("Transpose", ["embedded"], "steps", perm=[1, 0, 2])
        self._add("Cast", ["lengths"], "lengths32", to=TensorProto.INT32)
        joined_shape = self._constant("joined_shape", np.array([0, 0, -1], dtype=np.int64))
        for layer in range(model.options.layers):
            inputs = [current, *self._gru_weights(state, layer), "lengths32"]
            self._add(
                "GRU", inputs, f"states{layer}",
                hidden_size=model.options.hidden, direction="bidirectional", linear_before_reset=1,
            )  # (pieces, 2, windows, hidden)  # fmt: skip
            turned = self._add("Transpose", [f"states{layer}"], f"turned{layer}", perm=[0, 2, 1, 3])
            current = self._add("Reshape", [turned, joined_shape], f"joined{layer}")
        by_window = self._add("Transpose", [current], "by_window", perm=[1, 0, 2])
        axis = self._constant("last_axis", np.array([2], dtype=np.int64))
        places = self._add("Unsqueeze", ["words", axis], "places")
        at_words = self._add("GatherND", [by_window, places], "at_words", batch_dims=1)
        outputs = []
        for task, names in model.labels.items():
            matrix = self._constant(f"{task}_matrix", state[f"heads.{task}.weight"].T)
            bias = self._constant(f"{task}_bias", state[f"heads.{task}.bias"])
            product = self._add("MatMul", [at_words, matrix], f"{task}_product")
            logits = self._add("Add", [product, bias], f"{task}_logits")
            self._add("LogSoftmax", [logits], task, axis=-1)
            outputs.append(helper.make_tensor_value_info(task, TensorProto.FLOAT, ["windows", "words", len(names)]))
        graph = helper.make_graph(
            self.nodes,
            model.description.name,
            [
                helper.make_tensor_value_info("pieces", TensorProto.INT64, ["windows", "pieces"]),
                helper.make_tensor_value_info("lengths", TensorProto.INT64, ["windows"]),
                helper.make_tensor_value_info("words", TensorProto.INT64, ["windows", "words"]),
            ],
            outputs,
            self.weights,
        )
        opsets = [helper.make_opsetid("", _OPSET)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="interpunct")

    def _gru_weights(self, state: dict[str, np.ndarray], layer: int) -> list[str]:
        """Return the names of W, R and B: torch orders the gates reset, update, new; ONNX update, reset, new."""

        def gates(kind: str) -> np.ndarray:
            both = []
            for direction in ("", "_reverse"):
                reset, update, new = np.split(state[f"gru.{kind}_l{layer}{direction}"], 3)
                both.append(np.concatenate([update, reset, new]))
            return np.stack(both)

        bias = np.concatenate([gates("bias_ih"), gates("bias_hh")], axis=1)
        return [
            self._weight(f"w{layer}", gates("weight_ih")),
            self._weight(f"r{layer}", gates("weight_hh")),
            self._constant(f"b{layer}", bias),
        ]
