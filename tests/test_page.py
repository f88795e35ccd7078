from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpunct.labels import parse_text
from interpunct.metrics import MetricOptions
from interpunct.metrics.evaluate import Evaluation, evaluate
from interpunct.metrics.page import ERRORS, write_page
from interpunct.transcript import Transcript, Word

VOID = {"meta", "input"}


class Page(HTMLParser):
    """Reads a page: every marked piece of the documents as (class, text, tooltip), and whether tags match."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[tuple[str, dict[str, str]]] = []
        self.found: list[list[str]] = []
        self.tags: Counter[str] = Counter()
        self.paragraphs: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags[tag] += 1
        if tag in VOID:
            return
        self.open.append((tag, given))
        if self.in_document and given.get("class") in {*ERRORS, "unscored"}:
            self.found.append([given["class"], "", given["title"]])
        if self.in_document and tag == "p" and "dir" in given:
            self.paragraphs.append("")

    def handle_endtag(self, tag: str) -> None:
        opened, _ = self.open.pop()
        assert opened == tag

    def handle_data(self, data: str) -> None:
        if not self.open:
            return
        if self.open[-1][1].get("class") in {*ERRORS, "unscored"} and self.in_document:
            self.found[-1][1] += data
        if any(tag == "p" and "dir" in given for tag, given in self.open):
            self.paragraphs[-1] += data

    @property
    def in_document(self) -> bool:
        return any(given.get("class") == "document" for _, given in self.open)

    @property
    def errors(self) -> list[tuple[str, str, str]]:
        return [(kind, text, title) for kind, text, title in self.found if kind != "unscored"]

    @property
    def grey(self) -> list[tuple[str, str]]:
        return [(text, title) for kind, text, title in self.found if kind == "unscored"]


def transcript(text: str, source: str = "garden") -> Transcript:
    return Transcript(parse_text(text), source=source)


def scored(reference: str, hypothesis: str, **options: object) -> Evaluation:
    return evaluate(transcript(reference), transcript(hypothesis), draws=10, **options)  # type: ignore[arg-type]


def test_page_marks_each_error_once_with_its_kind() -> None:
    evaluation = scored(
        "So, the roses bloom. Did you water them? Anna did! They drink a lot.",
        "So the roses, bloom. Did you water them. anna did. They drink a lot.",
    )
    page = Page(write_page(evaluation))
    assert page.errors == [
        ("missed", "−,", "missed comma"),
        ("inserted", "+,", "inserted comma"),
        ("wrong", ".→?", "wrong mark: period, the reference has question mark"),
        ("case", "anna", "wrong case: the reference has Anna"),
    ]
    assert page.grey == []
    assert page.paragraphs == [
        "So, the roses bloom. Did you water them? Anna did! They drink a lot.",
        "So−, the roses+, bloom. Did you water them.→? anna did. They drink a lot.",
    ]


def test_page_shows_the_figures_and_the_signature() -> None:
    evaluation = scored("Yes, we can. We will.", "Yes we can. We will.")
    html = write_page(evaluation)
    row = next(row for row in evaluation.rows if (row.metric, row.label) == ("prf", "overall"))
    recall = row.rates["recall"].value
    assert recall is not None
    assert f"<td>{100 * recall:.1f}" in html
    assert "n/a" in html
    for text in ("None", "nan<", "NaN"):
        assert text not in html
    assert evaluation.signature.replace(">", "&gt;") in html


def test_page_needs_nothing_from_elsewhere() -> None:
    html = write_page(scored("One. Two.", "One. Two."))
    page = Page(html)
    assert not page.tags.keys() & {"script", "link", "img", "iframe"}
    for outside in ("http:", "https:", "url(", "@import"):
        assert outside not in html
    assert "prefers-color-scheme: dark" in html


def test_page_escapes_words_and_names() -> None:
    reference = Transcript((Word("<b>", mark=".", case="lower"), Word('"&amp;', mark="", case="lower")), source="<i>")
    hypothesis = Transcript((Word("<B>", mark="", case="upper"), Word('"&amp;', mark="", case="lower")), source="<i>")
    html = write_page(evaluate(reference, hypothesis, draws=10))
    page = Page(html)
    assert not page.tags.keys() & {"b", "i"}
    assert page.paragraphs == ['<b>. "&amp;', '<B>−. "&amp;']
    assert ("case", "<B>", "wrong case: the reference has <b>") in page.errors


def test_page_counts_what_the_metrics_count() -> None:
    evaluation = scored("A dog, a cat; a hen. Who? Me: Ann.", "A dog. a Cat, a hen, who. Me Ann?")
    counts = Counter(kind for kind, _, _ in Page(write_page(evaluation)).errors)
    slots = next(row.counts for row in evaluation.rows if row.metric == "ser")
    assert (counts["wrong"], counts["missed"], counts["inserted"]) == (
        slots["substituted"],
        slots["deleted"],
        slots["inserted"],
    )
    case = next(row.counts for row in evaluation.rows if (row.metric, row.label) == ("case", "ser"))
    assert counts["case"] == case["substituted"] + case["deleted"] + case["inserted"]


@pytest.mark.parametrize(("classes", "kinds"), [(4, ["wrong", "wrong"]), (3, ["wrong"]), (2, [])])
def test_page_follows_the_classes(classes: int, kinds: list[str]) -> None:
    evaluation = scored("who? me, you", "who. me. you", options=MetricOptions(classes=classes))
    assert [kind for kind, _, _ in Page(write_page(evaluation)).errors] == kinds


def test_page_follows_the_merging_of_mixed_case() -> None:
    sides = ("my iPhone", "my Iphone")
    assert len(Page(write_page(scored(*sides))).errors) == 1
    assert Page(write_page(scored(*sides, options=MetricOptions(merge_mixed=True)))).errors == []


def test_page_greys_what_was_not_recognised() -> None:
    evaluation = scored(
        "We saw, a big boat. It left at noon, or later.",
        "We saw a big goat, it really left noon, or later.",
        align=True,
    )
    page = Page(write_page(evaluation))
    assert page.grey == [
        ("boat.", "not recognised"),
        ("at", "not recognised"),
        ("goat", "the reference has boat"),
        (",", "not scored"),
        ("really", "not in the reference"),
    ]
    assert page.errors == [
        ("missed", "−,", "missed comma"),
        ("case", "it", "wrong case: the reference has It"),
    ]


def test_page_does_not_repeat_an_ellipsis() -> None:
    page = Page(write_page(scored("wait there", "wait… there")))
    assert page.paragraphs[1] == "wait+… there"
    assert Page(write_page(scored("wait… there.", "wait… there."))).paragraphs[1] == "wait… there."


def test_page_cuts_paragraphs_after_reference_sentences() -> None:
    sentence = "the gate is open and the hens walk out into the lane."
    text = " ".join([sentence] * 20)
    page = Page(write_page(scored(text, text.replace(".", ""))))
    references = page.paragraphs[::2]
    assert len(references) == 4
    assert " ".join(references) == text
    assert all(paragraph.endswith(".") for paragraph in references)
    assert [one.replace(".", "") for one in references] == [other.replace("−.", "") for other in page.paragraphs[1::2]]


def test_page_of_several_documents_links_each() -> None:
    sides = [{name: transcript(text, name) for name in ("north", "south")} for text in ("Hi, you.", "Hi you.")]
    html = write_page(evaluate(*sides, draws=10))
    for number, name in ((1, "north"), (2, "south")):
        assert f'<a href="#document-{number}">{name}</a>' in html
        assert html.count(f'id="document-{number}"') == 1
    assert html.count("missed marks: 1") == 2


def test_page_without_words_or_references_is_still_a_page() -> None:
    empty = Transcript(())
    assert Page(write_page(evaluate(empty, empty, metrics=["prf"], draws=10))).paragraphs == []
    evaluation = scored("Yes, Ann.", "Yes Ann.")
    assert Page(write_page(replace(evaluation, references=()))).paragraphs == ["Yes, Ann.", "Yes−, Ann."]


tokens = st.lists(
    st.sampled_from(["so", "So", "we,", "we", "go.", "go?", "Go", "U.S.", "wait…", '"oh,"', "—"]), min_size=1
)


@given(tokens, tokens)
@settings(deadline=None, max_examples=60)
def test_page_keeps_every_word_on_both_sides(reference: list[str], hypothesis: list[str]) -> None:
    sides = [transcript(" ".join(side)) for side in (reference, hypothesis)]
    page = Page(write_page(evaluate(*sides, metrics=["prf"], align=True, draws=2)))
    for side, paragraphs in zip(sides, (page.paragraphs[::2], page.paragraphs[1::2]), strict=True):
        letters = [character for word in side.words for character in word.text if character.isalnum()]
        assert [character for character in "".join(paragraphs) if character.isalnum()] == letters


def test_page_of_ten_thousand_words_is_quick_and_small() -> None:
    text = " ".join(["The gate, I think, is open and the hens walk out."] * 1000)
    evaluation = scored(text, text.replace(",", "", 1000))
    begun = time.perf_counter()
    html = write_page(evaluation)
    assert time.perf_counter() - begun < 2
    assert len(html.encode()) < 3_000_000
