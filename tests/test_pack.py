"""Packs: corpora as numbers give a network what their texts would."""

from __future__ import annotations

import json
import lzma
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from interpunct.cases import CASES
from interpunct.decode.windows import score
from interpunct.errors import ConfigError, InputError, InterpunctError
from interpunct.export import export
from interpunct.features import Features
from interpunct.labels import MARKS, parse_tokens
from interpunct.models import Description, load, type_named
from interpunct.models.encoded import Encoded, encode, joined
from interpunct.models.folder import load_lexicon
from interpunct.models.pieces import Pieces
from interpunct.train import train
from interpunct.train.distil import asked, taught_packs
from interpunct.train.pack import Pack
from interpunct.transcript import Transcript, Word
from said import main as said_main

TEXTS = (
    "Well, I own an iPhone: don't you? NATO's wait… ends; here! And — 42 things.",
    "The second talk begins. The second talk ends",
    "“” yes.",
)
LABELS = {"mark": MARKS, "case": CASES}


def transcripts() -> list[Transcript]:
    return [
        *(Transcript(tuple(parse_tokens(text.split()))) for text in TEXTS),
        Transcript((Word("unknown"), Word("tags"))),
        Transcript(()),
    ]


def vocabulary() -> Pieces:
    return Pieces.learn([word for text in TEXTS for word in text.lower().split()], size=60)


def same(one: Encoded, other: Encoded) -> bool:
    flat = (
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("pieces", "ends", "starts")
    )  # fmt: skip
    return all(flat) and all(np.array_equal(one.labels[task], other.labels[task]) for task in one.labels)


@pytest.mark.parametrize("marks", [MARKS, ("", ",", ".", "?")])
def test_pack_gives_what_its_texts_give(marks: tuple[str, ...], tmp_path: Path) -> None:
    labels = {"mark": marks, "case": CASES}
    Pack.of(transcripts(), sources=["iwslt:train"]).save(tmp_path / "a.pack")
    pack = Pack.load(tmp_path / "a.pack")
    pieces = vocabulary()
    assert same(pack.encoded(pieces, labels), encode(transcripts(), pieces, labels))
    assert pack.sources == ("iwslt:train",)


def test_pack_yields_its_words_in_order_and_counts_forms() -> None:
    pack = Pack.of(transcripts())
    assert list(pack.texts())[:6] == ["well", "i", "own", "an", "iphone", "don't"]
    assert {*pack.words[:4]} == {"the", "second", "talk", "ends"}
    assert pack.forms == {"iPhone": 1}


def test_pack_of_nothing_is_empty(tmp_path: Path) -> None:
    Pack.of([]).save(tmp_path / "a.pack")
    pack = Pack.load(tmp_path / "a.pack")
    assert len(pack) == 0
    assert pack.words == ()


def test_pack_says_what_is_wrong_with_a_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        Pack.load(tmp_path / "none.pack")
    Pack.of(transcripts()).save(tmp_path / "good.pack")
    whole = (tmp_path / "good.pack").read_bytes()
    for content in (b"no pack", b"", whole[: len(whole) // 2], whole[:200] + b"xxxx" + whole[204:]):
        (tmp_path / "bad.pack").write_bytes(content)
        with pytest.raises(InputError, match="not a pack"):
            Pack.load(tmp_path / "bad.pack")


def test_joined_corpora_are_one_corpus() -> None:
    pieces = vocabulary()
    parts = [encode([one], pieces, LABELS) for one in transcripts() if one.words]
    assert same(joined(parts), encode(transcripts(), pieces, LABELS))


CONFIG = """
[model]
type = "bigru"
name = "tiny"
version = "1"
{start}
[data]
train = ["{pack}"]
dev = ["iwslt:dev"]
{teacher}
[options]
vocabulary = 300
embedding = 8
hidden = 8
layers = 1
window = 32
overlap = 8
batch = 2
[train]
epochs = 1
device = "cpu"
"""


def talks(root: Path, text: str) -> None:
    """Write a corpus of one talk where `iwslt:dev` is looked for."""
    (root / "iwslt").mkdir()
    with lzma.open(root / "iwslt" / "dev.jsonl.xz", "wt") as file:
        file.write(json.dumps({"id": "1", "title": "t", "published": None, "paragraphs": [text], "start_ms": None}))


@pytest.fixture
def packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pack of a text that repeats itself, and a dev corpus beside it."""
    pytest.importorskip("torch")
    text = " ".join(TEXTS[:2] * 20) + "."
    talks(tmp_path, text)
    monkeypatch.setenv("INTERPUNCT_DATA", str(tmp_path))
    Pack.of([Transcript(tuple(parse_tokens(text.split())))], sources=["changelog:train"]).save(tmp_path / "a.pack")
    return tmp_path / "a.pack"


def trained(packed: Path, name: str, *, start: str = "", teacher: str = "") -> Path:
    (packed.parent / f"{name}.toml").write_text(CONFIG.format(pack=packed, start=start, teacher=teacher))
    train(packed.parent / f"{name}.toml", packed.parent / name)
    return packed.parent / name


def test_train_learns_from_a_pack_goes_on_and_teaches(packed: Path) -> None:
    first = trained(packed, "first")
    description = Description.load(first)
    assert description.trained_on == ("changelog:train",)
    assert description.licence == "CC BY-SA 4.0"
    assert load_lexicon(first) == {"iphone": "iPhone"}
    before, after = (json.loads((folder / "log.jsonl").read_text())["loss"] for folder in (
        first, trained(packed, "second", start=f'start = "{first}"')
    ))  # fmt: skip
    assert after < before
    (first / "lexicon.txt").write_text("iPhone\nMacBook\n")
    assert "macbook" in load_lexicon(trained(packed, "later", start=f'start = "{first}"'))
    alone, taught = (json.loads((folder / "log.jsonl").read_text())["loss"] for folder in (
        first, trained(packed, "third", teacher=f'teacher = "{first}"')
    ))  # fmt: skip
    assert alone != taught


def test_train_learns_from_what_a_model_said(packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, folder = trained(packed, "first"), packed.parent / "said"
    said = f'said = ["{folder}"]'
    with pytest.raises(ConfigError, match=r"nothing of .*a\.pack there"):
        trained(packed, "second", teacher=said)
    monkeypatch.setattr("sys.argv", ["said.py", str(first), str(packed), "-o", str(folder), "--device", "cpu"])
    assert said_main() == 0
    with pytest.raises(ConfigError, match=r"without data\.teacher"):
        trained(packed, "second", teacher=f'{said}\nteacher = "{first}"')
    asked, kept = (json.loads((made / "log.jsonl").read_text())["loss"] for made in (
        trained(packed, "second", teacher=f'teacher = "{first}"'), trained(packed, "third", teacher=said)
    ))  # fmt: skip
    assert kept == pytest.approx(asked, abs=1e-3)
    awaited = trained(packed, "fourth", teacher=f"{said}\nwait = 60")
    assert json.loads((awaited / "log.jsonl").read_text())["loss"] == kept
    with pytest.raises(ConfigError, match="nobody is waited for"):
        trained(packed, "fifth", teacher="wait = 60")
    assert kept != json.loads((first / "log.jsonl").read_text())["loss"]


def test_teachers_labels_are_brought_into_the_students_order(packed: Path) -> None:
    teacher: Any = load(trained(packed, "first"))
    pack = Pack.load(packed)
    student: Any = type_named("bigru").create(
        name="student", version="1", labels={task: names[::-1] for task, names in teacher.labels.items()},
        options={"vocabulary": 300}, words=pack.texts(),
    )  # fmt: skip
    straight, turned = (taught_packs(model, teacher, [pack]).targets["mark"] for model in (teacher, student))
    assert np.array_equal(turned, straight[:, ::-1])


def test_teacher_reads_a_pack_that_is_named_thrice_once(packed: Path) -> None:
    teacher: Any = load(trained(packed, "first"))
    often, other = Pack.load(packed), Pack.of([Transcript(tuple(parse_tokens("So it is , and that is all .".split())))])
    asked: list[int] = []
    chances = teacher.chances

    def counted(encoded: Encoded) -> Any:
        asked.append(len(encoded))
        return chances(encoded)

    teacher.chances = counted
    said = taught_packs(teacher, teacher, [often, other, often, often])
    assert asked == [len(often) + len(other)]
    assert len(said) == 3 * len(often) + len(other)
    for task in ("mark", "case"):
        first, between, second, third = np.split(said.targets[task], np.cumsum([len(often), len(other), len(often)]))
        assert np.array_equal(first, second)
        assert np.array_equal(first, third)
        assert len(between) == len(other)


def test_train_refuses_to_write_over_what_it_goes_on_from(packed: Path) -> None:
    first = trained(packed, "first")
    before = (first / "weights.pt").read_bytes()
    (packed.parent / "on.toml").write_text(CONFIG.format(pack=packed, start=f'start = "{first}"', teacher=""))
    with pytest.raises(ConfigError, match="would be written over"):
        train(packed.parent / "on.toml", first)
    assert (first / "weights.pt").read_bytes() == before


def test_train_refuses_to_go_on_from_what_is_another_model(packed: Path) -> None:
    first = trained(packed, "first")
    text = CONFIG.format(pack=packed, start=f'start = "{first}"', teacher="")
    for change, what in (
        (('name = "tiny"', 'name = "tiny"\nmarks = ["", "."]'), "model.marks"),
        (('name = "tiny"', 'name = "tiny"\ntasks = ["mark"]'), "model.tasks"),
        (("vocabulary = 300", "vocabulary = 200"), "vocabulary cannot change"),
        (("hidden = 8", "hidden = 9"), "another shape"),
        (('type = "bigru"', 'type = "birnn"'), "cannot go on"),
    ):
        (packed.parent / "bad.toml").write_text(text.replace(*change))
        with pytest.raises(InterpunctError, match=what):
            train(packed.parent / "bad.toml", packed.parent / "bad")


def test_chances_of_a_pack_are_the_models_own(packed: Path) -> None:
    model: Any = load(trained(packed, "first"))
    pack = Pack.load(packed)
    found = model.chances(pack.encoded(model.vocabulary, model.labels), batch=2)
    slow = np.concatenate([scores.tasks["mark"] for _, scores in score(model, [Features(tuple(pack.texts()))])])
    assert np.abs(found["mark"] - np.exp(slow)).max() < 0.05  # windows blend otherwise at their edges
    # Windows of so many pieces are others, which see a little less or more on either side.
    model.options = replace(model.options, pieces=24)
    full = model.chances(pack.encoded(model.vocabulary, model.labels), batch=2)
    assert np.abs(full["mark"] - np.exp(slow)).max() < 0.1
    model.options = replace(model.options, pieces=0)
    taught = taught_packs(model, model, [pack])
    assert np.array_equal(taught.targets["case"], found["case"])


def test_exported_teacher_says_of_a_pack_what_it_scores(packed: Path) -> None:
    pytest.importorskip("onnx")
    export(trained(packed, "first"), packed.parent / "exported")
    teacher: Any = load(packed.parent / "exported")
    pack = Pack.joined([Pack.load(packed), Pack.of([Transcript(tuple(parse_tokens("So it is .".split())))])])
    said = asked(teacher, pack)
    assert len(pack.documents) == 2
    for task in ("mark", "case"):
        wanted = [np.exp(scores.tasks[task]) for _, scores in score(teacher, pack.features())]
        assert np.abs(said[task] - np.concatenate(wanted)).max() < 1e-3
    student: Any = load(packed.parent / "first")
    assert len(taught_packs(student, teacher, [pack]).targets["mark"]) == len(pack)
    mute = SimpleNamespace(name="mute 1", labels=teacher.labels)
    with pytest.raises(InputError, match="the teacher mute 1 cannot read packs"):
        asked(mute, pack)


def test_train_counts_a_pack_named_thrice_once(packed: Path) -> None:
    seen_once = Transcript(tuple(parse_tokens("We met at McRare , and we left .".split())))
    Pack.of([seen_once], sources=["qmsum_meetings:train"]).save(packed.parent / "rare.pack")
    (packed.parent / "often.toml").write_text(CONFIG.format(pack=packed, start="", teacher=""))
    named = json.dumps([str(packed), *[str(packed.parent / "rare.pack")] * 3])
    train(packed.parent / "often.toml", packed.parent / "often", overrides=[f"data.train={named}"])
    assert Description.load(packed.parent / "often").trained_on == ("changelog:train", "qmsum_meetings:train")
    assert load_lexicon(packed.parent / "often") == {"iphone": "iPhone"}


def test_some_documents_of_a_pack_are_a_pack_of_these() -> None:
    pack, pieces = Pack.of(transcripts(), sources=["iwslt:train"]), vocabulary()
    part = pack.of_documents(np.array([False, True, False, True]))
    chosen = [transcripts()[1], transcripts()[3]]
    assert same(part.encoded(pieces, LABELS), encode(chosen, pieces, LABELS))
    assert {*part.words} == {"the", "second", "talk", "begins", "ends", "unknown", "tags"}
    assert part.sources == pack.sources
    assert len(pack.of_documents(np.zeros(4, dtype=np.bool_))) == 0
