"""Subtitle cues: a transcript cut into what is shown on a screen at one time.

In: a transcript with at least some times. Out: cues that end at sentence ends, else at clause ends, else
where it hurts least, and never inside a name, after an abbreviation or between speakers where that can be
helped. The limits' defaults are the commonest published ones for English: 42 characters a line, 2 lines,
5/6 to 7 seconds, 20 characters a second. A cue's times come from its words and grow only into silence;
cues overlap only where speakers do. Words' times are never touched; a missing one is placed between its
neighbours by length, for the cut alone, and a cut there costs more.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from interpunct.errors import InputError
from interpunct.labels import SENTENCE_MARKS, ends_with_own_period, surface, tokens_of
from interpunct.timeline import timeline
from interpunct.transcript import Transcript, Word

_LONG_PAUSE_S = 2.0  # nobody reads on over such a silence: a cue always ends there
_CLAUSE_PAUSE_S = 0.3
_TURN = re.compile(r"(?:[-–—]|>>)[\"'“‘(\[]*[^\W\d_]")
"""How subtitles begin what another speaker says in the same cue: "-Fine, thanks." or ">>And now the news."""
_OPENS_A_CLAUSE = frozenset(
    "and but or so because that which who when where while if then although though since as than".split()
)
_LEANS_ON_THE_NEXT = frozenset(
    "a an the my your his her its our their this these those of to in on at by for from with into no not "
    "very is are was were be been i we you he she they it who mr mrs ms dr and or but".split()
)


@dataclass(frozen=True)
class CueLimits:
    """How wide and how long a subtitle cue may be."""

    line_characters: int = 42
    lines: int = 2
    min_s: float = 0.833
    max_s: float = 7.0
    characters_per_s: float = 20.0

    def __post_init__(self) -> None:
        for name, option, value in (
            ("line_characters", "--cue-line", self.line_characters),
            ("lines", "--cue-lines", self.lines),
            ("max_s", "--cue-max", self.max_s),
            ("characters_per_s", "--cue-speed", self.characters_per_s),
        ):
            if not value > 0:
                raise InputError(f"cue limit {name} ({option}) is {value}; it must be above 0")
        if not 0 <= self.min_s <= self.max_s:
            raise InputError(
                f"cue limit min_s (--cue-min) is {self.min_s}; it must be from 0 to max_s (--cue-max), {self.max_s}"
            )


@dataclass(frozen=True)
class Cue:
    """A subtitle: words `first` to `last` (both included), when it shows, and its lines."""

    first: int
    last: int
    start: float
    end: float
    lines: tuple[str, ...]
    speaker: str | None = None


def cues(transcript: Transcript, limits: CueLimits | None = None, *, recut: bool = True) -> Iterator[Cue]:
    """Cut a transcript into cues; `recut=False` keeps the cues it was read from, where its times show them.

    >>> words = (Word("Yes", 0.0, 0.5, mark="."), Word("I", 3.0, 3.1, mark=""), Word("do", 3.1, 4.0, mark="."))
    >>> [(cue.start, cue.lines) for cue in cues(Transcript(words))]
    [(0.0, ('Yes.',)), (3.0, ('I do.',))]
    """
    words = transcript.words
    if not words:
        return
    limits = limits or CueLimits()
    layout = _Layout(words, limits)
    groups = None if recut else cues_as_read(words)
    found = layout.timed(layout.cut()) if groups is None else layout.as_read(groups)
    yield from (cue for cue in found if any(cue.lines))  # words may have nothing left to show


def cues_as_read(words: Sequence[Word]) -> list[tuple[int, int]] | None:
    """Return the half-open ranges of the cues that words were read from, or None where times do not show them.

    A subtitle reader gives a cue's start to its first word and its end to its last one, and knows no more.
    """
    ranges: list[tuple[int, int]] = []
    first: int | None = None
    for index, word in enumerate(words):
        if word.start is not None:
            if first is not None:
                return None
            first = index
        if first is None:
            return None
        if word.end is not None:
            ranges.append((first, index + 1))
            first = None
    if first is not None or all(stop - start == 1 for start, stop in ranges):
        return None
    return ranges


class _Layout:
    """One transcript's forms, times and costs of cutting, computed once."""

    def __init__(self, words: Sequence[Word], limits: CueLimits) -> None:
        self.words = words
        self.limits = limits
        self.forms = [" ".join(tokens_of(surface(word))) for word in words]
        lengths = np.array([len(form) + 1 for form in self.forms], dtype=np.int64)
        self.offsets: list[int] = np.concatenate([[0], np.cumsum(lengths)]).tolist()
        starts, ends = timeline(words, lengths)
        self.starts: list[float] = starts.tolist()
        self.ends: list[float] = ends.tolist()
        self.guessed = any(word.start is None or word.end is None for word in words)
        self.break_costs = [self._break_cost(index) for index in range(1, len(words))] + [0.0]
        """What it costs to end a line after each word."""
        self.cut_costs = [self._cut_cost(index) for index in range(1, len(words))] + [0.0]
        """What it costs to end a cue after each word: more where its time would be a guess."""
        closes = [word.mark in SENTENCE_MARKS for word in words]
        pauses = [self._pause_s(index) >= _CLAUSE_PAUSE_S for index in range(1, len(words))] + [True]
        both = [close and pause for close, pause in zip(closes, pauses, strict=True)]
        self.closed: list[int] = [0, *accumulate(map(int, closes))]
        """How many sentences end in the words before each place."""
        self.paused: list[int] = [0, *accumulate(map(int, both))]
        """How many of them with a pause behind."""

    def _pause_s(self, index: int) -> float:
        return self.starts[index] - self.ends[index - 1]

    def _is_timed_cut(self, index: int) -> bool:
        return self.words[index - 1].end is not None and self.words[index].start is not None

    def _cut_cost(self, index: int) -> float:
        guess = 1.5 if self.guessed and not self._is_timed_cut(index) else 0.0
        return self.break_costs[index - 1] + guess

    def _break_cost(self, index: int) -> float:
        """Return what it costs to break before word `index`: 0 at a sentence end, more the more it hurts."""
        before, after = self.words[index - 1], self.words[index]
        if before.speaker != after.speaker or before.mark in SENTENCE_MARKS:
            return 0.0
        if before.mark:
            return 1.0
        if ends_with_own_period(before.text):  # "Dr." and "U.S." without a mark of their own
            return 12.0
        cost = 4.0
        if before.case not in ("lower", None) and after.case not in ("lower", None):  # inside a name
            cost += 6.0
        if before.text.lower() in _LEANS_ON_THE_NEXT:
            cost += 3.0
        elif after.text.lower() in _OPENS_A_CLAUSE:
            cost -= 1.5
        if self._pause_s(index) >= _CLAUSE_PAUSE_S:
            cost -= 1.5
        return cost

    def _width(self, first: int, stop: int) -> int:
        return self.offsets[stop] - self.offsets[first] - 1

    def _fits(self, first: int, stop: int) -> bool:
        """Say whether words fit the lines; a word wider than a line has that line to itself."""
        for _ in range(self.limits.lines):
            room = self.offsets[first] + self.limits.line_characters + 1
            first = max(first + 1, bisect_right(self.offsets, room, first, stop + 1) - 1)
            if first >= stop:
                return True
        return False

    def cut(self) -> list[tuple[int, int]]:
        """Return the half-open ranges of the cheapest cues, by dynamic programming over the cuts."""
        count = len(self.words)
        best = [0.0] + [math.inf] * count
        came_from = [0] * (count + 1)
        for stop in range(1, count + 1):
            for first in range(stop - 1, -1, -1):
                if first < stop - 1 and not self._may_share(first, stop):
                    break
                cost = best[first] + self._cue_cost(first, stop) + self.cut_costs[stop - 1]
                if cost < best[stop]:
                    best[stop], came_from[stop] = cost, first
        ranges: list[tuple[int, int]] = []
        stop = count
        while stop:
            ranges.append((came_from[stop], stop))
            stop = came_from[stop]
        return ranges[::-1]

    def _may_share(self, first: int, stop: int) -> bool:
        """Say whether word `first` may join the words up to `stop` in one cue."""
        after = first + 1
        if self.words[first].speaker != self.words[after].speaker or self._pause_s(after) >= _LONG_PAUSE_S:
            return False
        if self.guessed and self.words[first].mark in SENTENCE_MARKS and self._is_timed_cut(after):
            return False  # the subtitles that were read ended a cue here, and rightly
        return self.ends[stop - 1] - self.starts[first] <= self.limits.max_s and self._fits(first, stop)

    def _cue_cost(self, first: int, stop: int) -> float:
        width = self._width(first, stop)
        until = self.starts[stop] if stop < len(self.words) else math.inf
        room_s = until - self.starts[first]
        cost = 0.5
        if room_s < self.limits.min_s:
            cost += 2.0
        needed_s = width / self.limits.characters_per_s
        if room_s < needed_s:
            cost += min(3.0, 2.0 * (needed_s / max(room_s, 1e-3) - 1.0))
        if width < 15 and self.break_costs[stop - 1] > 0:  # a stub of a sentence
            cost += 2.0
        # Two short sentences may share a cue, long ones not.
        cost += (self.closed[stop - 1] - self.closed[first]) * (0.6 + width / self.limits.line_characters)
        cost += (self.paused[stop - 1] - self.paused[first]) * 0.5
        if width > self.limits.line_characters:
            cost += 0.5 * self._first_break_cost(first, stop)
        return cost

    def _first_break_cost(self, first: int, stop: int) -> float:
        """Return the least cost of ending the cue's first line somewhere that leaves room for the rest."""
        rest = (self.limits.lines - 1) * (self.limits.line_characters + 1)
        earliest = bisect_left(self.offsets, self.offsets[stop] - rest, first + 1, stop)
        widest = self.offsets[first] + self.limits.line_characters + 1
        latest = bisect_right(self.offsets, widest, first + 1, stop) - 1
        return min(self.break_costs[earliest - 1 : latest], default=0.0)

    def timed(self, ranges: Sequence[tuple[int, int]]) -> list[Cue]:
        """Give each range its times and lines; ends grow into silence until the text can be read."""
        shown = []
        for place, (first, stop) in enumerate(ranges):
            start = min(self.starts[first:stop])
            end = max(self.ends[first:stop])
            following = ranges[place + 1][0] if place + 1 < len(ranges) else None
            until = math.inf if following is None else self.starts[following]
            if until < start:  # somebody else was speaking all the while
                until = math.inf
            wanted = max(self.limits.min_s, self._width(first, stop) / self.limits.characters_per_s)
            end = max(end, min(start + min(wanted, self.limits.max_s), until))
            if following is not None and self.words[following].speaker == self.words[first].speaker:
                end = max(start, min(end, until))
            shown.append(self._cue(first, stop, start, end))
        return sorted(shown, key=lambda cue: cue.start)

    def as_read(self, ranges: Sequence[tuple[int, int]]) -> list[Cue]:
        """Give each range the very times it was read with."""
        return [self._cue(first, stop, self.starts[first], self.ends[stop - 1]) for first, stop in ranges]

    def _cue(self, first: int, stop: int, start: float, end: float) -> Cue:
        return Cue(first, stop - 1, start, end, self._lines(first, stop), self.words[first].speaker)

    def _turn_lines(self, first: int, stop: int) -> tuple[str, ...]:
        """Return a line for each turn of a cue in which several speak, where they fit; else none."""
        begins = [index for index in range(first, stop) if _TURN.match(self.forms[index])]
        turns = list(zip(begins, [*begins[1:], stop], strict=True))
        widest = max(self._width(*turn) for turn in turns)
        if not 1 < len(turns) <= self.limits.lines or widest > self.limits.line_characters:
            return ()
        return tuple(" ".join(filter(None, self.forms[begin:end])) for begin, end in turns)

    def _lines(self, first: int, stop: int) -> tuple[str, ...]:
        """Break words into as few lines as they fit, at the cheapest places, evenly where it does not matter."""
        if _TURN.match(self.forms[first]) and (turns := self._turn_lines(first, stop)):
            return turns
        if self._width(first, stop) <= self.limits.line_characters:
            return (" ".join(filter(None, self.forms[first:stop])),)
        best: dict[int, tuple[int, float, int]] = {first: (0, 0.0, first)}
        for end in range(first + 1, stop + 1):
            choices = []
            for begin in range(end - 1, first - 1, -1):
                width = self._width(begin, end)
                if width > self.limits.line_characters and begin < end - 1:
                    break
                lines, cost, _ = best[begin]
                cut = self.break_costs[end - 1] if end < stop else 0.0
                unused = (self.limits.line_characters - width) / self.limits.line_characters
                choices.append((lines + 1, cost + cut + 4.0 * unused**2, begin))
            best[end] = min(choices)
        broken: list[str] = []
        while stop > first:
            begin = best[stop][2]
            broken.append(" ".join(filter(None, self.forms[begin:stop])))
            stop = begin
        return tuple(broken[::-1])
