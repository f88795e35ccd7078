"""`Sink`: a file that hands on what is written to it.

In: what a library writes to a file. Out: the same bytes, in pieces, as soon as they are there.
"""

from __future__ import annotations

import io
from typing import Any


class Sink(io.RawIOBase):
    """A file that hands on what is written to it and keeps nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[bytes] = []

    def writable(self) -> bool:
        """Say that it can be written to."""
        return True

    def write(self, data: Any) -> int:
        """Take bytes."""
        piece = bytes(data)
        self.pieces.append(piece)
        return len(piece)

    def taken(self) -> bytes:
        """Return what was written since it was last asked."""
        piece = b"".join(self.pieces)
        self.pieces.clear()
        return piece
