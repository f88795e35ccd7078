"""`Pair`: a reference and a hypothesis at the same places; what every metric looks at.

In: two transcripts of the same words, or, aligned, of what was said and what was recognised. Out: the tags of
both, place by place, and which places are scored. Aligned (paper 000, section 3.2), the places are the
hypothesis's words, the reference's tags are carried over, a mark is scored only between two words that were
both recognised, and case only on a word that was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from interpunct.align import NOWHERE, Alignment, align, carry_marks
from interpunct.cases import bare
from interpunct.errors import InputError
from interpunct.labels import mark_with_ellipsis
from interpunct.metrics.boundaries import Mask, boundaries
from interpunct.metrics.counts import Count, Counts, Rate, ratio
from interpunct.transcript import Transcript


@dataclass(frozen=True)
class WordErrors(Counts):
    """Words that were recognised, mistaken, missed and added."""

    RATES: ClassVar[tuple[str, ...]] = ("wer",)
    correct: Count = 0
    substituted: Count = 0
    deleted: Count = 0
    inserted: Count = 0

    @property
    def wer(self) -> Rate:
        """Word error rate: edits over the reference's words."""
        edits = self.substituted + self.deleted + self.inserted
        return ratio(edits, self.correct + self.substituted + self.deleted)


@dataclass(frozen=True)
class Pair:
    """Tags of reference and hypothesis at the same places."""

    source: str
    words: tuple[str, ...]
    reference_marks: tuple[str | None, ...]
    hypothesis_marks: tuple[str | None, ...]
    reference_cases: tuple[str | None, ...]
    hypothesis_cases: tuple[str | None, ...]
    mark_confidences: tuple[float | None, ...]
    reference_ends: Mask
    """Where sentences end: at boundary marks, or where a file of one segment a line or an RTTM file says so."""
    hypothesis_ends: Mask
    marks_scored: Mask
    ends_scored: Mask
    case_scored: Mask
    word_errors: WordErrors | None = None
    """How well the words were recognised, where the two were aligned."""

    def __len__(self) -> int:
        return len(self.words)

    @property
    def ends_known(self) -> bool:
        """Whether anything is known of where the reference's sentences end."""
        return bool(self.reference_ends.any()) or any(mark is not None for mark in self.reference_marks)

    def unrestricted(self) -> Pair:
        """Return the same pair with the marks scored at every place."""
        known = _known(self.reference_marks)
        return replace(self, marks_scored=known, ends_scored=known | self.reference_ends)


def pair(
    reference: Transcript,
    hypothesis: Transcript,
    *,
    aligned: bool = False,
    reference_ends: Mask | None = None,
    hypothesis_ends: Mask | None = None,
) -> Pair:
    """Put a reference and a hypothesis together; without alignment their words must be the same.

    Sentences end at boundary marks unless `reference_ends` and `hypothesis_ends` say otherwise.
    """
    marks, cases = _marks(reference), reference.cases
    ends = boundaries(reference.marks) if reference_ends is None else reference_ends
    guessed = boundaries(hypothesis.marks) if hypothesis_ends is None else hypothesis_ends
    if aligned:
        found = align([word.text for word in reference.words], [word.text for word in hypothesis.words])
        carried = carry_marks(marks, found)
        known_cases = tuple(None if place == NOWHERE else cases[place] for place in found.places.tolist())
        return _pair(
            reference, hypothesis, tuple(carried), known_cases, carry_ends(ends, found), guessed,
            between=_between_equal(found, len(reference)), equal=found.equal,
            word_errors=WordErrors(found.correct, found.substituted, found.deleted, found.inserted),
        )  # fmt: skip
    require_same_words(reference, hypothesis)
    every = np.ones(len(reference), dtype=np.bool_)
    return _pair(reference, hypothesis, marks, cases, ends, guessed, between=every, equal=every)


def carry_ends(ends: Mask, found: Alignment) -> Mask:
    """Carry a reference's sentence ends over to the hypothesis's words, as marks are."""
    return boundaries(carry_marks(["." if end else "" for end in ends.tolist()], found))


def _pair(
    reference: Transcript,
    hypothesis: Transcript,
    marks: tuple[str | None, ...],
    cases: tuple[str | None, ...],
    ends: Mask,
    guessed: Mask,
    *,
    between: Mask,
    equal: Mask,
    word_errors: WordErrors | None = None,
) -> Pair:
    return Pair(
        source=reference.source or hypothesis.source,
        words=tuple(word.text for word in hypothesis.words),
        reference_marks=marks,
        hypothesis_marks=_marks(hypothesis),
        reference_cases=cases,
        hypothesis_cases=hypothesis.cases,
        mark_confidences=tuple(word.mark_confidence for word in hypothesis.words),
        reference_ends=ends,
        hypothesis_ends=guessed,
        marks_scored=between & _known(marks),
        ends_scored=between & (_known(marks) | ends),
        case_scored=equal & _known(cases),
        word_errors=word_errors,
    )


def _marks(transcript: Transcript) -> tuple[str | None, ...]:
    return tuple(map(mark_with_ellipsis, transcript.words))


def _known(tags: Sequence[str | None]) -> Mask:
    return np.fromiter((tag is not None for tag in tags), dtype=np.bool_, count=len(tags))


def _between_equal(found: Alignment, reference_words: int) -> Mask:
    """Say for each place whether its word and the next were recognised, and nothing was said in between."""
    places = np.append(found.places, reference_words)
    equal = np.append(found.equal, True)
    following: Mask = places[1:] == places[:-1] + 1
    both: Mask = equal[:-1] & equal[1:] & following
    return both


def require_same_words(
    reference: Transcript,
    hypothesis: Transcript,
    *,
    sides: tuple[str, str] = ("reference", "hypothesis"),
    advice: str = "use --align for recognised words",
) -> None:
    """Refuse two transcripts whose words differ, and show where they first do."""
    one = [bare(word.text) for word in reference.words]
    other = [bare(word.text) for word in hypothesis.words]
    if one == other:
        return
    place = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    before = " ".join(one[max(0, place - 3) : place])
    shown = [
        f"{name} has {words[place]!r}" if place < len(words) else f"{name} ends"
        for name, words in zip(sides, (one, other), strict=True)
    ]
    where = f" (after {before!r})" if before else ""
    raise InputError(
        f"words differ at word {place + 1}{where}: {shown[0]}, {shown[1]}; {advice}", path=hypothesis.source or None
    )
