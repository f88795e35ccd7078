"""Project Debater: 180 debate speeches, timed, with a recogniser's version of each.

In: `timed/debater.jsonl.xz`. Out: one transcript a speech, source = its id. Track "ref" is the reference
(6 % of its times are missing and stay so); track "asr" is a recogniser that writes words only, so its marks
and cases are None. Sentences begin with a capital there, but names are in lower case: "in america".
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from interpunct.corpora.corpus import TENTHS, Corpus, parsed_split
from interpunct.labels import parse_words
from interpunct.transcript import Transcript, Word


def read(root: Path, split: str, track: str) -> Iterator[Transcript]:
    """Read the speeches of a split."""
    return parsed_split(root / "timed" / "debater.jsonl.xz", split, partial(_speech, track))


def _speech(track: str, record: dict[str, Any]) -> Transcript:
    words = (Word(text, start, end) for text, start, end in record[track])
    return Transcript(tuple(parse_words(words) if track == "ref" else words), record["id"])


DEBATER = Corpus(
    name="debater",
    summary="debate speeches, timed, with a recogniser's version",
    licence="CC BY-SA 3.0 / research",
    words="134k",
    splits=TENTHS,
    read=read,
    tracks=("ref", "asr"),
    timed=True,
    noncommercial=True,
    lower_names=True,
)
