"""The permissive default: what its stages learn from, its teacher's first on, may be used commercially."""

from __future__ import annotations

from pathlib import Path

import pytest

from interpunct import config, corpora
from interpunct.train import DataConfig, TrainConfig
from pack import PACKS

RECIPES = Path(__file__).parents[1] / "recipes" / "bundled"
STAGES = sorted(RECIPES.glob("permissive*.toml"))
STORIES = "free-told"


def corpora_of(data: DataConfig) -> set[str]:
    """Return the corpora that a stage learns from; stories are told of packs that its teacher reads, too."""
    specs = [spec for pack in map(Path, data.train) if not pack.stem.startswith(STORIES) for spec in PACKS[pack.stem]]
    return {spec.partition(":")[0] for spec in (*specs, *data.misheard)}


def test_permissive_default_has_its_stages() -> None:
    assert [path.stem for path in STAGES] == ["permissive-teacher-1", "permissive-teacher-2", "permissive"]


@pytest.mark.parametrize("path", STAGES, ids=lambda path: path.stem)
def test_permissive_stage_learns_nothing_that_is_restricted(path: Path) -> None:
    settings = config.load(TrainConfig, path)
    assert corpora_of(settings.data)
    assert not {name for name in corpora_of(settings.data) if corpora.named(name).noncommercial}
    assert (settings.model.start or "runs/permissive").startswith("runs/permissive")
    assert all(Path(folder).name == "permissive" for folder in settings.data.said)
    assert settings.data.teacher is None


def test_stories_of_the_permissive_default_are_told_of_free_text() -> None:
    first = (RECIPES / "permissive-teacher-1.toml").read_text(encoding="utf-8")
    (command,) = [line for line in first.splitlines() if "storyteller.py" in line]
    assert {Path(word).stem for word in command.split() if word.endswith(".pack")} == {"free", "books"}
