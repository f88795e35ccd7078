"""Which values a search may draw: of the [ranges] of a tuning file, key by key.

In: a training configuration, a key of it, and choices or the table of a `Range`. Out: a distribution of optuna's, or
what is wrong with it, found by building the configuration with the values at its ends; and the configuration with
values drawn.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from interpunct import config
from interpunct.errors import ConfigError
from interpunct.models import type_named
from interpunct.train import TrainConfig

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution


@dataclass(frozen=True)
class Range:
    """Numbers from low to high, both included: whole ones for a key that takes only whole ones."""

    low: float
    high: float
    log: bool = False
    """Whether the logarithm is drawn evenly, not the number."""
    step: float | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ValueError("low must be below high")
        if self.log and (self.low <= 0 or self.step is not None):
            raise ValueError("log needs a low above 0 and no step")
        if self.step is not None:
            if not (math.isfinite(self.step) and self.step > 0):
                raise ValueError("step must be above 0")
            low, high, step = (Decimal(str(number)) for number in (self.low, self.high, self.step))
            if (high - low) % step:
                raise ValueError("high must be a whole number of steps above low")


def ranges(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield keys with what is given for them; TOML makes tables of a dotted key that stands without quotes."""
    names = {field.name for field in dataclasses.fields(Range)}
    for key, value in table.items():
        if isinstance(value, Mapping) and not names & set(value):
            yield from ranges(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def distribution(key: str, given: Any, base: TrainConfig) -> BaseDistribution | list[str]:
    """Return what to draw a key's value from, or what is wrong with it."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    table, _, last = key.rpartition(".")
    if table == "options.weights" and last not in base.model.tasks:  # a table of any keys, to `config`
        return [f"{last!r} is not among model.tasks: {', '.join(base.model.tasks)}"]
    if isinstance(given, list):
        if not given or not all(isinstance(choice, str | int | float) for choice in given):
            return ["choices must be one or more strings, numbers or booleans"]
        return _mistakes_at(base, key, given) or CategoricalDistribution(given)
    if not isinstance(given, Mapping):
        return [f"{given!r} is neither a list of choices nor a table, e.g. {{low = 1, high = 4}}"]
    try:
        span = config.build(Range, given)
    except ConfigError as error:
        return error.problems
    ends = (span.low, span.high)
    # A whole number is fine for a key that takes any, so `{low = 0, high = 1}` alone does not say what is meant.
    problems = _mistakes_at(base, key, ends)
    if not problems:
        return FloatDistribution(*ends, log=span.log, step=span.step)
    if not all(number.is_integer() for number in (*ends, span.step or 1.0)):
        return problems
    low, high = map(int, ends)
    return _mistakes_at(base, key, (low, high)) or IntDistribution(low, high, log=span.log, step=int(span.step or 1))


def _mistakes_at(base: TrainConfig, key: str, values: Iterable[Any]) -> list[str]:
    """Return what is wrong with a key's values, each told once."""
    return list(dict.fromkeys(problem for value in values for problem in mistakes(base, {key: value})))


def mistakes(base: TrainConfig, params: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a training configuration, with these values set."""
    try:
        settings = with_values(base, params)
        options = getattr(type_named(settings.model.type), "OPTIONS", None)
        if options is None:
            return [f"models of type {settings.model.type!r} cannot be trained, so they cannot be tuned"]
        config.build(options, settings.options)
    except ConfigError as error:
        return error.problems
    return []


def with_values(base: TrainConfig, params: Mapping[str, Any]) -> TrainConfig:
    """Return the configuration with the values of these dotted keys set."""
    data = dataclasses.asdict(base)
    for key, value in params.items():
        *tables, last = key.split(".")
        table = data
        for name in tables:
            table = table.setdefault(name, {})
            if not isinstance(table, dict):
                raise ConfigError([f"{name!r} is a value, not a table"])
        table[last] = value
    return config.build(TrainConfig, data)
