"""A trained transformer that learns to glance: most words are decided after some of its layers.

In: a transformer, and a pack of text like what it will read. Out: the same network with a glance (see
`models/transformer.py`), whose branches tell after some layers what the whole network says in the end. The layers stay
as they are, so that this needs minutes on a CPU; where layers learn with their glance, more can be left to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from interpunct.errors import ModelError
from interpunct.models.transformer import Transformer
from interpunct.models.word_states import at_words
from interpunct.train.pack import Pack
from interpunct.train.states import watched

_STEPS = 60
_DRAWN_IN = 1e-5
"""What the squares of a branch's weights cost."""


def with_glance(model: Transformer, pack: Pack, *, layers: int, doubted: int) -> Transformer:
    """Return a model that decides after so many layers all but `doubted` percent of the places."""
    if model.options.glance:
        raise ModelError(f"{model.name} glances already; take the one that it was made of")
    described = replace(model.description, options={**model.description.options, "glance": layers, "doubted": doubted})
    glancing = Transformer(described, model.vocabulary)
    said, states = watched(model, pack, [layers], _first)
    state = model.network.state_dict()
    for task, chances in said.items():
        branch = fitted(torch.from_numpy(states), torch.from_numpy(chances))
        state |= {f"glances.{task}.{name}": value for name, value in branch.state_dict().items()}
    glancing.network.load_state_dict(state)
    return glancing


def _first(heard: Sequence[Tensor], words: Tensor) -> Tensor:
    return at_words(heard[0], words).half()


def fitted(states: Tensor, chances: Tensor) -> nn.Linear:
    """Return a branch that tells probabilities (words × labels) from states (words × numbers) as well as can be."""
    states, chances = states.float(), chances.float()
    middle, spread = states.mean(dim=0), states.std(dim=0).clamp(min=1e-6)
    even = (states - middle) / spread  # of one size, so that a few steps are enough
    weight = torch.zeros(chances.shape[1], states.shape[1], requires_grad=True)
    bias = chances.mean(dim=0).clamp(min=1e-6).log().requires_grad_()
    optimizer = torch.optim.LBFGS([weight, bias], max_iter=_STEPS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        logs = F.log_softmax(F.linear(even, weight, bias), dim=-1)
        found = -(chances * logs).sum(dim=-1).mean() + _DRAWN_IN * weight.square().sum()
        found.backward()  # type: ignore[no-untyped-call]
        return found

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    branch = nn.Linear(states.shape[1], chances.shape[1])
    with torch.no_grad():
        branch.weight.copy_(weight / spread)
        branch.bias.copy_(bias - branch.weight @ middle)
    return branch
