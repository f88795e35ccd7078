"""A stack of dilated convolutions as an ONNX graph.

In: the trained model. Out: its forward pass. The places of all windows stand in one table, a row each, and a
convolution is one gathering of every row's neighbours and one product. Where there is no neighbour, a row of zeros at
the table's end is gathered, so that nothing needs a mask. With int8 the rows are bytes and the products those of whole
numbers: `MatMulIntegerToFloat` of the domain com.microsoft, which every onnxruntime knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from interpunct.export.graph import Graph
from interpunct.models.dilated import EPSILON, PAIR_FACTOR, RECTIFIED_STEP, STEP, WEIGHT_STEPS, Dilated, DilatedOptions
from interpunct.models.pieces import PAD

Floats = npt.NDArray[np.float32]
_INT32 = 6
_ZERO = 128
"""The byte that stands for 0 among numbers with a sign."""


def write(model: Dilated, graph: Graph) -> None:
    """Write the forward pass: `pieces`, `lengths`, `words` to log-probabilities per task."""
    graph.windows_at_once = 1
    options = model.options
    state = {name: tensor.numpy() for name, tensor in model.network.state_dict().items()}
    pen = _Pen(graph)
    pieces = _Places(pen, "pieces", options.kernel)
    pieces.leave_out(pen.add("GreaterOrEqual", pieces.range, pen.add("Unsqueeze", "lengths", pen.value([1]))))
    words = _Places(pen, "words", options.kernel)
    no_piece = pen.add("Equal", "words", pen.value(0))  # a word that is not there; but the first may end with piece 0
    words.leave_out(pen.add("And", no_piece, pen.add("Greater", words.range, pen.value(0))))

    read = options.embedding + (options.pair_embedding if options.pairs else 0)
    embedded = pieces.neighbours(_embedded(pen, options, state), read, 1, _ZERO)
    states = _product(pen, state, "stem", embedded, STEP, _ZERO)  # (all pieces, width)
    for number, dilation in enumerate(options.piece_dilations):
        states = _block(pen, state, f"piece_blocks.{number}", states, pieces, dilation)
    last = pen.add("Reshape", pen.add("Add", "words", pieces.firsts), pen.value([-1]))
    states = pen.add("Gather", states, last, axis=0)  # (all words, width)
    for number, dilation in enumerate(options.dilations):
        states = _block(pen, state, f"word_blocks.{number}", states, words, dilation)
    states = pen.normalised(states, options.width)
    shape = pen.add("Concat", words.shape, pen.value([-1]), axis=0)
    states = pen.add("Reshape", states, shape)  # (windows, words, width)
    for task in model.labels:
        graph.branch(task, states, state[f"heads.{task}.weight"], state[f"heads.{task}.bias"])


class _Pen:
    """Writes into a graph and finds the names itself; equal values are stored once."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._nodes = 0
        self._values: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node and return its output's name."""
        self._nodes += 1
        return self.graph.add(operator, list(inputs), f"{operator.lower()}_{self._nodes}", **attributes)

    def value(self, value: Any, dtype: Any = np.int64) -> str:
        """Store an array and return its name."""
        array = np.asarray(value, dtype=dtype)
        key = (str(array.dtype), array.shape, array.tobytes())
        if key not in self._values:
            self._values[key] = self.graph.constant(f"value_{len(self._values)}", array)
        return self._values[key]

    def rectified(self, rows: str) -> str:
        """Keep numbers within 0 and the highest, as bytes where int8 is asked for."""
        if self.graph.int8:
            return self.add("QuantizeLinear", rows, self.value(RECTIFIED_STEP, np.float32), self.value(0, np.uint8))
        return self.add("Clip", rows, self.value(0, np.float32), self.value(255 * RECTIFIED_STEP, np.float32))

    def normalised(self, rows: str, width: int) -> str:
        """Divide rows by their root mean square; onnxruntime makes one operator of these."""
        mean = self.add("ReduceMean", self.add("Pow", rows, self.value(2, np.float32)), axes=[-1], keepdims=1)
        root = self.add("Sqrt", self.add("Add", mean, self.value(EPSILON, np.float32)))
        return self.add("Mul", self.add("Div", rows, root), self.value(np.ones(width), np.float32))


class _Places:
    """The rows in which the places of all windows stand, and which rows are whose neighbours."""

    def __init__(self, pen: _Pen, name: str, kernel: int) -> None:
        self.pen, self.kernel = pen, kernel
        self.shape = pen.add("Shape", name)
        self._count = pen.add("Size", name)
        rows = pen.add("Range", pen.value(0), self._count, pen.value(1))
        self._rows = pen.add("Reshape", rows, self.shape)  # (windows, places)
        self.firsts = pen.add("Slice", self._rows, pen.value([0]), pen.value([1]), pen.value([1]))  # (windows, 1)
        length = pen.add("Gather", self.shape, pen.value(1), axis=0)
        self.range = pen.add("Range", pen.value(0), length, pen.value(1))  # (places)
        self._around: dict[int, str] = {}

    def leave_out(self, absent: str) -> None:
        """Let the row behind all others stand for places (windows × places) that are not there."""
        self._rows = self.pen.add("Where", absent, self._count, self._rows)

    def neighbours(self, rows: str, width: int, dilation: int, zero: int = 0) -> str:
        """Put each row's neighbours beside it: places × width to places × (kernel · width). `zero` is 0 as a byte."""
        pen = self.pen
        if dilation not in self._around:
            side = self.kernel // 2 * dilation
            padded = pen.add("Pad", self._rows, pen.value([0, side, 0, side]), self._count)
            taps = pen.value(np.arange(self.kernel) * dilation)
            columns = pen.add("Add", pen.add("Unsqueeze", self.range, pen.value([1])), taps)
            around = pen.add("Gather", padded, columns, axis=1)  # (windows, places, kernel)
            around = pen.add("Reshape", around, pen.value([-1, self.kernel]))
            self._around[dilation] = pen.add("Cast", around, to=_INT32)  # half the bytes to read in every block
        nothing = np.full((1, width), zero, np.uint8) if pen.graph.int8 else np.zeros((1, width), np.float32)
        table = pen.add("Concat", rows, pen.value(nothing, nothing.dtype), axis=0)
        gathered = pen.add("Gather", table, self._around[dilation], axis=0)  # (places, kernel, width)
        return pen.add("Reshape", gathered, pen.value([0, -1]))


def _embedded(pen: _Pen, options: DilatedOptions, state: Mapping[str, Floats]) -> str:
    """Look up the pieces of all windows, a row each."""
    pieces = pen.add("Reshape", "pieces", pen.value([-1]))
    table = state["embedding.weight"]
    table = table / np.sqrt(np.square(table).mean(axis=1, keepdims=True) + EPSILON)
    found = pen.add("Gather", _table(pen, table), pieces, axis=0)
    if not options.pairs:
        return found
    padded = pen.add("Pad", "pieces", pen.value([0, 1, 0, 0]), pen.value(PAD))
    before = pen.add("Slice", padded, pen.value([0]), pen.value([-1]), pen.value([1]))
    pairs = pen.add("Add", pen.add("Mul", before, pen.value(PAIR_FACTOR)), "pieces")
    rows = pen.add("Reshape", pen.add("Mod", pairs, pen.value(options.pairs)), pen.value([-1]))
    return pen.add("Concat", found, pen.add("Gather", _table(pen, state["pairs.weight"]), rows, axis=0), axis=1)


def _table(pen: _Pen, rows: Floats) -> str:
    """Store embeddings as a product reads them: within limits, as bytes where int8 is asked for."""
    if pen.graph.int8:
        return pen.value(np.clip(np.round(rows / STEP) + _ZERO, 0, 255), np.uint8)
    return pen.value(np.clip(rows, -128 * STEP, 127 * STEP), np.float32)


def _product(pen: _Pen, state: Mapping[str, Floats], name: str, rows: str, step: float, zero: int) -> str:
    """Multiply rows, which are bytes of `step` around `zero` where int8 is asked for, by a layer's matrix."""
    weight, bias = state[f"{name}.weight"], pen.value(state[f"{name}.bias"], np.float32)
    if not pen.graph.int8:
        return pen.add("Gemm", rows, pen.value(weight.T, np.float32), bias)
    scale = np.maximum(np.abs(weight).max(axis=1), 1e-8) / WEIGHT_STEPS  # (outputs)
    whole = pen.value(np.round(weight / scale[:, None]).T, np.int8)
    return pen.add(
        "MatMulIntegerToFloat", rows, whole, pen.value(step, np.float32), pen.value(scale, np.float32),
        pen.value(zero, np.uint8), "", bias, domain="com.microsoft",
    )  # fmt: skip


def _block(pen: _Pen, state: Mapping[str, Floats], name: str, states: str, places: _Places, dilation: int) -> str:
    """Add what a residual block finds around each row."""
    width = len(state["stem.bias"])
    given = places.neighbours(pen.rectified(pen.normalised(states, width)), width, dilation)
    found = _product(pen, state, f"{name}.reads", given, RECTIFIED_STEP, 0)
    if f"{name}.writes.weight" in state:
        found = _product(pen, state, f"{name}.writes", pen.rectified(found), RECTIFIED_STEP, 0)
    return pen.add("Add", states, found)
