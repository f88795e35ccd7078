"""What times and sound add: the marks of a model with a prosody branch, with none of it, with times, with a recording.

    python benchmarks/branch.py [--model NAME_OR_DIR] [--split dev] [--documents N] [--corpora icsi esic ...]

Each corpus is restored with the words (and speakers) alone, with the words' times, and, where there are recordings,
with these, too. Words go in without marks, in lower case. ESIC has no times of its own: it gets those of the aligner. A
recogniser's words are aligned to the reference. Figures are in percent, with half of the 95 % interval, and beside them
the difference to the words alone with its p (paired bootstrap). A pause written as "…" is not scored. Of each corpus at
most N documents are scored, always the same ones.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import interpunct
from accuracy import difference, percent
from domains import Domain, fed, sample, without_pauses
from interpunct import corpora
from interpunct.audio import align_audio
from interpunct.corpora.recordings import audio_path
from interpunct.decode import DecodeOptions
from interpunct.errors import InputError
from interpunct.metrics.evaluate import Evaluation, evaluate
from interpunct.metrics.significance import choose_units
from interpunct.restore import Restored, Restorer, as_transcript
from interpunct.transcript import Transcript
from report import arguments, report

FIGURES = {
    "marks": ("prf", "overall", "f1"), "SU-ER": ("su_er", "overall", "error"), "comma": ("prf", "comma", "f1"),
    "question": ("prf", "question", "f1"), "case": ("case", "overall", "f1"),
}  # fmt: skip
"""Columns, and the metric, label and rate that stand there."""
HEADLINES = {"marks": "prf", "SU-ER": "su_er", "case": "case"}


@dataclass(frozen=True)
class Spoken:
    """Where timed documents come from: the corpus, the track of the reference and that of the words."""

    corpus: str
    reference: str = "ref"
    words: str = "ref"

    @property
    def name(self) -> str:
        """The corpus, and whose words where they are a recogniser's."""
        return self.corpus if self.words == self.reference else f"{self.corpus} {self.words}"


SPOKEN = (
    Spoken("icsi"), Spoken("earnings22", "timed", "timed"), Spoken("debater"), Spoken("debater", words="asr"),
    Spoken("esic"),
)  # fmt: skip
Documents = Mapping[str, Transcript]


def main() -> None:
    """Score every corpus."""
    parser = arguments(__doc__)
    parser.add_argument("--split", choices=["test", "dev"], default="test")
    parser.add_argument("--documents", type=int, default=10_000, help="at most so many of each corpus")
    parser.add_argument("--corpora", nargs="+", choices=[*dict.fromkeys(each.corpus for each in SPOKEN)])
    given = parser.parse_args()
    restorer = interpunct.load(given.model)
    if restorer.branch is None:
        parser.error(f"{given.model} has no prosody branch; train one with recipes/bundled/prosody_branch.py")
    rows: list[dict[str, Any]] = []
    for spoken in SPOKEN:
        if given.corpora is None or spoken.corpus in given.corpora:
            for row in score(restorer, spoken, given.split, given.documents):
                print(", ".join(f"{name} {value}" for name, value in row.items()), file=sys.stderr, flush=True)
                rows.append(row)
    report("branch" if given.split == "test" else "branch-dev", rows, given.json)


def score(restorer: Restorer, spoken: Spoken, split: str, count: int) -> Iterator[dict[str, Any]]:
    """Restore a corpus with ever more of what there is to hear; yield a row for each."""
    domain = Domain("", spoken.corpus)
    reference = {name: without_pauses(each) for name, each in sample(domain, split, count, spoken.reference).items()}
    heard: Documents = reference
    if spoken.words != spoken.reference:
        heard = {name: as_transcript(each) for name, each in sample(domain, split, count, spoken.words).items()}
    words = {name: fed(each, "lower") for name, each in heard.items()}
    recordings: dict[str, Path] = {}
    if spoken.corpus == "esic":
        recordings = {name: audio_path("esic", corpora.data_root(), name) for name in words}
        words = _timed(words, recordings)
        reference = {name: reference[name] for name in words}
    first: dict[str, Restored] | None = None
    for what in ("none", "times", "audio") if recordings else ("none", "times"):
        started = time.perf_counter()
        options = DecodeOptions(prosody=what != "none")
        restored = {
            name: restorer.restore(each, options, audio=recordings[name] if what == "audio" else None)
            for name, each in words.items()
        }
        seconds = time.perf_counter() - started
        align = spoken.words != spoken.reference
        found = evaluate(reference, restored, metrics=["prf", "su_er", "case"], align=align, baseline=first)
        first = first or restored
        yield {"corpus": spoken.name, "with": what, **figures(found), "seconds": seconds}


def figures(found: Evaluation) -> dict[str, Any]:
    """Return how much was scored, each figure with its interval, and the differences to the baseline."""
    rates = {(row.metric, row.label, name): rate for row in found.rows for name, rate in row.rates.items()}
    shown: dict[str, Any] = {
        "documents": len(found.pairs),
        "scored": sum(int(pair.marks_scored.sum()) for pair in found.pairs),
    }
    for name, key in FIGURES.items():
        shown[name] = percent(rates[key])
        if name in HEADLINES:
            shown[f"{name} - none"] = difference(found.comparisons.get(HEADLINES[name]))
    return {**shown, "interval by": choose_units(found.pairs).kind}


def _timed(words: Documents, recordings: Mapping[str, Path]) -> dict[str, Transcript]:
    """Return documents with the aligner's times; one that its recording does not fit is left out."""
    found: dict[str, Transcript] = {}
    for name, each in words.items():
        try:
            found[name] = align_audio(recordings[name], each)
        except InputError as error:
            print(f"{name}: left out: {error}", file=sys.stderr)
    return found


if __name__ == "__main__":
    main()
