"""How much a model knows by heart: what it says of text that it learned from, beside other text."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import by_heart
from interpunct.labels import MARKS, parse_tokens
from interpunct.models import type_named
from interpunct.models.loop_options import LoopOptions
from interpunct.train import distil
from interpunct.train.pack import UNKNOWN, Pack
from interpunct.transcript import Transcript

LEARNED = "Well, I own it: don't you? And here! Forty things, or more."
OTHER = "Own things, you. And more or forty, it: well?"
LABELS = {"mark": MARKS, "case": ("lower", "sentence", "upper", "single", "mixed")}


def pack_of(*texts: str) -> Pack:
    return Pack.of([Transcript(tuple(parse_tokens(text.split()))) for text in texts], sources=["iwslt:train"])


def test_marks_are_compared_by_name_and_in_three_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    pack = pack_of("One, two! three: four. five? six")
    turned = MARKS[::-1]
    said = {"": 0.7, "—": 0.2, ".": 0.1}  # of every word alike, but for the two below
    rows = np.array([[said.get(mark, 0.0) for mark in turned]] * len(pack))
    rows[1] = [1.0 * (mark == ".") for mark in turned]  # two! is a period: right as one of three kinds
    rows[2] = [1.0 * (mark == "?") for mark in turned]
    monkeypatch.setattr(distil, "asked", lambda *_: {"mark": rows.astype(np.float16)})
    model = SimpleNamespace(labels={"mark": turned})
    f1, nats = by_heart.scored(model, pack)
    assert f1 == pytest.approx(2 * 1 / (2 + 5))
    least = -np.log(1e-4)
    assert nats == pytest.approx((least + least + least - np.log(0.1) + least - np.log(0.7)) / 6, abs=1e-3)


def test_words_whose_mark_nobody_knows_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    pack = pack_of("One, two. three")
    pack.tags["mark"][0] = UNKNOWN
    rows = np.eye(len(MARKS), dtype=np.float16)[[MARKS.index(mark) for mark in ("?", ".", "")]]
    monkeypatch.setattr(distil, "asked", lambda *_: {"mark": rows})
    assert by_heart.scored(SimpleNamespace(labels={"mark": MARKS}), pack) == (1.0, 0.0)


def test_command_tells_text_learned_by_heart_from_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    learned, other = pack_of(LEARNED), pack_of(OTHER)
    learned.save(tmp_path / "learned.pack")
    other.save(tmp_path / "other.pack")
    options = {"vocabulary": 80, "embedding": 16, "hidden": 16, "layers": 1, "dropout": 0.0, "batch": 1}
    model = type_named("bigru").create(
        name="parrot", version="1", labels=LABELS, options=options, words=Pack.joined([learned, other]).texts()
    )
    encoded = learned.encoded(model.vocabulary, model.labels)
    model.fit(encoded, encoded, loop=LoopOptions(epochs=60, rate=0.02, seed=1), log=lambda _: None)
    model.save(tmp_path / "parrot")
    packs = [str(tmp_path / "learned.pack"), str(tmp_path / "other.pack")]
    monkeypatch.setattr(sys, "argv", ["by_heart.py", str(tmp_path / "parrot"), "--on", *packs])
    assert by_heart.main() == 0
    _, _, *lines = capsys.readouterr().out.splitlines()
    found = [float(line.split("|")[4]) for line in lines]
    assert found[0] == 100.0
    assert found[1] < 80.0
    monkeypatch.setattr(sys, "argv", ["by_heart.py", str(tmp_path / "parrot"), "--on", *packs, "--words", "3"])
    assert by_heart.main() == 1
    assert "ask for more with --words" in capsys.readouterr().err


def test_command_refuses_models_that_cannot_be_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pack = pack_of(LEARNED)
    pack.save(tmp_path / "learned.pack")
    few = {"mark": ("", "."), "case": LABELS["case"]}
    options = {"vocabulary": 80, "embedding": 4, "hidden": 4, "layers": 1}
    type_named("bigru").create(
        name="few", version="1", labels=few, options=options, words=pack.texts()
    ).save(tmp_path / "few")  # fmt: skip
    for name, why in (("few", "has not the marks of packs"), ("none", "no model")):
        monkeypatch.setattr(sys, "argv", ["by_heart.py", str(tmp_path / name), "--on", str(tmp_path / "learned.pack")])
        assert by_heart.main() == 1
        said = capsys.readouterr()
        assert why in said.err
        assert not said.out
