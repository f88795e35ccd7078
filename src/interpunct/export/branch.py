"""A prosody branch as an ONNX file beside the text model's.

In: a trained `BranchNetwork` and the marks of its text model. Out: `prosody.onnx`, which holds the network, the
statistics of its inputs, and for which marks and features it was made.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from interpunct.errors import MissingExtraError
from interpunct.export.graph import OPSET, Graph
from interpunct.features.prosody_table import NAMES
from interpunct.models.branch import BRANCH, MARKS_KEY, NAMES_KEY, ROWS
from interpunct.train.branch import LIMIT, BranchNetwork


def write_branch(network: BranchNetwork, marks: Sequence[str], folder: Path) -> Path:
    """Write the branch into a model's folder."""
    try:
        import onnx
        from onnx import TensorProto, helper
    except ModuleNotFoundError:
        raise MissingExtraError("writing a branch", "train") from None
    state = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    graph = Graph(int8=False)
    rows = len(ROWS)
    told = _standardised(graph, "logs", state["log_mean"], state["log_deviation"])
    heard = _standardised(graph, "values", np.tile(state["mean"], rows), np.tile(state["deviation"], rows))
    heard = graph.add("Mul", [heard, "known"], "heard")
    inner = graph.add("Concat", [told, heard, "known"], "inputs", axis=1)
    for layer in ("first", "second"):
        inner = graph.add("Relu", [_linear(graph, layer, inner, state)], f"{layer}_state")
    change = _linear(graph, "change", inner, state)
    here = ROWS.index(0) * len(NAMES)
    edges = {"own_first": here, "own_stop": here + len(NAMES), "own_axis": 1}
    edges_named = [graph.constant(name, np.array([value], dtype=np.int64)) for name, value in edges.items()]
    own = graph.add("Slice", ["known", *edges_named], "own")
    any_known = graph.add("ReduceMax", [own], "any_known", axes=[1], keepdims=1)
    gate = graph.add("Sigmoid", [_linear(graph, "gate", inner, state)], "gate_open")
    gate = graph.add("Mul", [gate, any_known], "gate")
    moved = graph.add("Add", ["logs", graph.add("Mul", [gate, change], "moved_by")], "moved")
    graph.add("LogSoftmax", [moved], "mark", axis=1)
    inputs = {"logs": len(marks), "values": rows * len(NAMES), "known": rows * len(NAMES)}
    made = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "prosody",
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["places", size]) for name, size in inputs.items()],
            [helper.make_tensor_value_info("mark", TensorProto.FLOAT, ["places", len(marks)])],
            graph.weights,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=8,
        producer_name="interpunct",
    )
    helper.set_model_props(made, {MARKS_KEY: json.dumps([*marks]), NAMES_KEY: json.dumps([*NAMES])})
    onnx.checker.check_model(made)
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(made, str(folder / BRANCH))
    return folder / BRANCH


def _standardised(graph: Graph, name: str, mean: np.ndarray, deviation: np.ndarray) -> str:
    """Subtract the mean, divide by the deviation, and keep within the limit."""
    centred = graph.add("Sub", [name, graph.constant(f"{name}_mean", mean.astype(np.float32))], f"{name}_centred")
    divided = graph.add(
        "Div", [centred, graph.constant(f"{name}_deviation", deviation.astype(np.float32))], f"{name}_z"
    )
    limits = [
        graph.constant(f"{name}_{side}", np.array(value, np.float32))
        for side, value in (("low", -LIMIT), ("high", LIMIT))
    ]
    return graph.add("Clip", [divided, *limits], f"{name}_clipped")


def _linear(graph: Graph, layer: str, inputs: str, state: dict[str, np.ndarray]) -> str:
    weight, bias = state[f"{layer}.weight"], state[f"{layer}.bias"]
    product = graph.add("MatMul", [inputs, graph.constant(f"{layer}_weight", weight.T)], f"{layer}_product")
    return graph.add("Add", [product, graph.constant(f"{layer}_bias", bias)], f"{layer}_out")
