"""Files of arrays that appear whole or not at all.

In: arrays by name. Out: one file with all of them. Writing millions of words takes a while, in which another process
may wait for them, or somebody may stop it: a file that is there can be read.
"""

from __future__ import annotations

import time
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from interpunct.models.folder import written_whole

UNREADABLE = (
    OSError, EOFError, ValueError, KeyError, TypeError, NotImplementedError, zlib.error, zipfile.BadZipFile,
)  # fmt: skip
"""What reading a file of arrays raises where it is cut, damaged or another's."""


def save_arrays(path: Path, arrays: dict[str, Any], *, compress: bool = True) -> None:
    """Write arrays to a file; a folder that is not there is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as unfinished, unfinished.open("wb") as file:
        (np.savez_compressed if compress else np.savez)(file, allow_pickle=False, **arrays)


def wait_for(paths: Iterable[Path], seconds: float) -> list[Path]:
    """Wait until all of these files are there, for so long at most; return those that are not."""
    last = time.monotonic() + seconds
    missing = [path for path in paths if not path.exists()]
    while missing and (left := last - time.monotonic()) > 0:
        time.sleep(min(0.5, left))
        missing = [path for path in missing if not path.exists()]
    return missing
