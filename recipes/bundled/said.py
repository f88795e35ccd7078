"""Asks a trained model what it thinks of packs, and keeps it for the students that learn from it (`data.said`).

    python recipes/bundled/said.py runs/half-a runs/packs/*-b.pack -o runs/said/halves
    python recipes/bundled/said.py runs/half-b runs/packs/*-a.pack -o runs/said/halves

Each pack's answers are a file of the folder, named like the pack; a student of several folders learns their mean. With
`--wait` a pack that is not there yet is waited for, while `storyteller.py --parts` tells it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import torch

from interpunct.errors import told_in_a_line
from interpunct.models import load
from interpunct.models.torch_loop import compile_layers
from interpunct.train.arrays import wait_for
from interpunct.train.pack import Pack
from interpunct.train.said import DIRECTIONS, ask, file_of
from interpunct.train.states import Directions


@told_in_a_line
def main() -> int:
    """Ask the model about each pack."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, metavar="MODEL_DIR")
    parser.add_argument("packs", nargs="+", metavar="PACK")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="DIR")
    parser.add_argument(
        "--states", type=int, default=0, metavar="N",
        help="keep the teacher's states, too, in so many directions of each of three layers; those of the folder stay",
    )  # fmt: skip
    parser.add_argument("--wait", type=float, default=0, metavar="SECONDS", help="how long to wait for a pack (0)")
    parser.add_argument("--compile", action="store_true", help="compile its layers first, which pays on a GPU")
    parser.add_argument(
        "--bfloat16", action="store_true", help="compute in bfloat16 alone, four times as fast on a CPU with AMX"
    )
    parser.add_argument("--device", default="auto", help="cpu, cuda or auto (%(default)s)")
    given = parser.parse_args()
    teacher: Any = load(given.model)
    if hasattr(teacher, "to"):
        teacher.to(given.device)
    for member in getattr(teacher, "members", (teacher,)):
        if given.bfloat16 and hasattr(member, "network"):
            member.network.to(torch.bfloat16)
        if given.compile and hasattr(member, "network"):
            compile_layers(member.network)
    directions: Directions | None = None
    for name in given.packs:
        wait_for([Path(name)], given.wait)
        pack, path = Pack.load(Path(name)), file_of(given.output, name)
        if given.states and directions is None:
            directions = _directions(file_of(given.output, DIRECTIONS), teacher, pack, given.states)
        ask(teacher, pack, path, directions)
        print(f"{path}: what {teacher.name} says of {len(pack):,} words", flush=True)
    return 0


def _directions(path: Path, teacher: Any, pack: Pack, numbers: int) -> Directions:
    """Return the directions that the folder has; where there are none, choose them by a pack."""
    if not path.exists():
        Directions.learn(teacher, pack, numbers=numbers).save(path)
    return Directions.load(path)


if __name__ == "__main__":
    sys.exit(main())
