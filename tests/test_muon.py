"""Muon: the same steps as torch's, taken together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from interpunct.models.muon import Muon, orthogonal  # noqa: E402

SHAPES = ((6, 4), (4, 6), (6, 4), (5, 5))


def stepped(make: Callable[[list[Any]], Any], *, steps: int = 3) -> list[Any]:
    """Return some matrices after a few steps along the same gradients."""
    chance = torch.Generator().manual_seed(1)
    matrices = [torch.randn(shape, generator=chance).requires_grad_() for shape in SHAPES]
    optimizer = make(matrices)
    for step in range(steps):
        for place, matrix in enumerate(matrices):
            gradient = torch.randn(matrix.shape, generator=chance)
            matrix.grad = None if (step, place) == (1, 2) else gradient  # one that has nothing to learn now
        optimizer.step()
    return [each.detach() for each in matrices]


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="this torch has no Muon")
def test_muon_takes_torchs_steps() -> None:
    mine = stepped(lambda matrices: Muon(matrices, lr=0.1, weight_decay=0.02))
    theirs = stepped(
        lambda matrices: torch.optim.Muon(matrices, lr=0.1, weight_decay=0.02, adjust_lr_fn="match_rms_adamw")
    )
    for one, other in zip(mine, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=5e-3)  # both are rounded to bfloat16 on the way


def test_muon_steps_as_its_authors_say() -> None:
    """Their way, a matrix and a line at a time."""
    start, gradients = torch.ones(6, 4), torch.randn(3, 6, 4, generator=torch.Generator().manual_seed(3))
    matrix, plain, momentum = start.clone().requires_grad_(), start.clone(), torch.zeros(6, 4)
    optimizer = Muon([matrix], lr=0.1, weight_decay=0.5)
    for gradient in gradients:
        matrix.grad = gradient
        optimizer.step()
        momentum = 0.95 * momentum + 0.05 * gradient
        x = 0.05 * gradient + 0.95 * momentum
        x = x / x.norm()
        for _ in range(5):
            a = x @ x.T
            x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
        plain = plain * (1 - 0.1 * 0.5) - 0.1 * 0.2 * 6**0.5 * x
    torch.testing.assert_close(matrix.detach(), plain, rtol=0, atol=5e-3)  # ours is rounded to bfloat16 on the way
    assert float((plain - start).abs().max()) > 0.1


def test_momentum_goes_on_where_gradients_have_led() -> None:
    first, second = torch.eye(3), torch.diag(torch.tensor([1.0, 1.0, -1.0]))
    matrix = torch.zeros(3, 3).requires_grad_()
    optimizer = Muon([matrix], lr=1.0)
    for gradient in (first, second):
        before = matrix.detach().clone()
        matrix.grad = gradient
        optimizer.step()
    momentum = 0.95 * 0.05 * first + 0.05 * second
    looked_ahead = 0.05 * second + 0.95 * momentum
    assert torch.equal(torch.sign(torch.diag(matrix.detach() - before)), -torch.sign(torch.diag(looked_ahead)))
    torch.testing.assert_close(torch.diag(optimizer.state[matrix]["momentum"]), torch.diag(momentum))


def test_orthogonal_brings_singular_values_near_one() -> None:
    given = torch.randn(3, 20, 12, generator=torch.Generator().manual_seed(2))
    values = torch.linalg.svdvals(orthogonal(given).float())
    assert values.shape == (3, 12)
    assert 0.5 < float(values.min()) <= float(values.max()) < 1.3


def test_muon_refuses_what_is_no_matrix() -> None:
    with pytest.raises(ValueError, match="matrices alone"):
        Muon([torch.zeros(3, requires_grad=True)], lr=0.1)
