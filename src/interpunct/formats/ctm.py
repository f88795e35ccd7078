"""NIST CTM: one timed word a line.

In: `file channel start duration word [confidence [type [speaker]]]`. Out: a transcript for each (file,
channel), in order of first appearance, its source always "file:channel" so that writing restores both
columns. Every line is a word, whatever its type (lex, fp, frag, non-lex ...); the type itself is not kept.
Of alternatives (`<ALT_BEGIN>` ...) the first is read. Times are decimal numbers, added exactly and never
rounded. Words without times cannot be written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from interpunct.errors import InputError
from interpunct.formats.format import Format, WriteOptions
from interpunct.formats.nist import (
    EMPTY_WORD,
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

_TAIL = rf"(?:{NUMBER}\s+{NUMBER}\s+\S+(?:\s+(?:{NUMBER}|NA)(?:\s+\S+){{0,2}})?|\*\s+\*\s+<ALT\S*>)"
_ROW = re.compile(rf"\S+\s+\S+\s+{_TAIL}", re.ASCII)
# Prose may hold two numbers in a row, but hardly behind a one-sign word and with a decimal point.
_CERTAIN_ROW = re.compile(rf"\S+\s+[0-9AB]\s+(?=\S*\.|\S+\s+\S*\.){_TAIL}", re.ASCII)


def sniff(source: Source) -> bool:
    """Know CTM by its two columns of numbers."""
    return resembles(source, _ROW, _CERTAIN_ROW)


def read(source: Source) -> Iterator[Transcript]:
    """Read every (file, channel) as one transcript."""
    documents: Documents = {}
    opened: int | None = None
    alternative = 0
    for line, fields in records(source):
        tag = fields[4].upper() if len(fields) > 4 else ""
        if tag == "<ALT_BEGIN>" and opened is None:
            opened, alternative = line, 1
        elif tag in ("<ALT>", "<ALT_END>") and opened is not None:
            alternative += 1
            opened = None if tag == "<ALT_END>" else opened
        elif tag in ("<ALT_BEGIN>", "<ALT>", "<ALT_END>"):
            raise InputError(f"{tag} out of place; alternatives go <ALT_BEGIN> <ALT> <ALT_END>", line=line)
        else:
            word = _word(fields, line)
            nothing_said = opened is not None and word.text == EMPTY_WORD
            if (opened is None or alternative == 1) and not nothing_said:
                documents.setdefault((fields[0], fields[1]), []).append(word)
    if opened is not None:
        raise InputError("<ALT_BEGIN> is never closed; add its <ALT_END>", line=opened)
    yield from transcripts_of(documents)


def _word(fields: list[str], line: int) -> Word:
    if not 5 <= len(fields) <= 8:
        raise InputError(
            f"{len(fields)} columns; a CTM line is: file channel start duration word [confidence [type [speaker]]]",
            line=line,
        )
    start, end = span_of(fields[2], fields[3], line=line)
    confidence = speaker = None
    if len(fields) > 5 and fields[5].upper() not in ("NA", "<NA>"):
        confidence = float(decimal(fields[5], "confidence", line=line))
    if len(fields) > 7:
        speaker = someone(fields[7])
    try:
        return Word(fields[4], start, end, confidence, speaker)
    except InputError as error:
        raise error.at(line=line) from None


def write(transcripts: Iterable[Transcript], _: WriteOptions) -> Iterator[str]:
    """Write each word with its mark; type and speaker columns only where the speaker is known."""
    for file, channel, transcript in named_transcripts(transcripts, "CTM"):
        for number, word in enumerate(transcript.words, start=1):
            start, end = word_span(word, number, "CTM")
            row = f"{file} {channel} {seconds(start)} {duration(start, end)} {one_token(surface(word))}"
            confidence = None if word.confidence is None else seconds(word.confidence)
            if word.speaker is not None:
                row += f" {confidence or 'NA'} lex {one_column(word.speaker, 'unknown')}"
            elif confidence is not None:
                row += f" {confidence}"
            yield row + "\n"


CTM = Format(
    name="ctm",
    summary="NIST CTM: one timed word a line",
    extensions=(".ctm",),
    sniff=sniff,
    read=read,
    write=write,
    timed=True,
    many=True,
)
