"""How sure a figure is: bootstrap intervals, and whether one system is better than another.

In: counts per place, and the units that are drawn: documents, or blocks of consecutive reference sentences
where there are fewer than ten documents. Out: 95 % intervals (percentile bootstrap); for two systems the
difference with p by paired bootstrap (Koehn 2004) and by approximate randomisation (Noreen 1989). Seeds are
fixed: the same data give the same figures. A draw in which a rate is undefined is left out; with fewer than two
units nothing is said. With few units the paired bootstrap is too sure of itself, randomisation is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from interpunct.metrics.counts import Counts
from interpunct.metrics.pair import Pair

FEW_DOCUMENTS = 10
BLOCK_SENTENCES = (10, 5, 2, 1)
FEW_UNITS = 20
DRAWS = 1000
SEED = 20_041

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Units:
    """What is drawn: for each document the first place of each of its units."""

    kind: str
    starts: tuple[Ints, ...]

    def __len__(self) -> int:
        return sum(map(len, self.starts))


@dataclass(frozen=True)
class Interval:
    """A figure and where it would fall in 95 of 100 such samples; None where it is undefined."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Comparison:
    """System minus baseline, and how likely such a difference is by chance."""

    delta: float | None
    p: float | None
    """By paired bootstrap, two-sided."""
    p_randomisation: float | None
    """By approximate randomisation, two-sided."""


def document_units(pairs: Sequence[Pair]) -> Units:
    """Draw whole documents."""
    return Units("document", tuple(np.zeros(min(1, len(pair)), dtype=np.int64) for pair in pairs))


def block_units(pairs: Sequence[Pair], sentences: int = BLOCK_SENTENCES[0]) -> Units:
    """Draw blocks of so many consecutive reference sentences."""
    starts = []
    for pair in pairs:
        ends = np.flatnonzero(pair.reference_ends) + 1
        first = ends[sentences - 1 :: sentences]
        starts.append(np.concatenate([np.zeros(min(1, len(pair)), dtype=np.int64), first[first < len(pair)]]))
    return Units(f"block of {sentences} sentence{'s' * (sentences > 1)}", tuple(starts))


def choose_units(pairs: Sequence[Pair]) -> Units:
    """Draw documents where there are ten or more, blocks of sentences where there are not.

    Blocks have ten sentences, or fewer where that would leave fewer than twenty of them.
    """
    if sum(len(pair) > 0 for pair in pairs) >= FEW_DOCUMENTS:
        return document_units(pairs)
    for sentences in BLOCK_SENTENCES:
        units = block_units(pairs, sentences)
        if len(units) >= FEW_UNITS:
            break
    return units


def by_unit(counts: Sequence[Counts], units: Units) -> Counts:
    """Sum each document's counts per place over its units; the fields are arrays over all units."""

    def summed(name: str) -> Ints:
        parts = [
            np.add.reduceat(np.asarray(getattr(count, name)), starts)
            for count, starts in zip(counts, units.starts, strict=True)
            if len(starts)
        ]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    return type(counts[0])(*(summed(name) for name in counts[0].numbers()))


class Bootstrap:
    """Draws of units with replacement, the same for every figure and every system."""

    def __init__(self, units: Units, *, draws: int = DRAWS, seed: int = SEED) -> None:
        self.units = units
        size = len(units)
        generator = np.random.default_rng(seed)
        self._weights = generator.multinomial(size, np.full(size, 1 / size), size=draws) if size else None

    def drawn(self, counts: Counts) -> Counts:
        """Return counts whose fields are arrays over the draws."""
        return counts.mapped(lambda field: self._weights @ field if self._weights is not None else field)

    def intervals(self, counts: Counts) -> dict[str, Interval]:
        """Return every rate of counts by unit with its interval."""
        values, drawn = counts.total().rates(), self.drawn(counts).rates()
        if len(self.units) < 2:  # one unit drawn again and again says nothing
            return {name: Interval(value) for name, value in values.items()}
        return {name: _interval(values[name], drawn[name]) for name in values}


def _interval(value: float | None, drawn: Floats) -> Interval:
    known = drawn[~np.isnan(drawn)]
    if value is None or len(known) < 2:
        return Interval(value)
    low, high = np.percentile(known, [2.5, 97.5])
    return Interval(value, float(low), float(high))


def compare(
    system: Counts, baseline: Counts, rate: str, bootstrap: Bootstrap, *, seed: int = SEED, draws: int = DRAWS
) -> Comparison:
    """Compare two systems' counts by unit on one rate."""
    ours, theirs = system.total().rates()[rate], baseline.total().rates()[rate]
    if ours is None or theirs is None:
        return Comparison(None, None, None)
    delta = ours - theirs
    if len(bootstrap.units) < 2:
        return Comparison(delta, None, None)
    drawn = bootstrap.drawn(system).rates()[rate] - bootstrap.drawn(baseline).rates()[rate]
    drawn = drawn[~np.isnan(drawn)]
    # One more on either side: so many draws cannot show that p is 0.
    rarer = min(np.count_nonzero(drawn <= 0), np.count_nonzero(drawn >= 0))
    p = min(1.0, 2 * float(rarer + 1) / (len(drawn) + 1)) if len(drawn) else None
    return Comparison(delta, p, _randomisation(system, baseline, rate, abs(delta), seed=seed, draws=draws))


def _randomisation(system: Counts, baseline: Counts, rate: str, delta: float, *, seed: int, draws: int) -> float | None:
    """Swap the systems' units at random: how often is the difference as large?"""
    size = len(next(iter(system.numbers().values())))
    swapped = np.random.default_rng(seed + 1).random((draws, size)) < 0.5
    mine, theirs = system.numbers(), baseline.numbers()
    first = type(system)(*(swapped @ theirs[name] + ~swapped @ mine[name] for name in mine))
    second = type(system)(*(swapped @ mine[name] + ~swapped @ theirs[name] for name in mine))
    differences = np.abs(first.rates()[rate] - second.rates()[rate])
    differences = differences[~np.isnan(differences)]
    as_large = np.count_nonzero(differences >= delta - 1e-12)
    return float((as_large + 1) / (len(differences) + 1)) if len(differences) else None


Tables = Sequence[Mapping[str, Counts]]
"""For each document, counts per place by label."""


def units_of(tables: Tables, units: Units) -> dict[str, Counts]:
    """Sum tables of counts over units, label by label."""
    return {label: by_unit([table[label] for table in tables], units) for label in tables[0]} if tables else {}
