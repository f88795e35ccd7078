"""What the evaluator is given: files, folders and transcripts, by name and paired.

In: a file of any format, a folder of them, a transcript, or transcripts by name. Out: documents, each with its
references and its hypothesis. Plain text may have its sentence ends at its marks or, one segment a line, at its
line ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from interpunct import formats
from interpunct.errors import InputError
from interpunct.formats import Source
from interpunct.metrics.boundaries import boundaries_of_lines, is_segment_per_line
from interpunct.metrics.pair import Mask
from interpunct.metrics.su_error import BOUNDARY_MARKS, boundaries
from interpunct.transcript import Transcript, Word

Scored = str | Path | Transcript | Mapping[str, Transcript]
"""A file, a folder, a transcript, or transcripts by name."""
Segments = Literal["auto", "lines", "marks"]


@dataclass(frozen=True)
class Side:
    """One version of a document, and where its sentences end."""

    transcript: Transcript
    ends: Mask


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


def read_documents(given: Scored, segments: Segments = "auto") -> dict[str, Side]:
    """Read everything that was given, by name: a folder's files by their stems, a file's documents by their ids."""
    if isinstance(given, Transcript):
        return {given.source: _side(given)}
    if isinstance(given, Mapping):
        return {name: _side(transcript) for name, transcript in given.items()}
    path = Path(given)
    if not path.is_dir():
        return _read_file(path, segments)
    found: dict[str, Side] = {}
    for file in sorted(file for file in path.iterdir() if file.is_file() and file.name[0] != "."):
        sides = _read_file(file, segments)
        for name, side in sides.items():
            key = file.stem if len(sides) == 1 else f"{file.stem}/{name}"
            if key in found:
                raise InputError(f"two files are called {key}; give each its own name", path=str(file))
            found[key] = side
    if not found:
        raise InputError("the folder holds no files; give another", path=str(path))
    return found


def _read_file(path: Path, segments: Segments) -> dict[str, Side]:
    source = Source.open(path)
    form = formats.sniff(source)
    sides: dict[str, Side] = {}
    for transcript in formats.read_source(source, form):
        if transcript.source in sides:
            raise InputError(f"two documents are called {transcript.source}; give each its own name", path=str(path))
        sides[transcript.source] = _side(transcript)
    if form.name == "plain" and segments != "marks":
        (transcript,) = (side.transcript for side in sides.values())
        sides = {transcript.source: _by_line(transcript, source.text, segments)}
    return sides


def _side(transcript: Transcript) -> Side:
    return Side(transcript, boundaries(transcript.marks))


def _by_line(transcript: Transcript, text: str, segments: Segments) -> Side:
    """Take line ends as sentence ends where that is asked for, or (for the ends alone) where it looks so."""
    if segments == "auto":
        return Side(transcript, boundaries_of_lines(text)[1]) if is_segment_per_line(text) else _side(transcript)
    words, ends = boundaries_of_lines(text)
    marked = (_with_end(word, bool(end)) for word, end in zip(words, ends, strict=True))
    return _side(replace(transcript, words=tuple(marked)))


def _with_end(word: Word, ends: bool) -> Word:
    """Give a word a boundary mark exactly where its line ends."""
    if (word.mark in BOUNDARY_MARKS) == ends:
        return word
    return replace(word, mark="." if ends else "", raw=None)


def paired(references: Sequence[Mapping[str, Side]], hypotheses: Mapping[str, Side]) -> list[Document]:
    """Pair documents by name; where each side has one, the names do not matter."""
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
