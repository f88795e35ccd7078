"""Lets a stack of dilated convolutions read a transformer's pieces, with what that knows of them.

    interpunct recover fast -o runs/fast
    interpunct recover default -o runs/default
    python recipes/bundled/reread.py runs/fast --of runs/default -o runs/reread --table-bits 4 --pairs 40000

It says nearly what it said; of rare words it can say more once it goes on to learn (`fast-7.toml`).
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from halves import some
from interpunct.errors import InputError, told_in_a_line
from interpunct.models import load
from interpunct.models.dilated import Dilated
from interpunct.models.folder import LEXICON, make_folder, take_along
from interpunct.models.torch_loop import choose_device
from interpunct.models.transformer import Transformer
from interpunct.train.drawn import drawn
from interpunct.train.pack import Pack
from interpunct.train.reread import used, with_pieces_of

PACKS = ("runs/packs/ted.pack", "runs/packs/spoken.pack", "runs/packs/court.pack")


@told_in_a_line
def main() -> int:
    """Fit what it reads, and write the model's folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, metavar="MODEL_DIR")
    parser.add_argument("--of", required=True, type=Path, metavar="MODEL_DIR", help="the transformer")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="DIR")
    parser.add_argument("--embedding", type=int, default=128, help="numbers of a piece's vector (%(default)s)")
    parser.add_argument("--pairs", type=int, default=32_000, help="rows of the table of pairs (%(default)s)")
    parser.add_argument("--table-bits", type=int, default=8, choices=(4, 8), help="of a number (%(default)s)")
    parser.add_argument("--packs", nargs="+", default=PACKS, metavar="PACK", help="what it learns from (%(default)s)")
    parser.add_argument("--words", type=int, default=20_000_000, help="of all packs together (%(default)s)")
    parser.add_argument("--windows", type=int, default=1500, help="in which the transformer is looked at (%(default)s)")
    parser.add_argument("--device", default="auto", help="cpu, cuda or auto (%(default)s)")
    given = parser.parse_args()
    device = choose_device(given.device)
    begin = time.monotonic()
    model: Any = load(given.model)
    knowing: Any = load(given.of)
    for each, kind, path in ((model, Dilated, given.model), (knowing, Transformer, given.of)):
        if not isinstance(each, kind):
            raise InputError(f"not of the type {kind.TYPE}; recover it first, if it is exported", path=str(path))
    if given.output.resolve() in (given.model.resolve(), given.of.resolve()):
        raise InputError("it would be written over; give another folder", path=str(given.output))

    def told(what: str) -> None:
        print(f"{time.monotonic() - begin:5.0f} s  {what}", flush=True)

    packs = [Pack.load(Path(name)) for name in given.packs]
    vectors = used(knowing.to(given.device), drawn(knowing, packs, given.windows).to(device)).cpu()
    told("it is known what pieces are")
    share = min(1.0, given.words / sum(map(len, packs)))
    pack = Pack.joined([some(pack, int(share * len(pack))) for pack in packs])
    sizes = {"embedding": given.embedding, "pairs": given.pairs, "table_bits": given.table_bits}
    made = with_pieces_of(model, knowing, pack, vectors, sizes, device=device, told=told)
    folder = make_folder(given.output)
    made.save(folder)
    take_along(given.model, folder, (LEXICON,))
    return 0


if __name__ == "__main__":
    sys.exit(main())
