"""Muon: matrices step by what is orthogonal in their gradients (Jordan et al. 2024).

In: matrices with gradients. Out: steps as long as AdamW's, so that one rate is right for both. Torch has the same
steps, one matrix after the other; here matrices of one shape are made orthogonal together, since a GPU is told much
faster to multiply twelve small matrices at once than one by one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

_A, _B, _C = 3.4445, -4.7750, 2.0315
"""The polynomial of a Newton-Schulz step, steep where a singular value is small."""
_ROUNDS = 5
_ADAMW = 0.2
"""The root mean square of AdamW's steps, about."""


class Muon(torch.optim.Optimizer):
    """Steps of matrices along their orthogonal momentum."""

    def __init__(
        self, matrices: Iterable[Tensor], *, lr: float, weight_decay: float = 0.0, momentum: float = 0.95
    ) -> None:
        super().__init__(matrices, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum})
        shapes = {tuple(each.shape) for group in self.param_groups for each in group["params"]}
        if flat := [shape for shape in shapes if len(shape) != 2]:
            raise ValueError(f"Muon steps matrices alone, not {flat}")

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Take one step."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            alike: dict[tuple[int, ...], list[Tensor]] = {}
            for matrix in group["params"]:
                if matrix.grad is not None:
                    alike.setdefault(tuple(matrix.shape), []).append(matrix)
            for matrices in alike.values():
                self._step(matrices, group)
        return loss

    def _step(self, matrices: list[Tensor], group: dict[str, Any]) -> None:
        """Step matrices of one shape, all with gradients."""
        rate, momentum = group["lr"], group["momentum"]
        gradients = torch.stack([matrix.grad for matrix in matrices if matrix.grad is not None])
        before = torch.stack([self._momentum(matrix) for matrix in matrices])
        after = before.lerp_(gradients, 1 - momentum)
        torch._foreach_copy_([self._momentum(matrix) for matrix in matrices], list(after.unbind()))
        ways = orthogonal(gradients.lerp(after, momentum))  # Nesterov's: where momentum goes next
        torch._foreach_mul_(matrices, 1 - rate * group["weight_decay"])
        torch._foreach_add_(
            matrices, list(ways.float().unbind()), alpha=-rate * _ADAMW * math.sqrt(max(matrices[0].shape))
        )

    def _momentum(self, matrix: Tensor) -> Tensor:
        state = self.state[matrix]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(matrix)
        found: Tensor = state["momentum"]
        return found


def orthogonal(matrices: Tensor) -> Tensor:
    """Return the nearest matrices with singular values near 1 (matrices × rows × columns), in bfloat16."""
    high = matrices.shape[1] > matrices.shape[2]
    found = (matrices.mT if high else matrices).bfloat16()
    found = found / found.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    for _ in range(_ROUNDS):
        gram = found @ found.mT
        found = torch.baddbmm(found, torch.baddbmm(gram, gram, gram, beta=_B, alpha=_C), found, beta=_A)
    return found.mT if high else found
