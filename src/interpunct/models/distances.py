"""How far apart two pieces are, in classes: near distances one by one, far ones together.

In: a window's length. Out: the class of every piece as another one sees it. MPNet's attention (Song et al. 2020, arXiv
2004.09297) adds a number to each look from one piece at another, learned by head and class, as T5 does: half of the
classes are for what follows, half for what stands before; of these again one half are single distances, the others
grow by powers up to the farthest.
"""

from __future__ import annotations

import math
from functools import cache

import torch
from torch import Tensor

FARTHEST = 128
"""Pieces farther apart than this are no farther than this."""

_ROUNDING = 1e-9


def class_of(distances: Tensor, classes: int) -> Tensor:
    """Return the class of each distance, which is above 0 where the piece that is looked at follows."""
    starts = torch.tensor(_starts(classes // 2), device=distances.device)
    return torch.bucketize(distances.abs(), starts, right=True) + classes // 2 * (distances > 0)


def between(length: int, classes: int, device: torch.device | None = None) -> Tensor:
    """Return the class of each distance in a window (pieces that look × pieces that are looked at)."""
    places = torch.arange(length, device=device)
    return class_of(places[None, :] - places[:, None], classes)


@cache
def _starts(side: int) -> tuple[int, ...]:
    """Return the least distance of each class of a side but the first; whole numbers, so that no CPU or GPU differs."""
    single = side // 2
    grown = (single * (FARTHEST / single) ** (step / (side - single)) for step in range(1, side - single))
    return (*range(1, single + 1), *(math.ceil(start - _ROUNDING) for start in grown))
