"""`Recipe`: a row of a paper's table, or several that one trained model gives, as data.

In: `paper*.toml`, each with a `[base]` and small differences from it under `[recipes.NAME]`, or from another recipe of
the file, but for its rows, with `like = "NAME"`. Out: recipes by name, every value checked. `smoke` tables hold the
differences that make a recipe tiny.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from interpunct import config
from interpunct.errors import ConfigError, UnknownNameError
from interpunct.models.loop_options import LoopOptions
from interpunct.train import DataConfig, ModelConfig, TrainConfig

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Row:
    """A line of a table: how the trained model's scores are decoded, and what the paper prints (per cent)."""

    title: str
    scales: dict[str, float] = field(default_factory=dict)
    beam: int = 1
    expected: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Recipe:
    """What to train, how often, on what to score it, and what the paper says."""

    name: str
    paper: str
    rows: tuple[Row, ...]
    model: ModelConfig
    data: DataConfig
    train: LoopOptions = field(default_factory=LoopOptions)
    options: dict[str, Any] = field(default_factory=dict)
    seeds: tuple[int, ...] = (1,)
    tests: Literal["ted", "iq2"] = "ted"
    windows: tuple[int, ...] = ()
    """Lengths of the window that are tried on dev, for a model that restarts after the last sentence end."""
    members: tuple[str, ...] = ()
    """For an ensemble, the recipes whose models it holds, all seeds of each; nothing is trained then."""
    note: str = ""

    def settings(self, seed: int) -> TrainConfig:
        """Return the training run of one seed."""
        loop = LoopOptions(**{**vars(self.train), "seed": seed})
        return TrainConfig(self.model, self.data, loop, self.options)


def recipes(*, smoke: bool = False) -> dict[str, Recipe]:
    """Read every recipe of every paper, in the papers' order."""
    found: dict[str, Recipe] = {}
    for path in sorted(HERE.glob("paper*.toml")):
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        for name in tables["recipes"]:
            try:
                merged = merged_tables(tables["base"], own_tables(name, tables["recipes"]))
                tiny = merged.pop("smoke", {})
                if smoke:
                    merged = merged_tables(merged, tiny)
                merged |= {"name": name}
                merged.setdefault("model", {}).update(name=name)
                found[name] = config.build(Recipe, merged)
            except ConfigError as error:
                raise ConfigError([f"recipe {name}: {problem}" for problem in error.problems], path=str(path)) from None
    return found


def named(name: str, *, smoke: bool = False) -> Recipe:
    """Return one recipe."""
    known = recipes(smoke=smoke)
    if name not in known:
        raise UnknownNameError("recipe", name, known)
    return known[name]


def own_tables(name: str, known: Mapping[str, Mapping[str, Any]], seen: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a recipe's tables over those of the recipe that it is like; `seen` are the recipes that are like it.

    >>> own_tables("b", {"a": {"seeds": [1], "rows": [1]}, "b": {"like": "a", "windows": [50]}})
    {'seeds': [1], 'windows': [50]}
    """
    chain = (*seen, name)
    if name in seen:
        raise ConfigError([f"like goes in a circle ({' > '.join(chain)}); leave one out"])
    own = dict(known[name])
    other = own.pop("like", None)
    if other is None:
        return own
    if other not in known:
        raise ConfigError([f"like: {UnknownNameError('recipe', str(other), known)}"])
    same = {key: value for key, value in own_tables(other, known, chain).items() if key != "rows"}
    return merged_tables(same, own)


def merged_tables(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return tables with changes laid over them, table by table; a list replaces a list."""
    merged = dict(base)
    for key, value in changes.items():
        old = merged.get(key)
        merged[key] = merged_tables(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged
