"""Six bits a number: matrices of an exported network that take three quarters of their bytes on disk.

In: whole numbers from -31 to 31, rows in four equal parts. Out: three quarters as many rows of bytes, and back. A byte
holds a number of one of the first three parts in its lower bits, and above these two bits of the number that the fourth
part has there. A graph whose matrices lie beside it so is given them as bytes when it is opened.
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from interpunct.errors import ModelError

WEIGHTS = "weights.npz"
"""The file of an exported model's folder that holds its matrices so, where it has one."""
LARGEST = 31
PARTS = 4
"""Rows must be a multiple of this."""
_ZERO = 32
_UNREADABLE = (OSError, EOFError, ValueError, KeyError, zlib.error, zipfile.BadZipFile)

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int8]


def packed(numbers: Numbers) -> Bytes:
    """Return numbers from -31 to 31 as bytes.

    >>> packed(np.array([[1], [-2], [3], [31]], dtype=np.int8)).tolist()
    [[225], [222], [227]]
    """
    *first, last = np.split((numbers + _ZERO).astype(np.uint8), PARTS)
    return np.concatenate([part | (last >> 2 * place & 3) << 6 for place, part in enumerate(first)])


def unpacked(rows: Bytes) -> Numbers:
    """Return the numbers that bytes hold.

    >>> unpacked(np.array([[225], [222], [227]], dtype=np.uint8)).tolist()
    [[1], [-2], [3], [31]]
    """
    part = len(rows) // (PARTS - 1)
    numbers = np.empty((PARTS * part, *rows.shape[1:]), dtype=np.int8)
    lower, upper = numbers[: len(rows)].view(np.uint8), rows >> 6
    np.bitwise_and(rows, 63, out=lower)
    numbers[len(rows) :] = upper[:part] | upper[part : 2 * part] << 2 | upper[2 * part :] << 4
    numbers -= _ZERO
    return numbers


def load(path: Path) -> dict[str, Numbers]:
    """Read matrices, by their names in the graph; where there is no such file, none."""
    if not path.exists():
        return {}
    try:
        with np.load(path) as arrays:
            return {name: unpacked(arrays[name]) for name in arrays.files}
    except _UNREADABLE as error:
        raise ModelError(f"{path}: not an exported model's weights: {error}; export the model again") from None
