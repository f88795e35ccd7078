"""Viterbi and forward-backward against all label sequences, and what decoding makes of them."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpunct.cases import CASES
from interpunct.decode import DecodeOptions, Decoder
from interpunct.labels import parse_text
from interpunct.models.lattice import marginals, settled, viterbi
from interpunct.models.scores import Scores

Floats = npt.NDArray[Any]


def total(emissions: Floats, transitions: Floats, labels: tuple[int, ...]) -> float:
    """What one label sequence adds up to."""
    steps = sum(float(transitions[a, b]) for a, b in pairwise(labels))
    return steps + sum(float(emissions[word, label]) for word, label in enumerate(labels))


def every_sequence(emissions: Floats, transitions: Floats) -> dict[tuple[int, ...], float]:
    words, labels = emissions.shape
    return {chosen: total(emissions, transitions, chosen) for chosen in product(range(labels), repeat=words)}


@st.composite
def lattices(draw: st.DrawFn, sequences: int = 1) -> tuple[Floats, Floats]:
    """Emissions (sequences × words × labels) and transitions, some of them nearly impossible."""
    words, labels = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale = draw(st.sampled_from([0.1, 1.0, 30.0]))
    emissions = rng.normal(0, scale, (sequences, words, labels)).astype(np.float32)
    transitions = rng.normal(0, scale, (labels, labels)).astype(np.float32)
    transitions[rng.random((labels, labels)) < 0.2] = -1e4
    return emissions, transitions


@given(lattices())
def test_viterbi_finds_the_best_of_all_sequences(lattice: tuple[Floats, Floats]) -> None:
    (emissions,), transitions = lattice
    sums = every_sequence(emissions, transitions)
    found = sums[tuple(viterbi(emissions, transitions).tolist())]
    assert found == pytest.approx(max(sums.values()), abs=1e-6)


@given(lattices())
def test_marginals_are_the_summed_chances_of_all_sequences(lattice: tuple[Floats, Floats]) -> None:
    (emissions,), transitions = lattice
    sums = every_sequence(emissions, transitions)
    highest = max(sums.values())
    chances = np.zeros(emissions.shape)
    for labels, value in sums.items():
        chances[range(len(labels)), labels] += np.exp(value - highest)
    chances /= chances.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(marginals(emissions, transitions)), chances, rtol=1e-6, atol=1e-12)


@given(lattices(sequences=3))
def test_lattice_of_many_sequences_is_each_of_them_alone(lattice: tuple[Floats, Floats]) -> None:
    emissions, transitions = lattice
    best, logs = viterbi(emissions, transitions), marginals(emissions, transitions)
    for row, alone in enumerate(emissions):
        assert best[row].tolist() == viterbi(alone, transitions).tolist()
        np.testing.assert_allclose(logs[row], marginals(alone, transitions))


def test_lattice_takes_no_words() -> None:
    assert viterbi(np.zeros((0, 3)), np.zeros((3, 3))).shape == (0,)
    assert marginals(np.zeros((2, 0, 3)), np.zeros((3, 3))).shape == (2, 0, 3)


def test_marginals_without_transitions_are_each_words_own() -> None:
    emissions = np.random.default_rng(1).normal(0, 3, (7, 4))
    chances = np.exp(emissions) / np.exp(emissions).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(marginals(emissions, np.zeros((4, 4)))), chances)
    assert viterbi(emissions, np.zeros((4, 4))).tolist() == emissions.argmax(axis=1).tolist()


def test_marginals_of_a_long_text_stay_finite_and_normalised() -> None:
    rng = np.random.default_rng(1)
    emissions, transitions = rng.normal(1e5, 10, (20_000, 4)).astype(np.float32), rng.normal(0, 5, (4, 4))
    logs = marginals(emissions, transitions)
    assert np.isfinite(logs).all()
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1, atol=1e-9)
    # What stands far away does not count: the middle of the text alone has the same middle.
    np.testing.assert_allclose(
        np.exp(logs[9_950:10_050]), np.exp(marginals(emissions[9_000:11_000], transitions)[950:1_050]), atol=1e-9
    )
    best = viterbi(emissions, transitions)
    assert best[9_950:10_050].tolist() == viterbi(emissions[9_000:11_000], transitions)[950:1_050].tolist()


def test_settled_leaves_plain_scores_alone() -> None:
    scores = Scores({"mark": np.log(np.full((3, 2), 0.5, dtype=np.float32))})
    assert settled([scores])[0] is scores


def test_settled_gives_marginals_and_the_best_labels_of_a_lattices_tasks() -> None:
    rng = np.random.default_rng(1)
    emissions, transitions = rng.normal(0, 1, (4, 3)).astype(np.float32), rng.normal(0, 2, (3, 3)).astype(np.float32)
    plain = np.log(np.full((4, 2), 0.5, dtype=np.float32))
    found = settled([Scores({"mark": emissions, "case": plain}, {"mark": transitions})])[0]
    sums = every_sequence(emissions, transitions)
    assert tuple(found.best["mark"].tolist()) == max(sums, key=lambda labels: sums[labels])
    np.testing.assert_allclose(found.tasks["mark"], marginals(emissions, transitions), rtol=1e-6)
    assert found.tasks["case"] is plain
    assert not found.transitions
    assert found.tasks["mark"].dtype == np.float32
    assert "case" not in found.best


# Two words between "," and ".": the likeliest sequence is (",", ""), yet the second word alone is likelier a ".".
MARKS = ("", ",", ".")
TOGETHER = np.log(np.array([[0.02, 0.58, 0.4], [0.5, 0.02, 0.48], [0.02, 0.02, 0.96]], dtype=np.float32))
STEPS = np.log(np.array([[1, 1, 1], [1, 1, 0.5], [0.01, 1, 1]], dtype=np.float32))


def written(options: DecodeOptions | None = None) -> list[str | None]:
    scores = settled([Scores({"mark": TOGETHER}, {"mark": STEPS})])[0]
    decoder = Decoder(parse_text("so it is"), {"mark": MARKS, "case": CASES}, options=options)
    cases = np.zeros((3, len(CASES)), dtype=np.float32)
    return [word.mark for word in decoder.feed(Scores({**scores.tasks, "case": cases}, {}, scores.best))]


def test_decoder_writes_the_labels_chosen_together() -> None:
    scores = settled([Scores({"mark": TOGETHER}, {"mark": STEPS})])[0]
    sums = every_sequence(TOGETHER, STEPS)
    best = max(sums, key=lambda labels: sums[labels])
    assert best != tuple(scores.tasks["mark"].argmax(axis=1).tolist())  # or this test would show nothing
    assert written() == [MARKS[label] for label in best]


def test_decoder_with_thresholds_or_scales_uses_the_marginals() -> None:
    chances = np.exp(marginals(TOGETHER, STEPS))
    assert written(DecodeOptions(scales={"": 1.0})) == [MARKS[label] for label in chances.argmax(axis=1)]
    just_below = float(chances[1, 2]) - 1e-4
    assert written(DecodeOptions(thresholds={".": just_below}))[1] == "."
    assert written(DecodeOptions(thresholds={".": just_below + 2e-4}))[1] == ""
