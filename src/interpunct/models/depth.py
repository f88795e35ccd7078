"""Which layers stay of a network that another one begins with, and the weights of these.

In: a network's weights, and the places of layers, counted from 1. Out: weights of a network with these layers alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from torch import Tensor, nn

from interpunct.errors import ModelError


def evenly_spaced(kept: int, layers: int) -> tuple[int, ...]:
    """Return which of the layers stay, counted from 1: the last one always, the others as far apart as can be.

    >>> evenly_spaced(6, 12), evenly_spaced(4, 6), evenly_spaced(1, 12)
    ((2, 4, 6, 8, 10, 12), (2, 3, 5, 6), (12,))
    """
    return tuple(-(-layers * place // kept) for place in range(1, kept + 1))


def layers_of(network: nn.Module | None) -> nn.ModuleList | None:
    """Return the layers of a network that has any, one behind the other, all of which read the same pieces."""
    layers = getattr(getattr(network, "trunk", network), "layers", None)
    return layers if isinstance(layers, nn.ModuleList) and not getattr(network, "glance", False) else None


def check_kept(kept: Sequence[int], layers: int) -> None:
    """Refuse places of layers that are not as many as `layers`, or not in order from 1 on."""
    if kept and len(kept) != layers:
        raise ValueError(f"keep_layers {tuple(kept)} must name as many layers as layers, {layers}")
    if any(later <= earlier for earlier, later in pairwise((0, *kept))):
        raise ValueError(f"keep_layers {tuple(kept)} must be in order, counted from 1")


def shortened(state: Mapping[str, Tensor], kept: Sequence[int], layers: int, *, inside: str = "") -> dict[str, Tensor]:
    """Return a network's weights with the kept ones alone of its `layers`, which stand at `inside` in it."""
    if max(kept) > layers:
        raise ModelError(f"layers {tuple(kept)} are asked for, and there are {layers}; ask for these")
    begin = f"{inside}layers."
    chosen = {name: value for name, value in state.items() if not name.startswith(begin)}
    for place, layer in enumerate(kept):
        source = f"{begin}{layer - 1}."
        for name, value in state.items():
            if name.startswith(source):
                chosen[f"{begin}{place}.{name.removeprefix(source)}"] = value
    return chosen
