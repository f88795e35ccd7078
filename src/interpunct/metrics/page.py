"""An evaluation as one HTML file that a person reads: figures, then the texts with every error marked in place.

In: an `Evaluation`. Out: a page that needs no network and no script, light or dark as the reader's system is.
Reference and hypothesis stand side by side in numbered paragraphs of whole reference sentences; an error is
marked once, in the hypothesis, by symbol, line and colour, and its tooltip says what it is. What counts as an
error is what the metrics count. Aligned, words that were not recognised and unscored marks are grey.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

import numpy as np
import numpy.typing as npt

from interpunct.align import align
from interpunct.cases import recase
from interpunct.labels import attach, surface
from interpunct.metrics import report
from interpunct.metrics.boundaries import Mask, boundaries
from interpunct.metrics.classes import class_of
from interpunct.metrics.evaluate import Evaluation
from interpunct.metrics.metric import MetricOptions
from interpunct.metrics.pair import Pair
from interpunct.transcript import Transcript, Word

PARAGRAPH_WORDS = 60
"""A paragraph ends with the sentence that reaches so many words of the reference."""
LONGEST_PARAGRAPH = 240
"""It ends here in any case: some references have no sentences."""

ERRORS = {"missed": "missed marks", "inserted": "inserted marks", "wrong": "wrong marks", "case": "wrong case"}
"""The kinds of errors, by the class that they have in the page."""

_MARK_NAMES = {
    ",": "comma", ".": "period", "?": "question mark", "!": "exclamation mark", ":": "colon", ";": "semicolon",
    "—": "dash", "…": "ellipsis",
}  # fmt: skip


def write_page(evaluation: Evaluation) -> str:
    """Return the page as text."""
    options = evaluation.options
    documents = [
        _document(pair, evaluation.references[number][0] if evaluation.references else None, options, number + 1)
        for number, pair in enumerate(evaluation.pairs)
    ]
    many = len(documents) != 1
    counted = f"{len(documents):,} document{'s' * many}, {sum(map(len, evaluation.pairs)):,} words"
    title = "Evaluation" if many else f"Evaluation: {documents[0].name}"
    return "".join(
        [
            _HEAD.format(title=escape(title), style=_STYLE),
            f"<header><h1>{escape(title)}</h1><p>{counted}</p></header>\n<main>\n",
            '<section class="figures">\n<h2>Figures</h2>\n',
            *map(_table, report.grids(evaluation)),
            f'<p class="signature">Signature: <code>{escape(evaluation.signature)}</code></p>\n</section>\n',
            _contents(documents) if many else "",
            _LEGEND,
            *(document.html for document in documents),
            "</main>\n</body>\n</html>\n",
        ]
    )


def _table(grid: report.Grid) -> str:
    header = "".join(f'<th scope="col">{escape(name)}</th>' for name in grid.header)
    lines = []
    for row in grid.rows:
        names = "".join(f'<th scope="row">{escape(cell)}</th>' for cell in row[: grid.names])
        lines.append(f"<tr>{names}{''.join(f'<td>{escape(cell)}</td>' for cell in row[grid.names :])}</tr>\n")
    caption = f"<caption>{escape(grid.title)}</caption>" if grid.title else ""
    return (
        f'<div class="wide"><table class="names-{grid.names}">{caption}<thead><tr>{header}</tr></thead>\n'
        f"<tbody>\n{''.join(lines)}</tbody></table></div>\n"
    )


@dataclass(frozen=True)
class _Document:
    """A document's name, its errors counted, and its HTML."""

    name: str
    anchor: str
    words: int
    errors: Counter[str]
    html: str


def _contents(documents: Sequence[_Document]) -> str:
    """Return the list of documents with their errors."""
    names = "".join(f'<th scope="col">{name}</th>' for name in ("document", "words", *ERRORS.values()))
    lines = []
    for document in documents:
        numbers = [document.words, *(document.errors[kind] for kind in ERRORS)]
        cells = "".join(f"<td>{number:,}</td>" for number in numbers)
        link = f'<a href="#{document.anchor}">{escape(document.name)}</a>'
        lines.append(f'<tr><th scope="row">{link}</th>{cells}</tr>\n')
    table = f'<table class="names-1"><thead><tr>{names}</tr></thead>\n<tbody>\n{"".join(lines)}</tbody></table>'
    return f'<section>\n<h2>Documents</h2>\n<div class="wide">{table}</div>\n</section>\n'


def _document(pair: Pair, given: Transcript | None, options: MetricOptions, number: int) -> _Document:
    """Write one document, paragraph by paragraph."""
    texts = _Texts(pair, given, options)
    name, anchor = pair.source or f"Document {number}", f"document-{number}"
    errors: Counter[str] = Counter()
    paragraphs = []
    for index, (reference, hypothesis) in enumerate(texts.cuts(), start=1):
        wrong: Counter[str] = Counter()
        right_side = " ".join(texts.hypothesis(hypothesis, wrong))
        label = f"{anchor}-{index}"
        paragraphs.append(
            f'<div class="row{"" if wrong else " clean"}" id="{label}"><a class="number" href="#{label}">{index}</a>'
            f'<p dir="auto">{" ".join(texts.reference(reference))}</p>\n<p dir="auto">{right_side}</p></div>\n'
        )
        errors += wrong
    counted = "".join(f" · {shown}: {errors[kind]:,}" for kind, shown in ERRORS.items())
    head = '<div class="row head"><span></span><span>Reference</span><span>Hypothesis</span></div>\n'
    html = (
        f'<section class="document" id="{anchor}">\n<h2>{escape(name)}</h2>\n'
        f"<p>words: {len(pair):,}{counted}</p>\n{head}{''.join(paragraphs)}</section>\n"
    )
    return _Document(name, anchor, len(pair), errors, html)


class _Texts:
    """The two texts of a pair, and which word of the one stands for which of the other."""

    def __init__(self, pair: Pair, given: Transcript | None, options: MetricOptions) -> None:
        self._pair = pair
        self._words = given.words if given else _reference_words(pair)
        self._places: npt.NDArray[np.int64] = np.arange(len(pair))
        self._equal: Mask = np.ones(len(pair), dtype=np.bool_)
        if given and pair.word_errors is not None:
            found = align([word.text for word in self._words], pair.words)
            self._places, self._equal = found.places, found.equal
        self._heard = set(self._places[self._equal].tolist())
        self._marks = [
            [class_of(mark, options.classes) for mark in side] for side in (pair.reference_marks, pair.hypothesis_marks)
        ]
        self._merge_mixed = options.merge_mixed

    def cuts(self) -> Iterator[tuple[range, range]]:
        """Yield each paragraph's reference words and its hypothesis words."""
        # A hypothesis word that stands for none belongs to the paragraph of the word before it.
        known = np.maximum.accumulate(self._places) if len(self._places) else self._places
        ends = boundaries([word.mark for word in self._words])
        first = begun = 0
        for last in range(1, len(self._words) + 1):
            size, closing = last - first, last == len(self._words)
            if (size >= PARAGRAPH_WORDS and ends[last - 1]) or size >= LONGEST_PARAGRAPH or closing:
                end = len(known) if closing else int(np.searchsorted(known, last))
                yield range(first, last), range(begun, end)
                first, begun = last, end
        if not self._words and len(known):
            yield range(0), range(len(known))

    def reference(self, places: range) -> Iterator[str]:
        """Write reference words; those that were not recognised are grey."""
        for heard, run in groupby(places, key=self._heard.__contains__):
            text = escape(" ".join(surface(self._words[place]) for place in run), quote=False)
            yield text if heard else f'<span class="unscored" title="not recognised">{text}</span>'

    def hypothesis(self, places: range, errors: Counter[str]) -> Iterator[str]:
        """Write hypothesis words with what is wrong about them, and count it."""
        for place in places:
            text, mark = self._pair.words[place], self._pair.hypothesis_marks[place] or ""
            kind, wrong_case = self._kind(place), self._wrong_case(place)
            scored = not mark or bool(self._pair.marks_scored[place])
            if scored and not kind and not wrong_case and self._equal[place]:
                yield escape(text if mark == "…" else attach(text, mark), quote=False)
                continue
            errors.update(["case"] * wrong_case + [kind] * bool(kind))
            if mark == "…" and kind:
                text = text.rstrip(".…")  # it is part of the word, and stands in the error now
            behind = self._error(place, kind) if kind else _unmarked(text, mark, scored)
            yield self._word(place, text, wrong_case) + behind

    def _kind(self, place: int) -> str:
        """Say what is wrong with a place's mark, "" for nothing."""
        right, guess = (side[place] for side in self._marks)
        if right == guess or not self._pair.marks_scored[place]:
            return ""
        if not guess:
            return "missed"
        return "wrong" if right else "inserted"

    def _wrong_case(self, place: int) -> bool:
        if not self._pair.case_scored[place]:
            return False
        right, guess = (side[place] or "lower" for side in (self._pair.reference_cases, self._pair.hypothesis_cases))
        alike = ("sentence", "mixed") if self._merge_mixed else ()
        return right != guess and not (right in alike and guess in alike)

    def _word(self, place: int, text: str, wrong_case: bool) -> str:
        """Write a word without its mark."""
        shown, stands_for = escape(text, quote=False), int(self._places[place])
        right = escape(self._words[stands_for].text) if stands_for >= 0 else ""
        if wrong_case:
            return f'<u class="case" title="wrong case: the reference has {right}">{shown}</u>'
        if self._equal[place]:
            return shown
        title = f"the reference has {right}" if right else "not in the reference"
        return f'<span class="unscored" title="{title}">{shown}</span>'

    def _error(self, place: int, kind: str) -> str:
        """Write what is wrong with a place's mark."""
        marks = (self._pair.hypothesis_marks[place] or "", self._pair.reference_marks[place] or "")
        guess_name, right_name = (_MARK_NAMES.get(mark, escape(mark)) for mark in marks)
        guess, right = (escape(mark, quote=False) for mark in marks)
        if kind == "missed":
            return f'<del class="missed" title="missed {right_name}">−{right}</del>'
        if kind == "inserted":
            return f'<ins class="inserted" title="inserted {guess_name}">+{guess}</ins>'
        title = f"wrong mark: {guess_name}, the reference has {right_name}"
        return f'<mark class="wrong" title="{title}">{guess}→{right}</mark>'


def _unmarked(text: str, mark: str, scored: bool) -> str:
    """Write a mark that is no error: nothing where the word brings it along ("U.S.", "wait…"), grey if unscored."""
    form = text if mark == "…" else attach(text, mark)
    behind = escape(form[len(text) :] if form.startswith(text) else mark, quote=False)
    return behind if scored or not behind else f'<span class="unscored" title="not scored">{behind}</span>'


def _reference_words(pair: Pair) -> tuple[Word, ...]:
    """Write the reference with the pair's words and its own tags."""
    tagged = zip(pair.words, pair.reference_marks, pair.reference_cases, strict=True)
    return tuple(Word(recase(text, case or "lower"), mark=mark, case=case) for text, mark, case in tagged)


_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
"""

_LEGEND = """<div class="legend">
<span><del class="missed">−,</del> missed mark</span>
<span><ins class="inserted">+,</ins> inserted mark</span>
<span><mark class="wrong">,→.</mark> wrong mark → the reference's</span>
<span><u class="case">Word</u> wrong case</span>
<span><span class="unscored">word</span> not scored</span>
<label><input type="checkbox" id="only-errors"> only paragraphs with errors</label>
</div>
"""

_STYLE = """
:root {
  color-scheme: light dark;
  --paper: #fdfdfc; --ink: #1d1f21; --soft: #4a4e52; --faint: #6b7075; --line: #dcdedf; --panel: #f3f4f4;
  --missed: #a63d00; --missed-ground: #fdeadd; --inserted: #00588c; --inserted-ground: #e0f0fa;
  --wrong: #7d2a6b; --wrong-ground: #f8e4f3; --case: #7a5c00; --link: #00588c;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #17191b; --ink: #e4e6e7; --soft: #b9bec2; --faint: #9aa0a5; --line: #33373a; --panel: #202326;
    --missed: #ffb38a; --missed-ground: #45230f; --inserted: #8fd0fa; --inserted-ground: #10344a;
    --wrong: #f0a8dd; --wrong-ground: #431c3a; --case: #f0cf63; --link: #8fd0fa;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, "Segoe UI", Roboto,
  "Helvetica Neue", "DejaVu Sans", sans-serif; }
header, main { max-width: 1180px; margin: 0 auto; padding: 0 24px; }
header { padding-top: 28px; }
h1 { font-size: 1.6rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 36px 0 4px; overflow-wrap: anywhere; }
header p, h2 + p { color: var(--faint); margin: 4px 0 12px; }
a { color: var(--link); }
.wide { overflow-x: auto; margin: 12px 0 20px; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: 4px 0; white-space: nowrap; }
th, td { padding: 4px 14px 4px 0; text-align: right; white-space: nowrap; font-weight: 400; }
thead th { color: var(--faint); font-size: .82rem; border-bottom: 1px solid var(--line); }
tbody tr:hover { background: var(--panel); }
tbody th, .names-1 thead th:first-child, .names-2 thead th:nth-child(-n+2) { text-align: left; }
tbody tr:has(th + th) th:first-child { color: var(--faint); }
.signature { font-size: .82rem; color: var(--faint); }
.signature code { overflow-wrap: anywhere; }
.legend { position: sticky; top: 0; z-index: 1; display: flex; flex-wrap: wrap; gap: 6px 22px; padding: 10px 0;
  margin-top: 32px; background: var(--paper); border-bottom: 1px solid var(--line); font-size: .88rem; }
.legend label { margin-left: auto; }
.document { scroll-margin-top: 40px; }
.row { display: grid; grid-template-columns: 2.4rem 1fr 1fr; gap: 0 26px; padding: 10px 0;
  border-top: 1px solid var(--line); scroll-margin-top: 56px; }
.row:target { background: var(--panel); }
.row p { margin: 0; font: 1.02rem/1.75 Georgia, "Iowan Old Style", "DejaVu Serif", serif; overflow-wrap: anywhere; }
.row p:first-of-type { color: var(--soft); }
.head { border-top: 0; padding: 4px 0; font-size: .82rem; color: var(--faint); }
.number { color: var(--faint); font-size: .82rem; line-height: 2.1; text-align: right; text-decoration: none; }
body:has(#only-errors:checked) .clean { display: none; }
.missed, .inserted, .wrong { padding: 0 3px; margin: 0 1px; border-radius: 3px; font: 700 1.05em/1.1 ui-monospace,
  "DejaVu Sans Mono", monospace; text-decoration: none; white-space: nowrap; }
.missed { color: var(--missed); background: var(--missed-ground); border: 1.5px dashed var(--missed); }
.inserted { color: var(--inserted); background: var(--inserted-ground); border: 1.5px solid var(--inserted); }
.wrong { color: var(--wrong); background: var(--wrong-ground); border-bottom: 3px double var(--wrong); }
.case { text-decoration: underline wavy var(--case) 1.5px; text-underline-offset: 3px; color: var(--case); }
.unscored { color: var(--faint); font-style: italic; }
@media (max-width: 760px) {
  .row { grid-template-columns: 2rem 1fr; }
  .row p:last-child { grid-column: 2; margin-top: 6px; }
  .head span:last-child { display: none; }
  .legend { position: static; }
}
@media print { .legend { position: static; } .legend label { display: none; } .row { break-inside: avoid; } }
"""
