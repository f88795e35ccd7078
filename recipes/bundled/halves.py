"""Parts each pack into two halves by documents, so that a teacher of one half can tell what it thinks of the other.

    python recipes/bundled/halves.py          # all packs of runs/packs: NAME-a.pack and NAME-b.pack beside NAME.pack
    python recipes/bundled/halves.py ted      # one of them

A teacher that has read a text several times knows its marks by heart, and a student learns nothing from it there that
the labels would not say. What a teacher says of text it never saw is what it has understood (`said.py` asks it).
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from interpunct.errors import InputError, told_in_a_line
from interpunct.train.pack import SUFFIX, Pack
from pack import FOLDER, PACKS

HALVES = ("a", "b")


@told_in_a_line
def main() -> int:
    """Write both halves of each pack."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PACKS)} (all)")
    given = parser.parse_args()
    for name in given.names or PACKS:
        pack = Pack.load(FOLDER / f"{name}{SUFFIX}")
        for half, part in zip(HALVES, halves(pack), strict=True):
            part.save(FOLDER / f"{name}-{half}{SUFFIX}")
            print(f"{name}-{half}: {len(part):,} words, {len(part.documents):,} documents", flush=True)
    return 0


def halves(pack: Pack) -> tuple[Pack, Pack]:
    """Part a pack by documents. In which of them its surface forms stand is not known: the first half has them all."""
    first = drawn(pack, len(pack) / 2)
    if not first.any():
        raise InputError("one document holds more than half of the words; there are no halves of it")
    return replace(pack.of_documents(first), forms=pack.forms), pack.of_documents(~first)


def drawn(pack: Pack, words: float, *, seed: int = 1) -> npt.NDArray[np.bool_]:
    """Draw documents: in random order as many as hold so many words."""
    sizes = np.diff(np.append(pack.documents, len(pack)))
    order = np.random.default_rng(seed).permutation(len(sizes))
    chosen = np.zeros(len(sizes), dtype=np.bool_)
    chosen[order] = np.cumsum(sizes[order]) <= words
    return chosen


def some(pack: Pack, words: int, *, seed: int = 1) -> Pack:
    """Return documents of a pack, drawn by chance, that hold so many words at most."""
    chosen = drawn(pack, words, seed=seed)
    if not chosen.any():
        raise InputError(f"no document among the first drawn has as few words as {words:,}; ask for more with --words")
    return pack.of_documents(chosen)


if __name__ == "__main__":
    sys.exit(main())
