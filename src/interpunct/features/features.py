"""`Features`: one row per word of what a model may look at.

In: words' texts. Out: the same words as a model reads them: lower case, without what clings to them, each
digit a 0, so that neither case nor marks of the input reach a decision. It keeps no vocabulary: a model
brings its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from interpunct.cases import bare, remembered

_DIGIT = re.compile(r"\d")
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")  # a lone surrogate, which no vocabulary takes


@dataclass(frozen=True)
class Features:
    """One row per word: the normalised texts."""

    texts: tuple[str, ...]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Features:
        """Build features from words' texts as they stand in a transcript."""
        return cls(tuple(map(normalise, texts)))

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, rows: slice) -> Features:
        return Features(self.texts[rows])


@remembered(1 << 16)
def normalise(text: str) -> str:
    """Write a word as a model reads it.

    >>> normalise('"Don’t'), normalise("U.S."), normalise("4,754"), normalise("wait…")
    ("don't", 'u.s', '0,000', 'wait')
    """
    return _DIGIT.sub("0", _HALF_CHARACTER.sub("\ufffd", bare(text)))
