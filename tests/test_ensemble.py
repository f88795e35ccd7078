"""Models that decide together, and what a student learns from them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ensemble as ensemble_recipe
from interpunct import models
from interpunct.decode.windows import score, scored
from interpunct.errors import InputError, ModelError
from interpunct.features import Features
from interpunct.labels import parse_text
from interpunct.models.encoded import Encoded, Tagged
from interpunct.models.ensemble import Ensemble
from interpunct.models.folder import Described, Description
from interpunct.models.lattice import marginals
from interpunct.models.loop_options import LoopOptions
from interpunct.models.model import Context, Steps
from interpunct.models.scores import Array, Scores, joined
from interpunct.train.distil import taught
from interpunct.transcript import Transcript, Word

LABELS = {"mark": ("", ",", ".", "?"), "case": ("lower", "sentence")}
TEXT = "So how are you? I am fine, thanks. I don't live in New York. It's me."
STEPS = np.array([[0, -2, 1, 0], [1, 0, -3, 1], [0.5, 0, -9, 2], [0, 1, 0, 2]], dtype=np.float32)


class Sayer(Described):
    """Says of a word what its letters add up to, shifted; sees how many words are beside it; knows no folder."""

    def __init__(
        self,
        shift: int,
        *,
        labels: Mapping[str, tuple[str, ...]] = LABELS,
        context: Context = Context(None),  # noqa: B008
        clitics: str = "joined",
        lattice: bool = False,
        sure: float = 2.0,
    ) -> None:
        options = {"clitics": clitics}
        self.description = Description("sayer", f"sayer-{shift}", "1", labels, context, options=options)
        self.shift, self.lattice, self.sure = shift, lattice, sure
        self.device = "cpu"
        self.seen: list[int] = []

    def forward(self, windows: Sequence[Features]) -> list[Scores]:
        self.seen += map(len, windows)
        steps = {task: STEPS[: len(names), : len(names)] for task, names in self.labels.items()}
        transitions = steps if self.lattice else {}
        return [
            Scores({task: self._logs(window, len(names)) for task, names in self.labels.items()}, transitions)
            for window in windows
        ]

    def label(self, text: str, count: int) -> int:
        return (sum(map(ord, text)) + self.shift) % count

    def _logs(self, window: Features, count: int) -> Array:
        logits = np.zeros((len(window), count), dtype=np.float32)
        for row, text in enumerate(window.texts):
            logits[row, self.label(text, count)] = self.sure + 0.01 * len(window)
        return logits if self.lattice else logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)

    def save(self, folder: Path) -> None:
        self.description.save(folder)


class Mover(Sayer):
    """A sayer that can move to a device."""

    def to(self, device: str) -> Mover:
        self.device = device
        return self


class Scribe(Sayer):
    """A sayer that writes its labels one after another."""

    def steps(self, windows: Sequence[Features]) -> Steps:
        raise NotImplementedError


class Mute(Described):
    """A model that can do nothing."""

    def __init__(self, description: Description) -> None:
        self.description = description


def features(text: str) -> Features:
    return Features.of(text.split())


def test_ensemble_gives_the_mean_of_its_members_probabilities() -> None:
    members = [Sayer(0), Sayer(1, sure=5.0), Sayer(2, lattice=True)]
    ensemble = Ensemble.of(members, name="three", version="1")
    windows = [features("so how are you"), features("fine")]
    found = ensemble.forward(windows)
    for row, window in enumerate(windows):
        one, two, lattice = (member.forward([window])[0] for member in members)
        for task in LABELS:
            third = np.exp(marginals(lattice.tasks[task], lattice.transitions[task]))
            mean = (np.exp(one.tasks[task]) + np.exp(two.tasks[task]) + third) / 3
            np.testing.assert_allclose(np.exp(found[row].tasks[task]), mean, atol=1e-6)
        assert not found[row].transitions
        assert not found[row].best
        assert found[row].tasks["mark"].dtype == np.float32
    assert ensemble.forward([]) == []


def test_ensemble_of_a_sure_and_an_impossible_stays_a_number() -> None:
    ensemble = Ensemble.of([Sayer(0, sure=1e4), Sayer(0, sure=1e4)], name="sure", version="1")
    (found,) = ensemble.forward([features("so it is")])
    assert not np.isnan(found.tasks["mark"]).any()
    np.testing.assert_allclose(np.exp(found.tasks["mark"]).sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize(
    ("contexts", "given", "right"),
    [
        ([Context(None), Context(None)], None, Context(None)),
        ([Context(None), Context(200, restart=True)], None, Context(128, 48)),
        ([Context(50, 10)], None, Context(128, 48)),
        ([Context(None)], Context(7, 3), Context(7, 3)),
    ],
)
def test_ensemble_shows_every_member_its_own_windows(
    contexts: list[Context], given: Context | None, right: Context
) -> None:
    members = [Sayer(shift, context=context) for shift, context in enumerate(contexts)]
    ensemble = Ensemble.of(members, name="e", version="1", context=given)
    assert ensemble.context == right
    list(score(ensemble, [features("so it is " * 100)]))
    for member in members:
        assert set(member.seen) == {right.words or 300}


def test_ensemble_describes_its_members() -> None:
    one, two = Sayer(0, clitics="split"), Sayer(1, clitics="split")
    one.description = dataclasses.replace(one.description, licence="B", trained_on=("iwslt:train", "esic:train"))
    two.description = dataclasses.replace(two.description, licence="A", trained_on=("iwslt:train",))
    ensemble = Ensemble.of([one, two], name="both", version="3")
    assert (ensemble.name, ensemble.labels, ensemble.clitics) == ("both 3", LABELS, "split")
    assert ensemble.description.licence == "A; B"
    assert ensemble.description.trained_on == ("iwslt:train", "esic:train")


def test_ensemble_moves_the_members_that_can_move() -> None:
    still, mover = Sayer(0), Mover(1)
    ensemble = Ensemble.of([still, mover], name="e", version="1")
    assert ensemble.to("cuda") is ensemble
    assert (still.device, mover.device) == ("cpu", "cuda")


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (Scribe(1), r"sayer-1 1 writes its labels one after another.*leave it out"),
        (Mute(Sayer(1).description), r"sayer-1 1 cannot score words"),
        (
            Sayer(1, labels={**LABELS, "mark": ("", ".", ",", "?")}),
            r"sayer-1 1 has the labels .*sayer-0 1 .*same labels",
        ),
        (Sayer(1, labels={"mark": LABELS["mark"]}), r"the same labels"),
        (Sayer(1, clitics="split"), r"sayer-1 1 reads clitics split, sayer-0 1 joined"),
    ],
)
def test_ensemble_refuses_members_that_do_not_agree(other: Any, reason: str) -> None:
    with pytest.raises(ModelError, match=rf"ensemble e 1: .*{reason}"):
        Ensemble.of([Sayer(0), other], name="e", version="1")


def test_ensemble_refuses_to_be_empty() -> None:
    with pytest.raises(ModelError, match="at least one model"):
        Ensemble.of([], name="e", version="1")


def untrained(kind: str, *, seed: int = 1, labels: Mapping[str, tuple[str, ...]] = LABELS, **options: Any) -> Any:
    tiny: dict[str, Any] = {"vocabulary": 80, "embedding": 16, "batch": 8, "shortest": 12, "longest": 24, "noise": 0.0}
    own: dict[str, Any] = {
        "birnn": {"units": 24, "hidden": 16, "rnn_dropout": 0.0, "output_dropout": 0.0},
        "blstm_crf": {"units": 24, "dropout": 0.0},
    }[kind]
    words = Features.of([part for word in parse_text(TEXT) for part in (word.text, *word.text.split("'"))]).texts
    return models.type_named(kind).create(
        name=f"tiny-{kind}", version="1", labels=labels, options=tiny | own | options, words=words, seed=seed
    )


def test_ensemble_survives_its_folder(tmp_path: Path) -> None:
    members = [untrained("birnn"), untrained("blstm_crf")]
    inner = Ensemble.of([untrained("birnn", seed=2)], name="inner", version="1")
    ensemble = Ensemble.of([*members, inner], name="e", version="2", context=Context(9, 3))
    ensemble.save(tmp_path / "e")
    again = models.load(tmp_path / "e")
    assert isinstance(again, Ensemble)
    assert again.description == ensemble.description
    assert [member.name for member in again.members] == ["tiny-birnn 1", "tiny-blstm_crf 1", "inner 1"]
    for one, other in zip(scored(ensemble, [features(TEXT)]), scored(again, [features(TEXT)]), strict=True):
        for task in LABELS:
            np.testing.assert_array_equal(one.tasks[task], other.tasks[task])
    again.save(tmp_path / "e")  # onto itself
    assert models.load(tmp_path / "e").name == "e 2"


def test_ensemble_without_a_members_folder_says_which(tmp_path: Path) -> None:
    Ensemble.of([untrained("birnn"), untrained("birnn")], name="e", version="1").save(tmp_path)
    (tmp_path / "member-2" / "model.json").unlink()
    with pytest.raises(ModelError, match=r"member-2: no model\.json"):
        models.load(tmp_path)


def test_recipe_puts_trained_models_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    members = [untrained("birnn"), untrained("birnn", seed=2)]
    for number, member in enumerate(members):
        (tmp_path / str(number)).mkdir()
        member.save(tmp_path / str(number))
    monkeypatch.setattr(
        "sys.argv", ["ensemble.py", str(tmp_path / "0"), str(tmp_path / "1"), "-o", str(tmp_path / "e")]
    )
    assert ensemble_recipe.main() == 0
    (found,), *said = [model.forward([features(TEXT)]) for model in (models.load(tmp_path / "e"), *members)]
    mean = sum(np.exp(one.tasks["mark"]) for (one,) in said) / 2
    np.testing.assert_allclose(np.exp(found.tasks["mark"]), mean, atol=1e-6)
    monkeypatch.setattr("sys.argv", ["ensemble.py", str(tmp_path / "none"), "-o", str(tmp_path / "other")])
    assert ensemble_recipe.main() == 1
    assert "ensemble.py: error:" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


# What a teacher teaches.


def documents() -> Iterator[Transcript]:
    """Three documents with words of which nothing is left, and one that is empty."""
    yield Transcript(parse_text(TEXT))
    yield Transcript((Word("—"), *parse_text("Yes, I didn't."), Word("♪"), Word("...")))
    yield Transcript(())
    yield Transcript(parse_text("Fine."))


@pytest.mark.parametrize("clitics", ["joined", "split"])
@pytest.mark.parametrize("context", [Context(None), Context(5, 2), Context(6, restart=True)])
def test_taught_gives_every_word_the_teachers_probabilities(clitics: str, context: Context) -> None:
    student = untrained("birnn", clitics=clitics)
    teacher = Sayer(0, context=context, clitics=clitics, lattice=True)
    encoded = taught(student, teacher, documents)
    read = ("so how are you i am fine thanks i don't live in new york it's me", "yes i didn't", "fine")
    if clitics == "split":
        read = ("so how are you i am fine thanks i do n't live in new york it 's me", "yes i did n't", "fine")
    right = joined([Scores(scores.tasks) for text in read for _, scores in score(teacher, [features(text)])])
    assert len(encoded) == len(right)
    for task, names in LABELS.items():
        assert encoded.targets[task].shape == (len(encoded), len(names))
        assert encoded.targets[task].dtype == np.float32
        np.testing.assert_allclose(encoded.targets[task], np.exp(right.tasks[task]), atol=1e-6)
    plain = student.encode(documents())
    np.testing.assert_array_equal(encoded.pieces, plain.pieces)
    np.testing.assert_array_equal(encoded.labels["mark"], plain.labels["mark"])


def test_taught_is_in_the_students_order_of_labels() -> None:
    turned = {"mark": (".", "?", "", ","), "extra": ("a", "b"), "case": ("sentence", "lower")}
    teacher = Sayer(0, labels=turned)
    student = untrained("birnn", clitics="joined")
    encoded = taught(student, teacher, documents)
    assert set(encoded.targets) == set(LABELS)
    named = teacher.labels["mark"][teacher.label("so", 4)]
    assert LABELS["mark"][int(encoded.targets["mark"][0].argmax())] == named
    (raw,) = scored(teacher, [features("so")])
    assert set(np.round(np.exp(raw.tasks["mark"][0]), 1)) == set(np.round(encoded.targets["mark"][0], 1))


def test_taught_at_a_temperature_is_less_sure() -> None:
    student = untrained("birnn", clitics="joined")
    plain, warm = (taught(student, Sayer(0), documents, temperature=t).targets["mark"] for t in (1.0, 2.0))
    right = np.sqrt(plain) / np.sqrt(plain).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(warm, right, atol=1e-6)


def test_taught_reads_tagged_documents_too() -> None:
    student = untrained("birnn", clitics="joined")
    plain = taught(student, Sayer(0), documents)
    tagged = taught(student, Sayer(0), lambda: [Tagged(document) for document in documents()])
    np.testing.assert_array_equal(plain.targets["mark"], tagged.targets["mark"])


@pytest.mark.parametrize(
    ("teacher", "reason"),
    [
        (Sayer(0, clitics="split"), "reads clitics split, the student tiny-birnn 1 joined"),
        (Sayer(0, labels={**LABELS, "mark": ("", ".")}), r"the mark labels \('', '\.'\)"),
        (Sayer(0, labels={"mark": LABELS["mark"]}), r"the case labels \(\)"),
    ],
)
def test_taught_refuses_a_teacher_of_another_kind(teacher: Sayer, reason: str) -> None:
    with pytest.raises(InputError, match=rf"the teacher sayer-0 1 .*{reason}"):
        taught(untrained("birnn", clitics="joined"), teacher, documents)


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan"), float("inf")])
def test_taught_refuses_a_temperature_that_is_none(temperature: float) -> None:
    with pytest.raises(InputError, match="temperature"):
        taught(untrained("birnn", clitics="joined"), Sayer(0), documents, temperature=temperature)


@pytest.mark.parametrize(("later", "told"), [("so", "only 1 words"), (TEXT * 2, "more words")])
def test_taught_refuses_documents_that_change_between_readings(later: str, told: str) -> None:
    readings = iter([TEXT, later])
    with pytest.raises(InputError, match=told):
        taught(untrained("birnn", clitics="joined"), Sayer(0), lambda: [Transcript(parse_text(next(readings)))])


@pytest.mark.parametrize("kind", ["birnn", "blstm_crf"])
def test_student_taught_by_a_sure_teacher_alone_says_what_it_says(kind: str) -> None:
    """The teacher's labels have nothing to do with the text's, so that only it can have taught them."""
    student = untrained(kind, clitics="joined", distil=1.0, batch=4)
    teacher = Sayer(1, sure=9.0)
    encoded = taught(student, teacher, lambda: [Transcript(parse_text(TEXT))] * 4)
    right = {task: target.argmax(axis=1) for task, target in encoded.targets.items()}
    assert (encoded.labels["mark"] != right["mark"]).mean() > 0.3
    # Dev holds what the teacher says: the best weights are those that say it too.
    dev = Encoded(encoded.pieces, encoded.ends, encoded.starts, right)
    student.fit(encoded, dev, loop=LoopOptions(epochs=30, rate=2e-2, device="cpu"), log=lambda _: None)
    (found,) = scored(student, [Features.of(word.text for word in parse_text(TEXT))])
    for task in LABELS:
        assert found.chosen(task).tolist() == right[task][: len(found)].tolist()
