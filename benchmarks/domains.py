"""Accuracy by domain, on the test documents of the corpora's splits: marks, case and sentence ends.

    python benchmarks/domains.py [--model NAME_OR_DIR ...] [--split dev] [--documents N] [--input lower upper asis]

Of each corpus at most N documents are scored, always the same ones, chosen by their names' checksums; with twelve
of each a model of 3,000 words a second needs about seven minutes. Words go in without marks, in lower case unless
`--input` says otherwise; from the second input on, a row tells what came out differently. A recogniser's words
are aligned to the reference. Marks are decided by the words alone. A pause written as "…" is not scored: nobody knows
whether a sentence ends there. Figures are F1 in percent ± half of the 95 % interval. `--earnings21` adds the words of
its seven recognisers beside the marks that four of them wrote themselves (benchmarks/commercial.py compares them in
full).
"""

from __future__ import annotations

import heapq
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import commercial
import interpunct
from accuracy import difference, percent, several_models
from interpunct import corpora
from interpunct.cases import bare, case_of
from interpunct.decode import DecodeOptions
from interpunct.labels import mark_with_ellipsis
from interpunct.metrics.evaluate import Evaluation, evaluate
from interpunct.metrics.significance import choose_units
from interpunct.restore import Restored, Restorer, as_transcript
from interpunct.transcript import Transcript, Word
from report import report

DOCUMENTS = 12
INPUTS: dict[str, Callable[[str], str]] = {"lower": str.lower, "upper": str.upper, "asis": str}
FIGURES = {
    "marks": ("prf", "overall"), "comma": ("prf", "comma"), "period": ("prf", "period"),
    "question": ("prf", "question"), "case": ("case", "overall"), "sentence ends": ("su_er", "overall"),
}  # fmt: skip
"""Columns, and the metric and label whose F1 stands there."""

WORDS_ALONE = DecodeOptions(prosody=False)
"""What times and sound add is told by `branch.py`."""

Documents = Mapping[str, Transcript]


@dataclass(frozen=True)
class Domain:
    """Where the documents of a domain come from."""

    name: str
    corpus: str
    track: str = "ref"


DOMAINS = (
    Domain("TED", "iwslt"), Domain("podcasts", "changelog"), Domain("court", "scotus"),
    Domain("parliament", "ontario_hansard"), Domain("parliament", "esic"),
    Domain("meetings", "qmsum_meetings"), Domain("meetings", "icsi"), Domain("earnings calls", "earnings22"),
    Domain("debates", "debater"), Domain("debates", "debater", "asr"), Domain("debates", "iq2"),
    Domain("talks on Bitcoin", "bitcoin_transcripts"),
)  # fmt: skip


def main() -> None:
    """Score every model on every domain."""
    parser = several_models(__doc__)
    parser.add_argument("--split", choices=["test", "dev"], default="test")
    parser.add_argument("--documents", type=int, default=DOCUMENTS, help="at most so many of each corpus (%(default)s)")
    parser.add_argument("--input", nargs="+", choices=INPUTS, default=["lower"], help="how the words are written")
    parser.add_argument("--domains", nargs="+", choices=[*dict.fromkeys(domain.name for domain in DOMAINS)])
    parser.add_argument("--earnings21", action="store_true", help="add Earnings-21, which is for testing only")
    given = parser.parse_args()
    if given.earnings21 and given.split != "test":
        parser.error("Earnings-21 has no dev documents; leave out --earnings21 or --split dev")
    restorers = [interpunct.load(model) for model in given.model]
    chosen = [domain for domain in DOMAINS if given.domains is None or domain.name in given.domains]
    started = time.perf_counter()
    rows: list[dict[str, Any]] = []
    for domain in chosen:
        reference = {k: without_pauses(v) for k, v in sample(domain, given.split, given.documents).items()}
        words = sample(domain, given.split, given.documents, domain.track) if domain.track != "ref" else None
        rows += _told(score(domain, reference, words, restorers, given.input))
    for track in (*commercial.RECOGNISERS, *commercial.BARE) if given.earnings21 else ():
        rows += _told(earnings21(track, restorers, given.input, given.documents))
    seconds = time.perf_counter() - started
    total = {name: sum(row[name] for row in rows) for name in ("documents", "words", "scored")}
    rows.append({"domain": "all rows", **total, "interval by": f"{seconds:.0f} s in all"})
    report("domains" if given.split == "test" else "domains-dev", rows, given.json)


def _told(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        shown = ", ".join(f"{name} {row[name]}" for name in ("corpus", "marks by", "words", "marks", "case"))
        print(shown, file=sys.stderr, flush=True)
        yield row


def sample(domain: Domain, split: str, count: int, track: str = "ref") -> dict[str, Transcript]:
    """Read at most so many documents, the same ones in every run and on every track."""
    read = corpora.read(domain.corpus, split, track=track)
    chosen = heapq.nsmallest(count, read, key=lambda document: zlib.crc32(document.source.encode()))
    return {document.source: document for document in sorted(chosen, key=lambda document: document.source)}


def without_pauses(reference: Transcript) -> Transcript:
    """Leave it open what stands after a word that ends in "…"."""
    words = (replace(word, mark=None) if mark_with_ellipsis(word) == "…" else word for word in reference.words)
    return Transcript(tuple(words), reference.source)


def fed(document: Transcript, written: str) -> Transcript:
    """Return what a model is given: the words and who said them, without marks, all written one way."""
    return Transcript(tuple(_fed(word, written) for word in document.words), document.source)


def _fed(word: Word, written: str) -> Word:
    text = INPUTS[written](word.text)
    if bare(text) != bare(word.text):  # "Straße" in capitals would be another word
        text = word.text
    return Word(text, word.start, word.end, word.confidence, word.speaker, mark="", case=case_of(text))


def score(
    domain: Domain,
    reference: Documents,
    words: Documents | None,
    restorers: Sequence[Restorer],
    inputs: Sequence[str],
) -> Iterator[dict[str, Any]]:
    """Restore a domain's words, or a recogniser's, with every model and in every way of writing."""
    heard = {name: as_transcript(document) for name, document in words.items()} if words else reference
    for restorer in restorers:
        first: dict[str, Restored] | None = None
        for written in inputs:
            given = [fed(document, written) for document in heard.values()]
            restored = dict(zip(heard, restorer.restore_all(given, WORDS_ALONE), strict=True))
            found = evaluate(
                reference, restored, metrics=["prf", "su_er", "case"], align=words is not None, baseline=first
            )
            row = {"input": written, "marks by": restorer.model.name, **figures(found, heard)}
            if first is not None:
                row[f"words unlike {inputs[0]}"] = unlike(first, restored)
                row[f"marks - {inputs[0]}"] = difference(found.comparisons["prf"])
            first = first or restored
            yield {"domain": domain.name, "corpus": _corpus(domain), **row}


def earnings21(
    track: str, restorers: Sequence[Restorer], inputs: Sequence[str], count: int
) -> Iterator[dict[str, Any]]:
    """Score a recogniser's own marks where it writes some, then the models' on its words."""
    domain = Domain("earnings calls", "earnings21", track)
    calls = {name: sample(domain, "test", count, name) for name in ("ref", track)}
    if track in commercial.RECOGNISERS:
        found = evaluate(calls["ref"], calls[track], metrics=["prf", "su_er", "case"], align=True)
        own = figures(found, calls[track])
        yield {"domain": domain.name, "corpus": _corpus(domain), "input": "", "marks by": "its own", **own}
    yield from score(domain, calls["ref"], calls[track], restorers, inputs)


def _corpus(domain: Domain) -> str:
    return domain.corpus if domain.track == "ref" else f"{domain.corpus} {domain.track}"


def figures(found: Evaluation, heard: Documents) -> dict[str, Any]:
    """Return how much was scored, and each figure with its interval."""
    wer = found.metrics.get("wer")
    rates = {(row.metric, row.label): row.rates["f1"] for row in found.rows if "f1" in row.rates}
    return {
        "speakers": "yes" if any(word.speaker for each in heard.values() for word in each.words) else "no",
        "documents": len(found.pairs),
        "words": sum(map(len, found.pairs)),
        "scored": sum(int(pair.marks_scored.sum()) for pair in found.pairs),
        "WER": "" if wer is None else 100 * wer,
        **{name: percent(rates[key]) for name, key in FIGURES.items()},
        "interval by": choose_units(found.pairs).kind,
    }


def unlike(one: Mapping[str, Transcript], other: Mapping[str, Transcript]) -> int:
    """Count the words that have another mark or other letters."""
    return sum(
        (a.mark, a.text) != (b.mark, b.text)
        for name in one
        for a, b in zip(one[name].words, other[name].words, strict=True)
    )


if __name__ == "__main__":
    main()
