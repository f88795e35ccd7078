"""Cuts a student out of a teacher of the type transformer: fewer pieces, heads and inner numbers, as many layers.

    python recipes/bundled/cut.py runs/teacher-10 -o runs/cut --pieces 21000 --heads 6 --inner 1024

What goes is chosen by windows of packs, which the teacher reads once. The student knows most of what the teacher does,
and learns the rest from it (`default-9.toml`).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from interpunct.errors import InputError, told_in_a_line
from interpunct.models import load
from interpunct.models.pieces import Pieces
from interpunct.models.pretrained_encoder import PretrainedEncoder, word_pieces
from interpunct.models.torch_loop import choose_device
from interpunct.models.transformer import Transformer
from interpunct.train.cut import Sizes, cut
from interpunct.train.drawn import drawn
from interpunct.train.pack import Pack

PACKS = ("runs/packs/ted.pack", "runs/packs/spoken.pack", "runs/packs/court.pack")


@told_in_a_line
def main() -> int:
    """Cut, and write the student's folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("teacher", type=Path, metavar="MODEL_DIR")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="DIR")
    parser.add_argument("--encoder", type=Path, default=Path("runs/pretrained/mpnet.npz"), help="whose pieces it has")
    parser.add_argument("--packs", nargs="+", default=PACKS, metavar="PACK", help="what is read (%(default)s)")
    parser.add_argument("--pieces", type=int, default=21_000, help="pieces that stay (%(default)s)")
    parser.add_argument("--heads", type=int, default=6, help="heads of a layer that stay (%(default)s)")
    parser.add_argument("--inner", type=int, default=1024, help="inner numbers of a layer that stay (%(default)s)")
    parser.add_argument("--windows", type=int, default=160, help="windows that are read (%(default)s)")
    parser.add_argument("--graded", type=int, default=64, help="those that say what errors count (%(default)s)")
    parser.add_argument("--device", default="auto", help="cpu, cuda or auto (%(default)s)")
    given = parser.parse_args()
    device = choose_device(given.device)
    begin = time.monotonic()

    def told(what: str) -> None:
        print(f"{time.monotonic() - begin:5.0f} s  {what}", flush=True)

    teacher: Any = load(given.teacher)
    if not isinstance(teacher, Transformer):
        raise InputError("only a transformer can be cut", path=str(given.teacher))
    if given.teacher.resolve() == given.output.resolve():
        raise InputError(
            "it would be written over by what is cut out of it; give another folder", path=str(given.teacher)
        )
    packs = [Pack.load(Path(name)) for name in given.packs]
    teacher = with_fewer_pieces(teacher, PretrainedEncoder.load(given.encoder).pieces, packs, given.pieces)
    told(f"{len(teacher.vocabulary):,} pieces")
    windows = drawn(teacher, packs, given.windows).to(device)
    student = cut(teacher, windows, Sizes(given.heads, given.inner), graded=given.graded, told=told)
    student.save(given.output)
    return 0


def with_fewer_pieces(model: Transformer, published: Sequence[str], packs: Sequence[Pack], size: int) -> Transformer:
    """Return the model with those of its pieces that the packs need most."""
    vocabulary = model.vocabulary
    if not isinstance(vocabulary, Pieces):
        raise InputError(f"{model.name} reads whole words, not pieces; take another teacher")
    fewer = word_pieces(published, _words(packs), size=size, longest=vocabulary.longest)
    row_of = {piece: row for row, piece in enumerate(vocabulary.names())}
    description = replace(
        model.description, options={**model.description.options, "vocabulary": size, "pretrained": ""}
    )
    made = Transformer(description, fewer)
    state = model.network.state_dict()
    rows = torch.tensor([row_of[piece] for piece in fewer.names()])
    made.network.load_state_dict({**state, "embedding.weight": state["embedding.weight"][rows]})
    return made


def _words(packs: Sequence[Pack]) -> Iterator[str]:
    for pack in packs:
        yield from pack.texts()


if __name__ == "__main__":
    sys.exit(main())
