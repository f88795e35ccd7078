"""Makes weights small enough to travel: bytes with a scale for each 32, in parts of so many megabytes; and back.

    python recipes/bundled/parcel.py pack runs/teacher/weights.pt parts --size 15
    python recipes/bundled/parcel.py pack --exact runs/pretrained/mpnet.npz parts --size 25
    python recipes/bundled/parcel.py unpack parts runs/teacher/weights.pt

For machines that are there for an hour, and that files go to and come from in pieces. Weights of a trained model (.pt)
become a quarter to a third as large; what is no matrix stays as it is. A scale for a whole row would not do: one number
of MPNet's positions is a hundred times the others, and what twelve layers make of it was 6 % off. With `--exact`
nothing is rounded, for what is published in half precision (.npz).
"""

from __future__ import annotations

import argparse
import io
import pickle
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from interpunct.errors import InputError, told_in_a_line
from interpunct.models.folder import written_whole
from interpunct.train.arrays import UNREADABLE, save_arrays

_BYTES, _SCALES, _KIND = "bytes of ", "scales by 32 of ", "kind of "
_STEPS = 127
_TOGETHER = 32
"""Numbers that share a scale."""
_LEAST = 1e-30
"""Numbers as small as this are nothing: their scale could not be told from it."""
_PART = re.compile(r"part-(\d+)-of-(\d+)")

Arrays = Mapping[str, npt.NDArray[Any]]


@told_in_a_line
def main() -> int:
    """Pack or unpack."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ways = parser.add_subparsers(dest="way", required=True)
    there = ways.add_parser("pack", help="a file of weights to a folder of parts")
    there.add_argument("weights", type=Path, metavar="FILE")
    there.add_argument("parts", type=Path, metavar="DIR")
    there.add_argument("--exact", action="store_true", help="round nothing")
    there.add_argument("--size", type=float, default=15, metavar="MB", help="of a part (%(default)s)")
    back = ways.add_parser("unpack", help="a folder of parts to a file of weights")
    back.add_argument("parts", type=Path, metavar="DIR")
    back.add_argument("weights", type=Path, metavar="FILE")
    given = parser.parse_args()
    if given.way == "pack":
        if not 1e-6 <= given.size <= 1e6:
            parser.error(f"parts of {given.size:g} MB cannot be; give their size in megabytes")
        pack(given.weights, given.parts, int(given.size * 1e6), exact=given.exact)
    else:
        unpack(given.parts, given.weights)
    return 0


def pack(weights: Path, parts: Path, size: int, *, exact: bool = False) -> None:
    """Write weights as parts of so many bytes; parts that were there go."""
    whole, arrays = io.BytesIO(), _read(weights)
    np.savez(whole, allow_pickle=False, **(arrays if exact else rounded(arrays)))
    content = whole.getvalue()
    parts.mkdir(parents=True, exist_ok=True)
    for before in parts.glob("part-*-of-*"):
        before.unlink()
    begins = range(0, len(content), size)
    for number, begin in enumerate(begins, start=1):
        (parts / f"part-{number}-of-{len(begins)}").write_bytes(content[begin : begin + size])


def unpack(parts: Path, weights: Path) -> None:
    """Write what the parts hold as weights."""
    found = {tuple(map(int, name.groups())): path for path in parts.glob("*") if (name := _PART.fullmatch(path.name))}
    counts = {count for _, count in found}
    if len(counts) != 1:
        what = "parts of several packings" if counts else "no parts"
        raise InputError(f"{what} there; pack the weights again", path=str(parts))
    (count,) = counts
    if missing := [number for number in range(1, count + 1) if (number, count) not in found]:
        raise InputError(f"of {count} parts {', '.join(map(str, missing))} missing there", path=str(parts))
    content = b"".join(found[number, count].read_bytes() for number in range(1, count + 1))
    try:
        with np.load(io.BytesIO(content)) as arrays:
            whole = restored(dict(arrays))
    except UNREADABLE as error:
        raise InputError(f"no weights in parts ({error}); pack them again", path=str(parts)) from None
    _write(weights, whole)


def rounded(arrays: Arrays) -> dict[str, Any]:
    """Return matrices as bytes and scales, a scale for so many numbers on end; other things as they are."""
    found: dict[str, Any] = {}
    for name, array in arrays.items():
        if array.ndim < 2 or array.dtype.kind != "f":
            found[name] = array
            continue
        exact = array.astype(np.float32)
        if not np.isfinite(exact).all():
            raise InputError(f"{name} holds what is no number")
        groups = np.pad(exact.ravel(), (0, -exact.size % _TOGETHER)).reshape(-1, _TOGETHER)
        largest = np.abs(groups).max(axis=1, keepdims=True)
        scales = np.where(largest > _LEAST, largest, 1) / _STEPS
        found[_BYTES + name] = np.round(groups / scales).astype(np.int8).ravel()[: exact.size].reshape(exact.shape)
        found[_SCALES + name] = scales[:, 0]
        found[_KIND + name] = np.array(array.dtype.name)
    return found


def restored(arrays: Arrays) -> dict[str, npt.NDArray[Any]]:
    """Return matrices as they were, but for what rounding took."""
    found = {name: array for name, array in arrays.items() if not name.startswith((_BYTES, _SCALES, _KIND))}
    for name, array in arrays.items():
        if name.startswith(_BYTES):
            matrix = name.removeprefix(_BYTES)
            scales = np.repeat(arrays[_SCALES + matrix], _TOGETHER)[: array.size].reshape(array.shape)
            found[matrix] = (array * scales).astype(str(arrays[_KIND + matrix]))
    return found


def _read(path: Path) -> dict[str, npt.NDArray[Any]]:
    try:
        if path.suffix == ".npz":
            with np.load(path) as arrays:
                return dict(arrays)
        import torch

        return {name: value.numpy() for name, value in torch.load(path, map_location="cpu", weights_only=True).items()}
    except pickle.UnpicklingError:  # torch says how to read it all the same, which is not for a file that is none
        raise InputError("no weights that can be packed", path=str(path)) from None
    except (*UNREADABLE, AttributeError, RuntimeError) as error:
        reason = (str(error).splitlines() or [repr(error)])[0]
        raise InputError(f"no weights that can be packed ({reason})", path=str(path)) from None


def _write(path: Path, arrays: dict[str, npt.NDArray[Any]]) -> None:
    if path.suffix == ".npz":
        save_arrays(path, arrays, compress=False)
        return
    import torch

    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as unfinished, unfinished.open("wb") as file:
        torch.save({name: torch.from_numpy(array) for name, array in arrays.items()}, file)


if __name__ == "__main__":
    sys.exit(main())
