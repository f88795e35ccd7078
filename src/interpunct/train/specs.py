"""Corpora as configurations name them: "corpus:split", e.g. "iwslt:train", or a file of packed ones, "talks.pack".

In: such names. Out: an error before hours are spent on a misspelt one; their transcripts; their licences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from interpunct import corpora
from interpunct.corpora.syntax import tagged_transcripts
from interpunct.errors import ConfigError
from interpunct.train.pack import SUFFIX, Pack
from interpunct.transcript import Transcript


def is_pack(spec: str) -> bool:
    """Say whether a name is that of a file of packed corpora."""
    return spec.endswith(SUFFIX)


def packs(specs: Iterable[str]) -> list[Pack]:
    """Read the packs among some corpora, each once; one that is named several times stands there as often."""
    named = [spec for spec in specs if is_pack(spec)]
    read = {spec: Pack.load(Path(spec)) for spec in dict.fromkeys(named)}
    return [read[spec] for spec in named]


def unpacked(specs: Iterable[str]) -> list[str]:
    """Return the names that are no packs'."""
    return [spec for spec in specs if not is_pack(spec)]


def check(specs: Iterable[str]) -> None:
    """Refuse what is neither the name of a corpus and one of its splits nor a file of packed ones."""
    for spec in specs:
        if is_pack(spec):
            if not Path(spec).exists():
                raise ConfigError([f"{spec!r}: no such pack; pack.py or another script of recipes/bundled makes it"])
            continue
        name, colon, split = spec.partition(":")
        if not colon:
            raise ConfigError([f"{spec!r} is neither CORPUS:SPLIT, e.g. iwslt:train, nor a {SUFFIX} file"])
        corpus = corpora.named(name)
        corpus.check(split, corpus.tracks[0])


def read(spec: str, documents: int | None = None) -> Iterator[Transcript]:
    """Read a split, or only its first documents, as something to learn from: what nobody knows is None there."""
    name, _, split = spec.partition(":")
    found = islice(corpora.read(name, split), documents)
    return map(_without_lower, found) if corpora.named(name).lower_names else found


def _without_lower(transcript: Transcript) -> Transcript:
    words = (replace(word, case=None) if word.case == "lower" else word for word in transcript.words)
    return replace(transcript, words=tuple(words))


def read_tagged(spec: str, documents: int | None = None) -> Iterator[tuple[Transcript, tuple[str, ...]]]:
    """Read a split of a corpus with parts of speech, each transcript with its words' tags."""
    name, _, split = spec.partition(":")
    return islice(tagged_transcripts(corpora.data_root(), name, split), documents)


def summary(spec: str) -> str:
    """Say what a corpus is; of one's own, in a pack, nothing is known here.

    >>> summary("calls:train")
    'not among our corpora'
    """
    name = spec.partition(":")[0]
    return corpora.named(name).summary if name in corpora.CORPORA else "not among our corpora"


def licences(specs: Iterable[str]) -> str:
    """Return the licences of corpora, each once; those of one's own text are for its owner to tell.

    >>> licences(["iwslt:train", "calls:train"])
    'CC BY-NC-ND; that of calls'
    """
    names = {spec.partition(":")[0] for spec in specs}
    known = {corpora.named(name).licence for name in names if name in corpora.CORPORA}
    return "; ".join([*sorted(known), *(f"that of {name}" for name in sorted(names - set(corpora.CORPORA)))])
