"""`Confusions`: which words a recogniser writes for which, learned from what it made of a known text.

In: references and what was recognised, word by word aligned. Out: for each word what it is heard as, how often, and how
often it is missed; and for a pack the tables by which a network is shown words misheard (`Heard`). A word that was said
only a few times tells little: its rates are drawn towards those of all words.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from interpunct import corpora
from interpunct.align import align
from interpunct.errors import ConfigError
from interpunct.features import normalise
from interpunct.models.encoded import Heard
from interpunct.models.scores import Array
from interpunct.train.pack import Pack
from interpunct.transcript import Transcript

_DRAWS = 16  # places of words heard instead, each as often as it was heard
_PRIOR = 20  # words of average luck that are added to each word's own


@dataclass(frozen=True)
class Confusions:
    """What was said, what of it was heard as another word, and what was missed."""

    said: Counter[str]
    instead: Mapping[str, Counter[str]]
    missed: Counter[str]

    @classmethod
    def learn(cls, pairs: Iterable[tuple[Transcript, Transcript]]) -> Confusions:
        """Learn from transcripts and what a recogniser made of each."""
        said: Counter[str] = Counter()
        missed: Counter[str] = Counter()
        instead: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for reference, recognised in pairs:
            right, heard = (
                [text for word in each.words if (text := normalise(word.text))] for each in (reference, recognised)
            )
            found = align(right, heard)
            said.update(right)
            there = np.zeros(len(right), dtype=np.bool_)
            for text, place, equal in zip(heard, found.places.tolist(), found.equal.tolist(), strict=True):
                if place >= 0:
                    there[place] = True
                    if not equal:
                        instead[right[place]][text] += 1
            missed.update(right[place] for place in np.flatnonzero(~there).tolist())
        return cls(said, dict(instead), missed)

    def heard(self, pack: Pack) -> Heard:
        """Return the tables for the words of a pack; words heard that it does not hold are left out."""
        number = {word: place for place, word in enumerate(pack.words)}
        first = np.zeros(len(pack.words), dtype=np.int64)
        first[pack.numbers[::-1]] = np.arange(len(pack))[::-1]
        others = np.repeat(first[:, None], _DRAWS, axis=1)
        replaced = np.zeros(len(pack.words), dtype=np.float32)
        rate = sum(sum(each.values()) for each in self.instead.values()) / max(1, self.said.total())
        for word, counts in self.instead.items():
            known = {other: count for other, count in counts.items() if other in number}
            if word not in number or not known:
                continue
            replaced[number[word]] = self._rate(word, sum(known.values()), rate)
            spread = np.repeat([first[number[other]] for other in known], [*known.values()])
            others[number[word]] = spread[((np.arange(_DRAWS) + 0.5) * len(spread) / _DRAWS).astype(int)]
        return Heard(pack.numbers, others, replaced, self._missed(number))

    def _missed(self, number: Mapping[str, int]) -> Array:
        rate = self.missed.total() / max(1, self.said.total())
        shares = np.full(len(number), rate, dtype=np.float32)
        for word in self.said:
            if word in number:
                shares[number[word]] = self._rate(word, self.missed[word], rate)
        return shares

    def _rate(self, word: str, count: int, average: float) -> float:
        return (count + _PRIOR * average) / (self.said[word] + _PRIOR)


def learned_from(specs: Iterable[str]) -> Confusions:
    """Learn from "corpus:split:track", e.g. "debater:train:asr": what that recogniser made of the split."""
    pairs: list[tuple[Transcript, Transcript]] = []
    for spec in specs:
        name, split, track = check(spec)
        references = {each.source: each for each in corpora.read(name, split)}
        heard = corpora.read(name, split, track=track)
        pairs += [(references[each.source], each) for each in heard if each.source in references]
    return Confusions.learn(pairs)


def check(spec: str) -> tuple[str, str, str]:
    """Return a spec's corpus, split and track; refuse one that is not such."""
    parts = spec.split(":")
    if len(parts) != 3:
        raise ConfigError([f"data.misheard: {spec!r} is not CORPUS:SPLIT:TRACK, e.g. debater:train:asr"])
    name, split, track = parts
    corpora.named(name).check(split, track)
    return name, split, track
