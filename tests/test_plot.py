from __future__ import annotations

import struct
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from interpunct.errors import InputError, MissingExtraError
from interpunct.labels import parse_text
from interpunct.metrics import MetricOptions, plot
from interpunct.metrics.evaluate import Evaluation, evaluate
from interpunct.transcript import Transcript

pytest.importorskip("matplotlib")

REFERENCE = "Rain, again. Shall we walk? Yes, the lake is near, and the path is dry. Bring bread."
HYPOTHESIS = "Rain again. Shall we walk. Yes, the lake, is near, and the path is dry. Bring bread."
OTHER = "Rain, again. Shall we walk? Yes. The lake is near and the path is dry; bring bread."


def transcript(text: str, confidences: bool = False) -> Transcript:
    words = parse_text(text)
    if confidences:
        words = tuple(replace(word, mark_confidence=1 - index / 100) for index, word in enumerate(words))
    return Transcript(words, source="walk")


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    return evaluate(transcript(REFERENCE), transcript(HYPOTHESIS, confidences=True), draws=50)


@pytest.fixture(scope="module")
def several() -> Evaluation:
    return evaluate([transcript(REFERENCE), transcript(OTHER)], transcript(HYPOTHESIS), draws=50)


def titles(evaluation: Evaluation) -> list[str]:
    return [axes.get_title(loc="left") for axes in plot.figure(evaluation).axes]


def test_draw_writes_a_png_of_sensible_size(evaluation: Evaluation, tmp_path: Path) -> None:
    plot.draw(evaluation, tmp_path / "figure.PNG")
    content = (tmp_path / "figure.PNG").read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", content[16:24])
    assert 1200 <= width <= 4000
    assert 400 <= height <= 3000


def test_draw_writes_svg_and_pdf_the_same_each_time(evaluation: Evaluation, tmp_path: Path) -> None:
    for name, beginning in (("figure.svg", b"<?xml"), ("figure.pdf", b"%PDF")):
        plot.draw(evaluation, tmp_path / name)
        once = (tmp_path / name).read_bytes()
        plot.draw(evaluation, tmp_path / name)
        assert once.startswith(beginning)
        assert (tmp_path / name).read_bytes() == once


@pytest.mark.parametrize("name", ["figure.bmp", "figure"])
def test_draw_refuses_other_extensions(evaluation: Evaluation, tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"use \.png, \.svg, \.pdf"):
        plot.draw(evaluation, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_draw_names_the_missing_extra(evaluation: Evaluation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"\[plot\]"):
        plot.figure(evaluation)


def test_figure_has_a_panel_for_what_there_is(evaluation: Evaluation, several: Evaluation) -> None:
    assert len(titles(evaluation)) == 3
    assert titles(several)[-1] == "Sentence ends along the words (walk, 17 words)"
    assert len(titles(several)) == 3  # no confidences, so no curves
    assert titles(replace(evaluation, rows=())) == titles(evaluation)[1:]


def test_bars_are_as_long_as_the_rates_and_whiskers_as_the_intervals(evaluation: Evaluation) -> None:
    axes = plot.figure(evaluation).axes[0]
    rows = [row for row in evaluation.rows if row.metric == "prf" and row.label != "macro"]
    found = [interval for row in rows for interval in row.rates.values()]
    known = [interval for interval in found if interval.value is not None]
    lengths = [bar.get_width() for container in axes.containers for bar in container]
    assert lengths == pytest.approx([100 * interval.value for interval in known if interval.value is not None])
    whiskers = [np.asarray(lines.get_paths()[0].vertices)[:, 0] for lines in axes.collections]
    ends = [(100 * i.low, 100 * i.high) for i in known if i.low is not None and i.high is not None]
    assert np.asarray(whiskers) == pytest.approx(np.asarray(ends))
    undefined = [text for text in axes.texts if text.get_text() == "n/a"]
    assert len(undefined) == len(found) - len(known) == 1  # the precision of question marks


def test_confusion_counts_every_scored_place_once(evaluation: Evaluation) -> None:
    counts = plot.confusion(evaluation)
    # rows: comma, period, question, none of the reference
    assert counts.tolist() == [[2, 0, 0, 1], [0, 3, 0, 0], [0, 1, 0, 0], [1, 0, 0, 9]]
    shown = [text.get_text() for text in plot.figure(evaluation).axes[1].texts]
    assert shown.count("9") == 1
    assert "90.0 %" in shown


def test_confusion_leaves_unscored_places_out(evaluation: Evaluation) -> None:
    (pair,) = evaluation.pairs
    unscored = replace(pair, marks_scored=np.zeros(len(pair), dtype=np.bool_))
    assert plot.confusion(replace(evaluation, pairs=(unscored,))).sum() == 0
    plot.figure(replace(evaluation, pairs=(unscored,)))


@pytest.mark.parametrize(("classes", "names"), [(3, ["comma", "stop"]), (2, ["mark"])])
def test_figure_uses_the_evaluations_classes(classes: int, names: list[str]) -> None:
    options = MetricOptions(classes=classes)
    evaluation = evaluate(transcript(REFERENCE), transcript(HYPOTHESIS), options=options, draws=10)
    axes = plot.figure(evaluation).axes[1]
    assert [label.get_text() for label in axes.get_xticklabels()] == [*names, "none"]
    assert plot.confusion(evaluation).shape == (len(names) + 1, len(names) + 1)


def test_curves_end_where_the_hypothesis_stands(evaluation: Evaluation) -> None:
    rows = {row.label: row for row in evaluation.rows if row.metric == "prf" and row.label != "macro"}
    for name in ("comma", "period"):
        precision, recall = plot.curves(evaluation)[name]
        assert precision[-1] == pytest.approx(rows[name].rates["precision"].value)
        assert recall[-1] == pytest.approx(rows[name].rates["recall"].value)
    # commas by falling confidence: right (Yes), inserted (lake), right (near); the reference has three
    precision, recall = plot.curves(evaluation)["comma"]
    assert precision.tolist() == pytest.approx([1, 1 / 2, 2 / 3])
    assert recall.tolist() == pytest.approx([1 / 3, 1 / 3, 2 / 3])
    lines = [line for line in plot.figure(evaluation).axes[2].lines if line.get_label() == "comma"]
    assert np.asarray(lines[0].get_ydata()) == pytest.approx(100 * precision)


def test_curves_take_equal_confidences_together() -> None:
    words = tuple(replace(word, mark_confidence=0.5) for word in parse_text(HYPOTHESIS))
    evaluation = evaluate(transcript(REFERENCE), Transcript(words), draws=10)
    assert len(plot.curves(evaluation)["comma"][0]) == 1


def test_curves_have_no_points_without_confidences(several: Evaluation) -> None:
    assert all(not len(recall) for _, recall in plot.curves(several).values())


def test_sentence_ends_stand_at_their_words(several: Evaluation) -> None:
    axes = plot.figure(several).axes[-1]
    drawn = [np.asarray(line.get_xdata()).tolist() for line in axes.lines]
    assert drawn[0] == [2, 5, 15, 17]
    assert drawn[1] == [2, 5, 6, 15, 17]
    assert drawn[2] == [2, 5, 15, 17]  # the hypothesis's, all in windows
    assert drawn[3] == []
    spans = [(bar.get_x(), bar.get_width()) for container in axes.containers for bar in container]
    assert spans == [(1.5, 5.0), (14.5, 3.0)]  # words 2 to 6 and 15 to 17: at most three apart


def test_sentence_ends_of_long_transcripts_are_the_first_words() -> None:
    long = " ".join([REFERENCE] * 20)
    evaluation = evaluate([transcript(long), transcript(long)], transcript(long), metrics=["wisebe"], draws=10)
    assert titles(evaluation)[-1] == "Sentence ends along the words (walk, first 150 of 340 words)"


def test_sentence_ends_take_the_documents_name_literally(tmp_path: Path) -> None:
    sides = [replace(transcript(text), source="$a_$ {b}") for text in (REFERENCE, OTHER, HYPOTHESIS)]
    evaluation = evaluate(sides[:2], sides[2], draws=10)
    plot.draw(evaluation, tmp_path / "figure.png")
    assert "($a_$ {b}, 17 words)" in titles(evaluation)[-1]
