from __future__ import annotations

import random
from pathlib import Path

import pytest

import interpunct
from interpunct import MetricOptions, Transcript, corpora
from interpunct.errors import InputError
from interpunct.labels import parse_text
from interpunct.metrics.documents import ReadOptions, Segments

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
    chooser = random.Random(5)
    kinds = [f"{REFERENCE} ", f"{HYPOTHESIS} ", REFERENCE.lower().replace(",", "") + " "]
    guesses = [chooser.choice(kinds) for _ in range(60)]
    found = interpunct.evaluate(text(f"{REFERENCE} " * 60), text("".join(guesses)))
    overall = next(row for row in found.rows if (row.metric, row.label) == ("prf", "overall")).rates["f1"]
    assert overall.low is not None
    assert overall.high is not None
    assert 0.01 < overall.high - overall.low < 0.2
    for row in found.rows:
        for interval in row.rates.values():
            if interval.value is not None and interval.low is not None and interval.high is not None:
                assert interval.low <= interval.value <= interval.high
    assert found.metrics["prf"]["overall"]["ci"][0] is not None


def test_evaluate_says_in_its_signature_how_figures_came_about() -> None:
    options = MetricOptions(classes=2, merge_mixed=True)
    found = interpunct.evaluate(text(REFERENCE), text(HYPOTHESIS), align=True, options=options, draws=7)
    for part in (
        "classes:2",
        "mixed:merged",
        "align:levenshtein",
        "bootstrap-7 by block of 1 sentence (3)",
        "version:",
    ):
        assert part in found.signature


def test_evaluate_leaves_case_out_where_nobody_knows_it(tmp_path: Path) -> None:
    (tmp_path / "r.iwslt").write_text("so\tCOMMA\nyes\tPERIOD\nno\tO\n")
    found = interpunct.evaluate(tmp_path / "r.iwslt", text("So, yes. No"))
    assert "case" not in found.metrics
    assert found.metrics["ser"] == 0.0


def test_evaluate_reads_one_segment_a_line_when_told(tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text("yes . we did\nit was late\n")
    lines = interpunct.evaluate(
        tmp_path / "r.txt", text("yes we did. it was late."), metrics=["su_er"], reading=ReadOptions("lines")
    )
    assert lines.metrics["su_er"]["error"] == 0.0
    marks = interpunct.evaluate(
        tmp_path / "r.txt", text("yes we did. it was late."), metrics=["su_er"], reading=ReadOptions("marks")
    )
    assert marks.metrics["su_er"]["missed"] == 1


@pytest.mark.parametrize("segments", ["auto", "lines", "marks"])
def test_evaluate_finds_no_difference_to_itself(tmp_path: Path, segments: Segments) -> None:
    for name in ("r", "h", "b"):
        (tmp_path / f"{name}.txt").write_text("yes we did\nit was late. so\nwe left\n")
    files = (tmp_path / f"{name}.txt" for name in ("r", "h", "b"))
    reference, hypothesis, baseline = files
    reading = ReadOptions(segments)
    found = interpunct.evaluate(reference, hypothesis, baseline=baseline, metrics=["su_er", "ser"], reading=reading)
    assert {name: compared.delta for name, compared in found.comparisons.items()} == {"su_er": 0.0, "ser": 0.0}


def test_evaluate_takes_references_by_line_and_running_hypotheses(tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text("yes we did\nit was late\n")
    (tmp_path / "h.txt").write_text("Yes, we did. It was late.")
    for segments in ("auto", "lines"):
        found = interpunct.evaluate(tmp_path / "r.txt", tmp_path / "h.txt", reading=ReadOptions(segments))
        assert not {"prf", "ser", "per"} & set(found.metrics)
        assert found.metrics["su_er"]["error"] == 0.0
        assert "ends:lines>marks" in found.signature


def test_evaluate_takes_one_text_for_the_same_however_its_lines_are_broken(tmp_path: Path) -> None:
    lines = ["Yes.", "I do. You know.", "Well, no.", "So?", "Then come."]
    (tmp_path / "lines.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "line.txt").write_text(" ".join(lines))
    for pair in (("lines", "line"), ("line", "lines")):
        reference, hypothesis = (tmp_path / f"{name}.txt" for name in pair)
        found = interpunct.evaluate(reference, hypothesis, metrics=["su_er"], baseline=reference)
        assert found.metrics["su_er"]["error"] == 0.0
        assert "ends:marks>marks" in found.signature
    told = interpunct.evaluate(
        tmp_path / "lines.txt", tmp_path / "line.txt", metrics=["su_er"], reading=ReadOptions("lines")
    )
    assert told.metrics["su_er"]["inserted"] == 1


def test_evaluate_compares_a_baseline_however_its_lines_are_broken(tmp_path: Path) -> None:
    lines = ["Yes.", "I do. You know.", "Well, no.", "So?", "Then come."]
    (tmp_path / "lines.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "line.txt").write_text(" ".join(lines))
    found = interpunct.evaluate(
        tmp_path / "lines.txt", tmp_path / "lines.txt", baseline=tmp_path / "line.txt", metrics=["su_er"]
    )
    assert found.comparisons["su_er"].delta == 0.0


def test_evaluate_keeps_lines_of_which_few_end_with_a_mark(tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text("yes we did\nit was late\nwas it?\nso we left\nby train\nfor home\n")
    hypothesis = text("yes we did. it was late. was it? so we left. by train. for home.")
    found = interpunct.evaluate(tmp_path / "r.txt", hypothesis, metrics=["su_er"])
    assert found.metrics["su_er"]["error"] == 0.0


def test_evaluate_says_that_wisebe_is_not_compared() -> None:
    with pytest.raises(InputError, match="not compared"):
        interpunct.evaluate(text(REFERENCE), text(HYPOTHESIS), metrics=["wisebe"], baseline=text(REFERENCE))


def test_evaluate_aligns_several_references() -> None:
    references = [text("I see. The cat sat. Yes."), text("I see the cat sat. Yes.")]
    found = interpunct.evaluate(references, text("i see. a cat sat. yes."), align=True, metrics=["wisebe"])
    assert found.metrics["wisebe"]["per_reference"][0]["f1"] == 1.0
    assert found.metrics["wisebe"]["per_reference"][1]["f1"] == pytest.approx(0.8)


def test_evaluate_says_nothing_of_one_unit() -> None:
    found = interpunct.evaluate(text("So, yes."), text("So yes."), baseline=text("so yes"), metrics=["prf"])
    assert found.metrics["prf"]["overall"]["ci"] == [None, None]
    assert found.comparisons["prf"].p is None
    assert found.comparisons["prf"].delta is not None


def test_evaluate_counts_every_unit_of_rttm(tmp_path: Path) -> None:
    lexemes = [("so", 0.0), ("we", 1.0), ("left", 2.0), ("yes", 3.0)]
    rows = [f"LEXEME talk 1 {start} 0.5 {word} lex A <NA>" for word, start in lexemes]
    units = ["SU talk 1 0.0 1.6 <NA> incomplete A <NA>", "SU talk 1 2.0 1.6 <NA> unannotated A <NA>"]
    (tmp_path / "r.rttm").write_text("\n".join(rows + units) + "\n")
    found = interpunct.evaluate(tmp_path / "r.rttm", text("So we — left yes."), metrics=["su_er"])
    assert found.metrics["su_er"]["reference"] == 2
    assert (found.metrics["su_er"]["correct"], found.metrics["su_er"]["missed"]) == (1, 1)


def test_evaluate_ends_a_unit_without_a_speaker_after_anybodys_last_word(tmp_path: Path) -> None:
    rows = ["LEXEME t 1 0 0.5 hi lex <NA>", "LEXEME t 1 1 0.5 there lex A", "LEXEME t 1 2 0.5 bob lex A"]
    (tmp_path / "r.rttm").write_text("".join(f"{row} <NA>\n" for row in [*rows, "SU t 1 0 2.6 <NA> statement <NA>"]))
    found = interpunct.evaluate(tmp_path / "r.rttm", text("Hi there bob."), metrics=["su_er"])
    assert (found.metrics["su_er"]["reference"], found.metrics["su_er"]["correct"]) == (1, 1)


def test_evaluate_takes_a_line_separator_for_no_segment(tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text("so we left\u2028now and then\nyes\n", encoding="utf-8")
    found = interpunct.evaluate(tmp_path / "r.txt", text("so we left now and then. yes."), metrics=["su_er"])
    assert found.metrics["su_er"]["reference"] == 2


def test_evaluate_names_which_sides_differ() -> None:
    with pytest.raises(InputError, match="reference 2 has 'b', hypothesis has 'c'"):
        interpunct.evaluate([text("a c"), text("a b")], text("a c"))


def test_evaluate_refuses_nothing_to_score() -> None:
    with pytest.raises(InputError, match="no name; is a variable empty"):
        interpunct.evaluate("", text("a"))
    with pytest.raises(InputError, match="nothing to score"):
        interpunct.evaluate([], text("a"))
    with pytest.raises(InputError, match="nothing to score"):
        interpunct.evaluate({}, {})


def test_evaluate_refuses_the_talks_of_another_test_set(tmp_path: Path) -> None:
    (tmp_path / "x.xml").write_text("<set><doc><seg>quite other words here</seg></doc></set>")
    with pytest.raises(InputError, match="its words are not those"):
        interpunct.evaluate(text(REFERENCE), text(REFERENCE), talks=tmp_path / "x.xml")


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
