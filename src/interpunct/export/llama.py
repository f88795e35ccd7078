"""A Llama network that reads both ways as an ONNX graph, for CPUs; and back.

In: a trained `Llama`. Out: its forward pass in a `Graph`, whose states, products and tables are those of `Rows`. What a
norm multiplies its numbers with is multiplied into the matrix behind it, and so comes back as ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from onnx import helper
from torch import Tensor

from interpunct.export.graph import Graph
from interpunct.export.rows import (
    FUSED,
    REDUCED_RANGE,
    Rows,
    fill,
    stored_branch,
    stored_matrix,
    stored_table,
    weights_of,
)
from interpunct.models.llama import Llama, LlamaOptions, Network

_TABLE = "trunk.embedding"


def write(model: Llama, graph: Graph) -> None:
    """Write the forward pass: `pieces`, `lengths`, `words` to log-probabilities per task."""
    graph.windows_at_once = 1  # alone a window needs no padding, and attention without a mask is faster
    weights = weights_of(model.network)
    writer = _Writer(model.options, graph, weights)
    writer.turns(cast(Network, model.network).trunk.paces.cpu().numpy())
    embedded = writer.looked_up(_TABLE, "pieces", halved=True)
    states = graph.add("Reshape", [embedded, "rows_shape"], "states")
    for layer in range(model.options.layers):
        states = writer.layer(f"trunk.layers.{layer}", states, causal=layer < model.options.causal)
    states = writer.normalised("trunk.norm", states)
    at_words = graph.at_words(graph.add("Reshape", [states, "states_shape"], "last_states"))
    for task in model.labels:
        matrix = weights[f"heads.{task}.weight"] * weights["trunk.norm.weight"]
        graph.branch(task, at_words, matrix, weights[f"heads.{task}.bias"])


def read(graph: Any, model: Llama) -> None:
    """Fill a model with the weights of an exported one: the way back from `write`."""
    fill(model.network, graph, _stored)


def _stored(name: str, tensor: Tensor, stored: Mapping[str, np.ndarray]) -> np.ndarray:
    """Find a weight of the network, by its name there, among a graph's constants."""
    layer, _, _ = name.rpartition(".")
    if layer.startswith("heads."):
        return stored_branch(name, stored)
    if name.endswith(".bias"):
        return stored[name]
    if layer.endswith("norm"):
        return np.ones(tensor.shape, dtype=np.float32)
    return stored_table(layer, stored) if layer == _TABLE else stored_matrix(layer, stored)


class _Writer(Rows):
    """The parts of a Llama network."""

    def __init__(self, options: LlamaOptions, graph: Graph, weights: Mapping[str, np.ndarray]) -> None:
        super().__init__(graph, weights, width=options.width, heads=options.heads, largest=REDUCED_RANGE)
        self.options = options
        self.numbers = options.width // options.heads

    def turns(self, paces: np.ndarray) -> None:
        """Write what is computed once: by how much each place is rotated, and the shapes of shared keys and values."""
        graph, shared = self.graph, self.options.kv_heads
        places = graph.add("Cast", ["all_places"], "places_as_floats", to=1)
        last_axis = graph.constant("last_of_places", np.array([1]))
        column = graph.add("Unsqueeze", [places, last_axis], "column_of_places")
        angles = graph.add("Mul", [column, graph.constant("paces", paces[None].astype(np.float32))], "angles")
        graph.add("Cos", [angles], "cosines")
        graph.add("Sin", [angles], "sines")
        graph.add("Expand", ["all_places", "shape"], "places_of_pieces")
        shapes = {
            "shared_shape": [shared * self.numbers],
            "apart_shape": [shared, 1, self.numbers],
            "repeated_shape": [shared, self.heads // shared, self.numbers],
        }
        for name, shape in shapes.items():
            graph.add("Concat", ["shape", graph.constant(f"{name}_end", np.array(shape))], name, axis=0)

    def layer(self, name: str, states: str, *, causal: bool) -> str:
        """Write a layer: attention and the inner part, each added to what it read."""
        graph = self.graph
        attended = self.attended(f"{name}.attended", self.asked(f"{name}.attention", states), causal=causal)
        states = graph.add("Sum", [self.product(f"{name}.attention.output", attended), states], f"{name}.states")
        both = self.normal_product(f"{name}.inner", states)
        gate, values = f"{name}.gate", f"{name}.gated"
        graph.nodes.append(helper.make_node("Split", [both], [gate, values], axis=1))
        curve = graph.add("QuickGelu", [gate], f"{name}.curve", domain=FUSED, alpha=1.0)  # x · sigmoid(x)
        inner = graph.add("Mul", [curve, values], f"{name}.inside")
        return graph.add("Sum", [self.product(f"{name}.inner.output", inner), states], f"{name}.last")

    def asked(self, name: str, states: str) -> list[str]:
        """Write queries, keys and values (windows × pieces × width); keys and values once for each head."""
        graph, width, shared = self.graph, self.options.width, self.options.kv_heads * self.numbers
        parts = [f"{name}.{part}" for part in ("queries", "keys", "values")]
        sizes = graph.constant(f"{name}.sizes", np.array([width, shared, shared]))
        projected = self.normal_product(name, states)
        if self.options.biases:
            projected = graph.add("Add", [projected, self.vector(f"{name}.input.bias")], f"{name}.biased")
        graph.nodes.append(helper.make_node("Split", [projected, sizes], [f"{part}_rows" for part in parts], axis=1))
        queries, keys, values = (
            graph.add("Reshape", [f"{part}_rows", shape], part)
            for part, shape in zip(parts, ("states_shape", "shared_shape", "shared_shape"), strict=True)
        )
        queries = self.rotated(queries, self.heads)
        return [queries, self.repeated(self.rotated(keys, self.options.kv_heads)), self.repeated(values)]

    def rotated(self, states: str, heads: int) -> str:
        """Write the rotation of each head's numbers by their place."""
        given = [states, "places_of_pieces", "cosines", "sines"]
        return self.graph.add("RotaryEmbedding", given, f"{states}_rotated", domain=FUSED, num_heads=heads)

    def repeated(self, states: str) -> str:
        """Write keys or values once for each head of those that share them."""
        graph = self.graph
        apart = graph.add("Reshape", [states, "apart_shape"], f"{states}_apart")
        each = graph.add("Expand", [apart, "repeated_shape"], f"{states}_each")
        return graph.add("Reshape", [each, "states_shape"], f"{states}_repeated")

    def normal_product(self, name: str, states: str) -> str:
        """Write a norm, and the product of the linear layer behind it."""
        gain = self.weights[f"{name}.norm.weight"]
        return self.product(f"{name}.input", self.normalised(f"{name}.norm", states), gain=gain)

    def normalised(self, name: str, states: str) -> str:
        """Write states divided by the root of their mean square."""
        graph = self.graph
        squares = graph.add("Mul", [states, states], f"{name}.squares")
        mean = graph.add("ReduceMean", [squares], f"{name}.mean", axes=[-1], keepdims=1)
        some = graph.add("Add", [mean, self.number(f"{name}.epsilon", self.options.epsilon)], f"{name}.some")
        return graph.add("Div", [states, graph.add("Sqrt", [some], f"{name}.root")], f"{name}.normal")
