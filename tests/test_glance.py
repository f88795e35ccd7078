"""A trained transformer with a glance that was fitted, its layers as they were."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch

import glance
from interpunct.cases import CASES
from interpunct.errors import ModelError
from interpunct.labels import MARKS, parse_text
from interpunct.models import load
from interpunct.models.folder import save_lexicon
from interpunct.models.loop_options import LoopOptions
from interpunct.models.transformer import Transformer
from interpunct.train.glance import fitted, with_glance
from interpunct.train.pack import Pack
from interpunct.transcript import Transcript

LABELS = {"mark": MARKS, "case": CASES}
TEXT = "So how are you? I am fine, thanks. My name is Anna, and I live in New York. Where do you live? "
TINY: dict[str, Any] = {
    "vocabulary": 80, "width": 16, "heads": 2, "layers": 3, "inner": 32, "positions": 40, "window": 32, "overlap": 8,
    "batch": 4, "dropout": 0.0, "attention_dropout": 0.0, "noise": 0.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def pack() -> Pack:
    return Pack.of([Transcript(parse_text(TEXT * 6)), Transcript(parse_text(TEXT * 5))])


@pytest.fixture(scope="module")
def learned(pack: Pack) -> Transformer:
    """A model that knows its text."""
    model = Transformer.create(name="tiny", version="1", labels=LABELS, options=TINY, words=pack.texts())
    encoded = pack.encoded(model.vocabulary, model.labels)
    return model.fit(encoded, encoded, loop=LoopOptions(epochs=60, rate=5e-3, seed=1, device="cpu"), log=lambda _: None)


def test_glance_tells_what_the_layers_above_it_say(learned: Transformer, pack: Pack) -> None:
    model = with_glance(learned, pack, layers=2, doubted=10)
    assert (model.options.glance, model.options.doubted) == (2, 10)
    whole, quick = learned.network.state_dict(), model.network.state_dict()
    assert all(torch.equal(value, quick[name]) for name, value in whole.items())
    said, wanted = (each.chances(pack.encoded(each.vocabulary, each.labels)) for each in (model, learned))
    for task in LABELS:
        assert (said[task].argmax(axis=1) == wanted[task].argmax(axis=1)).mean() > 0.95
    # Branches that nobody fitted tell nothing like it.
    with torch.no_grad():
        for branch in cast(Any, model.network).glances.values():
            branch.weight.normal_(generator=torch.Generator().manual_seed(1))
    said = model.chances(pack.encoded(model.vocabulary, model.labels))
    assert (said["mark"].argmax(axis=1) == wanted["mark"].argmax(axis=1)).mean() < 0.6


def test_all_places_looked_at_again_give_what_the_whole_gives(learned: Transformer, pack: Pack) -> None:
    model = with_glance(learned, pack, layers=1, doubted=100)
    said, wanted = (each.chances(pack.encoded(each.vocabulary, each.labels)) for each in (model, learned))
    for task in LABELS:
        np.testing.assert_allclose(said[task], wanted[task], atol=2e-3)


def test_fitted_branch_tells_the_probabilities_that_states_hold() -> None:
    generator = torch.Generator().manual_seed(1)
    states = torch.randn(4000, 6, generator=generator) * torch.tensor([0.1, 1, 5, 1, 1, 20]) + 3
    weight, bias = torch.randn(4, 6, generator=generator) * torch.tensor([5, 1, 0.2, 0, 1, 0.05]), torch.randn(4)
    chances = torch.softmax(states @ weight.T + bias, dim=-1)
    branch = fitted(states, chances)
    with torch.no_grad():
        told = torch.softmax(branch(states), dim=-1)
    assert (told - chances).abs().mean() < 0.01


def test_model_that_glances_already_is_refused(learned: Transformer, pack: Pack) -> None:
    model = with_glance(learned, pack, layers=1, doubted=30)
    with pytest.raises(ModelError, match="tiny 1 glances already"):
        with_glance(model, pack, layers=2, doubted=30)


def test_command_writes_a_model_that_glances(
    learned: Transformer,
    pack: Pack,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    learned.save(tmp_path / "whole")
    save_lexicon({"iphone": "iPhone"}, tmp_path / "whole")
    pack.save(tmp_path / "text.pack")
    packs = ["--packs", str(tmp_path / "text.pack")]
    ways = ["glance.py", str(tmp_path / "whole"), "-o", str(tmp_path / "quick"), *packs, "--layers", "1"]
    monkeypatch.setattr(sys, "argv", [*ways, "--words", "150"])
    assert glance.main() == 0
    assert "a glance of 1 layers" in capsys.readouterr().out
    model: Any = load(tmp_path / "quick")
    assert (model.options.glance, model.options.doubted) == (1, 25)
    assert (tmp_path / "quick" / "lexicon.txt").read_text() == "iPhone\n"
    for given, why in (
        ([*ways, "--words", "3"], "ask for more with --words"),
        ([*ways, "--layers", "3"], "glance 3"),
        ([*ways[:3], ways[1], *packs], "be written over"),
    ):
        monkeypatch.setattr(sys, "argv", given)
        assert glance.main() == 1
        assert why in capsys.readouterr().err
