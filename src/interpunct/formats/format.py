"""`Format`: what a file format can do, as data.

In: a `Source`. Out: transcripts; and from transcripts, the pieces of a file. Each member of `FORMATS` is
one `Format` value in the file of its family. Readers raise `InputError` with the line, never the path:
the caller knows the path and adds it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from interpunct.cues import CueLimits
from interpunct.errors import InputError
from interpunct.formats.source import Source
from interpunct.transcript import Transcript


@dataclass(frozen=True)
class WriteOptions:
    """How a format is written, where there is a choice."""

    lines: bool = False
    """Plain text: one sentence a line."""
    cues: CueLimits = field(default_factory=CueLimits)
    """Subtitles: how long and how wide a cue may be."""
    recut: bool = True
    """Subtitles: cut cues anew at sentence ends; False keeps the cues that were read, where there are any."""


Reader = Callable[[Source], Iterator[Transcript]]
Writer = Callable[[Iterable[Transcript], WriteOptions], Iterator[str | bytes]]


@dataclass(frozen=True)
class Format:
    """One file format: how to know it, read it and write it."""

    name: str
    summary: str
    extensions: tuple[str, ...]
    sniff: Callable[[Source], bool]
    read: Reader
    write: Writer | None = None
    timed: bool = False
    """Whether it can hold a time for each word."""
    many: bool = False
    """Whether several documents can be written to one file."""


def sole(transcripts: Iterable[Transcript], holder: str) -> Transcript:
    """Return the one transcript that a format of one document can hold; none at all is an empty one."""
    given = iter(transcripts)
    transcript = next(given, Transcript(()))
    if next(given, None) is not None:
        raise InputError(f"{holder} holds one document and there are several; write a folder with -o DIR")
    return transcript
