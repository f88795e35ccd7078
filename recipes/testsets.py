"""The test sets of the papers, with the references that their figures are counted against.

In: corpora. Out: for each set its documents, the reference tags on them, and which tasks are scored there. Case on the
words of test2011, which is lower case, comes from the cased talks, aligned to it; where the two differ nobody knows.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from interpunct import corpora
from interpunct.align import NOWHERE, align, carry_marks
from interpunct.clitics import split_clitics
from interpunct.models.encoded import case_of_first
from interpunct.transcript import Transcript

SETS = {"ted": ("dev2012", "dev", "test2011", "test2011asr"), "iq2": ("iq2dev", "iq2test")}
"""What a recipe's models read."""
TESTS = ("test2011", "test2011asr", "iq2test")
"""What is read only once a model has been chosen."""


@cache
def documents(name: str) -> tuple[Transcript, ...]:
    """Return the documents of a set, with the marks and cases that its files have."""
    if name.startswith("iq2"):
        return tuple(corpora.read("iq2", name.removeprefix("iq2")))
    return tuple(corpora.read("iwslt", name))


@cache
def cased_reference() -> Transcript:
    """Return test2011 with the cases of the cased talks, None where a word is not theirs."""
    (tagged,) = documents("test2011")
    tokens, _, cases = _edited_talks()
    found = align(tokens, [word.text for word in tagged.words])
    places = zip(tagged.words, found.places.tolist(), found.equal.tolist(), strict=True)
    words = tuple(
        replace(word, case=cases[place] if same and place != NOWHERE else None) for word, place, same in places
    )
    return replace(tagged, words=words)


@cache
def second_reference() -> Transcript:
    """Return test2011 with the marks of the cased talks: another edition of the same speeches, by other hands."""
    (tagged,) = documents("test2011")
    tokens, marks, _ = _edited_talks()
    carried = carry_marks(marks, align(tokens, [word.text for word in tagged.words]))
    return replace(tagged, words=tuple(replace(w, mark=mark) for w, mark in zip(tagged.words, carried, strict=True)))


def _edited_talks() -> tuple[list[str], list[str], list[str | None]]:
    """Return the split tokens of the cased talks in lower case, their marks and their cases."""
    tokens: list[str] = []
    marks: list[str] = []
    cases: list[str | None] = []
    for talk in corpora.read("iwslt", "test"):
        for word in talk.words:
            parts = split_clitics(word.text)
            tokens += [part.lower() for part in parts]
            marks += [*[""] * (len(parts) - 1), word.mark or ""]
            case = case_of_first(parts[0], word.case) if len(parts) > 1 else word.case
            cases += [case, *["lower"] * (len(parts) - 1)]
    return tokens, marks, cases
