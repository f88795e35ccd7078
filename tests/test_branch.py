from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import interpunct
from conftest import timed
from interpunct.corpora import ljspeech
from interpunct.corpora.recordings import audio_path
from interpunct.decode import DecodeOptions
from interpunct.errors import InputError, ModelError
from interpunct.features import Features
from interpunct.features.prosody import Prosody, measure_prosody
from interpunct.features.prosody_table import FROM_TIMES, NAMES
from interpunct.models.branch import BRANCH, ROWS, Branch
from interpunct.models.encoded import IGNORED
from interpunct.models.model import Clitics, Context
from interpunct.models.scores import Array, Scores, joined
from interpunct.restore import find_model
from interpunct.transcript import Transcript, Word, is_timed
from test_cli import Command

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

from interpunct.export.branch import write_branch  # noqa: E402
from interpunct.train.branch import BranchNetwork, BranchOptions, Statistics, train_branch  # noqa: E402
from interpunct.train.places import Places, gather, read, with_marks_of  # noqa: E402

LABELS: Mapping[str, tuple[str, ...]] = {"mark": ("", ",", ".", "?"), "case": ("lower", "sentence")}
MARKS = LABELS["mark"]
WORDS = "so it was late we went home and nobody knew why".split()


class Undecided:
    """A text model to which every place looks the same: perhaps a sentence ends there."""

    labels = LABELS
    context = Context(8, overlap=2)
    clitics: Clitics = "joined"
    name = "undecided 1"

    def forward(self, windows: Sequence[Features]) -> list[Scores]:
        return [
            Scores({
                "mark": np.log(np.tile(np.array([0.6, 0.1, 0.25, 0.05], np.float32), (len(window), 1))),
                "case": np.log(np.tile(np.array([0.7, 0.3], np.float32), (len(window), 1))),
            })
            for window in windows
        ]  # fmt: skip


def spoken(seed: int, count: int = 400) -> Transcript:
    """Words in which a sentence ends exactly where a pause of more than half a second follows."""
    chance = np.random.default_rng(seed)
    words, at = [], 0.0
    for _ in range(count):
        long = bool(chance.random() < 0.2)
        text = str(chance.choice(WORDS))
        words.append(Word(text, round(at, 3), round(at + 0.3, 3), mark="." if long else "", case="lower"))
        at += 0.3 + (chance.uniform(0.6, 1.0) if long else chance.uniform(0.0, 0.3))
    return Transcript(tuple(words), str(seed))


def network(labels: Sequence[str] = MARKS, seed: int = 1) -> BranchNetwork:
    """A branch with chance weights, which changes every place it hears."""
    torch.manual_seed(seed)
    made = BranchNetwork(
        Statistics(*(np.full(len(NAMES), value, np.float32) for value in (0.1, 2.0)),
                   *(np.full(len(labels), value, np.float32) for value in (-2.0, 1.5))),
        hidden=8, dropout=0.0,
    )  # fmt: skip
    torch.nn.init.normal_(made.change.weight, std=2.0)
    return made.eval()


@pytest.fixture(scope="module")
def branch(tmp_path_factory: pytest.TempPathFactory) -> Branch:
    folder = tmp_path_factory.mktemp("branch")
    write_branch(network(), MARKS, folder)
    found = Branch.load(folder, LABELS)
    assert found is not None
    return found


def chance_scores(count: int, seed: int = 3) -> Scores:
    logits = np.random.default_rng(seed).normal(size=(count, len(MARKS) + 2)).astype(np.float32)
    parts = {"mark": logits[:, : len(MARKS)], "case": logits[:, len(MARKS) :]}
    return Scores({task: _normalised(part) for task, part in parts.items()})


def _normalised(logits: Array) -> Array:
    found: Array = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return found


def test_branch_runs_as_it_was_trained(branch: Branch) -> None:
    prosody, logs = measure_prosody(spoken(1, 50)), chance_scores(50).tasks["mark"]
    rows = []
    for place in range(50):  # the slow obvious version
        features: list[float] = []
        known: list[float] = []
        for row in ROWS:
            there = 0 <= place + row < 50
            features += prosody.values[place + row].tolist() if there else [0.0] * len(NAMES)
            known += prosody.known[place + row].astype(float).tolist() if there else [0.0] * len(NAMES)
        with torch.no_grad():
            given = (
                torch.tensor([numbers], dtype=torch.float32) for numbers in (logs[place].tolist(), features, known)
            )
            rows.append(network()(*given)[0].numpy())
    found = branch.marks(logs, prosody)
    np.testing.assert_allclose(found, rows, atol=1e-5)
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1.0, atol=1e-5)
    assert np.abs(found - logs).max() > 0.1


def test_branch_leaves_a_place_of_which_nothing_is_known_as_it_is(branch: Branch) -> None:
    whole = measure_prosody(spoken(2, 40))
    known = whole.known.copy()
    silent = [0, 7, 8, 39]
    known[silent] = False
    found = branch.marks(logs := chance_scores(40).tasks["mark"], Prosody(whole.values * known, known))
    changed = (found != logs).any(axis=1)
    assert np.flatnonzero(~changed).tolist() == silent
    made = network()
    nothing = torch.zeros(1, len(ROWS) * len(NAMES))
    np.testing.assert_allclose(made(torch.tensor(logs[:1]), nothing, nothing).detach().numpy(), logs[:1], atol=1e-6)


@pytest.mark.parametrize("cuts", [[], [1], [20], [1, 2, 3, 30, 59], list(range(1, 60))])
def test_branch_gives_the_same_block_by_block(branch: Branch, cuts: list[int]) -> None:
    prosody, scores = measure_prosody(spoken(4, 60)), chance_scores(60)
    whole = branch.follow(prosody).take(scores)
    following = branch.follow(prosody)
    edges = [0, *cuts, 60]
    blocks = joined([following.take(scores[first:last]) for first, last in pairwise(edges)])
    for task in LABELS:
        np.testing.assert_allclose(blocks.tasks[task], whole.tasks[task], atol=1e-5)
        np.testing.assert_allclose(np.exp(whole.tasks[task]).sum(axis=1), 1.0, atol=1e-5)


def test_branch_takes_the_capital_back_where_it_takes_the_end_away(branch: Branch) -> None:
    # Of ten words as this one, eight begin sentences and are capitals; of the other two one is a name.
    logs = np.log(np.array([[0.1, 0.9]], np.float32))
    ends = [np.array([chance], np.float32) for chance in (0.8, 0.0)]
    np.testing.assert_allclose(np.exp(branch.cases(logs, *ends)), [[0.5, 0.5]], atol=1e-5)
    # An end that becomes likelier changes nothing: the decoder writes a capital after each end anyway.
    assert branch.cases(logs, ends[1], ends[0]).tolist() == logs.tolist()
    # A word that is lower even where a sentence begins ("42") stays so.
    digits = np.log(np.array([[0.99, 0.01]], np.float32))
    assert np.exp(branch.cases(digits, *ends))[0, 0] >= 0.99


def test_branch_drops_labels_that_were_chosen_without_it(branch: Branch) -> None:
    scores = chance_scores(5)
    chosen = Scores(scores.tasks, {}, {"mark": np.zeros(5, np.int64), "case": np.ones(5, np.int64)})
    assert set(branch.follow(measure_prosody(spoken(1, 5))).take(chosen).best) == set()


def test_branch_refuses_another_model(tmp_path: Path) -> None:
    assert Branch.load(tmp_path, LABELS) is None
    write_branch(network(), MARKS, tmp_path)
    with pytest.raises(ModelError, match="other marks"):
        Branch.load(tmp_path, {"mark": ("", ".")})
    (tmp_path / BRANCH).write_bytes(b"no graph")
    with pytest.raises(ModelError, match="train the branch again"):
        Branch.load(tmp_path, LABELS)


def test_branch_is_small(tmp_path: Path) -> None:
    marks = interpunct.labels.MARKS
    made = BranchNetwork(
        Statistics(*(np.ones(len(NAMES), np.float32),) * 2, *(np.ones(len(marks), np.float32),) * 2),
        hidden=BranchOptions().hidden, dropout=0.0,
    )  # fmt: skip
    assert write_branch(made, marks, tmp_path).stat().st_size < 1_000_000


def places_of(transcripts: Sequence[Transcript]) -> Places:
    return gather(Undecided(), ((each, None) for each in transcripts))


def test_places_know_their_neighbours_within_a_document() -> None:
    lengths = [3, 0, 1, 4]
    places = places_of([spoken(seed, length) for seed, length in enumerate(lengths)])
    wanted = []
    at = 0
    for length in lengths:
        for place in range(length):
            wanted.append([at + place - 1 if place else -1, at + place, at + place + 1 if place < length - 1 else -1])
        at += length
    assert places.around.tolist() == wanted


def test_places_ignore_marks_that_nobody_knows(tmp_path: Path) -> None:
    words = [replace(word, mark=mark) for word, mark in zip(spoken(1, 5).words, (".", None, ",", "!", ""), strict=True)]
    words[4] = replace(words[4], text="wait…")
    places = places_of([Transcript(tuple(words))])
    assert places.right.tolist() == [2, IGNORED, 1, 2, IGNORED]
    assert {NAMES[column] for column in places.columns} <= set(FROM_TIMES)
    places.save(tmp_path / "kept" / "places.npz")
    again = Places.load(tmp_path / "kept" / "places.npz")
    for name in Places.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(again, name), getattr(places, name))
    (tmp_path / "broken.npz").write_bytes(b"x")
    with pytest.raises(InputError, match="gather it again"):
        Places.load(tmp_path / "broken.npz")


def test_places_of_a_recogniser_carry_the_marks_of_the_reference(data: Path) -> None:
    reference = Transcript((Word("yes", mark=","), Word("well", mark=""), Word("no", mark=".")))
    heard = with_marks_of(reference, Transcript((Word("yes"), Word("wall"), Word("no"))))
    assert heard.marks == (",", "", ".")
    transcript, audio = next(read("debater:dev:asr"))
    assert audio is None
    assert 0.02 < sum(bool(mark) for mark in transcript.marks) / len(transcript) < 0.2
    meeting, _ = next(read("icsi:dev"))
    assert all(word.mark is None for word in meeting.words if word.case is None)


@pytest.fixture(scope="module")
def learned() -> BranchNetwork:
    rows: list[dict[str, float]] = []
    options = BranchOptions(hidden=16, epochs=4, draws=8_000, batch=64, rate=5e-3)
    train, dev = places_of([spoken(seed) for seed in range(5)]), places_of([spoken(seed) for seed in (7, 8)])
    made = train_branch({"made up": train}, {"dev": dev}, options, log=rows.append)
    assert rows[-1]["dev"] < 0.1 < rows[0]["train"]
    return made


def test_training_learns_that_a_pause_ends_a_sentence(learned: BranchNetwork, tmp_path: Path) -> None:
    write_branch(learned, MARKS, tmp_path)
    restorer = interpunct.Restorer(Undecided(), branch=Branch.load(tmp_path, LABELS))
    document = spoken(11, 200)
    bare = Transcript(tuple(replace(word, mark="") for word in document.words))
    found = restorer.restore(bare)
    right = sum(one.mark == other.mark for one, other in zip(found.words, document.words, strict=True))
    assert right >= 195
    # Without prosody nothing is heard, and the text model does not know.
    assert not any(word.mark for word in restorer.restore(bare, DecodeOptions(prosody=False)).words[:-1])


def test_restorer_without_times_is_the_text_model(learned: BranchNetwork, tmp_path: Path) -> None:
    write_branch(learned, MARKS, tmp_path)
    with_branch = interpunct.Restorer(Undecided(), branch=Branch.load(tmp_path, LABELS))
    untimed = Transcript(tuple(Word(text, speaker=str(place // 7)) for place, text in enumerate(WORDS * 20)))
    seen: list[Scores] = []
    alone: list[Scores] = []
    found = with_branch.restore(untimed, watch=seen.append)
    assert found == interpunct.Restorer(Undecided()).restore(untimed, watch=alone.append)
    assert joined(seen).tasks["mark"].tobytes() == joined(alone).tasks["mark"].tobytes()
    half = Transcript(tuple(replace(word, start=1.0) for word in untimed.words))  # no word has both times
    assert with_branch.restore(half).marks == found.marks


def test_restorer_with_times_keeps_words_and_times(learned: BranchNetwork, tmp_path: Path) -> None:
    write_branch(learned, MARKS, tmp_path)
    restorer = interpunct.Restorer(Undecided(), branch=Branch.load(tmp_path, LABELS))
    given = spoken(5, 60)
    given = replace(given, words=(*given.words[:30], replace(given.words[30], start=None), *given.words[31:]))
    found = restorer.restore(given)
    assert [(w.token, w.start, w.end) for w in found.words] == [(w.token, w.start, w.end) for w in given.words]
    together = [each.marks for each in restorer.restore_all([given, timed("so it was late"), given])]
    assert together[0] == together[2] == found.marks


@pytest.fixture
def cli(capfdbinary: pytest.CaptureFixture[bytes]) -> Command:
    return Command(capfdbinary)


@pytest.fixture(scope="module")
def listening(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled model with a branch of chance weights."""
    folder = tmp_path_factory.mktemp("listening") / "model"
    shutil.copytree(find_model("default"), folder)
    marks = interpunct.load().model.labels["mark"]
    write_branch(network(marks), marks, folder)
    return folder


def test_cli_restore_listens_to_a_recording_and_draws_it(
    cli: Command, data: Path, tmp_path: Path, listening: Path
) -> None:
    for library in ("soundfile", "soxr", "pocketsphinx", "swift_f0", "matplotlib"):
        pytest.importorskip(library)
    clip = next(iter(ljspeech.LJSPEECH.read(data, "dev", "")))
    audio = audio_path("ljspeech", data, clip.source)
    said = tmp_path / "said.txt"
    said.write_text(" ".join(word.text.lower() for word in clip.words))
    picture = tmp_path / "said.png"
    found = cli(
        "restore", said, "--audio", audio, "--model", listening, "--to", "json", "--plot", picture, "-o",
        tmp_path / "said.json",
    )  # fmt: skip
    assert (found.code, found.err) == (0, "")
    words = json.loads((tmp_path / "said.json").read_text())["words"]
    assert [word["raw"] for word in words] == said.read_text().split()
    times = [time for word in words for time in (word["start"], word["end"])]
    assert times == sorted(times)
    assert picture.read_bytes().startswith(b"\x89PNG")
    again = cli("restore", tmp_path / "said.json", "--audio", audio, "--model", listening)
    assert [(word["start"], word["end"]) for word in json.loads(again.out)["words"]] == [
        (word["start"], word["end"]) for word in words
    ]
    only_times = cli("restore", tmp_path / "said.json", "--model", listening, "--plot", tmp_path / "times.svg")
    assert (only_times.code, only_times.err) == (0, "")
    assert b"<svg" in (tmp_path / "times.svg").read_bytes()


def test_cli_restore_refuses_what_it_cannot_listen_to(cli: Command, tmp_path: Path, listening: Path) -> None:
    said, other = tmp_path / "said.txt", tmp_path / "other.txt"
    said.write_text("and so it was")
    other.write_text("and so it was not")
    two = tmp_path / "two.jsonl"
    two.write_text('{"id": "a", "text": "One."}\n{"id": "b", "text": "Two."}\n')
    wrong: list[tuple[list[str | Path], str]] = [
        ([said, other, "--audio", "x.wav"], "2 inputs, but --audio is about one"),
        ([said, other, "--plot", tmp_path / "x.png"], "2 inputs, but --plot is about one"),
        ([said, "--plot", tmp_path / "x.gif"], "a picture cannot be .gif"),
    ]
    failing: list[tuple[list[str | Path], str]] = [
        ([said, "--audio", tmp_path / "none.wav"], "none.wav"),
        ([two, "--audio", "x.wav"], "holds 2 documents"),
        ([said, "--plot", tmp_path / "x.png"], "no word has times"),
    ]
    for code, arguments, what in [*((2, *each) for each in wrong), *((1, *each) for each in failing)]:
        found = cli("restore", *arguments, "--model", listening)
        assert (found.code, what in found.err) == (code, True), found.err
        assert found.err.startswith("interpunct: error: ")
        assert found.err.count("\n") == 1
    found = cli("restore", said, "--plot", tmp_path / "no" / "x.png", "--model", listening)
    assert (found.code, "no such folder" in found.err) == (2, True)
    timed = tmp_path / "timed.json"
    interpunct.write(Transcript((Word("so", 0.0, 0.2), Word("it", 0.2, 0.4))), timed)
    late = cli("restore", timed, "--plot", tmp_path / "x.png", "--plot-from", "9", "--model", listening)
    assert (late.code, "no word has times" in late.err) == (1, True)
    assert len(json.loads(late.out)["words"]) == 2  # the picture failed, and not what was asked for
    found = cli("restore", timed, "--audio", tmp_path / "none.wav", "--no-prosody", "--model", listening)
    assert (found.code, "none.wav: no such file" in found.err) == (1, True)
    deaf = interpunct.Restorer(Undecided())
    with pytest.raises(ModelError, match="has not learned what a recording tells"):
        deaf.restore("so it was", audio="x.wav")


def test_restorer_fills_the_times_that_words_lack(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cues = [Word("and", 0.0), Word("so"), Word("it", None, 0.9), Word("was", 0.9, 1.2), Word("not", 1.2)]
    found = Transcript(tuple(Word(word.text, 0.1 + place / 2, 0.5 + place / 2) for place, word in enumerate(cues)))
    monkeypatch.setattr("interpunct.features.prosody.prosody_of", lambda *_: (found, measure_prosody(found)))
    (tmp_path / "x.wav").touch()
    write_branch(network(), MARKS, tmp_path)
    restorer = interpunct.Restorer(Undecided(), branch=Branch.load(tmp_path, LABELS))
    words = restorer.restore(Transcript(tuple(cues)), audio=tmp_path / "x.wav").words
    assert [(word.start, word.end) for word in words] == [
        (0.0, 0.5), (0.6, 1.0), (None, 0.9), (0.9, 1.2), (1.2, 2.5),
    ]  # fmt: skip
    late = [replace(word, start=None if word.start is None else word.start + 5) for word in cues[:2]]
    with pytest.raises(InputError, match=r"x\.wav: the times that some words have are 4\.\d s off"):
        restorer.restore(Transcript((*late, *(Word(word.text) for word in cues[2:]))), audio=tmp_path / "x.wav")


def test_prosody_is_timed_where_half_of_the_words_are() -> None:
    both, start = Word("so", 0.0, 0.1), Word("so", 0.0)
    for words, wanted in (([], False), ([both], True), ([both, start], True), ([both, start, start], False)):
        assert is_timed(Transcript(tuple(words))) is wanted
