"""Packs as people write them: with marks and capitals, and read back from pieces."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpunct.cases import CASES
from interpunct.labels import MARKS, parse_text, split_token
from interpunct.models.pieces import Pieces
from interpunct.train.pack import UNKNOWN, Pack
from interpunct.transcript import Transcript
from written import read_back, written

TEXT = "One two iPhone, three. NATO's CEOs met Mr. McCrea — why? I said: wait; go!"


def packed(text: str = TEXT) -> Pack:
    return Pack.of([Transcript(parse_text(text))], sources=("talks:train",))


@pytest.fixture(scope="module")
def vocabulary() -> Pieces:
    # Single characters among them, so that any word of these letters can be written.
    return Pieces.learn([*TEXT.split(), *"abcdefgzABCDEFGZ.,?!:;—'"] * 3, size=200, longest=64)


def tags(pack: Pack) -> list[tuple[str, str, str]]:
    rows = zip(pack.texts(), pack.tags["mark"].tolist(), pack.tags["case"].tolist(), strict=True)
    return [(word, MARKS[mark], CASES[case]) for word, mark, case in rows]


def pieces(vocabulary: Pieces, text: str) -> list[int]:
    return [piece for token in text.split() for piece in vocabulary.ids(token)]


def test_words_are_written_with_their_marks_and_capitals() -> None:
    assert " ".join(written(packed()).texts()) == TEXT.replace("Mr.", "Mr")


def test_written_pack_keeps_documents_tags_and_sources() -> None:
    pack = Pack.of([Transcript(parse_text(text)) for text in ("One, two.", "Two one.")], sources=("talks:train",))
    found = written(pack)
    assert found.documents.tolist() == [0, 2]
    assert found.sources == ("talks:train",)
    assert found.tags["mark"].tolist() == pack.tags["mark"].tolist()
    assert list(found.texts()) == ["One,", "two.", "Two", "one."]


@pytest.mark.parametrize("task", ["mark", "case"])
def test_words_of_which_nobody_knows_how_they_are_written_are_left_out(task: str) -> None:
    pack = packed("One two. Three four.")
    row = pack.tags[task].copy()
    row[1] = UNKNOWN
    found = written(replace(pack, tags={**pack.tags, task: row}))
    assert list(found.texts()) == ["One", "Three", "four."]
    assert found.documents.tolist() == [0, 1]


def test_the_commonest_form_of_a_mixed_word_is_written() -> None:
    pack = packed("an iPhone an IPhone an iPhone")
    assert list(written(pack).texts()) == ["an", "iPhone"] * 3


def test_stories_are_read_back_without_their_last_word(vocabulary: Pieces) -> None:
    rows = [pieces(vocabulary, text) for text in ("One two, three. fo", "Six", "I wait — why? go")]
    pack = read_back(vocabulary, ("talks:train",), rows)
    assert tags(pack) == [
        ("one", "", "sentence"), ("two", ",", "lower"), ("three", ".", "lower"),
        ("i", "", "single"), ("wait", "—", "lower"), ("why", "?", "lower"),
    ]  # fmt: skip
    assert pack.documents.tolist() == [0, 3]
    assert pack.sources == ("talks:train",)


def test_a_dash_alone_gives_way_to_a_stronger_mark_and_opens_no_story(vocabulary: Pieces) -> None:
    rows = [pieces(vocabulary, text) for text in ("One. — two go", "— three go")]
    assert [mark for _, mark, _ in tags(read_back(vocabulary, (), rows))] == [".", "", ""]


def test_what_is_no_word_is_not_read(vocabulary: Pieces, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "written", lambda _rows: ["one \ufffdx ... two three"])
    assert [word for word, _, _ in tags(read_back(vocabulary, (), [[1]]))] == ["one", "two"]


def test_no_story_is_an_empty_pack(vocabulary: Pieces) -> None:
    assert len(read_back(vocabulary, (), [])) == 0


@given(
    st.lists(
        st.tuples(
            st.text("abcdefg", min_size=2, max_size=6).filter(lambda word: split_token(f"{word}.")[1] == "."),
            st.sampled_from(MARKS),
            st.sampled_from(("lower", "sentence")),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_what_is_written_is_read_back_as_it_was(vocabulary: Pieces, words: list[tuple[str, str, str]]) -> None:
    numbers = {word: place for place, word in enumerate(dict.fromkeys(word for word, _, _ in words))}
    row = np.array([numbers[word] for word, _, _ in words], dtype=np.uint32)
    found = {
        "mark": np.array([MARKS.index(mark) for _, mark, _ in words], dtype=np.uint8),
        "case": np.array([CASES.index(case) for _, _, case in words], dtype=np.uint8),
    }
    pack = Pack(tuple(numbers), row, found, np.zeros(1, dtype=np.int64), {})
    story = pieces(vocabulary, " ".join([*written(pack).texts(), "end"]))
    assert tags(read_back(vocabulary, (), [story])) == words
