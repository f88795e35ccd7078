"""The list of paper 004's systems: what each is, what it is trained on, and what the paper says of them.

In: `paper004.toml`. Out: a `Paper`; of a smoke run, one whose networks are tiny.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from interpunct import config
from interpunct.errors import ConfigError, UnknownNameError
from interpunct.models.loop_options import LoopOptions
from recipe import HERE, merged_tables


@dataclass(frozen=True)
class System:
    """A row of a table: a model type with its options, what it must find trained, and what the paper prints."""

    title: str
    type: str
    table: int = 1
    version: str = "1"
    paper: dict[str, float] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    train_words: int | None = None
    """Words of the set-up's training text that are learned from, where that is not all of it."""
    options: dict[str, Any] = field(default_factory=dict)
    loop: LoopOptions = field(default_factory=LoopOptions)


@dataclass(frozen=True)
class Setup:
    """What systems are trained on and tested on; of each corpus so many words at most."""

    title: str
    about: str
    features: Literal["times", "all"]
    train: dict[str, int]
    dev: dict[str, int]
    tests: dict[str, int]
    epochs: dict[str, int] = field(default_factory=dict)
    """How often a type of network sees the training text: less often, where there is more of it."""


@dataclass(frozen=True)
class Embeddings:
    """The network of section 5.2, and the text that it learns from."""

    type: str
    version: str
    train: dict[str, int]
    dev: int
    options: dict[str, Any] = field(default_factory=dict)
    loop: LoopOptions = field(default_factory=LoopOptions)


@dataclass(frozen=True)
class Claim:
    """One system said to be better than another."""

    title: str
    better: str
    worse: str


@dataclass(frozen=True)
class Paper:
    """The whole of `paper004.toml`."""

    embeddings: Embeddings
    setups: dict[str, Setup]
    systems: dict[str, System]
    claims: tuple[Claim, ...]


def read_paper(*, smoke: bool = False, path: Path = HERE / "paper004.toml") -> Paper:
    """Read the list of systems; `smoke` tables hold what makes them tiny."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    systems = {
        name: _tiny(merged_tables(tables["types"][table["type"]], table), smoke)
        for name, table in tables["systems"].items()
    }
    try:
        paper = Paper(
            config.build(Embeddings, _tiny(tables["embeddings"], smoke)),
            {name: config.build(Setup, table) for name, table in tables["setups"].items()},
            {name: config.build(System, table) for name, table in systems.items()},
            tuple(config.build(Claim, table) for table in tables["claims"]),
        )
    except ConfigError as error:
        raise ConfigError(error.problems, path=str(path)) from None
    for claim in paper.claims:
        for name in (claim.better, claim.worse):
            if name not in paper.systems:
                raise UnknownNameError("system", name, paper.systems)
    return paper


def _tiny(table: dict[str, Any], smoke: bool) -> dict[str, Any]:
    table = dict(table)
    changes = table.pop("smoke", {})
    return merged_tables(table, changes) if smoke else table
