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

from interpunct.align import align as align_words
from interpunct.errors import InputError
from interpunct.metrics import WISEBE, MetricOptions, named, wisebe
from interpunct.metrics.boundaries import Mask
from interpunct.metrics.counts import Counts
from interpunct.metrics.documents import Document, ReadOptions, Scored, Side, agreed, paired, read_documents
from interpunct.metrics.metric import Metric
from interpunct.metrics.pair import Pair, WordErrors, carry_ends, pair, require_same_words
from interpunct.metrics.significance import (
    DRAWS,
    SEED,
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

    reference_ends: tuple[tuple[Mask, ...], ...] = field(default=(), repr=False)
    """For each document, the sentence ends of all of its references among the hypothesis's words."""

    def as_json(self) -> dict[str, Any]:
        """Return what `evaluate --json` prints: the metrics, the signature, and every rate's interval."""
        intervals: dict[str, Any] = {}
        for row in self.rows:
            for rate, found in row.rates.items():
                if found.low is not None:
                    intervals.setdefault(row.metric, {}).setdefault(row.label, {})[rate] = [found.low, found.high]
        return {"metrics": self.metrics, "signature": self.signature, "ci": intervals}


def evaluate(
    reference: Scored | Sequence[Scored],
    hypothesis: Scored,
    *,
    metrics: Sequence[str] | None = None,
    align: bool = False,
    baseline: Scored | None = None,
    options: MetricOptions | None = None,
    reading: ReadOptions | None = None,
    talks: str | Path | None = None,
    draws: int = DRAWS,
) -> Evaluation:
    """Score a hypothesis against a reference, or against several for WiSeBE.

    `reading` says how files are read; `talks` names an XML file whose talks are the bootstrap's units. Metrics of
    one reference take the first.

    >>> from interpunct.labels import parse_text
    >>> reference = Transcript(parse_text("So, how are you? I am fine."))
    >>> hypothesis = Transcript(parse_text("So how are you? I am fine."))
    >>> evaluate(reference, hypothesis, metrics=["ser"]).metrics["ser"]
    0.3333333333333333
    """
    options = options or MetricOptions()
    given = [reference] if isinstance(reference, str | Path | Transcript | Mapping) else list(reference)
    documents = paired([read_documents(each, reading) for each in given], read_documents(hypothesis, reading))
    others = [] if baseline is None else _baseline(documents, read_documents(baseline, reading))
    documents, others = _agreed(documents, others)
    if not align:
        _require_same_words(documents)
    pairs = [_pair(document, document.hypothesis_side, align) for document in documents]
    chosen = _chosen(metrics, pairs, documents)
    single = [named(name) for name in chosen if name != WISEBE]
    units = _units(pairs, talks)
    bootstrap = Bootstrap(units, draws=draws)
    values, rows = _score(single, pairs, units, bootstrap, options)
    ends = tuple(_reference_ends(document, align) for document in documents)
    results: tuple[wisebe.Wisebe, ...] = ()
    if WISEBE in chosen:
        _require_known_ends(pairs)
        results = tuple(
            wisebe.evaluate_document(masks, document.hypothesis_side.ends, window=options.window)
            for masks, document in zip(ends, documents, strict=True)
        )
        names = [document.name for document in documents]
        values[WISEBE] = wisebe.value(results[0]) if len(results) == 1 else wisebe.values(results, names)
    if align:
        values |= _aligned(single, pairs, options)
    comparisons: dict[str, Comparison] = {}
    if baseline is not None:
        if not single:
            raise InputError("WiSeBE is not compared with a baseline; give other metrics, or score both by themselves")
        theirs = [_pair(document, other, align) for document, other in zip(documents, others, strict=True)]
        comparisons = _comparisons(single, pairs, theirs, bootstrap, options, draws)
        values["significance"] = _shown_comparisons(comparisons)
    return Evaluation(
        _signature(chosen, options, align, units, draws, documents),
        values, tuple(rows), tuple(pairs), comparisons, results, options,
        tuple(document.references for document in documents), ends,
    )  # fmt: skip


def _chosen(metrics: Sequence[str] | None, pairs: Sequence[Pair], documents: Sequence[Document]) -> list[str]:
    if metrics is None:
        return _default_metrics(pairs, documents)
    return list(dict.fromkeys([metrics] if isinstance(metrics, str) else metrics))


def _require_same_words(documents: Sequence[Document]) -> None:
    for document in documents:
        for number, reference in enumerate(document.references, start=1):
            name = "reference" if len(document.references) == 1 else f"reference {number}"
            require_same_words(reference, document.hypothesis, sides=(name, "hypothesis"))


def _require_known_ends(pairs: Sequence[Pair]) -> None:
    for found in pairs:
        if len(found) and not found.ends_known:
            raise InputError(f"nobody knows where the sentences of {found.source!r} end; give a reference with marks")


def _reference_ends(document: Document, align: bool) -> tuple[Mask, ...]:
    """Return each reference's sentence ends among the hypothesis's words."""
    if not align:
        return tuple(side.ends for side in document.reference_sides)
    heard = [word.text for word in document.hypothesis.words]
    return tuple(
        carry_ends(side.ends, align_words([word.text for word in side.transcript.words], heard))
        for side in document.reference_sides
    )


def _default_metrics(pairs: Sequence[Pair], documents: Sequence[Document]) -> list[str]:
    """Return what is scored where nothing is asked for.

    Case only where the reference has capitals and the hypothesis knows its own, marks only where the reference
    has more than line ends, WiSeBE for several references.
    """
    cased = any(set(found.reference_cases) - {"lower", None} and any(found.hypothesis_cases) for found in pairs)
    by_line = all(document.reference_sides[0].by == "lines" for document in documents)
    unmarked = by_line and not any(mark for found in pairs for mark in found.reference_marks)
    left_out = set() if cased else {"case"}
    if unmarked:
        left_out |= {"prf", "ser", "per"}
    chosen = [name for name in DEFAULT_METRICS if name not in left_out]
    return chosen if len(documents[0].references) == 1 else [*chosen, WISEBE]


def _units(pairs: Sequence[Pair], talks: str | Path | None) -> Units:
    if talks is None:
        return choose_units(pairs)
    if len(pairs) != 1:
        raise InputError(f"units by talk need one document, and there are {len(pairs)}; leave --units out")
    return talk_units(pairs[0], talks)


def _pair(document: Document, hypothesis: Side, align: bool) -> Pair:
    first = document.reference_sides[0]
    found = pair(
        first.transcript,
        hypothesis.transcript,
        aligned=align,
        reference_ends=first.ends,
        hypothesis_ends=hypothesis.ends,
    )
    return replace(found, source=document.name)


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
            headline = shown.get(metric.headline[1])
            value = values[metric.name]
            if headline is not None and isinstance(value, dict):
                entry = value[label] if isinstance(value.get(label), dict) else value
                if label == metric.headline[0] or entry is not value:
                    entry["ci"] = [headline.low, headline.high]
        if metric.name == "prf":
            macro = values["prf"]["macro"]["f1"]
            rows.append(Row("prf", "macro", {"f1": Interval(macro)}, {}))
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


def _agreed(documents: Sequence[Document], others: Sequence[Side]) -> tuple[list[Document], list[Side]]:
    """Let each document's references, its hypothesis and the baseline's end their sentences alike."""
    chosen, beside = [], []
    for index, document in enumerate(documents):
        given = document.reference_sides
        hypothesis, *sides = agreed([document.hypothesis_side, *given, *others[index : index + 1]])
        chosen.append(Document(document.name, tuple(sides[: len(given)]), hypothesis))
        beside += sides[len(given) :]
    return chosen, beside


def _baseline(documents: Sequence[Document], others: Mapping[str, Side]) -> list[Side]:
    """Return a baseline's version of each document; its words must be the hypothesis's."""
    found = paired([others], {document.name: document.hypothesis_side for document in documents})
    sides = {each.name: each.reference_sides[0] for each in found}
    for document in documents:
        other = sides[document.name].transcript
        advice = "a baseline must be of the same words"
        require_same_words(document.hypothesis, other, sides=("hypothesis", "baseline"), advice=advice)
    return [sides[document.name] for document in documents]


def _comparisons(
    metrics: Sequence[Metric],
    ours: Sequence[Pair],
    theirs: Sequence[Pair],
    bootstrap: Bootstrap,
    options: MetricOptions,
    draws: int,
) -> dict[str, Comparison]:
    """Compare with a baseline, headline by headline."""
    found: dict[str, Comparison] = {}
    for metric in metrics:
        label, rate = metric.headline
        system, base = (units_of(_tables(metric, side, options), bootstrap.units)[label] for side in (ours, theirs))
        found[metric.name] = compare(system, base, rate, bootstrap, draws=draws)
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
        "ends": _ends_by(documents),
        "window": options.window,
        "ci": f"bootstrap-{draws} by {units.kind} ({len(units)}) seed {SEED}",
        "model": "+".join(models) or "unknown",
        "version": version("interpunct"),
    }
    return "|".join(f"{name}:{value}" for name, value in parts.items())


def _ends_by(documents: Sequence[Document]) -> str:
    """Say how sentence ends were known: of each reference, then of the hypothesis."""
    references = [sorted({d.reference_sides[i].by for d in documents}) for i in range(len(documents[0].references))]
    hypothesis = sorted({document.hypothesis_side.by for document in documents})
    return ">".join(["+".join("/".join(ways) for ways in references), "/".join(hypothesis)])
