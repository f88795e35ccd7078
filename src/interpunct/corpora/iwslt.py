"""IWSLT: the TED talks of the papers, cased, and the tagged files that the papers score.

In: `iwslt/`. Out: one transcript a talk (its paragraphs joined, its title left out), source = the talk's id;
for dev2012, test2011 and test2011asr the one running sequence of the tagged file, lower case, read as the
format "iwslt" reads it and not cleaned, since published figures count its every token.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from interpunct import formats
from interpunct.corpora import cleaning
from interpunct.corpora.corpus import Corpus, filled_lines, parsed
from interpunct.transcript import Transcript

CASED = ("train", "dev", "test", "extra")
TAGGED = ("dev2012", "test2011", "test2011asr")


def read(root: Path, split: str, _track: str) -> Iterator[Transcript]:
    """Read the talks of a cased split, or the one sequence of a tagged file."""
    folder = root / "iwslt"
    if split in TAGGED:
        source = formats.Source.open(folder / split)
        yield from formats.read_source(source, formats.named("iwslt"))
        return
    path = folder / f"{split}.jsonl.xz"
    yield from parsed(path, filled_lines(path), _talk)


def _talk(record: dict[str, Any]) -> Transcript:
    return Transcript(cleaning.words(record["paragraphs"]), record["id"])


IWSLT = Corpus(
    name="iwslt",
    summary="TED talks: the benchmark of the papers",
    licence="CC BY-NC-ND",
    words="5.7M",
    splits=CASED + TAGGED,
    read=read,
    noncommercial=True,
)
