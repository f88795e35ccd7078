"""`Word`, `Sentence` and `Transcript`: what travels through the house.

In: nothing; these are plain frozen values. Out: validated values that never change.

Glossary, one word per concept:

- *word*: a token of the input with what clings to it; it has a place in the order and perhaps times.
- *mark*: what stands after a word: one of `labels.MARKS`; "" says that there is none, None that nobody knows.
- *case*: how a word is capitalised: one of `labels.CASES`, or None where nobody knows.
- *tag*: a mark or a case.
- *sentence*: the words up to and including one with a closing mark, or up to a change of speaker.
- *reference*, *hypothesis*: the transcript held to be right, and the one that is scored against it.

Times are seconds from the start of the recording, or None. Nothing here guesses a missing time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from numbers import Real
from typing import cast

from interpunct.errors import InputError


@dataclass(frozen=True, slots=True)
class Word:
    """One word: its text, when it was said and by whom, and its tags where they are known.

    `text` is the word without its mark; `raw` is the token as it was read, or None where that is the text.

    >>> Word("stop", 1.5, 1.9, raw="stop.", mark=".").duration_s
    0.4
    """

    text: str
    start: float | None = None
    end: float | None = None
    confidence: float | None = None
    speaker: str | None = None
    raw: str | None = None
    mark: str | None = None
    case: str | None = None
    mark_confidence: float | None = None
    case_confidence: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise InputError(f"a word's text {self.text!r} is no text; give a string")
        if self.speaker is not None and not isinstance(self.speaker, str):
            raise InputError(f"word {self.text!r}: speaker {self.speaker!r} is no text; give a string")
        for name, time in (("start", self.start), ("end", self.end)):
            if time is None:
                continue
            if not isinstance(time, (float, int)):
                time = self._plain(name, time)
            # `not >=` also refuses NaN; infinity compares, so it is named.
            if not time >= 0 or time == math.inf:
                raise InputError(f"word {self.text!r}: {name} {time} is not a time; use seconds >= 0")
        if self.start is not None and self.end is not None and self.end < self.start:
            raise InputError(f"word {self.text!r}: end {self.end} is before start {self.start}; swap or mend them")
        for name, chance in (
            ("confidence", self.confidence),
            ("mark_confidence", self.mark_confidence),
            ("case_confidence", self.case_confidence),
        ):
            if chance is None:
                continue
            if not isinstance(chance, (float, int)):
                chance = self._plain(name, chance)
            if not math.isfinite(chance):
                raise InputError(f"word {self.text!r}: confidence {chance} is not a number; leave it out")
        if self.raw == self.text:
            object.__setattr__(self, "raw", None)  # so that equal words compare equal

    def _plain(self, name: str, number: object) -> float:
        """Take the number that a library's own kind of number holds, such as numpy's float32."""
        if not isinstance(number, Real):
            raise InputError(f"word {self.text!r}: {name} {number!r} is no number; give a float")
        object.__setattr__(self, name, float(number))
        return float(number)

    @property
    def token(self) -> str:
        """The token as it was read."""
        return self.text if self.raw is None else self.raw

    def tagged(
        self,
        text: str,
        mark: str | None,
        case: str | None,
        mark_confidence: float | None,
        case_confidence: float | None,
    ) -> Word:
        """Return the same word, written and tagged otherwise.

        Nothing is checked again that was checked when this word was made: of a long transcript every word comes here.

        >>> Word("stop", 1.5, 1.9).tagged("Stop", ".", "sentence", 0.9, 0.8)
        Word(text='Stop', start=1.5, end=1.9, confidence=None, speaker=None, raw='stop', mark='.', case='sentence', \
mark_confidence=0.9, case_confidence=0.8)
        """
        word = _Blank()
        token = self.text if self.raw is None else self.raw
        word.text = text
        word.start = self.start
        word.end = self.end
        word.confidence = self.confidence
        word.speaker = self.speaker
        word.raw = None if token == text else token
        word.mark = mark
        word.case = case
        word.mark_confidence = mark_confidence
        word.case_confidence = case_confidence
        return word.filled()

    @property
    def duration_s(self) -> float | None:
        """Seconds from start to end, to the nanosecond, or None where one of them is missing."""
        if self.start is None or self.end is None:
            return None
        return round(self.end - self.start, 9)


class _Blank:
    """A word that is being filled in: of the same layout, so that it can become one.

    A frozen dataclass is filled through `object.__setattr__`, which takes four times as long.
    """

    __slots__ = tuple(field.name for field in fields(Word))

    text: str
    start: float | None
    end: float | None
    confidence: float | None
    speaker: str | None
    raw: str | None
    mark: str | None
    case: str | None
    mark_confidence: float | None
    case_confidence: float | None

    def filled(self) -> Word:
        """Become a word."""
        self.__class__ = Word  # type: ignore[assignment]
        return cast(Word, self)


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words `first` to `last` (both included, as in our JSON) with the text they make."""

    first: int
    last: int
    start: float | None
    end: float | None
    speaker: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Transcript:
    """Words in order, where they came from, and which model tagged them.

    >>> Transcript((Word("hello", mark=","), Word("world", mark="."))).marks
    (',', '.')
    """

    words: tuple[Word, ...]
    source: str = ""
    model: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.words, tuple):
            object.__setattr__(self, "words", tuple(self.words))

    def __len__(self) -> int:
        return len(self.words)

    @property
    def marks(self) -> tuple[str | None, ...]:
        """The mark after each word."""
        return tuple(word.mark for word in self.words)

    @property
    def cases(self) -> tuple[str | None, ...]:
        """The case of each word."""
        return tuple(word.case for word in self.words)


def is_timed(transcript: Transcript) -> bool:
    """Say whether times can be relied on: at least half of the words have both, and last.

    Subtitles give a cue's first word a start and its last an end; of such words too few are timed by themselves.

    >>> is_timed(Transcript((Word("a", 0.0, 0.5), Word("b")))), is_timed(Transcript((Word("a", 0.5, 0.5),)))
    (True, False)
    """
    timed = sum((word.duration_s or 0.0) > 0 for word in transcript.words)
    return 0 < len(transcript.words) <= 2 * timed


def span(words: Iterable[Word]) -> tuple[float | None, float | None]:
    """Return the earliest start and the latest end among the words' known times.

    >>> span([Word("a"), Word("b", 1.0, 2.0), Word("c", 2.5)])
    (1.0, 2.5)
    """
    start: float | None = None
    end: float | None = None
    for word in words:
        for time in (word.start, word.end):
            if time is not None:
                start = time if start is None or time < start else start
                end = time if end is None or time > end else end
    return start, end
