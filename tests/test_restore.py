from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import interpunct
from conftest import timed
from interpunct import DecodeOptions, Restorer, Transcript, Word, corpora, formats
from interpunct.errors import InputError, ModelError, UnknownNameError
from interpunct.features import Features
from interpunct.formats import WriteOptions
from interpunct.models import Scores

LONG = "and then we went to the station because the train was late but nobody knew why it was so "


def times(words: tuple[Word, ...]) -> list[tuple[float | None, float | None, float | None, str | None]]:
    return [(word.start, word.end, word.confidence, word.speaker) for word in words]


def test_restorer_puts_marks_capitals_and_sentences_back(restorer: Restorer) -> None:
    result = restorer.restore("so how are you i am fine thanks")
    assert result.text.startswith("So how are you? I am fine")
    assert result.text.endswith(".")
    assert result.sentences[0].text == "So how are you?"
    assert result.words[0].raw == "so"
    assert result.words[3].mark == "?"
    assert 0 < (result.words[3].mark_confidence or 0) <= 1
    assert result.model.startswith("default ")


tokens = st.one_of(
    st.sampled_from("so how U.S. 4,754 e-mail i.e. — ? \" (yes) слово ♪ n't it's".split()),
    st.text(st.characters(exclude_categories=["Cs", "Z", "C"]), min_size=1, max_size=8),
)
moments = st.one_of(st.none(), st.floats(0, 1e6))


@st.composite
def words(draw: st.DrawFn) -> Word:
    start, end = draw(moments), draw(moments)
    if start is not None and end is not None:
        start, end = min(start, end), max(start, end)
    confidence = draw(st.one_of(st.none(), st.floats(0, 1)))
    return Word(draw(tokens), start, end, confidence, draw(st.sampled_from([None, "A"])))


@settings(max_examples=60, deadline=None)
@given(given_words=st.lists(words(), max_size=30), existing=st.sampled_from(["redo", "keep", "fill"]))
def test_restorer_keeps_every_word_and_time(restorer: Restorer, given_words: list[Word], existing: str) -> None:
    options = DecodeOptions(existing=existing)  # type: ignore[arg-type]
    result = restorer.restore(given_words, options)
    assert [word.token for word in result.words] == [word.token for word in given_words]
    assert times(result.words) == times(tuple(given_words))
    for before, after in zip(given_words, result.words, strict=True):
        kept = [c for c in after.text.lower() if c.isalnum()]
        assert kept == [c for c in before.text.lower() if c.isalnum()]


@settings(max_examples=60, deadline=None)
@given(text=st.lists(tokens, max_size=30).map(" ".join), existing=st.sampled_from(["redo", "keep", "fill"]))
def test_restorer_run_twice_changes_nothing(restorer: Restorer, text: str, existing: str) -> None:
    options = DecodeOptions(existing=existing)  # type: ignore[arg-type]
    once = restorer.restore(text, options).text
    assert restorer.restore(once, options).text == once


@pytest.mark.parametrize("name", ["json", "ctm", "whisper", "vosk", "rttm", "textgrid", "jsonl", "parquet"])
def test_restorer_keeps_words_and_times_through_every_timed_format(restorer: Restorer, name: str) -> None:
    given = timed(LONG * 20 + "don't stop stop it's 4,754 or 3.5 e-mails in the u.s. today", step=0.137)
    form = formats.named(name)
    result = restorer.restore(given)
    data = b"".join(formats.written([result], form, WriteOptions()))
    (again,) = formats.read_source(formats.Source("again", data), form)
    assert [(w.start, w.end) for w in again.words] == [(w.start, w.end) for w in given.words]
    assert [w.text.lower() for w in again.words] == [w.text.lower() for w in given.words]
    assert [w.mark for w in again.words] == [w.mark for w in result.words]


def test_restorer_gives_a_repeated_word_its_own_mark(restorer: Restorer) -> None:
    result = restorer.restore("stop do not stop")
    assert len(result.words) == 4
    assert result.words[-1].mark in (".", "!")


def test_restorer_reads_split_clitics_as_joined_words(restorer: Restorer) -> None:
    joined = restorer.restore("you're right aren't you i don't know")
    split = restorer.restore([Word(t) for t in "you 're right are n't you i do n't know".split()])
    marks = [word.mark for word in split.words]
    assert len(marks) == 10
    assert marks[0] == marks[3] == marks[7] == ""
    assert [m for i, m in enumerate(marks) if i not in (0, 3, 7)] == [word.mark for word in joined.words]


def test_restorer_does_not_depend_on_company(restorer: Restorer) -> None:
    documents = ["", "yes", LONG * 30, "so how are you", "", LONG]
    together = [result.text for result in restorer.restore_all(documents)]
    assert together == [restorer.restore(document).text for document in documents]


def test_restorer_takes_documents_one_after_another(restorer: Restorer) -> None:
    """Results come while later documents have not been asked for: memory does not grow with their number."""
    asked = 0

    def documents() -> object:
        nonlocal asked
        for _ in range(5000):
            asked += 1
            yield "so how are you"

    results = restorer.restore_all(documents())  # type: ignore[arg-type]
    assert next(results).text
    assert asked < 1000


@pytest.mark.parametrize("count", [1, 5, 200])
def test_restorer_hands_out_the_documents_before_an_error(restorer: Restorer, count: int) -> None:
    def documents() -> Iterator[str]:
        yield from ["so how are you"] * count
        raise OSError("the disk is gone")

    results = restorer.restore_all(documents())
    assert [result.text for result in islice(results, count)] == [restorer.restore("so how are you").text] * count
    with pytest.raises(OSError, match="the disk is gone"):
        next(results)


def test_restorer_hands_out_no_document_that_was_read_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    restorer = interpunct.load("fast")
    model = restorer.model
    calls = 0

    def forward(windows: Sequence[Features]) -> list[Scores]:
        nonlocal calls
        calls += 1
        if calls == 9:  # of the second group of windows
            raise ModelError("out of paper")
        return type(model).forward(model, windows)  # type: ignore[attr-defined,no-any-return]

    monkeypatch.setattr(model, "forward", forward)
    results = restorer.restore_all(["so how are you", LONG * 6000])
    assert next(results).text == "So how are you?"
    with pytest.raises(ModelError, match="out of paper"):
        next(results)


def test_restorer_leaves_no_scar_at_window_joins(restorer: Restorer) -> None:
    """A text restored behind another one differs near the join only: windows cut elsewhere decide the same."""
    text = LONG * 40
    alone = restorer.restore(text).words
    shifted = restorer.restore("well " * 37 + text).words[37:]
    differing = sum(a.mark != b.mark for a, b in zip(alone[100:], shifted[100:], strict=True))
    assert differing <= 0.02 * len(alone)


@pytest.mark.parametrize(("existing", "right"), [("redo", "And so it goes."), ("keep", "... And so it goes."),
                                                 ("fill", "... And so it goes.")])  # fmt: skip
def test_restorer_leaves_a_mark_at_the_beginning_where_what_exists_stays(
    restorer: Restorer, existing: str, right: str
) -> None:
    options = DecodeOptions(existing=existing)  # type: ignore[arg-type]
    assert restorer.restore("... and so it goes", options).text == right


def test_restorer_refuses_what_is_no_document(restorer: Restorer) -> None:
    for wrong in (None, 5, [5]):
        with pytest.raises(InputError, match="give a Transcript, words or a string"):
            restorer.restore(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="several documents"):
        restorer.restore_all("so how are you")


ODD = ["", "   \n\t ", "one", "I", "x" * 100_000, "a\x07b\x1b[0m c", "\u200b \u202e", "x\ud800y", "♪ ♪", "... ."]


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_restorer_takes_odd_texts(restorer: Restorer, text: str) -> None:
    result = restorer.restore(text)
    assert " ".join(word.token for word in result.words) == " ".join(text.split())


def test_restorer_respects_switches(restorer: Restorer) -> None:
    text = "so how are you i am fine thanks"
    assert restorer.restore(text, DecodeOptions(marks=False)).text.lower() == text
    assert restorer.restore(text, DecodeOptions(case=False)).text.islower()
    rare = restorer.restore(text, DecodeOptions(thresholds={"?": 1.0}, close=False))
    assert "?" not in rare.text


def test_restorer_takes_capitals_as_no_information(restorer: Restorer) -> None:
    text = "so how are you i am fine thanks"
    assert restorer.restore(text.upper()).text == restorer.restore(text).text


def test_restored_is_a_transcript_that_can_be_written(restorer: Restorer, tmp_path: object) -> None:
    result = restorer.restore(timed("so how are you i am fine"))
    assert isinstance(result, Transcript)
    path = tmp_path / "talk.srt"  # type: ignore[operator]
    interpunct.write(result, path)
    assert "So how are you?" in path.read_text()
    assert [w.text for w in interpunct.read(path).words] == [w.text for w in result.words]


def test_load_says_which_models_there_are() -> None:
    with pytest.raises(UnknownNameError, match="known: default"):
        interpunct.load("defualt")
    with pytest.raises(ModelError, match="no such folder"):
        interpunct.load("some/where")


@pytest.mark.parametrize("track", corpora.named("earnings21").tracks)
def test_restorer_keeps_all_words_and_times_of_a_real_recogniser(restorer: Restorer, data: object, track: str) -> None:
    """The first three calls here; `benchmarks/identity.py` runs all of them."""
    calls = corpora.read("earnings21", "test", root=str(data), track=track)
    for call, _ in zip(calls, range(3), strict=False):
        part = dataclasses.replace(call, words=call.words[:1500])
        result = restorer.restore(part)
        assert times(result.words) == times(part.words)
        assert [w.text.lower() for w in result.words] == [w.text.lower() for w in part.words]


def test_restorer_takes_words_as_whisper_gives_them(restorer: Restorer) -> None:
    spaced = [" so", " how ,", " are\n", " you"]
    bare = restorer.restore(["so", "how,", "are", "you"])
    assert restorer.restore(spaced).text == bare.text
    given = [Word(text, index, index + 1) for index, text in enumerate(spaced)]
    assert [(word.text, word.start) for word in restorer.restore(given).words] == [
        (word.text, index) for index, word in enumerate(bare.words)
    ]


def test_restorer_redo_forgets_the_mark_of_a_word_of_nothing(restorer: Restorer) -> None:
    words = [Word("so", mark="", case="lower"), Word("", mark=",", case="lower"), Word("far", mark="", case="lower")]
    assert restorer.restore(words).words[1].mark == ""


def test_restorer_knows_capitals_with_a_number_among_them(restorer: Restorer) -> None:
    keep = DecodeOptions(existing="keep")
    assert "I HAVE" not in restorer.restore("HELLO THERE I HAVE 42 DOGS AND A CAT", options=keep).text


@pytest.mark.parametrize("threads", ["a", -3, 0, 2.5])
def test_load_refuses_a_number_of_threads_that_is_none(threads: Any) -> None:
    with pytest.raises(InputError, match="threads"):
        interpunct.load("default", threads=threads)


def test_load_and_restore_refuse_what_is_neither_text_nor_words(restorer: interpunct.Restorer) -> None:
    nothing: Any = None
    row: Any = {"text": "hello world"}
    with pytest.raises(InputError, match="neither a name nor a folder"):
        interpunct.load(nothing)
    with pytest.raises(InputError, match="is no document"):
        restorer.restore(row)
