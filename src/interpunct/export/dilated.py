"""A stack of dilated convolutions as an ONNX graph, and back.

In: the trained model. Out: its forward pass. The places of all windows stand in one table, a row each, and a
convolution is one gathering of every row's neighbours and one product. Where there is no neighbour, a row of zeros at
the table's end is gathered, so that a convolution needs no mask. With int8 the rows are bytes and the products those
of whole numbers: `MatMulIntegerToFloat` and `QGemm` of the domain com.microsoft, which every onnxruntime knows.
Attention is of floats, between products of bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from onnx import numpy_helper

from interpunct.errors import ModelError
from interpunct.export import halves
from interpunct.export.graph import Graph
from interpunct.models.dilated import (
    EPSILON,
    FAR,
    NIBBLE_GAIN,
    NIBBLE_STEP,
    PAIR_FACTOR,
    RECTIFIED_STEP,
    STEEPEST,
    STEP,
    WEIGHT_STEPS,
    Dilated,
    DilatedOptions,
)
from interpunct.models.pieces import PAD

Floats = npt.NDArray[np.float32]
_FLOAT, _INT32 = 1, 6
_END = 2**31 - 1
_ROOM = 3
"""Numbers with which a query or key says where it stands."""
_DEPTH = 50.0
"""Scores of attention that are further below their row's highest count as just this far below it."""
_ZERO = 128
"""The byte that stands for 0 among numbers with a sign."""
_PRODUCTS = ("MatMulIntegerToFloat", "QGemm", "Gemm")


def write(model: Dilated, graph: Graph) -> None:
    """Write the forward pass: `pieces`, `lengths`, `words` to log-probabilities per task."""
    graph.windows_at_once = 1
    options = model.options
    state = {name: tensor.numpy() for name, tensor in model.network.state_dict().items()}
    pen = _Pen(graph)
    pieces = _Places(pen, "pieces")
    pieces.leave_out(pen.add("GreaterOrEqual", pieces.range, pen.add("Unsqueeze", "lengths", pen.value([1]))))
    words = _Places(pen, "words")
    no_piece = pen.add("Equal", "words", pen.value(0))  # a word that is not there; but the first may end with piece 0
    words.leave_out(pen.add("And", no_piece, pen.add("Greater", words.range, pen.value(0))))

    last = pen.add("Reshape", pen.add("Add", "words", pieces.firsts), pen.value([-1]))
    read = options.embedding + (options.pair_embedding if options.pairs else 0)
    # Without blocks over pieces nobody asks for the other pieces' states.
    wanted = None if options.piece_dilations else last
    embedded = pieces.neighbours(_embedded(pen, options, state), read, options.kernel, 1, zero=_ZERO, wanted=wanted)
    states = _product(pen, state, "stem", embedded, STEP, _ZERO)  # (all pieces or all words, width)
    for number, dilation in enumerate(options.piece_dilations):
        states = _block(pen, options, state, f"piece_blocks.{number}", states, pieces, dilation)
    if wanted is None:
        states = pen.add("Gather", states, last, axis=0)  # (all words, width)
    for number, dilation in enumerate(options.dilations):
        states = _block(pen, options, state, f"word_blocks.{number}", states, words, dilation)
        if number + 1 in options.attention:
            states = _attention(pen, options, state, f"attention.{number + 1}", states, words)
    _branches(pen, model.labels, state, pen.normalised(states, options.width), words)


def read(graph: Any, model: Dilated) -> None:
    """Fill a model with the weights of an exported one: the way back from `write`."""
    if model.options.attention:
        raise ModelError(f"{model.name}: no way back from attention; name the folder that training wrote")
    stored = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    *products, heads = ([stored.get(name) for name in node.input] for node in graph.node if node.op_type in _PRODUCTS)
    found: dict[str, Floats] = {}
    # Constants have no names of their own: products stand in the order of their layers, tables in that of looking up.
    state = model.network.state_dict()
    layers = [name.removesuffix(".weight") for name in state if name.endswith((".reads.weight", ".writes.weight"))]
    for layer, inputs in zip(("stem", *layers), products, strict=True):
        found[f"{layer}.weight"], found[f"{layer}.bias"] = _layer(inputs)
    tables = [stored[node.input[0]] for node in graph.node if node.op_type == "Gather" and _is_table(stored, node)]
    found["embedding.weight"] = _whole_rows(_numbers(tables[0], model.options), model.options)
    if model.options.pairs:
        found["pairs.weight"] = _numbers(tables[1], model.options)
    weight, bias = (np.asarray(each) for each in heads[1:3])
    first = 0
    for task, names in model.labels.items():
        chosen = slice(first, first + len(names))
        found[f"heads.{task}.weight"], found[f"heads.{task}.bias"] = weight.T[chosen], bias[chosen]
        first += len(names)
    model.network.load_state_dict({name: torch.tensor(each) for name, each in found.items()})


def _whole_rows(table: Floats, options: DilatedOptions) -> Floats:
    """Give rows of embeddings, which are stored divided by their root mean square, what was cut off at the limits.

    A row that is too short would be another once it is divided again.
    """
    if options.table_bits == 4:
        limits = -8 * NIBBLE_STEP / NIBBLE_GAIN, 7 * NIBBLE_STEP / NIBBLE_GAIN
    else:
        limits = -128 * STEP, 127 * STEP
    cut_off = np.isclose(table, limits[0]) | np.isclose(table, limits[1])
    missing = table.shape[1] - np.square(np.where(cut_off, 0, table)).sum(axis=1)
    longer = np.sqrt(np.maximum(missing, 0) / np.maximum(cut_off.sum(axis=1), 1))[:, None]
    return np.where(cut_off, np.sign(table) * np.maximum(longer, np.abs(table)), table).astype(np.float32)


def _layer(inputs: list[np.ndarray | None]) -> tuple[Floats, Floats]:
    """Return the matrix and the bias that a product's constants stand for."""
    given = [np.asarray(each) for each in inputs[1:] if each is not None]
    if len(inputs) == 3:  # Gemm: matrix, bias
        return given[0].T.copy(), given[1].copy()
    if len(inputs) == 7:  # MatMulIntegerToFloat: matrix, step, scale, zero, bias
        return (given[0] * given[2]).T.astype(np.float32), given[4].copy()
    step, _, whole, scale, _, bias = given[:6]  # QGemm
    return (whole * scale).T.astype(np.float32), (bias * (step * scale)).astype(np.float32)


def _is_table(stored: Mapping[str, np.ndarray], node: Any) -> bool:
    table = stored.get(node.input[0])
    return table is not None and table.ndim == 2


def _numbers(table: np.ndarray, options: DilatedOptions) -> Floats:
    """Return the numbers of a table, which may be stored as bytes or as half bytes."""
    if options.table_bits == 4:
        if table.dtype == np.uint8:
            table = (halves.unpacked(table).astype(np.float32) - 8) * NIBBLE_STEP
        return (table / NIBBLE_GAIN).astype(np.float32)
    if table.dtype == np.uint8:
        return ((table.astype(np.float32) - _ZERO) * STEP).astype(np.float32)
    return table.astype(np.float32)


def _branches(
    pen: _Pen, labels: Mapping[str, tuple[str, ...]], state: Mapping[str, Floats], states: str, words: _Places
) -> None:
    """End in each task's log-probabilities; one product is for all tasks, which reads the states once."""
    weight, bias = (np.concatenate([state[f"heads.{task}.{kind}"] for task in labels]) for kind in ("weight", "bias"))
    logits = pen.add("Gemm", states, pen.value(weight.T, np.float32), pen.value(bias, np.float32))
    logits = pen.add("Reshape", logits, pen.add("Concat", words.shape, pen.value([-1]), axis=0))
    first = 0
    for task, names in labels.items():
        last = first + len(names)
        part = pen.add("Slice", logits, pen.value([first]), pen.value([last]), pen.value([2]))
        pen.graph.add("LogSoftmax", [part], task, axis=-1)
        first = last


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
        """Keep numbers within 0 and the highest."""
        return self.add("Clip", rows, self.value(0, np.float32), self.value(255 * RECTIFIED_STEP, np.float32))

    def signed(self, rows: str) -> str:
        """Keep numbers within the limits of those with a sign, as bytes where int8 is asked for."""
        if self.graph.int8:
            return self.add("QuantizeLinear", rows, self.value(STEP, np.float32), self.value(_ZERO, np.uint8))
        return self.add("Clip", rows, self.value(-128 * STEP, np.float32), self.value(127 * STEP, np.float32))

    def normalised(self, rows: str, width: int) -> str:
        """Divide rows by their root mean square; onnxruntime makes one operator of these."""
        mean = self.add("ReduceMean", self.add("Pow", rows, self.value(2, np.float32)), axes=[-1], keepdims=1)
        root = self.add("Sqrt", self.add("Add", mean, self.value(EPSILON, np.float32)))
        return self.add("Mul", self.add("Div", rows, root), self.value(np.ones(width), np.float32))

    def normalised_bytes(self, rows: str, step: float, zero: int) -> str:
        """Write rows, divided by their root mean square, as bytes: each row gets a step of its own instead."""
        mean = self.add("ReduceMean", self.add("Mul", rows, rows), axes=[-1], keepdims=0)
        root = self.add("Sqrt", self.add("Add", mean, self.value(EPSILON, np.float32)))
        steps = self.add("Mul", root, self.value(step, np.float32))
        zeros = self.add("Expand", self.value(zero, np.uint8), self.add("Shape", steps))
        return self.add("QuantizeLinear", rows, steps, zeros, axis=0)


class _Places:
    """The rows in which the places of all windows stand, and which rows are whose neighbours."""

    def __init__(self, pen: _Pen, name: str) -> None:
        self.pen = pen
        self.shape = pen.add("Shape", name)
        self._count = pen.add("Size", name)
        rows = pen.add("Range", pen.value(0), self._count, pen.value(1))
        self._all = self._rows = pen.add("Reshape", rows, self.shape)  # (windows, places)
        self.firsts = pen.add("Slice", self._rows, pen.value([0]), pen.value([1]), pen.value([1]))  # (windows, 1)
        length = pen.add("Gather", self.shape, pen.value(1), axis=0)
        self.range = pen.add("Range", pen.value(0), length, pen.value(1))  # (places)
        self._around: dict[tuple[int, int], str] = {}
        self._taps: dict[tuple[str, int], str] = {}
        self._every: dict[int, str] = {}
        self._absent: str | None = None
        self._standing: str | None = None

    def leave_out(self, absent: str) -> None:
        """Let the row behind all others stand for places (windows × places) that are not there."""
        self._rows = self.pen.add("Where", absent, self._count, self._rows)
        self._absent = absent

    def standing(self) -> str:
        """Say of each row where in its window it stands (rows × 4): 1, its place, that squared, and 1 where it is not.

        Places count from the window's middle, which keeps the squares small.
        """
        pen = self.pen
        if self._standing is None:
            last = pen.add("Cast", pen.add("ReduceMax", self.range, keepdims=1), to=_FLOAT)
            middle = pen.add("Floor", pen.add("Mul", last, pen.value(0.5, np.float32)))
            place = pen.add("Sub", pen.add("Cast", self.range, to=_FLOAT), middle)
            powers = pen.add("Pow", pen.add("Unsqueeze", place, pen.value([1])), pen.value([0, 1, 2], np.float32))
            shape = pen.add("Concat", self.shape, pen.value([3]), axis=0)
            powers = pen.add("Expand", powers, shape)  # (windows, places, 3)
            absent = pen.add("Cast", pen.add("Unsqueeze", str(self._absent), pen.value([2])), to=_FLOAT)
            self._standing = pen.add("Reshape", pen.add("Concat", powers, absent, axis=2), pen.value([-1, 4]))
        return self._standing

    def shape_of_every(self, stride: int, heads: int) -> str:
        """Return the shape (windows, places, heads, -1) of every so many places of each window."""
        pen = self.pen
        windows, places = (
            pen.add("Slice", self.shape, pen.value([axis]), pen.value([axis + 1]), pen.value([0])) for axis in (0, 1)
        )
        if stride > 1:
            places = pen.add("Div", pen.add("Add", places, pen.value(stride - 1)), pen.value(stride))
        return pen.add("Concat", windows, places, pen.value([heads, -1]), axis=0)

    def every(self, stride: int, rows: str) -> str:
        """Return the rows of every so many places of each window."""
        pen = self.pen
        if stride == 1:
            return rows
        if stride not in self._every:
            found = pen.add("Slice", self._all, pen.value([0]), pen.value([_END]), pen.value([1]), pen.value([stride]))
            self._every[stride] = pen.add("Reshape", found, pen.value([-1]))
        return pen.add("Gather", rows, self._every[stride], axis=0)

    def neighbours(
        self, rows: str, width: int, kernel: int, dilation: int, *, zero: int = 0, wanted: str | None = None
    ) -> str:
        """Put each row's neighbours beside it: places × width to places × (kernel · width). `zero` is 0 as a byte.

        Where only some rows are `wanted`, only they are returned.
        """
        pen = self.pen
        around = self._rows_around(kernel, dilation)
        if wanted is not None:
            around = pen.add("Gather", around, wanted, axis=0)
        gathered = pen.add("Gather", self._with_nothing(rows, width, zero), around, axis=0)  # (places, kernel, width)
        return pen.add("Reshape", gathered, pen.value([0, -1]))

    def shifted(self, rows: str, width: int, dilation: int, *, zero: int = 0) -> str:
        """Put into each row the first quarter of the row before it and the last of the row behind it."""
        pen, quarter = self.pen, width // 4
        around, table = self._rows_around(3, dilation), self._with_nothing(rows, width, zero)
        parts = []
        for tap, first, last in ((0, 0, quarter), (None, quarter, 3 * quarter), (2, 3 * quarter, width)):
            columns = pen.value([first]), pen.value([last]), pen.value([1])
            if tap is None:
                parts.append(pen.add("Slice", rows, *columns))
            else:
                parts.append(pen.add("Gather", pen.add("Slice", table, *columns), self._tap(around, tap), axis=0))
        return pen.add("Concat", *parts, axis=1)

    def _rows_around(self, kernel: int, dilation: int) -> str:
        """Say which rows stand around each (places × kernel)."""
        pen = self.pen
        if (kernel, dilation) not in self._around:
            side = kernel // 2 * dilation
            padded = pen.add("Pad", self._rows, pen.value([0, side, 0, side]), self._count)
            taps = pen.value(np.arange(kernel) * dilation)
            columns = pen.add("Add", pen.add("Unsqueeze", self.range, pen.value([1])), taps)
            around = pen.add("Gather", padded, columns, axis=1)  # (windows, places, kernel)
            around = pen.add("Reshape", around, pen.value([-1, kernel]))
            self._around[kernel, dilation] = pen.add("Cast", around, to=_INT32)  # half the bytes to read in every block
        return self._around[kernel, dilation]

    def _tap(self, around: str, tap: int) -> str:
        if (around, tap) not in self._taps:
            column = self.pen.add("Gather", around, self.pen.value([tap]), axis=1)
            self._taps[around, tap] = self.pen.add("Reshape", column, self.pen.value([-1]))
        return self._taps[around, tap]

    def _with_nothing(self, rows: str, width: int, zero: int) -> str:
        """Put a row of zeros behind all others."""
        nothing = np.full((1, width), zero, np.uint8) if self.pen.graph.int8 else np.zeros((1, width), np.float32)
        return self.pen.add("Concat", rows, self.pen.value(nothing, nothing.dtype), axis=0)


def _embedded(pen: _Pen, options: DilatedOptions, state: Mapping[str, Floats]) -> str:
    """Look up the pieces of all windows, a row each."""
    pieces = pen.add("Reshape", "pieces", pen.value([-1]))
    table = state["embedding.weight"]
    table = table / np.sqrt(np.square(table).mean(axis=1, keepdims=True) + EPSILON)
    found = _looked_up(pen, options, table, pieces)
    if not options.pairs:
        return found
    padded = pen.add("Pad", "pieces", pen.value([0, 1, 0, 0]), pen.value(PAD))
    before = pen.add("Slice", padded, pen.value([0]), pen.value([-1]), pen.value([1]))
    pairs = pen.add("Add", pen.add("Mul", before, pen.value(PAIR_FACTOR)), "pieces")
    rows = pen.add("Reshape", pen.add("Mod", pairs, pen.value(options.pairs)), pen.value([-1]))
    return pen.add("Concat", found, _looked_up(pen, options, state["pairs.weight"], rows), axis=1)


def _looked_up(pen: _Pen, options: DilatedOptions, table: Floats, rows: str) -> str:
    """Look rows up in a table, which is stored as a product reads it: within limits, as bytes with int8."""
    if options.table_bits == 4:
        table, lowest, highest, step = table * NIBBLE_GAIN, -8, 7, NIBBLE_STEP
    else:
        lowest, highest, step = -128, 127, STEP
    if not pen.graph.int8:
        table = np.clip(table, lowest * step, highest * step)
        return pen.add("Gather", pen.value(table, np.float32), rows, axis=0)
    whole = (np.clip(np.round(table / step), lowest, highest) - lowest).astype(np.uint8)
    if options.table_bits == 8:
        return pen.add("Gather", pen.value(whole, np.uint8), rows, axis=0)
    four = pen.value(4, np.uint8)
    both = pen.add("Gather", pen.value(halves.packed(whole), np.uint8), rows, axis=0)
    second = pen.add("BitShift", pen.add("BitShift", both, four, direction="RIGHT"), four, direction="LEFT")
    return pen.add("Concat", pen.add("BitShift", both, four, direction="LEFT"), second, axis=1)


def _product(pen: _Pen, state: Mapping[str, Floats], name: str, rows: str, step: float, zero: int) -> str:
    """Multiply rows, which are bytes of `step` around `zero` where int8 is asked for, by a layer's matrix."""
    return _multiplied(pen, state[f"{name}.weight"], state[f"{name}.bias"], rows, step, zero)


def _multiplied(pen: _Pen, weight: Floats, bias: Floats, rows: str, step: float, zero: int) -> str:
    if not pen.graph.int8:
        return pen.add("Gemm", rows, pen.value(weight.T, np.float32), pen.value(bias, np.float32))
    whole, scale = _whole(weight)
    return pen.add(
        "MatMulIntegerToFloat", rows, pen.value(whole, np.int8), pen.value(step, np.float32),
        pen.value(scale, np.float32), pen.value(zero, np.uint8), "", pen.value(bias, np.float32),
        domain="com.microsoft",
    )  # fmt: skip


def _rectified_product(pen: _Pen, state: Mapping[str, Floats], name: str, rows: str, step: float, zero: int) -> str:
    """Multiply and rectify; with int8 one operator does both, from bytes to bytes."""
    if not pen.graph.int8:
        return pen.rectified(_product(pen, state, name, rows, step, zero))
    whole, scale = _whole(state[f"{name}.weight"])
    bias = np.round(state[f"{name}.bias"].astype(np.float64) / (step * scale.astype(np.float64)))
    return pen.add(
        "QGemm", rows, pen.value(step, np.float32), pen.value(zero, np.uint8), pen.value(whole, np.int8),
        pen.value(scale, np.float32), pen.value(np.zeros(len(scale)), np.int8), pen.value(bias, np.int32),
        pen.value(RECTIFIED_STEP, np.float32), pen.value(0, np.uint8), domain="com.microsoft",
    )  # fmt: skip


def _whole(weight: Floats) -> tuple[Floats, Floats]:
    """Return a layer's matrix (inputs × outputs) in whole numbers, and the size of each output's."""
    scale = np.maximum(np.abs(weight).max(axis=1), 1e-8) / WEIGHT_STEPS
    return np.round(weight / scale[:, None]).T, scale


def _block(
    pen: _Pen,
    options: DilatedOptions,
    state: Mapping[str, Floats],
    name: str,
    states: str,
    places: _Places,
    dilation: int,
) -> str:
    """Add what a residual block finds around each row."""
    step, zero = (STEP, _ZERO) if options.signed else (RECTIFIED_STEP, 0)
    if pen.graph.int8:
        given = pen.normalised_bytes(states, step, zero)
    else:
        given = pen.normalised(states, options.width)
        given = pen.signed(given) if options.signed else pen.rectified(given)
    given = _around(places, options, given, options.width, options.kernel, dilation, zero=zero)
    if options.inner:
        inner = _rectified_product(pen, state, f"{name}.reads", given, step, zero)
        if options.inner_kernel > 1:
            inner = _around(places, options, inner, options.inner, options.inner_kernel, dilation)
        found = _product(pen, state, f"{name}.writes", inner, RECTIFIED_STEP, 0)
    else:
        found = _product(pen, state, f"{name}.reads", given, step, zero)
    return pen.add("Add", states, found)


def _around(
    places: _Places, options: DilatedOptions, rows: str, width: int, kernel: int, dilation: int, *, zero: int = 0
) -> str:
    """Put into each row, or beside it, what a product reads of its neighbours."""
    if options.shifted:
        return places.shifted(rows, width, dilation, zero=zero)
    return places.neighbours(rows, width, kernel, dilation, zero=zero)


def _attention(
    pen: _Pen, options: DilatedOptions, state: Mapping[str, Floats], name: str, states: str, places: _Places
) -> str:
    """Add what attention finds in each row's window."""
    heads, keys, stride = options.heads, options.keys, options.stride
    steep = STEEPEST / (1 + np.exp(-state[f"{name}.sharpness"].astype(np.float64)))
    asked, answered = _where(steep, state[f"{name}.shift"], keys, heads * options.values)
    given = pen.signed(pen.normalised(states, options.width))
    found = []
    for layer, where, rows, standing in (
        ("asks", asked, given, places.standing()),
        ("reads", answered, places.every(stride, given), places.every(stride, places.standing())),
    ):
        weight, bias = (_with_room(state[f"{name}.{layer}.{kind}"], heads, keys) for kind in ("weight", "bias"))
        if layer == "asks":
            weight, bias = weight * keys**-0.5, bias * keys**-0.5
        product = _multiplied(pen, weight, bias, rows, STEP, _ZERO)
        found.append(pen.add("Add", product, pen.add("MatMul", standing, pen.value(where, np.float32))))
    middle = heads * (keys + _ROOM)
    there = [
        pen.add("Slice", found[1], pen.value([first]), pen.value([last]), pen.value([1]))
        for first, last in ((0, middle), (middle, _END))
    ]
    queries = pen.add("Transpose", pen.add("Reshape", found[0], places.shape_of_every(1, heads)), perm=[0, 2, 1, 3])
    read = places.shape_of_every(stride, heads)
    turned = pen.add("Transpose", pen.add("Reshape", there[0], read), perm=[0, 2, 3, 1])
    values = pen.add("Transpose", pen.add("Reshape", there[1], read), perm=[0, 2, 1, 3])
    # Shares far below these would be numbers that CPUs are slow with, and change nothing.
    scores = pen.add("MatMul", queries, turned)  # (windows, heads, places, read ones)
    highest = pen.add("ReduceMax", scores, axes=[-1], keepdims=1)
    scores = pen.add("Max", scores, pen.add("Sub", highest, pen.value(_DEPTH, np.float32)))
    attended = pen.add("MatMul", pen.add("Softmax", scores, axis=-1), values)  # (windows, heads, places, values)
    attended = pen.add("Transpose", attended, perm=[0, 2, 1, 3])
    rows = pen.signed(pen.add("Reshape", attended, pen.value([-1, heads * options.values])))
    return pen.add("Add", states, _product(pen, state, f"{name}.writes", rows, STEP, _ZERO))


def _with_room(rows: Floats, heads: int, keys: int) -> Floats:
    """Put rows of zeros behind each head's queries or keys: room for where a word stands."""
    split = heads * keys
    given = rows[:split].reshape(heads, keys, *rows.shape[1:])
    room = np.zeros((heads, _ROOM, *rows.shape[1:]), rows.dtype)
    return np.concatenate([np.concatenate([given, room], axis=1).reshape(-1, *rows.shape[1:]), rows[split:]])


def _where(
    steep: npt.NDArray[np.float64], shift: Floats, keys: int, values: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return matrices from `standing` to what queries, and keys, say of places, in the room that they have for it.

    A key at j loses s (j - m - i)² to a query at i: the product of (i, 1, -s i²) and (2 s (j - m), -s (j - m)², 1).
    """
    heads, moved = len(steep), shift.astype(np.float64)
    asked, answered = np.zeros((4, heads * (keys + _ROOM))), np.zeros((4, heads * (keys + _ROOM) + values))
    for head in range(heads):
        room = head * (keys + _ROOM) + keys
        asked[1, room], asked[0, room + 1], asked[2, room + 2] = 1, 1, -steep[head]
        answered[:2, room] = 2 * steep[head] * np.array([-moved[head], 1])
        answered[:3, room + 1] = -steep[head] * np.array([moved[head] ** 2, -2 * moved[head], 1])
        answered[3, room + 1] = -FAR
        answered[0, room + 2] = 1
    return asked, answered
