"""Muon: the same steps as torch's, taken together."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from interpunct.models.muon import Muon, orthogonal  # noqa: E402

SHAPES = ((6, 4), (4, 6), (6, 4), (5, 5))


def stepped(make: object, *, steps: int = 3) -> list[object]:
    """Return some matrices after a few steps along the same gradients."""
    chance = torch.Generator().manual_seed(1)
    matrices = [torch.randn(shape, generator=chance).requires_grad_() for shape in SHAPES]
    optimizer = make(matrices)  # type: ignore[operator]
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


def test_orthogonal_brings_singular_values_near_one() -> None:
    given = torch.randn(3, 20, 12, generator=torch.Generator().manual_seed(2))
    values = torch.linalg.svdvals(orthogonal(given).float())
    assert values.shape == (3, 12)
    assert 0.5 < float(values.min()) <= float(values.max()) < 1.3
    kept = torch.linalg.svdvals(given).mean()
    assert float(kept) > 2  # which they were not before


def test_muon_refuses_what_is_no_matrix() -> None:
    with pytest.raises(ValueError, match="matrices alone"):
        Muon([torch.zeros(3, requires_grad=True)], lr=0.1)
