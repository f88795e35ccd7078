"""Weights of six bits: what they hold, that a network of them is nearly the same, and what is told of broken ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from interpunct import models  # noqa: E402
from interpunct.cases import CASES  # noqa: E402
from interpunct.errors import InputError, ModelError  # noqa: E402
from interpunct.export import export  # noqa: E402
from interpunct.export.recover import recover  # noqa: E402
from interpunct.features import Features  # noqa: E402
from interpunct.labels import MARKS  # noqa: E402
from interpunct.models.dilated import Dilated  # noqa: E402
from interpunct.models.six_bits import WEIGHTS, packed, unpacked  # noqa: E402
from interpunct.models.transformer import Transformer  # noqa: E402

WORDS = "so how are you i am fine thanks my name is anna".split()


@given(st.integers(1, 5), st.integers(1, 7), st.randoms(use_true_random=False))
def test_six_bits_hold_what_was_put_into_them(part: int, columns: int, random: Any) -> None:
    numbers = np.array([[random.randint(-31, 31) for _ in range(columns)] for _ in range(4 * part)], dtype=np.int8)
    rows = packed(numbers)
    assert rows.shape == (3 * part, columns)
    assert rows.dtype == np.uint8
    assert np.array_equal(unpacked(rows), numbers)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network by chance in `trained`, and its exports as bytes in `eight` and as six bits in `six`."""
    folder = tmp_path_factory.mktemp("six")
    options = {"vocabulary": 60, "width": 32, "heads": 4, "layers": 2, "inner": 64, "positions": 64, "window": 64}
    model = Transformer.create(
        name="tiny", version="1", labels={"mark": MARKS, "case": CASES}, options=options, words=WORDS
    )
    with torch.no_grad():
        for weight in model.network.parameters():
            weight.mul_(4)  # so that answers differ from word to word
    (folder / "trained").mkdir()
    model.save(folder / "trained")
    export(folder / "trained", folder / "eight", int8=True)
    export(folder / "trained", folder / "six", int8=True, bits=6)
    return folder


def logs(folder: Path, task: str) -> npt.NDArray[np.float32]:
    model: Any = models.load(folder)
    found: npt.NDArray[np.float32] = model.forward([Features.of(WORDS)])[0].tasks[task]
    return found


def test_network_of_six_bits_is_nearly_the_same_and_its_matrices_take_three_quarters(folder: Path) -> None:
    for task in ("mark", "case"):
        eight, six = logs(folder / "eight", task), logs(folder / "six", task)
        assert np.corrcoef(eight.ravel(), six.ravel())[0, 1] > 0.99
        assert not np.array_equal(eight, six)
    with np.load(folder / "six" / WEIGHTS) as arrays:
        shapes = {name: arrays[name].shape for name in arrays.files}
    assert shapes["layers.0.projections.int8"] == (24, 96)
    assert shapes["layers.1.down.int8"] == (48, 32)
    assert len(shapes) == 8


def test_network_of_six_bits_comes_back_as_it_was_rounded(folder: Path, tmp_path: Path) -> None:
    recover(folder / "six", tmp_path / "back")
    export(tmp_path / "back", tmp_path / "again", int8=True, bits=6)
    for task in ("mark", "case"):
        np.testing.assert_allclose(logs(tmp_path / "again", task), logs(folder / "six", task), atol=1e-3)


def test_copy_of_a_network_of_six_bits_is_whole(folder: Path, tmp_path: Path) -> None:
    model: Any = models.load(folder / "six")
    model.save(tmp_path / "copy")
    assert np.array_equal(logs(tmp_path / "copy", "mark"), logs(folder / "six", "mark"))


def test_weights_of_another_export_do_not_stay(folder: Path, tmp_path: Path) -> None:
    export(folder / "trained", tmp_path / "made", int8=True, bits=6)
    assert (tmp_path / "made" / WEIGHTS).exists()
    export(folder / "trained", tmp_path / "made", int8=True)
    assert not (tmp_path / "made" / WEIGHTS).exists()
    assert np.array_equal(logs(tmp_path / "made", "mark"), logs(folder / "eight", "mark"))


def test_weights_that_are_cut_or_gone_are_told_in_a_line(folder: Path, tmp_path: Path) -> None:
    export(folder / "trained", tmp_path / "made", int8=True, bits=6)
    path = tmp_path / "made" / WEIGHTS
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ModelError, match=r"weights\.npz: not an exported model's weights.*export the model again"):
        models.load(tmp_path / "made")
    path.unlink()
    with pytest.raises(ModelError, match=r"model\.onnx: onnxruntime cannot load it.*export the model again"):
        models.load(tmp_path / "made")


def test_type_that_has_no_six_bits_is_refused(tmp_path: Path) -> None:
    model = Dilated.create(name="tiny", version="1", labels={"mark": MARKS}, options={"vocabulary": 60}, words=WORDS)
    (tmp_path / "trained").mkdir()
    model.save(tmp_path / "trained")
    with pytest.raises(ModelError, match="a dilated has no weights of 6 bits; leave bits at 8"):
        export(tmp_path / "trained", tmp_path / "made", int8=True, bits=6)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(("int8", "bits"), [(False, 6), (True, 5)])
def test_bits_that_there_are_not_are_refused(folder: Path, tmp_path: Path, int8: bool, bits: Any) -> None:
    with pytest.raises(InputError, match=f"weights of {bits} bits: use 8, or 6 together with int8"):
        export(folder / "trained", tmp_path / "made", int8=int8, bits=bits)
