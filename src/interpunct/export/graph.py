"""`Graph`: an ONNX graph, written operator by operator.

In: operators with their inputs, and weights. Out: a model file's content. A graph written so is short, and the same
whatever torch is installed. With `int8`, matrices are stored as bytes with a scale per row, a quarter of the size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from interpunct.models import six_bits

OPSET = 17


class Graph:
    """Collects nodes and weights."""

    def __init__(self, *, int8: bool, bits: int = 8, seen: Mapping[str, np.ndarray] | None = None) -> None:
        self.int8 = int8
        self.seen = seen or {}
        """What weights read in text, squared, by their names, where that is known: they are rounded by it."""
        self.bits = bits
        """Bits of a weight that is multiplied as a byte."""
        self.beside: dict[str, np.ndarray] = {}
        """Matrices of six bits a number, which lie in a file of their own and are bytes when the graph is opened."""
        self.windows_at_once: int | None = None
        """How many windows are read fastest in one go, if not as many as there are."""
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def add(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        """Add a node and return its output's name; `domain` among the attributes is the operator's."""
        from onnx import helper

        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def constant(self, name: str, value: Any) -> str:
        """Store an array as it is."""
        from onnx import numpy_helper

        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def put_beside(self, name: str, numbers: np.ndarray) -> str:
        """Store a matrix of numbers from -31 to 31 in the file beside the graph."""
        from onnx import TensorProto

        self.beside[name] = six_bits.packed(numbers)
        tensor = TensorProto(name=name, dims=numbers.shape, data_type=TensorProto.INT8)
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=six_bits.WEIGHTS)
        self.weights.append(tensor)
        return name

    def matrix(self, name: str, value: np.ndarray) -> str:
        """Store a matrix; as bytes, each row with its own scale, where int8 is asked for.

        It becomes floats again once, when the file is loaded.
        """
        if not self.int8 or value.ndim < 2:
            return self.constant(name, value.astype(np.float32))
        scale = np.maximum(np.abs(value).max(axis=-1, keepdims=True), 1e-8) / 127
        stored = self.constant(f"{name}_int8", np.round(value / scale).astype(np.int8))
        floats = self.add("Cast", [stored], f"{name}_cast", to=1)
        return self.add("Mul", [floats, self.constant(f"{name}_scale", scale.astype(np.float32))], name)

    def at_words(self, states: str) -> str:
        """Gather from states (windows × pieces × numbers) those at `words`, each word's last piece."""
        axis = self.constant("last_axis", np.array([2], dtype=np.int64))
        places = self.add("Unsqueeze", ["words", axis], "places")
        return self.add("GatherND", [states, places], "at_words", batch_dims=1)

    def branch(self, task: str, states: str, weight: np.ndarray, bias: np.ndarray) -> None:
        """End in a task's log-probabilities: a linear layer (labels × numbers) over the states of words."""
        product = self.add("MatMul", [states, self.constant(f"{task}_matrix", weight.T)], f"{task}_product")
        logits = self.add("Add", [product, self.constant(f"{task}_bias", bias)], f"{task}_logits")
        self.add("LogSoftmax", [logits], task, axis=-1)

    def model(self, name: str, labels: Mapping[str, tuple[str, ...]]) -> Any:
        """Return the model: `pieces`, `lengths`, `words` in, log-probabilities per task out."""
        from onnx import TensorProto, helper

        inputs = {"pieces": ["windows", "pieces"], "lengths": ["windows"], "words": ["windows", "words"]}
        graph = helper.make_graph(
            self.nodes,
            name,
            [helper.make_tensor_value_info(each, TensorProto.INT64, shape) for each, shape in inputs.items()],
            [
                helper.make_tensor_value_info(task, TensorProto.FLOAT, ["windows", "words", len(names)])
                for task, names in labels.items()
            ],
            self.weights,
        )
        domains = sorted({node.domain for node in self.nodes if node.domain})
        opsets = [helper.make_opsetid("", OPSET), *(helper.make_opsetid(domain, 1) for domain in domains)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="interpunct")
