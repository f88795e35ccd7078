"""The table of corpora, and reading them by name.

In: the name of a corpus, a split and perhaps a track. Out: its transcripts, one after another. The texts are
not part of the package: they lie in a data folder (see `data_root`). A new corpus is one file and one row of
`CORPORA`. The readers prepare text for training (see `cleaning`); they do not keep a file as it was.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from interpunct.corpora.corpus import Corpus
from interpunct.errors import InputError
from interpunct.tables import resolve
from interpunct.transcript import Transcript

__all__ = ["CORPORA", "Corpus", "data_root", "named", "read"]

CORPORA: dict[str, str] = {
    "iwslt": "interpunct.corpora.iwslt:IWSLT",
    "iq2": "interpunct.corpora.iq2:IQ2",
    "changelog": "interpunct.corpora.prose:CHANGELOG",
    "scotus": "interpunct.corpora.prose:SCOTUS",
    "bitcoin_transcripts": "interpunct.corpora.prose:BITCOIN_TRANSCRIPTS",
    "ontario_hansard": "interpunct.corpora.prose:ONTARIO_HANSARD",
    "presidential_speeches": "interpunct.corpora.prose:PRESIDENTIAL_SPEECHES",
    "qmsum_meetings": "interpunct.corpora.prose:QMSUM_MEETINGS",
    "novels": "interpunct.corpora.prose:NOVELS",
    "gutenberg": "interpunct.corpora.prose:GUTENBERG",
    "icsi": "interpunct.corpora.icsi:ICSI",
    "earnings22": "interpunct.corpora.earnings22:EARNINGS22",
    "earnings21": "interpunct.corpora.earnings21:EARNINGS21",
    "debater": "interpunct.corpora.debater:DEBATER",
    "esic": "interpunct.corpora.esic:ESIC",
    "ljspeech": "interpunct.corpora.ljspeech:LJSPEECH",
    "gum": "interpunct.corpora.syntax:GUM",
    "conll2000": "interpunct.corpora.syntax:CONLL2000",
}


def named(name: str) -> Corpus:
    """Return the corpus of a name.

    >>> named("iq2").shippable
    False
    """
    found: Corpus = resolve(CORPORA, "corpus", name)
    return found


def data_root() -> Path:
    """Return the data folder: INTERPUNCT_DATA, else `../shared/data` from here or beside the checkout."""
    chosen = os.environ.get("INTERPUNCT_DATA")
    if chosen:
        places = [Path(chosen)]
    else:
        places = [Path("../shared/data"), Path(__file__).resolve().parents[4] / "shared" / "data"]
    for place in places:
        if place.is_dir():
            return place
    searched = " nor at ".join(map(str, places))
    raise InputError(f"no corpora at {searched}; set INTERPUNCT_DATA to the folder that holds them")


def read(name: str, split: str, *, root: str | Path | None = None, track: str | None = None) -> Iterator[Transcript]:
    """Read one split of a corpus; `track` is the corpus's first one unless it is named."""
    corpus = named(name)
    chosen = corpus.tracks[0] if track is None else track
    corpus.check(split, chosen)
    return corpus.read(data_root() if root is None else Path(root), split, chosen)
