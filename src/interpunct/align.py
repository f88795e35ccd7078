"""Edit-distance alignment of two word lists, and carrying tags from one to the other.

In: the words of a reference and of a hypothesis. Out: which word stands for which, by the fewest edits
(Levenshtein; rapidfuzz keeps its memory linear in the words). Words are compared without case and without
what clings to them. Nothing here looks at times or sounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt

from interpunct.cases import bare
from interpunct.labels import stronger

Ints = npt.NDArray[np.int64]
NOWHERE = -1


@dataclass(frozen=True)
class Alignment:
    """For each hypothesis word the place of its reference word, or `NOWHERE`; and the edits counted."""

    places: Ints
    equal: npt.NDArray[np.bool_]
    """Whether a hypothesis word equals its reference word."""
    correct: int
    substituted: int
    deleted: int
    inserted: int

    @property
    def reference_words(self) -> int:
        """How many words the reference has."""
        return self.correct + self.substituted + self.deleted


def align(reference: Sequence[str], hypothesis: Sequence[str]) -> Alignment:
    """Align a hypothesis to a reference.

    >>> found = align("so how are you".split(), "So how old you are".split())
    >>> found.places.tolist(), found.inserted
    ([0, 1, 2, 3, -1], 1)
    """
    from rapidfuzz.distance import Levenshtein  # only where words are aligned

    places = np.full(len(hypothesis), NOWHERE, dtype=np.int64)
    equal = np.zeros(len(hypothesis), dtype=np.bool_)
    correct = substituted = deleted = inserted = 0
    for code in Levenshtein.opcodes([bare(text) for text in reference], [bare(text) for text in hypothesis]):
        size = code.dest_end - code.dest_start
        if code.tag == "delete":
            deleted += code.src_end - code.src_start
        elif code.tag == "insert":
            inserted += size
        else:
            places[code.dest_start : code.dest_end] = np.arange(code.src_start, code.src_end)
            equal[code.dest_start : code.dest_end] = code.tag == "equal"
            correct += size if code.tag == "equal" else 0
            substituted += size if code.tag == "replace" else 0
    return Alignment(places, equal, correct, substituted, deleted, inserted)


def carry_marks(marks: Sequence[str | None], alignment: Alignment) -> list[str | None]:
    """Give each hypothesis word the mark of its reference word.

    The mark of a reference word that nothing stands for goes to the word before it, which keeps the stronger
    of the two; an inserted word has none.

    >>> carry_marks(["", ",", "."], align(["yes", "well", "no"], ["yes", "no", "no"]))
    ['', ',', '.']
    >>> carry_marks(["", ",", "."], align(["yes", "well", "no"], ["yes", "no"]))
    [',', '.']
    """
    carried: list[str | None] = [""] * len(alignment.places)
    following = 0
    last: int | None = None
    for place, source in enumerate(alignment.places.tolist()):
        if source == NOWHERE:
            continue
        if last is not None:
            carried[last] = _strongest([carried[last], *marks[following:source]])
        carried[place] = marks[source]
        last, following = place, source + 1
    if last is not None:
        carried[last] = _strongest([carried[last], *marks[following:]])
    return carried


def _strongest(marks: Sequence[str | None]) -> str | None:
    """Return the strongest mark; where the first is unknown, so is the result."""
    return None if marks[0] is None else reduce(stronger, (mark or "" for mark in marks))
