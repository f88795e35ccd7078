"""The listener: pocketsphinx and its English model, told what to listen for.

In: samples at 16 kHz and the words that may come next. Out: the words that were heard, in seconds from the first
sample, with their scores and, if wanted, their phones. A word outside the dictionary is taught first, by its spelling:
one unknown word would otherwise end the whole search.

A grammar holds the words in their order and may end after any of them. Every arc carries a word: the phones come from
a second search that keeps to the words' times of the first, and it does not know an empty arc. For the same reason
the lattice is not searched for a better path: that path's times are of no search, and phones do not fit into them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, count, takewhile
from typing import Any

import numpy as np

from interpunct.audio.sound import RATE, Samples
from interpunct.audio.spelling import pronounce
from interpunct.errors import MissingExtraError

FRAME_S = 0.01
_EDGE_S = 0.0078  # frames are heard through windows of 25.6 ms: the edge of two lies between their windows' middles
_SCORE_UNIT = 1024  # an arc's score is the logarithm divided by this


@dataclass(frozen=True, slots=True)
class HeardPhone:
    """A phone (ARPAbet) and its seconds from the first sample, half open."""

    name: str
    first_s: float
    last_s: float


@dataclass(frozen=True, slots=True)
class Heard:
    """A word that was heard: its place among the words listened for, its seconds from the first sample, half open.

    The score is a natural logarithm, summed over frames, relative to the best state searched in each.
    """

    place: int
    first_s: float
    last_s: float
    score: float
    phones: tuple[HeardPhone, ...]


class Listener:
    """Knows how words sound, and finds them in a piece of sound."""

    def __init__(self, *, with_phones: bool, quick: bool = False) -> None:
        """Load the model; `quick` listens to every second frame, and less closely, which takes half as long."""
        try:
            import pocketsphinx
        except ImportError:
            raise MissingExtraError("aligning audio", "audio") from None
        # The beams are wide: with the usual ones a stumble loses the right path, and with it one word in 25 of ESIC.
        beams = {"beam": 1e-100, "wbeam": 1e-80, "pbeam": 1e-100}
        self._decoder: Any = pocketsphinx.Decoder(
            lm=None, loglevel="FATAL", lw=1.0, wip=1.0, silprob=0.1, bestpath=False, **beams,
            **({"ds": 2, "topn": 2} if quick else {}),
        )  # fmt: skip
        self._with_phones = with_phones
        self._keys: dict[str, str | None] = {}
        self._taught = 0

    def key(self, token: str) -> str | None:
        """Return the name under which the decoder knows a token, taught where needed; None where it has no sound."""
        if token not in self._keys:
            self._keys[token] = self._learn(token)
        return self._keys[token]

    def listen(self, samples: Samples, keys: Sequence[str], *, anywhere: bool = False) -> list[Heard]:
        """Return the words that are said in the samples: from the first key on, or from any key (`anywhere`)."""
        return self._search(samples, keys, len(keys) + 1, _arcs(keys, anywhere=anywhere))

    def follow(self, samples: Samples, keys: Sequence[str]) -> list[Heard]:
        """Return the words that are said in the samples: all of them, in their order, or none."""
        heard = self._search(samples, keys, len(keys), [(at, at + 1, 1.0, key) for at, key in enumerate(keys)])
        return heard if len(heard) == len(keys) else []

    def _search(
        self, samples: Samples, keys: Sequence[str], end: int, arcs: Sequence[tuple[int, int, float, str]]
    ) -> list[Heard]:
        """Search a grammar of arcs from state 0 to its end."""
        decoder = self._decoder
        decoder.add_fsg("words", decoder.create_fsg("words", 0, end, arcs))
        decoder.activate_search("words")
        sound = _as_bytes(samples)
        self._hear(sound)
        if decoder.hyp() is None:
            return []
        parts = [part for part in decoder.seg() if not _is_filler(part.word)]
        begin = _place([re.sub(r"\(\d+\)$", "", part.word) for part in parts], keys)
        if begin is None:
            return []
        whole_s = len(samples) / RATE
        phones = self._phones(sound, len(parts)) if self._with_phones else [()] * len(parts)
        return [
            Heard(
                place,
                *_span(part.start_frame, part.end_frame + 1, whole_s),
                _SCORE_UNIT * math.log(part.ascore),
                tuple(HeardPhone(name, *_span(first, last, whole_s)) for name, first, last in of_word),
            )
            for place, (part, of_word) in enumerate(zip(parts, phones, strict=True), begin)
        ]

    def _learn(self, token: str) -> str | None:
        plain = re.sub(r"^[^\w']+|[^\w']+$", "", token.replace("’", "'")).lower()
        known = self._dictionary(plain)
        # Initials may be said letter by letter, whatever the dictionary holds.
        if known and not (token.isupper() and len(plain) > 1):
            return plain
        sounds = dict.fromkeys([*known, *pronounce(token, self._lookup)])
        if not sounds:
            return None
        self._taught += 1
        name = f"~{self._taught}"
        for number, sound in enumerate(sounds, 1):
            self._decoder.add_word(name if number == 1 else f"{name}({number})", sound, False)
        return name

    def _lookup(self, word: str) -> str | None:
        return next(iter(self._dictionary(word)), None)

    def _dictionary(self, word: str) -> list[str]:
        """Return the pronunciations of a word in the dictionary, where the second is that of "word(2)"."""
        if not re.fullmatch(r"[a-z'.-]+", word):
            return []
        names = chain([word], (f"{word}({number})" for number in count(2)))
        return list(takewhile(bool, map(self._decoder.lookup_word, names)))

    def _phones(self, sound: bytes, words: int) -> list[tuple[tuple[str, int, int], ...]]:
        """Return the phones of each word that was just heard, or empty tuples where the second search fails."""
        try:
            self._decoder.set_alignment()
            self._hear(sound)
        except RuntimeError:
            return [()] * words
        # An entry is valid only until the next one is asked for.
        found = [
            tuple((phone.name, phone.start, phone.start + phone.duration) for phone in entry)
            for entry in self._decoder.get_alignment() or ()
            if not _is_filler(entry.name)
        ]
        return found if len(found) == words else [()] * words

    def _hear(self, sound: bytes) -> None:
        self._decoder.start_utt()
        self._decoder.process_raw(sound, full_utt=True)
        self._decoder.end_utt()


def _arcs(keys: Sequence[str], *, anywhere: bool) -> list[tuple[int, int, float, str]]:
    """Return the grammar: state n stands before word n, and the state behind them all is the end."""
    end = len(keys) + 1
    arcs = [(0, end, 1.0, "<sil>")]  # there may be none of them
    for place, key in enumerate(keys):
        for source in {0, place} if anywhere else {place}:
            arcs.append((source, end, 1.0, key))
            if place + 1 < len(keys):
                arcs.append((source, place + 1, 1.0, key))
    return arcs


def _place(names: Sequence[str], keys: Sequence[str]) -> int | None:
    """Return where the names stand among the keys, in one piece; the search does not say."""
    size = len(names)
    if not size:
        return None
    return next((at for at in range(len(keys) - size + 1) if list(keys[at : at + size]) == list(names)), None)


def _span(first: int, last: int, whole_s: float) -> tuple[float, float]:
    return min(first * FRAME_S + _EDGE_S, whole_s), min(last * FRAME_S + _EDGE_S, whole_s)


def _as_bytes(samples: Samples) -> bytes:
    """Return 16-bit samples, as loud as they may be: a quiet recording would lose its sound in the rounding."""
    peak = float(np.abs(samples).max(initial=0.0))
    loud = np.rint(samples * (0.9 * 32767 / peak if peak > 0 else 0.0))
    return bytes(loud.astype(np.int16).tobytes())


def _is_filler(name: str) -> bool:
    return name[0] in "<["
