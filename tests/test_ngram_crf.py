"""The n-gram CRF: its features, its probabilities against enumeration, its folder. The contract is in test_models."""

from __future__ import annotations

import gzip
import itertools
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
import pytest

from interpunct import models
from interpunct.errors import ConfigError, InputError, ModelError
from interpunct.features import Features
from interpunct.labels import parse_text
from interpunct.models.loop_options import LoopOptions
from interpunct.models.ngram_crf import NgramCRF, NgramCRFOptions, crfsuite_label, ngrams
from interpunct.restore import Restorer
from interpunct.transcript import Transcript

TEXT = "So how are you? I am fine, thanks. I don't know, but she does. Are you there?"
MARKS = ("", ",", ".", "?")
LABELS = {"mark": MARKS, "case": ("lower", "sentence", "single")}


def created(labels: dict[str, tuple[str, ...]] | None = None, **options: Any) -> NgramCRF:
    chosen = {"least": 1, "c2": 0.1} | options
    return NgramCRF.create(name="tiny", version="1", labels=labels or LABELS, options=chosen, words=())


def taught(
    model: NgramCRF, text: str = TEXT, *, epochs: int = 20, seed: int = 1, rows: list[dict[str, float]] | None = None
) -> NgramCRF:
    data = model.encode([Transcript(parse_text(text))])
    noted: list[dict[str, float]] = [] if rows is None else rows
    return model.fit(data, data, loop=LoopOptions(epochs=epochs, seed=seed), log=noted.append)


@pytest.fixture(scope="module")
def model() -> NgramCRF:
    return taught(created())


def slow_features(texts: list[str], place: int, window_words: int, order: int) -> set[str]:
    """Say each n-gram's places and words one by one."""
    reach = window_words // 2
    found = set()
    for first in range(-reach, reach + 1):
        for last in range(first, min(first + order - 1, reach) + 1):
            words = []
            for offset in range(first, last + 1):
                at = place + offset
                words.append("<s>" if at < 0 else "</s>" if at >= len(texts) else texts[at])
            places = ",".join(str(offset) for offset in range(first, last + 1))
            found.add(f"{places}={' '.join(words)}")
    return found


@pytest.mark.parametrize(("window_words", "order"), [(1, 1), (3, 1), (3, 3), (7, 2), (7, 3)])
@pytest.mark.parametrize("count", [1, 2, 9])
def test_ngrams_are_those_of_the_window(window_words: int, order: int, count: int) -> None:
    texts = "so how are you i am fine thanks bob".split()[:count]
    found = list(ngrams(texts, window_words=window_words, order=order))
    assert len(found) == count
    for place, features in enumerate(found):
        assert set(features) == slow_features(texts, place, window_words, order)
        assert len(features) == len(set(features)) == sum(window_words - size for size in range(order))


def test_ngrams_say_where_a_text_begins_and_ends() -> None:
    first, middle, last = ngrams(["so", "", "x" * 5000], window_words=7, order=2)
    assert {
        "-3=<s>",
        "-1=<s>",
        "0=so",
        "1=",
        "3=</s>",
        "-2,-1=<s> <s>",
        "-1,0=<s> so",
        "2,3=" + "x" * 40 + " </s>",
    } <= {*first}
    assert {"-1=so", "0=", "-1,0=so ", "-2,-1=<s> so"} <= {*middle}
    assert {"0=" + "x" * 40, "1=</s>", "0,1=" + "x" * 40 + " </s>", "-3=<s>"} <= {*last}


def enumerated(model: NgramCRF, task: str, texts: list[str]) -> tuple[np.ndarray[Any, Any], list[int]]:
    """Sum over all sequences of labels with the weights that CRFsuite prints."""
    tagger = pycrfsuite.Tagger()
    tagger.open_inmemory(model.chains[task].data)
    weights = tagger.info()
    names = [crfsuite_label(label) for label in model.labels[task]]
    features = list(ngrams(texts, window_words=model.options.window_words, order=model.options.order))
    known = [place for place, name in enumerate(names) if name in weights.labels]
    chances = np.zeros((len(texts), len(names)))
    totals: dict[tuple[int, ...], float] = {}
    for labels in itertools.product(known, repeat=len(texts)):
        total = sum(
            weights.state_features.get((feature, names[label]), 0.0)
            for label, row in zip(labels, features, strict=True)
            for feature in row
        )
        total += sum(weights.transitions.get((names[a], names[b]), 0.0) for a, b in itertools.pairwise(labels))
        totals[labels] = total
        for word, label in enumerate(labels):
            chances[word, label] += np.exp(total)
    return chances / chances.sum(axis=1, keepdims=True), list(max(totals.items(), key=lambda item: item[1])[0])


@pytest.mark.parametrize("task", ["mark", "case"])
@pytest.mark.parametrize("text", ["how are you", "you fine thanks", "i", "xyzzy know but"])
def test_scores_are_those_of_all_sequences_summed(model: NgramCRF, task: str, text: str) -> None:
    chances, best = enumerated(model, task, text.split())
    (scores,) = model.forward([Features.of(text.split())])
    np.testing.assert_allclose(np.exp(scores.tasks[task]), chances, atol=1e-4)
    assert scores.best[task].tolist() == best
    assert scores.tasks[task].dtype == np.float32


def test_best_labels_are_chosen_together() -> None:
    """Of ten texts four have both marks: the commonest sequence, though six have no mark after their first word."""
    texts = ["a, b."] * 4 + ["a b"] * 3 + ["a b?"] * 3
    model = created({"mark": MARKS}, window_words=1, order=1, c2=1e-3)
    data = model.encode([Transcript(parse_text(text)) for text in texts])
    model.fit(data, data, loop=LoopOptions(epochs=100), log=lambda _: None)
    (scores,) = model.forward([Features(("a", "b"))])
    assert [MARKS[label] for label in scores.best["mark"]] == [",", "."]
    assert MARKS[scores.tasks["mark"][0].argmax()] == ""
    np.testing.assert_allclose(np.exp(scores.tasks["mark"][0]), [0.6, 0.4, 0, 0], atol=0.02)


def test_label_that_was_never_shown_gets_no_probability() -> None:
    (scores,) = taught(created({"mark": (*MARKS, "!")})).forward([Features(("so", "what"))])
    chances = np.exp(scores.tasks["mark"])
    np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-6)
    assert (chances[:, 4] < 1e-9).all()


def test_word_of_unknown_label_cuts_the_sequence_and_is_still_seen() -> None:
    """What CRFsuite learns is what it learns from the two halves, whose features look across the cut."""
    words = parse_text(TEXT)
    cut = 5
    unknown = tuple(replace(word, mark=None) if place == cut else word for place, word in enumerate(words))
    model = created({"mark": MARKS}, clitics="joined", sequence=4)
    data = model.encode([Transcript(unknown)])
    model.fit(data, data, loop=LoopOptions(epochs=7), log=lambda _: None)
    trainer = pycrfsuite.Trainer("lbfgs", verbose=False)
    trainer.set_params({"c2": 0.1, "max_iterations": 7, "feature.minfreq": 1})
    features = list(ngrams(Features.of(word.text for word in words).texts, window_words=7, order=2))
    labels = [crfsuite_label(word.mark or "") for word in words]
    for begin, stop in ((0, 4), (4, 5), (6, 10), (10, 14), (14, len(words))):
        trainer.append(features[begin:stop], labels[begin:stop])
    assert 14 < len(words) <= 18
    assert model.chains["mark"].data == trained_bytes(trainer)


def trained_bytes(trainer: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(f"{folder}/model")
        return Path(f"{folder}/model").read_bytes()


def test_fit_without_any_known_case_learns_marks_alone(tmp_path: Path) -> None:
    words = tuple(replace(word, case=None) for word in parse_text(TEXT))
    model = created(clitics="joined")  # of a word that is split, the case of the last part is always known
    data = model.encode([Transcript(words)])
    rows: list[dict[str, float]] = []
    model.fit(data, data, loop=LoopOptions(epochs=20), log=rows.append)
    assert rows[-1]["mark_f1"] == 1
    model.save(tmp_path / "m")
    for one in (model, models.load(tmp_path / "m")):
        (scores,) = one.forward([Features(("so", "what"))])  # type: ignore[attr-defined]
        np.testing.assert_allclose(np.exp(scores.tasks["case"]), 1 / 3, atol=1e-6)


def test_model_that_has_not_learned_finds_all_labels_alike(tmp_path: Path) -> None:
    rows: list[dict[str, float]] = []
    model = taught(created(), epochs=0, rows=rows)
    model.save(tmp_path / "m")
    assert rows == []
    (scores,) = NgramCRF.load(tmp_path / "m").forward([Features(("so", "what"))])
    np.testing.assert_allclose(np.exp(scores.tasks["mark"]), 0.25, atol=1e-6)
    assert scores.best["mark"].tolist() == [0, 0]


def test_fit_tells_what_it_reached_once() -> None:
    rows: list[dict[str, float]] = []
    taught(created(), epochs=20, rows=rows)
    (row,) = rows
    assert {*row} == {"epoch", "loss", "dev", "mark_f1", "mark_ser", "case_f1", "case_ser", "seconds"}
    assert (row["mark_f1"], row["case_f1"], row["mark_ser"]) == (1, 1, 0)
    assert 0 < row["epoch"] <= 20


def test_fit_takes_iterations_from_its_options_before_the_loop() -> None:
    rows: list[dict[str, float]] = []
    taught(created(iterations=3), epochs=20, rows=rows)
    assert rows[0]["epoch"] == 3


def test_fit_needs_words() -> None:
    model = created()
    data, nothing = model.encode([Transcript(parse_text(TEXT))]), model.encode([])
    with pytest.raises(InputError, match="no words in the train corpora"):
        model.fit(nothing, data, loop=LoopOptions(), log=lambda _: None)
    with pytest.raises(InputError, match="no words in the dev corpora"):
        model.fit(data, nothing, loop=LoopOptions(), log=lambda _: None)


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
def test_fit_learns_the_same_from_the_same_seed(algorithm: str) -> None:
    one, two, other = (
        taught(created(algorithm=algorithm, sequence=3), epochs=3, seed=seed).chains["mark"].data for seed in (1, 1, 2)
    )
    assert one == two
    assert (one == other) == (algorithm == "lbfgs")


def test_windows_teach_that_their_ends_are_no_ends_of_texts() -> None:
    """Of a model that sees 4 words at once, the feature "begin" stands at every fourth word, in training as later."""
    windowed = taught(created({"mark": MARKS}, context="overlap", window=4, overlap=2, clitics="joined"))
    trainer = pycrfsuite.Trainer("lbfgs", verbose=False)
    trainer.set_params({"c2": 0.1, "max_iterations": 20, "feature.minfreq": 1})
    words = parse_text(TEXT)
    for first in range(0, len(words), 4):
        shown = words[first : first + 4]
        features = list(ngrams(Features.of(word.text for word in shown).texts, window_words=7, order=2))
        trainer.append(features, [crfsuite_label(word.mark or "") for word in shown])
    assert windowed.chains["mark"].data == trained_bytes(trainer)


def test_forward_takes_no_words_empty_words_and_any_word(model: NgramCRF) -> None:
    assert model.forward([]) == []
    none, empty, odd = model.forward([Features(()), Features(("", "")), Features(("x" * 5000, "a b", "ж", "="))])
    assert [len(none), len(empty), len(odd)] == [0, 2, 4]
    for scores in (none, empty, odd):
        np.testing.assert_allclose(np.exp(scores.tasks["mark"]).sum(axis=1), 1, atol=1e-6)


def test_forward_gives_threads_their_own_words(model: NgramCRF) -> None:
    texts = [Features(tuple("so how are you i am fine".split()[start:]) * 60) for start in range(4)]
    alone = [model.forward([text])[0].tasks["mark"] for text in texts]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda text: model.forward([text])[0].tasks["mark"], texts * 4))
    finally:
        sys.setswitchinterval(interval)
    for one, expected in zip(found, alone * 4, strict=True):
        np.testing.assert_array_equal(one, expected)


@pytest.mark.parametrize("context", ["whole", "overlap", "restart"])
def test_restorer_writes_what_the_chain_has_learned(context: str) -> None:
    overlap = 4 if context == "overlap" else 0
    model = taught(created(context=context, window=8, overlap=overlap, order=3, c2=0.01), epochs=60)
    lower = TEXT.lower().replace(",", "").replace(".", "").replace("?", "")
    found = Restorer(model).restore(lower).text
    if context == "whole":
        assert found == TEXT
    assert found.lower().replace(",", "").replace(".", "").replace("?", "") == lower


def _cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def _one_byte_wrong(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def _no_crf(path: Path) -> None:
    path.write_bytes(gzip.compress(b"nothing of the kind"))


def _other_labels(path: Path) -> None:
    path.write_bytes((path.parent / "case.crfsuite.gz").read_bytes())


@pytest.mark.parametrize("harm", [Path.unlink, _cut_off, _one_byte_wrong, _no_crf, _other_labels])
def test_load_says_which_file_is_broken(harm: Callable[[Path], None], model: NgramCRF, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    harm(tmp_path / "m" / "mark.crfsuite.gz")
    with pytest.raises(ModelError, match=r"mark\.crfsuite\.gz"):
        models.load(tmp_path / "m")


def test_load_says_which_option_is_wrong(model: NgramCRF, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    path = tmp_path / "m" / "model.json"
    path.write_text(path.read_text().replace("window_words", "windows_word"))
    with pytest.raises(ModelError, match=r"model\.json.*windows_word"):
        models.load(tmp_path / "m")


@pytest.mark.parametrize(
    "bad",
    [
        {"window_words": 6}, {"window_words": 0}, {"order": 0}, {"order": 9}, {"sequence": 0}, {"least": 0},
        {"iterations": -1}, {"c1": -1.0}, {"algorithm": "sgd"}, {"windows": 3},
    ],
)  # fmt: skip
def test_options_refuse_nonsense(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(bad))):
        created(**bad)


def test_options_are_saved_with_the_model(tmp_path: Path) -> None:
    taught(created(order=3, iterations=2)).save(tmp_path)
    again = NgramCRF.load(tmp_path)
    assert again.options == NgramCRFOptions(least=1, c2=0.1, order=3, iterations=2)
    assert again.clitics == "split"
