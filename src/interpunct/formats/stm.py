"""NIST STM: one timed segment a line.

In: `file channel speaker start end [<label,...>] text`. Out: a transcript for each (file, channel), in order
of first appearance. A segment is timed and its words are not: the first word gets the segment's start, the
last word its end, nothing in between is guessed. Labels are not kept; of `{ one / other }` the first is
read; segments without text and those to be ignored in scoring hold no words. Written is a segment for each
sentence, or for as many sentences as stand between two known times.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from interpunct import render
from interpunct.errors import InputError
from interpunct.formats.format import Format, WriteOptions
from interpunct.formats.nist import (
    NUMBER,
    Documents,
    decimal,
    named_transcripts,
    one_column,
    records,
    resembles,
    seconds,
    someone,
    transcripts_of,
)
from interpunct.formats.rttm import TYPES
from interpunct.formats.segments import segments, timed
from interpunct.formats.source import Source
from interpunct.transcript import Transcript, Word, span

_IGNORED = "ignore_time_segment_in_scoring"
# "<o,f0,male>", "<NA>" and "<o>" are labels; "<unk>" and "<noise>" are words.
_LABEL = re.compile(r"<[^<>\s]*,[^<>\s]*>|<NA>|<\w?>", re.IGNORECASE)
# An RTTM row begins with its type; a CTM row of a number said has a start where STM has its speaker.
_FILE = rf"(?!(?:{'|'.join(map(re.escape, TYPES))})\s)\S+"
_SPEAKER = r"(?!\d*\.\d+\s)\S+"
_ROW = re.compile(rf"{_FILE}\s+\S+\s+{_SPEAKER}\s+{NUMBER}\s+{NUMBER}(?:\s.*)?")
_CERTAIN_ROW = re.compile(rf"{_FILE}\s+[0-9AB]\s+{_SPEAKER}\s+(?=\S*\.|\S+\s+\d*\.){NUMBER}\s+{NUMBER}(?:\s.*)?")


def sniff(source: Source) -> bool:
    """Know STM by its two columns of numbers behind the speaker."""
    return resembles(source, _ROW, _CERTAIN_ROW)


def read(source: Source) -> Iterator[Transcript]:
    """Read every (file, channel) as one transcript."""
    documents: Documents = {}
    for line, fields in records(source):
        if len(fields) < 5:
            raise InputError(
                f"{len(fields)} columns; an STM line is: file channel speaker start end [<label>] text",
                line=line,
            )
        words = documents.setdefault((fields[0], fields[1]), [])
        speaker = someone(fields[2])
        start = float(decimal(fields[3], "start", line=line))
        end = float(decimal(fields[4], "end", line=line))
        tokens = fields[6:] if len(fields) > 5 and _LABEL.fullmatch(fields[5]) else fields[5:]
        if tokens and tokens[0].lower() == _IGNORED:
            tokens = []
        try:
            spoken = [Word(token, speaker=speaker) for token in _first_alternatives(tokens)]
            words += timed(spoken, start, end, opening=not words)
        except InputError as error:
            raise error.at(line=line) from None
    yield from transcripts_of(documents)


def _first_alternatives(tokens: list[str]) -> list[str]:
    """Keep "a" of `{ a / b }`; "@" in there is nothing said. A brace that is not closed is a word."""
    if "{" not in tokens or "}" not in tokens:
        return tokens
    kept: list[str] = []
    index = 0
    while index < len(tokens):
        if tokens[index] == "{" and "}" in tokens[index:]:
            close = tokens.index("}", index)
            inside = tokens[index + 1 : close]
            chosen = inside[: inside.index("/")] if "/" in inside else inside
            kept += [token for token in chosen if token != "@"]
            index = close
        else:
            kept.append(tokens[index])
        index += 1
    return kept


def write(transcripts: Iterable[Transcript], _: WriteOptions) -> Iterator[str]:
    """Write a segment for each sentence, its marks in the text."""
    for file, channel, transcript in named_transcripts(transcripts, "STM"):
        lasts = (sentence.last for sentence in render.sentences(transcript))
        for run in segments(transcript.words, lasts, "STM"):
            start, end = span(run)
            text = render.join(run)
            if start is not None and end is not None and text:
                speaker = one_column(run[0].speaker or "", "unknown")
                # A first word that looks like a label is one no longer behind a label.
                label = "<NA> " if _LABEL.match(text) else ""
                yield f"{file} {channel} {speaker} {seconds(start)} {seconds(end)} {label}{text}\n"


STM = Format(
    name="stm",
    summary="NIST STM: one timed segment a line",
    extensions=(".stm",),
    sniff=sniff,
    read=read,
    write=write,
    many=True,
)
