"""The talks of an IWSLT test set as units of a bootstrap.

In: the XML that a tagged file was made from, and a pair of the file's running words. Out: where each talk
begins among the pair's places. The XML's words are aligned to the file's, since the two differ a little.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from interpunct.align import NOWHERE, align
from interpunct.clitics import split_clitics
from interpunct.errors import InputError
from interpunct.labels import parse_text
from interpunct.metrics.pair import Pair
from interpunct.metrics.significance import Units

_ENOUGH = 0.6


def talk_units(pair: Pair, path: str | Path) -> Units:
    """Return the units of one pair by the documents of an XML file."""
    try:
        root = ElementTree.parse(path).getroot()
    except FileNotFoundError:
        raise InputError("no such file; check the name", path=str(path)) from None
    except (OSError, ElementTree.ParseError) as error:
        raise InputError(f"not XML: {error}; give the XML of an IWSLT test set", path=str(path)) from None
    tokens: list[str] = []
    talk_of: list[int] = []
    for talk, document in enumerate(root.iter("doc")):
        for segment in document.iter("seg"):
            words = [part for word in parse_text(segment.text or "") for part in split_clitics(word.text)]
            tokens += words
            talk_of += [talk] * len(words)
    if not tokens:
        raise InputError("no talks in it; give the XML of an IWSLT test set", path=str(path))
    found = align(tokens, pair.words)
    if found.correct < _ENOUGH * len(pair):
        raise InputError("its words are not those of the hypothesis; give the XML of this test set", path=str(path))
    places = found.places
    known = np.flatnonzero(places != NOWHERE)
    talks = np.asarray(talk_of)[places[known]]
    starts = known[np.flatnonzero(np.diff(talks) > 0) + 1]
    return Units("talk", (np.concatenate([np.zeros(min(1, len(pair)), dtype=np.int64), starts]),))
