"""Lets a trained transformer decide most words after some of its layers, without training these anew.

    interpunct recover default -o runs/default
    python recipes/bundled/glance.py runs/default -o runs/glance
    interpunct export runs/glance -o runs/glance-int8 --int8

It restores faster; how much is lost by it depends on how many layers read everything (`LOG.md`). A prosody branch stays
behind: it was fitted to what the whole network says.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from halves import some
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
    if given.model.resolve() == given.output.resolve():
        raise InputError("it would be written over by what is made of it; give another folder", path=str(given.model))
    packs = [Pack.load(Path(name)) for name in given.packs]
    pack = Pack.joined([some(pack, given.words // len(packs)) for pack in packs])
    glancing = with_glance(model, pack, layers=given.layers, doubted=given.doubted)
    folder = make_folder(given.output)
    glancing.save(folder)
    take_along(given.model, folder, (LEXICON,))
    print(f"{folder}: {model.name} with a glance of {given.layers} layers, from {len(pack):,} words")
    return 0


if __name__ == "__main__":
    sys.exit(main())
