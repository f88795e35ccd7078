"""Writing labels one after another, against enumeration and against beam search over plain lists."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product

import numpy as np
import pytest

from interpunct.decode.steps import write
from interpunct.decode.windows import scored
from interpunct.features import Features
from interpunct.models.model import Clitics, Context, Scorer, Steps, Writer
from interpunct.models.scores import Array, Ints, Scores

LABELS = {"mark": ("", ",", ".")}
LENGTHS = [4, 1, 3]
Labels = tuple[int, ...]


@cache
def _logs(seed: int, size: int, window: int, before: Labels) -> Array:
    chances = np.random.default_rng([seed, window, len(before), *before]).dirichlet(np.full(size, 0.7))
    return np.log(chances + 1e-6).astype(np.float32)


class Language:
    """A random language: how likely a label is depends on the window and on all labels before it."""

    def __init__(self, seed: int, size: int = 3) -> None:
        self.seed = seed
        self.size = size
        self.rows: list[tuple[int, Labels]] = []
        self.calls = 0

    def logs(self, window: int, before: Labels) -> Array:
        return _logs(self.seed, self.size, window, before)

    def step(self, parents: Ints, labels: Ints) -> Array:
        if self.calls:
            old = self.rows
            self.rows = [
                (old[parent][0], (*old[parent][1], label))
                for parent, label in zip(parents.tolist(), labels.tolist(), strict=True)
            ]
        else:
            self.rows = [(parent, ()) for parent in parents.tolist()]
        self.calls += 1
        return np.stack([self.logs(window, before) for window, before in self.rows])

    def total(self, window: int, labels: Labels) -> float:
        return sum(float(self.logs(window, labels[:place])[label]) for place, label in enumerate(labels))

    def greedy(self, window: int, length: int) -> Labels:
        labels: Labels = ()
        for _ in range(length):
            labels += (int(self.logs(window, labels).argmax()),)
        return labels

    def best(self, window: int, length: int) -> Labels:
        return max(product(range(self.size), repeat=length), key=lambda labels: self.total(window, labels))

    def beam(self, window: int, length: int, width: int) -> Labels:
        kept: list[Labels] = [()]
        for _ in range(length):
            longer = [(*labels, label) for labels in kept for label in range(self.size)]
            kept = sorted(longer, key=lambda labels: -self.total(window, labels))[:width]
        return kept[0]


def chosen(found: Scores) -> Labels:
    return tuple(found.best["mark"].tolist())


seeds = pytest.mark.parametrize("seed", range(20))


@seeds
def test_write_with_one_beam_takes_the_likeliest_label_each_time(seed: int) -> None:
    language = Language(seed)
    found = write(language, LENGTHS, LABELS)
    assert [chosen(scores) for scores in found] == [language.greedy(w, length) for w, length in enumerate(LENGTHS)]


@seeds
def test_write_with_a_wide_beam_finds_the_best_sequence_of_all(seed: int) -> None:
    language = Language(seed)
    found = write(language, LENGTHS, LABELS, beam=27)
    assert [chosen(scores) for scores in found] == [language.best(w, length) for w, length in enumerate(LENGTHS)]


@seeds
@pytest.mark.parametrize("beam", [2, 4])
def test_write_with_a_narrow_beam_keeps_the_best_on_the_way(seed: int, beam: int) -> None:
    language = Language(seed)
    lengths = [6, 2, 5]
    found = write(language, lengths, LABELS, beam=beam)
    assert [chosen(scores) for scores in found] == [language.beam(w, n, beam) for w, n in enumerate(lengths)]


def test_write_with_a_beam_differs_from_greedy_somewhere() -> None:
    """Otherwise the tests above would not tell the two apart."""
    languages = [Language(seed) for seed in range(20)]
    assert any(language.greedy(0, 4) != language.best(0, 4) for language in languages)
    assert any(language.beam(0, 6, 2) != language.greedy(0, 6) for language in languages)
    assert any(language.beam(0, 6, 2) != language.best(0, 6) for language in languages)


@pytest.mark.parametrize("beam", [1, 3, 27])
def test_write_gives_the_probabilities_in_view_of_the_labels_written(beam: int) -> None:
    language = Language(5)
    for window, scores in enumerate(write(language, LENGTHS, LABELS, beam=beam)):
        labels = chosen(scores)
        expected = [language.logs(window, labels[:place]) for place in range(LENGTHS[window])]
        np.testing.assert_allclose(scores.tasks["mark"], np.stack(expected), atol=1e-5)
        np.testing.assert_allclose(np.exp(scores.tasks["mark"]).sum(axis=1), 1, atol=1e-4)
        assert scores.chosen("mark").tolist() == list(labels)


@pytest.mark.parametrize("beam", [1, 4])
def test_write_takes_a_label_of_several_tasks_apart(beam: int) -> None:
    labels = {"mark": ("", ",", "."), "case": ("lower", "upper")}
    language, single = Language(2, size=6), Language(2, size=6)
    found = write(language, LENGTHS, labels, beam=beam)
    joint = write(single, LENGTHS, {"mark": tuple("abcdef")}, beam=beam)
    for both, one in zip(found, joint, strict=True):
        assert both.best["mark"].tolist() == [label // 2 for label in chosen(one)]
        assert both.best["case"].tolist() == [label % 2 for label in chosen(one)]
        chances = np.exp(one.tasks["mark"])
        marks = np.stack([chances[:, 0] + chances[:, 1], chances[:, 2] + chances[:, 3], chances[:, 4] + chances[:, 5]])
        np.testing.assert_allclose(np.exp(both.tasks["mark"]), marks.T, atol=1e-6)
        cases = np.stack([chances[:, ::2].sum(axis=1), chances[:, 1::2].sum(axis=1)])
        np.testing.assert_allclose(np.exp(both.tasks["case"]), cases.T, atol=1e-6)


@pytest.mark.parametrize("beam", [1, 27])
def test_write_does_not_mix_windows(beam: int) -> None:
    together = write(Language(3), LENGTHS, LABELS, beam=beam)

    class Only(Language):
        """One window of the language."""

        def __init__(self, window: int) -> None:
            super().__init__(3)
            self.window = window

        def logs(self, _window: int, before: Labels) -> Array:
            return super().logs(self.window, before)

    for window, length in enumerate(LENGTHS):
        (alone,) = write(Only(window), [length], LABELS, beam=beam)
        assert chosen(alone) == chosen(together[window])


def test_write_takes_as_many_steps_as_the_longest_window_has_words() -> None:
    language = Language(1)
    write(language, LENGTHS, LABELS, beam=2)
    assert language.calls == 4
    assert write(Language(1), [], LABELS) == []


class Writing:
    """A model that writes, and could score, too."""

    name = "writing 0"
    labels = LABELS
    context = Context(4, restart=True)
    clitics: Clitics = "joined"

    def steps(self, windows: Sequence[Features]) -> Steps:
        assert [len(window) for window in windows] == LENGTHS
        return Language(4)

    def forward(self, windows: Sequence[Features]) -> list[Scores]:
        raise AssertionError(f"decoding must write the labels of {len(windows)} windows")


def test_scored_writes_where_a_model_can_with_the_beam_asked_for() -> None:
    model, language = Writing(), Language(4)
    assert isinstance(model, Writer)
    assert isinstance(model, Scorer)
    windows = [Features(("a",) * length) for length in LENGTHS]
    for beam, expected in ((1, language.greedy), (27, language.best)):
        found = scored(model, windows, beam=beam)
        assert [chosen(scores) for scores in found] == [expected(w, length) for w, length in enumerate(LENGTHS)]
    assert scored(model, []) == []
