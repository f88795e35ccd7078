"""What the NIST formats share: columns, exact times, and the names of documents.

In: lines of columns with `;;` comments. Out: fields, and times as decimal numbers, added exactly and never
rounded; a transcript for each (file, channel), its source "file:channel" so that writing restores both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Context, Decimal
from pathlib import PurePath

from interpunct.errors import InputError
from interpunct.formats.source import Source
from interpunct.labels import parse_words
from interpunct.transcript import Transcript, Word

NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?"
"""A decimal number, as a regular expression."""

_NUMBER = re.compile(NUMBER, re.ASCII)
_BLANKS = re.compile(r"[ \t\n\r\x0b\x0c]+")
_FIELD = re.compile(r"[^ \t\x0b\x0c]+")
_LINE_END = re.compile(r"\r\n?|\n")
# Any two finite doubles, written out, add up within 800 digits: no sum or difference is ever rounded.
_EXACT = Context(prec=800)
_NOBODY = frozenset(("<na>", "na", "null", "unknown"))
_FEW_ROWS = 3
_EXTENSION = re.compile(r"(?<=.)\.[A-Za-z][A-Za-z0-9]{1,7}(?=#|\Z)")  # not that of "v1.5" or "call.2024-01"
_TEXT = ".txt"
EMPTY_WORD = "@"
"""What stands for a word of no letters."""

Documents = dict[tuple[str, str], list[Word]]
"""The words of each (file, channel), as read."""


def records(source: Source) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, columns), without blank lines and `;;` comments.

    Only ASCII blanks part columns: a no-break space belongs to its word.
    """
    for number, line in source.lines():
        fields = line.split() if line.isascii() else _FIELD.findall(line)
        if fields and not fields[0].startswith(";;"):
            yield number, fields


def resembles(source: Source, row: re.Pattern[str], certain: re.Pattern[str]) -> bool:
    """Say whether four in five rows of the head fit `row`; of a file of one or two rows, all fit `certain`.

    Four in five, so that a file with a broken line is read and the line named, not taken for prose. What is called
    text has to fit `certain`: two numbers in a row may stand in prose, too.
    """
    if source.name.lower().endswith(_TEXT):
        row = certain
    lines = _LINE_END.split(source.head)
    if len(source.head) < len(source.text):
        lines.pop()  # the head may end inside a line
    rows = [line for line in map(str.strip, lines) if line and not line.startswith(";;")]
    if len(rows) < _FEW_ROWS:
        return bool(rows) and all(map(certain.fullmatch, rows))
    return sum(map(bool, map(row.fullmatch, rows))) * 5 >= len(rows) * 4


def decimal(text: str, what: str, *, line: int) -> Decimal:
    """Read a number exactly.

    >>> decimal("0.1", "start", line=1) + decimal("0.2", "duration", line=1)
    Decimal('0.3')
    """
    if not _NUMBER.fullmatch(text):
        raise InputError(f"{what} {text!r} is not a number; write it like 12.34", line=line)
    return Decimal(text)


def span_of(start: str, duration: str, *, line: int) -> tuple[float, float]:
    """Read a start and a duration as start and end; the sum is exact.

    >>> span_of("0.1", "0.2", line=1)
    (0.1, 0.3)
    """
    begin = decimal(start, "start", line=line)
    return float(begin), float(_EXACT.add(begin, decimal(duration, "duration", line=line)))


def seconds(time: float) -> str:
    """Write a time so that reading gives the same float, never with an exponent.

    >>> seconds(0.1), seconds(1e-7)
    ('0.1', '0.0000001')
    """
    shortest = repr(float(time))
    return format(Decimal(shortest), "f") if "e" in shortest else shortest


def duration(start: float, end: float) -> str:
    """Write the duration that `span_of` turns back into `end`.

    >>> duration(0.1, 0.3)
    '0.2'
    """
    return format(_EXACT.subtract(Decimal(repr(float(end))), Decimal(repr(float(start)))), "f")


def someone(name: str) -> str | None:
    """Return a speaker's name, or None where the column says that there is none."""
    return None if name.lower() in _NOBODY else name


def one_token(text: str) -> str:
    """Write a word as one column: "word —" becomes "word—", an empty word NIST's "@"."""
    return _BLANKS.sub("", text) or EMPTY_WORD


def one_column(name: str, otherwise: str) -> str:
    """Write a name as one column, its blanks as underscores."""
    return _BLANKS.sub("_", name.strip()) or otherwise


def transcripts_of(documents: Mapping[tuple[str, str], Iterable[Word]]) -> Iterator[Transcript]:
    """Yield one transcript for each (file, channel)."""
    for (file, channel), words in documents.items():
        yield Transcript(tuple(parse_words(words)), f"{file}:{channel}")


def named_transcripts(transcripts: Iterable[Transcript], holder: str) -> Iterator[tuple[str, str, Transcript]]:
    """Yield (file, channel, transcript); an error where two share their name."""
    seen: set[tuple[str, str]] = set()
    for transcript in transcripts:
        name = file_and_channel(transcript.source)
        if name in seen:
            raise InputError(
                f"two documents are both called {':'.join(name)}, and {holder} would run them together; "
                "give each its own id, or use --to json"
            )
        seen.add(name)
        yield *name, transcript


def file_and_channel(source: str) -> tuple[str, str]:
    """Return the first two columns for a transcript's source.

    Of a file's name its folder and extension go; what tells its documents apart stays.

    >>> file_and_channel("talk:A"), file_and_channel("my talk.srt"), file_and_channel("talks.jsonl#2")
    (('talk', 'A'), ('my_talk', '1'), ('talks#2', '1'))
    """
    file, colon, channel = source.rpartition(":")
    if not colon:
        file, channel = _EXTENSION.sub("", PurePath(source).name), "1"
    return one_column(file, "transcript"), one_column(channel, "1")


def word_span(word: Word, number: int, holder: str) -> tuple[float, float]:
    """Return a word's start and end, or say that a format which needs them cannot hold the word."""
    if word.start is None or word.end is None:
        missing = "start" if word.start is None else "end"
        raise InputError(
            f"word {number} ({word.text!r}) has no {missing}, and {holder} holds only words with times; use --to json"
        )
    return word.start, word.end
