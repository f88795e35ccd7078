"""The training loop: what it minimises, and that compiling changes nothing but the pace."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from interpunct.models.loop_options import LoopOptions  # noqa: E402
from interpunct.models.torch_loop import fit  # noqa: E402


def losses(options: LoopOptions) -> list[float]:
    """Fit a line to points on a line; return the loss of each epoch."""
    torch.manual_seed(1)
    x = torch.linspace(-1, 1, 32)[:, None]
    rows: list[dict[str, float]] = []

    def loss(module: Any, batch: tuple[Any, Any]) -> Any:
        return ((module(batch[0]) - batch[1]) ** 2).mean()

    fit(
        torch.nn.Linear(1, 1),
        batches=lambda _: [(x[half::2], 3 * x[half::2] + 1) for half in (0, 1)] * 10,
        steps=20,
        loss=loss,
        score=lambda _: {"dev": float(len(rows))},
        options=options,
        log=rows.append,
    )
    return [row["loss"] for row in rows]


def test_fit_minimises_the_loss() -> None:
    found = losses(LoopOptions(epochs=5, rate=0.1, device="cpu"))
    assert found[-1] < 0.01 < found[0]


@pytest.mark.skipif(shutil.which("g++") is None, reason="torch compiles with a C++ compiler, and there is none")
def test_fit_compiled_learns_the_same() -> None:
    plain, compiled = (losses(LoopOptions(epochs=3, rate=0.1, device="cpu", compile=flag)) for flag in (False, True))
    assert compiled == pytest.approx(plain, abs=1e-4)
