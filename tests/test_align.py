from __future__ import annotations

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from interpunct.align import NOWHERE, align, carry_marks

words = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=9)


def edits(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """The slow obvious version: the fewest edits by trying everything."""

    @cache
    def fewest(i: int, j: int) -> int:
        if i == len(one) or j == len(other):
            return len(one) - i + len(other) - j
        return min(fewest(i + 1, j + 1) + (one[i] != other[j]), fewest(i + 1, j) + 1, fewest(i, j + 1) + 1)

    return fewest(0, 0)


@given(words, words)
def test_align_makes_the_fewest_edits(reference: list[str], hypothesis: list[str]) -> None:
    found = align(reference, hypothesis)
    assert found.substituted + found.deleted + found.inserted == edits(tuple(reference), tuple(hypothesis))
    assert found.reference_words == len(reference)
    assert found.correct + found.substituted + found.inserted == len(hypothesis)


@given(words, words)
def test_align_pairs_words_in_order_and_once(reference: list[str], hypothesis: list[str]) -> None:
    found = align(reference, hypothesis)
    places = [place for place in found.places.tolist() if place != NOWHERE]
    assert places == sorted(set(places))
    for index, (place, equal) in enumerate(zip(found.places.tolist(), found.equal.tolist(), strict=True)):
        assert not equal or reference[place] == hypothesis[index]


def test_align_compares_without_case_and_clinging_signs() -> None:
    assert align(['"Don’t', "(U.S.)"], ["don't", "u.s"]).correct == 2


@st.composite
def marked_words(draw: st.DrawFn) -> tuple[list[str], list[str | None]]:
    texts = draw(words)
    return texts, [draw(st.sampled_from(["", ",", "."])) for _ in texts]


@given(marked_words())
def test_carry_marks_to_the_same_words_changes_nothing(tagged: tuple[list[str], list[str | None]]) -> None:
    texts, marks = tagged
    assert carry_marks(marks, align(texts, texts)) == marks


def test_carry_marks_gives_a_deleted_words_mark_to_the_word_before() -> None:
    found = align("i see well yes".split(), "i see yes".split())
    assert carry_marks(["", ",", ".", "?"], found) == ["", ".", "?"]
    found = align("well yes".split(), "yes".split())
    assert carry_marks([",", "."], found) == ["."]
    found = align("yes well".split(), "yes um".split())
    assert carry_marks([None, "."], found) == [None, "."]
