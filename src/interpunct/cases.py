"""Cases: how a word is capitalised, and how to write it so.

In: a word with what clings to it. Out: its class, or the word in another one. Letters change, nothing else does.
A mixed word ("iPhone") takes its form from a lexicon that a model brings, or else looks as such names mostly do.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from functools import lru_cache, wraps
from typing import TypeVar

CASES = ("lower", "sentence", "upper", "single", "mixed")
"""All cases; see `case_of`."""

_QUOTES = frozenset('"”»')
_LONGEST_REMEMBERED = 64
_NAME_BEGINNINGS = ("mc", "o'", "o’")
"""What a second capital stands behind: McCrea, O'Neal."""
_LOWER_PARTS = frozenset(
    "a al and anti based de des du el en ex for in la le les like mid non of on or post pre pro related style sub sur "
    "the to un".split()
)
"""Parts between hyphens that stay lower: anti-American, Commander-in-Chief, al-Sadr, Boston-based."""

T = TypeVar("T")


def remembered(size: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Remember what a function of one token gives, but not for tokens so long that they are no words."""

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        cached = lru_cache(maxsize=size)(function)

        @wraps(function)
        def wrapper(token: str) -> T:
            return cached(token) if len(token) <= _LONGEST_REMEMBERED else function(token)

        return wrapper

    return decorate


def case_of(text: str) -> str:
    """Return the case class of a word.

    >>> [case_of(text) for text in ("word", "42", "I", "a", "Word", "I'm", "NATO's", "CEOs", "3D")]
    ['lower', 'lower', 'single', 'lower', 'sentence', 'sentence', 'upper', 'upper', 'upper']
    >>> [case_of(text) for text in ("iPhone", "McDonald", "Anglo-Saxon")]
    ['mixed', 'mixed', 'mixed']
    """
    if text.islower():
        return "lower"
    letters = [character for character in text if character.isupper() or character.islower()]
    if not any(character.isupper() for character in letters):
        return "lower"
    if all(character.isupper() for character in letters):
        return "single" if sum(character.isalnum() for character in text) == 1 else "upper"
    stem = _without_plural(text)
    if stem is not None and stem.isupper() and sum(map(str.isalpha, stem)) > 1:
        return "upper"
    if letters[0].isupper() and not any(character.isupper() for character in letters[1:]):
        return "sentence"
    return "mixed"


def _without_plural(text: str) -> str | None:
    """Return "NATO" for "NATO's" and "CEO" for "CEOs"; None where there is no such ending."""
    core = text.rstrip('"”»)]}…')
    if core.endswith(("'s", "’s")):
        return core[:-2]
    return core[:-1] if core.endswith("s") else None


def recase(text: str, case: str, lexicon: Mapping[str, str] | None = None) -> str:
    """Write a word in a case; letters change, nothing else does.

    `lexicon` maps a lower-case core to its surface form. It is asked for mixed words, and for upper ones
    because "CEOs" cannot be told from "BOSS" by rule; a mixed word it does not hold is written by what names are like.

    >>> recase("nato's", "upper"), recase('"iphone', "mixed", {"iphone": "iPhone"}), recase("u.s.", "upper")
    ("NATO's", '"iPhone', 'U.S.')
    """
    low = _map_letters(text, str.lower)
    if case == "lower":
        return low
    if case == "mixed":
        opening, core, closing = trim(low)
        return opening + _mixed(core, lexicon or {}) + closing
    if case == "upper" and lexicon:
        opening, core, closing = trim(low)
        form = lexicon.get(core)
        if form is not None and case_of(form) == "upper":
            return opening + form + closing
    if case == "upper":
        for ending in ("'s", "’s"):
            opening, core, closing = trim(low)
            if core.endswith(ending):
                return opening + _map_letters(core[: -len(ending)], str.upper) + ending + closing
        return _map_letters(low, str.upper)
    for index, character in enumerate(low):
        if character.isalnum():  # the first letter, unless a digit comes before it: "4th" opens a sentence so
            return low[:index] + _map_letters(character, str.upper) + low[index + 1 :]
    return low


def _mixed(core: str, lexicon: Mapping[str, str]) -> str:
    """Write a lower-case word with capitals inside: as the lexicon has it or its parts, else as names mostly are.

    >>> [_mixed(core, {"mccain": "McCain"}) for core in ("mccain's", "mccrea", "frost-nixon", "chief-of-staff")]
    ["McCain's", 'McCrea', 'Frost-Nixon', 'Chief-of-Staff']
    """
    if core in lexicon:
        return lexicon[core]
    ending = next((ending for ending in ("'s", "’s") if core.endswith(ending)), "")
    stem = core.removesuffix(ending)
    if stem in lexicon:
        return lexicon[stem] + ending
    parts = stem.split("-")
    written = [_name(part, lexicon) if len(parts) == 1 or part not in _LOWER_PARTS else part for part in parts]
    return "-".join(written) + ending


def _name(part: str, lexicon: Mapping[str, str]) -> str:
    """Write a part of a name without a hyphen."""
    known = lexicon.get(part, "")
    if case_of(known) == "mixed":
        return known
    for beginning in _NAME_BEGINNINGS:
        if part.startswith(beginning) and len(part) > len(beginning) + 1:
            return recase(beginning, "sentence") + recase(part.removeprefix(beginning), "sentence")
    return recase(part, "sentence")


def _map_letters(text: str, change: Callable[[str], str]) -> str:
    """Apply `str.upper` or `str.lower` to each letter that has a partner: "ß", "İ" and "ſ" stay themselves."""
    if text.isascii():
        return change(text)
    return "".join(_partner(character, change) for character in text)


def _partner(character: str, change: Callable[[str], str]) -> str:
    changed = change(character)
    there_and_back = len(changed) == 1 and character in (changed.lower(), changed.upper())
    return changed if there_and_back else character


def trim(text: str) -> tuple[str, str, str]:
    """Split a word into what clings before it, its core, and what clings behind it.

    >>> trim('("so')
    ('("', 'so', '')
    """
    first, last = 0, len(text)
    while first < last and not text[first].isalnum() and text[first] not in "'’$€£#@&.":
        first += 1
    while last > first and (text[last - 1] in _QUOTES or text[last - 1] in ")]}…"):
        last -= 1
    return text[:first], text[first:last], text[last:]


@remembered(1 << 16)
def bare(text: str) -> str:
    """Return a word as it is compared: lower case, without what clings to it, its apostrophe straight.

    An accent is part of its letter, however it was typed.

    >>> bare('"Don’t'), bare("U.S."), bare("wait…"), bare("Cafe\u0301") == bare("caf\u00e9")
    ("don't", 'u.s', 'wait', True)
    """
    composed = text if text.isascii() else unicodedata.normalize("NFC", text)
    return trim(composed)[1].lower().replace("’", "'").rstrip(".")


def is_literal(text: str) -> bool:
    """Say whether a word is an address or a tag, whose capitals mean something: it is never recased.

    >>> is_literal("https://a.example/bC"), is_literal("@Anna"), is_literal("Anna")
    (True, True, False)
    """
    return "://" in text or "@" in text or text.startswith(("#", "www."))
