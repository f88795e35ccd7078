"""`Places`: the rows in which the places of all windows stand, as a part of an ONNX graph.

In: a pen, and the name of a table windows × places. Out: names of rows: each one's neighbours beside it, those of every
so many places, and where in its window each stands. Where there is no neighbour, a row of zeros at the table's end is
gathered, so that a convolution needs no mask.
"""

from __future__ import annotations

import numpy as np

from interpunct.export.pen import END, Pen

_FLOAT, _INT32 = 1, 6


class Places:
    """The rows in which the places of all windows stand, and which rows are whose neighbours."""

    def __init__(self, pen: Pen, name: str) -> None:
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
            found = pen.add("Slice", self._all, pen.value([0]), pen.value([END]), pen.value([1]), pen.value([stride]))
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
