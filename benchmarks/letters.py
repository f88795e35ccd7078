"""Abbreviations that a recogniser writes letter by letter: "c e o" instead of "CEO".

    python benchmarks/letters.py [--model NAME_OR_DIR ...] [--split dev] [--documents N]

The abbreviations in capitals of some corpora's documents are parted into letters; all words go in without marks and in
small letters. Of the letters it is told how many come out as capitals, and behind how many of those inside an
abbreviation there is a mark, where none belongs; then the F1 of all marks, with the letters and with the words as they
were. All figures are in percent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import interpunct
from accuracy import several_models
from domains import WORDS_ALONE, Domain, fed, sample, without_pauses
from interpunct.features import normalise
from interpunct.metrics.evaluate import evaluate
from interpunct.restore import Restored, Restorer
from interpunct.train.spelled import letters_of
from interpunct.transcript import Transcript, Word
from report import report

DOMAINS = (
    Domain("podcasts", "changelog"), Domain("earnings calls", "earnings22"),
    Domain("talks on Bitcoin", "bitcoin_transcripts"), Domain("TED", "iwslt"),
)  # fmt: skip
INSIDE, LAST, WHOLE = "inside", "last", ""
"""Where a word stands in an abbreviation, if it is a letter of one."""

Documents = Mapping[str, Transcript]


def main() -> None:
    """Part the abbreviations of every domain, and let every model read them."""
    parser = several_models(__doc__)
    parser.add_argument("--split", choices=["test", "dev"], default="test")
    parser.add_argument("--documents", type=int, default=12, help="at most so many of each corpus (%(default)s)")
    given = parser.parse_args()
    restorers = [interpunct.load(model) for model in given.model]
    rows = []
    for domain in DOMAINS:
        whole = {k: without_pauses(v) for k, v in sample(domain, given.split, given.documents).items()}
        rows += [scored(domain, whole, restorer) for restorer in restorers]
    report("letters" if given.split == "test" else "letters-dev", rows, given.json)


def parted(transcript: Transcript) -> Iterator[tuple[Word, str]]:
    """Yield the words of a transcript, abbreviations in capitals letter by letter, and where each letter stands.

    >>> from interpunct.labels import parse_text
    >>> said = Transcript(parse_text("Our CEO."))
    >>> [(word.text, word.mark, place) for word, place in parted(said)]
    [('Our', '', ''), ('C', '', 'inside'), ('E', '', 'inside'), ('O', '.', 'last')]
    """
    for word in transcript.words:
        letters = letters_of(normalise(word.text), capitals=True) if word.case == "upper" else ""
        for letter in letters[:-1].upper():
            yield replace(word, text=letter, mark="", case="single"), INSIDE
        yield (replace(word, text=letters[-1].upper(), case="single"), LAST) if letters else (word, WHOLE)


def scored(domain: Domain, whole: Documents, restorer: Restorer) -> dict[str, Any]:
    """Return what a model makes of a domain's abbreviations."""
    places = {name: list(parted(transcript)) for name, transcript in whole.items()}
    said = {name: replace(whole[name], words=tuple(word for word, _ in each)) for name, each in places.items()}
    restored = _restored(restorer, said)
    found = [
        (place, word)
        for name, each in places.items()
        for (_, place), word in zip(each, restored[name].words, strict=True)
        if place
    ]
    inside = [word for place, word in found if place == INSIDE]
    return {
        "domain": domain.name, "corpus": domain.corpus, "marks by": restorer.model.name,
        "words": sum(map(len, said.values())), "letters": len(found),
        "capitals": _share([word.text.isupper() for _, word in found]),
        "marks inside": _share([bool(word.mark) for word in inside]),
        "F1": _f1(said, restored), "F1, words as they were": _f1(whole, _restored(restorer, whole)),
    }  # fmt: skip


def _restored(restorer: Restorer, documents: Documents) -> dict[str, Restored]:
    given = [fed(document, "lower") for document in documents.values()]
    return dict(zip(documents, restorer.restore_all(given, WORDS_ALONE), strict=True))


def _f1(expected: Documents, restored: Mapping[str, Restored]) -> float | None:
    rows = evaluate(expected, restored, metrics=["prf"]).rows
    (overall,) = (row for row in rows if row.label == "overall")
    value = overall.rates["f1"].value
    return None if value is None else 100 * value


def _share(said: Sequence[bool]) -> float | None:
    return 100 * sum(said) / len(said) if said else None


if __name__ == "__main__":
    main()
