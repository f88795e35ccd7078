"""`Imitation`: a branch with which a network tells a teacher's states for as long as it learns.

In: a network's branches, and how much telling counts. Out: a loss, which counts less and less, in the end nothing. The
branch is gone when learning ends: what it has taught the layers below it is what stays.
"""

from __future__ import annotations

from typing import Any, Self, cast

import torch
from torch import Tensor, nn

from interpunct.errors import InputError
from interpunct.models.encoded import IGNORED
from interpunct.models.shown import Batch

BRANCH = "states"
"""The branch's name among a network's others."""


class Imitation:
    """The branch, and what telling counts by now."""

    def __init__(self, model: Any, numbers: int, device: torch.device) -> None:
        """Prepare a branch for so many numbers of a state; refuse a model whose branches do not read every word."""
        branches = getattr(model.network, "heads", None)
        if not isinstance(branches, nn.ModuleDict) or getattr(model.options, "glance", False):
            raise InputError(f"models of type {model.TYPE!r} cannot tell a teacher's states; set options.imitate to 0")
        self._branches, self._numbers, self._at_first = branches, numbers, float(model.options.imitate)
        self.counts = torch.tensor(self._at_first, device=device)

    def __enter__(self) -> Self:
        (width,) = {branch.in_features for branch in self._branches.values() if isinstance(branch, nn.Linear)}
        self._branches[BRANCH] = nn.Linear(width, self._numbers)
        return self

    def __exit__(self, *_: object) -> None:
        del self._branches[BRANCH]

    def progress(self, share: float) -> None:
        """Let telling count less: so much of the way is behind."""
        self.counts.fill_(self._at_first * (1 - share))

    def loss(self, told: Tensor, batch: Batch) -> Tensor:
        """Return the mean square of what was told wrongly, over the words that are there."""
        known = next(iter(batch.labels.values())) != IGNORED
        squares = (told - cast(Tensor, batch.states)).square().mean(dim=-1)
        return (squares * known).sum() / known.sum().clamp(min=1)
