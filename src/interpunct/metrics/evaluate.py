"""Scores hypotheses against references: the evaluator in one call.

In: transcripts or files of any format; several references where there are some. Out: an `Evaluation`: every
figure with its interval, the JSON of `evaluate --json`, and the signature that says how the figures came
about. Files are paired by name where folders are given; words must be the same unless they are aligned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from interpunct.errors import InputError
from interpunct.metrics import WISEBE, MetricOptions, named, wisebe
from interpunct.metrics.counts import Counts
from interpunct.metrics.documents import Document, Scored, Segments, paired, read_documents
from interpunct.metrics.metric import Metric
from interpunct.metrics.pair import Pair, WordErrors, pair, require_same_words
from interpunct.metrics.significance import (
    DRAWS,
    Bootstrap,
    Comparison,
    Interval,
    Units,
    choose_units,
    compare,
    units_of,
)
from interpunct.metrics.talks import talk_units
from interpunct.transcript import Transcript

DEFAULT_METRICS = ("prf", "ser", "su_er", "per", "case")


@dataclass(frozen=True)
class Row:
    """One line of a table: a metric's rates and counts for one label."""

    metric: str
    label: str
    rates: Mapping[str, Interval]
    counts: Mapping[str, int]


@dataclass(frozen=True)
class Evaluation:
    """All that was measured."""

    signature: str
    metrics: Mapping[str, Any]
    rows: tuple[Row, ...]
    pairs: tuple[Pair, ...] = field(repr=False)
    comparisons: Mapping[str, Comparison] = field(default_factory=dict)
    wisebe: tuple[wisebe.Wisebe, ...] = ()
    options: MetricOptions = field(default_factory=MetricOptions)
    references: tuple[tuple[Transcript, ...], ...] = field(default=(), repr=False)
    """For each document, all of its references."""

    def as_json(self) -> dict[str, Any]:
        """Return what `evaluate --json` prints."""
        return {"metrics": self.metrics, "signature": self.signature}


def evaluate(
    reference: Scored | Sequence[Scored],
    hypothesis: Scored,
    *,
    metrics: Sequence[str] | None = None,
    align: bool = False,
    baseline: Scored | None = None,
    options: MetricOptions | None = None,
    segments: Segments = "auto",
    talks: str | Path | None = None,
    draws: int = DRAWS,
) -> Evaluation:
    """Score a hypothesis against a reference, or against several for WiSeBE.

    `segments` says whether plain text has its sentence ends at its marks or at its line ends (`auto`: WiSeBE
    looks); `talks` names an XML file whose talks are the bootstrap's units.

    >>> from interpunct.labels import parse_text
    >>> reference = Transcript(parse_text("So, how are you? I am fine."))
    >>> hypothesis = Transcript(parse_text("So how are you? I am fine."))
    >>> evaluate(reference, hypothesis, metrics=["ser"]).metrics["ser"]
    0.3333333333333333
    """
    options = options or MetricOptions()
    given = [reference] if isinstance(reference, str | Path | Transcript | Mapping) else list(reference)
    documents = paired([read_documents(each, segments) for each in given], read_documents(hypothesis, segments))
    pairs = [_pair(document, document.hypothesis, align) for document in documents]
    chosen = list(metrics) if metrics is not None else _default_metrics(pairs, len(given))
    single = [named(name) for name in chosen if name != WISEBE]
    units = _units(pairs, talks)
    bootstrap = Bootstrap(units, draws=draws)
    values, rows = _score(single, pairs, units, bootstrap, options)
    results = _wisebe(documents, options) if WISEBE in chosen else ()
    if results:
        values[WISEBE] = wisebe.value(results[0]) if len(results) == 1 else wisebe.values(results)
    if align:
        values |= _aligned(single, pairs, options)
    comparisons: dict[str, Comparison] = {}
    if baseline is not None:
        comparisons = _comparisons(single, documents, pairs, baseline, align, units, bootstrap, options)
        values["significance"] = _shown_comparisons(comparisons)
    return Evaluation(
        _signature(chosen, options, align, units, draws, documents),
        values, tuple(rows), tuple(pairs), comparisons, results, options,
        tuple(document.references for document in documents),
    )  # fmt: skip


def _default_metrics(pairs: Sequence[Pair], references: int) -> list[str]:
    """Return what is scored where nothing is asked for: case only if it is known, WiSeBE for several references."""
    chosen = [name for name in DEFAULT_METRICS if name != "case" or any(pair.case_scored.any() for pair in pairs)]
    return chosen if references == 1 else [*chosen, WISEBE]


def _units(pairs: Sequence[Pair], talks: str | Path | None) -> Units:
    if talks is None:
        return choose_units(pairs)
    if len(pairs) != 1:
        raise InputError(f"units by talk need one document, and there are {len(pairs)}; leave --units out")
    return talk_units(pairs[0], talks)


def _pair(document: Document, hypothesis: Transcript, align: bool) -> Pair:
    return replace(pair(document.references[0], hypothesis, aligned=align), source=document.name)


def _tables(metric: Metric, pairs: Sequence[Pair], options: MetricOptions) -> list[Mapping[str, Counts]]:
    return [metric.count(pair, options) for pair in pairs]


def _score(
    metrics: Sequence[Metric], pairs: Sequence[Pair], units: Units, bootstrap: Bootstrap, options: MetricOptions
) -> tuple[dict[str, Any], list[Row]]:
    values: dict[str, Any] = {}
    rows: list[Row] = []
    for metric in metrics:
        counted = units_of(_tables(metric, pairs, options), units)
        totals = {label: counts.total() for label, counts in counted.items()}
        values[metric.name] = metric.value(totals)
        for label, counts in counted.items():
            intervals = bootstrap.intervals(counts)
            shown = {name: found for name, found in intervals.items() if not metric.rates or name in metric.rates}
            rows.append(Row(metric.name, label, shown, totals[label].numbers()))
            if isinstance(values[metric.name], dict) and isinstance(values[metric.name].get(label), dict):
                headline = shown[metric.headline[1]]
                values[metric.name][label]["ci"] = [headline.low, headline.high]
    return values, rows


def _aligned(metrics: Sequence[Metric], pairs: Sequence[Pair], options: MetricOptions) -> dict[str, Any]:
    """Return the word error rate, and the marks' figures at every place."""
    words = sum((found.word_errors for found in pairs if found.word_errors), WordErrors())
    everywhere = [found.unrestricted() for found in pairs]
    unrestricted = {}
    for metric in metrics:
        if metric.name == "case":  # case is scored on recognised words only, either way
            continue
        counts = [{label: c.total() for label, c in table.items()} for table in _tables(metric, everywhere, options)]
        totals = {label: sum((c[label] for c in counts[1:]), counts[0][label]) for label in counts[0]}
        unrestricted[metric.name] = metric.value(totals)
    return {"wer": words.wer, "unrestricted": unrestricted}


def _wisebe(documents: Sequence[Document], options: MetricOptions) -> tuple[wisebe.Wisebe, ...]:
    results = []
    for document in documents:
        for reference in document.references:
            require_same_words(reference, document.hypothesis)
        masks = [side.ends for side in document.reference_sides]
        results.append(wisebe.evaluate_document(masks, document.hypothesis_side.ends, window=options.window))
    return tuple(results)


def _comparisons(
    metrics: Sequence[Metric],
    documents: Sequence[Document],
    pairs: Sequence[Pair],
    baseline: Scored,
    align: bool,
    units: Units,
    bootstrap: Bootstrap,
    options: MetricOptions,
) -> dict[str, Comparison]:
    """Compare with a baseline of the same words, headline by headline."""
    others = {name: side.transcript for name, side in read_documents(baseline).items()}
    if len(documents) == 1 and len(others) == 1:
        others = {documents[0].name: next(iter(others.values()))}
    theirs = []
    for document in documents:
        other = others.get(document.name)
        if other is None:
            raise InputError(f"the baseline has no document {document.name!r}; files are paired by their names")
        require_same_words(document.hypothesis, other)
        theirs.append(_pair(document, other, align))
    found: dict[str, Comparison] = {}
    for metric in metrics:
        label, rate = metric.headline
        system, base = (units_of(_tables(metric, side, options), units)[label] for side in (pairs, theirs))
        found[metric.name] = compare(system, base, rate, bootstrap)
    return found


def _shown_comparisons(comparisons: Mapping[str, Comparison]) -> dict[str, Any]:
    """Show the first metric's difference at the top, as scripts expect, and every metric's by its name."""
    shown = {
        name: {"delta": found.delta, "p": found.p, "p_randomisation": found.p_randomisation}
        for name, found in comparisons.items()
    }
    first = next(iter(shown.values()), {"delta": None, "p": None})
    return {"delta": first["delta"], "p": first["p"], "metrics": shown}


def _signature(
    chosen: Sequence[str],
    options: MetricOptions,
    align: bool,
    units: Units,
    draws: int,
    documents: Sequence[Document],
) -> str:
    from importlib.metadata import version

    models = sorted({document.hypothesis.model for document in documents} - {""})
    parts = {
        "metrics": "+".join(chosen),
        "classes": options.classes,
        "marks": "!;…>. :—>,",
        "boundaries": ".?!;",
        "average": "micro",
        "mixed": "merged" if options.merge_mixed else "own",
        "align": "levenshtein-restricted" if align else "none",
        "documents": len(documents),
        "references": len(documents[0].references),
        "window": options.window,
        "ci": f"bootstrap-{draws} by {units.kind} ({len(units)})",
        "model": "+".join(models) or "unknown",
        "version": version("interpunct"),
    }
    return "|".join(f"{name}:{value}" for name, value in parts.items())
