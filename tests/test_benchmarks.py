"""The benchmarks' own code on small data: their figures are measured elsewhere, but they must run."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import accuracy
import calibration
import commercial
import domains
import interpunct
import letters
import metrics as metrics_benchmark
import peers
import report
import start
from conftest import SHARED
from interpunct import corpora
from interpunct.features import Features
from interpunct.labels import parse_text
from interpunct.metrics.evaluate import evaluate
from interpunct.models.model import Clitics, Context, Scorer
from interpunct.models.onnx import GRAPH
from interpunct.models.scores import Scores
from interpunct.restore import find_model
from interpunct.transcript import Transcript, Word

REFERENCE = Transcript(parse_text("So, how are you? I am fine, thanks. " * 15))
HYPOTHESIS = Transcript(parse_text("So how are you? I am fine. Thanks. " * 15))
TWO_SENTENCES = Transcript(parse_text("We went home, Anna. Did you see it?"), "two")


class Rule:
    """A model that always says the same of a word: its mark, and how likely that is."""

    labels: Mapping[str, tuple[str, ...]] = {"mark": ("", ",", ".", "?"), "case": ("lower", "sentence")}
    context = Context(64, overlap=16)
    clitics: Clitics = "joined"

    def __init__(self, marks: Mapping[str, tuple[str, float]], name: str = "rule 1") -> None:
        self.name = name
        self._marks = marks

    def forward(self, windows: Sequence[Features]) -> list[Scores]:
        return [
            Scores({
                "mark": np.log(np.array([self._chances(text) for text in window.texts], dtype=np.float32)),
                "case": np.log(np.array([(0.9, 0.1)] * len(window), dtype=np.float32)),
            })
            for window in windows
        ]  # fmt: skip

    def _chances(self, text: str) -> list[float]:
        mark, chance = self._marks.get(text, ("", 0.97))
        return [chance if name == mark else (1 - chance) / 3 for name in self.labels["mark"]]


RULE = interpunct.Restorer(
    Rule({"home": (",", 0.8), "anna": (".", 0.8), "see": ("?", 0.6), "it": (".", 0.9)})  # it misses "?", invents one
)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, str | None]]:
    """Small documents in the place of every corpus; returns what was read of which."""
    found: list[tuple[str, str, str | None]] = []

    def read(name: str, split: str, *, root: Path | None = None, track: str | None = None) -> Iterator[Transcript]:
        found.append((name, split, track))
        heard = track in ("asr", *commercial.BARE)
        for number in range(3):
            words = TWO_SENTENCES.words * (number + 2)
            yield Transcript(tuple(Word(word.text.lower()) for word in words) if heard else words, f"{name}/{number}")

    monkeypatch.setattr(corpora, "read", read)
    return found


def run(module: Any, monkeypatch: pytest.MonkeyPatch, *given: str) -> None:
    monkeypatch.setattr(sys, "argv", [f"{module.__name__}.py", *given])
    module.main()


def test_accuracy_shows_a_row_for_each_label_with_counts() -> None:
    rows = accuracy._rows("small", evaluate(REFERENCE, HYPOTHESIS, metrics=["prf", "su_er", "case"], draws=20))
    labels = [(row["metric"], row["label"]) for row in rows]
    assert ("prf", "overall") in labels
    assert ("case", "overall") in labels
    assert ("prf", "macro") not in labels


def test_commercial_shows_figures_with_intervals_and_the_comparison() -> None:
    found = evaluate(REFERENCE, HYPOTHESIS, align=True, baseline=REFERENCE, draws=20)
    row = commercial._row("small", "ours", found)
    assert row["WER"] == 0.0
    assert "±" in row["overall F1"]
    assert row["F1 against its own"].startswith("-")
    assert "| small | ours | 0.0 |" in commercial._page([row], found.signature)


def test_metrics_benchmark_makes_what_it_says() -> None:
    spoken = metrics_benchmark.spoken(500)
    assert len(metrics_benchmark.restored(spoken)) == 500
    heard = metrics_benchmark.recognised(spoken)
    assert 0.05 < evaluate(spoken, heard, align=True, metrics=["ser"], draws=5).metrics["wer"] < 0.35


def test_report_writes_a_table_and_json_with_its_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report.report("small", [{"what": "x", "ms": 12.34}, {"what": "y", "ms": None}], tmp_path / "small.json")
    assert "| x | 12.3 |" in capsys.readouterr().out
    written = json.loads((tmp_path / "small.json").read_text())
    assert written["rows"][0] == {"what": "x", "ms": 12.34}
    assert {"date", "commit", "machine"} <= set(written)


def test_accuracy_puts_models_side_by_side_and_shows_the_difference() -> None:
    better = interpunct.Restorer(Rule({"home": (",", 0.8), "anna": (".", 0.8), "it": ("?", 0.9)}, "rule 2"))
    documents = [Transcript(TWO_SENTENCES.words, str(number)) for number in range(12)]
    rows = accuracy.compare("small", documents, {"a": RULE, "b": better}, ["prf", "su_er", "case"])
    found = {(row["metric"], row["label"]): row for row in rows}
    overall = found["prf", "overall"]
    # By hand: "," "." right; "?" invented after see, "." instead of "?" after it: 2 of 4 predicted, 2 of 3 expected.
    assert overall["a"]["value"] == pytest.approx(100 * 4 / 7)
    assert (overall["a"]["correct"], overall["a"]["predicted"], overall["a"]["expected"]) == (24, 48, 36)
    assert str(overall["a"]) == "57.1 ±0.0 (50.0 / 66.7)"
    assert overall["b"]["value"] == 100
    assert overall["b - a"].startswith("+42.9 (p 0.00")
    assert found["prf", "comma"]["b - a"] == found["su_er", "overall"]["b - a"] == ""


def test_accuracy_of_dev_opens_no_test_file(
    asked: list[tuple[str, str, str | None]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run(accuracy, monkeypatch, "--dev", "--words", "20", "--json", str(tmp_path / "dev.json"))
    assert {split for _, split, _ in asked} == {"dev2012", "dev"}
    rows = json.loads((tmp_path / "dev.json").read_text())["rows"]
    assert {row["test"] for row in rows} == {"", "dev2012", "dev"}
    assert rows[1]["default"] == pytest.approx(accuracy.megabytes("default"))
    assert {"value", "low", "high", "precision", "recall"} <= set(rows[-1]["default"])


def test_first_words_cuts_the_last_document() -> None:
    documents = [Transcript(tuple(map(Word, "abc")), "x"), Transcript(tuple(map(Word, "def")), "y")]
    assert [len(cut) for cut in accuracy.first_words(documents, 4)] == [3, 1]
    assert [len(cut) for cut in accuracy.first_words(documents, 3)] == [3]
    assert accuracy.first_words(documents, None) == documents


def test_domains_row_is_right_on_two_sentences() -> None:
    domain = domains.Domain("talks", "small")
    (row,) = domains.score(domain, {"two": TWO_SENTENCES}, None, [RULE], ["lower"])
    assert (row["documents"], row["words"], row["scored"], row["speakers"]) == (1, 8, 8, "no")
    assert row["comma"]["value"] == 100
    assert row["period"]["value"] == pytest.approx(100 * 2 / 3)  # anna right, it wrong
    assert row["question"]["value"] == 0
    assert row["marks"]["value"] == pytest.approx(100 * 4 / 7)
    assert row["sentence ends"]["value"] == pytest.approx(100 * 4 / 5)  # the one after see is invented
    assert row["case"]["value"] == pytest.approx(100 * 2 / 3)  # We, Did right; Anna missed; It invented
    assert row["interval by"] == "block of 1 sentence"


def test_letters_of_abbreviations_are_counted_and_scored() -> None:
    said = Transcript(parse_text("We went home, CEO. Did the U.N. see it?"), "one")
    rule = Rule({"home": (",", 0.8), "c": (".", 0.8), "o": (".", 0.8), "it": ("?", 0.9), "ceo": (".", 0.8)})
    row = letters.scored(domains.Domain("talks", "small"), {"one": said}, interpunct.Restorer(rule))
    assert (row["words"], row["letters"]) == (12, 5)
    assert row["capitals"] == pytest.approx(100 / 5)  # the e behind the mark that was invented
    assert row["marks inside"] == pytest.approx(100 / 3)  # c's, of c, e and u
    assert row["F1"] == pytest.approx(100 * 6 / 7)
    assert row["F1, words as they were"] == 100


def test_letters_are_read_of_every_domain(
    asked: list[tuple[str, str, str | None]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = tmp_path / "letters.json"
    run(letters, monkeypatch, "--model", "fast", "--split", "dev", "--documents", "1", "--json", str(written))
    assert [(name, split) for name, split, _ in asked] == [(domain.corpus, "dev") for domain in letters.DOMAINS]
    rows = json.loads(written.read_text())["rows"]
    assert [row["capitals"] for row in rows] == [None] * len(letters.DOMAINS)  # there are no abbreviations


def test_domains_align_recognised_words() -> None:
    heard = Transcript(tuple(map(Word, "we went home anna did you sea it".split())), "two")
    domain = domains.Domain("talks", "small", "asr")
    (row,) = domains.score(domain, {"two": TWO_SENTENCES}, {"two": heard}, [RULE], ["asis"])
    assert row["corpus"] == "small asr"
    assert row["WER"] == 12.5
    assert row["scored"] == 6  # neither after you nor after sea
    assert row["comma"]["value"] == 100


def test_domains_leave_pauses_open_and_give_no_mark_away() -> None:
    reference = domains.without_pauses(Transcript(parse_text("Well… I see. \u266a. So…?")))
    assert reference.marks == (None, "", ".", ".", "?")
    fed = domains.fed(reference, "upper")
    assert [word.text for word in fed.words] == ["WELL…", "I", "SEE", "\u266a", "SO…"]
    assert set(fed.marks) == {""}


@pytest.mark.parametrize("text", ["We saw NASA's iPhone.", "Straße und Fluß, O'Neill’s McDonald."])
def test_domains_feed_the_same_words_however_written(restorer: interpunct.Restorer, text: str) -> None:
    reference = {"x": Transcript(parse_text(text), "x")}
    rows = list(domains.score(domains.Domain("t", "c"), reference, None, [restorer], ["lower", "upper", "asis"]))
    assert [row.get("words unlike lower") for row in rows] == [None, 0, 0]
    assert rows[0]["marks"] == rows[1]["marks"]


def test_domains_count_words_that_come_out_differently() -> None:
    one, other = (Transcript(parse_text(text)) for text in ("So. We went.", "So we went."))
    assert domains.unlike({"x": one}, {"x": other}) == 2


def test_domains_sample_the_same_documents_on_every_track(asked: list[tuple[str, str, str | None]]) -> None:
    domain = domains.Domain("debates", "debater", "asr")
    chosen = domains.sample(domain, "dev", 2)
    assert len(chosen) == 2
    assert chosen.keys() == domains.sample(domain, "dev", 2, "asr").keys()
    assert chosen.keys() <= domains.sample(domain, "dev", 9).keys()


def test_domains_show_a_recognisers_own_marks_beside_the_models(asked: list[tuple[str, str, str | None]]) -> None:
    own, ours = domains.earnings21("amazon", [RULE], ["lower"], 2)
    assert (own["marks by"], ours["marks by"]) == ("its own", "rule 1")
    assert own["marks"]["value"] == 100
    assert ours["marks"]["value"] < 100
    assert [row["marks by"] for row in domains.earnings21("rev_kaldi", [RULE], ["lower"], 2)] == ["rule 1"]


def test_domains_run_over_every_corpus(
    asked: list[tuple[str, str, str | None]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run(domains, monkeypatch, "--split", "dev", "--documents", "1", "--json", str(tmp_path / "d.json"))
    rows = json.loads((tmp_path / "d.json").read_text())["rows"]
    assert len(rows) == len(domains.DOMAINS) + 1
    assert rows[-1]["words"] == sum(row["words"] for row in rows[:-1])
    assert {split for _, split, _ in asked} == {"dev"}
    for domain in domains.DOMAINS:
        corpora.named(domain.corpus).check("dev", domain.track)
        corpora.named(domain.corpus).check("test", domain.track)
    with pytest.raises(SystemExit):
        run(domains, monkeypatch, "--split", "dev", "--earnings21")


def test_calibration_error_is_right_on_four_words() -> None:
    said = calibration.Said(np.array([0.9, 0.5, 0.7, 0.9]), np.array([True, False, True, True]))
    # Two bins: 0.5 and 0.7, half of them right; 0.9 and 0.9, both right: (2 * 0.1 + 2 * 0.1) / 4.
    assert calibration.bins(said, 2, fewest=1) == [calibration.Bin(2, 0.6, 0.5), calibration.Bin(2, 0.9, 1.0)]
    assert calibration.calibration_error(said, 2, fewest=1) == pytest.approx(0.1)
    # Three bins: 0.5, 0.7, and both of 0.9, which stay together: (0.5 + 0.3 + 2 * 0.1) / 4.
    assert calibration.calibration_error(said, 4, fewest=1) == pytest.approx(0.25)
    # Too few places for more than one bin: means of 0.75 and 0.75.
    assert calibration.calibration_error(said) == pytest.approx(0)
    assert calibration.calibration_error(calibration.Said(np.zeros(0), np.zeros(0, dtype=np.bool_))) is None


def test_calibration_asks_at_the_places_that_are_known() -> None:
    words = (*TWO_SENTENCES.words[:3], Word("anna", mark=None, case="lower"), *parse_text("wait… \u266a it!"))
    said = calibration.groups(RULE, [Transcript(words, "x")])
    assert list(said) == ["every place", "every mark written", "comma", "period"]
    # we, went and it are asked beside home; anna is unknown, wait is a pause, the model says nothing of a symbol.
    assert said["every place"].confidences.tolist() == pytest.approx([0.97, 0.97, 0.8, 0.9], abs=1e-4)
    assert said["every place"].right.tolist() == [True, True, True, True]  # the rule has no "!": it learns a period
    (row,) = [row for row in calibration.table(said) if (row["of"], row["bin"]) == ("comma", "all")]
    assert (row["places"], row["confidence"], row["right"]) == (1, pytest.approx(80), 100)
    assert row["ECE"] == pytest.approx(20)


def test_calibration_writes_figures_and_a_picture(
    asked: list[tuple[str, str, str | None]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    picture, figures = tmp_path / "c.png", tmp_path / "c.json"
    run(calibration, monkeypatch, "--words", "40", "--plot", str(picture), "--json", str(figures))
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert {row["corpus"] for row in json.loads(figures.read_text())["rows"]} == {"iwslt:dev", "changelog:dev"}
    with pytest.raises(SystemExit):
        run(calibration, monkeypatch, "--plot", "c.gif")


def test_peers_ratios_are_of_the_same_round() -> None:
    def job(name: str, speeds: list[float], peer: str | None = None) -> peers.Job:
        return peers.Job(name, "model", 10, lambda: None, {"MB": 1.0}, peer, speeds)

    # Rounds: 30 / 10, 10 / 8, 100 / 2. The medians of the speeds, 30 and 8, are not of one round.
    first, second = peers.rows([job("ours", [30, 10, 100]), job("edge", [10, 8, 2], "edge")])
    assert (first["words/s"], first["x edge"], first["MB"]) == (30, 3, 1.0)
    assert (second["words/s"], second["x edge"]) == (8, 1)


def test_peers_visits_all_systems_each_round_after_one_to_warm_up() -> None:
    order: list[str] = []

    def job(name: str) -> peers.Job:
        return peers.Job(name, "model", 10, lambda: order.append(name), {})

    jobs = [job("a"), job("b")]
    peers.visit(jobs, 2)
    assert order == ["a", "b"] * 3
    assert [len(each.speeds) for each in jobs] == [2, 2]


def test_peers_prepare_what_the_restorer_hands_to_the_session(restorer: interpunct.Restorer) -> None:
    class Listener(peers.Recorder):
        heard: ClassVar[list[list[Scores]]] = []

        def forward(self, windows: Sequence[Features]) -> list[Scores]:
            self.heard.append(super().forward(windows))
            return self.heard[-1]

    text = "so how are you i do n't know but we went home " * 60
    model, home = restorer.model, find_model("default")
    assert isinstance(model, Scorer)
    interpunct.Restorer(Listener(model)).restore(text)
    session = peers._session(str(home / GRAPH), 1)
    handed = [row for feed in peers.prepared(model, home, text) for row in session.run(["mark"], feed)[0]]
    for marks, window in zip(handed, chain.from_iterable(Listener.heard), strict=True):
        np.testing.assert_allclose(marks[: len(window)], window.tasks["mark"], atol=1e-5)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks are read from /proc")
def test_peers_peak_memory_is_the_childs_own() -> None:
    held = np.ones(50_000_000)  # 400 MB in this process
    assert 10 < peers._peak_mb(peers._LIBRARIES) < held.nbytes / 2**20


def test_peers_say_where_the_tool_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="not there; name peer_speed"):
        peers.load_builders(tmp_path / "peer_speed.py")


def test_peers_run_beside_a_small_peer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tool = SHARED / "tools" / "peer_speed.py"
    if not tool.is_file():
        pytest.skip("the tool that builds the peers is not here")
    monkeypatch.setattr(logging.root.manager, "disable", logging.root.manager.disable)  # which the tool changes
    builders = peers.load_builders(tool)
    builders.MODELS["edge"] = (lambda: builders.Edge(d=8, h=8), 5000, 8)
    monkeypatch.setattr(peers, "load_builders", lambda _: builders)
    monkeypatch.setattr(start, "_run", lambda code: "0.1 0.002 default 9" if "times" in code else "51200")
    text = tmp_path / "text.txt"
    text.write_text("so how are you i am fine thanks " * 100)
    figures = tmp_path / "p.json"
    given = ["--only", "edge", "--rounds", "2", "--words", "500", "--threads", "1", "--cache", str(tmp_path)]
    run(peers, monkeypatch, *given, "--model", "default", "--text", str(text), "--json", str(figures))
    edge, model, whole, libraries = json.loads(figures.read_text())["rows"]
    assert (edge["x edge"], model["what"], whole["what"]) == (1, "model", "end to end")
    assert model["system"] == whole["system"] == interpunct.load("default").model.name
    assert model["words/s"] > 0
    assert whole["words/s"] > 0
    assert (whole["load ms"], whole["20 words ms"], libraries["peak MB"]) == (100, 2, 50)
