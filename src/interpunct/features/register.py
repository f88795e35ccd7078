"""Register: where a speaker's voice lies, so that others' can be compared with it.

In: values and who they belong to. Out: mean, deviation and floor per speaker. A speaker of whom too little is known
gets the register of all speakers together; where even that is too little there is none, and what would be measured
by it is missing. NaN stands for a missing value here and in every module behind, up to `prosody.py`, which lets none
out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interpunct.features.pitch import Values

Owners = NDArray[np.int64]
"""Whose each value is: the number of a speaker, or -1 where it is nobody's."""

LIMIT = 10.0
"""No value is more deviations from its mean than this: beyond, it is an error of measurement."""


@dataclass(frozen=True)
class Register:
    """Per speaker: mean, standard deviation and floor (the 5th percentile) of what was measured, NaN where unknown."""

    mean: Values
    deviation: Values
    floor: Values

    def of(self, owners: Owners) -> Register:
        """Return the rows of these owners; all is NaN where there is none."""
        return Register(*(_picked(column, owners) for column in (self.mean, self.deviation, self.floor)))

    def z(self, values: Values) -> Values:
        """Return values in deviations from the mean, row by row."""
        return np.clip((values - self.mean) / self.deviation, -LIMIT, LIMIT)


def learn_register(values: Values, owners: Owners, speakers: int, *, least: int, smallest: float) -> Register:
    """Learn where speakers' values lie.

    `least` is how many values make a register; `smallest` is the least deviation, so that nearly equal values do not
    become large differences.
    """
    usable = np.isfinite(values) & (owners >= 0)
    values, owners = values[usable], owners[usable]
    everybody = _row(values, smallest) if len(values) >= max(least, 2) else (np.nan, np.nan, np.nan)
    rows = []
    for speaker in range(speakers):
        own = values[owners == speaker]
        rows.append(_row(own, smallest) if len(own) >= max(least, 2) else everybody)
    return Register(*np.array(rows, dtype=np.float64).reshape(-1, 3).T)


def numbered(speakers: Sequence[str | None]) -> tuple[Owners, int]:
    """Return each word's speaker as a number, and how many there are; nameless words are one speaker's.

    >>> numbered(["A", None, "B", "A"])
    (array([0, 1, 2, 0]), 3)
    """
    numbers: dict[str | None, int] = {}
    owners = [numbers.setdefault(speaker, len(numbers)) for speaker in speakers]
    return np.array(owners, dtype=np.int64), len(numbers)


def _row(values: Values, smallest: float) -> tuple[float, float, float]:
    return float(values.mean()), max(float(values.std()), smallest), float(np.percentile(values, 5))


def _picked(column: Values, owners: Owners) -> Values:
    return np.append(column, np.nan)[np.where(owners < 0, len(column), owners)]
