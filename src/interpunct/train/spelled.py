"""Spelled words: a text in which some of the abbreviations are said letter by letter, as recognisers write them.

In: a pack. Out: a pack with more words: "API." has become "a p i.", its letters capitals and its mark behind the last;
"p.m" has become "p m", as it was written. People write such words as one, so that of letters in a row a network would
know next to nothing.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from interpunct.cases import CASES
from interpunct.labels import MARKS
from interpunct.train.pack import Pack

_LONGEST = 5
"""Letters of a word that is said so; longer ones in capitals are mostly words after all: CHAPTER, ERISA."""
_DOTTED = re.compile(r"[a-z](\.[a-z])+\.?")
_LOWER, _UPPER, _SINGLE = (CASES.index(case) for case in ("lower", "upper", "single"))


def letters_of(word: str, *, capitals: bool) -> str:
    """Return the letters of a normalised word that may be said one by one; of others nothing.

    >>> letters_of("u.s", capitals=True), letters_of("api", capitals=True), letters_of("p.m", capitals=False)
    ('us', 'api', 'pm')
    >>> letters_of("api", capitals=False), letters_of("chapter", capitals=True), letters_of("co0", capitals=True)
    ('', '', '')
    """
    letters = word.replace(".", "") if _DOTTED.fullmatch(word) else word if capitals else ""
    return letters if 2 <= len(letters) <= _LONGEST and letters.isascii() and letters.isalpha() else ""


def spelled(pack: Pack, share: float, *, seed: int = 1) -> Pack:
    """Return a pack in which a share of the abbreviations is said letter by letter.

    A word that mostly stands in small letters is none, though it may be shouted, unless it has dots.
    """
    capitals = pack.tags["case"] == _UPPER
    total, upper = (np.bincount(rows, minlength=len(pack.words)) for rows in (pack.numbers, pack.numbers[capitals]))
    mostly = (2 * upper > total).tolist()
    letters = [letters_of(word, capitals=often) for word, often in zip(pack.words, mostly, strict=True)]
    sizes = np.array([len(each) for each in letters], dtype=np.int64)
    dotted = np.array(["." in word for word in pack.words], dtype=bool)
    known = capitals | ((pack.tags["case"] == _LOWER) & dotted[pack.numbers])
    chance = np.random.default_rng(seed).random(len(pack))
    said = known & (sizes[pack.numbers] > 0) & (chance < share)
    if not said.any():
        return pack

    number_of = {word: number for number, word in enumerate(pack.words)}
    for letter in sorted(set("".join(letters))):
        number_of.setdefault(letter, len(number_of))
    table = np.zeros((len(letters), _LONGEST), dtype=np.uint32)
    for number, each in enumerate(letters):
        table[number, : len(each)] = [number_of[letter] for letter in each]

    times = np.where(said, sizes[pack.numbers], 1)
    begins = np.cumsum(times) - times
    rows = np.repeat(np.arange(len(pack)), times)  # which word each of the new ones was
    within = np.arange(len(rows)) - begins[rows]
    letter = said[rows]
    numbers = np.where(letter, table[pack.numbers[rows], within], pack.numbers[rows])
    inside = letter & (within + 1 < times[rows])
    marks = np.where(inside, np.uint8(MARKS.index("")), pack.tags["mark"][rows])
    cases = np.where(letter & capitals[rows], np.uint8(_SINGLE), pack.tags["case"][rows])
    return replace(
        pack,
        words=tuple(number_of),
        numbers=numbers.astype(np.uint32),
        tags={"mark": marks, "case": cases},
        documents=begins[pack.documents],
    )
