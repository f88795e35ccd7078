"""Punctuated, cased text: podcasts, hearings, parliament, speeches, meetings and books.

In: `spoken/NAME.txt.xz` and `books/NAME.txt.xz`, a blank line between documents, one turn or paragraph a
line. Out: one transcript a document, source = "NAME/INDEX". A line's end is a sentence's end only when the
line carries a mark. Who speaks is not known. Headings, which nobody speaks, are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from interpunct.corpora import cleaning
from interpunct.corpora.corpus import TENTHS, Corpus, lines, tenth
from interpunct.transcript import Transcript


def read(file: str, root: Path, split: str, _track: str) -> Iterator[Transcript]:
    """Read the documents of one split of a file ("spoken/changelog")."""
    name = file.rpartition("/")[2]
    for index, paragraphs in _documents(root / f"{file}.txt.xz", split):
        words = cleaning.words(line for line in paragraphs if not cleaning.is_heading(line))
        if words:
            yield Transcript(words, f"{name}/{index}")


def _documents(path: Path, split: str) -> Iterator[tuple[int, list[str]]]:
    index = 0
    paragraphs: list[str] = []
    between = True
    for _, line in lines(path):
        blank = not line or line.isspace()
        if blank and not between:
            if paragraphs:
                yield index, paragraphs
                paragraphs = []
            index += 1
        elif not blank and tenth(index) == split:
            paragraphs.append(line)
        between = blank
    if paragraphs:
        yield index, paragraphs


def _corpus(file: str, summary: str, licence: str, words: str, *, noncommercial: bool = False) -> Corpus:
    return Corpus(
        name=file.rpartition("/")[2],
        summary=summary,
        licence=licence,
        words=words,
        splits=TENTHS,
        read=partial(read, file),
        noncommercial=noncommercial,
    )


CHANGELOG = _corpus("spoken/changelog", "podcasts about software, edited by hand", "CC BY-SA 4.0", "14.0M")
SCOTUS = _corpus("spoken/scotus", "US Supreme Court oral arguments (Oyez)", "CC BY-NC 4.0", "8.0M", noncommercial=True)
BITCOIN_TRANSCRIPTS = _corpus("spoken/bitcoin_transcripts", "talks and podcasts on Bitcoin", "MIT", "4.7M")
ONTARIO_HANSARD = _corpus("spoken/ontario_hansard", "the parliament of Ontario", "MIT", "4.0M")
PRESIDENTIAL_SPEECHES = _corpus("spoken/presidential_speeches", "speeches of US presidents", "public domain", "3.5M")
QMSUM_MEETINGS = _corpus("spoken/qmsum_meetings", "meetings (AMI) and committees", "MIT", "1.1M")
NOVELS = _corpus("books/novels", "novels", "public domain", "5.1M")
GUTENBERG = _corpus("books/gutenberg", "books of Project Gutenberg", "public domain", "9.0M")
