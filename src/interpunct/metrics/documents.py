"""What the evaluator is given: files, folders and transcripts, by name and paired.

In: a file of any format, a folder of them, a transcript, or transcripts by name. Out: documents, each with its
references and its hypothesis. Sentences end at boundary marks; in plain text of one segment a line at the line
ends; in RTTM where its SU lines end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from interpunct import formats
from interpunct.errors import InputError
from interpunct.formats import Source
from interpunct.formats.rttm import Unit, last_words, read_units
from interpunct.metrics.boundaries import (
    LINES_FOR_A_MARK,
    Mask,
    boundaries,
    boundaries_of_lines,
    is_segment_per_line,
)
from interpunct.transcript import Transcript

Scored = str | Path | Transcript | Mapping[str, Transcript]
"""A file, a folder, a transcript, or transcripts by name."""
Segments = Literal["auto", "lines", "marks"]


@dataclass(frozen=True)
class Side:
    """One version of a document, where its sentences end, and how that is known: by marks, lines or SU units."""

    transcript: Transcript
    ends: Mask
    by: str = "marks"
    by_marks: Side | None = None
    """The same, its sentences ending at its marks, where lines were but the likelier guess."""


@dataclass(frozen=True)
class ReadOptions:
    """How files are read for scoring."""

    segments: Segments = "auto"
    """Whether plain text of several lines has its sentence ends at its marks or at its line ends."""
    format: str | None = None
    encoding: str | None = None


@dataclass(frozen=True)
class Document:
    """A document's references and its hypothesis."""

    name: str
    reference_sides: tuple[Side, ...]
    hypothesis_side: Side

    @property
    def references(self) -> tuple[Transcript, ...]:
        """The references' transcripts."""
        return tuple(side.transcript for side in self.reference_sides)

    @property
    def hypothesis(self) -> Transcript:
        """The hypothesis's transcript."""
        return self.hypothesis_side.transcript


def read_documents(given: Scored, options: ReadOptions | None = None) -> dict[str, Side]:
    """Read everything that was given, by name: files by their stems, documents of one file by their ids."""
    options = options or ReadOptions()
    if isinstance(given, Transcript):
        return {given.source: _side(given)}
    if isinstance(given, Mapping):
        return {name: _side(transcript) for name, transcript in given.items()}
    if not str(given):
        raise InputError("an input has no name; is a variable empty?")
    path = Path(given)
    if not path.is_dir():
        return _read_file(path, options)
    found: dict[str, Side] = {}
    for file in sorted(file for file in path.iterdir() if file.is_file() and file.name[0] != "."):
        for name, side in _read_file(file, options).items():
            if name in found:
                raise InputError(f"two documents are called {name}; give each its own name", path=str(file))
            found[name] = side
    if not found:
        raise InputError("the folder holds no files (folders in it are not read); give another", path=str(path))
    return found


def _read_file(path: Path, options: ReadOptions) -> dict[str, Side]:
    source = Source.open(path, encoding=options.encoding)
    form = formats.named(options.format) if options.format else formats.sniff(source)
    transcripts = list(formats.read_source(source, form))
    if len(transcripts) == 1:
        return {path.stem: _side_of(transcripts[0], source, form.name, options.segments)}
    sides = {each.source: _side_of(each, source, form.name, options.segments) for each in transcripts}
    if len(sides) < len(transcripts):
        raise InputError("two documents of the file have the same name; give each its own", path=str(path))
    return sides


def _side(transcript: Transcript) -> Side:
    return Side(transcript, boundaries(transcript.marks))


def _side_of(transcript: Transcript, source: Source, form: str, segments: Segments) -> Side:
    """Find a document's sentence ends by what its format says of them."""
    if form == "rttm":
        return Side(transcript, _unit_ends(transcript, read_units(source)), "units")
    if form == "plain" and segments != "marks":
        words, ends = boundaries_of_lines(source.text)
        wanted = is_segment_per_line(source.text) if segments == "auto" else np.count_nonzero(ends) > 1
        if wanted:
            lines = replace(transcript, words=words)
            by_marks = boundaries([word.mark for word in words])
            unmarked = np.count_nonzero(ends & ~by_marks)
            guessed = segments == "auto" and unmarked * LINES_FOR_A_MARK <= np.count_nonzero(ends)
            return Side(lines, ends, "lines", Side(lines, by_marks) if guessed else None)
    return _side(transcript)


def _unit_ends(transcript: Transcript, units: Iterable[Unit]) -> Mask:
    """Mark the last word of each SU, whatever its subtype."""
    ends = boundaries(transcript.marks)
    own = (unit for unit in units if f"{unit.file}:{unit.channel}" == transcript.source)
    ends[[last for last in last_words(transcript.words, own) if last is not None]] = True
    return ends


def paired(references: Sequence[Mapping[str, Side]], hypotheses: Mapping[str, Side]) -> list[Document]:
    """Pair documents by name; where each side has one, the names do not matter."""
    if not references or not hypotheses or not all(references):
        raise InputError("there is nothing to score; give a reference and a hypothesis with documents in them")
    if all(len(side) == 1 for side in (*references, hypotheses)):
        ((name, hypothesis),) = hypotheses.items()
        return [Document(name, tuple(next(iter(side.values())) for side in references), hypothesis)]
    for side in references:
        missing = sorted(side.keys() - hypotheses.keys())
        extra = sorted(hypotheses.keys() - side.keys())
        if missing or extra:
            names = ", ".join((missing or extra)[:5])
            which = "without a hypothesis" if missing else "without a reference"
            raise InputError(f"documents {which}: {names}; files are paired by their names")
    return [Document(name, tuple(side[name] for side in references), hypotheses[name]) for name in sorted(hypotheses)]


def agreed(sides: Sequence[Side]) -> list[Side]:
    """Let all versions of a document end their sentences alike: not one at lines that end with marks, another at marks.

    Lines without marks stay what they are: nothing else tells where their sentences end.
    """
    differ = len({side.by for side in sides}) > 1
    return [side.by_marks or side if differ else side for side in sides]
