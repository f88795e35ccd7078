"""The one plain training loop.

In: a torch module, something that makes batches, and options. Out: the module with the weights that were
best on dev. It knows nothing of words: a batch is whatever `loss` takes. Same seed, same data and same
device give the same weights on the CPU.
"""

from __future__ import annotations

import copy
import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from interpunct.errors import ConfigError, ModelError
from interpunct.models.loop_options import LoopOptions
from interpunct.models.muon import Muon

Loss = Callable[[torch.nn.Module, Any], torch.Tensor]
Keep = Callable[[Mapping[str, torch.Tensor]], None]

_KERNELS = [
    SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH,
]  # fmt: skip
"""What computes attention on a GPU, the fastest first; each takes what those before it cannot."""


def choose_device(name: str) -> torch.device:
    """Return the device of a name; `auto` is CUDA where there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.zeros((), device=device)  # a device may be known and not be there
    except (AssertionError, RuntimeError) as error:
        reason = (str(error).strip() or repr(error)).splitlines()[0]
        raise ConfigError([f"device {name!r} cannot be used: {reason}"]) from None
    return device


def fit(
    module: torch.nn.Module,
    *,
    batches: Callable[[int], Iterable[Any]],
    steps: int,
    loss: Loss,
    score: Callable[[torch.nn.Module], dict[str, float]],
    options: LoopOptions,
    log: Callable[[dict[str, float]], None],
    progress: Callable[[float], None] | None = None,
    keep: Keep | None = None,
) -> torch.nn.Module:
    """Train and return the module with the best `score(module)["dev"]` (higher is better).

    `batches(epoch)` gives an epoch's batches, about `steps` of them. `progress` is told before each step which share
    of the way is behind it. `keep` is given the weights after each epoch that is better than those before it.
    """
    device = choose_device(options.device)
    module.to(device)
    optimizers = _optimizers(module, options, device)
    clock = _Clock(options.seconds if options.until is None else max(1.0, options.until - time.time()))
    rates = _schedule(options, max(1, steps * options.epochs), clock)
    schedules = [torch.optim.lr_scheduler.LambdaLR(optimizer, rates) for optimizer in optimizers]
    averaged = copy.deepcopy(module) if options.average else module
    measure = _compiled(module, loss, options.compile) if options.compile else loss
    best_score, best = -math.inf, copy.deepcopy(module.state_dict())
    for epoch in range(options.epochs):
        module.train()
        sums = torch.zeros((), device=device)
        count = 0
        for batch in batches(epoch):
            if progress is not None:
                progress(min(1.0, max((epoch * steps + count) / max(1, steps * options.epochs), clock.share)))
            with _attention(device), torch.autocast(device.type, torch.bfloat16, enabled=_mixes(options, device)):
                value = measure(module, batch)
            module.zero_grad(set_to_none=True)
            value.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(module.parameters(), options.clip)
            for optimizer in optimizers:
                optimizer.step()
            clock.stepped()
            for schedule in schedules:
                schedule.step()
            if options.average:
                step = epoch * steps + count
                _move(averaged, module, min(options.average, (1 + step) / (10 + step)))
            sums += value.detach()
            count += 1
            if clock.share >= 1:
                break
        if not math.isfinite(mean := float(sums) / max(1, count)):
            # No later epoch finds the way back, but an earlier one may have been good.
            warnings.warn(f"training diverged in epoch {epoch + 1} and ends there", RuntimeWarning, stacklevel=2)
            break
        averaged.eval()
        # A program made for training would be made anew for what scoring does with the same layers.
        with torch.no_grad(), torch.compiler.set_stance("force_eager" if options.compile else "default"):
            scores = score(averaged)
        row = {"epoch": epoch + 1, "loss": mean, **scores}
        log({name: round(value, 5) for name, value in row.items()} | {"seconds": round(clock.passed, 1)})
        if scores["dev"] > best_score:
            best_score, best = scores["dev"], copy.deepcopy(averaged.state_dict())
            if keep is not None:
                keep(best)
        if clock.share >= 1:
            break
    if options.epochs and best_score == -math.inf:
        raise ModelError("training diverged: no epoch has a dev score; lower train.rate")
    module.load_state_dict(best)
    return module.to("cpu").eval()


def _optimizers(module: torch.nn.Module, options: LoopOptions, device: torch.device) -> list[torch.optim.Optimizer]:
    """Return what takes the steps: one optimizer for all that is learned, or one for matrices and one for the rest."""
    learned = {name: parameter for name, parameter in module.named_parameters() if parameter.requires_grad}
    made: list[torch.optim.Optimizer] = []
    if options.optimizer == "muon":
        tables = {id(table.weight) for table in module.modules() if isinstance(table, torch.nn.Embedding)}
        inside = [name for name, each in learned.items() if each.ndim == 2 and id(each) not in tables]
        matrices = [learned.pop(name) for name in inside]
        if matrices:
            made.append(Muon(matrices, lr=options.rate, weight_decay=options.weight_decay))
    if rest := list(learned.values()):
        made.append(
            torch.optim.AdamW(rest, lr=options.rate, weight_decay=options.weight_decay, fused=device.type == "cuda")
        )
    return made


def _attention(device: torch.device) -> AbstractContextManager[None]:
    """Take cuDNN's attention where there is a choice: where looks are weighed besides, others are half as fast."""
    if device.type != "cuda":
        return nullcontext()
    first: AbstractContextManager[None] = sdpa_kernel(_KERNELS, set_priority=True)
    return first


def _mixes(options: LoopOptions, device: torch.device) -> bool:
    return options.mixed_on_cpu if device.type == "cpu" else options.mixed and device.type == "cuda"


def _compiled(module: torch.nn.Module, loss: Loss, what: str) -> Loss:
    """Compile what training does; sequences differ in length from batch to batch, so one program is for all of them."""
    if what == "whole":
        compiled: Loss = torch.compile(loss, dynamic=True)
        return compiled
    compile_layers(module)
    return loss


def compile_layers(module: torch.nn.Module) -> None:
    """Compile each layer of a network in place, one program for all of them that takes sequences of any length."""
    for layer in _layers(module):
        layer.compile(dynamic=True)


def _layers(module: torch.nn.Module) -> Iterator[torch.nn.Module]:
    """Yield the members of a network's lists of layers, but not of lists within them."""
    for part in module.children():
        if isinstance(part, torch.nn.ModuleList):
            yield from part
        else:
            yield from _layers(part)


class _Clock:
    """How long training has gone on, and which share that is of the time it has.

    The way begins behind the first step: that one takes a minute where programs are made for it, and a rate that did
    not rise meanwhile would be at its highest in the second.
    """

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._started = time.monotonic()
        self._first: float | None = None

    def stepped(self) -> None:
        """Take note that a step was taken."""
        if self._first is None:
            self._first = self.passed

    @property
    def passed(self) -> float:
        return time.monotonic() - self._started

    @property
    def share(self) -> float:
        if not self._seconds or self._first is None:
            return 0.0
        passed = self.passed
        return 1.0 if passed >= self._seconds else (passed - self._first) / (self._seconds - self._first)


def _schedule(options: LoopOptions, total: int, clock: _Clock) -> Callable[[int], float]:
    """Return the rate's factor at each step."""
    if options.schedule == "root":
        return lambda step: min((step + 1) / options.warmup, math.sqrt(options.warmup / (step + 1)))
    return lambda step: _rate(max(step / total, clock.share), options.warmup)


def _rate(progress: float, warmup: float) -> float:
    """Rise for the first part of the way, then fall as a half cosine."""
    if progress < warmup:
        return progress / warmup
    return 0.5 * (1 + math.cos(math.pi * min(1.0, (progress - warmup) / (1 - warmup)))) + 1e-3


@torch.no_grad()
def _move(averaged: torch.nn.Module, module: torch.nn.Module, decay: float) -> None:
    for old, new in zip(averaged.parameters(), module.parameters(), strict=True):
        old.lerp_(new, 1 - decay)
    for kept, buffer in zip(averaged.buffers(), module.buffers(), strict=True):
        kept.copy_(buffer)


def shuffled(count: int, size: int, *, seed: int) -> Iterator[torch.Tensor]:
    """Yield the numbers below `count` in random order, `size` at a time."""
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    for first in range(0, count, size):
        yield order[first : first + size]
