"""Rounding a matrix so that what it gives stays: what is lost with one number is made up for by others of its column.

In: a matrix, the step of each of its columns, and which errors count together. Out: whole numbers. Rounded one by one
each number is as near as can be; rounded so the column's product with what is read is (the optimal brain surgeon
applied to rounding: Frantar et al. 2023, arXiv 2210.17323).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from interpunct.errors import ModelError

Floats = npt.NDArray[np.floating]

_EVENLY = 0.03
"""What an error counts anywhere, as a share of what errors count in the mean: text was read in part alone."""
_AT_ONCE = 64
"""Rows whose errors are made up for within these first, and then, in one product, by all rows behind."""


def together(matrix: Floats, scale: Floats, largest: int, counts: Floats) -> npt.NDArray[np.int8]:
    """Return a matrix as whole numbers up to `largest` in steps of each column's scale.

    `counts` (rows × rows) says what two rows' errors count together: what the rows are multiplied with, squared.

    Where the two rows are always multiplied with the same number, what the first loses the second gains:

    >>> together(np.array([[1.4], [1.4]]), np.array([1.0]), 7, np.ones((2, 2))).tolist()
    [[1], [2]]
    """
    if not (np.isfinite(counts).all() and counts.diagonal().mean() > 0):
        raise ModelError("these weights change nothing in this text; export without packs to round by")
    weighed = counts + _EVENLY * counts.diagonal().mean() * np.eye(len(counts))
    order = np.argsort(-weighed.diagonal(), kind="stable")  # what counts most first, while others can make up for it
    shares = np.linalg.cholesky(np.linalg.inv(weighed[order][:, order].astype(np.float64))).T.astype(np.float32)
    rest = (matrix[order] / scale).astype(np.float32)
    numbers = np.empty(matrix.shape, dtype=np.int8)
    for first in range(0, len(rest), _AT_ONCE):
        last = min(first + _AT_ONCE, len(rest))
        off = np.empty((last - first, rest.shape[1]), dtype=np.float32)
        for row in range(first, last):
            numbers[order[row]] = np.clip(np.round(rest[row]), -largest, largest)
            off[row - first] = (rest[row] - numbers[order[row]]) / shares[row, row]
            rest[row + 1 : last] -= np.outer(shares[row, row + 1 : last], off[row - first])
        rest[last:] -= shares[first:last, last:].T @ off
    return numbers
