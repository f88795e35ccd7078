"""Corpora as configurations name them: "corpus:split", e.g. "iwslt:train".

In: such names. Out: an error before hours are spent on a misspelt one; their transcripts; their licences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from interpunct import corpora
from interpunct.corpora.syntax import tagged_transcripts
from interpunct.errors import ConfigError
from interpunct.transcript import Transcript


def check(specs: Iterable[str]) -> None:
    """Refuse what is not the name of a corpus and one of its splits."""
    for spec in specs:
        name, colon, split = spec.partition(":")
        if not colon:
            raise ConfigError([f"{spec!r} is not CORPUS:SPLIT, e.g. iwslt:train"])
        corpus = corpora.named(name)
        corpus.check(split, corpus.tracks[0])


def read(spec: str, documents: int | None = None) -> Iterator[Transcript]:
    """Read a split, or only its first documents."""
    name, _, split = spec.partition(":")
    return islice(corpora.read(name, split), documents)


def read_tagged(spec: str, documents: int | None = None) -> Iterator[tuple[Transcript, tuple[str, ...]]]:
    """Read a split of a corpus with parts of speech, each transcript with its words' tags."""
    name, _, split = spec.partition(":")
    return islice(tagged_transcripts(corpora.data_root(), name, split), documents)


def licences(specs: Iterable[str]) -> str:
    """Return the licences of corpora, each once."""
    return "; ".join(sorted({corpora.named(spec.partition(":")[0]).licence for spec in specs}))
