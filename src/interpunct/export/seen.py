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
from interpunct.train.cut import gradients

_AT_ONCE = 8
_EVENLY = 0.1
"""What an error in a row of the table counts in every direction, beside what it counts for the answers."""


def seen(model: Transformer, windows: Tensor) -> dict[str, np.ndarray]:
    """Return what is read, squared (numbers × numbers), by the names of the weights that read it."""
    network = cast(Network, model.network.eval())
    found: dict[str, Tensor] = {}

    def look(name: str) -> Any:
        def add(_: nn.Module, given: tuple[Tensor, ...]) -> None:
            rows = given[0].flatten(0, -2)
            found[name] = found.get(name, torch.zeros(())) + rows.T @ rows

        return add

    linear = {name: part for name, part in network.layers.named_modules() if isinstance(part, nn.Linear)}
    hooks = [part.register_forward_pre_hook(look(f"layers.{name}")) for name, part in linear.items()]
    with torch.no_grad():
        for batch in windows.chunk(-(-len(windows) // _AT_ONCE)):
            network(batch, None, torch.zeros((len(batch), 1), dtype=torch.long))
    for hook in hooks:
        hook.remove()
    (answers,) = gradients(network, windows, before=[network.norm])
    found["embedding"] = answers + _EVENLY * torch.eye(len(answers))
    return {name: squares.numpy() for name, squares in found.items()}
