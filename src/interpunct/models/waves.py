"""Positions as waves (Vaswani et al. 2017, section 3.5), and attention that reads them.

In: how many places and numbers. Out: each place's sines and cosines; matrices by which heads look a place ahead or
back before they have learned anything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

_SHARPNESS = 2.0


def positions(count: int, width: int, device: torch.device) -> Tensor:
    """Return positional encodings, positions × width (Vaswani et al. 2017, section 3.5; sines first, then cosines)."""
    place = torch.arange(count, dtype=torch.float32, device=device)
    pace = torch.exp(torch.arange(0, width, 2, dtype=torch.float32, device=device) * (-math.log(10_000.0) / width))
    angles = place[:, None] * pace
    return torch.cat([angles.sin(), angles.cos()], dim=1)


@torch.no_grad()
def look(queries: Tensor, keys: Tensor, heads: int, distances: Sequence[int]) -> None:
    """Fill matrices (width × width) so that each head's queries fit the keys of the place so far ahead.

    A head reads the quick ones of the positional waves; a turn by one place is the same matrix at every place.
    """
    width = queries.shape[1]
    numbers, waves = width // heads, width // 2
    chosen = torch.linspace(0, waves // 4, numbers // 2).long()
    paces = torch.exp(chosen * (-math.log(10_000.0) / waves))
    for head in range(heads):
        rows = slice(head * numbers, (head + 1) * numbers)
        for matrix, ahead in ((queries, distances[head % len(distances)]), (keys, 0)):
            turned = torch.zeros(numbers, width)
            sines, cosines = torch.arange(0, numbers - 1, 2), torch.arange(1, numbers, 2)
            # sin(a + b) = sin a cos b + cos a sin b, and cos(a + b) = cos a cos b - sin a sin b
            turned[sines, chosen] = turned[cosines, waves + chosen] = torch.cos(ahead * paces)
            turned[sines, waves + chosen] = torch.sin(ahead * paces)
            turned[cosines, chosen] = -torch.sin(ahead * paces)
            matrix[rows] = _SHARPNESS * turned
