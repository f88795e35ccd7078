"""The contract of every metric, over every row of METRICS, and slow obvious versions as oracles."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpunct import metrics
from interpunct.cases import CASES
from interpunct.errors import InputError, UnknownNameError
from interpunct.labels import MARKS, to_three
from interpunct.metrics import METRICS, Metric, MetricOptions, Pair, pair
from interpunct.metrics.su_error import count_times
from interpunct.metrics.su_times import evaluate_times
from interpunct.transcript import Transcript, Word

every_metric = pytest.mark.parametrize("metric", [metrics.named(name) for name in METRICS], ids=list(METRICS))
OPTIONS = MetricOptions()


@st.composite
def pairs(draw: st.DrawFn, least: int = 0) -> Pair:
    size = draw(st.integers(least, 25))
    sides = []
    for _ in range(2):
        tags = [(draw(st.sampled_from(MARKS)), draw(st.sampled_from(CASES))) for _ in range(size)]
        sides.append(Transcript(tuple(Word(f"w{i}", mark=mark, case=case) for i, (mark, case) in enumerate(tags))))
    return pair(*sides)


def perfect(found: Pair) -> Pair:
    side = Transcript(
        tuple(
            Word(text, mark=mark, case=case)
            for text, mark, case in zip(found.words, found.reference_marks, found.reference_cases, strict=True)
        )
    )
    return pair(side, side)


def headline(metric: Metric, found: Pair) -> float | None:
    label, rate = metric.headline
    value: float | None = metric.count(found, OPTIONS)[label].total().rates()[rate]
    return value


@every_metric
@given(found=pairs())
def test_metric_of_a_perfect_hypothesis_is_best(metric: Metric, found: Pair) -> None:
    assert headline(metric, perfect(found)) in (None, 0.0 if metric.lower_is_better else 1.0)


@every_metric
@given(found=pairs())
def test_metric_counts_a_number_for_each_place(metric: Metric, found: Pair) -> None:
    for counts in metric.count(found, OPTIONS).values():
        assert all(len(array) == len(found) for array in counts.numbers().values())


@every_metric
@given(documents=st.lists(pairs(), min_size=1, max_size=4), seed=st.integers(0, 9))
def test_metric_totals_do_not_depend_on_the_order_of_documents(
    metric: Metric, documents: list[Pair], seed: int
) -> None:
    def totals(order: list[Pair]) -> dict[str, object]:
        tables = [metric.count(document, OPTIONS) for document in order]
        return {
            label: sum((t[label].total() for t in tables[1:]), tables[0][label].total()).numbers()
            for label in tables[0]
        }

    shuffled = random.Random(seed).sample(documents, len(documents))
    assert totals(documents) == totals(shuffled)


@every_metric
@given(found=pairs())
def test_metric_shows_plain_data(metric: Metric, found: Pair) -> None:
    def plain(value: object) -> bool:
        if isinstance(value, dict):
            return all(map(plain, value.values()))
        return value is None or isinstance(value, int | float)

    assert plain(metric.value({label: c.total() for label, c in metric.count(found, OPTIONS).items()}))


@given(pairs(), st.sampled_from([4, 3, 2]))
def test_prf_equals_counting_by_hand(found: Pair, classes: int) -> None:
    def name(mark: str | None) -> str:
        three = to_three(mark or "")
        if classes == 2 and three:
            return "mark"
        if classes == 3 and three in (".", "?"):
            return "stop"
        return {",": "comma", ".": "period", "?": "question"}.get(three, "")

    right, guess = (list(map(name, marks)) for marks in (found.reference_marks, found.hypothesis_marks))
    counted = metrics.named("prf").count(found, MetricOptions(classes=classes))
    both = Counter(a for a, b in zip(right, guess, strict=True) if a and a == b)
    for label, counts in counted.items():
        expected = [c for c in right if c and label in (c, "overall")]
        predicted = [c for c in guess if c and label in (c, "overall")]
        correct = sum(both.values()) if label == "overall" else both[label]
        assert counts.total().numbers() == {
            "correct": correct, "predicted": len(predicted), "expected": len(expected),
        }  # fmt: skip


@given(pairs())
def test_ser_and_per_equal_counting_by_hand(found: Pair) -> None:
    wrong = right = slots = 0
    for one, other in zip(found.reference_marks, found.hypothesis_marks, strict=True):
        a, b = to_three(one or ""), to_three(other or "")
        slots += bool(a)
        wrong += a != b
        right += bool(a) and a == b
    totals = {label: c.total() for label, c in metrics.named("ser").count(found, OPTIONS).items()}
    assert metrics.named("ser").value(totals) == (wrong / slots if slots else None)
    assert metrics.named("per").value(totals) == (wrong / (wrong + right) if wrong + right else None)


@given(pairs())
def test_su_er_equals_counting_by_hand(found: Pair) -> None:
    sides = (found.reference_marks, found.hypothesis_marks)
    ends = [[place for place, mark in enumerate(side) if mark and mark in ".?!;"] for side in sides]
    value = metrics.named("su_er").value(
        {label: c.total() for label, c in metrics.named("su_er").count(found, OPTIONS).items()}
    )
    missed, inserted = set(ends[0]) - set(ends[1]), set(ends[1]) - set(ends[0])
    assert (value["missed"], value["inserted"], value["reference"]) == (len(missed), len(inserted), len(ends[0]))
    assert value["error"] == ((len(missed) + len(inserted)) / len(ends[0]) if ends[0] else None)


@given(pairs(), st.booleans())
def test_case_equals_counting_by_hand(found: Pair, merge_mixed: bool) -> None:
    def name(case: str | None) -> str:
        return "sentence" if merge_mixed and case == "mixed" else case or "lower"

    right, guess = (list(map(name, cases)) for cases in (found.reference_cases, found.hypothesis_cases))
    value = metrics.named("case").value(
        {
            label: counts.total()
            for label, counts in metrics.named("case").count(found, MetricOptions(merge_mixed=merge_mixed)).items()
        }
    )
    wanted = sum(case != "lower" for case in right)
    wrong = sum(a != b for a, b in zip(right, guess, strict=True))
    assert value["ser"] == (wrong / wanted if wanted else None)
    for label in set(value) - {"ser", "overall"}:
        assert value[label]["expected"] == right.count(label)
        assert value[label]["predicted"] == guess.count(label)
    assert value["overall"]["correct"] == sum(a == b != "lower" for a, b in zip(right, guess, strict=True))


times = st.lists(st.integers(0, 30).map(lambda n: n / 4), max_size=6)


@given(times, times)
def test_su_er_by_time_matches_as_many_as_there_can_be(reference: list[float], hypothesis: list[float]) -> None:
    def most(wanted: list[float], given: list[float]) -> int:
        if not wanted:
            return 0
        first, rest = wanted[0], wanted[1:]
        best = most(rest, given)
        for index, end in enumerate(given):
            if abs(first - end) <= 0.5:
                best = max(best, 1 + most(rest, given[:index] + given[index + 1 :]))
        return best

    found = count_times(reference, hypothesis)
    assert found.correct == most(reference, hypothesis)
    assert found.missed == len(reference) - found.correct
    assert found.inserted == len(hypothesis) - found.correct


def su_lines(*ends: float, file: str = "talk") -> str:
    return "".join(f"SU {file} 1 0.0 {end} <NA> statement A <NA>\n" for end in ends)


def test_su_er_by_time_scores_rttm_files(tmp_path: Path) -> None:
    (tmp_path / "r.rttm").write_text(su_lines(1.0, 2.0, 5.0) + su_lines(3.0, file="other"))
    (tmp_path / "h.rttm").write_text(su_lines(1.2, 4.0, 5.1))
    found = evaluate_times(tmp_path / "r.rttm", tmp_path / "h.rttm")
    value = found.metrics["su_er"]
    assert (value["missed"], value["inserted"], value["reference"]) == (2, 1, 4)
    assert value["error"] == 0.75
    assert "tolerance:0.5" in found.signature
    assert evaluate_times(tmp_path / "r.rttm", tmp_path / "h.rttm", tolerance_s=0.0).metrics["su_er"]["error"] == 7 / 4


def test_su_er_by_time_reads_any_encoding(tmp_path: Path) -> None:
    (tmp_path / "r.rttm").write_bytes(su_lines(1.0, file="café").encode("latin-1"))
    found = evaluate_times(tmp_path / "r.rttm", tmp_path / "r.rttm", encoding="latin-1")
    assert found.metrics["su_er"]["error"] == 0


def test_su_er_by_time_says_where_there_is_nothing_to_compare(tmp_path: Path) -> None:
    (tmp_path / "r.rttm").write_text("SPEAKER talk 1 0.0 1.0 <NA> <NA> A <NA> <NA>\n")
    with pytest.raises(InputError, match=r"r\.rttm: no SU lines"):
        evaluate_times(tmp_path / "r.rttm", tmp_path / "r.rttm")


def test_case_can_merge_mixed_into_sentence_case() -> None:
    reference = Transcript((Word("McCoy", mark="", case="mixed"), Word("Bob", mark="", case="sentence")))
    hypothesis = Transcript((Word("Mccoy", mark="", case="sentence"), Word("Bob", mark="", case="sentence")))
    found = pair(reference, hypothesis)
    counts = metrics.named("case").count(found, MetricOptions(merge_mixed=True))
    assert counts["overall"].total().rates()["f1"] == 1.0
    assert metrics.named("case").count(found, OPTIONS)["overall"].total().rates()["f1"] == 0.5


def test_named_lists_the_known_metrics() -> None:
    with pytest.raises(UnknownNameError, match="su_er"):
        metrics.named("su_err")


def test_options_refuse_nonsense() -> None:
    with pytest.raises(InputError, match="classes"):
        MetricOptions(classes=5)
    with pytest.raises(InputError, match="window"):
        MetricOptions(window=-1)
