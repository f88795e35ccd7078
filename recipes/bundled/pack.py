"""Packs the texts that the bundled models learn from, so that they are read from one file in seconds.

    python recipes/bundled/pack.py            # all packs, into runs/packs
    python recipes/bundled/pack.py ted        # one of them

Each pack is made of the training splits alone, without the sentences that stand in an evaluation document, too (see
`overlap`). How many words these had is printed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from interpunct import corpora
from interpunct.errors import InterpunctError
from interpunct.features import normalise
from interpunct.train import specs
from interpunct.train.pack import SUFFIX, Pack
from interpunct.transcript import Transcript
from overlap import cleared, held_out

FOLDER = Path("runs/packs")
PACKS: dict[str, tuple[str, ...]] = {
    "ted": ("iwslt:train", "iwslt:extra"),
    "court": ("scotus:train",),
    "spoken": (
        "changelog:train", "bitcoin_transcripts:train", "ontario_hansard:train", "presidential_speeches:train",
        "qmsum_meetings:train", "icsi:train", "earnings22:train", "debater:train", "esic:train",
    ),
    "books": ("novels:train", "gutenberg:train"),
}  # fmt: skip
"""What each pack holds; TED and court are non-commercial, the others are free for any use."""


def main() -> int:
    """Make the packs that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PACKS)} (all)")
    given = parser.parse_args()
    try:
        unknown = [name for name in given.names if name not in PACKS]
        if unknown:
            parser.error(f"no pack {', '.join(unknown)}; there are {', '.join(PACKS)}")
        held = held_out()
        for name in given.names or PACKS:
            for spec in PACKS[name]:
                if not corpora.named(spec.partition(":")[0]).shippable:
                    parser.error(f"{spec} must not be in a shipped model")
            texts = _Counted(each for spec in PACKS[name] for each in specs.read(spec))
            pack = Pack.of(cleared(texts, held), sources=PACKS[name])
            pack.save(FOLDER / f"{name}{SUFFIX}")
            counts = f"{len(pack):,} words ({len(pack.words):,} different), {len(pack.documents):,} documents"
            print(f"{name}: {counts}; {texts.words - len(pack):,} words left out", flush=True)
    except InterpunctError as error:
        print(f"pack.py: error: {error}", file=sys.stderr)
        return 1
    return 0


class _Counted:
    """Texts, and how many words they had that a pack takes."""

    def __init__(self, texts: Iterable[Transcript]) -> None:
        self._texts = texts
        self.words = 0

    def __iter__(self) -> Iterator[Transcript]:
        for text in self._texts:
            self.words += sum(1 for word in text.words if normalise(word.text))
            yield text


if __name__ == "__main__":
    sys.exit(main())
