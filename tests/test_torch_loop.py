"""The training loop: what it minimises, and that compiling changes nothing but the pace."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable
from typing import Any, Literal

import pytest

torch = pytest.importorskip("torch")

from interpunct.errors import ConfigError, ModelError  # noqa: E402
from interpunct.models.loop_options import LoopOptions  # noqa: E402
from interpunct.models.muon import Muon  # noqa: E402
from interpunct.models.torch_loop import _Clock, _optimizers, _schedule, choose_device, fit  # noqa: E402


class Deep(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
    """A deep stack of layers, which is compiled layer by layer."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = torch.nn.ModuleList(torch.nn.Linear(1, 1) for _ in range(9))

    def forward(self, given: Any) -> Any:
        for layer in self.stack:
            given = given + 0.1 * layer(given)
        return given


class Scaled(torch.nn.Linear):  # type: ignore[misc, name-defined, unused-ignore]
    """A line times a factor."""

    def __init__(self, factor: float) -> None:
        super().__init__(1, 1)
        self.factor = factor

    def forward(self, given: Any) -> Any:
        return super().forward(given) * self.factor


def losses(options: LoopOptions, kind: Callable[[], Any] = lambda: torch.nn.Linear(1, 1)) -> list[float]:
    """Fit a line to points on a line; return the loss of each epoch."""
    torch.manual_seed(1)
    x = torch.linspace(-1, 1, 32)[:, None]
    rows: list[dict[str, float]] = []

    def loss(module: Any, batch: tuple[Any, Any]) -> Any:
        return ((module(batch[0]) - batch[1]) ** 2).mean()

    fit(
        kind(),
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


@pytest.mark.parametrize(("mixed", "kind"), [(False, torch.float32), (True, torch.bfloat16)])
def test_fit_computes_in_bfloat16_on_a_cpu_that_is_told_to(mixed: bool, kind: Any) -> None:
    seen: set[Any] = set()

    class Watched(torch.nn.Linear):  # type: ignore[misc, name-defined, unused-ignore]
        def forward(self, given: Any) -> Any:
            found = super().forward(given)
            seen.add(found.dtype)
            return found

    found = losses(LoopOptions(epochs=5, rate=0.1, device="cpu", mixed_on_cpu=mixed), lambda: Watched(1, 1))
    assert seen == {kind}
    assert found[-1] < 0.01 < found[0]


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_fit_learns_a_matrix_with_either_optimizer(optimizer: Literal["adamw", "muon"]) -> None:
    chance = torch.Generator().manual_seed(1)
    right, given = torch.randn(6, 8, generator=chance), torch.randn(64, 8, generator=chance)
    rows: list[dict[str, float]] = []
    fit(
        torch.nn.Linear(8, 6), batches=lambda _: [given] * 20, steps=20,
        loss=lambda module, x: ((module(x) - x @ right.T) ** 2).mean(), score=lambda _: {"dev": float(len(rows))},
        options=LoopOptions(epochs=10, rate=0.1, optimizer=optimizer, device="cpu"), log=rows.append,
    )  # fmt: skip
    assert rows[-1]["loss"] < 0.01 * rows[0]["loss"]


def test_muon_steps_matrices_alone() -> None:
    module = torch.nn.ModuleDict({"table": torch.nn.Embedding(5, 4), "line": torch.nn.Linear(4, 3)})
    module["line"].bias.requires_grad_(False)
    muon, adam = _optimizers(module, LoopOptions(optimizer="muon"), torch.device("cpu"))
    parts = {
        kind: [id(each) for group in optimizer.param_groups for each in group["params"]]
        for kind, optimizer in (("muon", muon), ("adam", adam))
    }
    assert parts == {"muon": [id(module["line"].weight)], "adam": [id(module["table"].weight)]}


def test_network_of_matrices_alone_or_of_none_has_one_optimizer() -> None:
    line, table = torch.nn.Linear(4, 3, bias=False), torch.nn.Embedding(5, 4)
    for module, kind in ((line, Muon), (table, torch.optim.AdamW)):
        (only,) = _optimizers(module, LoopOptions(optimizer="muon"), torch.device("cpu"))
        assert isinstance(only, kind)


def test_fit_gives_the_weights_that_are_best_so_far() -> None:
    module, kept = torch.nn.Linear(1, 1), []
    scores = iter([0.2, 0.5, 0.3, 0.9])
    fit(
        module, batches=lambda _: [1.0], steps=1, loss=lambda module, _: (module(torch.ones(1, 1)) ** 2).mean(),
        score=lambda _: {"dev": next(scores)}, options=LoopOptions(epochs=4, rate=0.1, device="cpu"),
        log=lambda _: None, keep=lambda weights: kept.append(float(weights["weight"])),
    )  # fmt: skip
    assert len(kept) == 3
    assert len(set(kept)) == 3
    assert kept[-1] == float(module.weight.detach())


def test_fit_that_diverges_is_no_success() -> None:
    with pytest.raises(ModelError, match="diverged"), pytest.warns(RuntimeWarning, match="in epoch 1"):
        losses(LoopOptions(epochs=5, rate=0.1, device="cpu"), lambda: Scaled(math.nan))


def test_fit_keeps_what_was_good_before_it_diverged() -> None:
    scaled = Scaled(1.0)
    rows: list[dict[str, float]] = []

    def loss(module: Any, factor: float) -> Any:
        return ((module(torch.ones(1, 1)) - 2) ** 2).mean() * factor

    with pytest.warns(RuntimeWarning, match="in epoch 3"):
        made = fit(
            scaled, batches=lambda epoch: [math.inf if epoch == 2 else 1.0], steps=1, loss=loss,
            score=lambda _: {"dev": float(len(rows))}, options=LoopOptions(epochs=5, device="cpu"), log=rows.append,
        )  # fmt: skip
    assert len(rows) == 2
    assert all(bool(torch.isfinite(weight).all()) for weight in made.parameters())


@pytest.mark.parametrize("name", ["cpu:banana", "cuda:77"])
def test_device_that_is_not_there_is_told(name: str) -> None:
    with pytest.raises(ConfigError, match=f"device '{name}' cannot be used"):
        choose_device(name)


@pytest.mark.skipif(shutil.which("g++") is None, reason="torch compiles with a C++ compiler, and there is none")
@pytest.mark.parametrize(("kind", "what"), [(lambda: torch.nn.Linear(1, 1), "whole"), (Deep, "layers")])
def test_fit_compiled_learns_the_same(kind: Callable[[], Any], what: Literal["whole", "layers"]) -> None:
    options = [LoopOptions(epochs=3, rate=0.1, device="cpu", compile=each) for each in ("", what)]
    plain, compiled = (losses(each, kind) for each in options)
    assert compiled == pytest.approx(plain, abs=1e-4)


def test_fit_ends_with_its_time_at_a_low_rate() -> None:
    started = time.monotonic()
    found = losses(LoopOptions(epochs=1_000_000, seconds=0.5, rate=0.1, device="cpu"))
    assert 0.5 <= time.monotonic() - started < 5
    assert len(found) < 10_000
    with pytest.raises(ValueError, match="seconds"):
        LoopOptions(seconds=0)


def test_fit_ends_at_a_moment() -> None:
    for left, least in ((1.5, 1.5), (-1000.0, 0.9)):  # when that is over, a second is left
        started = time.monotonic()
        losses(LoopOptions(epochs=1_000_000, until=time.time() + left, rate=0.1, device="cpu"))
        assert least <= time.monotonic() - started < 10
    with pytest.raises(ValueError, match="both say when to stop"):
        LoopOptions(seconds=1, until=2)
    with pytest.raises(ValueError, match="knows no end"):
        LoopOptions(until=2, schedule="root", warmup=10)


def test_rate_falls_with_the_steps_or_the_time_whichever_is_ahead() -> None:
    options = LoopOptions(warmup=0.0, epochs=1)
    clock = _Clock(None)
    slow = _schedule(options, 100, clock)
    assert [round(slow(step), 2) for step in (0, 50, 100)] == [1.0, 0.5, 0.0]
    half = _Clock(1000.0)
    half.stepped()
    half._started -= 500
    late = _schedule(options, 100, half)
    assert [round(late(step), 2) for step in (0, 50, 75)] == [0.5, 0.5, 0.15]


def test_rate_rises_behind_the_first_step_however_long_that_takes() -> None:
    clock = _Clock(1000.0)
    rates = _schedule(LoopOptions(warmup=0.1, epochs=1), 10**9, clock)
    clock._started -= 400  # programs were made
    assert rates(0) == 0
    clock.stepped()
    assert rates(1) == pytest.approx(0, abs=0.01)
    clock._started -= 30
    clock.stepped()
    assert rates(2) == pytest.approx(0.5, abs=0.01)
    clock._started -= 270
    assert rates(3) == pytest.approx(0.587, abs=0.01)
    clock._started -= 300
    assert clock.share == 1.0


def test_fit_counts_time_from_behind_its_first_step() -> None:
    shares, slow = list[float](), iter([0.6])

    def loss(module: Any, batch: Any) -> Any:
        time.sleep(next(slow, 0.0))
        return module(batch).square().mean()

    fit(
        torch.nn.Linear(1, 1), batches=lambda _: [torch.ones(2, 1)] * 4, steps=10**9, loss=loss,
        score=lambda _: {"dev": 0.0}, options=LoopOptions(epochs=1, seconds=100, device="cpu"), log=lambda _: None,
        progress=shares.append,
    )  # fmt: skip
    assert shares[0] == 0
    assert all(share < 0.005 for share in shares)
