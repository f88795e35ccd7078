"""Spelling: how a token sounds, as ARPAbet phones.

In: a token as somebody wrote it, and a dictionary to ask. Out: its pronunciations, best guess first; none where it
has no sound (a dash, another script). In this order: the dictionary, numbers read out, clitics and endings, compounds,
letter names, letters by rule. The rules are rough: an aligner needs phones that are near, not right.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

Lookup = Callable[[str], str | None]

_LETTERS = {
    "a": "EY", "b": "B IY", "c": "S IY", "d": "D IY", "e": "IY", "f": "EH F", "g": "JH IY", "h": "EY CH", "i": "AY",
    "j": "JH EY", "k": "K EY", "l": "EH L", "m": "EH M", "n": "EH N", "o": "OW", "p": "P IY", "q": "K Y UW",
    "r": "AA R", "s": "EH S", "t": "T IY", "u": "Y UW", "v": "V IY", "w": "D AH B AH L Y UW", "x": "EH K S",
    "y": "W AY", "z": "Z IY",
}  # fmt: skip

# Longest first at each place. "^" stands before the word, "$" behind it; both may be part of a rule.
_RULES = {
    "^kn": "N", "^gn": "N", "^wr": "R", "^ps": "S", "^x": "Z", "^y": "Y", "^mc": "M AH K", "^rh": "R",
    "tion": "SH AH N", "sion": "ZH AH N", "cian": "SH AH N", "cious": "SH AH S", "tious": "SH AH S", "ture": "CH ER",
    "ough": "AO", "augh": "AO", "eigh": "EY", "igh": "AY", "tch": "CH", "dge": "JH", "sch": "SH", "que$": "K",
    "gue$": "G", "ous$": "AH S", "le$": "AH L", "ed$": "D", "ted$": "T AH D", "ded$": "D AH D", "es$": "Z",
    "ism$": "IH Z AH M", "er$": "ER", "or$": "ER", "ar$": "ER", "age$": "IH JH", "ive$": "IH V", "ine$": "IY N",
    "ch": "CH", "sh": "SH", "th": "TH", "ph": "F", "gh": "G", "wh": "W", "ck": "K", "ng": "NG", "qu": "K W",
    "sc": "S K", "sce": "S EH", "sci": "S IH", "ce": "S EH", "ci": "S IH", "cy": "S IY", "ce$": "S", "ge$": "JH",
    "gi": "JH IH", "gy": "JH IY", "ee": "IY", "ea": "IY", "oo": "UW", "ou": "AW", "ow": "OW", "oa": "OW", "oi": "OY",
    "oy": "OY", "ai": "EY", "ay": "EY", "au": "AO", "aw": "AO", "ei": "EY", "ey": "IY", "ie": "IY", "eu": "Y UW",
    "ew": "Y UW", "ue": "UW", "ui": "UW", "ia": "IY AH", "io": "IY OW", "ar": "AA R", "er": "ER", "ir": "ER",
    "or": "AO R", "ur": "ER", "y$": "IY", "e$": "", "a$": "AH", "o$": "OW", "i$": "IY", "u$": "UW", "s$": "Z",
    "a": "AE", "b": "B", "c": "K", "d": "D", "e": "EH", "f": "F", "g": "G", "h": "HH", "i": "IH", "j": "JH", "k": "K",
    "l": "L", "m": "M", "n": "N", "o": "AA", "p": "P", "q": "K", "r": "R", "s": "S", "t": "T", "u": "AH", "v": "V",
    "w": "W", "x": "K S", "y": "IH", "z": "Z", "^": "", "$": "",
}  # fmt: skip
_INITIALS = 5  # letters: more in capitals are a word written large
_LONGEST = max(map(len, _RULES))

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "zero ten twenty thirty forty fifty sixty seventy eighty ninety".split()
_GREAT = ((10**12, "trillion"), (10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred"))
_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
    "twelve": "twelfth",
}  # fmt: skip
_SIGNS = {"%": "percent", "&": "and", "+": "plus", "@": "at", "=": "equals", "°": "degrees", "§": "section"}
_CURRENCIES = {"$": "dollars", "€": "euros", "£": "pounds", "¥": "yen"}
_VOICELESS = {"P", "T", "K", "F", "TH"}
_HISSING = {"S", "Z", "SH", "ZH", "CH", "JH"}
_PLAIN = str.maketrans({"’": "'", "‘": "'", "ß": "ss", "ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ı": "i"})


def pronounce(token: str, lookup: Lookup) -> list[str]:
    """Return the pronunciations of a token, each as phones with spaces between; an empty list where it has none.

    >>> small = {"tea": "T IY", "pot": "P AA T"}.get
    >>> pronounce("Teapot,", small), pronounce("pot's", small), pronounce("—", small)
    (['T IY P AA T'], ['P AA T S'], [])
    """
    text = unicodedata.normalize("NFKD", token.translate(_PLAIN).lower().translate(_PLAIN))
    text = "".join(sign for sign in text if not unicodedata.combining(sign))
    capitals = token.isupper() and len(token) > 1
    found = [" ".join(_word(word, lookup, capitals=capitals) for word in reading) for reading in _readings(text)]
    letters = re.sub(r"[^a-z]", "", text)
    if capitals and 1 < len(letters) <= _INITIALS:
        found.append(_named(letters))  # "VAT" is a word of the dictionary, too
    # A word may be silent: its neighbours' sounds then have two spaces between them.
    return list(dict.fromkeys(" ".join(sounds.split()) for sounds in found if sounds.strip()))


def number_words(number: int) -> list[str]:
    """Return a whole number as it is read out.

    >>> " ".join(number_words(1234)), " ".join(number_words(40))
    ('one thousand two hundred thirty four', 'forty')
    """
    if number < 20:
        return [_ONES[number]]
    if number < 100:
        return [_TENS[number // 10], *([_ONES[number % 10]] if number % 10 else [])]
    for size, name in _GREAT:
        if number >= size:
            head = number_words(number // size) if number < size * 1000 else list(map(_digit, str(number // size)))
            return [*head, name, *(number_words(number % size) if number % size else [])]
    return []


def spell(letters: str) -> str:
    """Return the phones of letters by rule.

    >>> spell("strasbourg"), spell("knowing")
    ('S T R AE S B AW R G', 'N OW IH NG')
    """
    text, at, phones = f"^{letters}$", 0, []
    while at < len(text):
        for size in range(min(_LONGEST, len(text) - at), 0, -1):
            sound = _RULES.get(text[at : at + size])
            if sound is not None:
                break
        else:
            size, sound = 1, ""
        phones += sound.split()
        at += size
    # A doubled letter is one sound.
    return " ".join(phone for place, phone in enumerate(phones) if place == 0 or phone != phones[place - 1])


def _readings(text: str) -> list[list[str]]:
    """Return the words of a token, once for every way of reading its numbers."""
    readings: list[list[str]] = [[]]
    currency = next((name for sign, name in _CURRENCIES.items() if sign in text), None)
    for part in re.findall(r"\d+(?:,\d{3})+(?:\.\d+)?|\d+\.\d+|\d+(?:st|nd|rd|th|s)?|[a-z']+|[%&+@=°§]", text):
        options = _number_readings(part) if part[0].isdigit() else [[_SIGNS.get(part, part)]]
        readings = [[*before, *option] for before in readings for option in options][:8]
    return [[*reading, currency] for reading in readings] if currency else readings


def _number_readings(part: str) -> list[list[str]]:
    plain = part.replace(",", "")
    match = re.fullmatch(r"(\d+)(?:\.(\d+))?(st|nd|rd|th|s)?", plain)
    if match is None:
        return [[]]
    whole, decimals, ending = match.groups()
    number = int(whole[:30])
    if decimals:
        return [[*number_words(number), "point", *map(_digit, decimals)]]
    if len(whole) > 15:
        return [list(map(_digit, whole))]
    options = [number_words(number)]
    if number >= 100 and number % 100:
        # British speakers say "and" before the last two digits.
        options.append([*number_words(number - number % 100), "and", *number_words(number % 100)])
    if len(whole) == 4 and 1100 <= number < 2100 and number % 1000 >= 10:
        tail = number % 100
        low = ["hundred"] if not tail else ["oh", *number_words(tail)] if tail < 10 else number_words(tail)
        options.insert(0, [*number_words(number // 100), *low])
    if len(whole) > 1 and (whole[0] == "0" or len(whole) in (2, 3)):
        options.append(list(map(_digit, whole)))
    if ending == "s":
        options = [[*option[:-1], _plural(option[-1])] for option in options]
    elif ending:
        options = [[*option[:-1], _ordinal(option[-1])] for option in options]
    return options


def _digit(sign: str) -> str:
    return _ONES[int(sign)]


def _ordinal(word: str) -> str:
    return _ORDINALS.get(word) or (word[:-1] + "ieth" if word.endswith("y") else word + "th")


def _plural(word: str) -> str:
    return word[:-1] + "ies" if word.endswith("y") else word + ("es" if word.endswith("x") else "s")


def _word(word: str, lookup: Lookup, *, capitals: bool) -> str:
    known = lookup(word) or lookup(word.strip("'"))
    if known:
        return known
    for ending, voiced in (("'s", True), ("s'", True), ("'ll", False), ("'d", False), ("'ve", False), ("'re", False)):
        if word.endswith(ending) and len(word) > len(ending):
            stem = _word(word.removesuffix(ending), lookup, capitals=capitals)
            return f"{stem} {_s_sound(stem) if voiced else _CLITICS[ending]}" if stem else ""
    word = word.replace("'", "")
    if not word:
        return ""
    if (capitals and len(word) <= _INITIALS) or not re.search("[aeiouy]", word):
        return _named(word)
    if word.endswith("s") and not word.endswith("ss"):
        single = lookup(word[:-1]) or _compound(word[:-1], lookup)
        if single:
            return f"{single} {_s_sound(single)}"
    return _compound(word, lookup) or spell(word)


_CLITICS = {"'ll": "AH L", "'d": "D", "'ve": "V", "'re": "ER"}


def _named(letters: str) -> str:
    return " ".join(_LETTERS[letter] for letter in letters)


def _s_sound(stem: str) -> str:
    last = stem.split()[-1]
    return "AH Z" if last in _HISSING else "S" if last in _VOICELESS else "Z"


def _compound(word: str, lookup: Lookup) -> str | None:
    """Return the sound of two dictionary words written as one, cut where the shorter is longest."""
    for cut in sorted(range(3, len(word) - 2), key=lambda cut: abs(2 * cut - len(word))):
        head, tail = lookup(word[:cut]), lookup(word[cut:])
        if head and tail:
            return f"{head} {tail}"
    return None
