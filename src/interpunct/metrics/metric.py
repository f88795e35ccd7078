"""`Metric`: what a metric is, as data, and the options that metrics share.

In: a pair and options. Out: counts per place, by label; and from their sums, the value that JSON shows. Each
single-reference member of `METRICS` is one `Metric` in the file of its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from interpunct.errors import InputError
from interpunct.metrics.classes import CLASSES
from interpunct.metrics.counts import Counts
from interpunct.metrics.pair import Pair


@dataclass(frozen=True)
class MetricOptions:
    """What is counted, where there is a choice."""

    classes: int = 4
    """4: comma, period, question, none; 3: comma, stop, none; 2: mark, none."""
    merge_mixed: bool = False
    """Count mixed case as sentence case, as the papers do."""
    window: int = 3
    """WiSeBE: boundaries at most so many words apart share a window."""

    def __post_init__(self) -> None:
        if self.classes not in CLASSES:
            raise InputError(f"{self.classes} classes are not known; use 4, 3 or 2")
        if self.window < 0:
            raise InputError(f"a window limit of {self.window} words is none; use 0 or more")


@dataclass(frozen=True)
class Metric:
    """One metric: how it counts and how its totals are shown."""

    name: str
    summary: str
    count: Callable[[Pair, MetricOptions], Mapping[str, Counts]]
    """Counts with an array for each field, one entry per place of the pair."""
    value: Callable[[Mapping[str, Counts]], Any]
    """Totals to what `evaluate --json` prints under the metric's name."""
    headline: tuple[str, str]
    """The (label, rate) that stands for the metric in a comparison of two systems."""
    rates: tuple[str, ...] = ()
    """The rates that tables show; all of the counts' own where this is empty."""
    lower_is_better: bool = False
