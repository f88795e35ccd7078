"""Packs the texts that the bundled models learn from, so that they are read from one file in seconds.

    python recipes/bundled/pack.py            # all packs, into runs/packs
    python recipes/bundled/pack.py ted        # one of them
    python recipes/bundled/pack.py --spelled 0.3 --unapostrophed 0.04    # more like what recognisers write
    python recipes/bundled/pack.py --check    # that the packs there are hold nothing of what is scored

Each pack is made of the training splits alone, without the sentences that stand in an evaluation document, too (see
`overlap`). How many words these had is printed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from interpunct import corpora
from interpunct.errors import InputError, told_in_a_line
from interpunct.features import normalise
from interpunct.train import specs
from interpunct.train.apostrophes import without_apostrophes
from interpunct.train.pack import SUFFIX, Pack
from interpunct.train.spelled import spelled
from interpunct.transcript import Transcript
from overlap import SHARE, Held, cleared, held_out, shared_shares

FOLDER = Path("runs/packs")
_SPOKEN = (
    "changelog:train", "bitcoin_transcripts:train", "ontario_hansard:train", "presidential_speeches:train",
    "qmsum_meetings:train", "icsi:train", "earnings22:train", "debater:train", "esic:train",
)  # fmt: skip
PACKS: dict[str, tuple[str, ...]] = {
    "ted": ("iwslt:train", "iwslt:extra"),
    "court": ("scotus:train",),
    "spoken": _SPOKEN,
    "books": ("novels:train", "gutenberg:train"),
    "free": tuple(spec for spec in _SPOKEN if not corpora.named(spec.partition(":")[0]).noncommercial),
}
"""What each pack holds. TED and court are non-commercial, debater is in part for research; "free" is what is spoken
without it, so that a model of "free" and "books" learns only text that may be used commercially."""


@told_in_a_line
def main() -> int:
    """Make the packs that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(PACKS)} (all); with --check of any pack there is"
    )
    parser.add_argument("--check", action="store_true", help="look for scored documents in the packs there are")
    parser.add_argument(
        "--spelled", type=float, default=0.0, metavar="SHARE", help="of the abbreviations that are said by letters (0)"
    )
    parser.add_argument(
        "--unapostrophed", type=float, default=0.0, metavar="SHARE", help="of the documents without apostrophes (0)"
    )
    given = parser.parse_args()
    if not all(0 <= share <= 1 for share in (given.spelled, given.unapostrophed)):
        parser.error("--spelled and --unapostrophed are shares, from 0 to 1")
    if given.check:  # stories, too, which another script packs
        chosen = given.names or [path.stem for path in sorted(FOLDER.glob(f"*{SUFFIX}"))]
        if not chosen:
            raise InputError(f"no packs in {FOLDER}; make them first")
        return _check([Pack.load(FOLDER / f"{name}{SUFFIX}") for name in chosen])
    unknown = [name for name in given.names if name not in PACKS]
    if unknown:
        parser.error(f"no pack {', '.join(unknown)}; there are {', '.join(PACKS)}")
    held = Held.of(text for _, text in held_out())
    for name in given.names or PACKS:
        for spec in PACKS[name]:
            if not corpora.named(spec.partition(":")[0]).shippable:
                parser.error(f"{spec} must not be in a shipped model")
        texts = _Counted(each for spec in PACKS[name] for each in specs.read(spec))
        pack = Pack.of(cleared(texts, held), sources=PACKS[name])
        left_out = texts.words - len(pack)
        pack = without_apostrophes(spelled(pack, given.spelled), given.unapostrophed)
        pack.save(FOLDER / f"{name}{SUFFIX}")
        counts = f"{len(pack):,} words ({len(pack.words):,} different), {len(pack.documents):,} documents"
        print(f"{name}: {counts}; {left_out:,} words left out", flush=True)
    return 0


def _check(packs: list[Pack]) -> int:
    """Say which scored documents stand in the packs most, and fail where it is too much."""
    shares = shared_shares(held_out(), packs)
    for name, share in sorted(shares.items(), key=lambda item: -item[1])[:5]:
        print(f"{100 * share:.2f} % of the runs of eight words of {name}")
    return int(max(shares.values(), default=0.0) > SHARE)


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
