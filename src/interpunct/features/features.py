"""`Features`: one row per word of what a model may look at.

In: words' texts, and their prosody where it was measured. Out: the same words as a model reads them: lower case,
without what clings to them, each digit a 0, so that neither case nor marks of the input reach a decision. It keeps no
vocabulary: a model brings its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from interpunct.cases import bare, remembered
from interpunct.errors import InputError

if TYPE_CHECKING:  # whoever has prosody has its libraries; a model that reads text does not need them
    from interpunct.features.prosody import Prosody

_DIGIT = re.compile(r"\d")
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")  # a lone surrogate, which no vocabulary takes


@dataclass(frozen=True)
class Features:
    """One row per word: the normalised texts, and the prosody of the place behind the word, if there is any."""

    texts: tuple[str, ...]
    prosody: Prosody | None = None

    def __post_init__(self) -> None:
        if self.prosody is not None and len(self.prosody) != len(self.texts):
            raise InputError(f"prosody of {len(self.prosody)} words for {len(self.texts)} words; give one row a word")

    @classmethod
    def of(cls, texts: Iterable[str], prosody: Prosody | None = None) -> Features:
        """Build features from words' texts as they stand in a transcript."""
        return cls(tuple(map(normalise, texts)), prosody)

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, rows: slice) -> Features:
        return Features(self.texts[rows], None if self.prosody is None else self.prosody[rows])


def chosen_rows(prosody: Prosody, places: NDArray[np.int64]) -> Prosody:
    """Return the prosody of some words, in the order of `places`."""
    return replace(prosody, values=prosody.values[places], known=prosody.known[places])


@remembered(1 << 16)
def normalise(text: str) -> str:
    """Write a word as a model reads it.

    >>> normalise('"Don’t'), normalise("U.S."), normalise("4,754"), normalise("wait…")
    ("don't", 'u.s', '0,000', 'wait')
    """
    return _DIGIT.sub("0", _HALF_CHARACTER.sub("\ufffd", bare(text)))
