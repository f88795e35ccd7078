from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from interpunct.errors import InputError
from interpunct.labels import parse_text
from interpunct.metrics.boundaries import Mask
from interpunct.metrics.metric import MetricOptions
from interpunct.metrics.pair import pair
from interpunct.metrics.segmentation import SEGMENTATION, Segments, segment_counts, window_size
from interpunct.transcript import Transcript

Two = tuple[list[bool], list[bool]]


def sides(words: int, places: st.SearchStrategy[int]) -> st.SearchStrategy[Two]:
    """A reference and a hypothesis of at most so many words; each place is 0 to 3, a bit for each side."""
    return st.lists(places, max_size=words).map(lambda bits: ([bool(b & 1) for b in bits], [b > 1 for b in bits]))


dense_sides = sides(40, st.integers(0, 3))
sparse_sides = sides(40, st.just(0) | st.integers(0, 3))


def mask(ends: Sequence[bool]) -> Mask:
    return np.array(ends, dtype=np.bool_)


def of_lengths(*lengths: int) -> Mask:
    """Boundaries of segments of so many words, the document's end among them."""
    ends = np.zeros(sum(lengths), dtype=np.bool_)
    ends[np.cumsum(lengths) - 1] = True
    return ends


def totals(reference: Sequence[bool] | Mask, hypothesis: Sequence[bool] | Mask) -> Segments:
    return segment_counts(np.asarray(reference, dtype=np.bool_), np.asarray(hypothesis, dtype=np.bool_)).total()


# The slow and obvious versions: every word knows the number of its segment.


def segment_numbers(ends: Sequence[bool]) -> list[int]:
    return [sum(ends[:word]) for word in range(len(ends))]


def slow_windows(reference: Sequence[bool], hypothesis: Sequence[bool]) -> tuple[int, int, int]:
    size = window_size(mask(reference))
    right, guess = segment_numbers(reference), segment_numbers(hypothesis)
    starts = range(max(0, len(right) - size))
    different = sum(right[i + size] - right[i] != guess[i + size] - guess[i] for i in starts)
    parted = sum((right[i + size] == right[i]) != (guess[i + size] == guess[i]) for i in starts)
    return len(starts), different, parted


def slow_near_misses(reference: Sequence[bool], hypothesis: Sequence[bool]) -> int:
    """As many disjoint pairs of neighbouring places with one moved boundary as there can be."""
    if len(reference) < 2:
        return 0
    best = slow_near_misses(reference[1:], hypothesis[1:])
    if sum(reference[:2]) == sum(hypothesis[:2]) == 1 and reference[0] != hypothesis[0]:
        best = max(best, 1 + slow_near_misses(reference[2:], hypothesis[2:]))
    return best


@given(dense_sides)
def test_segmentation_windows_are_those_of_the_obvious_version(sides: Two) -> None:
    found = totals(*sides)
    assert (found.windows, found.window_diff_errors, found.pk_errors) == slow_windows(*sides)


@given(sides(14, st.integers(0, 3)))
def test_segmentation_near_misses_are_as_many_as_can_be(sides: Two) -> None:
    reference, hypothesis = (side[:-1] for side in sides)
    found = totals(*sides)
    assert found.near_misses == slow_near_misses(reference, hypothesis)
    assert found.matches + found.near_misses + found.missed == sum(reference)
    assert found.matches + found.near_misses + found.inserted == sum(hypothesis)


@given(sparse_sides)
def test_segmentation_perfect_is_best(sides: Two) -> None:
    reference, hypothesis = sides
    best, other = totals(reference, reference), totals(reference, hypothesis)
    assert best.window_diff in (0, None)
    assert best.pk in (0, None)
    assert best.boundary_similarity in (1, None)
    for rate in (other.window_diff, other.pk, other.boundary_similarity):
        assert rate is None or 0 <= rate <= 1
    assert other.pk_errors <= other.window_diff_errors  # where one has none and the other some, numbers differ


@given(sparse_sides)
def test_segmentation_boundary_similarity_is_symmetric_and_blind_to_direction(sides: Two) -> None:
    reference, hypothesis = sides
    backwards = [side[:-1][::-1] + side[-1:] for side in sides]
    there, back, mirrored = totals(reference, hypothesis), totals(hypothesis, reference), totals(*backwards)
    assert there.boundary_similarity == back.boundary_similarity == mirrored.boundary_similarity
    assert (there.window_diff, there.pk) == (mirrored.window_diff, mirrored.pk)


@given(sparse_sides, st.booleans())
def test_segmentation_ignores_the_mark_at_the_end(sides: Two, closed: bool) -> None:
    reference, hypothesis = sides
    if reference:
        assert totals([*reference[:-1], closed], hypothesis) == totals(reference, hypothesis)


@given(sparse_sides)
def test_segmentation_counts_stand_at_places_and_add_up(sides: Two) -> None:
    counts = segment_counts(mask(sides[0]), mask(sides[1]))
    assert all(len(field) == len(sides[0]) for field in counts.numbers().values())
    first = counts.mapped(lambda field: field[: len(field) // 2]).total()
    second = counts.mapped(lambda field: field[len(field) // 2 :]).total()
    assert first + second == counts.total()


@pytest.mark.parametrize(
    ("lengths", "size"),
    [
        ((2, 3, 6), 2),  # 11 / 6 = 1.83
        ((1, 1, 1, 1), 2),  # 0.5: at least 2, as segeval has it
        ((6, 6), 3),
        ((5, 5), 2),  # 2.5: halves go to even, as Python rounds
        ((7, 7), 4),  # 3.5
        ((9, 14, 7, 20), 6),  # 6.25
        ((30,), 15),
    ],
)
def test_segmentation_window_is_half_the_mean_segment(lengths: tuple[int, ...], size: int) -> None:
    assert window_size(of_lengths(*lengths)) == size


# Computed once by segeval 2.0.11 (window_diff, pk and boundary_similarity with return_parts, all options at their
# defaults) on Python 3.11; nltk 3.10.4 gives the same errors over the same windows when it is handed the places
# between words (not the last one) and segeval's k.
BY_LIBRARY = [
    # reference, hypothesis, (errors, windows) of WindowDiff and of P_k, (numerator, denominator) of B
    ((2, 3, 6), (5, 6), (2, 9), (2, 9), (1.0, 2)),
    ((4, 4, 4, 4), (4, 5, 1, 2, 4), (3, 14), (3, 14), (2.5, 4)),
    ((3, 5, 2, 7, 4, 6), (3, 4, 3, 7, 10), (4, 25), (4, 25), (3.5, 5)),
    ((12, 9, 15), (12, 9, 15), (0, 30), (0, 30), (2.0, 2)),
    ((1, 1, 1, 1), (2, 2), (2, 2), (0, 2), (1.0, 3)),
    ((9, 14, 7, 20), (8, 2, 5, 7, 9, 19), (15, 44), (11, 44), (1.5, 5)),
]


@pytest.mark.parametrize(("reference", "hypothesis", "window_diff", "pk", "similarity"), BY_LIBRARY)
def test_segmentation_gives_the_library_numbers(
    reference: tuple[int, ...],
    hypothesis: tuple[int, ...],
    window_diff: tuple[int, int],
    pk: tuple[int, int],
    similarity: tuple[float, int],
) -> None:
    found = totals(of_lengths(*reference), of_lengths(*hypothesis))
    assert (found.window_diff_errors, found.windows) == window_diff
    assert (found.pk_errors, found.windows) == pk
    assert found.boundary_similarity == pytest.approx(similarity[0] / similarity[1])


def as_lengths(ends: Sequence[bool]) -> tuple[int, ...]:
    edges = [0, *(word + 1 for word in range(len(ends) - 1) if ends[word]), len(ends)]
    return tuple(np.diff(edges).tolist())


@pytest.fixture(scope="module")
def segeval() -> Any:
    return pytest.importorskip("segeval")


@pytest.fixture(scope="module")
def nltk() -> Any:
    return pytest.importorskip("nltk.metrics.segmentation")


@given(sides=sparse_sides)
def test_segmentation_agrees_with_segeval(segeval: Any, sides: Two) -> None:
    found = totals(*sides)
    assume(any(sides[0][:-1] + sides[1][:-1]))  # it fails where there is no boundary at all
    reference, hypothesis = map(as_lengths, sides)
    parts = segeval.boundary_similarity(hypothesis, reference, return_parts=True)
    assert found.matches + found.near_misses + found.missed + found.inserted == parts[1]
    assert found.matches + found.near_misses / 2 == parts[0]
    if found.windows:
        assert segeval.pk(hypothesis, reference, return_parts=True) == (found.pk_errors, found.windows)
        expected = (found.window_diff_errors, found.windows)
        assert segeval.window_diff(hypothesis, reference, return_parts=True) == expected


@given(sides=sparse_sides)
def test_segmentation_agrees_with_nltk_on_the_places_between_words(nltk: Any, sides: Two) -> None:
    found, size = totals(*sides), window_size(mask(sides[0]))
    if not found.windows:
        return
    right, guess = ("".join("01"[end] for end in side[:-1]) for side in sides)
    assert nltk.windowdiff(right, guess, size) == pytest.approx(found.window_diff)
    assert nltk.pk(right, guess, size) == pytest.approx(found.pk)


def test_segmentation_without_windows_or_boundaries_is_undefined() -> None:
    for words in range(3):  # no window of 2 places fits between two words
        found = totals([True] * words, [True] * words)
        assert (found.window_diff, found.pk) == (None, None)
    assert totals([False] * 9, [False] * 9).boundary_similarity is None
    assert totals([False] * 9, [False] * 9).window_diff == 0


def test_segmentation_refuses_sides_of_different_length() -> None:
    with pytest.raises(InputError, match="different numbers of words"):
        totals([True], [])


def test_segmentation_metric_reads_marks_and_scores_every_place() -> None:
    reference = Transcript(parse_text("So it goes. You know; that is it. We left, then we came back!"))
    hypothesis = Transcript(parse_text("So it goes, you know. That is. It we left. Then we came back."))
    both = pair(reference, hypothesis)
    counted = SEGMENTATION.count(both, MetricOptions())
    ends = [of_lengths(3, 2, 3, 6), of_lengths(5, 2, 3, 4)]
    assert counted["overall"].total() == totals(*ends)
    shown = SEGMENTATION.value({label: found.total() for label, found in counted.items()})
    # one match (know), one near miss (it / is), goes missed, left inserted: (1 + 1/2) / 4
    assert shown["boundary_similarity"] == 0.375
    assert set(shown) == {"window_diff", "pk", "boundary_similarity"}
    both.marks_scored[:] = False
    assert SEGMENTATION.count(both, MetricOptions())["overall"].total() == totals(*ends)


def test_segmentation_of_several_documents_is_a_ratio_of_sums() -> None:
    one = totals(of_lengths(6, 6), of_lengths(1, 5, 6))
    other = totals(of_lengths(9, 14, 7, 20), of_lengths(8, 2, 5, 7, 9, 19))
    assert (one + other).window_diff == pytest.approx((1 + 15) / (9 + 44))
    assert one + other == other + one
