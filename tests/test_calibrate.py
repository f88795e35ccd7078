"""Factors on marks' probabilities: that they are the best ones, and that decoding uses what was found."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpunct.errors import InputError
from interpunct.labels import parse_text
from interpunct.models.scores import Scores
from interpunct.train.calibrate import Held, best_scales, found
from interpunct.transcript import Transcript

torch = pytest.importorskip("torch")

import interpunct  # noqa: E402
from interpunct.train.calibrate import calibrate  # noqa: E402


def held(seed: int, places: int = 400) -> Held:
    """Places whose marks are as likely as the probabilities say."""
    random = np.random.default_rng(seed)
    chances = random.dirichlet([4.0, 0.6, 0.4], size=places).astype(np.float32)
    right = np.array([random.choice(3, p=row / row.sum()) for row in chances.astype(np.float64)])
    return Held(chances, right)


def test_f1_is_that_of_the_likeliest_kinds() -> None:
    chances = np.array([[0.5, 0.4, 0.1], [0.2, 0.7, 0.1], [0.6, 0.1, 0.3]], dtype=np.float32)
    some = Held(chances, np.array([1, 1, 0]))
    assert some.f1(np.zeros(3)) == pytest.approx(2 / 3)
    assert some.f1(np.log([0.7, 1, 1])) == 1.0


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000))
def test_factors_found_are_about_the_best_of_a_grid(seed: int) -> None:
    some = [held(seed), held(seed + 1)]
    logs = found(some, 3)

    def mean(tried: Sequence[float]) -> float:
        return float(np.mean([each.f1(np.array(tried)) for each in some]))

    grid = max(mean((0.0, *moved)) for moved in product(np.arange(-1.5, 1.6, 0.5), repeat=2))
    assert mean(logs.tolist()) >= max(grid - 0.02, mean((0.0, 0.0, 0.0)))
    assert logs[0] == 0


class Cautious:
    """Says of every word that a comma follows with 0.4, which is right."""

    name = "cautious 1"
    labels: Any = {"mark": ("", ",", "."), "case": ("lower",)}  # noqa: RUF012
    context = interpunct.load().model.context
    clitics = "joined"

    def forward(self, windows: Sequence[Any]) -> list[Scores]:
        return [
            Scores({
                "mark": np.log(np.tile(np.array([[0.55, 0.4, 0.05]], dtype=np.float32), (len(window.texts), 1))),
                "case": np.zeros((len(window.texts), 1), dtype=np.float32),
            })
            for window in windows
        ]  # fmt: skip


def test_best_scales_make_a_cautious_model_bold() -> None:
    document = Transcript(parse_text("one, two, three, four, five " * 30))
    model: Any = Cautious()
    scales, gain = best_scales(model, [[document]])
    assert gain.before == 0.0
    assert gain.after == pytest.approx(8 / 9)
    assert scales[","] > 0.55 / 0.4
    bold = interpunct.Restorer(model, scales=scales)
    assert bold.restore("one two three").text == "One, two, three."
    with pytest.raises(InputError, match="no words"):
        best_scales(model, [[]])
    with pytest.raises(InputError, match="fewer than 100 marks"):
        best_scales(model, [[Transcript(document.words[:50])]])


def test_calibrate_writes_what_decoding_then_uses(tmp_path: Path, data: Path) -> None:
    import shutil

    from interpunct.restore import find_model

    folder = tmp_path / "model"
    shutil.copytree(find_model("default"), folder)
    description, gain = calibrate(folder, ["esic:dev"])
    assert gain.after >= gain.before
    assert interpunct.load(folder).scales == description.scales
    with pytest.raises(InputError, match="fewer than 100 marks"):
        calibrate(folder, ["esic:dev"], words=10)
    (tmp_path / "p.pack").touch()
    with pytest.raises(InputError, match="packs are for training"):
        calibrate(folder, [str(tmp_path / "p.pack")])
    with pytest.raises(InputError, match=r"iwslt:train is what default .* learned from"):
        calibrate(folder, ["iwslt:train"])
    with pytest.raises(InputError, match="ljspeech:test is for testing"):
        calibrate(folder, ["ljspeech:test"])


def test_best_scales_of_a_model_without_question_marks() -> None:
    model: Any = Cautious()
    document = Transcript(parse_text("one, two? three, four, five, " * 30))
    assert best_scales(model, [[document]])[1].after > 0
