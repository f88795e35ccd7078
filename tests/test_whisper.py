from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpunct import formats, render
from interpunct.errors import InputError
from interpunct.formats.format import WriteOptions
from interpunct.formats.source import Source
from interpunct.formats.whisper import WHISPER, write
from interpunct.labels import parse_words, surface
from interpunct.transcript import Transcript, Word

SAMPLES = Path(__file__).parent / "samples"

tokens = st.sampled_from(["so", "Well,", "why?!", "Dr.", "U.S.", "e-mail", "4,754", "3.5", "yes.", '"quoted."', "it's"])
confidences = st.none() | st.floats(min_value=0, max_value=1)


@st.composite
def transcripts(draw: st.DrawFn) -> Transcript:
    clock, entries = 0.0, []
    for token in draw(st.lists(tokens, max_size=8)):
        start = clock + draw(st.floats(min_value=0, max_value=3))
        clock = start + draw(st.floats(min_value=0, max_value=3))
        timed = draw(st.booleans())
        speaker = draw(st.sampled_from([None, "A", "B"]))
        entries.append(Word(token, start if timed else None, clock if timed else None, draw(confidences), speaker))
    return Transcript(tuple(parse_words(entries)), "talk.json")


def read(document: Any) -> Transcript:
    text = document if isinstance(document, str) else json.dumps(document)
    (transcript,) = WHISPER.read(Source("talk.json", text.encode()))
    return transcript


def sample(name: str) -> Transcript:
    (transcript,) = WHISPER.read(Source.open(SAMPLES / name))
    return transcript


def timed(transcript: Transcript) -> list[tuple[str, float | None, float | None]]:
    return [(surface(word), word.start, word.end) for word in transcript.words]


def written(*given: Transcript) -> str:
    return "".join(map(str, write(given, WriteOptions())))


def test_whisper_reads_words_and_joins_what_continues_them() -> None:
    transcript = sample("whisper.json")
    assert timed(transcript) == [
        ("Good", 0.0, 0.34),
        ("morning,", 0.34, 0.78),
        ("everyone.", 0.86, 1.62),
        ("The", 2.04, 2.16),
        ("follow-up", 2.16, 2.72),
        ("costs", 2.72, 3.1),
        ("4,754", 3.1, 3.98),
        ("dollars.", 3.98, 4.4),
    ]
    assert transcript.words[4].confidence == 0.88
    assert transcript.source == "whisper.json"


def test_whisper_reads_faster_whispers_tuples_and_objects() -> None:
    transcript = sample("whisper_faster.json")
    assert timed(transcript) == [
        ("Turn", 0.0, 0.42), ("left", 0.42, 0.9), ("here.", 0.9, 1.9),
        ("Then", 2.5, 2.8), ("wait.", 2.8, 3.4),
    ]  # fmt: skip
    assert [word.confidence for word in transcript.words] == [0.87, 0.99, 0.94, 0.9, 0.96]


def test_whisper_reads_whisperx_once_and_leaves_missing_times_missing() -> None:
    transcript = sample("whisper_x.json")
    assert timed(transcript) == [
        ("We", 0.31, 0.45), ("sold", 0.5, 0.82), ("42", None, None), ("boats.", 1.7, 2.2),
        ("How", 2.6, 2.9), ("many?", 2.9, 3.4),
    ]  # fmt: skip
    assert [word.speaker for word in transcript.words] == ["SPEAKER_00"] * 4 + ["SPEAKER_01"] * 2
    assert transcript.words[1].confidence == 0.91


def test_whisper_joins_the_pieces_of_whisper_cpp() -> None:
    transcript = sample("whisper_cpp.json")
    assert timed(transcript) == [
        ("The", 0.05, 0.21),
        ("gardener", 0.21, 1.01),
        ("whistled.", 1.01, 2.12),  # the period has no duration
        ("Nobody", 2.3, None),
        ("heard", None, 3.7),
    ]
    assert [word.confidence for word in transcript.words] == [0.95, 0.71, 0.92, None, None]


def test_whisper_reads_whisper_cpp_with_a_word_a_segment() -> None:
    pieces = [
        ("", 0, 0),
        (" And", 0, 320),
        (" so", 320, 500),
        (",", 500, 510),
        (" my", 600, 800),
        (" fel", 800, 900),
        ("low", 900, 1100),
    ]
    document = {"transcription": [{"offsets": {"from": start, "to": end}, "text": text} for text, start, end in pieces]}
    assert timed(read(document)) == [
        ("And", 0.0, 0.32),
        ("so,", 0.32, 0.5),
        ("my", 0.6, 0.8),
        ("fellow", 0.8, 1.1),
    ]


def test_whisper_keeps_words_apart_where_none_begins_with_a_space() -> None:
    document = {"transcription": [{"offsets": {"from": 0, "to": 9}, "text": text} for text in ("and", "so", "-5")]}
    assert [word.text for word in read(document).words] == ["and", "so", "-5"]
    words = [{"word": "costs"}, {"word": "$5"}, {"word": "-ish"}]
    assert [word.text for word in read({"segments": [{"words": words}]}).words] == ["costs", "$5", "-ish"]


def test_whisper_joins_nothing_across_a_space_or_a_change_of_speaker() -> None:
    words = [{"word": " well "}, {"word": "-ish", "speaker": "A"}, {"word": "-ly", "speaker": "B"}]
    assert [word.text for word in read({"segments": [{"words": words}]}).words] == ["well", "-ish", "-ly"]
    spaced = [{"word": " well "}, {"word": "-ish"}]
    assert [word.text for word in read({"segments": [{"words": spaced}]}).words] == ["well", "-ish"]


def test_whisper_begins_a_word_with_each_whisper_cpp_segment_of_several_words() -> None:
    segments = [
        {"offsets": {"from": 0, "to": 1000}, "text": " well then"},
        {"offsets": {"from": 1000, "to": 2000}, "text": "[applause] thanks"},
    ]
    assert timed(read({"transcription": segments})) == [
        ("well", 0.0, None), ("then", None, 1.0), ("[applause]", 1.0, None), ("thanks", None, 2.0),
    ]  # fmt: skip


def test_whisper_gives_a_segment_without_words_only_its_own_times() -> None:
    segments = [
        {"start": 0.5, "end": 2, "text": " So it goes ."},
        {"start": 2.5, "end": 3.25, "text": " Yes."},
        {"start": 4, "end": 5, "text": "  "},
    ]
    assert timed(read({"text": "", "segments": segments})) == [
        ("So", 0.5, None), ("it", None, None), ("goes .", None, 2.0), ("Yes.", 2.5, 3.25),
    ]  # fmt: skip


def test_whisper_mixes_segments_with_and_without_words() -> None:
    segments = [
        {"start": 0, "end": 1, "text": " One", "words": [{"word": " One", "start": 0.1, "end": 0.9}]},
        {"start": 1, "end": 2, "text": " two three", "words": []},
    ]
    assert timed(read({"segments": segments})) == [
        ("One", 0.1, 0.9),
        ("two", 1.0, None),
        ("three", None, 2.0),
    ]


def test_whisper_reads_the_apis_words_rather_than_its_segments() -> None:
    document = {
        "task": "transcribe",
        "duration": 1.5,
        "text": "Well, yes.",
        "segments": [{"start": 0, "end": 1.5, "text": " Well, yes."}],
        "words": [{"word": "Well", "start": 0.25, "end": 0.5}, {"word": "yes", "start": 1, "end": 1.5}],
    }
    assert timed(read(document)) == [("Well,", 0.25, 0.5), ("yes.", 1.0, 1.5)]
    bare = document | {"text": "Well then, yes and no."}
    assert timed(read(bare))[0] == ("Well", 0.25, 0.5)


def test_whisper_reads_chunks_of_words_and_of_phrases() -> None:
    words = [{"text": " e", "timestamp": [0.0, 0.2]}, {"text": "-mail.", "timestamp": [0.2, None]}]
    assert timed(read({"text": "e-mail.", "chunks": words})) == [("e-mail.", 0.0, None)]
    phrases = [{"text": " Stay here.", "timestamp": [0.5, 1.5]}, {"text": " Please", "timestamp": [2, None]}]
    assert timed(read({"chunks": phrases})) == [
        ("Stay", 0.5, None),
        ("here.", None, 1.5),
        ("Please", 2.0, None),
    ]


@pytest.mark.parametrize("document", [{"text": ""}, {"segments": []}, [], {"text": " ", "segments": [], "words": []}])
def test_whisper_reads_silence(document: Any) -> None:
    assert len(read(document)) == 0


def test_whisper_reads_a_bare_text() -> None:
    assert [word.text for word in read({"text": " So far"}).words] == ["So", "far"]


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('{"segments": [\n {"words": [\n  {"word": " a", "start": 2, "end": 1}]}]}', 3, "before start"),
        ('{"segments": [\n {"words": [\n  [2, 1, " a", 0.5]]}]}', 3, "before start"),
        ('{"segments": [\n {"words": [\n  {"start": 2}]}]}', 3, "without a 'word'"),
        ('{"segments": [\n {"start": 3, "end": 2,\n "text": "a b"}]}', 2, "before start"),
        ('{"segments": [\n {"words": [\n  {"word": " a", "probability": "high"}]}]}', 3, "'high'"),
        ('{"transcription": [\n {"text": " a", "offsets": {"from": -1, "to": 2}}]}', 2, "not a time"),
        ('{"transcription": [\n {"text": " a", "offsets": [1, 2]}]}', 2, "'offsets' is a list"),
        ('{"chunks": [\n {"text": " a", "timestamp": ["x", 2]}]}', 2, "'x'"),
        ('{"language":\n "en"}', 1, "is this Whisper"),
    ],
)
def test_whisper_names_the_line_of_what_is_wrong(text: str, line: int, what: str) -> None:
    with pytest.raises(InputError, match=what) as caught:
        read(text)
    assert caught.value.line == line


def test_whisper_names_the_line_of_the_broken_sample() -> None:
    with pytest.raises(InputError, match="before start") as caught:
        list(WHISPER.read(Source.open(SAMPLES / "broken" / "whisper.json")))
    assert caught.value.line == 18


@settings(deadline=None)
@given(transcripts())
def test_whisper_written_and_read_again_is_the_same(transcript: Transcript) -> None:
    assert read(written(transcript)) == transcript


def test_whisper_written_has_a_segment_a_sentence() -> None:
    words = (
        Word("Yes", 0.0, 0.5, 0.9, mark="."),
        Word("I", 1.0, 1.1, 0.8, mark=""),
        Word("do", 1.1, 1.5, 0.7, mark="."),
    )
    document = json.loads(written(Transcript(words, model="some 1")))
    assert document["text"] == "Yes. I do."
    assert document["language"] == "en"
    assert "language" not in json.loads(written(Transcript(words)))  # nobody knows
    assert document["segments"][1] == {
        "id": 1, "start": 1.0, "end": 1.5, "text": " I do.",
        "words": [
            {"word": " I", "start": 1.0, "end": 1.1, "probability": 0.8},
            {"word": " do.", "start": 1.1, "end": 1.5, "probability": 0.7},
        ],
    }  # fmt: skip


def test_whisper_written_keeps_a_dash_with_its_word() -> None:
    transcript = read(written(Transcript((Word("wait", 0.0, 0.5, mark="—"), Word("no", 0.5, 0.9, mark=".")))))
    assert [(word.text, word.mark, word.end) for word in transcript.words] == [
        ("wait", "—", 0.5),
        ("no", ".", 0.9),
    ]


def test_whisper_written_several_are_read_as_several() -> None:
    text = written(Transcript((Word("one"),)), Transcript(()), Transcript((Word("three"),)))
    assert len(text.splitlines()) == 3
    found = list(WHISPER.read(Source("talk.json", text.encode())))
    assert [len(transcript) for transcript in found] == [1, 0, 1]
    assert written() == ""


@pytest.mark.parametrize(
    ("text", "said", "whole"),
    [
        ("Hello big world.", "Hello world.", "Hello big world."),
        ("So hello, world now", "hello, world", "So hello, world now"),
        ("Yes. Hello - world", "Hello - world", "Yes. Hello - world"),
        ("Hello world", "Hello word", "Hello word"),
        ("you can not go to the big house", "you cannot go to the house", "you cannot go to the big house"),
        ("it has 50 000 of them", "it has 50,000 of them", "it has 50,000 of them"),
        ("I am twenty five", "I am 25", "I am 25"),
        ("<|0.00|> Hello world <|1.00|> now", "Hello world", "Hello world now"),
        ("Something else altogether was said", "Hello world", "Hello world"),
        ("こんにちは世界です", "こんにちは 世界", "こんにちは 世界"),
        ("", "Hello world", "Hello world"),
    ],
)
def test_whisper_reads_what_the_text_has_and_the_words_have_not(text: str, said: str, whole: str) -> None:
    words = [{"word": f" {token}", "start": place, "end": place + 1} for place, token in enumerate(said.split())]
    transcript = read({"segments": [{"text": text, "start": 0, "end": 9, "words": words}]})
    assert render.text(transcript) == whole
    timed = [word.start for word in transcript.words if word.start is not None]
    assert timed == sorted(timed)
    assert len(timed) >= len([token for token in said.split() if token != "-"])


def test_whisper_reads_words_without_letters() -> None:
    assert not read({"segments": [{"text": "♪ ♪ yes", "words": [{"word": ""}]}]}).words


def test_whisper_is_known_behind_a_text_of_an_hour() -> None:
    words = [{"word": " so", "start": i / 2, "end": i / 2 + 0.5} for i in range(30_000)]
    document = {"text": " so" * len(words), "segments": [{"text": " so" * len(words), "words": words}]}
    source = Source("long.json", json.dumps(document).encode())
    (transcript,) = formats.read_source(source)
    assert len(transcript) == len(words)
    assert transcript.words[-1].end == 15_000


def test_whisper_leaves_rows_with_words_and_a_duration_to_jsonl() -> None:
    row = {"id": "call-7", "duration": 1.5, "words": [{"word": "so", "conf": 0.5}]}
    (transcript,) = formats.read_source(Source("rows.jsonl", json.dumps(row).encode()))
    assert (transcript.source, transcript.words[0].confidence) == ("call-7", 0.5)
