"""`WordVocabulary`: the vocabulary of a model that reads whole words.

In: normalised words. Out: one id for each, the same interface as `Pieces`. Id 0 pads, id 1 is every word that is
not known. The commonest words are kept, ties in the order of the alphabet, so that it can be learned again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from interpunct.errors import ModelError
from interpunct.models.pieces import UNKNOWN

_SPECIAL = 2


class WordVocabulary:
    """Words to ids."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self._ids = {word: (place,) for place, word in enumerate(self.words, start=_SPECIAL)}

    @classmethod
    def learn(cls, words: Iterable[str], *, size: int) -> WordVocabulary:
        """Keep the commonest words, `size` ids in all.

        >>> WordVocabulary.learn("b a a c b a".split(), size=4).words
        ('a', 'b')
        """
        counts = Counter(words)
        kept = sorted(counts, key=lambda word: (-counts[word], word))[: max(0, size - _SPECIAL)]
        return cls(kept)

    @classmethod
    def load(cls, path: Path) -> WordVocabulary:
        """Read a vocabulary from its file."""
        try:
            words = json.loads(path.read_text(encoding="utf-8"))["words"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelError(f"{path}: no word vocabulary: {error}; train the model again") from None
        return cls(words)

    def save(self, path: Path) -> None:
        """Write the vocabulary to a file."""
        path.write_text(json.dumps({"words": self.words}, ensure_ascii=False), encoding="utf-8")

    def __len__(self) -> int:
        return len(self.words) + _SPECIAL

    def ids(self, word: str) -> tuple[int, ...]:
        """Return the word's one id."""
        return self._ids.get(word, (UNKNOWN,))
