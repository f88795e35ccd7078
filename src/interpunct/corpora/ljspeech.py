"""LJ Speech: 483 clips of one reader, audio and text.

In: `audio/ljspeech/transcripts.tsv` (clip TAB text) beside `CLIP.opus`. Out: one transcript a clip, source =
the clip's name, without times. A clip may end in the middle of a sentence: its end is a sentence's end only
when it carries a mark.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from interpunct.corpora import cleaning
from interpunct.corpora.corpus import TENTHS, Corpus, filled_lines, tenth
from interpunct.errors import InputError
from interpunct.transcript import Transcript


def read(root: Path, split: str, _track: str) -> Iterator[Transcript]:
    """Read the clips of a split."""
    path = root / "audio" / "ljspeech" / "transcripts.tsv"
    for index, (number, line) in enumerate(filled_lines(path)):
        clip, tab, text = line.partition("\t")
        if not tab:
            raise InputError("no tab; write: clip TAB text", path=str(path), line=number)
        if tenth(index) == split:
            yield Transcript(cleaning.words([text]), clip)


LJSPEECH = Corpus(
    name="ljspeech",
    summary="clips of one reader, with audio",
    licence="public domain",
    words="9k",
    splits=TENTHS,
    read=read,
)
