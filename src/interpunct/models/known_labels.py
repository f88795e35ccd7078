"""What is counted of words whose label is known, and of no others.

In: right labels, `IGNORED` where nobody knows one. Out: the mean of losses; counts of right and chosen labels.
"""

from __future__ import annotations

import torch
from torch import Tensor

from interpunct.models.encoded import IGNORED


def known_mean(losses: Tensor, labels: Tensor) -> Tensor:
    """Average losses (flat) over the words whose label is known."""
    known = (labels != IGNORED).flatten()
    return (losses * known).sum() / known.sum().clamp(min=1)


def add_pairs(confusion: Tensor, right: Tensor, chosen: Tensor) -> None:
    """Count right labels (rows) with chosen ones (columns), where the right ones are known, in a square of counts."""
    right, chosen, size = right.flatten(), chosen.flatten(), len(confusion)
    known = right != IGNORED
    pairs = torch.bincount(right[known] * size + chosen[known], minlength=size * size)
    confusion += pairs.reshape(size, size).cpu()
