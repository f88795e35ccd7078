"""Half bytes: two numbers of 0 to 15 in a byte, for tables that are looked up and not multiplied.

In: rows of whole numbers. Out: rows of half as many bytes, and back. A byte holds a number of the row's first half in
its lower bits and one of the second half in its upper ones, so that a graph takes them apart by shifting bits.
"""

from __future__ import annotations

import numpy as np


def packed(rows: np.ndarray) -> np.ndarray:
    """Return rows of an even count of numbers of 0 to 15 as bytes.

    >>> packed(np.array([[1, 2, 3, 15]])).tolist()
    [[49, 242]]
    """
    first, second = np.split(rows.astype(np.uint8), 2, axis=1)
    return np.asarray(first | second << 4)


def unpacked(rows: np.ndarray) -> np.ndarray:
    """Return the numbers that bytes hold.

    >>> unpacked(np.array([[49, 242]], dtype=np.uint8)).tolist()
    [[1, 2, 3, 15]]
    """
    return np.concatenate([rows & 15, rows >> 4], axis=1)
