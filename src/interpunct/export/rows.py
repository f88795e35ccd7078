"""`Rows`: what the graphs of several networks have in common. States are rows of numbers, windows behind one another.

In: a network's weights. Out: lookups, products and attention in a `Graph`. As floats they equal torch's. With `int8`,
matrices are bytes with a scale per column and are multiplied as whole numbers: a row becomes bytes on the way, each
with a scale of its own, so that neither other windows nor padding change it. Tables have a scale per row, those of
pieces are half bytes, and become floats again only where they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from interpunct.export import halves, rounding
from interpunct.export.graph import Graph
from interpunct.models import six_bits

FUSED = "com.microsoft"
"""The domain of onnxruntime's own operators."""
REDUCED_RANGE = 64
"""The largest number in a matrix, so that two products with unsigned bytes fit into 16 bits (2 · 255 · 64 = 32,640):
x86 without VNNI adds them in pairs before it widens them, and cuts off what is above 32,767."""
WHOLE_RANGE = 127
_LOW_ZERO = 32  # the byte that is zero where no number is far below it
_HALF_RANGE = 7
_HALF_ZERO = 8
"""The half byte that is zero."""
_LARGEST_KEPT = np.linspace(1.0, 0.5, 11)
"""What the largest of few numbers may stand for, as shares of the largest there is, which is then cut off there."""


class Rows:
    """Weights, by their names in the network, on their way into a graph."""

    def __init__(
        self, graph: Graph, weights: Mapping[str, np.ndarray], *, width: int, heads: int, largest: int,
        attended: int | None = None,
    ) -> None:  # fmt: skip
        """Write what is computed once: shapes, lengths, and whether there is padding.

        States have so many numbers, and what attention finds has as many, unless `attended` says otherwise.
        """
        self.graph = graph
        self.weights = weights
        self.heads = heads
        self.largest = largest
        self._zeros: set[str] = set()
        graph.add("Shape", ["pieces"], "shape")
        graph.add("Gather", ["shape", graph.constant("one", np.array(1))], "count")
        graph.add("Concat", ["shape", graph.constant("width", np.array([width]))], "states_shape", axis=0)
        graph.constant("rows_shape", np.array([-1, width]))
        self.attended_width, self.attended_shape, self._attended_rows = "width", "states_shape", "rows_shape"
        if attended not in (None, width):
            self.attended_width = graph.constant("attended_width", np.array([attended]))
            self.attended_shape = graph.add("Concat", ["shape", self.attended_width], "attended_shape", axis=0)
            self._attended_rows = graph.constant("attended_rows_shape", np.array([-1, attended]))
        graph.add("Cast", ["lengths"], "lengths32", to=TensorProto.INT32)
        shortest = graph.add("ReduceMin", ["lengths"], "shortest", keepdims=0)
        graph.add("Equal", [shortest, "count"], "unpadded")
        graph.add("Range", [graph.constant("zero", np.array(0)), "count", "one"], "all_places")
        if graph.int8:
            self.number("no_scale", 1)
            graph.add("ReduceProd", ["shape"], "row_count", keepdims=1)

    def number(self, name: str, value: float) -> str:
        """Store a single number."""
        return self.graph.constant(name, np.array(value, dtype=np.float32))

    def vector(self, name: str) -> str:
        """Store a bias, or a norm's scale."""
        return self.graph.constant(name, self.weights[name])

    def looked_up(self, name: str, rows: str, *, halved: bool = False) -> str:
        """Write the lookup of a table's rows; where they are to be `halved`, they are stored as half bytes."""
        graph, table = self.graph, self.weights[f"{name}.weight"]
        if not graph.int8:
            return graph.add("Gather", [graph.constant(f"{name}.table", table), rows], f"{name}.rows")
        if halved and table.shape[1] % 2 == 0:
            columns = _column_scales(table)
            scaled = (table / columns).T
            numbers, scale = _least_wrong(scaled, _HALF_RANGE)
            numbers = self._together(name, scaled, numbers, scale, _HALF_RANGE, gain=1 / columns)
            found = self._half_bytes(name, numbers.T, rows)
            found = graph.add("Mul", [found, graph.constant(f"{name}.columns", columns)], f"{name}.numbers")
        else:
            numbers, scale = _bytes(table.T, WHOLE_RANGE)
            stored = graph.add("Gather", [graph.constant(f"{name}.int8", numbers.T), rows], f"{name}.bytes")
            found = graph.add("Cast", [stored], f"{name}.floats", to=TensorProto.FLOAT)
        scales = graph.add("Gather", [graph.constant(f"{name}.scale", scale[:, None]), rows], f"{name}.scales")
        return graph.add("Mul", [found, scales], f"{name}.rows")

    def _half_bytes(self, name: str, numbers: np.ndarray, rows: str) -> str:
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

    def product(
        self, name: str, states: str, *, gain: np.ndarray | None = None, lowest: float | None = None,
        count: str = "row_count",
    ) -> str:  # fmt: skip
        """Write the product of a linear layer, without its bias.

        `gain` is what each number of the states would be multiplied with before; `lowest` says that no state is below
        minus that; `count` names what tells how many rows there are.
        """
        graph, matrix = self.graph, self.weights[f"{name}.weight"].T
        if gain is not None:
            matrix = matrix * gain[:, None]
        if not graph.int8:
            return graph.add("MatMul", [states, graph.constant(f"{name}.weight", matrix)], f"{name}.product")
        given, given_scale, zero = self._quantised(name, states, lowest, count)
        bytes_of, scale = self._matrix(name, matrix, gain=gain)
        stored = [bytes_of, "no_scale", graph.constant(f"{name}.scale", scale), zero]
        product = graph.add("MatMulIntegerToFloat", [given, *stored], f"{name}.numbers", domain=FUSED)
        return graph.add("Mul", [product, given_scale], f"{name}.product")

    def _matrix(self, name: str, matrix: np.ndarray, *, gain: np.ndarray | None) -> tuple[str, np.ndarray]:
        """Store a matrix as bytes, or in six bits beside the graph; return its name, and each column's scale."""
        six = self.graph.bits == 6 and len(matrix) % six_bits.PARTS == 0
        largest = six_bits.LARGEST if six else self.largest
        numbers, scale = _least_wrong(matrix, largest) if six else _bytes(matrix, largest)
        numbers = self._together(name, matrix, numbers, scale, largest, gain=gain)
        store = self.graph.put_beside if six else self.graph.constant
        return store(f"{name}.int8", numbers), scale

    def _together(
        self, name: str, matrix: np.ndarray, numbers: np.ndarray, scale: np.ndarray, largest: int,
        *, gain: np.ndarray | None,
    ) -> np.ndarray:  # fmt: skip
        """Round a matrix anew by what it reads, where that is known; its rows are larger by `gain` than what reads."""
        counts = self.graph.seen.get(name)
        if counts is None:
            return numbers
        if gain is not None:
            counts = counts / np.outer(gain, gain)
        return rounding.together(matrix, scale, largest, counts)

    def _quantised(self, name: str, states: str, lowest: float | None, count: str) -> tuple[str, str, str]:
        """Write states as bytes, each row by its largest number; return them, their scales, and which byte is zero."""
        graph = self.graph
        if lowest is None:
            zero, levels, floor = "even", WHOLE_RANGE, 1e-6
            states_up = graph.add("Abs", [states], f"{name}.absolute")
        else:
            zero, levels = "low", 255 - _LOW_ZERO
            floor, states_up = lowest * levels / _LOW_ZERO, states
        largest = graph.add("ReduceMax", [states_up], f"{name}.largest", axes=[1], keepdims=0)
        reached = graph.add("Max", [largest, self.number(f"{name}.floor", floor)], f"{name}.reached")
        scale = graph.add("Mul", [reached, self.number(f"{name}.step", 1 / levels)], f"{name}.states_scale")
        stored, of_rows = self._zero(zero, count)
        given = graph.add("QuantizeLinear", [states, scale, of_rows], f"{name}.states_bytes", axis=0)
        last_axis = graph.constant(f"{name}.axis", np.array([1]))
        return given, graph.add("Unsqueeze", [scale, last_axis], f"{name}.states_scales"), stored

    def _zero(self, name: str, count: str) -> tuple[str, str]:
        """Store which byte is zero, and write it for each row, both once."""
        stored, of_rows = f"{name}_zero", f"{name}_zero_{count}"
        if stored not in self._zeros:
            value = _LOW_ZERO if name == "low" else WHOLE_RANGE + 1
            self.graph.constant(stored, np.array(value, dtype=np.uint8))
        if of_rows not in self._zeros:
            self.graph.add("Expand", [stored, count], of_rows)
        self._zeros |= {stored, of_rows}
        return stored, of_rows

    def attended(
        self, name: str, parts: list[str], *, bias: str = "", added: str = "", causal: bool = False
    ) -> str:  # fmt: skip
        """Write attention of queries to keys and values (windows × pieces × width): rows of heads side by side.

        `added` names what is added to each look at a piece (1 × heads × pieces × pieces). Where it is causal, a piece
        sees those before it, of which none is padding, and itself.
        """
        if causal:
            options = {"domain": FUSED, "num_heads": self.heads, "unidirectional": 1}
            found = self.graph.add("MultiHeadAttention", parts, name, **options)
            return self.graph.add("Reshape", [found, self._attended_rows], f"{name}_rows")
        # Without padding onnxruntime takes a faster way, which knows no mask.
        branches = {
            f"{branch}_branch": self._attention(f"{name}_{branch}", [*parts, bias, mask, added])
            for branch, mask in (("then", ""), ("else", "lengths32"))
        }
        found = self.graph.add("If", ["unpadded"], name, **branches)
        return self.graph.add("Reshape", [found, self._attended_rows], f"{name}_rows")

    def _attention(self, output: str, inputs: list[str]) -> Any:
        """Return a graph of one operator, which looks at queries, keys and values outside it."""
        while not inputs[-1]:  # an input that is not given is not named where none follows
            inputs = inputs[:-1]
        node = helper.make_node("MultiHeadAttention", inputs, [output], domain=FUSED, num_heads=self.heads)
        return helper.make_graph(
            [node], output, [], [helper.make_tensor_value_info(output, TensorProto.FLOAT, [None] * 3)]
        )  # fmt: skip


def weights_of(network: nn.Module) -> dict[str, np.ndarray]:
    """Return a network's weights as floats, by their names."""
    return {name: tensor.cpu().float().numpy() for name, tensor in network.state_dict().items()}


def fill(network: nn.Module, graph: Any, find: Callable[[str, Tensor, Mapping[str, np.ndarray]], np.ndarray]) -> None:
    """Give a network the weights of an exported one: those that `find` finds, by name, among the graph's constants."""
    stored = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    found = {name: find(name, tensor, stored) for name, tensor in network.state_dict().items()}
    network.load_state_dict({name: torch.from_numpy(value.astype(np.float32)) for name, value in found.items()})


def stored_table(name: str, stored: Mapping[str, np.ndarray]) -> np.ndarray:
    """Find a table that `looked_up` wrote, by its name, among a graph's constants."""
    if f"{name}.table" in stored:
        return stored[f"{name}.table"]
    half_bytes = stored.get(f"{name}.int4")
    numbers = stored[f"{name}.int8"] if half_bytes is None else halves.unpacked(half_bytes) - float(_HALF_ZERO)
    columns = stored.get(f"{name}.columns", np.float32(1))  # older files have none
    floats: np.ndarray = numbers * stored[f"{name}.scale"] * columns
    return floats


def stored_matrix(name: str, stored: Mapping[str, np.ndarray]) -> np.ndarray:
    """Find a linear layer's matrix that `product` wrote, by the layer's name, among a graph's constants."""
    if f"{name}.weight" in stored:
        return stored[f"{name}.weight"].T
    floats: np.ndarray = (stored[f"{name}.int8"] * stored[f"{name}.scale"]).T
    return floats


def stored_branch(name: str, stored: Mapping[str, np.ndarray]) -> np.ndarray:
    """Find the weights ("heads.TASK.weight") or the bias of a task's branch among a graph's constants."""
    task, _, kind = name.removeprefix("heads.").rpartition(".")
    return stored[f"{task}_matrix"].T if kind == "weight" else stored[f"{task}_bias"]


def _bytes(matrix: np.ndarray, largest: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a matrix as whole numbers up to `largest`, and the scale of each column."""
    scale = (np.maximum(np.abs(matrix).max(axis=0), 1e-8) / largest).astype(np.float32)
    return np.round(matrix / scale).astype(np.int8), scale


def _column_scales(table: np.ndarray) -> np.ndarray:
    """Return by how much each column of a table is larger or smaller than most: 1 for those that are not.

    A row has one scale, above which its numbers are cut off. Where a column is larger than the others, as some of
    MPNet's are, that would be the same column in every row: what is cut off there would never be made up for.
    """
    sizes = np.maximum(np.sqrt(np.square(table).mean(axis=0)), 1e-8)
    scales: np.ndarray = np.exp2(np.round(2 * np.log2(sizes / np.median(sizes))) / 2).astype(np.float32)
    return scales


def _least_wrong(matrix: np.ndarray, largest: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a matrix as whole numbers up to `largest`, and the scale of each column that leaves the least error."""
    whole = np.maximum(np.abs(matrix).max(axis=0), 1e-8) / largest
    scale, least = whole, np.full(matrix.shape[1], np.inf)
    for share in _LARGEST_KEPT:
        tried = (whole * share).astype(np.float32)
        error = np.square(_rounded(matrix, tried, largest) * tried - matrix).sum(axis=0)
        scale, least = np.where(error < least, tried, scale), np.minimum(error, least)
    return _rounded(matrix, scale, largest).astype(np.int8), scale.astype(np.float32)


def _rounded(matrix: np.ndarray, scale: np.ndarray, largest: int) -> np.ndarray:
    rounded: np.ndarray = np.clip(np.round(matrix / scale), -largest, largest)
    return rounded
