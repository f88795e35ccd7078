"""Paper 004's recipe on made-up speech: data, systems, figures, the page."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import boundaries
from boundaries import Spoken, capped, read_prosody, sentence_ends, spoken
from importance import exchanged, importance
from importance import main as measure_importance
from interpunct import config
from interpunct.errors import InputError, UnknownNameError
from interpunct.features import Features
from interpunct.features.prosody import measure_prosody
from interpunct.features.prosody_parquet import write_prosody
from interpunct.features.prosody_table import FAMILIES, FROM_TIMES, NAMES
from interpunct.labels import parse_text
from interpunct.models import Context, Scores, type_named
from interpunct.transcript import Transcript, Word
from paper004 import main
from paper004_bench import FACTS, Bench
from paper004_data import Data
from paper004_page import section
from paper004_predictions import save_predictions
from paper004_scores import counts, hypothesis_of, order, scored
from paper004_smoke import SETUP, WORST, made_up, rates, tiny_data
from paper004_systems import read_paper
from recognised import heard, mapped
from recognised import main as recognise
from tsne import end_shares, neighbours_tell
from tsne import main as draw_vectors

PAPER = read_paper()


# Data


def test_sentence_ends_are_all_that_is_left_of_marks() -> None:
    found = sentence_ends(Transcript(parse_text("So, is it? Yes; it is — at last: far. Good!")))
    assert found.marks == ("", "", ".", ".", "", "", "", "", ".", None)
    assert set(found.cases) == {None}


def test_unknown_marks_inside_a_segment_end_nothing() -> None:
    words = (Word("so", mark=None), Word("what", mark="."), Word("then", mark=None))
    assert sentence_ends(Transcript(words)).marks == ("", ".", None)


@pytest.mark.parametrize("words", [1, 50, 163, 10_000])
def test_capped_documents_have_so_many_words(words: int) -> None:
    documents = [made_up(seed, 10) for seed in range(5)]
    found = capped(documents, words)
    by_name = {each.transcript.source: each for each in documents}
    assert sum(map(len, found)) == min(words, sum(map(len, documents)))
    shares = [len(each) / len(by_name[each.transcript.source]) for each in found]
    assert max(shares) - min(shares) < 0.05 or words < 10
    for each in found:
        whole = by_name[each.transcript.source]
        assert each.transcript.words == whole.transcript.words[: len(each)]
        assert np.array_equal(each.prosody.values, whole.prosody.values[: len(each)])


def test_prosody_comes_back_from_parquet(tmp_path: Path) -> None:
    documents = [made_up(seed, 4) for seed in range(2)]
    path = tmp_path / "kept.parquet"
    write_prosody(path, [(each.transcript, each.prosody) for each in documents])
    for whole, (transcript, prosody) in zip(documents, read_prosody(path), strict=True):
        assert [word.text for word in transcript.words] == [word.text for word in whole.transcript.words]
        assert np.array_equal(prosody.values, whole.prosody.values)
        assert np.array_equal(prosody.known, whole.prosody.known)
    for whole, (_, prosody) in zip(documents, read_prosody(path, ["pause_after_s"]), strict=True):
        assert prosody.names == NAMES
        assert prosody.column("pause_after_s") == whole.prosody.column("pause_after_s")
        assert prosody.known.any(axis=0).sum() == 1


@pytest.fixture
def speeches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with ten short speeches and what a recogniser heard of them."""
    said = [["We", 0.0, 0.2], ["left.", 0.2, 0.5], ["Nobody", 1.0, 1.4], ["came", None, None], ["here.", 1.7, 2.0]]
    asr = [["we", 0.0, 0.2], ["left", 0.2, 0.5], ["no", 1.0, 1.2], ["body", 1.2, 1.4], ["came", 1.5, 1.7]]
    lines = "".join(json.dumps({"id": f"{n}", "ref": said, "asr": asr}) + "\n" for n in range(10))
    (tmp_path / "data" / "timed").mkdir(parents=True)
    (tmp_path / "data" / "timed" / "debater.jsonl.xz").write_bytes(lzma.compress(lines.encode()))
    monkeypatch.setenv("INTERPUNCT_DATA", str(tmp_path / "data"))
    return tmp_path


def test_spoken_documents_are_measured_once(speeches: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = spoken("debater", "train", runs=speeches, names=FROM_TIMES)
    assert len(found) == 8
    assert found[0].transcript.marks == ("", ".", "", "", None)
    assert found[0].prosody.column("pause_after_s") == [0.0, 0.5, None, None, None]
    monkeypatch.setattr(boundaries, "measure_prosody", None)
    again = spoken("debater", "train", runs=speeches, words=7)
    assert sum(map(len, again)) == 7


def test_spoken_documents_whose_words_changed_are_refused(speeches: Path) -> None:
    (found, *_) = spoken("debater", "test", runs=speeches)
    other = replace(found.transcript, words=(Word("you"), *found.transcript.words[1:]))
    write_prosody(boundaries.kept("debater", "test", speeches), [(other, found.prosody)])
    with pytest.raises(InputError, match="other words now"):
        spoken("debater", "test", runs=speeches)


def test_ends_are_carried_to_recognised_words(speeches: Path) -> None:
    (found,) = spoken("debater-asr", "test", runs=speeches)
    assert [word.text for word in found.transcript.words] == ["we", "left", "no", "body", "came"]
    assert found.transcript.marks == ("", ".", "", "", None)
    (each,) = heard("debater-asr", "dev", speeches)
    assert (each.errors.correct, each.errors.substituted, each.lost) == (3, 1, 0)


def test_ends_that_fall_together_are_counted() -> None:
    said = Transcript(parse_text("Yes. No. Well then."))
    found = mapped(said, Transcript(tuple(map(Word, "yes well then".split()))))
    assert found.ends.tolist() == [True, False, True]
    assert found.lost == 1


@pytest.mark.parametrize(
    ("name", "run", "given", "told"),
    [
        ("boundaries", boundaries.main, ["debatr"], "unknown corpus 'debatr'; did you mean 'debater'?"),
        ("boundaries", boundaries.main, ["debater", "esic-asr"], "no transcripts (*.txt) here"),
        ("recognised", recognise, ["--vosk", "nowhere"], "nowhere: no such folder"),
        ("importance", measure_importance, ["--setup", "audoi"], "unknown set-up 'audoi'; did you mean 'audio'?"),
        ("importance", measure_importance, ["--setup", "times", "--set", "debate"], "unknown test set of times"),
        ("tsne", draw_vectors, [], "icsi.jsonl.xz: no such file"),
    ],
)
def test_wrong_input_is_one_line(
    name: str,
    run: Callable[[Sequence[str]], int],
    given: list[str],
    told: str,
    speeches: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    runs = speeches / "runs"
    assert run([*given, "--runs", str(runs)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{name}.py: error: ")
    assert told in line


def test_boundaries_of_all_splits_are_counted(speeches: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert boundaries.main(["debater", "--runs", str(speeches)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["debater train", "debater dev", "debater test"]
    assert "8 documents, 40 words, 8 ends" in lines[0]


# Systems


def test_every_claim_and_need_names_a_system() -> None:
    assert {name for system in PAPER.systems.values() for name in system.needs} <= PAPER.systems.keys()
    assert {name for claim in PAPER.claims for name in (claim.better, claim.worse)} <= PAPER.systems.keys()
    assert len({claim.title for claim in PAPER.claims}) == len(PAPER.claims)


@pytest.mark.parametrize("name", [name for name, system in PAPER.systems.items() if system.type != "viterbi"])
def test_options_of_a_system_are_those_of_its_type(name: str) -> None:
    system = PAPER.systems[name]
    built = config.build(type_named(system.type).OPTIONS, system.options)
    for option, value in system.options.items():
        assert getattr(built, option) == (tuple(value) if isinstance(value, list) else value)


def test_unknown_system_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dblstm-al", "--stage", "score"]) == 1
    assert "dblstm-all" in capsys.readouterr().err


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("paper004")


LEARNING = ("crf-syntax", "crf-hidden", "svm-projected", "dblstm-cbow-hidden-syntax", "dt-crf", "dnn-crf", "viterbi")
"""Systems that read all there is to read, and need the others that are of yet another type."""


def test_learning_systems_are_of_all_types() -> None:
    needed = {need for name in LEARNING for need in PAPER.systems[name].needs}
    assert {PAPER.systems[name].type for name in needed.union(LEARNING)} == {
        system.type for system in PAPER.systems.values()
    }


@pytest.mark.parametrize("name", LEARNING)
def test_system_learns_made_up_speech(name: str, runs: Path) -> None:
    assert rates([name], runs)[name] <= WORST


def test_system_is_trained_again_only_when_it_must_be(runs: Path) -> None:
    rates(["dt"], runs)
    made = runs / "paper004" / "tiny" / "dt" / "predictions.npz"
    before = made.stat().st_mtime_ns
    rates(["dt"], runs)
    assert made.stat().st_mtime_ns == before
    paper = replace(read_paper(smoke=True), setups={"tiny": SETUP})
    changed = replace(paper.systems["dt"], version="2")
    Bench(replace(paper, systems={"dt": changed}), "tiny", tiny_data(), runs).make("dt")
    assert made.stat().st_mtime_ns > before


# Figures


def _said(marks: str, guess: str) -> tuple[list[Spoken], Any]:
    """Return one document whose places end (1) or do not (0), and what was guessed."""
    words = tuple(Word("so", mark="." if mark == "1" else "") for mark in marks)
    transcript = sentence_ends(Transcript(words, "one"))
    return [Spoken(transcript, measure_prosody(transcript))], np.array(list(map(int, guess)))


def test_rates_are_counted_at_every_place_but_the_last(tmp_path: Path) -> None:
    documents, chosen = _said("0101001", "0110000")
    folder = tmp_path / "paper004" / "tiny" / "dt"
    folder.mkdir(parents=True)
    (folder / FACTS).write_text("{}")
    save_predictions(folder, {"x": (chosen.astype(np.float32), chosen)})
    paper = replace(PAPER, setups={"tiny": SETUP})
    found = scored(paper, "tiny", Data([], [], {"x": documents}), tmp_path, {})
    row = found["systems"]["dt"]["sets"]["x"]
    # Two ends that count, of which one is found; one more is written where there is none.
    assert row["error"][0] == 100.0
    assert (row["precision"][0], row["recall"][0]) == (50.0, 50.0)
    assert found["data"]["x"] == {"documents": 1, "words": 7, "ends": 2}
    kept = scored(paper, "tiny", Data([], [], {"x": documents}), tmp_path / "elsewhere", found)
    assert kept["systems"] == found["systems"]
    with pytest.raises(InputError, match="of other documents"):
        scored(paper, "tiny", Data([], [], {"x": [*documents, made_up(3, 2)]}), tmp_path, {})


def test_hypothesis_keeps_documents_apart() -> None:
    one, two = made_up(1, 3), made_up(2, 2)
    chosen = np.zeros(len(one) + len(two), dtype=np.int64)
    chosen[len(one)] = 1
    found = hypothesis_of([one, two], chosen)
    assert found["tiny-1"].marks == ("",) * len(one)
    assert found["tiny-2"].marks == (".", *[""] * (len(two) - 1))
    assert counts([one, two])["ends"] == 3


def test_order_counts_pairs_as_in_the_paper() -> None:
    figures = {"a": (1.0, 5.0), "b": (2.0, 4.0), "c": (3.0, 9.0), "d": (3.0, 1.0)}
    systems = {n: {"paper": {"ref": p}, "sets": {"x": {"error": [e, None, None]}}} for n, (p, e) in figures.items()}
    systems["svm"] = {"paper": {}, "sets": {"x": {"error": [0.0, None, None]}}}
    # a-b no, a-c yes, a-d no, b-c yes, b-d no; c and d are alike in the paper.
    assert order(systems, "x", "ref") == {"pairs": 5, "as in the paper": 2}


def test_page_says_which_claims_hold(tmp_path: Path) -> None:
    assert section(tmp_path) == []
    row = {"error": [50.0, 40.0, 60.0], "precision": [70.0, None, None], "recall": [80.0, None, None], "f1": [74.7] * 3}
    facts = {"parameters": None, "train_seconds": 1.0, "predict_seconds": 2.0, "device": "d", "commit": "c", "date": ""}
    systems = {
        name: {"title": name.upper(), "table": 2, "paper": {"ref": 58.8}, "sets": {"x": row}, "facts": facts}
        for name in ("dt", "dnn")
    }
    claims = [
        {"claim": title, "set": "x", "delta": delta, "p": p, "p_randomisation": p}
        for title, delta, p in (("A", -3.0, 0.01), ("B", 3.0, 0.01), ("C", -3.0, 0.2), ("D", None, None))
    ]
    size = {"documents": 1, "words": 10, "ends": 1}
    setup = {
        "title": "T", "about": "some", "data": {"train": size, "dev": size, "x": size}, "systems": systems,
        "claims": claims, "order": {"x": {"pairs": 4, "as in the paper": 3}},
    }  # fmt: skip
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "paper004.json").write_text(json.dumps({"setups": {"times": setup}}))
    page = "\n".join(section(tmp_path))
    assert "| DT | dt | – | 50.0 | 40.0–60.0 | 58.8 | – |" in page
    assert "| A | -3.0 (0.010, 0.010): holds |" in page
    assert "| B | +3.0 (0.010, 0.010): the contrary holds |" in page
    assert "| C | -3.0 (0.200, 0.200): open |" in page
    assert "| D | – |" in page
    assert "x 3 of 4 (75 %)" in page


# What features and vectors tell


class Pausing:
    """Ends a sentence at every pause, and looks at nothing else."""

    name, labels, context, clitics = "pausing 1", {"mark": ("", ".")}, Context(None), "joined"

    def forward(self, windows: Sequence[Features]) -> list[Scores]:
        found = []
        for window in windows:
            assert window.prosody is not None
            ends = np.array([(pause or 0.0) > 0.2 for pause in window.prosody.column("pause_after_s")])
            found.append(Scores({"mark": np.log(np.stack([~ends + 1e-6, ends + 1e-6], axis=1)).astype(np.float32)}))
        return found


def test_importance_is_that_of_what_is_looked_at() -> None:
    found = importance(Pausing(), [made_up(seed, 20) for seed in range(3)], draws=3)
    assert found["error"] == 0.0
    assert found["families"]["pause"]["mean"] > 100
    assert {name for name, rise in found["families"].items() if rise["mean"] == 0.0} == {"duration", "turn"}
    assert "f0" not in found["families"]


def test_exchange_keeps_the_rows_of_a_family_together() -> None:
    documents = [made_up(seed, 5) for seed in range(2)]
    columns = [NAMES.index(name) for name in FAMILIES["pause"]]
    others = [place for place in range(len(NAMES)) if place not in columns]
    found = exchanged(documents, columns, np.random.default_rng(1))

    def rows(given: Sequence[Spoken]) -> Any:
        return np.concatenate([each.prosody.values for each in given])

    assert np.array_equal(rows(found)[:, others], rows(documents)[:, others])
    assert not np.array_equal(rows(found)[:, columns], rows(documents)[:, columns])
    assert sorted(map(tuple, rows(found)[:, columns])) == sorted(map(tuple, rows(documents)[:, columns]))
    assert [len(each) for each in found] == [len(each) for each in documents]


def test_end_shares_are_of_what_networks_read() -> None:
    words = [Word("don't", mark="."), Word("so", mark=""), Word("so", mark=".")] * 20
    assert end_shares([Transcript(tuple(words))], 10) == {"so": 0.5, "do": 0.0, "n't": 1.0}


def test_neighbours_tell_nothing_of_random_vectors() -> None:
    random = np.random.default_rng(1)
    vectors = random.normal(size=(300, 20)).astype(np.float32)
    assert abs(neighbours_tell(vectors, random.random(300))) < 0.25
    assert neighbours_tell(vectors, vectors[:, 0].astype(np.float64)) > 0.3


def test_unknown_name_in_a_claim_is_refused(tmp_path: Path) -> None:
    text = (Path(boundaries.__file__).parent / "paper004.toml").read_text(encoding="utf-8")
    path = tmp_path / "paper.toml"
    path.write_text(text.replace('worse = "crf-hidden"', 'worse = "crf-hiden"'), encoding="utf-8")
    with pytest.raises(UnknownNameError, match="crf-hidden"):
        read_paper(path=path)
