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
        """Write which class each distance is of (pieces that look × pieces)."""
        self._graph, self._options = rows.graph, options
        if not options.distances:
            return
        graph, farthest = rows.graph, distances.FARTHEST
        self._weight = rows.vector("distances.weight")
        of_distance = distances.class_of(torch.arange(-farthest, farthest + 1), options.distances).numpy()
        self._first, self._last = (graph.constant(f"distances.axis_{axis}", np.array([axis])) for axis in (0, 1))
        looked_at = graph.add("Unsqueeze", ["all_places", self._first], "distances.looked_at")
        looking = graph.add("Unsqueeze", ["all_places", self._last], "distances.looking")
        away = graph.add("Sub", [looked_at, looking], "distances.away")
        bounds = [graph.constant(f"distances.{end}", np.array(end)) for end in (-farthest, farthest)]
        near = graph.add("Clip", [away, *bounds], "distances.near")
        places = graph.add("Add", [near, bounds[1]], "distances.places")
        self._classes = graph.add("Gather", [graph.constant("distances.of", of_distance), places], "distances.classes")

    def of_all(self, layers: range) -> list[str]:
        """Write for each of some layers what is added where all pieces look (1 × heads × pieces × pieces)."""
        if not self._options.distances:
            return [""] * len(layers)
        windows = self._graph.add("Unsqueeze", [self._classes, self._first], "distances.of_a_window")
        return self._added("distances.all", windows, layers)

    def of_some(self, places: str, layers: range) -> list[str]:
        """Write the same where the pieces at some places look (windows × heads × places × pieces)."""
        if not self._options.distances:
            return [""] * len(layers)
        windows = self._graph.add("Gather", [self._classes, places], "distances.of_places", axis=0)
        return self._added("distances.some", windows, layers)

    def _added(self, name: str, classes: str, layers: range) -> list[str]:
        """Write what these layers' heads add for classes (windows × places that look × pieces)."""
        options, graph, weight = self._options, self._graph, self._weight
        if options.own_distances:
            ends = (layers.start, layers.stop)
            heads = [graph.constant(f"{name}.from_{end}", np.array([end * options.heads])) for end in ends]
            weight = graph.add("Slice", [weight, *heads, self._last], f"{name}.weight")
        numbers = graph.add("Gather", [weight, classes], f"{name}.numbers")
        added = graph.add("Transpose", [numbers], f"{name}.added", perm=[0, 3, 1, 2])
        if not options.own_distances:
            return [added] * len(layers)
        each = [f"{added}.{layer}" for layer in layers]
        graph.nodes.append(helper.make_node("Split", [added], each, axis=1))
        return each
