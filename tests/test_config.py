from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from interpunct import config
from interpunct.errors import ConfigError


@dataclass(frozen=True)
class Inner:
    epochs: int = 1
    rate: float = 0.1
    kind: Literal["a", "b"] = "a"


@dataclass(frozen=True)
class Outer:
    name: str
    inner: Inner = field(default_factory=Inner)
    tags: tuple[str, ...] = ()
    limit: int | None = None
    free: dict[str, Any] = field(default_factory=dict)


def write(folder: Path, text: str) -> Path:
    path = folder / "c.toml"
    path.write_text(text)
    return path


def test_load_reads_nested_tables_and_overrides(tmp_path: Path) -> None:
    path = write(tmp_path, 'name = "x"\ntags = ["p", "q"]\n[inner]\nepochs = 3\n[free]\nanything = 1\n')
    got = config.load(Outer, path, ["inner.rate=1", "limit=7", "inner.kind=b"])
    assert got == Outer("x", Inner(3, 1.0, "b"), ("p", "q"), 7, {"anything": 1})


def test_load_tells_all_mistakes_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, 'nam = "x"\n[inner]\nepoch = 3\nrate = "fast"\nkind = "c"\n')
    with pytest.raises(ConfigError) as caught:
        config.load(Outer, path)
    message = str(caught.value)
    for part in (
        "did you mean 'name'",
        "inner.epoch",
        "did you mean 'epochs'",
        "inner.rate",
        "'c'",
        "missing key",
    ):
        assert part in message
    assert len(caught.value.problems) == 5


@pytest.mark.parametrize("text", ["name = ", "name = 3", "name = true"])
def test_load_refuses_broken_or_mistyped_files(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"c\.toml"):
        config.load(Outer, write(tmp_path, text))


def test_load_refuses_missing_files_and_bad_overrides(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        config.load(Outer, tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="KEY=VALUE"):
        config.load(Outer, write(tmp_path, 'name = "x"'), ["epochs"])
    with pytest.raises(ConfigError, match="not a table"):
        config.load(Outer, write(tmp_path, 'name = "x"'), ["name.x=1"])


def test_dump_is_read_back_the_same(tmp_path: Path) -> None:
    value = Outer('ü "x"', Inner(2, 0.5, "b"), ("—", ","), 4, {"hidden": 3, ",": 0.5, "deep": {"er": [1, 2]}})
    assert config.load(Outer, write(tmp_path, config.dump(value))) == value
