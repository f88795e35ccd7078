"""Files of arrays: whole, or not there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from interpunct.train.arrays import UNREADABLE, save_arrays


class Stopped:
    """Numbers during which somebody loses patience."""

    def __array__(self, *_: object, **__: object) -> None:
        raise KeyboardInterrupt


@pytest.mark.parametrize("compress", [True, False])
def test_arrays_are_read_as_they_were_written(compress: bool, tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.pack"
    save_arrays(path, {"numbers": np.arange(1000), "none": np.zeros(0)}, compress=compress)
    with np.load(path) as stored:
        assert stored["numbers"].tolist() == list(range(1000))
        assert stored["none"].shape == (0,)
    assert (path.stat().st_size < 4000) == compress


def test_file_whose_writing_is_stopped_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    save_arrays(path, {"numbers": np.arange(3)})
    with pytest.raises(KeyboardInterrupt):
        save_arrays(path, {"numbers": np.arange(5), "others": Stopped()})
    with np.load(path) as stored:
        assert stored["numbers"].tolist() == [0, 1, 2]
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_cut_file_raises_is_known(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    save_arrays(path, {"numbers": np.arange(1000)})
    whole = path.read_bytes()
    for size in (0, 1, 20, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(UNREADABLE), np.load(path) as stored:
            assert len(stored["numbers"]) == 1000
