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
                largest = np.abs(array.astype(np.float32)).max(axis=-1, keepdims=True)
                assert np.all(np.abs(back[name].astype(np.float32) - array) <= 0.51 * largest / 127 + 1e-3 * largest)
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
    assert (tmp_path / "parts" / "part-1-of-2").stat().st_size < (tmp_path / "weights.pt").stat().st_size / 3


def test_parts_that_are_not_all_there_are_told(tmp_path: Path) -> None:
    np.savez(tmp_path / "weights.npz", **arrays())
    parts = tmp_path / "parts"
    with pytest.raises(InputError, match="no parts there"):
        parcel.unpack(parts, tmp_path / "back.npz")
    parcel.pack(tmp_path / "weights.npz", parts, 1000)
    whole = sorted(parts.iterdir())
    content = whole[1].read_bytes()
    whole[1].unlink()
    with pytest.raises(InputError, match=f"{whole[1].name} missing"):
        parcel.unpack(parts, tmp_path / "back.npz")
    whole[1].write_bytes(content[:-10])
    with pytest.raises(InputError, match="no weights in parts"):
        parcel.unpack(parts, tmp_path / "back.npz")
    (parts / "part-1-of-1").write_bytes(content)
    with pytest.raises(InputError, match="several packings"):
        parcel.unpack(parts, tmp_path / "back.npz")
    assert not (tmp_path / "back.npz").exists()
