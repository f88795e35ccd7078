"""Eq. 10-12 against all sequences, and tuning on dev against trying one candidate after another."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpunct.decode.viterbi import SCALES, Document, Transitions, tune
from interpunct.errors import InputError
from interpunct.models.encoded import IGNORED

Floats = npt.NDArray[Any]
MARKS = ("", ".")


def log_rows(rng: np.random.Generator, places: int, labels: int = 2) -> npt.NDArray[np.float32]:
    """Log-probabilities of places, some of them sure."""
    values = rng.normal(0, 3, (places, labels))
    logs: npt.NDArray[np.float32] = (values - np.log(np.exp(values).sum(axis=1, keepdims=True))).astype(np.float32)
    return logs


def sequence_score(logs: Floats, transitions: Transitions, labels: tuple[int, ...]) -> float:
    """Eq. 3 with its logarithm taken, term by term."""
    total = float(transitions.prior[labels[0]])
    total += sum(float(transitions.scores[a, b]) for a, b in pairwise(labels))
    return total + sum(float(logs[place, y]) - float(transitions.prior[y]) for place, y in enumerate(labels))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Floats, Transitions]:
    places, labels = draw(st.integers(1, 6)), draw(st.integers(2, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    prior = np.log(rng.dirichlet(np.ones(labels)) + 1e-3)
    return log_rows(rng, places, labels), Transitions(prior, rng.normal(0, 2, (labels, labels)))


@given(cases())
def test_best_labels_are_the_best_of_all_sequences(case: tuple[Floats, Transitions]) -> None:
    logs, transitions = case
    everything = product(range(logs.shape[1]), repeat=len(logs))
    scores = {labels: sequence_score(logs, transitions, labels) for labels in everything}
    found = scores[tuple(transitions.best(logs).tolist())]
    assert found == pytest.approx(max(scores.values()), abs=1e-5)


@given(cases())
def test_transitions_that_do_not_count_leave_each_place_its_likeliest_label(case: tuple[Floats, Transitions]) -> None:
    logs, transitions = case
    assert transitions.scaled(0.0).best(logs).tolist() == logs.argmax(axis=1).tolist()
    np.testing.assert_allclose(transitions.scaled(1.0).scores, transitions.scores)


def test_best_takes_a_document_without_places() -> None:
    transitions = Transitions(np.log([0.9, 0.1]), np.zeros((2, 2)))
    assert transitions.best(np.zeros((0, 2), dtype=np.float32)).tolist() == []


def test_transitions_are_counted_and_words_of_unknown_label_left_out() -> None:
    documents = [np.array([0, 0, 1, 0]), np.array([0, IGNORED, 1]), np.array([1])]
    found = Transitions.learn(documents, 2)
    np.testing.assert_allclose(np.exp(found.prior), [5 / 9, 4 / 9])  # 4 and 3, and one of each
    np.testing.assert_allclose(np.exp(found.scores), [[2 / 4, 2 / 4], [2 / 3, 1 / 3]])


def su_errors(transitions: Transitions, dev: list[Document]) -> int:
    """Count wrong places one by one."""
    wrong = 0
    for document in dev:
        for label, found in zip(document.labels, transitions.best(document.logs), strict=True):
            wrong += bool(label != IGNORED and label != found)
    return wrong


def chain(rng: np.random.Generator, places: int) -> npt.NDArray[np.int64]:
    """Labels of which no two next to one another are sentence ends."""
    labels = np.zeros(places, dtype=np.int64)
    for place in range(1, places):
        labels[place] = int(labels[place - 1] == 0 and rng.random() < 0.4)
    return labels


def noisy(rng: np.random.Generator, labels: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
    """What a poor model says of labels."""
    logit = np.where(labels == 1, 0.7, -0.7) + rng.normal(0, 1.2, len(labels))
    return -np.logaddexp(0.0, np.stack([logit, -logit], axis=1)).astype(np.float32)


def test_tune_finds_transitions_that_are_better_on_dev() -> None:
    rng = np.random.default_rng(1)
    train = [chain(rng, 300) for _ in range(4)]
    dev = [Document(noisy(rng, labels), labels) for labels in (chain(rng, 250), chain(rng, 90), chain(rng, 1))]
    start = Transitions.learn(train, 2)
    tuned = tune(start, dev, MARKS)
    reference = sum(int(document.labels.sum()) for document in dev)
    assert tuned.error == pytest.approx(su_errors(tuned.transitions, dev) / reference)
    first = min(su_errors(start.scaled(scale), dev) for scale in SCALES)
    assert su_errors(tuned.transitions, dev) <= first < su_errors(start.scaled(0.0), dev)
    # What it found is of use on text that it has not seen.
    held_out = [Document(noisy(rng, labels), labels) for labels in (chain(rng, 1000), chain(rng, 1000))]
    assert su_errors(tuned.transitions, held_out) < su_errors(start.scaled(0.0), held_out)


def test_tune_takes_dev_without_sentence_ends_and_unknown_labels() -> None:
    start = Transitions.learn([np.array([0, 1, 0])], 2)
    nothing = tune(start, [], MARKS)
    assert nothing.error is None
    labels = np.array([0, IGNORED, 0])
    logs = np.log(np.array([[0.9, 0.1], [0.1, 0.9], [0.8, 0.2]], dtype=np.float32))
    found = tune(start, [Document(logs, labels)], MARKS)
    assert found.error is None
    assert su_errors(found.transitions, [Document(logs, labels)]) == 0


def test_tune_counts_sentence_ends_only() -> None:
    """A comma for nothing is no error, a full stop for a question mark neither."""
    marks = ("", ",", ".", "?")
    logs = np.log(np.full((3, 4), 0.02, dtype=np.float32) + np.eye(4, dtype=np.float32)[[1, 2, 0]] * 0.92)
    alike = Transitions(np.log(np.full(4, 0.25)), np.log(np.full((4, 4), 0.25)))
    found = tune(alike, [Document(logs, np.array([0, 3, 1]))], marks)
    assert found.error == 0.0


def test_transitions_survive_their_file_and_a_broken_one_is_named(tmp_path: Path) -> None:
    transitions = Transitions(np.log([0.9, 0.1]), np.array([[0.5, -1.25], [2.0, -30.0]]))
    transitions.save(tmp_path / "t.json")
    again = Transitions.load(tmp_path / "t.json")
    assert np.array_equal(again.prior, transitions.prior)
    assert np.array_equal(again.scores, transitions.scores)
    (tmp_path / "t.json").write_text('{"prior": [0.5]}')
    with pytest.raises(InputError, match=r"t\.json.*tune them again"):
        Transitions.load(tmp_path / "t.json")
    with pytest.raises(InputError, match="labels²"):
        Transitions(np.zeros(2), np.zeros((2, 3)))
