"""Praat TextGrid: tiers of labelled intervals.

In: the long or the short text form. The words are those of the interval tier named "words" or "word", or of
all tiers named "<speaker> - words" as aligners write them, merged by start with their speakers; where there
is no such tier, of the first interval tier that has text, and of those beside it that take turns with it: these are
of other speakers, and their names are the speakers'. Out: one transcript, and back as a long TextGrid
with a tier for each speaker. Empty intervals are silence, and so are "<eps>", "sil" and "sp" in a tier of
words. An interval of several words gives its start to the first and its end to the last. Point tiers are
passed over; the chronological and binary forms are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from interpunct import render
from interpunct.errors import InputError
from interpunct.formats.format import Format, WriteOptions, sole
from interpunct.formats.nist import NUMBER, seconds
from interpunct.formats.segments import segments, timed
from interpunct.formats.source import Source
from interpunct.labels import parse_words, tokens_of
from interpunct.transcript import Transcript, Word, span

_OPENING = re.compile(
    r'\s*(?:(?:File type\s*=\s*)?"ooTextFile(?: short)?"\s+(?:Object class\s*=\s*)?"TextGrid"'
    r'|"Praat chronological TextGrid text file")'
)
_CHRONOLOGICAL = re.compile(r'\s*"Praat chronological')
# Praat reads what stands free: a number, a text in quotes, a flag. All else is for the human eye; the first
# branch steps over runs of it, because most of a long grid is "intervals [1]: xmin =".
_VALUE = re.compile(
    rf'(?:[A-Za-z=:?\[][^\s"]*\s+)+|"(?P<text>[^"]*(?:""[^"]*)*)"|(?P<open>")|(?P<flag><\w+>)|![^\n]*'
    rf"|(?<!\S)(?P<number>{NUMBER})(?!\S)|(?<!\S)(?P<broken>[-+.]?\d\S*)|[^\s\"]+",
    re.ASCII,
)
_WORD_TIER = re.compile(r"(?:(?P<speaker>.*\S)\s+-\s+)?words?", re.IGNORECASE | re.DOTALL)
_ASIDE = re.compile(
    r"\b(?:noise|pause|silence|event|comment|note|gesture|sound|music|laughter|breath|phone|tone|break|misc|pos|section|"
    r"topic|turn|overlap)s?\b",
    re.IGNORECASE,
)
"""What tiers are called that stand beside speech."""
_SILENCES = frozenset(("<eps>", "sil", "sp"))


class _Interval(NamedTuple):
    line: int
    start: float
    end: float
    text: str
    speaker: str | None = None


class _Tier(NamedTuple):
    name: str
    intervals: tuple[_Interval, ...]


class _Values:
    """The free-standing values of a file, one after another, each with its line."""

    def __init__(self, text: str) -> None:
        self._values = self._scan(text)
        self.line = 1

    def _scan(self, text: str) -> Iterator[tuple[str, str]]:
        counted = 0
        for match in _VALUE.finditer(text):
            kind = match.lastgroup
            if kind is None:
                continue
            self.line += text.count("\n", counted, match.start())
            counted = match.start()
            if kind == "open":
                raise InputError('a text begins here and never ends; close it with "', line=self.line)
            if kind == "broken":
                raise InputError(f"{match['broken']!r} is not a number; write it like 12.34", line=self.line)
            yield kind, match[kind]

    def _next(self, kind: str, what: str) -> str:
        found, value = next(self._values, ("end", "the end of the file"))
        if found != kind:
            raise InputError(
                f"found {value!r} where {what} should stand; save the file again from Praat", line=self.line
            )
        return value

    def text(self, what: str) -> str:
        return self._next("text", what).replace('""', '"')

    def number(self, what: str) -> float:
        return float(self._next("number", what))

    def count(self, what: str) -> int:
        number = self._next("number", what)
        if not number.isdecimal():
            raise InputError(
                f"found {number!r} where {what} should stand; save the file again from Praat", line=self.line
            )
        return int(number)

    def flag(self) -> str:
        return self._next("flag", "<exists>")


def sniff(source: Source) -> bool:
    """Know a TextGrid by its first two lines."""
    return _OPENING.match(source.head) is not None


def read(source: Source) -> Iterator[Transcript]:
    """Read the file as one transcript."""
    words: list[Word] = []
    for interval in _word_intervals(_tiers(source)):
        spoken = [Word(token, speaker=interval.speaker) for token in tokens_of(interval.text)]
        try:
            words += timed(spoken, interval.start, interval.end, opening=not words)
        except InputError as error:
            raise error.at(line=interval.line) from None
    yield Transcript(tuple(parse_words(words)), source.id)


def _tiers(source: Source) -> list[_Tier]:
    """Read the interval tiers."""
    if _CHRONOLOGICAL.match(source.head):
        raise InputError("a chronological TextGrid; open it in Praat and save it as a text file", line=1)
    values = _Values("\n".join(line.strip() for _, line in source.lines()))
    if not values.text("the file type").startswith("ooTextFile") or values.text("the class") != "TextGrid":
        raise InputError('not a TextGrid; it begins: File type = "ooTextFile", Object class = "TextGrid"', line=1)
    values.number("the start of the grid")
    values.number("the end of the grid")
    if values.flag() != "<exists>":
        return []
    tiers = []
    for _ in range(values.count("the number of tiers")):
        kind = values.text('"IntervalTier" or "TextTier"')
        if kind not in ("IntervalTier", "TextTier"):
            raise InputError(f"unknown class of tier {kind!r}; known: IntervalTier, TextTier", line=values.line)
        name = values.text("the name of a tier")
        values.number("the start of the tier")
        values.number("the end of the tier")
        size = values.count("the size of the tier")
        if kind == "IntervalTier":
            tiers.append(_Tier(name, tuple(_interval(values) for _ in range(size))))
        else:
            for _ in range(size):
                values.number("the time of a point")
                values.text("the label of a point")
    return tiers


def _interval(values: _Values) -> _Interval:
    start = values.number("the start of an interval")
    end = values.number("the end of an interval")
    line = values.line
    if end < start:
        raise InputError(f"interval ends at {end}, before its start {start}; mend the times", line=line)
    return _Interval(line, start, end, values.text("the text of an interval"))


def _word_intervals(tiers: list[_Tier]) -> list[_Interval]:
    """Return the intervals that hold words, by start."""
    found: list[_Interval] = []
    named = [(tier, name) for tier in tiers if (name := _WORD_TIER.fullmatch(tier.name.strip()))]
    for tier, name in named:
        found += [
            interval._replace(speaker=name["speaker"])
            for interval in tier.intervals
            if interval.text.strip() and interval.text.strip() not in _SILENCES
        ]
    if not named:
        found = _of_speakers([tier._replace(intervals=spoken) for tier in tiers if (spoken := _spoken(tier))])
    return sorted(found, key=lambda interval: interval.start)


def _spoken(tier: _Tier) -> tuple[_Interval, ...]:
    return tuple(interval for interval in tier.intervals if interval.text.strip())


def _of_speakers(tiers: list[_Tier]) -> list[_Interval]:
    """Return what is said in the first tier and in those that take turns with it; others tell of the same words."""
    speakers = tiers[:1]
    for tier in tiers[1:]:
        said = [interval for other in speakers for interval in other.intervals]
        if not _ASIDE.search(tier.name) and _is_as_wordy(tier, tiers[0]) and _takes_turns(tier.intervals, said):
            speakers.append(tier)
    if len(speakers) == 1:
        return list(speakers[0].intervals)
    return [interval._replace(speaker=tier.name) for tier in speakers for interval in tier.intervals]


def _is_as_wordy(tier: _Tier, first: _Tier) -> bool:
    """Say whether a tier's intervals have at least half as many words each: notes beside speech have one or two."""
    mine, its = (
        sum(len(tokens_of(interval.text)) for interval in each.intervals) / len(each.intervals)
        for each in (tier, first)
    )
    return 2 * mine >= its


def _takes_turns(intervals: Sequence[_Interval], others: Sequence[_Interval]) -> bool:
    """Say whether some intervals and others have less than half of the time of either in common."""
    edges = sorted(
        edge
        for which, given in enumerate((intervals, others))
        for interval in given
        for edge in ((interval.start, 1, which), (interval.end, -1, which))
    )
    common_s = since = 0.0
    going = [0, 0]
    for time, change, which in edges:
        common_s += (time - since) * all(going)
        since = time
        going[which] += change
    shorter_s = min(sum(interval.end - interval.start for interval in each) for each in (intervals, others))
    return 2 * common_s < shorter_s


def write(transcripts: Iterable[Transcript], _: WriteOptions) -> Iterator[str]:
    """Write a long TextGrid: a tier of words, or one for each speaker who is known."""
    transcript = sole(transcripts, "TextGrid")
    tiers: dict[str, list[_Interval]] = {}
    for run in segments(transcript.words, range(len(transcript)), "TextGrid"):
        start, end = span(run)
        if start is not None and end is not None:
            name = "words" if run[0].speaker is None else f"{run[0].speaker} - words"
            _append(tiers.setdefault(name, []), _Interval(0, start, end, render.join(run)))
    tiers = tiers or {"words": []}
    end = span(transcript.words)[1] or 0.0
    yield 'File type = "ooTextFile"\nObject class = "TextGrid"\n\n'
    yield f"xmin = 0\nxmax = {seconds(end)}\ntiers? <exists>\nsize = {len(tiers)}\nitem []:\n"
    for number, (name, intervals) in enumerate(tiers.items(), start=1):
        _append(intervals, _Interval(0, end, end, ""))
        yield f'    item [{number}]:\n        class = "IntervalTier"\n        name = {_quoted(name)}\n'
        yield f"        xmin = 0\n        xmax = {seconds(end)}\n        intervals: size = {len(intervals)}\n"
        for place, interval in enumerate(intervals, start=1):
            yield f"        intervals [{place}]:\n            xmin = {seconds(interval.start)}\n"
            yield f"            xmax = {seconds(interval.end)}\n            text = {_quoted(interval.text)}\n"


def _append(intervals: list[_Interval], interval: _Interval) -> None:
    """Add an interval to a tier, the silence before it filled; a tier has neither gaps nor overlaps."""
    last = intervals[-1].end if intervals else 0.0
    if interval.start < last:
        raise InputError(
            f"{interval.text!r} begins at {interval.start}, before {intervals[-1].text!r} ends at {last}, "
            "and a TextGrid tier holds no overlaps; use --to json"
        )
    if interval.start > last:
        intervals.append(_Interval(0, last, interval.start, ""))
    if interval.text:
        intervals.append(interval)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


TEXTGRID = Format(
    name="textgrid",
    summary="Praat TextGrid: a tier of words",
    extensions=(".textgrid",),
    sniff=sniff,
    read=read,
    write=write,
    timed=True,
)
