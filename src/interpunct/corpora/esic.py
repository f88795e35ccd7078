"""ESIC: 117 speeches of the European Parliament, audio and verbatim transcript.

In: `audio/esic/STEM.txt` beside `STEM.opus`. Out: one transcript a speech, source = STEM, without times. The
speeches are split by their place in the order of stems; "dev" in a stem is the name of a part of ESIC, not of
a split here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from interpunct.corpora import cleaning
from interpunct.corpora.corpus import TENTHS, Corpus, lines, tenth
from interpunct.errors import InputError
from interpunct.transcript import Transcript


def read(root: Path, split: str, _track: str) -> Iterator[Transcript]:
    """Read the speeches of a split."""
    folder = root / "audio" / "esic"
    paths = sorted(folder.glob("*.txt"))
    if not paths:
        raise InputError("no transcripts (*.txt) here; check INTERPUNCT_DATA", path=str(folder))
    for index, path in enumerate(paths):
        if tenth(index) == split:
            yield Transcript(cleaning.words(line for _, line in lines(path)), path.stem)


ESIC = Corpus(
    name="esic",
    summary="speeches of the European Parliament, with audio",
    licence="CC BY 4.0",
    words="24k",
    splits=TENTHS,
    read=read,
)
