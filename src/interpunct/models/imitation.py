"""`Imitation`: branches with which a network tells a teacher's states for as long as it learns.

In: a network, and how much telling counts. Out: a loss, which counts less and less, in the end nothing. The states are
those of some of the teacher's layers. A network of layers tells each from its own layer of the same height, any other
all of them from its last states. The branches are gone when learning ends: what they have taught the layers below them
is what stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, cast

import torch
from torch import Tensor, nn

from interpunct.errors import InputError
from interpunct.models.depth import evenly_spaced, layers_of
from interpunct.models.encoded import IGNORED
from interpunct.models.shown import LOOKS, Batch
from interpunct.models.word_states import at_words

BRANCH = "states"
"""A branch's name among a network's others, where it tells all states from the last ones."""
_TELLING = "telling"
"""The name of the branches that read layers, in the network."""


class Imitation:
    """The branches, and what telling counts by now."""

    def __init__(self, model: Any, numbers: int, device: torch.device) -> None:
        """Prepare branches for so many numbers of a word; refuse a model whose branches do not read every word."""
        branches = getattr(model.network, "heads", None)
        if not isinstance(branches, nn.ModuleDict) or getattr(model.options, "glance", False):
            raise InputError(f"models of type {model.TYPE!r} cannot tell a teacher's states; set options.imitate to 0")
        self._network: nn.Module = model.network
        self._branches, self._numbers, self._at_first = branches, numbers, float(model.options.imitate)
        layers = layers_of(model.network) or ()
        self._looks = [layers[place - 1] for place in evenly_spaced(min(LOOKS, len(layers)), len(layers))]
        self._heard: list[Tensor] = []
        self.counts = torch.tensor(self._at_first, device=device)

    def __enter__(self) -> Self:
        (width,) = {branch.in_features for branch in self._branches.values() if isinstance(branch, nn.Linear)}
        if self._looks:
            sizes = [len(part) for part in torch.arange(self._numbers).tensor_split(len(self._looks))]
            self._network.add_module(_TELLING, nn.ModuleList(nn.Linear(width, size) for size in sizes))
        else:
            self._branches[BRANCH] = nn.Linear(width, self._numbers)
        self._hooks = [layer.register_forward_hook(self._hear) for layer in self._looks]
        return self

    def __exit__(self, *_: object) -> None:
        for hook in self._hooks:
            hook.remove()
        if self._looks:
            delattr(self._network, _TELLING)
        else:
            del self._branches[BRANCH]

    def _hear(self, layer: nn.Module, _given: Any, states: Tensor) -> None:
        if layer.training:  # what is read to be scored is not told
            self._heard.append(states)

    def progress(self, share: float) -> None:
        """Let telling count less: so much of the way is behind."""
        self.counts.fill_(self._at_first * (1 - share))

    def told(self, network: nn.Module, logits: Mapping[str, Tensor], batch: Batch) -> Tensor:
        """Return what the network has just told of each word (windows × words × numbers)."""
        if not self._looks:
            return logits[BRANCH].float()
        tells = cast(nn.ModuleList, network.get_submodule(_TELLING))
        told = [tell(at_words(states, batch.words)) for tell, states in zip(tells, self._heard, strict=True)]
        self._heard.clear()
        return torch.cat(told, dim=-1).float()

    def loss(self, told: Tensor, batch: Batch) -> Tensor:
        """Return the mean square of what was told wrongly, over the words that are there."""
        known = next(iter(batch.labels.values())) != IGNORED
        squares = (told - cast(Tensor, batch.states)).square().mean(dim=-1)
        return (squares * known).sum() / known.sum().clamp(min=1)
