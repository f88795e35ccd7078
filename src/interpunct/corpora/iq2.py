"""Intelligence Squared: 42 debates with the speaker of each turn.

In: `iq2/debates.jsonl.xz`. Out: one transcript a debate, source = its id, each word with its speaker. Split
60 : 10 : 30 by debate in the order of ids. No licence is stated: for research, never for a shipped model.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from interpunct.corpora import cleaning
from interpunct.corpora.corpus import TENTHS, Corpus, filled_lines, parsed
from interpunct.errors import InputError
from interpunct.transcript import Transcript


def read(root: Path, split: str, _track: str) -> Iterator[Transcript]:
    """Read the debates of a split."""
    path = root / "iq2" / "debates.jsonl.xz"
    names = sorted((_id(path, number, line), number) for number, line in filled_lines(path))
    first, last = {"train": (0, 6), "dev": (6, 7), "test": (7, 10)}[split]
    wanted = {number for _, number in names[len(names) * first // 10 : len(names) * last // 10]}
    chosen = ((number, line) for number, line in filled_lines(path) if number in wanted)
    yield from parsed(path, chosen, _debate)


def _id(path: Path, number: int, line: str) -> str:
    try:
        return str(json.loads(line)["id"])
    except (ValueError, KeyError, TypeError):
        raise InputError("a debate without an id; fetch the file again", path=str(path), line=number) from None


def _debate(record: dict[str, Any]) -> Transcript:
    turns = (cleaning.words([text], speaker=speaker) for speaker, text in record["turns"])
    return Transcript(tuple(word for turn in turns for word in turn), record["id"])


IQ2 = Corpus(
    name="iq2",
    summary="Intelligence Squared debates, with speakers",
    licence="none stated; research use",
    words="760k",
    splits=TENTHS,
    read=read,
    shippable=False,
    noncommercial=True,
)
