"""Lets a trained transformer decide most words after some of its layers, without training these anew.

    interpunct recover default -o runs/default
    python recipes/bundled/glance.py runs/default -o runs/glance
    interpunct export runs/glance -o runs/glance-int8 --int8

It restores faster; how much is lost by it depends on how many layers read everything (`LOG.md`).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from halves import drawn
from interpunct.errors import InputError, told_in_a_line
from interpunct.models import load
from interpunct.models.folder import LEXICON, make_folder, take_along
from interpunct.models.transformer import Transformer
from interpunct.train.glance import with_glance
from interpunct.train.pack import Pack

PACKS = ("runs/packs/ted.pack", "runs/packs/spoken.pack")


@told_in_a_line
def main() -> int:
    """Fit a glance, and write the model's folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, metavar="MODEL_DIR")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="DIR")
    parser.add_argument("--layers", type=int, default=8, help="that read every piece (%(default)s)")
    parser.add_argument("--doubted", type=int, default=25, metavar="PERCENT", help="read on (%(default)s)")
    parser.add_argument("--packs", nargs="+", default=PACKS, metavar="PACK", help="what it learns from (%(default)s)")
    parser.add_argument("--words", type=int, default=100_000, help="of all packs together (%(default)s)")
    given = parser.parse_args()
    model: Any = load(given.model)
    if not isinstance(model, Transformer):
        raise InputError("only a transformer can glance; recover it first, if it is one", path=str(given.model))
    folder = make_folder(given.output)
    packs = [Pack.load(Path(name)) for name in given.packs]
    pack = Pack.joined([some(pack, given.words // len(packs)) for pack in packs])
    with_glance(model, pack, layers=given.layers, doubted=given.doubted).save(folder)
    take_along(given.model, folder, (LEXICON,))
    print(f"{folder}: {model.name} with a glance of {given.layers} layers, from {len(pack):,} words")
    return 0


def some(pack: Pack, words: int) -> Pack:
    """Return documents of a pack, drawn by chance, with so many words."""
    chosen = drawn(pack, words)
    if not chosen.any():
        raise InputError(f"no document among the first drawn has as few words as {words:,}; ask for more with --words")
    return pack.of_documents(chosen)


if __name__ == "__main__":
    sys.exit(main())
