"""What training text must not hold: the documents that models are scored on.

In: evaluation documents. Out: for any text, whether it quotes one of them. Two texts share text when more than one in a
hundred of the 8-grams of either stand in the other; shorter phrases are common speech.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from interpunct import corpora
from interpunct.features import normalise
from interpunct.transcript import Transcript

LENGTH = 8
SHARE = 0.01
HELD_OUT = (
    "iwslt:dev", "iwslt:test", "iwslt:dev2012", "iwslt:test2011", "iwslt:test2011asr",
    "iq2:dev", "iq2:test", "earnings21:test",
    *(
        f"{name}:{split}"
        for name in (
            "changelog", "scotus", "bitcoin_transcripts", "ontario_hansard", "presidential_speeches",
            "qmsum_meetings", "icsi", "earnings22", "debater", "esic",
        )
        for split in ("dev", "test")
    ),
)  # fmt: skip
"""Every split that a bundled model is chosen or scored on."""


@dataclass
class Held:
    """The 8-grams of evaluation documents, as hashes, each with the documents that hold it."""

    names: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    holders: dict[int, int | tuple[int, ...]] = field(default_factory=dict)

    def add(self, name: str, transcript: Transcript) -> None:
        """Hold a document."""
        number = len(self.names)
        found = {*grams(transcript)}
        self.names.append(f"{name} {transcript.source or ''}".strip())
        self.sizes.append(len(found))
        for gram in found:
            before = self.holders.get(gram)
            if before is None:
                self.holders[gram] = number
            else:
                self.holders[gram] = (*((before,) if isinstance(before, int) else before), number)

    def shared(self, transcript: Transcript) -> tuple[Counter[int], int]:
        """Count how many 8-grams of a text stand in each document, and those of the text in all."""
        counts: Counter[int] = Counter()
        found = {*grams(transcript)}
        for gram in found:
            holder = self.holders.get(gram)
            if holder is not None:
                counts.update((holder,) if isinstance(holder, int) else holder)
        return counts, len(found)

    def quoted_in(self, transcript: Transcript) -> str | None:
        """Return the document that a text shares text with, or None."""
        counts, size = self.shared(transcript)
        for number, count in counts.most_common(1):
            # One chance phrase is no quotation, however short the text is.
            if count > max(2, SHARE * min(size, self.sizes[number])):
                return self.names[number]
        return None


def held_out(specs: Iterable[str] = HELD_OUT) -> Held:
    """Hold the documents of these splits."""
    held = Held()
    for spec in specs:
        name, _, split = spec.partition(":")
        for transcript in corpora.read(name, split):
            held.add(spec, transcript)
    return held


def grams(transcript: Transcript) -> Iterator[int]:
    """Yield a hash of every 8 words in a row."""
    words = [text for word in transcript.words if (text := normalise(word.text))]
    for first in range(len(words) - LENGTH + 1):
        yield hash(tuple(words[first : first + LENGTH]))
