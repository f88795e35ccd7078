"""A BiGRU as an ONNX graph."""

from __future__ import annotations

import numpy as np

from interpunct.export.graph import Graph
from interpunct.models.bigru import BiGRU


def write(model: BiGRU, graph: Graph) -> None:
    """Write the forward pass: `pieces`, `lengths`, `words` to log-probabilities per task."""
    state = {name: tensor.numpy() for name, tensor in model.network.state_dict().items()}
    table = graph.matrix("embedding", state["embedding.weight"])
    graph.add("Gather", [table, "pieces"], "embedded")  # (windows, pieces, embedding)
    current = graph.add("Transpose", ["embedded"], "steps", perm=[1, 0, 2])
    graph.add("Cast", ["lengths"], "lengths32", to=6)  # to int32, as the operator wants them
    joined_shape = graph.constant("joined_shape", np.array([0, 0, -1], dtype=np.int64))
    for layer in range(model.options.layers):
        inputs = [current, *_weights(graph, state, layer), "lengths32"]
        graph.add(
            "GRU", inputs, f"states{layer}",
            hidden_size=model.options.hidden, direction="bidirectional", linear_before_reset=1,
        )  # (pieces, 2, windows, hidden)  # fmt: skip
        turned = graph.add("Transpose", [f"states{layer}"], f"turned{layer}", perm=[0, 2, 1, 3])
        current = graph.add("Reshape", [turned, joined_shape], f"joined{layer}")
    by_window = graph.add("Transpose", [current], "by_window", perm=[1, 0, 2])
    at_words = graph.at_words(by_window)
    for task in model.labels:
        graph.branch(task, at_words, state[f"heads.{task}.weight"], state[f"heads.{task}.bias"])


def _weights(graph: Graph, state: dict[str, np.ndarray], layer: int) -> list[str]:
    """Return the names of W, R and B: torch orders the gates reset, update, new; ONNX update, reset, new."""

    def gates(kind: str) -> np.ndarray:
        both = []
        for direction in ("", "_reverse"):
            reset, update, new = np.split(state[f"gru.{kind}_l{layer}{direction}"], 3)
            both.append(np.concatenate([update, reset, new]))
        return np.stack(both)

    bias = np.concatenate([gates("bias_ih"), gates("bias_hh")], axis=1)
    return [
        graph.matrix(f"w{layer}", gates("weight_ih")),
        graph.matrix(f"r{layer}", gates("weight_hh")),
        graph.constant(f"b{layer}", bias),
    ]
