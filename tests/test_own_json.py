from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpunct.cases import CASES
from interpunct.errors import InputError
from interpunct.formats.format import Format, WriteOptions
from interpunct.formats.jsonl import JSONL
from interpunct.formats.own import JSON
from interpunct.formats.parquet import PARQUET
from interpunct.formats.source import Source
from interpunct.labels import MARKS
from interpunct.transcript import Transcript, Word

SAMPLES = Path(__file__).parent / "samples"

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
seconds = st.floats(min_value=0, max_value=1e6)
confidences = st.none() | st.floats(min_value=0, max_value=1)


@st.composite
def words(draw: st.DrawFn) -> Word:
    times = sorted(draw(st.lists(seconds, min_size=2, max_size=2)))
    text = draw(texts)
    raw = draw(st.none() | texts)
    return Word(
        text,
        start=draw(st.sampled_from([None, times[0]])),
        end=draw(st.sampled_from([None, times[1]])),
        confidence=draw(confidences),
        speaker=draw(st.none() | texts),
        raw=None if raw == text else raw,
        mark=draw(st.sampled_from([None, *MARKS])),
        case=draw(st.sampled_from([None, *CASES])),
        mark_confidence=draw(confidences),
        case_confidence=draw(confidences),
    )


transcripts = st.builds(Transcript, st.lists(words(), max_size=5).map(tuple), texts, texts)


def written(chosen: Format, *given: Transcript) -> bytes:
    assert chosen.write is not None
    pieces = chosen.write(given, WriteOptions())
    return b"".join(piece.encode() if isinstance(piece, str) else piece for piece in pieces)


def read(chosen: Format, data: bytes | str) -> list[Transcript]:
    return list(chosen.read(Source("talks/talk.json", data.encode() if isinstance(data, str) else data)))


@pytest.mark.parametrize("chosen", [JSON, JSONL, PARQUET], ids=["json", "jsonl", "parquet"])
@settings(max_examples=60, deadline=None)
@given(several=st.lists(transcripts, min_size=1, max_size=3))
def test_lossless_formats_give_back_every_transcript(chosen: Format, several: list[Transcript]) -> None:
    data = written(chosen, *several)
    assert read(chosen, data) == several
    assert chosen.sniff(Source("talk", data))


@pytest.mark.parametrize("chosen", [JSON, JSONL, PARQUET], ids=["json", "jsonl", "parquet"])
def test_lossless_formats_give_back_an_empty_transcript(chosen: Format) -> None:
    empty = Transcript((), "silence.wav", "default")
    assert read(chosen, written(chosen, empty)) == [empty]


def test_json_sample_is_written_as_it_was_read() -> None:
    sample = (SAMPLES / "json.json").read_bytes()
    assert written(JSON, *read(JSON, sample)) == sample


def test_json_has_the_promised_shape() -> None:
    transcript = Transcript(
        (
            Word("Hello", 0.12, 0.48, 0.97, "A", "hello", ",", "sentence", 0.91, 0.99),
            Word("you", 0.5, 0.7, None, "A", None, ".", "lower"),
        ),
        "talk.json",
        "default 1.0.0",
    )
    document = json.loads(written(JSON, transcript))
    assert list(document) == ["interpunct", "model", "source", "words", "sentences"]
    assert document["interpunct"] == 1
    assert document["words"][0] == {
        "text": "Hello", "raw": "hello", "start": 0.12, "end": 0.48, "confidence": 0.97, "speaker": "A",
        "mark": ",", "mark_confidence": 0.91, "case": "sentence", "case_confidence": 0.99,
    }  # fmt: skip
    assert document["words"][1]["raw"] == "you"
    assert document["sentences"] == [
        {"first": 0, "last": 1, "start": 0.12, "end": 0.7, "speaker": "A", "text": "Hello, you."}
    ]


def test_json_tells_no_mark_from_an_unknown_one() -> None:
    first, second = json.loads(written(JSON, Transcript((Word("a", mark=""), Word("b")))))["words"]
    assert first["mark"] == ""
    assert "mark" not in second
    assert "case" not in second


def test_json_of_one_transcript_has_a_word_a_line() -> None:
    lines = written(JSON, Transcript((Word("one"), Word("two")))).decode().splitlines()
    assert [line.strip().rstrip(",]") for line in lines[2:4]] == [
        '{"text": "one", "raw": "one"}',
        '{"text": "two", "raw": "two"}',
    ]


def test_json_of_several_transcripts_has_an_object_a_line() -> None:
    data = written(JSON, Transcript((Word("one"),), "a"), Transcript((), "b"), Transcript((Word("three"),), "c"))
    assert [json.loads(line)["source"] for line in data.decode().splitlines()] == ["a", "b", "c"]


def test_json_of_no_transcript_is_nothing() -> None:
    assert written(JSON) == b""


def test_json_takes_null_for_missing_and_ignores_unknown_keys() -> None:
    (transcript,) = read(
        JSON,
        '{"interpunct": 1, "colour": "red", "words": [{"text": "a", "start": null, "mark": null, "x": 1}]}',
    )
    assert transcript == Transcript((Word("a"),), "talk.json")


def test_json_names_documents_without_a_source_by_number() -> None:
    document = '{"interpunct": 1, "words": []}'
    assert [transcript.source for transcript in read(JSON, document * 2)] == ["talk.json#1", "talk.json#2"]


def test_json_makes_sentences_anew() -> None:
    data = '{"interpunct": 1, "words": [{"text": "a", "mark": "."}], "sentences": [{"first": 7}, "nonsense"]}'
    assert json.loads(written(JSON, *read(JSON, data)))["sentences"] == [{"first": 0, "last": 0, "text": "a."}]


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('{"interpunct": 2, "words": []}', 1, "version 2"),
        ('{"interpunct": "1", "words": []}', 1, "own JSON"),
        ('{"words": []}', 1, "own JSON"),
        ('{"interpunct": 1,\n "source": "a"}', 1, "no 'words'"),
        ('{"interpunct": 1,\n "words": {}}', 1, "'words' is an object"),
        ('{"interpunct": 1,\n "words": [\n  {"text": "a"},\n  "b"]}', 2, "an item of 'words' is text"),
        ('{"interpunct": 1,\n "words": [\n  {"text": "a"},\n  {"start": 1}]}', 4, "without 'text'"),
        ('{"interpunct": 1,\n "words": [\n  {"text": "a", "start": "soon"}]}', 3, "'start' is 'soon'"),
        ('{"interpunct": 1,\n "words": [\n  {"text": "a", "end": -1}]}', 3, "not a time"),
        ('{"interpunct": 1,\n "words": [\n  {"text": "a", "confidence": NaN}]}', 3, "not a number"),
        ('{"interpunct": 1,\n "words": [\n  {"text": "a", "mark": 3}]}', 3, "'mark' is a number"),
        ('{"interpunct": 1, "words": []}\n{"interpunct": 1, "words": [{}]}', 2, "without 'text'"),
        ("", 1, "empty"),
    ],
)
def test_json_names_the_line_of_what_is_wrong(text: str, line: int, what: str) -> None:
    with pytest.raises(InputError, match=what) as caught:
        read(JSON, text)
    assert caught.value.line == line


def test_json_names_the_line_of_the_broken_sample() -> None:
    with pytest.raises(InputError, match="before start") as caught:
        read(JSON, (SAMPLES / "broken" / "json.json").read_bytes())
    assert caught.value.line == 4


def test_json_refuses_to_write_an_infinite_confidence() -> None:
    with pytest.raises(InputError, match="confidence"):
        written(JSON, Transcript((Word("a", confidence=float("inf")),)))
