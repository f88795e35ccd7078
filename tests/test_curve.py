"""Accuracy against speed: which models are on the front, in which windows they read, and the command as a whole."""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

import accuracy
import curve
import interpunct
import peers
from interpunct import corpora
from interpunct.export import export
from interpunct.labels import parse_text
from interpunct.metrics.evaluate import evaluate
from interpunct.models import Description, type_named
from interpunct.models.model import Context
from interpunct.restore import Restored, Restorer
from interpunct.transcript import Transcript

WORDS = "so how are you i am fine thanks my name is anna and we went home".split()
TALKS = {
    "dev": "So how are you? I am fine, thanks. My name is Anna, and we went home. ",
    "dev2012": "We went home, Anna. I am fine. How are you? Thanks, and my name is Anna. ",
}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small untrained network, exported."""
    place = tmp_path_factory.mktemp("models")
    model = type_named("dilated").create(
        name="tiny", version="1", labels={"mark": ("", ",", ".", "?"), "case": ("lower", "sentence")},
        options={"vocabulary": 60, "width": 16, "embedding": 8, "pairs": 0, "dilations": [1, 2, 4]}, words=WORDS,
    )  # fmt: skip
    model.save(place / "torch")
    export(place / "torch", place / "tiny")
    return place / "tiny"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Small talks in the place of every split of iwslt; returns which were read."""
    found: list[str] = []

    def read(name: str, split: str) -> Iterator[Transcript]:
        found.append(f"{name}:{split}")
        yield from (Transcript(parse_text(TALKS[split] * (number + 1)), f"{split}/{number}") for number in range(3))

    monkeypatch.setattr(corpora, "read", read)
    return found


def beaten(point: tuple[float, float | None], others: list[tuple[float, float | None]]) -> bool:
    speed, f1 = point
    return f1 is None or any(
        theirs is not None and fast >= speed and theirs >= f1 and (fast > speed or theirs > f1)
        for fast, theirs in others
    )


@given(st.lists(st.tuples(st.integers(1, 8), st.none() | st.integers(0, 8)), max_size=12))
def test_front_is_every_point_that_no_other_beats(points: list[tuple[float, float | None]]) -> None:
    found = curve.front(points)
    assert sorted(found) == [place for place, point in enumerate(points) if not beaten(point, points)]
    assert [points[place][0] for place in found] == sorted((points[place][0] for place in found), reverse=True)


def test_other_contexts_pair_windows_with_overlaps() -> None:
    own = Context(192, overlap=32)
    assert curve.other_contexts(own, [], []) == []
    assert curve.other_contexts(own, [128], []) == [Context(128, overlap=32)]
    assert curve.other_contexts(own, [192, 128], [32, 16]) == [
        Context(192, overlap=16),
        Context(128, overlap=32),
        Context(128, overlap=16),
    ]
    assert curve.other_contexts(Context(None), [128], [16]) == []
    assert curve.other_contexts(Context(128, restart=True), [64], [16]) == []
    with pytest.raises(ValueError, match="64 words cannot overlap the next by 64"):
        curve.other_contexts(own, [64], [64])


def test_other_windows_are_read_as_if_the_model_said_so(tiny: Path, tmp_path: Path) -> None:
    other = Context(12, overlap=4)
    again = shutil.copytree(tiny, tmp_path / "again")
    dataclasses.replace(Description.load(again), context=other).save(again)
    restorer = interpunct.load(tiny, threads=1)

    def said(chosen: Restorer) -> list[float | None]:
        return [word.mark_confidence for word in chosen.restore(" ".join(WORDS * 4)).words]

    before = said(restorer)
    assert said(curve.read_in(restorer, other)) == said(interpunct.load(again, threads=1)) != before
    assert said(restorer) == before


def test_models_of_the_same_last_name_keep_their_paths(tiny: Path, tmp_path: Path) -> None:
    other = shutil.copytree(tiny, tmp_path / "tiny")
    readings = curve.load([str(tiny), str(other), str(tiny)], [64], [8], threads=1)
    assert list(readings) == [str(tiny), f"{tiny} 64/8", str(other), f"{other} 64/8"]
    assert list(curve.load([str(tiny)], threads=1)) == ["tiny"]


class Clock:
    """Stands still but for what restoring takes."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def perf_counter(self) -> float:
        return self.now_s


class Counted(Restorer):
    """Restores nothing, and takes its time."""

    def __init__(self, clock: Clock, takes_s: float) -> None:
        self.calls, self.clock, self.takes_s = 0, clock, takes_s

    def restore(self, *_given: Any, **_options: Any) -> Restored:
        self.calls += 1
        self.clock.now_s += self.takes_s
        return Restored(())


def test_a_quick_model_reads_the_text_several_times_a_round(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(curve, "time", clock)
    monkeypatch.setattr(peers, "time", clock)
    restorers = {"quick": Counted(clock, 0.02), "slow": Counted(clock, 0.5)}
    readings = {name: curve.Reading(name, restorer) for name, restorer in restorers.items()}
    jobs = curve.timed(readings, 10, 1, seconds=0.2)
    for job, restorer, times in zip(jobs, restorers.values(), (10, 1), strict=True):
        assert job.words == 10 * times
        # Once to see how long it takes, then a round to warm up and one that counts.
        assert restorer.calls == 1 + 2 * times
        assert job.speeds == [pytest.approx(10 / restorer.takes_s)]
    assert [job.peer for job in jobs] == ["quick", None]


def test_the_command_scores_times_and_draws(
    asked: list[str], tiny: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures, picture, page = tmp_path / "c.json", tmp_path / "pictures" / "c.png", tmp_path / "docs" / "curve.md"
    given = ["--model", "default", str(tiny), "--words", "40", "--rounds", "2", "--seconds", "0", "--threads", "1"]
    windows = ["--window", "24", "--overlap", "8"]
    written = ["--json", str(figures), "--plot", str(picture), "--page", str(page)]
    monkeypatch.setattr(sys, "argv", ["curve.py", *given, *windows, *written])
    curve.main()

    assert set(asked) == {"iwslt:dev", "iwslt:dev2012"}  # and no test file
    rows = json.loads(figures.read_text())["rows"]
    assert [row["model"] for row in rows] == ["default", "default", str(tiny), str(tiny)]
    own = Description.load(tiny).context
    assert (rows[2]["name"], rows[2]["window"]) == ("tiny 1", f"{own.words}/{own.overlap}")
    assert rows[1]["window"] == rows[3]["window"] == "24/8"
    assert rows[2]["MB"] == pytest.approx(accuracy.megabytes(str(tiny)))
    assert rows[0]["x default"] == 1
    assert rows[2]["x default"] > 1
    assert rows[0]["dev marks"]["value"] > rows[2]["dev marks"]["value"]
    references = accuracy.first_words(corpora.read("iwslt", "dev2012"), 40)
    for row, restorer in ((rows[0], interpunct.load("default")), (rows[2], interpunct.load(tiny))):
        found = evaluate(
            {reference.source: reference for reference in references},
            {reference.source: restorer.restore(reference) for reference in references},
            metrics=["prf", "su_er"], draws=5,
        )  # fmt: skip
        overall = {each.metric: each.rates["f1"].value for each in found.rows if each.label == "overall"}
        for metric, name in curve.METRICS.items():
            assert row[f"dev2012 {name}"]["value"] == pytest.approx(100 * (overall[metric] or 0))
    for split in curve.SETS:
        points = [(row["words/s"], row[f"{split} marks"]["value"]) for row in rows]
        on_front = [split in row["front"].split(", ") for row in rows]
        assert on_front == [not beaten(point, points) for point in points]

    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "(../pictures/c.png)" in page.read_text()
    table = capsys.readouterr().out
    assert table in page.read_text()
    assert table.count("\n") == 6


@pytest.mark.parametrize("wrong", [["--plot", "c.gif"], ["--rounds", "0"], ["--window", "32", "--overlap", "32"]])
def test_the_command_refuses_what_cannot_be(wrong: list[str], tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["curve.py", "--model", str(tiny), *wrong])
    with pytest.raises(SystemExit):
        curve.main()


def test_names_in_the_picture_cover_neither_each_other_nor_points() -> None:
    pytest.importorskip("matplotlib")
    places = [(6500, 80.1), (7100, 79.5), (95_000, 73.5), (110_000, 73.9), (82_000, 72.6), (81_000, 72.1)]
    some = [curve.Point(f"model-{number}", *place, 5.0 + number) for number, place in enumerate(places)]
    some.append(curve.Point("model-0 128/16", 7000, 80.0, 5.0, "model-0"))
    drawn = curve.figure({"dev": some, "dev2012": []})
    drawn.draw_without_rendering()
    axes = drawn.axes[0]
    assert axes.get_xscale() == "log"
    names = {text.get_text(): text.get_window_extent() for text in axes.texts}
    assert list(names)[-1] == "model-5\n10.0 MB"
    assert "128/16" in names
    assert len(names) == len(some)
    inside = axes.get_window_extent()
    for box in names.values():
        assert inside.x0 < box.x0 < box.x1 < inside.x1
        assert inside.y0 < box.y0 < box.y1 < inside.y1
        assert not any(box.contains(*axes.transData.transform((point.speed, point.f1))) for point in some)
    assert not any(one.overlaps(other) for one, other in combinations(names.values(), 2))
