"""`Ensemble`: several models that decide together (the Teacher-Ensemble of Yi et al. 2017, paper 002's tables).

In: windows of words, the same for every member. Out: the mean of the members' probabilities. A member whose labels are
chosen together brings each word's marginals. A model that writes its labels one after another cannot be a member:
what it says of a word holds only after the labels it has written itself. Members lie in folders of the ensemble's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, Self, runtime_checkable

import numpy as np

from interpunct.errors import ModelError
from interpunct.features import Features
from interpunct.models.folder import Described, Description
from interpunct.models.lattice import settled
from interpunct.models.model import Context, Model, Scorer, Writer
from interpunct.models.scores import Array, Scores

_WINDOWS = Context(128, 48)


@runtime_checkable
class Member(Scorer, Protocol):
    """A model that scores all words of a window at once and has a folder."""

    description: Description

    def save(self, folder: Path) -> None:
        """Write the model into a folder."""


class Ensemble(Described):
    """Models of the same labels, averaged."""

    TYPE = "ensemble"

    def __init__(self, description: Description, members: Sequence[Model]) -> None:
        self.description = description
        self.members = _agreeing(members, description.title)

    @classmethod
    def of(cls, models: Sequence[Model], *, name: str, version: str, context: Context | None = None) -> Self:
        """Make an ensemble of models.

        All of them see the windows of `context`, whatever their own is: by default the whole document where all of
        them read it whole, else windows of 128 words that overlap by 48.
        """
        members = _agreeing(models, f"{name} {version}")
        if context is None:
            context = Context(None) if all(member.context.words is None for member in members) else _WINDOWS
        about = [member.description for member in members]
        description = Description(
            cls.TYPE,
            name,
            version,
            members[0].labels,
            context,
            licence="; ".join(sorted({part.licence for part in about if part.licence})),
            trained_on=tuple(dict.fromkeys(corpus for part in about for corpus in part.trained_on)),
            options={"clitics": members[0].clitics, "members": len(members)},
        )
        return cls(description, members)

    def to(self, device: str) -> Self:
        """Move the members that can move to a device."""
        for member in self.members:
            move = getattr(member, "to", None)
            if move is not None:
                move(device)
        return self

    def forward(self, windows: Sequence[Features]) -> list[Scores]:
        """Score windows."""
        said = [settled(member.forward(windows)) for member in self.members]
        return [_mean(scores) for scores in zip(*said, strict=True)]

    def save(self, folder: Path) -> None:
        """Write the ensemble into a folder, each member into a folder in it."""
        self.description.save(folder)
        for number, member in enumerate(self.members, start=1):
            member.save(folder / f"member-{number}")

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read an ensemble and its members from its folder."""
        from interpunct.models import load  # the table of types stands above its rows

        description = Description.load(folder)
        count = description.whole("members")
        return cls(description, [load(folder / f"member-{number}") for number in range(1, count + 1)])


def _agreeing(models: Sequence[Model], title: str) -> tuple[Member, ...]:
    """Return the models as members; refuse those that cannot be averaged with the others."""
    members: list[Member] = []
    for model in models:
        if isinstance(model, Writer):
            raise ModelError(
                f"ensemble {title}: {model.name} writes its labels one after another, which cannot be averaged; "
                "leave it out"
            )
        if not isinstance(model, Member):
            raise ModelError(f"ensemble {title}: {model.name} cannot score words or cannot be saved; leave it out")
        members.append(model)
        first = members[0]
        if model.labels != first.labels:
            told = f"{model.name} has the labels {dict(model.labels)}, {first.name} {dict(first.labels)}"
            raise ModelError(f"ensemble {title}: {told}; give models with the same labels in the same order")
        if model.clitics != first.clitics:
            told = f"{model.name} reads clitics {model.clitics}, {first.name} {first.clitics}"
            raise ModelError(f"ensemble {title}: {told}; give models that read words alike")
    if not members:
        raise ModelError(f"ensemble {title}: it has no members; give at least one model")
    return tuple(members)


def _mean(scores: Sequence[Scores]) -> Scores:
    """Average probabilities word by word; what members chose together does not count."""
    tasks: dict[str, Array] = {}
    for task in scores[0].tasks:
        logs = np.stack([one.tasks[task] for one in scores]).astype(np.float64)
        tasks[task] = (np.logaddexp.reduce(logs, axis=0) - np.log(len(scores))).astype(np.float32)
    return Scores(tasks)
