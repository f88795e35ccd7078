"""A stack of dilated convolutions as an ONNX graph.

In: the trained model. Out: its forward pass. The places of all windows stand in one table, a row each, and a
convolution is one gathering of every row's neighbours and one product. Where there is no neighbour, a row of zeros at
the table's end is gathered, so that a convolution needs no mask. With int8 the rows are bytes and the products those
of whole numbers: `MatMulIntegerToFloat` and `QGemm` of the domain com.microsoft, which every onnxruntime knows.
Attention is of floats, between products of bytes.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from interpunct.export import halves
from interpunct.export.graph import Graph
from interpunct.export.pen import END, ZERO, Pen
from interpunct.export.places import Places
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
_ROOM = 3
"""Numbers with which a query or key says where it stands."""
_DEPTH = 50.0
"""Scores of attention that are further below their row's highest count as just this far below it."""


def write(model: Dilated, graph: Graph) -> None:
    """Write the forward pass: `pieces`, `lengths`, `words` to log-probabilities per task."""
    graph.windows_at_once = 1
    options = model.options
    state = {name: tensor.numpy() for name, tensor in model.network.state_dict().items()}
    pen = Pen(graph)
    pieces = Places(pen, "pieces")
    pieces.leave_out(pen.add("GreaterOrEqual", pieces.range, pen.add("Unsqueeze", "lengths", pen.value([1]))))
    words = Places(pen, "words")
    no_piece = pen.add("Equal", "words", pen.value(0))  # a word that is not there; but the first may end with piece 0
    words.leave_out(pen.add("And", no_piece, pen.add("Greater", words.range, pen.value(0))))

    last = pen.add("Reshape", pen.add("Add", "words", pieces.firsts), pen.value([-1]))
    read = options.embedding + (options.pair_embedding if options.pairs else 0)
    # Without blocks over pieces nobody asks for the other pieces' states.
    wanted = None if options.piece_dilations else last
    embedded = pieces.neighbours(_embedded(pen, options, state), read, options.kernel, 1, zero=ZERO, wanted=wanted)
    states = _product(pen, state, "stem", embedded, STEP, ZERO)  # (all pieces or all words, width)
    for number, dilation in enumerate(options.piece_dilations):
        states = _block(pen, options, state, f"piece_blocks.{number}", states, pieces, dilation)
    if wanted is None:
        states = pen.add("Gather", states, last, axis=0)  # (all words, width)
    for number, dilation in enumerate(options.dilations):
        states = _block(pen, options, state, f"word_blocks.{number}", states, words, dilation)
        if number + 1 in options.attention:
            states = _attention(pen, options, state, f"attention.{number + 1}", states, words)
    _branches(pen, model.labels, state, pen.normalised(states, options.width), words)


def _branches(
    pen: Pen, labels: Mapping[str, tuple[str, ...]], state: Mapping[str, Floats], states: str, words: Places
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


def _embedded(pen: Pen, options: DilatedOptions, state: Mapping[str, Floats]) -> str:
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


def _looked_up(pen: Pen, options: DilatedOptions, table: Floats, rows: str) -> str:
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


def _product(pen: Pen, state: Mapping[str, Floats], name: str, rows: str, step: float, zero: int) -> str:
    """Multiply rows, which are bytes of `step` around `zero` where int8 is asked for, by a layer's matrix."""
    return _multiplied(pen, state[f"{name}.weight"], state[f"{name}.bias"], rows, step, zero)


def _multiplied(pen: Pen, weight: Floats, bias: Floats, rows: str, step: float, zero: int) -> str:
    if not pen.graph.int8:
        return pen.add("Gemm", rows, pen.value(weight.T, np.float32), pen.value(bias, np.float32))
    whole, scale = _whole(weight)
    return pen.add(
        "MatMulIntegerToFloat", rows, pen.value(whole, np.int8), pen.value(step, np.float32),
        pen.value(scale, np.float32), pen.value(zero, np.uint8), "", pen.value(bias, np.float32),
        domain="com.microsoft",
    )  # fmt: skip


def _rectified_product(pen: Pen, state: Mapping[str, Floats], name: str, rows: str, step: float, zero: int) -> str:
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
    pen: Pen,
    options: DilatedOptions,
    state: Mapping[str, Floats],
    name: str,
    states: str,
    places: Places,
    dilation: int,
) -> str:
    """Add what a residual block finds around each row."""
    step, zero = (STEP, ZERO) if options.signed else (RECTIFIED_STEP, 0)
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
    places: Places, options: DilatedOptions, rows: str, width: int, kernel: int, dilation: int, *, zero: int = 0
) -> str:
    """Put into each row, or beside it, what a product reads of its neighbours."""
    if options.shifted:
        return places.shifted(rows, width, dilation, zero=zero)
    return places.neighbours(rows, width, kernel, dilation, zero=zero)


def _attention(
    pen: Pen, options: DilatedOptions, state: Mapping[str, Floats], name: str, states: str, places: Places
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
        product = _multiplied(pen, weight, bias, rows, STEP, ZERO)
        found.append(pen.add("Add", product, pen.add("MatMul", standing, pen.value(where, np.float32))))
    middle = heads * (keys + _ROOM)
    there = [
        pen.add("Slice", found[1], pen.value([first]), pen.value([last]), pen.value([1]))
        for first, last in ((0, middle), (middle, END))
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
    return pen.add("Add", states, _product(pen, state, f"{name}.writes", rows, STEP, ZERO))


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
