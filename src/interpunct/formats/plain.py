"""Plain text: running words, one document a file.

In: any text; white space, line ends included, only separates words. Out: the restored text on one line,
a new line at each change of speaker; with `lines`, one sentence a line. Times and speakers' names are not
written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from interpunct import render
from interpunct.formats.format import Format, WriteOptions
from interpunct.formats.source import Source
from interpunct.labels import parse_text
from interpunct.transcript import Transcript


def read(source: Source) -> Iterator[Transcript]:
    """Read the whole text as one transcript."""
    yield Transcript(parse_text(source.text), source.id)


def write(transcripts: Iterable[Transcript], options: WriteOptions) -> Iterator[str]:
    """Write each transcript's text, a blank line between two."""
    for index, transcript in enumerate(transcripts):
        if index:
            yield "\n"
        for sentence in render.sentences(transcript) if options.lines else render.turns(transcript):
            if sentence.text:
                yield sentence.text + "\n"


PLAIN = Format(
    name="plain",
    summary="running text",
    extensions=(".txt", ".text", ".md"),
    sniff=lambda _: True,  # the last in the table: whatever nothing else knows is text
    read=read,
    write=write,
    many=True,
)
