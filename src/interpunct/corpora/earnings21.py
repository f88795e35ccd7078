"""Earnings-21: 37 earnings calls and what seven recognisers made of them; for testing only.

In: `timed/earnings21.jsonl.xz`. Out: one transcript a call, source = its id. Track "ref" is the reference,
with speakers, and times where they are beyond doubt; each other track is a recogniser. Recognisers that
write no marks and no capitals of their own have mark and case None, since nobody knows them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from interpunct.corpora.corpus import Corpus, filled_lines, parsed
from interpunct.labels import parse_words
from interpunct.transcript import Transcript, Word

TAGGING = ("amazon", "google", "speechmatics", "microsoft")
"""Recognisers that write marks and capitals (microsoft few of them)."""
BARE = ("rev_kaldi", "rev_espnet", "kaldi_librispeech")
"""Recognisers that write words only."""


def read(root: Path, _split: str, track: str) -> Iterator[Transcript]:
    """Read every call: the corpus has the one split "test"."""
    path = root / "timed" / "earnings21.jsonl.xz"
    build = _reference if track == "ref" else partial(_hypothesis, track)
    return parsed(path, filled_lines(path), build)


def _reference(record: dict[str, Any]) -> Transcript:
    rows = record["ref"]
    words = (Word(_token(text, mark), start, end, speaker=speaker) for text, mark, _, speaker, start, end in rows)
    return Transcript(tuple(parse_words(words)), record["id"])


def _hypothesis(track: str, record: dict[str, Any]) -> Transcript:
    rows = record["hyps"][track]
    words = (Word(_token(text, mark), start, end) for text, mark, start, end in rows)
    return Transcript(tuple(words if track in BARE else parse_words(words)), record["id"])


def _token(text: str, mark: str) -> str:
    # A hyphen in the column of marks is a dash: one written behind the text would read as a word cut off.
    return text + ("—" if mark == "-" else mark)


EARNINGS21 = Corpus(
    name="earnings21",
    summary="earnings calls, timed, with seven recognisers' versions; for testing only",
    licence="CC BY-SA 4.0",
    words="300k",
    splits=("test",),
    read=read,
    tracks=("ref", *TAGGING, *BARE),
    timed=True,
    shippable=False,
)
