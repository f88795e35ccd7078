from __future__ import annotations

from pathlib import Path

import pytest

import interpunct
from interpunct import MetricOptions, Transcript, corpora
from interpunct.errors import InputError
from interpunct.labels import parse_text

REFERENCE = "So, how are you? I am fine, thanks. And you?"
HYPOTHESIS = "So how are you? I am fine. Thanks, and you?"


def text(written: str, source: str = "") -> Transcript:
    return Transcript(parse_text(written), source)


def test_evaluate_takes_any_two_formats(tmp_path: Path) -> None:
    interpunct.write(text(REFERENCE), tmp_path / "r.json")
    (tmp_path / "h.txt").write_text(HYPOTHESIS)
    found = interpunct.evaluate(tmp_path / "r.json", tmp_path / "h.txt", metrics=["prf", "ser"])
    assert set(found.metrics) == {"prf", "ser"}
    assert found.metrics == interpunct.evaluate(text(REFERENCE), text(HYPOTHESIS), metrics=["prf", "ser"]).metrics


def test_evaluate_pairs_folders_by_name(tmp_path: Path) -> None:
    for folder, texts in (("r", (REFERENCE, "Yes. No.")), ("h", (HYPOTHESIS, "Yes? No."))):
        (tmp_path / folder).mkdir()
        for name, written in zip("ab", texts, strict=True):
            (tmp_path / folder / f"{name}.txt").write_text(written)
    found = interpunct.evaluate(tmp_path / "r", tmp_path / "h")
    apart = [
        interpunct.evaluate(tmp_path / "r" / f"{name}.txt", tmp_path / "h" / f"{name}.txt").metrics["prf"]["overall"]
        for name in "ab"
    ]
    assert found.metrics["prf"]["overall"]["correct"] == apart[0]["correct"] + apart[1]["correct"]
    assert [pair.source for pair in found.pairs] == ["a", "b"]
    (tmp_path / "r" / "c.txt").write_text("More.")
    with pytest.raises(InputError, match="without a hypothesis: c"):
        interpunct.evaluate(tmp_path / "r", tmp_path / "h")


def test_evaluate_gives_every_figure_an_interval_that_holds_it() -> None:
    found = interpunct.evaluate(text(REFERENCE * 40), text(HYPOTHESIS * 40))
    for row in found.rows:
        for interval in row.rates.values():
            if interval.value is not None and interval.low is not None and interval.high is not None:
                assert interval.low <= interval.value <= interval.high
    assert found.metrics["prf"]["overall"]["ci"][0] is not None


def test_evaluate_says_in_its_signature_how_figures_came_about() -> None:
    options = MetricOptions(classes=2, merge_mixed=True)
    found = interpunct.evaluate(text(REFERENCE), text(HYPOTHESIS), align=True, options=options, draws=7)
    for part in ("classes:2", "mixed:merged", "align:levenshtein", "bootstrap-7 by block of 10 sentences", "version:"):
        assert part in found.signature


def test_evaluate_leaves_case_out_where_nobody_knows_it(tmp_path: Path) -> None:
    (tmp_path / "r.iwslt").write_text("so\tCOMMA\nyes\tPERIOD\nno\tO\n")
    found = interpunct.evaluate(tmp_path / "r.iwslt", text("So, yes. No"))
    assert "case" not in found.metrics
    assert found.metrics["ser"] == 0.0


def test_evaluate_reads_one_segment_a_line_when_told(tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text("yes . we did\nit was late\n")
    lines = interpunct.evaluate(
        tmp_path / "r.txt", text("yes we did. it was late."), metrics=["su_er"], segments="lines"
    )
    assert lines.metrics["su_er"]["error"] == 0.0
    marks = interpunct.evaluate(
        tmp_path / "r.txt", text("yes we did. it was late."), metrics=["su_er"], segments="marks"
    )
    assert marks.metrics["su_er"]["missed"] == 1


def test_evaluate_compares_only_systems_of_the_same_words() -> None:
    with pytest.raises(InputError, match="words differ"):
        interpunct.evaluate(text(REFERENCE), text(HYPOTHESIS), baseline=text("other words"))


def test_evaluate_aligned_reports_words_and_every_place() -> None:
    found = interpunct.evaluate(text("I see, the cat. Yes."), text("i see, a cat yes"), align=True)
    assert found.metrics["wer"] == pytest.approx(0.2)
    assert found.metrics["prf"]["comma"]["expected"] == 0
    assert found.metrics["unrestricted"]["prf"]["comma"]["expected"] == 1


def test_evaluate_by_talk_draws_the_eight_talks_of_the_test_set(data: Path) -> None:
    (reference,) = corpora.read("iwslt", "test2011", root=data)
    found = interpunct.evaluate(reference, reference, metrics=["prf"], talks=data / "iwslt" / "tst2011.ref.xml")
    assert "by talk (8)" in found.signature
    assert found.metrics["prf"]["overall"]["f1"] == 1.0
