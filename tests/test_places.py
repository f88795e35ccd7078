"""What a branch learns from: kept for one model, and refused where it is broken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from interpunct.errors import InputError
from interpunct.features import Features
from interpunct.models.encoded import IGNORED
from interpunct.models.model import Clitics, Context
from interpunct.models.scores import Array, Scores
from interpunct.train import places as places_module
from interpunct.train.places import Places, Recorded, gather, gathered
from interpunct.transcript import Transcript, Word


class Even:
    """A text model to which every label is as likely as any other, or the last one a little likelier."""

    context = Context(8, overlap=2)
    clitics: Clitics = "joined"

    def __init__(self, name: str = "even 1", marks: tuple[str, ...] = ("", ",", "."), *, likelier: float = 0.0) -> None:
        self.name = name
        self.likelier = likelier
        self.labels: Mapping[str, tuple[str, ...]] = {"mark": marks, "case": ("lower", "sentence")}

    def forward(self, windows: Sequence[Features]) -> list[Scores]:
        return [
            Scores({
                task: np.tile(self._logs(len(names)), (len(window), 1)) for task, names in self.labels.items()
            })
            for window in windows
        ]  # fmt: skip

    def _logs(self, count: int) -> Array:
        chances = np.full(count, 1.0, np.float32)
        chances[-1] += self.likelier
        logs: Array = np.log(chances / chances.sum())
        return logs


def document(count: int = 12) -> Recorded:
    """Words of 0.3 s each, a longer pause and a full stop after every fourth."""
    times = [0.4 * place + place // 4 for place in range(count)]
    words = (
        Word("word", round(at, 2), round(at + 0.3, 2), mark="." if place % 4 == 3 else "", case="lower")
        for place, at in enumerate(times)
    )
    return Transcript(tuple(words)), None


@pytest.fixture
def corpus(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A corpus of one document, and a list of the times that it was read."""
    asked: list[str] = []

    def read(spec: str, *, aligned: Path | None = None) -> list[Recorded]:
        asked.append(spec)
        return [document()]

    monkeypatch.setattr(places_module, "read", read)
    return asked


def test_places_are_gathered_once_for_a_model(
    corpus: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, lines = tmp_path / "kept" / "a.npz", list[str]()
    first = gathered(Even(), "a:train", path, log=lines.append)
    monkeypatch.setattr(places_module, "measure_prosody", None)  # nothing is measured a second time
    again = gathered(Even(), "a:train", path, log=lines.append)
    assert (corpus, lines) == (["a:train"] * 2, [])
    assert (again.model, again.marks) == ("even 1", ("", ",", "."))
    for name in Places.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(again, name), getattr(first, name))


@pytest.mark.parametrize(
    "other",
    [Even("even 2"), Even(likelier=0.1), Even(marks=("", ".", ",")), Even(marks=("", "."))],
    ids=["version", "other weights", "other marks", "fewer marks"],
)
def test_another_model_reads_anew_what_was_heard_once(
    other: Even, corpus: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, lines = tmp_path / "a.npz", list[str]()
    before = gathered(Even(), "a:train", path)
    monkeypatch.setattr(places_module, "measure_prosody", None)  # nothing is measured a second time
    found = gathered(other, "a:train", path, log=lines.append)
    assert (found.model, found.marks) == (other.name, other.labels["mark"])
    assert found.logs.shape[1] == len(other.labels["mark"])
    assert len(corpus) == 2
    assert len(lines) == 1
    assert "of even 1 with 3 marks, or of another network of this name; reading anew" in lines[0]
    assert np.exp(found.logs[0, -1]) == pytest.approx((1 + other.likelier) / (len(found.marks) + other.likelier))
    for name in ("values", "known", "columns", "starts"):
        np.testing.assert_array_equal(getattr(found, name), getattr(before, name))
    assert [found.marks[label] for label in found.right if label >= 0] == ["", "", "", "."] * 3
    gathered(other, "a:train", path, log=lines.append)
    assert len(lines) == 1


def test_places_take_marks_that_were_corrected(
    corpus: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.npz"
    before = gathered(Even(), "a:train", path)
    talk, _ = document()
    marked = replace(talk, words=(replace(talk.words[0], mark=","), *talk.words[1:]))
    monkeypatch.setattr(places_module, "read", lambda *_, **__: [(marked, None)])
    found = gathered(Even(), "a:train", path)
    assert found.right.tolist() == [1, *before.right[1:]]


@pytest.mark.parametrize("name", ["even 1", "even 2"])
@pytest.mark.parametrize("change", ["word", "time", "more"])
def test_places_of_other_documents_are_gathered_anew(
    change: str, name: str, corpus: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, lines = tmp_path / "a.npz", list[str]()
    gathered(Even(), "a:train", path)
    talk, _ = document()
    word = talk.words[5]
    other = {"word": replace(word, text="another"), "time": replace(word, end=3.11), "more": word}[change]
    today: list[Recorded] = [(replace(talk, words=(*talk.words[:5], other, *talk.words[6:])), None)]
    today += [document(8)] if change == "more" else []
    monkeypatch.setattr(places_module, "read", lambda *_, **__: today)
    found = gathered(Even(name), "a:train", path, log=lines.append)
    assert len(found) == sum(len(each.words) for each, _ in today)
    assert "of other documents; gathering anew" in lines[-1]


def test_places_that_name_no_model_are_gathered_anew(corpus: list[str], tmp_path: Path) -> None:
    path, lines = tmp_path / "a.npz", list[str]()
    gathered(Even(), "a:train", path)
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored if name not in ("model", "marks", "read", "fits")}
    np.savez_compressed(path, **arrays)
    assert (Places.load(path).model, Places.load(path).marks) == ("", ())
    assert gathered(Even(), "a:train", path, log=lines.append).model == "even 1"
    assert len(corpus) == 2
    assert "a model not named" in lines[0]


def test_places_refuse_a_broken_file(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    gather(Even(), [document()]).save(path)
    whole = path.read_bytes()
    assert len(Places.load(path)) == 12
    header = whole.index(b"logs.npy") + len(b"logs.npy")
    broken = [whole[:size] for size in (0, 1, 10, len(whole) // 2, len(whole) - 30, len(whole) - 1)]
    broken.append(whole[: header + 30] + bytes(40) + whole[header + 70 :])
    for data in broken:
        path.write_bytes(data)
        with pytest.raises(InputError, match="delete it, and gather it again"):
            Places.load(path)


def test_training_refuses_corpora_of_which_no_mark_is_known() -> None:
    pytest.importorskip("torch")
    from interpunct.train.branch import train_branch

    fine = gather(Even(), [document()])
    blind = replace(fine, right=np.full_like(fine.right, IGNORED))
    for train, dev, what in (
        ({"a": fine, "b": blind}, {"c": fine}, "b, to train on, has no places"),
        ({"a": fine}, {"c": fine, "d": blind}, "d, to stop by, has no places"),
        ({"a": fine}, {}, "no corpora to stop by"),
        ({}, {"c": fine}, "no corpora to train on"),
    ):
        with pytest.raises(InputError, match=what):
            train_branch(train, dev)
