"""Packs the texts that the bundled models learn from, so that they are read from one file in seconds.

    python recipes/bundled/pack.py            # all packs, into runs/packs
    python recipes/bundled/pack.py ted        # one of them

Each pack is made of the training splits alone, and of documents that no evaluation document is quoted in: a document
that shares more than a hundredth of its 8-grams with one of them, or holds more than a hundredth of one's, is left out.
What was left out is printed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from overlap import Held, held_out

from interpunct import corpora
from interpunct.errors import InterpunctError
from interpunct.train import specs
from interpunct.train.pack import SUFFIX, Pack
from interpunct.transcript import Transcript

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
            texts = (each for spec in PACKS[name] for each in specs.read(spec))
            pack = Pack.of(_clear(texts, held), sources=PACKS[name])
            pack.save(FOLDER / f"{name}{SUFFIX}")
            print(
                f"{name}: {len(pack):,} words, {len(pack.documents):,} documents, {len(pack.words):,} different words"
            )
    except InterpunctError as error:
        print(f"pack.py: error: {error}", file=sys.stderr)
        return 1
    return 0


def _clear(texts: Iterable[Transcript], held: Held) -> Iterator[Transcript]:
    """Yield the documents in which no evaluation document is quoted."""
    for text in texts:
        quoted = held.quoted_in(text)
        if quoted is None:
            yield text
        else:
            print(f"left out: {text.source}, which shares text with {quoted}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
