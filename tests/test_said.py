"""What teachers say of packs: asked once, and read by students whose labels stand in another order."""

from __future__ import annotations

import shutil
from pathlib import Path
from threading import Timer
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import said as asking
from halves import halves
from interpunct.errors import ConfigError, InputError
from interpunct.labels import parse_tokens
from interpunct.models import type_named
from interpunct.train import distil
from interpunct.train.pack import Pack
from interpunct.train.said import ask, file_of, problems, taught
from interpunct.transcript import Transcript

TEXTS = ("Well, I own it: don't you? And here! 42 things.", "The second talk begins. The second talk ends.")
LABELS = {"mark": ("", ",", ".", "?", "!", ":", ";", "—"), "case": ("lower", "sentence", "upper", "single", "mixed")}


def network(name: str, words: Pack, labels: dict[str, tuple[str, ...]] | None = None) -> Any:
    options = {"vocabulary": 60, "embedding": 8, "hidden": 8, "layers": 1}
    return type_named("bigru").create(
        name=name, version="1", labels=labels or LABELS, options=options, words=words.texts()
    )


@pytest.fixture
def packs(tmp_path: Path) -> dict[str, Pack]:
    """Two packs, by the names of their files."""
    made = {}
    for name, text in zip("ab", TEXTS, strict=True):
        path = tmp_path / "packs" / f"{name}.pack"
        made[str(path)] = Pack.of([Transcript(tuple(parse_tokens(text.split())))], sources=["iwslt:train"])
        made[str(path)].save(path)
    return made


def test_student_learns_the_mean_of_what_was_said_of_each_pack(packs: dict[str, Pack], tmp_path: Path) -> None:
    (first, pack), (second, other) = packs.items()
    one, two = network("one", pack), network("two", other)
    ask(one, pack, file_of(tmp_path / "one", first))
    ask(two, pack, file_of(tmp_path / "two", first))
    ask(two, other, file_of(tmp_path / "two", second))
    turned = {task: names[::-1] for task, names in LABELS.items()}
    names = [second, first, second]
    folders = [str(tmp_path / "one"), str(tmp_path / "two")]
    said = taught(network("student", pack, turned), folders, names, [packs[name] for name in names])
    assert len(said) == len(pack) + 2 * len(other)
    for task in LABELS:
        of_other = distil.asked(two, other)[task][:, ::-1]
        both = (distil.asked(one, pack)[task] + distil.asked(two, pack)[task])[:, ::-1] / 2
        assert np.allclose(said.targets[task], np.concatenate([of_other, both, of_other]), atol=2e-3)
        assert not np.allclose(both, distil.asked(one, pack)[task][:, ::-1], atol=2e-3)


def test_what_was_said_of_other_words_or_with_other_labels_is_refused(packs: dict[str, Pack], tmp_path: Path) -> None:
    (first, pack), (_, other) = packs.items()
    ask(network("one", pack), pack, file_of(tmp_path, first))
    with pytest.raises(InputError, match="another pack"):
        taught(network("student", pack), [str(tmp_path)], [first], [other])
    few = {**LABELS, "mark": ("", ",", ".", "?")}
    with pytest.raises(InputError, match="with the mark labels"):
        taught(network("student", pack, few), [str(tmp_path)], [first], [pack])


def test_file_that_is_cut_or_another_is_told_in_a_line(packs: dict[str, Pack], tmp_path: Path) -> None:
    first, pack = next(iter(packs.items()))
    path = file_of(tmp_path, first)
    ask(network("one", pack), pack, path)
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"no answers"):
        path.write_bytes(content)
        with pytest.raises(InputError, match="not what a teacher said"):
            taught(network("student", pack), [str(tmp_path)], [first], [pack])


def test_student_of_one_task_learns_what_was_said_of_it(packs: dict[str, Pack], tmp_path: Path) -> None:
    first, pack = next(iter(packs.items()))
    ask(network("one", pack), pack, file_of(tmp_path, first))
    student = network("student", pack, {"mark": LABELS["mark"]})
    assert list(taught(student, [str(tmp_path)], [first], [pack]).targets) == ["mark"]


def test_teacher_that_splits_clitics_and_packs_of_nothing_are_refused(packs: dict[str, Pack], tmp_path: Path) -> None:
    pack = next(iter(packs.values()))
    with pytest.raises(InputError, match="splits clitics"):
        ask(SimpleNamespace(name="apart", clitics="split"), pack, tmp_path / "a.npz")
    with pytest.raises(InputError, match="no words"):
        ask(network("one", pack), Pack.of([]), tmp_path / "a.npz")
    assert not list(tmp_path.glob("*.npz"))


def test_folder_in_which_nobody_spoke_is_told(packs: dict[str, Pack], tmp_path: Path) -> None:
    first, second = packs
    ask(network("one", packs[first]), packs[first], file_of(tmp_path / "said", first))
    said, none = str(tmp_path / "said"), str(tmp_path / "siad")
    assert problems([said], [first, first]) == []
    assert problems([said, none], [first]) == [f"data.said: {none}: nothing of these packs there"]
    (told,) = problems([said], [first, second])
    assert second in told


def test_student_waits_until_each_teacher_has_spoken_of_each_pack(packs: dict[str, Pack], tmp_path: Path) -> None:
    (first, pack), (second, other) = packs.items()
    teacher, folder = network("one", pack), tmp_path / "said"
    ask(teacher, pack, file_of(folder, first))
    late = file_of(folder, second)

    def learned(wait: float) -> Any:
        return taught(network("student", pack), [str(folder)], [first, second, first], [pack, other, pack], wait=wait)

    with pytest.raises(ConfigError, match=rf"{late.name} is not there after 0\.1 s"):
        learned(0.1)
    speaking = Timer(0.5, ask, [teacher, other, late])
    speaking.start()
    assert len(learned(60).targets["mark"]) == 2 * len(pack) + len(other)


def test_pack_of_one_document_has_no_halves() -> None:
    with pytest.raises(InputError, match="no halves"):
        halves(Pack.of([Transcript(tuple(parse_tokens(TEXTS[0].split())))]))


def test_halves_hold_each_document_once() -> None:
    texts = [f"Talk {number} of an iPhone ends here." for number in range(9)]
    pack = Pack.of(Transcript(tuple(parse_tokens(text.split()))) for text in texts)
    parts = halves(pack)
    assert [len(part.documents) for part in parts] == [4, 5]
    assert sorted(word for part in parts for word in part.texts()) == sorted(pack.texts())
    assert Pack.joined(parts).forms == pack.forms == {"iPhone": 9}
    assert [list(part.texts()) for part in halves(pack)] == [list(part.texts()) for part in parts]


def deep(packs: dict[str, Pack], folder: Path) -> Path:
    """Save an untrained teacher of two layers."""
    options = {"vocabulary": 60, "width": 16, "heads": 2, "layers": 2, "inner": 32}
    teacher = type_named("transformer").create(
        name="deep", version="1", labels=LABELS, options=options, words=next(iter(packs.values())).texts()
    )
    folder.mkdir()
    teacher.save(folder)
    return folder


def test_command_says_nearly_the_same_in_bfloat16(
    packs: dict[str, Pack], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, teacher = next(iter(packs)), str(deep(packs, tmp_path / "deep"))
    for folder, more in (("plain", []), ("quick", ["--bfloat16"])):
        arguments = ["said.py", teacher, first, "-o", str(tmp_path / folder), "--device", "cpu", *more]
        monkeypatch.setattr("sys.argv", arguments)
        assert asking.main() == 0
    plain, quick = (np.load(file_of(tmp_path / folder, first)) for folder in ("plain", "quick"))
    for task in LABELS:
        np.testing.assert_allclose(plain[task], quick[task], atol=1e-2)
        assert not np.array_equal(plain[task], quick[task])


@pytest.mark.skipif(shutil.which("g++") is None, reason="torch compiles with a C++ compiler, and there is none")
def test_command_says_the_same_with_compiled_layers(
    packs: dict[str, Pack], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, teacher = next(iter(packs)), str(deep(packs, tmp_path / "deep"))
    compiled: list[torch.nn.Module] = []
    compiles = torch.nn.Module.compile

    def noted(module: torch.nn.Module, *given: Any, **options: Any) -> None:
        compiled.append(module)
        compiles(module, *given, **options)

    monkeypatch.setattr(torch.nn.Module, "compile", noted)
    for folder, more in (("plain", []), ("compiled", ["--compile"])):
        arguments = ["said.py", teacher, first, "-o", str(tmp_path / folder), "--device", "cpu", *more]
        monkeypatch.setattr("sys.argv", arguments)
        assert asking.main() == 0
        assert len(compiled) == (2 if more else 0)
    plain, quick = (np.load(file_of(tmp_path / folder, first)) for folder in ("plain", "compiled"))
    for task in LABELS:
        np.testing.assert_allclose(plain[task], quick[task], atol=2e-3)


def test_command_waits_for_a_pack_that_is_not_there_yet(
    packs: dict[str, Pack], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (first, pack), (_, other) = packs.items()
    (tmp_path / "one").mkdir()
    network("one", pack).save(tmp_path / "one")
    late = tmp_path / "packs" / "late.pack"
    arguments = ["said.py", str(tmp_path / "one"), first, str(late), "-o", str(tmp_path / "said"), "--device", "cpu"]
    monkeypatch.setattr("sys.argv", arguments)
    assert asking.main() == 1
    assert "late.pack" in capsys.readouterr().err
    telling = Timer(0.5, other.save, [late])
    telling.start()
    monkeypatch.setattr("sys.argv", [*arguments, "--wait", "60"])
    assert asking.main() == 0
    assert file_of(tmp_path / "said", str(late)).exists()
    assert f"says of {len(other):,} words" in capsys.readouterr().out
