"""Earnings-22: 115 earnings calls of companies all over the world, 72 % of the words timed.

In: `timed/earnings22.jsonl.xz`. Out: one transcript a call, source = its id, each word with its speaker; a
time that is missing stays missing. Track "ref" has all calls, "timed" those with at least 80 % of their words
timed. Calls are split over the whole file, so that a call is in the same split in both tracks.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from interpunct.corpora import cleaning
from interpunct.corpora.corpus import TENTHS, Corpus, parsed_split
from interpunct.labels import parse_words
from interpunct.transcript import Transcript, Word

TIMED_SHARE = 0.8
"""The least share of timed words in a call of track "timed"."""


def read(root: Path, split: str, track: str) -> Iterator[Transcript]:
    """Read the calls of a split."""
    for call in parsed_split(root / "timed" / "earnings22.jsonl.xz", split, _call):
        if track == "ref" or timed_share(call) >= TIMED_SHARE:
            yield call


def timed_share(transcript: Transcript) -> float:
    """Return the share of words that have both times; 0 where there is no word.

    >>> timed_share(Transcript((Word("so", 0.5, 0.7), Word("what"))))
    0.5
    """
    timed = sum(word.start is not None and word.end is not None for word in transcript.words)
    return timed / len(transcript) if len(transcript) else 0.0


def _call(record: dict[str, Any]) -> Transcript:
    tokens = (row for row in record["words"] if not cleaning.is_sound(row[0]))
    words = parse_words(Word(text, start, end, speaker=speaker) for text, start, end, speaker in tokens)
    return Transcript(tuple(words), record["id"])


EARNINGS22 = Corpus(
    name="earnings22",
    summary="earnings calls of companies all over the world, partly timed",
    licence="CC BY-SA 4.0",
    words="950k",
    splits=TENTHS,
    read=read,
    tracks=("ref", "timed"),
    timed=True,
)
