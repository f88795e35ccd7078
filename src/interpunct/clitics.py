"""Clitics: "do" + "n't" and "don't".

In: tokens as the papers' files split them, or joined words. Out: the other. Published figures are over the
split tokens; our own models read joined words.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

_CLITICS = frozenset(("n't", "'s", "'re", "'ve", "'ll", "'d", "'m", "’s", "’re", "’ve", "’ll", "’d", "’m", "n’t"))
_FIRST_LETTERS = frozenset("'’nN")


def join_clitics(texts: Sequence[str]) -> tuple[list[str], array[int], array[int]]:
    """Join tokens that are one word ("do" + "n't"); say where each joined word's first and last token stand.

    Tokens without letters or digits are left out: no model has anything to say about them.

    >>> joined, first, last = join_clitics(["you", "'re", "right", "♪", "do", "n't"])
    >>> joined, first.tolist(), last.tolist()
    (["you're", 'right', "don't"], [0, 2, 4], [1, 2, 5])
    """
    joined: list[str] = []
    first, last = array("q"), array("q")
    for index, text in enumerate(texts):
        if text[:1] in _FIRST_LETTERS and last and last[-1] == index - 1 and text.lower() in _CLITICS:
            joined[-1] += text
            last[-1] = index
        elif text.isalnum() or any(map(str.isalnum, text)):
            joined.append(text)
            first.append(index)
            last.append(index)
    return joined, first, last


def split_clitics(text: str) -> list[str]:
    """Split a joined word as the IWSLT files do; the inverse of joining a clitic group.

    >>> split_clitics("don't"), split_clitics("we'll"), split_clitics("o'clock")
    (['do', "n't"], ['we', "'ll"], ["o'clock"])
    """
    low = text.lower()
    for ending in _CLITICS:
        if low.endswith(ending) and len(text) > len(ending):
            return [text[: -len(ending)], text[-len(ending) :]]
    return [text]


def split_all(texts: Sequence[str]) -> tuple[list[str], array[int], array[int]]:
    """Split every token, and say which token each part was cut out of (twice, as `join_clitics` does).

    Tokens without letters or digits are left out here, too.

    >>> parts, first, last = split_all(["you're", "right", "♪", "do", "n't"])
    >>> parts, first.tolist()
    (['you', "'re", 'right', 'do', "n't"], [0, 0, 1, 3, 4])
    """
    parts: list[str] = []
    token = array("q")
    for index, text in enumerate(texts):
        if any(map(str.isalnum, text)):
            found = split_clitics(text)
            parts += found
            token.extend([index] * len(found))
    return parts, token, token
