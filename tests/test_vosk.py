from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interpunct.errors import InputError
from interpunct.formats.format import WriteOptions
from interpunct.formats.source import Source
from interpunct.formats.vosk import VOSK, write
from interpunct.transcript import Transcript, Word

SAMPLES = Path(__file__).parent / "samples"


def read(text: str) -> Transcript:
    (transcript,) = VOSK.read(Source("talk.json", text.encode()))
    return transcript


def fields(transcript: Transcript) -> list[tuple[str, float | None, float | None, float | None]]:
    return [(word.text, word.start, word.end, word.confidence) for word in transcript.words]


def test_vosk_reads_one_result() -> None:
    (transcript,) = VOSK.read(Source.open(SAMPLES / "vosk.json"))
    assert fields(transcript) == [
        ("zero", 0.12, 0.69, 1.0),
        ("boats", 0.69, 1.11, 0.874512),
        ("left", 1.11, 1.53, 0.993),
    ]
    assert transcript.source == "vosk.json"


def test_vosk_reads_a_stream_as_one_document() -> None:
    (transcript,) = VOSK.read(Source.open(SAMPLES / "vosk_stream.json"))
    assert fields(transcript) == [
        ("the", 0.3, 0.45, 0.98),
        ("tide", 0.45, 0.9, 0.91),
        ("turned", 0.9, 1.35, 0.95),
        ("at", 3.0, 3.3, None),
        ("noon", 3.3, 3.9, None),
    ]
    assert transcript.source == "vosk_stream.json"


@pytest.mark.parametrize("join", ["", "\n", "\n\n  "])
def test_vosk_reads_results_on_end(join: str) -> None:
    results = [{"result": [{"word": "one", "start": 1, "end": 2}], "text": "one"}, {"text": "two three"}]
    transcript = read(join.join(json.dumps(result, indent=2) for result in results))
    assert fields(transcript) == [
        ("one", 1.0, 2.0, None),
        ("two", None, None, None),
        ("three", None, None, None),
    ]


def test_vosk_reads_a_list_of_results() -> None:
    text = '[{"partial": "o"}, {"result": [{"word": "one"}], "text": "one"}, {"text": ""}]'
    assert [word.text for word in read(text).words] == ["one"]
    assert VOSK.sniff(Source("talk.json", text.encode()))


@pytest.mark.parametrize("text", ['{"text": ""}', '{"partial": "so"}', '{"alternatives": []}', "[]"])
def test_vosk_reads_silence(text: str) -> None:
    assert len(read(text)) == 0


def test_vosk_is_known_by_its_layout_where_it_has_no_words() -> None:
    assert VOSK.sniff(Source("talk.json", b'{\n  "text" : "so far"\n}\n'))
    assert not VOSK.sniff(Source("talk.jsonl", b'{"text": "so far"}\n'))


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('{"text": ""}\n{"result": [\n {"word": "a", "start": 2, "end": 1}]}', 3, "before start"),
        ('{"text": ""}\n{"result": [\n {"start": 2}]}', 3, "without a 'word'"),
        ('{"text": ""}\n{"speech": "a"}', 2, "is this Vosk"),
        ('{"text": ""}\n"a"', 2, "a result is text"),
        ('{"text": ""}\n{"text": 3}', 2, "'text' is a number"),
        ('[{"text": ""},\n{"alternatives": [\n{"result": 1}]}]', 3, "'result' is a number"),
    ],
)
def test_vosk_names_the_line_of_what_is_wrong(text: str, line: int, what: str) -> None:
    with pytest.raises(InputError, match=what) as caught:
        read(text)
    assert caught.value.line == line


def test_vosk_names_the_line_of_the_broken_sample() -> None:
    with pytest.raises(InputError, match=r"'boats': end 0\.61 is before start 0\.69") as caught:
        list(VOSK.read(Source.open(SAMPLES / "broken" / "vosk.json")))
    assert caught.value.line == 7  # where the word's object begins


def test_vosk_written_and_read_again_is_the_same() -> None:
    transcript = Transcript(
        (
            Word("Well", 0.1, 0.3, 0.5, "A", "Well,", ",", "sentence"),
            Word("yes", None, None, None, None, "yes.", ".", "lower"),
        ),
        "talk.json",
    )
    text = "".join(map(str, write([transcript], WriteOptions())))
    document: dict[str, Any] = json.loads(text)
    assert document["text"] == "Well, yes."
    assert document["result"][1] == {"word": "yes."}
    assert read(text) == transcript
    assert VOSK.sniff(Source("talk.json", text.encode()))


def test_vosk_refuses_to_write_several_documents_into_one() -> None:
    with pytest.raises(InputError, match="several"):
        list(write([Transcript(()), Transcript(())], WriteOptions()))
