"""A transformer as an ONNX graph, with onnxruntime's own fused operators, for CPUs; and back.

In: a trained `Transformer`. Out: its forward pass in a `Graph`. As floats it equals torch's. With `int8`, matrices are
bytes with a scale per column and are multiplied as whole numbers: a piece's state becomes bytes on the way, each
with a scale of its own, so that neither other windows nor padding change it. Embeddings have a scale per row, those of
positions as bytes, those of pieces as half bytes, and become floats again only where they are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import torch
from onnx import TensorProto, helper, numpy_helper

from interpunct.export import halves
from interpunct.export.graph import Graph
from interpunct.models.transformer import NORM_EPSILON, Network, Transformer

_FUSED = "com.microsoft"  # the domain of onnxruntime's own operators
_WHOLE_RANGE = 127
_REDUCED_RANGE = 64
"""The largest number in a matrix, so that two products with unsigned bytes fit into 16 bits (2 · 255 · 64 = 32,640):
x86 without VNNI adds them in pairs before it widens them, and cuts off what is above 32,767."""
_GELU_LOWEST = 0.17  # GELU is nowhere below minus this, so that its bytes need few numbers below zero
_GELU_ZERO = 32
_TABLES = ("embedding", "positions")
"""What is looked up, not multiplied by."""
_HALF_RANGE = 7
_HALF_ZERO = 8
"""The half byte that is zero."""
_LARGEST_HALF = np.linspace(1.0, 0.5, 11)
"""What the largest half byte may stand for, as shares of a row's largest number, which is then cut off there."""


def write(model: Transformer, graph: Graph, *, reduce_range: bool = True) -> None:
    """Write the forward pass: `pieces`, `lengths`, `words` to log-probabilities per task.

    With int8, `reduce_range` keeps weights to 7 bits, so that every CPU computes the same.
    """
    graph.windows_at_once = 1  # alone a window needs no padding, and attention without a mask is faster
    _Writer(model, graph, _REDUCED_RANGE if reduce_range else _WHOLE_RANGE).write()


def read(graph: Any, model: Transformer) -> None:
    """Fill a model with the weights of an exported one: the way back from `write`."""
    stored = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    network = cast(Network, model.network)
    state = {name: _stored(name, tensor.ndim, stored) for name, tensor in network.state_dict().items()}
    network.load_state_dict({name: torch.from_numpy(value.astype(np.float32)) for name, value in state.items()})


def _stored(name: str, axes: int, stored: Mapping[str, np.ndarray]) -> np.ndarray:
    """Find a weight of the network, by its name there, among a graph's constants."""
    layer, _, kind = name.rpartition(".")
    if layer.startswith("heads."):
        task = layer.removeprefix("heads.")
        return stored[f"{task}_matrix"].T if kind == "weight" else stored[f"{task}_bias"]
    if axes < 2:
        return stored[name]
    if f"{layer}.table" in stored:
        return stored[f"{layer}.table"]
    if name in stored:
        return stored[name].T
    half_bytes = stored.get(f"{layer}.int4")
    numbers = stored[f"{layer}.int8"] if half_bytes is None else halves.unpacked(half_bytes) - float(_HALF_ZERO)
    floats: np.ndarray = numbers * stored[f"{layer}.scale"]
    return floats if layer in _TABLES else floats.T


class _Writer:
    """A network's weights on their way into a graph; states are rows × numbers, windows behind one another."""

    def __init__(self, model: Transformer, graph: Graph, largest: int) -> None:
        self.graph = graph
        self.options = model.options
        self.tasks = tuple(model.labels)
        self.largest = largest
        network = cast(Network, model.network)
        self.state = {name: tensor.cpu().float().numpy() for name, tensor in network.state_dict().items()}

    def write(self) -> None:
        """Write all operators."""
        graph, width = self.graph, self.options.width
        self.shapes()
        rows = graph.constant("rows_shape", np.array([-1, width]))
        states = graph.add("Reshape", [self.normalised("norm", self.embedded()), rows], "states")
        for layer in range(self.options.layers):
            begin = f"layers.{layer}"
            attended = graph.add("Reshape", [self.attended(begin, states), rows], f"{begin}.attended_rows")
            states = self.residual(f"{begin}.output", attended, states)
            # Bytes cannot tell the curve that tanh makes from GELU's own, which takes some CPUs twice the time.
            curve = "FastGelu" if graph.int8 else "BiasGelu"
            inner = graph.add(curve, list(self.product(f"{begin}.up", states)), f"{begin}.inner", domain=_FUSED)
            states = self.residual(f"{begin}.down", inner, states, lowest=_GELU_LOWEST)
        at_words = graph.at_words(graph.add("Reshape", [states, "states_shape"], "last_states"))
        for task in self.tasks:
            graph.branch(task, at_words, self.state[f"heads.{task}.weight"], self.state[f"heads.{task}.bias"])

    def shapes(self) -> None:
        """Write what is computed once: shapes, lengths, and whether there is padding."""
        graph = self.graph
        graph.add("Shape", ["pieces"], "shape")
        graph.add("Gather", ["shape", graph.constant("one", np.array(1))], "count")
        graph.add("Concat", ["shape", graph.constant("width", np.array([self.options.width]))], "states_shape", axis=0)
        graph.add("Cast", ["lengths"], "lengths32", to=TensorProto.INT32)
        shortest = graph.add("ReduceMin", ["lengths"], "shortest", keepdims=0)
        graph.add("Equal", [shortest, "count"], "unpadded")
        if graph.int8:
            self.number("no_scale", 1)
            row_count = graph.add("ReduceProd", ["shape"], "row_count", keepdims=1)
            for name, zero in (("even", _WHOLE_RANGE + 1), ("gelu", _GELU_ZERO)):
                graph.constant(f"{name}_zero", np.array(zero, dtype=np.uint8))
                graph.add("Expand", [f"{name}_zero", row_count], f"{name}_zeros")

    def embedded(self) -> str:
        """Write the sum of pieces' and positions' embeddings; places behind the last position share it."""
        graph = self.graph
        places = graph.add("Range", [graph.constant("zero", np.array(0)), "count", "one"], "all_places")
        last = graph.constant("last_position", np.array(self.options.positions - 1))
        positions = self.looked_up("positions", graph.add("Min", [places, last], "known_places"))
        return graph.add("Sum", [self.looked_up("embedding", "pieces"), positions], "embedded")

    def looked_up(self, name: str, rows: str) -> str:
        """Write the lookup of a table's rows."""
        graph, table = self.graph, self.state[f"{name}.weight"]
        if not graph.int8:
            return graph.add("Gather", [graph.constant(f"{name}.table", table), rows], f"{name}.rows")
        if name == "embedding" and table.shape[1] % 2 == 0:
            numbers, scale = _half_bytes(table.T)
            found = self.half_bytes(name, numbers.T, rows)
        else:
            numbers, scale = _bytes(table.T, _WHOLE_RANGE)
            found = self.bytes(name, numbers.T, rows)
        scales = graph.add("Gather", [graph.constant(f"{name}.scale", scale[:, None]), rows], f"{name}.scales")
        return graph.add("Mul", [found, scales], f"{name}.rows")

    def bytes(self, name: str, numbers: np.ndarray, rows: str) -> str:
        """Write the lookup of rows of bytes, as floats."""
        found = self.graph.add("Gather", [self.graph.constant(f"{name}.int8", numbers), rows], f"{name}.bytes")
        return self.graph.add("Cast", [found], f"{name}.floats", to=TensorProto.FLOAT)

    def half_bytes(self, name: str, numbers: np.ndarray, rows: str) -> str:
        """Write the lookup of rows of half bytes, as floats."""
        graph = self.graph
        stored = graph.constant(f"{name}.int4", halves.packed(numbers + _HALF_ZERO))
        both = graph.add("Gather", [stored, rows], f"{name}.both")
        four = graph.constant("four", np.array(4, dtype=np.uint8))
        # Shifted to the left, what is above is lost; each half is then sixteen times the number.
        upper = graph.add("BitShift", [both, four], f"{name}.upper", direction="RIGHT")
        apart = [
            graph.add("BitShift", [given, four], f"{name}.{which}", direction="LEFT")
            for which, given in (("first", both), ("second", upper))
        ]
        row = graph.add("Concat", apart, f"{name}.bytes", axis=-1)
        row = graph.add("Cast", [row], f"{name}.sixteenths", to=TensorProto.FLOAT)
        row = graph.add("Mul", [row, self.number(f"{name}.sixteenth", 1 / 16)], f"{name}.shifted")
        return graph.add("Sub", [row, self.number(f"{name}.zero", _HALF_ZERO)], f"{name}.floats")

    def attended(self, begin: str, states: str) -> str:
        """Write attention, from the projections to the heads side by side (windows × pieces × width)."""
        graph = self.graph
        projected, bias = self.product(f"{begin}.projections", states)
        parts = [f"{begin}.{part}" for part in ("queries", "keys", "values")]
        graph.nodes.append(helper.make_node("Split", [projected], [f"{part}_rows" for part in parts], axis=1))
        for part in parts:
            graph.add("Reshape", [f"{part}_rows", "states_shape"], part)
        # Without padding onnxruntime takes a faster way, which knows no mask.
        output = f"{begin}.attended"
        branches = {
            f"{branch}_branch": self.attention(f"{output}_{branch}", [*parts, bias, *mask])
            for branch, mask in (("then", []), ("else", ["lengths32"]))
        }
        return graph.add("If", ["unpadded"], output, **branches)

    def attention(self, output: str, inputs: list[str]) -> Any:
        """Return a graph of one operator, which looks at queries, keys and values outside it."""
        node = helper.make_node(
            "MultiHeadAttention", inputs, [output], domain=_FUSED, num_heads=self.options.heads
        )  # fmt: skip
        shape = ["windows", "pieces", self.options.width]
        return helper.make_graph(
            [node], output, [], [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)]
        )  # fmt: skip

    def residual(self, name: str, given: str, states: str, *, lowest: float | None = None) -> str:
        """Write a linear layer, the sum of what it gives and the states, and its normalisation."""
        # As an `Add` of two, onnxruntime would fuse it with the normalisation into a slower operator.
        total = self.graph.add("Sum", [*self.product(name, given, lowest=lowest), states], f"{name}.sum")
        return self.normalised(f"{name}_norm", total)

    def normalised(self, name: str, states: str) -> str:
        """Write a layer normalisation in parts, which ARM computes in half the time that the whole operator takes."""
        graph = self.graph
        scale, bias = (graph.constant(f"{name}.{kind}", self.state[f"{name}.{kind}"]) for kind in ("weight", "bias"))
        mean = graph.add("ReduceMean", [states], f"{name}.mean", axes=[-1], keepdims=1)
        centred = graph.add("Sub", [states, mean], f"{name}.centred")
        # A `Pow` in its place, and onnxruntime would make the whole operator of these again.
        squares = graph.add("Mul", [centred, centred], f"{name}.squares")
        variance = graph.add("ReduceMean", [squares], f"{name}.variance", axes=[-1], keepdims=1)
        some = graph.add("Add", [variance, self.number(f"{name}.epsilon", NORM_EPSILON)], f"{name}.some_variance")
        deviation = graph.add("Sqrt", [some], f"{name}.deviation")
        scaled = graph.add("Mul", [graph.add("Div", [centred, deviation], f"{name}.unit"), scale], f"{name}.scaled")
        return graph.add("Add", [scaled, bias], name)

    def number(self, name: str, value: float) -> str:
        """Store a single number."""
        return self.graph.constant(name, np.array(value, dtype=np.float32))

    def product(self, name: str, states: str, *, lowest: float | None = None) -> tuple[str, str]:
        """Write the product of a linear layer; return it and the layer's bias, for the next operator to add.

        `lowest` says that no state is below minus that.
        """
        graph = self.graph
        bias = graph.constant(f"{name}.bias", self.state[f"{name}.bias"])
        matrix = self.state[f"{name}.weight"].T
        if not graph.int8:
            return graph.add("MatMul", [states, graph.constant(f"{name}.weight", matrix)], f"{name}.product"), bias
        given, given_scale, zero = self.quantised(name, states, lowest)
        numbers, scale = _bytes(matrix, self.largest)
        stored = [graph.constant(f"{name}.int8", numbers), "no_scale", graph.constant(f"{name}.scale", scale), zero]
        product = graph.add("MatMulIntegerToFloat", [given, *stored], f"{name}.numbers", domain=_FUSED)
        return graph.add("Mul", [product, given_scale], f"{name}.product"), bias

    def quantised(self, name: str, states: str, lowest: float | None) -> tuple[str, str, str]:
        """Write states as bytes, each row by its largest number; return them, their scales, and which byte is zero."""
        graph = self.graph
        if lowest is None:
            zero, levels, floor = "even_zero", _WHOLE_RANGE, 1e-6
            states_up = graph.add("Abs", [states], f"{name}.absolute")
        else:
            zero, levels = "gelu_zero", 255 - _GELU_ZERO
            floor, states_up = lowest * levels / _GELU_ZERO, states
        largest = graph.add("ReduceMax", [states_up], f"{name}.largest", axes=[1], keepdims=0)
        reached = graph.add("Max", [largest, self.number(f"{name}.floor", floor)], f"{name}.reached")
        scale = graph.add("Mul", [reached, self.number(f"{name}.step", 1 / levels)], f"{name}.states_scale")
        given = graph.add("QuantizeLinear", [states, scale, f"{zero}s"], f"{name}.states_bytes", axis=0)
        last_axis = graph.constant(f"{name}.axis", np.array([1]))
        return given, graph.add("Unsqueeze", [scale, last_axis], f"{name}.states_scales"), zero


def _bytes(matrix: np.ndarray, largest: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a matrix as whole numbers up to `largest`, and the scale of each column."""
    scale = (np.maximum(np.abs(matrix).max(axis=0), 1e-8) / largest).astype(np.float32)
    return np.round(matrix / scale).astype(np.int8), scale


def _half_bytes(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a matrix as whole numbers of half a byte, and the scale of each column that leaves the least error."""
    whole = np.maximum(np.abs(matrix).max(axis=0), 1e-8) / _HALF_RANGE
    scale, least = whole, np.full(matrix.shape[1], np.inf)
    for share in _LARGEST_HALF:
        tried = (whole * share).astype(np.float32)
        error = np.square(_rounded_half(matrix, tried) * tried - matrix).sum(axis=0)
        scale, least = np.where(error < least, tried, scale), np.minimum(error, least)
    return _rounded_half(matrix, scale).astype(np.int8), scale.astype(np.float32)


def _rounded_half(matrix: np.ndarray, scale: np.ndarray) -> np.ndarray:
    rounded: np.ndarray = np.clip(np.round(matrix / scale), -_HALF_RANGE, _HALF_RANGE)
    return rounded
