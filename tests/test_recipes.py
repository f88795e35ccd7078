"""Every recipe, run the whole way on a tiny text of our own that it must learn by heart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from figures import figures, means, named_rates
from interpunct.errors import ConfigError, ModelError, UnknownNameError
from interpunct.metrics.evaluate import evaluate
from recipe import Recipe, Row, named, own_tables, recipes
from results_page import write_results
from run import main
from scoring import claims, write_claims
from smoke import learned_by_heart, tiny_data
from testsets import cased_reference, documents
from training import PREDICTIONS, is_complete, train_all


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for all recipes' models: ensembles and students find theirs there."""
    folder = tmp_path_factory.mktemp("recipes")
    with tiny_data(folder / "data"):
        yield folder / "runs"


@pytest.mark.parametrize("name", list(recipes()))
def test_recipe_learns_a_tiny_text_by_heart(name: str, runs: Path) -> None:
    found = learned_by_heart(name, runs)
    assert found
    assert all(f1 >= 0.9 for f1 in found.values()), found


def test_recipe_like_another_takes_all_but_its_rows() -> None:
    known: dict[str, dict[str, Any]] = {
        "a": {"seeds": [1], "options": {"batch": 4, "units": 8}, "smoke": {"train": {"rate": 1e-3}}, "rows": ["A"]},
        "b": {"like": "a", "options": {"units": 9}, "rows": ["B"]},
        "c": {"like": "b", "seeds": [2], "smoke": {"train": {"epochs": 3}}},
    }
    assert own_tables("a", known) == known["a"]
    assert own_tables("b", known) == known["a"] | {"options": {"batch": 4, "units": 9}, "rows": ["B"]}
    assert own_tables("c", known) == {
        "seeds": [2], "options": {"batch": 4, "units": 9}, "smoke": {"train": {"rate": 1e-3, "epochs": 3}},
    }  # fmt: skip


def test_recipe_like_another_of_paper_002_differs_in_its_vectors() -> None:
    word, both = named("self-attention-word"), named("self-attention-word-speech")
    assert both.options == word.options | {"vectors": [*word.options["vectors"], "runs/vectors/speech2vec.txt"]}
    assert (both.train, both.data, both.windows) == (word.train, word.data, word.windows)
    assert [row.title for row in both.rows] == ["Self-attention-word-speech"]


@pytest.mark.parametrize(
    ("likes", "told"),
    [
        ({"a": "b", "b": "c", "c": "b"}, "recipe a: like goes in a circle (a > b > c > b); leave one out"),
        ({"a": "a"}, "recipe a: like goes in a circle (a > a); leave one out"),
        ({"a": "bb", "bbb": None}, "recipe a: like: unknown recipe 'bb'; did you mean 'bbb'? known: a, bbb"),
    ],
)
def test_recipe_like_one_that_cannot_be_is_told_in_a_line(
    likes: dict[str, str | None], told: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lines = [f"[recipes.{name}]\n" + (f'like = "{like}"\n' if like else "") for name, like in likes.items()]
    (tmp_path / "paper.toml").write_text("[base]\n" + "".join(lines))
    monkeypatch.setattr("recipe.HERE", tmp_path)
    with pytest.raises(ConfigError) as error:
        recipes()
    assert str(error.value) == f"{tmp_path / 'paper.toml'}: {told}"


def test_recipe_is_not_trained_again(runs: Path) -> None:
    learned_by_heart("dnn", runs)
    before = (runs / "dnn" / "seed-1" / PREDICTIONS).stat().st_mtime_ns
    learned_by_heart("dnn", runs)
    assert (runs / "dnn" / "seed-1" / PREDICTIONS).stat().st_mtime_ns == before


def test_recipe_tells_which_others_it_needs(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="trained before: ensemble"):
        train_all([named("student", smoke=True)], tmp_path, device="cpu")


def test_run_lists_the_known_recipes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["birnn-jiont"]) == 1
    assert "birnn-joint" in capsys.readouterr().err
    with pytest.raises(UnknownNameError):
        named("nothing")


def test_expected_figures_are_figures_that_recipes_give(runs: Path) -> None:
    """A misspelt figure of a paper would never be compared with anything."""
    for recipe in recipes().values():
        learned_by_heart(recipe.name, runs)
        with np.load(runs / recipe.name / "seed-1" / PREDICTIONS) as arrays:
            for row in recipe.rows:
                given = figures(arrays, recipe, row)
                assert set(row.expected) <= set(given), recipe.name
                assert means([given])


def test_claims_name_rows_that_exist() -> None:
    known = recipes()
    for claim in claims():
        for name, title in (claim.system, claim.baseline):
            assert title in [row.title for row in known[name].rows]


@pytest.mark.usefixtures("runs")
def test_cased_reference_takes_cases_from_the_talks() -> None:
    found = cased_reference()
    assert [word.text for word in found.words] == [word.text for word in documents("test2011")[0].words]
    cases = {word.text: word.case for word in found.words}
    assert (cases["anna"], cases["i"], cases["nasa"], cases["river"], cases["n't"]) == (
        "sentence", "single", "upper", "lower", "lower",
    )  # fmt: skip


@pytest.mark.usefixtures("runs")
def test_named_rates_are_per_cent_with_their_intervals() -> None:
    (talk,) = documents("test2011")
    found = named_rates(evaluate(talk, talk, metrics=["prf", "ser"]), "ref")
    assert found["ref.f1"][0] == 100
    assert found["ref.ser"][0] == 0


def test_results_page_shows_ours_beside_the_papers(tmp_path: Path) -> None:
    recipe: Recipe = named("dnn")
    row = {
        "mean": {"dev.f1": 50.0, "ref.f1": 53.0, "ref.ser": 60.0, "asr.f1": 40.0},
        "intervals": {"ref.f1": [51.0, 55.0], "asr.f1": [38.0, 42.0]},
        "seeds": {"1": {"ref.f1": 52.5}, "2": {"ref.f1": 53.5}},
        "expected": recipe.rows[0].expected,
    }
    facts = {
        "train_seconds": 9.0,
        "predict_seconds": 1.0,
        "windows": {},
        "parameters": 10,
        "device": "x",
        "commit": "y",
    }
    result = {
        "recipe": "dnn", "paper": "001", "note": "", "tests": "ted", "tasks": ["mark"], "command": "c",
        "facts": {"1": facts | {"commit": "y", "date": "2026-01-01"}}, "rows": {"DNN": row},
    }  # fmt: skip
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "dnn.json").write_text(json.dumps(result))
    write_results(tmp_path)
    page = (tmp_path / "RESULTS.md").read_text()
    (line,) = (line for line in page.splitlines() if line.startswith("| DNN | dnn |"))
    assert "| 53.0 | 52.5, 53.5 | 51.0–55.0 | 53.8 |" in line
    assert line.endswith("| Ref F1 yes / ASR F1 no |")


def test_claims_that_cannot_be_tested_now_stay(tmp_path: Path) -> None:
    titles = [claim.title for claim in claims()]
    old = [{"claim": titles[1], "set": "dev", "p": [0.5]}, {"claim": "gone", "set": "dev", "p": [0.1]}]
    (tmp_path / "claims.json").write_text(json.dumps(old))
    write_claims([{"claim": titles[0], "set": "dev2012", "p": [0.2]}], tmp_path / "claims.json")
    found = json.loads((tmp_path / "claims.json").read_text())
    assert [each["p"] for each in found] == [[0.2], [0.5]]


def test_recipe_that_changed_is_trained_again(runs: Path) -> None:
    recipe = named("dnn", smoke=True)
    learned_by_heart("dnn", runs)
    assert is_complete(recipe, 1, runs)
    assert not is_complete(replace(recipe, train=replace(recipe.train, rate=1e-4)), 1, runs)
    assert not is_complete(replace(recipe, rows=(*recipe.rows, Row("another"))), 1, runs)
    assert not is_complete(recipe, 2, runs)
