"""What a transformer's layers see in text, so that weights can be rounded by it.

In: a trained transformer and windows. Out: for each linear layer, by its name, how the numbers that it reads vary
together; for the table of pieces, how the answers change with the numbers of a row.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from interpunct.models.transformer import Network, Transformer
from interpunct.train.cut import every_piece, gradients

_AT_ONCE = 8
_ASKING = 2
"""Which of a layer's inputs are the states that ask, where these are not all."""
_EVENLY = 0.1
"""What an error in a row of the table counts in every direction, beside what it counts for the answers."""


def seen(model: Transformer, windows: Tensor) -> dict[str, np.ndarray]:
    """Return what is read, squared (numbers × numbers), by the names of the weights that read it."""
    network = cast(Network, model.network.eval())
    found: dict[str, Tensor] = {}

    def add(name: str, states: Tensor) -> None:
        rows = states.flatten(0, -2)
        found[name] = found.get(name, torch.zeros(())) + rows.T @ rows

    def look(name: str) -> Any:
        return lambda _, given: add(name, given[0])

    def look_again(name: str) -> Any:
        def again(_: nn.Module, given: tuple[Tensor, ...]) -> None:
            if len(given) > _ASKING:  # those behind a glance; what is asked is not all that is told of
                add(f"{name}.told", given[0])
                add(f"{name}.asked", given[_ASKING])

        return again

    hooks = [
        layer.register_forward_pre_hook(look_again(f"layers.{n}.projections")) for n, layer in enumerate(network.layers)
    ]
    linear = {name: part for name, part in network.layers.named_modules() if isinstance(part, nn.Linear)}
    hooks += [part.register_forward_pre_hook(look(f"layers.{name}")) for name, part in linear.items()]
    with torch.no_grad():
        for batch in windows.chunk(-(-len(windows) // _AT_ONCE)):
            network(batch, None, every_piece(batch))
    for hook in hooks:
        hook.remove()
    (answers,) = gradients(network, windows, before=[network.norm])
    found["embedding"] = answers + _EVENLY * torch.eye(len(answers))
    return {name: squares.numpy() for name, squares in found.items()}
