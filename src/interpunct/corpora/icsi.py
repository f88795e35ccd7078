"""ICSI: 69 meetings with a time for every word.

In: `timed/icsi.jsonl.xz`, segments of one dialogue act each. Out: one transcript a meeting, source = its id,
segments in the order of their starts, each word with its speaker. Where a segment is not cased, only its
closing mark is known: its words have case None, and all but the last have mark None.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from interpunct.corpora.corpus import TENTHS, Corpus, parsed_split
from interpunct.labels import parse_words
from interpunct.transcript import Transcript, Word


def read(root: Path, split: str, _track: str) -> Iterator[Transcript]:
    """Read the meetings of a split."""
    return parsed_split(root / "timed" / "icsi.jsonl.xz", split, _meeting)


def _meeting(record: dict[str, Any]) -> Transcript:
    segments = sorted(record["segments"], key=lambda segment: float(segment["start"]))
    return Transcript(tuple(word for segment in segments for word in _segment(segment)), record["id"])


def _segment(segment: dict[str, Any]) -> Iterator[Word]:
    speaker = segment["speaker"]
    # Each segment by itself: the next one may be another speaker's, who talks at the same time.
    words = list(parse_words(Word(text, start, end, speaker=speaker) for text, start, end in segment["words"]))
    if segment["cased"]:
        yield from words
        return
    for word in words[:-1]:
        yield replace(word, mark=None, case=None)
    for word in words[-1:]:
        yield replace(word, case=None)


ICSI = Corpus(
    name="icsi",
    summary="meetings of researchers, timed; half of the words without inner marks and case",
    licence="CC BY 4.0",
    words="690k",
    splits=TENTHS,
    read=read,
    timed=True,
)
