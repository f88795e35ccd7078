"""The documents of paper 004's set-ups.

In: a set-up, and what `boundaries.py` wrote. Out: its training, dev and test documents, with the features that it has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from boundaries import Spoken, spoken
from interpunct.features.prosody_table import FROM_TIMES, NAMES
from paper004_systems import Setup


@dataclass(frozen=True)
class Data:
    """A set-up's documents."""

    train: Sequence[Spoken]
    dev: Sequence[Spoken]
    tests: Mapping[str, Sequence[Spoken]]

    @cached_property
    def sets(self) -> dict[str, Sequence[Spoken]]:
        """What a system reads once it is trained."""
        return {"dev": self.dev, **self.tests}


def load_data(setup: Setup, runs: Path) -> Data:
    """Read a set-up's documents, with the features that it has."""
    names = FROM_TIMES if setup.features == "times" else NAMES

    def some(split: str, caps: Mapping[str, int]) -> list[Spoken]:
        return [
            document
            for corpus, words in caps.items()
            for document in spoken(corpus, split, runs=runs, names=names, words=words)
        ]

    tests = {name: spoken(name, "test", runs=runs, names=names, words=words) for name, words in setup.tests.items()}
    return Data(some("train", setup.train), some("dev", setup.dev), tests)
