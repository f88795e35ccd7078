"""`EncodedTexts`: documents as numbers, each for itself, whose words can be read again.

In: transcripts, perhaps with prosody. Out: for each document an `Encoded` whose pieces are places in one list of words.
For models that look at words themselves, or that ask other models about a whole document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from interpunct.errors import InputError
from interpunct.features import Features
from interpunct.models.encoded import Encoded, Tagged, encode
from interpunct.models.model import Clitics
from interpunct.models.pieces import Vocabulary
from interpunct.models.scores import Ints
from interpunct.transcript import Transcript


@dataclass(frozen=True)
class EncodedTexts:
    """Documents as numbers: each its own `Encoded`, with places in `words` for pieces."""

    words: Sequence[str]
    documents: Sequence[Encoded]

    def __len__(self) -> int:
        return sum(map(len, self.documents))

    def windows(self, words: int | None = None) -> Iterator[tuple[Features, dict[str, Ints]]]:
        """Yield what a model reads of each document, and the labels per task; cut into so many words, or whole."""
        for document in self.documents:
            size = words or max(1, len(document))
            for first in range(0, len(document), size):
                rows = slice(first, first + size)
                texts = tuple(self.words[place] for place in document.pieces[rows])
                prosody = None if document.prosody is None else document.prosody[rows]
                yield Features(texts, prosody), {task: column[rows] for task, column in document.labels.items()}


def encode_texts(
    documents: Iterable[Transcript | Tagged], labels: Mapping[str, tuple[str, ...]], *, clitics: Clitics
) -> EncodedTexts:
    """Encode documents; every word is kept as it is."""
    seen = _SeenWords()
    # Encoding asks a vocabulary for nothing but ids.
    vocabulary = cast(Vocabulary, seen)
    encoded = [encode([document], vocabulary, labels, clitics=clitics) for document in documents]
    return EncodedTexts(list(seen.places), encoded)


def check_corpora(train: EncodedTexts, dev: EncodedTexts) -> None:
    """Refuse corpora without words."""
    for name, corpus in (("train", train), ("dev", dev)):
        if not len(corpus):
            raise InputError(f"no words in the {name} corpora; give others")


class _SeenWords:
    """Every word that was met, in order."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}

    def ids(self, word: str) -> tuple[int, ...]:
        """Return the word's place, a new one where it was not met before."""
        return (self.places.setdefault(word, len(self.places)),)
