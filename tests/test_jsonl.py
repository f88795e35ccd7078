from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from interpunct.errors import InputError
from interpunct.formats.format import WriteOptions
from interpunct.formats.jsonl import JSONL, write
from interpunct.formats.source import Source
from interpunct.transcript import Transcript, Word

SAMPLES = Path(__file__).parent / "samples"


def read(text: str) -> list[Transcript]:
    return list(JSONL.read(Source("talks/talks.jsonl", text.encode())))


def test_jsonl_sample_gives_a_document_a_line() -> None:
    morning, second, third, evening, night = JSONL.read(Source.open(SAMPLES / "jsonl.jsonl"))
    assert (morning.source, len(morning)) == ("morning", 5)
    assert [(word.text, word.mark) for word in second.words] == [("Take", ""), ("two", ","), ("please", ".")]
    assert third.source == "jsonl.jsonl#3"
    assert third.words[0] == Word("only", 0.5, 0.9, 0.8, "B", mark="", case="lower")
    assert third.words[1] == Word("one", 1.0, 1.25, raw="one?", mark="?", case="lower")
    assert evening.words[1] == Word("now", 0.61, 0.9, 0.75, "3", mark="", case="lower")
    assert night == Transcript(
        (Word("Good", raw="good", mark="", case="sentence"), Word("night", mark=".", case="lower")),
        "night.wav",
        "fast 1.0.0",
    )


def test_jsonl_prefers_words_to_text() -> None:
    (transcript,) = read('{"text": "not me", "words": ["me"]}')
    assert [word.text for word in transcript.words] == ["me"]


def test_jsonl_of_one_row_is_named_by_the_file() -> None:
    assert [transcript.source for transcript in read('{"text": "a"}\n\n')] == ["talks.jsonl"]
    assert [transcript.source for transcript in read('{"text": "a"}\n{"text": "b"}')] == [
        "talks.jsonl#1",
        "talks.jsonl#2",
    ]


def test_jsonl_of_blank_lines_holds_nothing() -> None:
    assert read("\n  \n") == []


def test_jsonl_takes_rows_between_any_line_ends() -> None:
    assert len(read('{"text": "a"}\r\n{"text": "b"}\r{"text": "c"}\n')) == 3


def test_jsonl_reads_a_document_laid_out_over_lines() -> None:
    text = json.dumps({"words": [{"word": "so", "start": 1}, {"word": "far", "end": 2}]}, indent=2)
    (transcript,) = read(text)
    assert [(word.text, word.start, word.end) for word in transcript.words] == [
        ("so", 1.0, None),
        ("far", None, 2.0),
    ]
    assert len(read(f"{text}\n{text}\n")) == 2


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('{"text": "a"}\n\n{"text": "b"', 3, "ends too soon"),
        ('\n{"text": "a"\n{"text": "b"}', 2, "ends too soon"),
        ('{"text": "a"', 1, "ends too soon"),
        ('{"text": "a"}\n{"title": "b", "body": "c"}', 2, "body, title"),
        ('{"text": "a"}\n{"text": 3}', 2, "'text' is a number"),
        ('{"text": "a"}\n["b"]', 2, "a row is a list"),
        ('{"text": "a"}\n{"words": [["b", 2, 1]]}', 2, "before start"),
        ('{"text": "a"}\n{"words": [["b", "x"]]}', 2, "'start' is 'x'"),
        ('{"text": "a"}\n{"words": [{"start": 1}]}', 2, "without 'text' or 'word'"),
        ('{"text": "a"}\n{"words": [3]}', 2, "a word is a number"),
        ('{"text": "a"}\n{"words": "b"}', 2, "'words' is text"),
        ('{"text": "a"}\n{"interpunct": 9, "words": []}', 2, "version 9"),
        ('{\n "words": [\n  ["a", 0, 1],\n  ["b", 2, 1]\n]}', 4, "before start"),
    ],
)
def test_jsonl_names_the_line_of_what_is_wrong(text: str, line: int, what: str) -> None:
    with pytest.raises(InputError, match=what) as caught:
        read(text)
    assert caught.value.line == line


def test_jsonl_names_the_line_of_the_broken_sample() -> None:
    with pytest.raises(InputError, match="before start") as caught:
        list(JSONL.read(Source.open(SAMPLES / "broken" / "jsonl.jsonl")))
    assert caught.value.line == 4


def test_jsonl_claims_json_that_nobody_knows_and_says_what_it_lacks() -> None:
    source = Source("who.json", b'{\n "speech": "hello"\n}')
    assert JSONL.sniff(source)
    with pytest.raises(InputError, match="speech"):
        list(JSONL.read(source))


def test_jsonl_writes_our_json_with_its_text() -> None:
    transcript = Transcript((Word("Hello", mark=","), Word("you", mark="?")), "a.wav")
    (line,) = "".join(map(str, write([transcript], WriteOptions()))).splitlines()
    row = json.loads(line)
    assert (row["interpunct"], row["text"], row["source"], len(row["words"])) == (
        1,
        "Hello, you?",
        "a.wav",
        2,
    )


def test_jsonl_writes_each_line_before_it_asks_for_the_next_document() -> None:
    asked: list[int] = []

    def documents() -> Iterator[Transcript]:
        for number in range(3):
            asked.append(number)
            yield Transcript((Word("word"),), str(number))

    lines = write(documents(), WriteOptions())
    next(lines)
    assert asked == [0]
