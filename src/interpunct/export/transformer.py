"""A transformer as an ONNX graph, with onnxruntime's own fused operators, for CPUs; and back.

In: a trained `Transformer`. Out: its forward pass in a `Graph`, whose states, products and tables are those of `Rows`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from onnx import helper
from torch import Tensor

from interpunct.export.distances import Distances
from interpunct.export.graph import Graph
from interpunct.export.rows import (
    FUSED,
    REDUCED_RANGE,
    WHOLE_RANGE,
    Rows,
    fill,
    stored_branch,
    stored_matrix,
    stored_table,
    weights_of,
)
from interpunct.export.second_look import SecondLook
from interpunct.models.transformer import Transformer, TransformerOptions

_GELU_LOWEST = 0.17  # GELU is nowhere below minus this, so that its bytes need few numbers below zero


def write(model: Transformer, graph: Graph, *, reduce_range: bool = True) -> None:
    """Write the forward pass: `pieces`, `lengths`, `words` to log-probabilities per task.

    With int8, `reduce_range` keeps weights to 7 bits, so that every CPU computes the same.
    """
    graph.windows_at_once = 1  # alone a window needs no padding, and attention without a mask is faster
    options, weights = model.options, weights_of(model.network)
    for layer in range(options.glance, options.layers) if options.glance else ():
        name = f"layers.{layer}.projections"
        whole = weights[f"{name}.weight"]
        weights[f"{name}.asked.weight"], weights[f"{name}.told.weight"] = np.split(whole, [options.attended])
    largest = REDUCED_RANGE if reduce_range else WHOLE_RANGE
    writer = _Writer(graph, weights, options, largest=largest)
    states = writer.embedded(options.positions)
    away, below = Distances(writer, options), range(options.glance or options.layers)
    for layer, added in zip(below, away.of_all(below), strict=True):
        states = writer.layer(layer, states, added)
    if options.glance:
        look = SecondLook(writer, states, {task: len(names) for task, names in model.labels.items()}, options.doubted)
        above = range(options.glance, options.layers)
        for layer, added in zip(above, away.of_some(look.places, above), strict=True):
            look.add(writer.layer(layer, look.states, added, look.asking))
        look.branches()
        return
    at_words = graph.at_words(graph.add("Reshape", [states, "states_shape"], "last_states"))
    for task in model.labels:
        graph.branch(task, at_words, weights[f"heads.{task}.weight"], weights[f"heads.{task}.bias"])


def read(graph: Any, model: Transformer) -> None:
    """Fill a model with the weights of an exported one: the way back from `write`."""
    fill(model.network, graph, _stored)


def _stored(name: str, tensor: Tensor, stored: Mapping[str, np.ndarray]) -> np.ndarray:
    """Find a weight of the network, by its name there, among a graph's constants."""
    layer, _, _ = name.rpartition(".")
    if layer.startswith(("heads.", "glances.")):
        return stored_branch(name.replace("glances.", "heads.glance_"), stored)
    if tensor.ndim < 2 or layer == "distances":
        return stored[name]
    if layer in ("embedding", "positions"):
        return stored_table(layer, stored)
    if layer.endswith(".projections") and not {f"{layer}.weight", f"{layer}.int8"} & stored.keys():
        return np.concatenate([stored_matrix(f"{layer}.{part}", stored) for part in ("asked", "told")])
    return stored_matrix(layer, stored)


class _Writer(Rows):
    """The parts of a transformer."""

    count = "row_count"
    """What tells how many rows the layer at hand has."""

    def __init__(
        self, graph: Graph, weights: Mapping[str, np.ndarray], options: TransformerOptions, *, largest: int
    ) -> None:
        super().__init__(graph, weights, width=options.width, heads=options.heads, largest=largest,
                         attended=options.attended)  # fmt: skip
        self.epsilon = options.epsilon

    def embedded(self, positions: int) -> str:
        """Write the sum of pieces' and positions' embeddings; places behind the last position share it."""
        graph = self.graph
        last = graph.constant("last_position", np.array(positions - 1))
        at_places = self.looked_up("positions", graph.add("Min", ["all_places", last], "known_places"))
        embedded = graph.add("Sum", [self.looked_up("embedding", "pieces", halved=True), at_places], "embedded")
        return graph.add("Reshape", [self.normalised("norm", embedded), "rows_shape"], "states")

    def layer(self, number: int, states: str, added: str, asking: str = "") -> str:
        """Write a layer: attention and the feed-forward part, each with what it read, normalised.

        `added` names what is added to each look at a piece. Where some rows alone are `asking` (those of a
        `SecondLook`), what it gives is of these.
        """
        graph, name = self.graph, f"layers.{number}"
        self.count = "asking_count" if asking else "row_count"
        bias = self.vector(f"{name}.projections.bias")
        parts = self.projected(f"{name}.projections", states, asking)
        attended = self.attended(f"{name}.attended", parts, bias=bias, added=added)
        states = self.residual(f"{name}.output", attended, asking or states)
        # Bytes cannot tell the curve that tanh makes from GELU's own, which takes some CPUs twice the time.
        curve = "FastGelu" if graph.int8 else "BiasGelu"
        inner = graph.add(curve, list(self.linear(f"{name}.up", states)), f"{name}.inner", domain=FUSED)
        return self.residual(f"{name}.down", inner, states, lowest=_GELU_LOWEST)

    def projected(self, name: str, states: str, asking: str) -> list[str]:
        """Write queries, keys and values (windows × pieces × width)."""
        graph = self.graph
        parts = [f"{name}.{part}" for part in ("queries", "keys", "values")]
        rows = [f"{part}_rows" for part in parts]
        if asking:
            queries = self.product(f"{name}.asked", asking, count="asking_count")
            graph.add("Reshape", [queries, "asking_shape"], parts[0])
            rest = self.product(f"{name}.told", states)
            graph.nodes.append(helper.make_node("Split", [rest], rows[1:], axis=1))
        else:
            graph.nodes.append(helper.make_node("Split", [self.product(name, states)], rows, axis=1))
            graph.add("Reshape", [rows[0], self.attended_shape], parts[0])
        for part in parts[1:]:
            graph.add("Reshape", [f"{part}_rows", self.attended_shape], part)
        return parts

    def linear(self, name: str, states: str, *, lowest: float | None = None) -> tuple[str, str]:
        """Write the product of a linear layer; return it and the layer's bias, for the next operator to add."""
        return self.product(name, states, lowest=lowest, count=self.count), self.vector(f"{name}.bias")

    def residual(self, name: str, given: str, states: str, *, lowest: float | None = None) -> str:
        """Write a linear layer, the sum of what it gives and the states, and its normalisation."""
        # As an `Add` of two, onnxruntime would fuse it with the normalisation into a slower operator.
        total = self.graph.add("Sum", [*self.linear(name, given, lowest=lowest), states], f"{name}.sum")
        return self.normalised(f"{name}_norm", total)

    def normalised(self, name: str, states: str) -> str:
        """Write a layer normalisation in parts, which ARM computes in half the time that the whole operator takes."""
        graph = self.graph
        scale, bias = self.vector(f"{name}.weight"), self.vector(f"{name}.bias")
        mean = graph.add("ReduceMean", [states], f"{name}.mean", axes=[-1], keepdims=1)
        centred = graph.add("Sub", [states, mean], f"{name}.centred")
        # A `Pow` in its place, and onnxruntime would make the whole operator of these again.
        squares = graph.add("Mul", [centred, centred], f"{name}.squares")
        variance = graph.add("ReduceMean", [squares], f"{name}.variance", axes=[-1], keepdims=1)
        some = graph.add("Add", [variance, self.number(f"{name}.epsilon", self.epsilon)], f"{name}.some_variance")
        deviation = graph.add("Sqrt", [some], f"{name}.deviation")
        scaled = graph.add("Mul", [graph.add("Div", [centred, deviation], f"{name}.unit"), scale], f"{name}.scaled")
        return graph.add("Add", [scaled, bias], name)
