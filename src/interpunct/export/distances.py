"""`Distances`: the part of a graph that tells how far apart two pieces are, which attention adds to each look.

In: a window's places, and what each head has learned of each class of distances. Out: for some layers what is added to
each look from one piece at another.
"""

from __future__ import annotations

import numpy as np
import torch
from onnx import helper

from interpunct.export.rows import Rows
from interpunct.models import distances
from interpunct.models.transformer import TransformerOptions


class Distances:
    """What is added to each look at a piece, by how far away it is; nothing for a network that knows no distances."""

    def __init__(self, rows: Rows, options: TransformerOptions) -> None:
        """Write what distances are told by."""
        self._graph, self._options = rows.graph, options
        if not options.distances:
            return
        graph, farthest = rows.graph, distances.FARTHEST
        self._weight = rows.vector("distances.weight")
        of_distance = distances.class_of(torch.arange(-farthest, farthest + 1), options.distances).numpy()
        self._of_distance = graph.constant("distances.of", of_distance)
        self._bounds = [graph.constant(f"distances.{end}", np.array(end)) for end in (-farthest, farthest)]
        self._axes = [graph.constant(f"distances.axis_{axis}", np.array([axis])) for axis in range(3)]

    def of_all(self, layers: range) -> list[str]:
        """Write for each of some layers what is added where all pieces look (1 × heads × pieces × pieces)."""
        options, graph = self._options, self._graph
        if not options.distances:
            return [""] * len(layers)
        # Every look is one of twice as many distances as there are pieces: those ahead, then those behind, in a circle.
        length = graph.add("Shape", ["all_places"], "distances.length")
        behind = graph.add("Sub", ["all_places", length], "distances.behind")
        circle = graph.add("Concat", ["all_places", behind], "distances.circle", axis=0)
        by_head = graph.add("Transpose", [self._weight], "distances.by_head")
        numbers = graph.add("Gather", [by_head, self._classes("circle", circle)], "distances.numbers", axis=1)
        self._write_shapes(length)
        if not options.own_distances:
            return [self._turned("distances.all", numbers)] * len(layers)
        added = []
        for layer in layers:
            name = f"distances.of_layer.{layer}"
            ends = [graph.constant(f"{name}.{end}", np.array([end * options.heads])) for end in (layer, layer + 1)]
            added.append(self._turned(name, graph.add("Slice", [numbers, *ends, self._axes[0]], f"{name}.heads")))
        return added

    def _write_shapes(self, length: str) -> None:
        """Write the shapes that `_turned` gives to the numbers of a layer's heads."""
        graph, one, heads = self._graph, self._axes[1], self._options.heads
        graph.constant("distances.every_head", np.array([heads, -1]))
        round_again = graph.add("Add", [length, length], "distances.round")
        row = graph.add("Sub", [round_again, one], "distances.row")
        graph.add("Mul", [length, row], "distances.all_rows")
        graph.add("Concat", [one, length, one], "distances.every_row", axis=0)
        every = graph.constant("distances.heads", np.array([heads]))
        graph.add("Concat", [every, length, row], "distances.rows", axis=0)

    def _turned(self, name: str, numbers: str) -> str:
        """Write heads × pieces × pieces of heads × circle: each row is the one above it, turned by one.

        The circle again and again, cut into rows that are one shorter, is that; so whole rows are copied, which takes a
        sixth of the time of looking each number up.
        """
        graph, first = self._graph, self._axes[0]
        circles = graph.add("Unsqueeze", [numbers, self._axes[1]], f"{name}.circles")
        repeated = graph.add("Expand", [circles, "distances.every_row"], f"{name}.repeated")
        line = graph.add("Reshape", [repeated, "distances.every_head"], f"{name}.line")
        cut = graph.add("Slice", [line, first, "distances.all_rows", self._axes[1]], f"{name}.cut")
        rows = graph.add("Reshape", [cut, "distances.rows"], f"{name}.rows")
        looked_at = graph.add("Slice", [rows, first, "distances.length", self._axes[2]], f"{name}.looked_at")
        return graph.add("Unsqueeze", [looked_at, first], f"{name}.added")

    def of_some(self, places: str, layers: range) -> list[str]:
        """Write the same where the pieces at some places look (windows × heads × places × pieces)."""
        options, graph, name = self._options, self._graph, "distances.some"
        if not options.distances:
            return [""] * len(layers)
        first, last, *_ = self._axes
        looked_at = graph.add("Unsqueeze", ["all_places", first], "distances.looked_at")
        looking = graph.add("Unsqueeze", ["all_places", last], "distances.looking")
        classes = self._classes("away", graph.add("Sub", [looked_at, looking], "distances.away"))
        windows = graph.add("Gather", [classes, places], "distances.of_places", axis=0)
        weight = self._weight
        if options.own_distances:
            ends = (layers.start, layers.stop)
            heads = [graph.constant(f"{name}.from_{end}", np.array([end * options.heads])) for end in ends]
            weight = graph.add("Slice", [weight, *heads, last], f"{name}.weight")
        numbers = graph.add("Gather", [weight, windows], f"{name}.numbers")
        added = graph.add("Transpose", [numbers], f"{name}.added", perm=[0, 3, 1, 2])
        if not options.own_distances:
            return [added] * len(layers)
        each = [f"{added}.{layer}" for layer in layers]
        graph.nodes.append(helper.make_node("Split", [added], each, axis=1))
        return each

    def _classes(self, name: str, away: str) -> str:
        """Write the classes of distances."""
        near = self._graph.add("Clip", [away, *self._bounds], f"distances.{name}_near")
        places = self._graph.add("Add", [near, self._bounds[1]], f"distances.{name}_places")
        return self._graph.add("Gather", [self._of_distance, places], f"distances.{name}_classes")
