from __future__ import annotations

import csv
import json
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from interpunct.labels import parse_text
from interpunct.metrics import report
from interpunct.metrics.evaluate import Evaluation, Row, evaluate
from interpunct.metrics.significance import Comparison, Interval
from interpunct.transcript import Transcript

REFERENCE = "Well, the kettle is on. Would you like tea? I have mint, sage and black tea. Take your time."
HYPOTHESIS = "Well the kettle is on. Would you like tea. I have mint, sage, and Black tea. Take your time."
OTHER = "Well, the kettle is on; would you like tea? I have mint sage and black tea. Take your time."


def transcript(text: str, source: str = "tea") -> Transcript:
    return Transcript(parse_text(text), source=source)


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    return evaluate(transcript(REFERENCE), transcript(HYPOTHESIS), draws=50)


@pytest.fixture(scope="module")
def compared() -> Evaluation:
    bare = transcript(re.sub("[,?]", "", HYPOTHESIS))
    return evaluate(transcript(REFERENCE), transcript(HYPOTHESIS), baseline=bare, draws=50)


@pytest.fixture(scope="module")
def several() -> Evaluation:
    sides = [{name: transcript(text, name) for name in ("one", "two|_&")} for text in (REFERENCE, OTHER, HYPOTHESIS)]
    return evaluate(sides[:2], sides[2], metrics=["prf", "wisebe"], draws=50)


def in_console(evaluation: Evaluation, width: int = 80) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(report.table(evaluation))
    return captured.get()


def parsed(evaluation: Evaluation) -> list[dict[str, str]]:
    lines = report.VIEWS["csv"](evaluation).splitlines()
    assert lines[-1] == f"# {evaluation.signature}"
    return list(csv.DictReader(lines[:-1]))


def number(cell: str) -> float | None:
    return None if cell in ("", "n/a") else float(cell)


def assert_same(line: dict[str, str], row: Row) -> None:
    assert (line["metric"], line["label"]) == (row.metric, row.label)
    for name, found in row.rates.items():
        assert [number(line[name + end]) for end in ("", "_low", "_high")] == [found.value, found.low, found.high]
        assert (line[name] == "n/a") == (found.value is None)
    assert {name: int(line[name]) for name in row.counts} == dict(row.counts)


def test_csv_holds_every_row_at_full_precision(evaluation: Evaluation) -> None:
    lines = parsed(evaluation)
    assert len(lines) == len(evaluation.rows)
    for line, row in zip(lines, evaluation.rows, strict=True):
        assert_same(line, row)


rates = st.none() | st.floats(0, 3)
names = st.text(st.characters(exclude_categories=["C"], exclude_characters="\u2028\u2029\x85"), min_size=1)


@given(
    st.lists(
        st.builds(
            Row,
            names,
            names,
            st.dictionaries(st.sampled_from(["f1", "ser"]), st.builds(Interval, rates, rates, rates)),
            st.dictionaries(st.sampled_from(["correct", "missed"]), st.integers(0, 10**9)),
        ),
        min_size=1,
    )
)
@settings(deadline=None, max_examples=60)
def test_csv_parses_back_to_the_same_numbers(rows: list[Row]) -> None:
    for line, row in zip(parsed(Evaluation("classes:4|a,b", {}, tuple(rows), ())), rows, strict=True):
        assert_same(line, row)


def test_csv_puts_a_comparison_at_its_metrics_headline(compared: Evaluation) -> None:
    for line in parsed(compared):
        headline = line["metric"] in compared.comparisons and line["label"] == "overall"
        assert (line["delta"] != "") == headline
        if headline:
            assert number(line["delta"]) == compared.comparisons[line["metric"]].delta
            assert number(line["p_randomisation"]) == compared.comparisons[line["metric"]].p_randomisation


def test_percent_shows_half_the_width_and_what_is_undefined() -> None:
    assert report.percent(Interval(0.6764, 0.657, 0.695)) == "67.6 ±1.9"
    assert report.percent(Interval(1.25)) == "125.0"
    assert report.percent(Interval(None, 0.1, 0.2)) == "n/a"


@pytest.mark.parametrize("view", ["markdown", "latex"])
def test_views_for_people_show_the_evaluations_rates_and_counts(evaluation: Evaluation, view: str) -> None:
    text = report.VIEWS[view](evaluation).replace(r"\_", "_").replace(r"$\pm$", "±")
    lines = [re.sub(r"\\\\$", "", line).strip("| ") for line in text.splitlines()]
    cells = [[cell.strip() for cell in re.split(r"[|&]", line)] for line in lines]
    for row in evaluation.rows:
        (line,) = (
            line
            for line in cells
            if line[:2] == [row.metric, row.label] and set(map(str, row.counts.values())) <= set(line)
        )
        for found in row.rates.values():
            assert report.percent(found) in line


def test_markdown_escapes_bars_and_ends_with_the_signature(several: Evaluation) -> None:
    text = report.VIEWS["markdown"](several)
    assert r"| two\|_& | reference 1 |" in text
    assert text.endswith(f"Signature: `{several.signature}`\n")


def test_latex_escapes_and_keeps_every_line_as_wide_as_its_tabular(several: Evaluation) -> None:
    text = report.VIEWS["latex"](several)
    assert r"two|\_\&" in text
    assert text.splitlines()[-1] == f"% {several.signature}"
    width = 0
    for line in text.splitlines():
        if line.startswith(r"\begin{tabular}"):
            width = len(re.findall("[lr]", line.split("}{")[1]))
        if line.endswith(r"\\"):
            assert len(re.findall(r"(?<!\\)&", line)) == width - 1
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == text.count(r"\bottomrule") == 6


@pytest.mark.parametrize("character", list("\\&%$#_{}~^"))
def test_latex_leaves_no_special_character_bare(evaluation: Evaluation, character: str) -> None:
    named = replace(evaluation.rows[0], label=f"<{character}>")
    text = report.latex(replace(evaluation, rows=(named,)))
    (cell,) = re.findall(r"textless\{\}(.*)\\textgreater", text)
    assert cell.startswith("\\")
    assert len(cell) > 1


def test_json_view_is_the_evaluations_json(compared: Evaluation) -> None:
    assert json.loads(report.VIEWS["json"](compared)) == compared.as_json()


@pytest.mark.parametrize("width", [40, 80, 200])
def test_table_never_cuts_the_signature(compared: Evaluation, width: int) -> None:
    lines = in_console(compared, width).splitlines()
    first = max(index for index, line in enumerate(lines) if line.startswith("metrics:"))
    assert "".join(lines[first:]) == compared.signature
    assert max(map(len, lines[first:])) <= width


def test_table_shows_rates_counts_and_comparisons(compared: Evaluation) -> None:
    shown = in_console(compared, 120)
    for row in compared.rows:
        for found in row.rates.values():
            assert report.percent(found) in shown
    delta = compared.comparisons["prf"].delta
    assert delta is not None
    assert f"{100 * delta:+.1f}" in shown
    assert "None" not in shown
    assert "nan" not in shown.lower()


def test_table_writes_a_p_that_no_draw_reached_as_below(evaluation: Evaluation) -> None:
    shown = in_console(replace(evaluation, comparisons={"prf": Comparison(0.1, 0.0, None)}), 120)
    assert re.search(r"prf +overall f1 +\+10\.0 +< 0\.001 +n/a", shown)


def test_table_takes_labels_literally(evaluation: Evaluation) -> None:
    named = replace(evaluation.rows[0], label="[bold]")
    assert "[bold]" in in_console(replace(evaluation, rows=(named,)), 120)


def test_views_show_words_and_every_place_when_aligned() -> None:
    heard = HYPOTHESIS.replace("kettle", "cattle").replace(" black", "")
    evaluation = evaluate(transcript(REFERENCE), transcript(heard), align=True, draws=50)
    lines = {(line["metric"], line["label"]): line for line in parsed(evaluation)}
    assert number(lines["wer", "overall"]["wer"]) == evaluation.metrics["wer"]
    everywhere = evaluation.metrics["unrestricted"]
    assert number(lines["unrestricted ser", "overall"]["ser"]) == everywhere["ser"]
    assert number(lines["unrestricted prf", "comma"]["f1"]) == everywhere["prf"]["comma"]["f1"]
    assert int(lines["unrestricted su_er", "overall"]["missed"]) == everywhere["su_er"]["missed"]
    assert "Unrestricted" in in_console(evaluation)


def test_wisebe_is_shown_by_transcript_with_means(several: Evaluation) -> None:
    shown = report.grids(several)
    single, score, agreement, schemes = (grid for grid in shown if grid.title.startswith("WiSeBE"))
    assert [row[:2] for row in single.rows[:3]] == [("one", "reference 1"), ("one", "reference 2"), ("one", "mean")]
    assert [row[0] for row in score.rows] == ["one", "two|_&", "mean"]
    result = several.wisebe[0]
    assert score.rows[0][-1] == f"{result.wisebe:.3f}"
    assert single.rows[1][-1] == f"{result.per_reference[1].f1:.3f}"
    assert agreement.rows[0][2] == f"{result.agreement.fleiss_kappa:.3f}"
    assert schemes.rows[0][1:3] == (f"{result.mean_ser:.3f}", f"{result.lenient.error:.3f}")
    lines = {line["label"]: line for line in parsed(several) if line["metric"] == "wisebe"}
    assert number(lines["mean"]["wisebe"]) == several.metrics["wisebe"]["wisebe"]


def test_wisebe_of_one_transcript_has_no_mean_row() -> None:
    evaluation = evaluate([transcript(REFERENCE), transcript(OTHER)], transcript(HYPOTHESIS), draws=50)
    score = next(grid for grid in report.grids(evaluation) if "all references" in grid.title)
    assert [row[0] for row in score.rows] == ["tea"]


def test_views_of_an_undefined_rate_say_so() -> None:
    plain = transcript("nothing here ends")
    evaluation = evaluate(plain, plain, draws=10)
    for view in ("csv", "markdown", "latex"):
        text = report.VIEWS[view](evaluation)
        assert "n/a" in text
        assert "None" not in text
        assert "nan" not in text.lower()
