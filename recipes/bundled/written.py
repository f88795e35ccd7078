"""Packs as people write them: words with their marks and capitals, for a network that reads and tells such text.

In: a pack. Out: the same words as forms like "Hello,"; and back, from a vocabulary's pieces to words with tags.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from interpunct.cases import CASES, recase
from interpunct.features import normalise
from interpunct.labels import MARKS, attach, split_token, standalone_mark, stronger
from interpunct.models.pieces import Pieces
from interpunct.models.scores import Ints
from interpunct.train.pack import UNKNOWN, Pack

_BROKEN = "\ufffd"  # what is written for bytes that are no letter


def written(pack: Pack) -> Pack:
    """Return a pack whose words are as people write them; those whose mark or case nobody knows are left out."""
    forms = {form.lower(): form for form in reversed(list(pack.forms))}  # the commonest stands first
    pack = pack.of_words((pack.tags["mark"] != UNKNOWN) & (pack.tags["case"] != UNKNOWN))
    marks, cases = (pack.tags[task].astype(np.int64) for task in ("mark", "case"))
    kinds, numbers = np.unique((pack.numbers * len(MARKS) + marks) * len(CASES) + cases, return_inverse=True)
    words = []
    for kind in kinds.tolist():
        rest, case = divmod(kind, len(CASES))
        number, mark = divmod(rest, len(MARKS))
        words.append(attach(recase(pack.words[number], CASES[case], forms), MARKS[mark]))
    return replace(pack, words=tuple(words), numbers=numbers.astype(np.uint32))


def read_back(vocabulary: Pieces, sources: tuple[str, ...], rows: Sequence[Sequence[int]]) -> Pack:
    """Return stories, whose pieces were told with marks and capitals, as a pack."""
    first_seen: dict[str, int] = {}
    read: dict[str, tuple[str, int, int]] = {}
    numbers: list[int] = []
    tags: dict[str, list[int]] = {"mark": [], "case": []}
    begins: list[int] = []
    for text in vocabulary.written(rows):
        begins.append(len(numbers))
        for token in text.split()[:-1]:  # the last one may be cut
            if token not in read:
                read[token] = _read_token(token)
            word, mark, case = read[token]
            if word:
                numbers.append(first_seen.setdefault(word, len(first_seen)))
                tags["mark"].append(mark)
                tags["case"].append(case)
            elif mark and len(numbers) > begins[-1]:  # a dash stands alone behind its word
                tags["mark"][-1] = MARKS.index(stronger(MARKS[tags["mark"][-1]], MARKS[mark]))
    row = np.array(numbers, dtype=np.uint32)
    documents: Ints = np.unique(np.array([begin for begin in begins if begin < len(row)], dtype=np.int64))
    found = {task: np.array(places, dtype=np.uint8) for task, places in tags.items()}
    return Pack(tuple(first_seen), row, found, documents, {}, sources)


def _read_token(token: str) -> tuple[str, int, int]:
    """Return a token's word as models read it, perhaps none, and the places of its mark and its case."""
    text, mark, case = split_token(token)
    word = "" if _BROKEN in text else normalise(text)
    return word, MARKS.index(mark if word else standalone_mark(token) or ""), CASES.index(case)
