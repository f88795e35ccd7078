"""The weights of a stack of dilated convolutions, read back from its ONNX graph.

In: a graph that `dilated.write` wrote, and an untrained model of the same options. Out: the model with its weights,
rounded as they are stored. There is no way back from attention.
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
from interpunct.export.pen import ZERO
from interpunct.models.dilated import NIBBLE_GAIN, NIBBLE_STEP, STEP, Dilated, DilatedOptions

Floats = npt.NDArray[np.float32]
_PRODUCTS = ("MatMulIntegerToFloat", "QGemm", "Gemm")


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
        return ((table.astype(np.float32) - ZERO) * STEP).astype(np.float32)
    return table.astype(np.float32)
