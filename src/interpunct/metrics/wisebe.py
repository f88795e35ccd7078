"""WiSeBE: sentence boundaries against several references (paper 003), and the schemes it reviews.

In: for each reference and for the candidate, whether a sentence ends after each word. Out: counts, from which
the rates are read. Equation numbers are the paper's. WiSeBE belongs to one transcript: a product of two rates
has no counts of its own, so several transcripts give a table and a row of means (Tables 4 to 6), never a sum.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from interpunct.errors import InputError
from interpunct.metrics import su_error
from interpunct.metrics.boundaries import Mask
from interpunct.metrics.counts import Rate, ratio
from interpunct.metrics.prf import OVERALL
from interpunct.metrics.su_error import Boundaries, boundary_counts

Ints = npt.NDArray[np.int64]
WINDOW = 3
"""The paper's separation limit: boundaries at most so many words apart share a window."""
MEAN = "mean"


@dataclass(frozen=True)
class Agreement:
    """How far the references agree with one another."""

    references: int
    words: int
    boundaries: int
    """Boundaries over all references: the sum of d_j."""
    places: int
    """Words after which at least one reference has a boundary."""
    shared: int
    """R_GPB (eq. 6): the sum of d_j where at least two references agree."""
    agreeing: int
    """Ordered pairs of references that say the same, over all words."""

    @property
    def agreement_ratio(self) -> float | None:
        """R_GAR (eq. 5-7): shared boundaries over what they would be if all agreed; 1 is perfect agreement.

        One reference has nobody to agree with. Equation 6 then gives 0, which would zero every score, and
        calling it 1 would make a lone annotator unanimous: it is undefined, and WiSeBE with it.
        """
        return ratio(self.shared, self.references * self.places) if self.references > 1 else None

    @property
    def fleiss_kappa(self) -> float | None:
        """Fleiss' kappa over the words, with two categories: boundary or none.

        Undefined for one reference, and where every reference says the same of every word: chance alone
        would then agree as well.
        """
        decisions = self.references * self.words
        if self.references < 2 or self.boundaries in (0, decisions):
            return None
        observed = self.agreeing / (decisions * (self.references - 1))
        share = self.boundaries / decisions
        by_chance = share**2 + (1 - share) ** 2
        return (observed - by_chance) / (1 - by_chance)


@dataclass(frozen=True)
class WindowCounts:
    """A candidate against the window reference R_W."""

    boundaries: int
    """The candidate's boundaries."""
    inside: int
    """Those that lie in a window."""
    windows: int
    found: int
    """The windows that hold at least one of them."""

    @property
    def precision(self) -> Rate:
        """Equation 12."""
        return ratio(self.inside, self.boundaries)

    @property
    def recall(self) -> Rate:
        """Equation 13."""
        return ratio(self.found, self.windows)

    @property
    def f1(self) -> float | None:
        """Equation 11, from the counts: 0 where nothing was found, undefined where there was nothing to find.

        >>> WindowCounts(boundaries=4, inside=3, windows=2, found=1).f1
        0.6
        >>> WindowCounts(boundaries=0, inside=0, windows=2, found=0).f1
        0.0
        """
        if not self.found:
            return 0.0 if self.boundaries + self.windows else None
        return 2 * self.inside * self.found / (self.inside * self.windows + self.found * self.boundaries)


@dataclass(frozen=True)
class Wisebe:
    """One transcript's candidate against all of its references."""

    agreement: Agreement
    window: WindowCounts
    per_reference: tuple[Boundaries, ...]
    lenient: Boundaries
    """A decision is wrong only where no reference made it."""
    majority: Boundaries
    """Against the boundaries that more than half of the references have."""

    @property
    def wisebe(self) -> float | None:
        """F1_RW x R_GAR (eq. 10)."""
        f1, agreement = self.window.f1, self.agreement.agreement_ratio
        return None if f1 is None or agreement is None else f1 * agreement

    @property
    def precision_mean(self) -> float | None:
        """The plain mean of the precisions against each reference (Table 4)."""
        return mean(found.precision for found in self.per_reference)

    @property
    def recall_mean(self) -> float | None:
        """The plain mean of the recalls."""
        return mean(found.recall for found in self.per_reference)

    @property
    def f1_mean(self) -> float | None:
        """The plain mean of the F1s: not the F1 of the two means."""
        return mean(found.f1 for found in self.per_reference)

    @property
    def mean_ser(self) -> float | None:
        """The plain mean of the slot error rates, (missed + inserted) / reference."""
        return mean(found.error for found in self.per_reference)


def general_reference(references: Sequence[Mask]) -> Ints:
    """Return R_G (eq. 3-4): for each word, how many references have a boundary after it.

    >>> general_reference([np.array([True, False]), np.array([True, True])]).tolist()
    [2, 1]
    """
    if not references:
        raise InputError("there is no reference; give at least one")
    if len({len(reference) for reference in references}) > 1:
        raise InputError("the references have different numbers of words; they must be of one transcript")
    frequencies: Ints = np.sum(references, axis=0, dtype=np.int64)
    return frequencies


def windows(frequencies: Ints, *, limit: int = WINDOW) -> tuple[tuple[int, int], ...]:
    """Return R_W (eq. 8-9): half-open ranges of words, each from a first to a last boundary of R_G.

    Two neighbouring boundaries belong to one window when they are at most `limit` words apart.

    >>> windows(np.array([0, 2, 0, 0, 1, 0, 0, 0, 3]))
    ((1, 5), (8, 9))
    """
    places = np.flatnonzero(frequencies)
    if not len(places):
        return ()
    cuts = np.flatnonzero(np.diff(places) > limit)
    firsts = places[np.concatenate([[0], cuts + 1])]
    lasts = places[np.concatenate([cuts, [len(places) - 1]])]
    return tuple(zip(firsts.tolist(), (lasts + 1).tolist(), strict=True))


def evaluate_document(references: Sequence[Mask], candidate: Mask, *, window: int = WINDOW) -> Wisebe:
    """Score a candidate's boundaries against those of all references of one transcript.

    The last word counts like any other: a boundary after it is one where a reference has it.
    """
    frequencies = general_reference(references)
    if len(candidate) != len(frequencies):
        raise InputError(
            f"the candidate has {len(candidate)} words and the references {len(frequencies)}; "
            "they must be of one transcript"
        )
    size = len(references)
    unanimous = frequencies == size
    # At each place the reference that suits the candidate best, as far as there is one that does.
    favourable = unanimous | (candidate & (frequencies > 0))
    return Wisebe(
        _agreement(frequencies, size),
        _against_windows(windows(frequencies, limit=window), candidate),
        tuple(_against(reference, candidate) for reference in references),
        _against(favourable, candidate),
        _against(2 * frequencies > size, candidate),
    )


def _agreement(frequencies: Ints, size: int) -> Agreement:
    without = size - frequencies
    return Agreement(
        references=size,
        words=len(frequencies),
        boundaries=int(frequencies.sum()),
        places=int(np.count_nonzero(frequencies)),
        shared=int(frequencies[frequencies >= 2].sum()),
        agreeing=int((frequencies * (frequencies - 1) + without * (without - 1)).sum()),
    )


def _against_windows(ranges: Sequence[tuple[int, int]], candidate: Mask) -> WindowCounts:
    before = np.concatenate([[0], np.cumsum(candidate, dtype=np.int64)])
    edges = np.array(ranges, dtype=np.int64).reshape(-1, 2)
    inside = before[edges[:, 1]] - before[edges[:, 0]]
    return WindowCounts(int(before[-1]), int(inside.sum()), len(ranges), int(np.count_nonzero(inside)))


def _against(reference: Mask, candidate: Mask) -> Boundaries:
    return boundary_counts(reference, candidate, np.ones(len(candidate), dtype=np.bool_)).total()


def mean(rates: Iterable[float | None]) -> float | None:
    """Return the mean of the rates that are defined, None where none is.

    >>> mean([0.5, None, 1.0]), mean([None])
    (0.75, None)
    """
    known = [rate for rate in rates if rate is not None]
    return statistics.fmean(known) if known else None


def pearson(ones: Sequence[float | None], others: Sequence[float | None]) -> float | None:
    """Return Pearson's r over the pairs whose both sides are defined; None for fewer than two different values.

    >>> pearson([0.5, 0.75, None], [0.25, 0.5, 1.0]), pearson([1.0, 1.0], [0.0, 1.0])
    (1.0, None)
    """
    known = [(one, other) for one, other in zip(ones, others, strict=True) if one is not None and other is not None]
    if any(len(set(side)) < 2 for side in zip(*known, strict=True)) or not known:
        return None
    return statistics.correlation([one for one, _ in known], [other for _, other in known])


def agreement_correlation(results: Sequence[Wisebe]) -> float | None:
    """Return Pearson's r between the agreement ratio and Fleiss' kappa over transcripts (section 5.1)."""
    found = [result.agreement for result in results]
    return pearson([one.agreement_ratio for one in found], [one.fleiss_kappa for one in found])


def _figures(result: Wisebe) -> dict[str, float | None]:
    return {
        "wisebe": result.wisebe,
        "f1_rw": result.window.f1,
        "precision_rw": result.window.precision,
        "recall_rw": result.window.recall,
        "agreement_ratio": result.agreement.agreement_ratio,
        "fleiss_kappa": result.agreement.fleiss_kappa,
        "f1_mean": result.f1_mean,
        "precision_mean": result.precision_mean,
        "recall_mean": result.recall_mean,
        "mean_ser": result.mean_ser,
    }


def _shown(found: Boundaries) -> dict[str, Any]:
    """Show boundaries as `su_er` does."""
    return su_error.value({OVERALL: found})


def value(result: Wisebe) -> dict[str, Any]:
    """Show one transcript as `evaluate --json` prints it."""
    return {
        **_figures(result),
        "per_reference": [_shown(found) for found in result.per_reference],
        "lenient": _shown(result.lenient),
        "majority": _shown(result.majority),
    }


def values(results: Sequence[Wisebe], names: Sequence[str] | None = None) -> dict[str, Any]:
    """Show several transcripts: the means of all rates, Pearson's r, and each transcript in `documents`."""
    names = names or [str(number) for number in range(1, len(results) + 1)]
    figures = [_figures(result) for result in results]
    by_reference = [[*found] for found in zip(*(result.per_reference for result in results), strict=False)]
    return {
        **{name: mean(row[name] for row in figures) for name in (figures[0] if figures else {})},
        "per_reference": [_mean_rates(found) for found in by_reference],
        "lenient": _mean_rates([result.lenient for result in results]),
        "majority": _mean_rates([result.majority for result in results]),
        "pearson": agreement_correlation(results),
        "documents": [{"name": name, **value(result)} for name, result in zip(names, results, strict=True)],
    }


def _mean_rates(found: Sequence[Boundaries]) -> dict[str, float | None]:
    return {name: mean(getattr(one, name) for one in found) for name in Boundaries.RATES}


def table(results: Sequence[Wisebe], names: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Return the paper's Tables 4 to 6 as rows: one for each transcript and, last, the mean of each column.

    The columns `precision_1`, `recall_1`, `f1_1` and so on are those against each reference.
    """
    names = names or [str(number) for number in range(1, len(results) + 1)]
    rows = [{"transcript": name, **_columns(result)} for name, result in zip(names, results, strict=True)]
    columns = dict.fromkeys(column for row in rows for column in row if column != "transcript")
    means = {column: mean(row.get(column) for row in rows) for column in columns}
    return [*rows, {"transcript": MEAN, **means}]


def _columns(result: Wisebe) -> dict[str, Any]:
    against = {
        f"{rate}_{number}": getattr(found, rate)
        for number, found in enumerate(result.per_reference, start=1)
        for rate in ("precision", "recall", "f1")
    }
    others = {
        "lenient_ser": result.lenient.error,
        "lenient_f1": result.lenient.f1,
        "majority_ser": result.majority.error,
        "majority_f1": result.majority.f1,
    }
    return against | _figures(result) | others
