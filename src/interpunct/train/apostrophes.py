"""Lost apostrophes: a text of which some documents have "dont" and "were" for "don't" and "we're", as transcripts may.

In: a pack. Out: a pack of as many words, with the marks and capitals that they had.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from interpunct.train.pack import Pack

_APOSTROPHES = str.maketrans("", "", "'’")


def without_apostrophes(pack: Pack, share: float, *, seed: int = 1) -> Pack:
    """Return a pack in which a share of the documents has no apostrophes."""
    number_of = {word: number for number, word in enumerate(pack.words)}
    bare = [word.translate(_APOSTROPHES) or word for word in pack.words]
    table = np.array([number_of.setdefault(word, len(number_of)) for word in bare], dtype=np.uint32)
    chosen = np.random.default_rng(seed).random(len(pack.documents)) < share
    if not chosen.any():
        return pack
    lost = np.repeat(chosen, np.diff(np.append(pack.documents, len(pack))))
    numbers = pack.numbers.copy()
    numbers[lost] = table[numbers[lost]]
    return replace(pack, words=tuple(number_of), numbers=numbers)
