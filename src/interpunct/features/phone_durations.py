"""Phone durations: how long each phone lasts on average, and how phones make syllables.

In: phones with their times (`interpunct.audio.align_phones`). Out: what they were expected to last, the last syllable
of a word, its rhyme and its vowel. The table is our own measurement, by our own aligner, of 18,000 phones in the train
splits of ESIC (14 speeches) and LJ Speech (96 clips of one reader); `benchmarks/prosody.py --phones` makes it again.
Steps are 10 ms and no phone is shorter than 30 ms there, so it fits no other aligner.
"""

from __future__ import annotations

from collections.abc import Sequence

from interpunct.audio import Phone

PHONES_MS: dict[str, tuple[int, int]] = {
    "AA": (97, 48), "AE": (94, 53), "AH": (51, 31), "AO": (106, 48), "AW": (153, 70), "AY": (135, 60),
    "B": (65, 31), "CH": (120, 36), "D": (64, 38), "DH": (54, 33), "EH": (80, 43), "ER": (108, 62), "EY": (126, 59),
    "F": (101, 41), "G": (75, 30), "HH": (67, 37), "IH": (58, 30), "IY": (104, 61), "JH": (114, 47), "K": (88, 38),
    "L": (78, 47), "M": (85, 36), "N": (67, 33), "NG": (92, 43), "OW": (112, 54), "OY": (154, 28), "P": (81, 33),
    "R": (63, 32), "S": (110, 47), "SH": (116, 30), "T": (79, 42), "TH": (93, 45), "UH": (65, 30), "UW": (100, 53),
    "V": (70, 29), "W": (81, 38), "Y": (90, 44), "Z": (118, 56), "ZH": (126, 30),
}  # fmt: skip
"""Mean and standard deviation of each phone, in milliseconds."""

_OTHER_MS = (80, 45)  # of all phones together, for a name that is not in the table
VOWELS = frozenset("AA AE AH AO AW AY EH ER EY IH IY OW OY UH UW".split())
_GLIDES = frozenset("L R W Y".split())
_BEFORE_GLIDES = frozenset("P B T D K G F TH S SH V".split())
_AFTER_S = frozenset("P T K M N".split())


def seconds(phones: Sequence[Phone]) -> float:
    """Return how long the phones last together."""
    return phones[-1].end - phones[0].start


def expected_s(phones: Sequence[Phone]) -> float:
    """Return how long such phones last on average.

    >>> expected_s([Phone("T", 0.0, 0.1), Phone("UW", 0.1, 0.3)])
    0.179
    """
    return sum(_row(phone)[0] for phone in phones) / 1000.0


def lengthening(phone: Phone) -> float:
    """Return by how many deviations a phone is longer than its mean."""
    mean, deviation = _row(phone)
    return (1000.0 * (phone.end - phone.start) - mean) / deviation


def last_vowel(phones: Sequence[Phone]) -> int | None:
    """Return the place of the last vowel, None where there is none."""
    return next((place for place in range(len(phones) - 1, -1, -1) if _plain(phones[place]) in VOWELS), None)


def last_syllable(phones: Sequence[Phone]) -> int | None:
    """Return where the last syllable begins: as many consonants before its vowel as English begins a word with.

    >>> last_syllable([Phone(name, 0.0, 0.1) for name in "M IH N AH S T R IY".split()])
    4
    """
    vowel = last_vowel(phones)
    if vowel is None:
        return None
    names = [_plain(phone) for phone in phones[:vowel]]
    if not any(name in VOWELS for name in names):
        return 0
    begin = vowel
    if names[-1] not in VOWELS and names[-1] != "NG":
        begin -= 1
        if begin and _begins(names[begin - 1], names[begin]):
            begin -= 1
            if begin and names[begin - 1] == "S" and names[begin] in _AFTER_S:
                begin -= 1  # "minis-try" is "mini-stry"
    return begin


def _begins(first: str, second: str) -> bool:
    """Say whether two consonants may begin a word."""
    return (second in _GLIDES and first in _BEFORE_GLIDES) or (first == "S" and second in _AFTER_S)


def _plain(phone: Phone) -> str:
    """Return a phone's name without the mark of stress that some dictionaries write."""
    return phone.name.rstrip("012")


def _row(phone: Phone) -> tuple[int, int]:
    return PHONES_MS.get(_plain(phone), _OTHER_MS)
