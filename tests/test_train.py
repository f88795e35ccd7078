from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

import interpunct
from interpunct import config
from interpunct.errors import ConfigError, UnknownNameError
from interpunct.export import export
from interpunct.train import TrainConfig, train

RECIPE = Path(__file__).parents[1] / "recipes" / "bundled" / "bigru.toml"
TINY = [
    "train.epochs=60", "train.rate=0.01", "train.average=0.0", "options.vocabulary=200", "options.hidden=32",
    "options.embedding=24", "options.batch=4", "options.dropout=0.0", "options.noise=0.0", "train.device=cpu",
    "data.lexicon_count=1",
]  # fmt: skip
TEXT = "I bought an iPhone in New York, and you? No, I did not. So what did you do? We went home, thanks."


@pytest.fixture
def small_corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The layout of the real corpora, with a text of our own in every split."""
    folder = tmp_path / "data" / "iwslt"
    folder.mkdir(parents=True)
    for split in ("train", "extra", "dev"):
        row = {"id": split, "title": "", "published": None, "start_ms": None, "paragraphs": [TEXT] * 8}
        (folder / f"{split}.jsonl.xz").write_bytes(lzma.compress((json.dumps(row) + "\n").encode()))
    monkeypatch.setenv("INTERPUNCT_DATA", str(tmp_path / "data"))


@pytest.mark.usefixtures("small_corpora")
def test_train_and_export_make_a_model_that_restores(tmp_path: Path) -> None:
    rows: list[dict[str, float]] = []
    train(RECIPE, tmp_path / "model", overrides=TINY, log=rows.append)
    export(tmp_path / "model", tmp_path / "small", int8=True)
    assert rows[-1]["loss"] < 0.5 * rows[0]["loss"]
    restorer = interpunct.load(tmp_path / "small")
    lower = "i bought an iphone in new york and you no i did not so what did you do we went home thanks"
    assert restorer.restore(lower).text == TEXT
    settings = config.load(TrainConfig, tmp_path / "model" / "config.toml")
    assert settings.train.epochs == 60
    card = (tmp_path / "small" / "CARD.md").read_text()
    assert "iwslt:extra" in card
    assert "CC BY-NC-ND" in card
    assert len((tmp_path / "model" / "log.jsonl").read_text().splitlines()) == 60


@pytest.mark.usefixtures("small_corpora")
def test_train_refuses_unknown_names_before_it_starts(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="model type"):
        train(RECIPE, tmp_path / "m", overrides=["model.type=bigrue"])
    with pytest.raises(ConfigError, match=r"did you mean 'hidden'"):
        train(RECIPE, tmp_path / "m", overrides=["options.hiden=3"])
    with pytest.raises(UnknownNameError, match="corpus"):
        train(RECIPE, tmp_path / "m", overrides=['data.train=["ted:train"]'])
    with pytest.raises(UnknownNameError, match="split"):
        train(RECIPE, tmp_path / "m", overrides=['data.train=["iwslt:trian"]'])
    with pytest.raises(UnknownNameError, match="split"):
        train(RECIPE, tmp_path / "m", overrides=['data.dev=["iwslt:devv"]'])
    with pytest.raises(ConfigError, match=r"model\.marks"):
        train(RECIPE, tmp_path / "m", overrides=['model.marks=["", "%"]'])
    with pytest.raises(ConfigError, match="not trained"):
        train(RECIPE, tmp_path / "m", overrides=["model.type=ensemble"])
    with pytest.raises(ConfigError, match="nothing teaches the task 'pos'"):
        train(RECIPE, tmp_path / "m", overrides=['model.tasks=["mark", "pos"]'])
    for override, message in (
        ("model.tasks=[]", "model.tasks is empty"),
        ('data.tags={mark=["gum:dev"]}', "teaches no task"),
        ("options.weights={foo=2.0}", "weighs no task"),
        ('options.vectors=["nowhere.txt"]', "unknown key"),
    ):
        with pytest.raises(ConfigError, match=message):
            train(RECIPE, tmp_path / "m", overrides=[override])
    assert not (tmp_path / "m").exists()
    with pytest.raises(ConfigError, match="CORPUS:SPLIT"):
        train(RECIPE, tmp_path / "m", overrides=['data.train=["iwslt"]'])
