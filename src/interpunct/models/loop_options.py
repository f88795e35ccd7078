"""`LoopOptions`: how to train, without torch, so that a configuration can be checked where it is not installed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

_FASTEST = 1000
_SEEDS = 1 << 32
"""numpy takes so many."""


@dataclass(frozen=True)
class LoopOptions:
    """How to train."""

    epochs: int = 10
    seconds: float | None = None
    """Stop after so long, though epochs are left; the rate falls with the time, so that it ends where it should."""
    until: float | None = None
    """Instead of `seconds`: stop at this moment, in seconds since 1970, however long reading the text has taken."""
    optimizer: Literal["adamw", "muon"] = "adamw"
    """What takes the steps. Muon takes those of matrices alone, and AdamW the others."""
    rate: float = 2e-3
    warmup: float = 0.05
    """The share of the way on which the rate rises; with the schedule "root", the number of steps."""
    schedule: Literal["cosine", "root"] = "cosine"
    """How the rate falls behind the warm-up: as a half cosine to nothing, or with the root of the steps."""
    weight_decay: float = 0.01
    clip: float = 1.0
    seed: int = 1
    device: str = "auto"
    mixed: bool = True
    """Whether to compute in bfloat16 where it matters, on CUDA."""
    mixed_on_cpu: bool = False
    """Whether to do so on a CPU, too: faster on those with AMX alone, and their weights are then no other CPU's."""
    compile: Literal["", "whole", "layers"] = ""
    """What torch compiles first, so that a device has fewer, larger things to do: the whole of a step, or each layer.

    Layers of one shape share a program, which is made in seconds; that of a deep network's whole step takes minutes.
    """
    average: float = 0.0
    """Decay of a moving average of the weights, which is then what is scored and kept; 0 is none."""

    def __post_init__(self) -> None:
        if not 0 <= self.average < 1:
            raise ValueError(f"average {self.average} must be at least 0 and below 1")
        if not (0 <= self.warmup < 1 if self.schedule == "cosine" else self.warmup >= 1):
            raise ValueError(f"warmup {self.warmup}: a share below 1, or with the schedule root at least one step")
        if self.seconds is not None and not self.seconds > 0:
            raise ValueError(f"seconds {self.seconds} must be above 0; leave it out to train all epochs")
        if self.seconds is not None and self.until is not None:
            raise ValueError("seconds and until both say when to stop; give one of them")
        if self.until is not None and not self.until > 0:
            raise ValueError(f"until {self.until} is no moment; give seconds since 1970")
        if (self.seconds is not None or self.until is not None) and self.schedule == "root":
            raise ValueError("seconds and until end a cosine; the schedule root knows no end")
        if self.epochs < 0 or not 0 < self.rate <= _FASTEST or not self.clip > 0:
            raise ValueError(f"epochs must not be negative, rate above 0 and at most {_FASTEST}, clip above 0")
        if not 0 <= self.weight_decay <= 1 or not 0 <= self.seed < _SEEDS:
            raise ValueError(f"weight_decay must be 0 to 1, and seed 0 to {_SEEDS - 1}")
        if self.device != "auto" and self.device.split(":")[0] not in ("cpu", "cuda", "mps"):
            raise ValueError(f"device {self.device!r} is not known; use auto, cpu or cuda")
