"""What the comparison of CPUs says of one model twice, of a changed one, and of numbers worked out by hand."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import onnx
from onnx import numpy_helper

import cpus
import interpunct
from interpunct.export import export
from interpunct.models import type_named
from interpunct.models.onnx import GRAPH

WORDS = "so how are you i am fine thanks my name is anna".split()
TEXT = " ".join(WORDS * 6)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small untrained network whose windows are shorter than the text, exported as bytes."""
    place = tmp_path_factory.mktemp("models")
    model = type_named("dilated").create(
        name="tiny", version="1", labels={"mark": ("", "."), "case": ("lower", "sentence")}, words=WORDS,
        options={"vocabulary": 60, "width": 16, "embedding": 8, "pairs": 0, "dilations": [1, 2], "window": 24,
                 "overlap": 8},
    )  # fmt: skip
    model.save(place / "torch")
    export(place / "torch", place / "onnx", int8=True)
    (place / "text.txt").write_text(TEXT)
    return place


def run(monkeypatch: pytest.MonkeyPatch, *given: str | Path) -> None:
    monkeypatch.setattr(sys, "argv", ["cpus.py", *map(str, given)])
    cpus.main()


def compared(monkeypatch: pytest.MonkeyPatch, folder: Path, *dumps: Path) -> dict[str, dict[str, Any]]:
    run(monkeypatch, "compare", *dumps, "--json", folder / "cpus.json")
    return {row["task"]: row for row in json.loads((folder / "cpus.json").read_text())["rows"]}


def test_cpus_finds_no_difference_between_two_dumps_of_a_model(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dumps = [tmp_path / "one.npz", tmp_path / "two.npz"]
    for dump in dumps:
        run(monkeypatch, "dump", "--model", folder / "onnx", "--text", folder / "text.txt", "--words", "50", "-o", dump)
    rows = compared(monkeypatch, tmp_path, *dumps)
    assert rows.keys() == {"mark", "case"}
    for row in rows.values():
        assert (row["dump"], row["against"], row["words"], row["same file"]) == ("two", "one", 50, "yes")
        assert row["largest difference"] == row["mean difference"] == row["words with another label"] == 0


def test_cpus_finds_a_changed_file(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(folder / "onnx", tmp_path / "changed")
    graph = onnx.load(str(tmp_path / "changed" / GRAPH))
    (last,) = [node for node in graph.graph.node if node.op_type == "Gemm"]  # gives the logits of both tasks
    (bias,) = [weight for weight in graph.graph.initializer if weight.name == last.input[2]]
    changed = numpy_helper.to_array(bias) + np.array([0, 50, 0, 0], dtype=np.float32)  # every word has a period
    bias.CopyFrom(numpy_helper.from_array(changed, bias.name))
    onnx.save(graph, str(tmp_path / "changed" / GRAPH))
    dumps = {model: tmp_path / f"{model.name}.npz" for model in (folder / "onnx", tmp_path / "changed")}
    for model, dump in dumps.items():
        run(monkeypatch, "dump", "--model", model, "--text", folder / "text.txt", "-o", dump)
    rows = compared(monkeypatch, tmp_path, *dumps.values())
    first, other = (cpus.Dump.load(dump).tasks["mark"] for dump in dumps.values())
    assert rows["mark"]["same file"] == "no"
    assert rows["mark"]["largest difference"] == pytest.approx(np.exp(first[:, 0]).max(), rel=1e-4)
    assert rows["mark"]["words with another label"] == (first[:, 0] > first[:, 1]).sum()
    assert (other.argmax(axis=1) == 1).all()
    assert rows["case"]["largest difference"] == rows["case"]["words with another label"] == 0


def test_cpus_dump_holds_what_the_restorer_is_told(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(monkeypatch, "dump", "--model", folder / "onnx", "--text", folder / "text.txt", "-o", tmp_path / "a.npz")
    dump = cpus.Dump.load(tmp_path / "a.npz")
    restored = interpunct.load(folder / "onnx").restore(TEXT)
    assert dump.words == [word.text.lower() for word in restored.words] == TEXT.split()
    assert dump.about["CPU"] == cpus.cpu()
    likeliest = np.exp(dump.tasks["mark"]).max(axis=1)[:-1]  # the last word gets a period, however likely
    assert [word.mark_confidence for word in restored.words[:-1]] == pytest.approx(likeliest.tolist(), abs=1e-4)


def test_cpus_compare_is_right_on_three_words() -> None:
    def dump(name: str, *chances: float) -> cpus.Dump:
        logs = np.log(np.array([(1 - chance, chance) for chance in chances], dtype=np.float32))
        return cpus.Dump(
            name, {"CPU": "x", "onnxruntime": "1", "model": "m", "digest": ""}, list("abc"), {"mark": logs}
        )

    # Apart by 0, 0.1 and 0.2, in both labels; only the third word's likelier one is another.
    (row,) = cpus.compare(dump("a", 0.1, 0.2, 0.4), dump("b", 0.1, 0.3, 0.6))
    assert row["largest difference"] == pytest.approx(0.2)
    assert row["mean difference"] == pytest.approx(0.1)
    assert row["words with another label"] == 1


def test_cpus_takes_only_dumps_of_the_same_text(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for words in ("5", "6"):
        run(monkeypatch, "dump", "--model", folder / "onnx", "--text", folder / "text.txt", "--words", words, "-o",
            tmp_path / f"{words}.npz")  # fmt: skip
    with pytest.raises(SystemExit, match="6: other words"):
        compared(monkeypatch, tmp_path, tmp_path / "5.npz", tmp_path / "6.npz")


def test_cpus_says_which_file_is_missing_or_no_dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match=r"a\.npz: no such file"):
        run(monkeypatch, "compare", tmp_path / "a.npz", tmp_path / "b.npz")
    np.savez(tmp_path / "other.npz", rows=np.arange(3))
    (tmp_path / "cut.npz").write_bytes((tmp_path / "other.npz").read_bytes()[:40])
    (tmp_path / "text.npz").write_text("no arrays")
    (tmp_path / "empty.npz").write_bytes(b"")
    for name in ("other", "cut", "text", "empty"):
        with pytest.raises(SystemExit, match=rf"{name}\.npz: not a dump"):
            run(monkeypatch, "compare", tmp_path / f"{name}.npz", tmp_path / "b.npz")
