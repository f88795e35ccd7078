"""NIST RTTM (rich transcription time marks): words, sentence units and speakers, one object a line.

In: `LEXEME` lines, the words; `SU` lines, whose last word gets a mark by the unit's subtype where it has none
of its own; `SPEAKER` lines, which name the speaker of a word that does not. Out: a transcript for each
(file, channel), the words in the file's order. The other types (FILLER, EDIT, IP, NON-LEX ...) are passed
over. A word belongs to a unit that its middle falls into. `read_units` gives the SU lines themselves.
Written are SU and LEXEME lines; a mark that no subtype stands for, such as a comma, stays on its word.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from interpunct import render
from interpunct.errors import InputError
from interpunct.formats.format import Format, WriteOptions
from interpunct.formats.nist import (
    NUMBER,
    Documents,
    decimal,
    duration,
    named_transcripts,
    one_column,
    one_token,
    records,
    resembles,
    seconds,
    someone,
    span_of,
    transcripts_of,
    word_span,
)
from interpunct.formats.source import Source
from interpunct.labels import surface
from interpunct.transcript import Transcript, Word

TYPES = (
    "SEGMENT", "NOSCORE", "NO_RT_METADATA", "LEXEME", "NON-LEX", "NON-SPEECH", "FILLER", "EDIT", "IP", "SU",
    "CB", "A/P", "SPEAKER", "SPKR-INFO",
)  # fmt: skip
"""The types of line that RTTM knows."""

_MARKS = {"statement": ".", "backchannel": ".", "question": "?", "incomplete": "—"}
_SUBTYPES = {".": "statement", "!": "statement", "?": "question", "—": "incomplete"}
_SAID_BY_SUBTYPE = frozenset(".?—")
_NA = "<NA>"

_COLUMN = rf"(?:{NUMBER}|<NA>)"
_ROW = re.compile(rf"(?:{'|'.join(map(re.escape, TYPES))})\s+\S+\s+\S+\s+{_COLUMN}\s+{_COLUMN}(?:\s+\S+){{2,5}}")


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence unit: when it was said, by whom, and of which subtype ("" for none)."""

    file: str
    channel: str
    start: float
    end: float
    subtype: str
    speaker: str | None


def sniff(source: Source) -> bool:
    """Know RTTM by its types."""
    return resembles(source, _ROW, _ROW)


def read(source: Source) -> Iterator[Transcript]:
    """Read every (file, channel) that has words as one transcript."""
    documents: Documents = {}
    units: dict[tuple[str, str], list[Unit]] = {}
    turns: dict[tuple[str, str], list[Unit]] = {}
    for line, fields in _objects(source):
        key = (fields[1], fields[2])
        if fields[0] == "LEXEME":
            documents.setdefault(key, []).append(_word(fields, line))
        else:
            (units if fields[0] == "SU" else turns).setdefault(key, []).append(_unit(fields, line))
    if not documents:
        raise InputError("no LEXEME lines, so there are no words; give an RTTM file with words, or a CTM")
    for key, words in documents.items():
        documents[key] = _with_speakers(words, turns.get(key, []))
    for transcript, key in zip(transcripts_of(documents), documents, strict=True):
        yield replace(transcript, words=_with_marks(transcript.words, units.get(key, [])))


def read_units(source: Source) -> list[Unit]:
    """Read the SU lines of a file, in its order."""
    return [_unit(fields, line) for line, fields in _objects(source) if fields[0] == "SU"]


def _objects(source: Source) -> Iterator[tuple[int, list[str]]]:
    """Yield the LEXEME, SU and SPEAKER lines."""
    for line, fields in records(source):
        if fields[0] not in TYPES:
            raise InputError(f"unknown type {fields[0]!r}; known: {', '.join(TYPES)}", line=line)
        if fields[0] not in ("LEXEME", "SU", "SPEAKER"):
            continue
        if len(fields) < 8:
            raise InputError(
                f"{len(fields)} columns; an RTTM line is: "
                "type file channel start duration orthography subtype speaker [confidence]",
                line=line,
            )
        yield line, fields


def _word(fields: list[str], line: int) -> Word:
    start = end = confidence = None
    if fields[3] != _NA and fields[4] != _NA:
        start, end = span_of(fields[3], fields[4], line=line)
    elif fields[3] != _NA:
        start = float(decimal(fields[3], "start", line=line))
    if len(fields) > 8 and fields[8].upper() not in ("NA", _NA):
        confidence = float(decimal(fields[8], "confidence", line=line))
    try:
        return Word(fields[5], start, end, confidence, someone(fields[7]))
    except InputError as error:
        raise error.at(line=line) from None


def _unit(fields: list[str], line: int) -> Unit:
    start, end = span_of(fields[3], fields[4], line=line)
    if not 0 <= start <= end < math.inf:
        raise InputError(f"{fields[0]} from {start} to {end} s; use seconds >= 0, end not before start", line=line)
    subtype = "" if fields[6] == _NA else fields[6].lower()
    return Unit(fields[1], fields[2], start, end, subtype, someone(fields[7]))


class _Middles:
    """The words in order of their middles, for finding those inside a span."""

    def __init__(self, words: Sequence[Word]) -> None:
        middles = sorted(
            ((word.start + word.end) / 2, index)
            for index, word in enumerate(words)
            if word.start is not None and word.end is not None
        )
        self.times = [time for time, _ in middles]
        self.indices = [index for _, index in middles]

    def inside(self, unit: Unit) -> list[int]:
        """Return the places of the words inside a unit, in order of time."""
        return self.indices[bisect_left(self.times, unit.start) : bisect_right(self.times, unit.end)]


def _with_speakers(words: list[Word], turns: list[Unit]) -> list[Word]:
    """Name the speaker of each nameless word that lies in turns of one speaker only."""
    if not turns or all(word.speaker is not None for word in words):
        return words
    middles = _Middles(words)
    names: dict[int, set[str]] = {}
    for turn in turns:
        if turn.speaker is not None:
            for index in middles.inside(turn):
                names.setdefault(index, set()).add(turn.speaker)
    named = list(words)
    for index, found in names.items():
        if named[index].speaker is None and len(found) == 1:
            named[index] = replace(named[index], speaker=next(iter(found)))
    return named


def last_words(words: Sequence[Word], units: Iterable[Unit]) -> list[int | None]:
    """Return the place of the last word of each unit, None where it has none.

    A unit's words are those inside it of its speaker, or of nobody; a unit without a speaker is anybody's.
    """
    middles = _Middles(words)
    found: list[int | None] = []
    for unit in units:
        own = (
            index
            for index in reversed(middles.inside(unit))
            if unit.speaker is None or words[index].speaker in (None, unit.speaker)
        )
        found.append(next(own, None))
    return found


def _with_marks(words: tuple[Word, ...], units: Sequence[Unit]) -> tuple[Word, ...]:
    """Give the last word of each unit the mark of the unit's subtype."""
    marked = list(words)
    for unit, last in zip(units, last_words(words, units), strict=True):
        mark = _MARKS.get(unit.subtype, "")
        if last is not None and mark and not words[last].mark:
            marked[last] = replace(marked[last], mark=mark)
    return tuple(marked)


def write(transcripts: Iterable[Transcript], _: WriteOptions) -> Iterator[str]:
    """Write an SU line for each sentence, and its words behind it."""
    for file, channel, transcript in named_transcripts(transcripts, "RTTM"):
        for sentence in render.sentences(transcript):
            words = transcript.words[sentence.first : sentence.last + 1]
            spans = [word_span(word, n, "RTTM") for n, word in enumerate(words, start=sentence.first + 1)]
            speaker = one_column(sentence.speaker or "", _NA)
            start, end = min(start for start, _ in spans), max(end for _, end in spans)
            last = next((word for word in reversed(words) if surface(word)), words[-1])
            closing = last.mark or ""
            subtype = _SUBTYPES.get(closing, "unannotated")
            yield _row("SU", file, channel, start, end, _NA, subtype, speaker, None)
            for word, (start, end) in zip(words, spans, strict=True):
                said = word is last and closing in _SAID_BY_SUBTYPE
                token = one_token(word.text if said else surface(word))
                yield _row("LEXEME", file, channel, start, end, token, "lex", speaker, word.confidence)


def _row(
    kind: str, file: str, channel: str, start: float, end: float, token: str, subtype: str, speaker: str,
    confidence: float | None,
) -> str:  # fmt: skip
    times = f"{seconds(start)} {duration(start, end)}"
    certainty = _NA if confidence is None else seconds(confidence)
    return f"{kind} {file} {channel} {times} {token} {subtype} {speaker} {certainty} {_NA}\n"


RTTM = Format(
    name="rttm",
    summary="NIST RTTM: words, sentence units and speakers, one a line",
    extensions=(".rttm",),
    sniff=sniff,
    read=read,
    write=write,
    timed=True,
    many=True,
)
