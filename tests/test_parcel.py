"""Weights in parts: as they were but for rounding, or told what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import parcel
from interpunct.errors import InputError


def arrays() -> dict[str, Any]:
    chance = np.random.default_rng(1)
    return {
        "table": chance.normal(size=(40, 30)).astype(np.float16),
        "cube": np.stack([chance.normal(size=(6, 5)), np.zeros((6, 5))]).astype(np.float32),
        "bias": chance.normal(size=7).astype(np.float32),
        "heads": np.array(12),
        "pieces": np.array([["the", "##s"]]),
    }


def test_npz_comes_back_as_it_was_but_for_rounding(tmp_path: Path) -> None:
    before, file, parts = arrays(), tmp_path / "weights.npz", tmp_path / "parts"
    np.savez(file, **before)
    parcel.pack(file, parts, 1000)
    assert len(list(parts.iterdir())) > 2
    assert max(path.stat().st_size for path in parts.iterdir()) == 1000
    parcel.unpack(parts, tmp_path / "back.npz")
    with np.load(tmp_path / "back.npz") as back:
        assert sorted(back) == sorted(before)
        for name, array in before.items():
            assert back[name].dtype == array.dtype
            if name in ("table", "cube"):
                flat, found = array.astype(np.float32).ravel(), back[name].astype(np.float32).ravel()
                for begin in range(0, len(flat), 32):
                    group = slice(begin, begin + 32)
                    largest = np.abs(flat[group]).max()
                    assert np.all(np.abs(found[group] - flat[group]) <= 0.51 * largest / 127 + 1e-3 * largest)
            else:
                np.testing.assert_array_equal(back[name], array)
        assert not np.array_equal(back["table"], before["table"])


def test_command_carries_a_models_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = {
        "line.weight": torch.randn(30, 200, generator=torch.Generator().manual_seed(1)),
        "line.bias": torch.ones(3),
    }
    torch.save(state, tmp_path / "weights.pt")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "part-9-of-9").write_bytes(b"of another packing")
    for way in (["pack", "weights.pt", "parts", "--size", ".004"], ["unpack", "parts", "new/weights.pt"]):
        named = [str(tmp_path / word) if word[0] in "wpn" and word not in ("pack",) else word for word in way[1:]]
        monkeypatch.setattr("sys.argv", ["parcel.py", way[0], *named])
        assert parcel.main() == 0
    back = torch.load(tmp_path / "new" / "weights.pt", weights_only=True)
    torch.testing.assert_close(back["line.weight"], state["line.weight"], atol=0.02, rtol=0)
    torch.testing.assert_close(back["line.bias"], state["line.bias"])
    parts = sum(part.stat().st_size for part in (tmp_path / "parts").iterdir())
    assert parts < (tmp_path / "weights.pt").stat().st_size / 2.5  # of which a file's own frame is a part


def test_parts_that_are_not_all_there_are_told(tmp_path: Path) -> None:
    np.savez(tmp_path / "weights.npz", **arrays())
    parts, back = tmp_path / "parts", tmp_path / "back.npz"
    for _ in ("no folder", "an empty one"):
        with pytest.raises(InputError, match="no parts there"):
            parcel.unpack(parts, back)
        parts.mkdir(exist_ok=True)
    parcel.pack(tmp_path / "weights.npz", parts, 1000)
    (parts / "part-2-of-3.half").write_bytes(b"not yet here")
    whole = sorted(parts.glob("part-?-of-?"))
    content = whole[1].read_bytes()
    whole[1].unlink()
    with pytest.raises(InputError, match=f"of {len(whole)} parts 2 missing"):
        parcel.unpack(parts, back)
    whole[1].write_bytes(content[:-10])
    with pytest.raises(InputError, match="no weights in parts"):
        parcel.unpack(parts, back)
    (parts / "part-1-of-1").write_bytes(content)
    with pytest.raises(InputError, match="several packings"):
        parcel.unpack(parts, back)
    assert not back.exists()


def test_what_cannot_be_packed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.save([1, 2], tmp_path / "list.pt")
    np.savez(tmp_path / "inf.npz", a=np.full((2, 2), np.inf))
    (tmp_path / "text.pt").write_text("no weights")
    (tmp_path / "text.npz").write_text("no weights")
    for name, what in (
        ("list.pt", "no weights that can be packed"), ("text.pt", "be packed$"), ("text.npz", "no weights"),
        ("nowhere.pt", "No such file"), ("nowhere.npz", "No such file"), ("inf.npz", "a holds what is no number"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=what):
            parcel.pack(tmp_path / name, tmp_path / "parts", 1000)
    for size in ("0", "nan", "inf"):
        monkeypatch.setattr("sys.argv", ["parcel.py", "pack", "a.pt", "parts", "--size", size])
        with pytest.raises(SystemExit):
            parcel.main()


def test_small_rows_keep_their_numbers(tmp_path: Path) -> None:
    small = {"m": np.repeat(np.array([[3e-6, -1e-6], [1.0, 0.5]], dtype=np.float16), 16, axis=1)}
    back = parcel.restored(parcel.rounded(small))["m"]
    np.testing.assert_allclose(back, small["m"], rtol=0.03)


def test_numbers_too_small_for_a_scale_are_nothing() -> None:
    back = parcel.restored(parcel.rounded({"m": np.full((1, 32), 2.6e-43, dtype=np.float32)}))["m"]
    np.testing.assert_array_equal(back, 0)


def test_one_large_number_takes_nothing_from_those_far_from_it() -> None:
    row = np.random.default_rng(2).normal(size=(3, 64)).astype(np.float32)
    row[1, 5] = 1000
    back = parcel.restored(parcel.rounded({"m": row}))["m"]
    assert np.abs(back - row)[1, 32:].max() < 0.02


def test_exact_weights_come_back_to_the_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, file, parts = arrays(), str(tmp_path / "weights.npz"), str(tmp_path / "parts")
    np.savez(file, **before)
    for command in (["pack", "--exact", file, parts, "--size", ".002"], ["unpack", parts, str(tmp_path / "back.npz")]):
        monkeypatch.setattr("sys.argv", ["parcel.py", *command])
        assert parcel.main() == 0
    with np.load(tmp_path / "back.npz") as back:
        for name, array in before.items():
            np.testing.assert_array_equal(back[name], array)
            assert back[name].dtype == array.dtype
