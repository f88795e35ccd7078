"""What training text must not hold: sentences of the documents that models are chosen and scored on.

    python recipes/bundled/overlap.py -o runs/packs/held.npz    # for a machine that has the packs, and not the corpora

In: evaluation documents. Out: training documents without the sentences that share eight words in a row with one of
them: a talk that quotes another, an advertisement that opens every episode of a podcast. Shorter phrases are common
speech.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from interpunct import corpora
from interpunct.errors import InputError, told_in_a_line
from interpunct.features import normalise
from interpunct.labels import SENTENCE_MARKS
from interpunct.train.arrays import UNREADABLE, save_arrays
from interpunct.train.pack import Pack
from interpunct.transcript import Transcript

LENGTH = 8
SHARE = 0.01
"""How many of a scored document's runs of eight words may stand in training text at most."""
_SPOKEN = (
    "changelog", "scotus", "bitcoin_transcripts", "ontario_hansard", "presidential_speeches", "qmsum_meetings",
    "icsi", "earnings22", "debater", "esic",
)  # fmt: skip
HELD_OUT = (
    "iwslt:dev", "iwslt:test", "iwslt:dev2012", "iwslt:test2011", "iwslt:test2011asr", "iq2:dev", "iq2:test",
    "earnings21:test", *(f"{name}:{split}" for name in _SPOKEN for split in ("dev", "test")),
)  # fmt: skip
"""Every split that a bundled model is chosen or scored on."""

Hashes = npt.NDArray[np.uint64]

_UNUSED = np.uint64(24)  # bits of a hash; 40 are enough for ten million runs, and written small


@dataclass(frozen=True)
class Held:
    """All runs of eight words of the evaluation documents, as sorted hashes."""

    runs: Hashes

    @classmethod
    def of(cls, transcripts: Iterable[Transcript]) -> Held:
        """Hold documents."""
        return cls(np.unique(np.concatenate([np.zeros(0, np.uint64), *(runs(each) for each in transcripts)])))

    @classmethod
    def load(cls, path: Path) -> Held:
        """Read what was held."""
        try:
            with np.load(path) as arrays:
                return cls(np.cumsum(arrays["steps"], dtype=np.uint64))
        except UNREADABLE as error:
            raise InputError(f"not what overlap.py writes ({error})", path=str(path)) from None

    def save(self, path: Path) -> None:
        """Write the hashes as the steps between them."""
        save_arrays(path, {"steps": np.diff(self.runs, prepend=np.uint64(0))})

    def shared(self, transcript: Transcript) -> npt.NDArray[np.bool_]:
        """Say of each run of eight words of a text whether an evaluation document holds it."""
        return self._holds(runs(transcript))

    def _holds(self, found: Hashes) -> npt.NDArray[np.bool_]:
        if not len(self.runs):
            return np.zeros(len(found), dtype=np.bool_)
        place = np.minimum(np.searchsorted(self.runs, found), len(self.runs) - 1)
        same: npt.NDArray[np.bool_] = self.runs[place] == found
        return same

    def cleared_pack(self, pack: Pack) -> Pack:
        """Return a pack without the runs of words that stand in an evaluation document; text parts where one stood."""
        while (shared := self._holds(_pack_runs(pack))).any():
            left = np.ones(len(pack), dtype=np.bool_)
            for place in range(LENGTH):
                left[place : place + len(shared)] &= ~shared
            pack = pack.of_words(left)
        return pack

    def cleared(self, transcript: Transcript) -> Transcript:
        """Return a text without the sentences that share a run with an evaluation document."""
        hits = np.flatnonzero(self.shared(transcript))
        if not len(hits):
            return transcript
        kept = [place for place, word in enumerate(transcript.words) if normalise(word.text)]
        ends = [place for place, word in enumerate(transcript.words) if word.mark in SENTENCE_MARKS]
        sentence = np.searchsorted(ends, np.arange(len(transcript.words)))  # each word's sentence
        spoilt: set[int] = set()
        for hit in hits.tolist():
            spoilt.update(sentence[kept[hit] : kept[hit + LENGTH - 1] + 1].tolist())
        words = (word for word, number in zip(transcript.words, sentence.tolist(), strict=True) if number not in spoilt)
        return replace(transcript, words=tuple(words))


def held_out(specs: Iterable[str] = HELD_OUT) -> Iterator[tuple[str, Transcript]]:
    """Yield the documents of these splits, each with the name of its split."""
    for spec in specs:
        for text in corpora.read(*spec.split(":")):
            yield spec, text


def runs(transcript: Transcript) -> Hashes:
    """Return a hash of every eight words in a row, as a model reads them."""
    texts = (text for word in transcript.words if (text := normalise(word.text)))
    return _rolled(np.fromiter(map(_hash, texts), dtype=np.uint64))


def shared_shares(scored: Iterable[tuple[str, Transcript]], packs: Iterable[Pack]) -> dict[str, float]:
    """Return for each scored document the share of its runs of eight words that stand in one of the packs."""
    taught = Held(np.unique(np.concatenate([np.zeros(0, np.uint64), *map(_pack_runs, packs)])))
    found = {}
    for spec, text in scored:
        shared = taught.shared(text)
        found[f"{spec} {text.source}"] = float(shared.mean()) if len(shared) else 0.0
    return found


def _pack_runs(pack: Pack) -> Hashes:
    return _rolled(np.fromiter(map(_hash, pack.words), dtype=np.uint64)[pack.numbers])


@functools.cache
def _hash(text: str) -> int:
    """Return a number that is the same in every process."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _rolled(words: Hashes) -> Hashes:
    """Hash every eight hashes in a row."""
    count = max(0, len(words) - LENGTH + 1)
    total = np.zeros(count, dtype=np.uint64)
    for place in range(LENGTH):
        total = total * np.uint64(0x9E3779B97F4A7C15) + words[place : place + count]  # wraps around, as hashes do
    return total >> _UNUSED


def cleared(texts: Iterable[Transcript], held: Held) -> Iterator[Transcript]:
    """Yield texts without what they share with evaluation documents; those of which nothing is left, not at all."""
    for text in texts:
        rest = held.cleared(text)
        if rest.words:
            yield rest


@told_in_a_line
def main() -> int:
    """Write what is held."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="NPZ")
    given = parser.parse_args()
    held = Held.of(text for _, text in held_out())
    held.save(given.output)
    print(f"{len(held.runs):,} runs of {LENGTH} words in {given.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
