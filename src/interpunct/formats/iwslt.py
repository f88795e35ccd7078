"""The IWSLT label format: `word<TAB>label` a line, the labels O, COMMA, PERIOD and QUESTION.

In: one word place a line, kept as it stands, the empty word, "--" and broken characters included: published
figures are counted over these very places. Out: one transcript, and back, byte for byte. All is lower case
by construction, so nothing is known about case. Blank lines are no places. Times and speakers are not held;
the other marks are written as the papers' three.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from interpunct.errors import InputError
from interpunct.formats.format import Format, WriteOptions, sole
from interpunct.formats.source import Source
from interpunct.labels import to_three
from interpunct.transcript import Transcript, Word

LABELS = {"O": "", "COMMA": ",", "PERIOD": ".", "QUESTION": "?"}
"""The mark of each label."""

_LABEL_OF = {mark: label for label, mark in LABELS.items()}
_ROW = re.compile(rf"[^\t]*\t(?:{'|'.join(LABELS)})[ \t]*")
_LINE_END = re.compile(r"\r\n?|\n")
_BREAKS = re.compile(r"[\t\n\r]")


def sniff(source: Source) -> bool:
    """Know the format by its labels; four in five rows, so that a broken one is read and named."""
    lines = _LINE_END.split(source.head)
    if len(source.head) < len(source.text):
        lines.pop()  # the head may end inside a line
    rows = [line for line in lines if line.strip()]
    return bool(rows) and sum(map(bool, map(_ROW.fullmatch, rows))) * 5 >= len(rows) * 4


def read(source: Source) -> Iterator[Transcript]:
    """Read the file as one transcript."""
    words: list[Word] = []
    for number, line in source.lines():
        if not line.strip():
            continue
        text, tab, label = line.rstrip(" \t").rpartition("\t")
        if not tab:
            raise InputError(f"no label in {line!r}; a line is: word, a tab, label", line=number)
        mark = LABELS.get(label.strip())
        if mark is None:
            raise InputError(f"unknown label {label!r}; use one of {', '.join(LABELS)}", line=number)
        words.append(Word(text, mark=mark))
    yield Transcript(tuple(words), source.id)


def write(transcripts: Iterable[Transcript], _: WriteOptions) -> Iterator[str]:
    """Write each word's text as it is, and its label."""
    for word in sole(transcripts, "IWSLT").words:
        yield f"{_BREAKS.sub(' ', word.text)}\t{_LABEL_OF.get(to_three(word.mark or ''), 'O')}\n"


IWSLT = Format(
    name="iwslt",
    summary="one word and its label (O, COMMA, PERIOD, QUESTION) a line",
    extensions=(".iwslt",),
    sniff=sniff,
    read=read,
    write=write,
)
