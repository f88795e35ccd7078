"""`Pen`: writes nodes and values into an ONNX graph without naming them.

In: operators, and the names of what they read. Out: the names of what they write; equal values are stored once. What
every part of a dilated network does to its rows, it writes in one go: rectify them, divide them by their lengths.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from interpunct.export.graph import Graph
from interpunct.models.dilated import EPSILON, RECTIFIED_STEP, STEP

ZERO = 128
"""The byte that stands for 0 among numbers with a sign."""
END = 2**31 - 1
"""Where a slice ends that goes on to the last."""


class Pen:
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
            return self.add("QuantizeLinear", rows, self.value(STEP, np.float32), self.value(ZERO, np.uint8))
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
