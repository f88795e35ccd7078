"""The models that come in the wheel: each loads, restores, and is as large and as able as its card says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import interpunct
from interpunct.cases import CASES
from interpunct.labels import MARKS
from interpunct.models import Description
from interpunct.restore import bundled_models

LARGEST_MB = {"default": 35, "fast": 5}
TEXT = "so how are you i am fine thanks my name is anna and i come from new york"

every_model = pytest.mark.parametrize("folder", bundled_models(), ids=lambda folder: folder.name)


def test_bundled_models_are_those_that_have_a_limit() -> None:
    assert {folder.name for folder in bundled_models()} == set(LARGEST_MB)


@every_model
def test_bundled_model_restores_and_keeps_the_words(folder: Path) -> None:
    restored = interpunct.load(folder.name, threads=1).restore(TEXT)
    assert [word.text.lower() for word in restored.words] == TEXT.split()
    assert restored.text.startswith("So how are you? ")
    assert restored.text.endswith(".")
    assert " I " in restored.text
    assert len(restored.sentences) > 1


@every_model
def test_bundled_model_has_a_card_of_its_name_and_version(folder: Path) -> None:
    description = Description.load(folder)
    assert description.name == folder.name
    first, *_ = (folder / "CARD.md").read_text(encoding="utf-8").splitlines()
    assert first == f"# {description.name} {description.version}"


@every_model
def test_bundled_model_is_small_enough(folder: Path) -> None:
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert size / 1e6 <= LARGEST_MB[folder.name]


@every_model
def test_bundled_model_knows_all_marks_and_cases(folder: Path) -> None:
    labels = Description.load(folder).labels
    assert set(labels["mark"]) == set(MARKS) == {"", *",.?!:;—"}
    assert set(labels["case"]) == set(CASES)
    assert len(CASES) == 5


@every_model
def test_bundled_model_names_no_corpus_twice(folder: Path) -> None:
    counts = Counter(Description.load(folder).trained_on)
    assert counts
    assert [name for name, count in counts.items() if count > 1] == []
