from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpunct import formats
from interpunct.errors import InputError
from interpunct.formats.cloud.assemblyai import ASSEMBLYAI
from interpunct.formats.cloud.aws import AWS
from interpunct.formats.cloud.azure import AZURE
from interpunct.formats.cloud.deepgram import DEEPGRAM
from interpunct.formats.cloud.google import GOOGLE
from interpunct.formats.cloud.speechmatics import SPEECHMATICS
from interpunct.formats.cloud.watson import WATSON
from interpunct.formats.format import Format
from interpunct.formats.source import Source
from interpunct.labels import surface
from interpunct.transcript import Transcript

SAMPLES = Path(__file__).parent / "samples"
ALL = {chosen.name: chosen for chosen in (AWS, GOOGLE, DEEPGRAM, ASSEMBLYAI, AZURE, SPEECHMATICS, WATSON)}


def read(chosen: Format, document: Any) -> list[Transcript]:
    text = document if isinstance(document, str) else json.dumps(document)
    return list(chosen.read(Source("call.json", text.encode())))


def sample(name: str) -> list[Transcript]:
    return list(ALL[name].read(Source.open(SAMPLES / f"{name}.json")))


def spoken(transcript: Transcript) -> list[tuple[str, float | None, float | None, str | None]]:
    return [(surface(word), word.start, word.end, word.speaker) for word in transcript.words]


def test_aws_sample_has_marks_speakers_and_times() -> None:
    (transcript,) = sample("aws")
    assert spoken(transcript) == [
        ("Well,", 0.04, 0.31, "spk_0"),
        ("who", 0.5, 0.78, "spk_0"),
        ("paid?", 0.78, 1.3, "spk_0"),
        ("I", 1.61, 1.8, "spk_1"),
        ("did.", 1.8, 2.2, "spk_1"),
    ]
    assert [word.confidence for word in transcript.words] == [0.93, 0.99, 1.0, 0.88, 0.97]


def aws_item(content: str, *, kind: str = "pronunciation", **fields: str) -> dict[str, Any]:
    return {"type": kind, "alternatives": [{"content": content, "confidence": "0.5"}], **fields}


def test_aws_takes_the_speaker_of_the_item_itself() -> None:
    items = [aws_item("so", start_time="1", end_time="2", speaker_label="spk_7"), aws_item("far")]
    (transcript,) = read(AWS, {"results": {"items": items}})
    assert spoken(transcript) == [("so", 1.0, 2.0, "spk_7"), ("far", None, None, None)]


def test_aws_channels_are_documents() -> None:
    channels = [
        {"channel_label": "ch_0", "items": [aws_item("yes"), aws_item(".", kind="punctuation")]},
        {"channel_label": "ch_1", "items": [aws_item("no")]},
    ]
    document = {"results": {"channel_labels": {"channels": channels}, "items": [aws_item("yes"), aws_item("no")]}}
    first, second = read(AWS, document)
    assert (first.source, surface(first.words[0])) == ("call.json#ch_0", "yes.")
    assert (second.source, surface(second.words[0])) == ("call.json#ch_1", "no")


def test_aws_without_items_gives_the_text() -> None:
    (transcript,) = read(AWS, {"results": {"transcripts": [{"transcript": "So far."}], "items": []}})
    assert spoken(transcript) == [("So", None, None, None), ("far.", None, None, None)]


def test_google_sample_says_each_word_once_with_its_speaker() -> None:
    (transcript,) = sample("google")
    assert spoken(transcript) == [
        ("Lanterns", 0.0, 0.7, "1"),
        ("glow.", 0.7, 1.3, "1"),
        ("Do", 1.6, 1.8, "2"),
        ("they?", 1.8, 2.1, "2"),
    ]


def google(*results: list[dict[str, Any]]) -> dict[str, Any]:
    return {"results": [{"alternatives": [{"words": words}]} for words in results]}


def test_google_keeps_a_last_result_that_repeats_nothing() -> None:
    first = [{"word": "well", "speakerLabel": "1"}]
    last = [{"word": "so", "speakerLabel": "2"}, {"word": "well", "speakerLabel": "2"}]
    (transcript,) = read(GOOGLE, google(first, last))
    assert [(word.text, word.speaker) for word in transcript.words] == [
        ("well", "1"),
        ("so", "2"),
        ("well", "2"),
    ]


def test_google_keeps_a_repetition_that_no_speaker_labels_explain() -> None:
    (transcript,) = read(GOOGLE, google([{"word": "no"}], [{"word": "no"}]))
    assert len(transcript) == 2


def test_google_finds_the_repetition_of_results_that_have_only_text() -> None:
    document = google([], [{"word": "Do", "speakerTag": 1}, {"word": "stay.", "speakerTag": 1}])
    document["results"][0]["alternatives"][0]["transcript"] = "do stay."
    (transcript,) = read(GOOGLE, document)
    assert [surface(word) for word in transcript.words] == ["Do", "stay."]


@pytest.mark.parametrize(
    "word",
    [
        {"startTime": "1.300s", "endTime": "61.500s"},
        {"startTime": {"seconds": "1", "nanos": 300000000}, "endTime": {"seconds": 61, "nanos": 500000000}},
        {"start_time": {"seconds": 1, "nanos": 300000000}, "end_time": "61.5s"},
        {"startOffset": "1.3s", "endOffset": "61.500000000s"},
        {"start_offset": 1.3, "end_offset": "61.5"},
    ],
)
def test_google_knows_its_ways_of_writing_a_time(word: dict[str, Any]) -> None:
    (transcript,) = read(GOOGLE, google([word | {"word": "so", "speakerTag": 0}]))
    assert spoken(transcript) == [("so", 1.3, 61.5, None)]


def test_google_reads_a_finished_operation_and_its_channels() -> None:
    results = [
        {"channelTag": 1, "alternatives": [{"transcript": "yes", "words": [{"word": "yes"}]}]},
        {"channelTag": 2, "alternatives": [{"transcript": "no sir"}]},
        {"channelTag": 1, "alternatives": [{"transcript": " indeed", "words": [{"word": "indeed"}]}]},
        {"channelTag": 2},
    ]
    document = {"name": "42", "done": True, "response": {"results": results}}
    first, second = read(GOOGLE, document)
    assert (first.source, [word.text for word in first.words]) == ("call.json#1", ["yes", "indeed"])
    assert (second.source, [word.text for word in second.words]) == ("call.json#2", ["no", "sir"])
    assert GOOGLE.sniff(Source("call.json", json.dumps(document).encode()))


def test_deepgram_sample_has_a_document_a_channel() -> None:
    first, second = sample("deepgram")
    assert spoken(first) == [("Is", 0.08, 0.24, "0"), ("it", 0.24, 0.4, "0"), ("raining?", 0.4, 0.9, "0")]
    assert spoken(second) == [("Not", 1.2, 1.4, "1"), ("yet.", 1.4, 1.76, "1")]
    assert [first.source, second.source] == ["deepgram.json#1", "deepgram.json#2"]
    assert second.words[0].confidence == 0.95


def test_deepgram_of_one_channel_is_named_by_the_file() -> None:
    words = [{"word": "so", "start": 1, "end": 2}]
    (transcript,) = read(DEEPGRAM, {"results": {"channels": [{"alternatives": [{"words": words}]}]}})
    assert (transcript.source, spoken(transcript)) == ("call.json", [("so", 1.0, 2.0, None)])
    (text_only,) = read(DEEPGRAM, {"results": {"channels": [{"alternatives": [{"transcript": "so far"}]}]}})
    assert len(text_only) == 2


def test_assemblyai_sample_is_in_seconds() -> None:
    (transcript,) = sample("assemblyai")
    assert spoken(transcript) == [
        ("The", 0.25, 0.37, "A"),
        ("kiln", 0.37, 0.69, "A"),
        ("is", 0.69, 0.81, "A"),
        ("hot,", 0.81, 1.3, "A"),
        ("careful!", 1.41, 2.05, "B"),
    ]


def test_assemblyai_channels_are_documents() -> None:
    words = [
        {"text": "yes", "channel": "1"},
        {"text": "no", "channel": "2"},
        {"text": "maybe", "channel": "1"},
    ]
    first, second = read(ASSEMBLYAI, {"words": words})
    assert [word.text for word in first.words] == ["yes", "maybe"]
    assert second.source == "call.json#2"


def test_assemblyai_without_words_gives_the_text_or_the_reason() -> None:
    (transcript,) = read(ASSEMBLYAI, {"audio_url": "u", "text": "So far."})
    assert len(transcript) == 2
    with pytest.raises(InputError, match="no audio stream"):
        read(ASSEMBLYAI, {"status": "error", "error": "no audio stream", "words": None, "text": None})


def test_azure_sample_takes_displayed_words_first() -> None:
    (transcript,) = sample("azure")
    assert spoken(transcript) == [
        ("The", 0.1, 0.3, "1"),
        ("ferry", 0.3, 0.75, "1"),
        ("is", 0.75, 0.9, "1"),
        ("late.", 0.9, 1.6, "1"),
        ("again", 63.2, 63.9, "2"),
    ]
    assert transcript.words[4].confidence == 0.88


def test_azure_reads_the_answer_to_short_audio() -> None:
    words = [
        {"Word": "so", "Offset": 1000000, "Duration": 2000000, "Confidence": 0.75},
        {"Word": "far", "Offset": 3000000, "Duration": 7000000},
    ]
    answer = {
        "RecognitionStatus": "Success",
        "DisplayText": "So far.",
        "NBest": [{"Display": "So far.", "Words": words}],
    }
    (transcript,) = read(AZURE, answer)
    assert spoken(transcript) == [("so", 0.1, 0.3, None), ("far", 0.3, 1.0, None)]
    assert transcript.words[0].confidence == 0.75


def test_azure_reads_an_answer_without_words() -> None:
    (transcript,) = read(AZURE, {"DisplayText": "So far.", "Offset": 1000000, "Duration": 2000000})
    assert spoken(transcript) == [("So", 0.1, None, None), ("far.", None, 0.3, None)]


def test_azure_reads_fast_transcription_and_its_channels() -> None:
    phrases = [
        {
            "channel": 0,
            "speaker": 1,
            "text": "So.",
            "words": [{"text": "So.", "offsetMilliseconds": 100, "durationMilliseconds": 200}],
        },
        {"channel": 1, "offsetMilliseconds": 700, "durationMilliseconds": 100, "text": "Far."},
    ]
    document = {"durationMilliseconds": 900, "combinedPhrases": [], "phrases": phrases}
    first, second = read(AZURE, document)
    assert spoken(first) == [("So.", 0.1, 0.3, "1")]
    assert (second.source, spoken(second)) == ("call.json#1", [("Far.", 0.7, 0.8, None)])
    assert AZURE.sniff(Source("call.json", json.dumps(document).encode()))


@pytest.mark.parametrize(
    ("offset", "duration", "start", "end"),
    [
        ("PT0.1S", "PT0.2S", 0.1, 0.3),
        ("PT1H2M3.5S", "PT0S", 3723.5, 3723.5),
        ("PT2M", "PT1.1S", 120.0, 121.1),
    ],
)
def test_azure_knows_iso_durations(offset: str, duration: str, start: float, end: float) -> None:
    words = [{"word": "so", "offset": offset, "duration": duration}]
    (transcript,) = read(AZURE, {"recognizedPhrases": [{"nBest": [{"words": words}]}]})
    assert spoken(transcript) == [("so", start, end, None)]


@given(st.integers(min_value=0, max_value=10**13), st.integers(min_value=0, max_value=10**9))
def test_azure_ticks_are_added_before_they_are_rounded(offset: int, duration: int) -> None:
    words = [{"word": "so", "offsetInTicks": offset, "durationInTicks": duration}]
    (transcript,) = read(AZURE, {"recognizedPhrases": [{"nBest": [{"words": words}]}]})
    assert (transcript.words[0].start, transcript.words[0].end) == (
        offset / 10**7,
        (offset + duration) / 10**7,
    )


@pytest.mark.parametrize(
    ("name", "line", "what"),
    [
        ("aws", 33, "'end_time' is 'soon'"),
        ("google", 9, "end -0.7 is not a time"),
        ("deepgram", 12, "end 0.4 is before start 4.24"),
        ("assemblyai", 12, "end 0.68 is before start 0.69"),
        ("azure", 27, "ends too soon"),
        ("speechmatics", 8, "end 0.48 is before start 0.5"),
        ("watson", 10, "'end' is 'late'"),
    ],
)
def test_cloud_formats_name_the_line_of_their_broken_samples(name: str, line: int, what: str) -> None:
    with pytest.raises(InputError, match=what) as caught:
        list(ALL[name].read(Source.open(SAMPLES / "broken" / f"{name}.json")))
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("name", "text", "line", "what"),
    [
        ("aws", '{"results":\n 3}', 1, "'results' is a number"),
        ("aws", '{"results": {"items": [\n {"type": "pronunciation"}]}}', 2, "without 'content'"),
        (
            "google",
            '{"results": [\n {"alternatives": [\n {"words": [\n {"word": "a", "startTime": "x"}]}]}]}',
            4,
            "'x'",
        ),
        ("google", '{"result": []}', 1, "is this Google"),
        ("deepgram", '{"results": {"channels": [\n 3]}}', 1, "an item of 'channels' is a number"),
        ("assemblyai", '{"words": [\n {"start": 1}]}', 2, "without 'text'"),
        (
            "azure",
            '{"recognizedPhrases": [\n {"nBest": [\n {"words": [\n {"word": "a", "offset": "1s"}]}]}]}',
            4,
            "PT1.2S",
        ),
        ("azure", '{"phrase": 1}', 1, "is this Azure"),
    ],
)
def test_cloud_formats_name_the_line_of_what_is_wrong(name: str, text: str, line: int, what: str) -> None:
    with pytest.raises(InputError, match=what) as caught:
        read(ALL[name], text)
    assert caught.value.line == line


@pytest.mark.parametrize("name", ALL)
def test_cloud_formats_are_read_only(name: str) -> None:
    assert ALL[name].write is None


def test_google_keeps_a_result_that_begins_with_the_word_of_the_one_before() -> None:
    first = [{"word": "no", "startTime": "1s", "speakerTag": 1}]
    last = [{"word": "no", "startTime": "5s", "speakerTag": 2}, {"word": "thanks", "startTime": "6s", "speakerTag": 2}]
    (transcript,) = read(GOOGLE, google(first, last))
    assert [word.start for word in transcript.words] == [1.0, 5.0, 6.0]


def test_speechmatics_sample_has_marks_speakers_and_times() -> None:
    (transcript,) = sample("speechmatics")
    assert spoken(transcript) == [
        ("Well,", 0.04, 0.31, "S1"),
        ("who", 0.5, 0.78, "S1"),
        ("paid?", 0.78, 1.3, "S1"),
        ("I", 1.61, 1.8, None),
        ("did.", 1.8, 2.2, None),
    ]
    assert transcript.words[0].confidence == 0.93


def test_speechmatics_channels_are_documents_and_opening_marks_belong_to_what_follows() -> None:
    def result(content: str, channel: str, **fields: str) -> dict[str, Any]:
        return {"type": "word", "channel": channel, "alternatives": [{"content": content}]} | fields

    results = [
        result("so", "left"),
        result("«", "right", type="punctuation", attaches_to="next"),
        result("yes", "right"),
    ]
    left, right = read(SPEECHMATICS, {"results": results})
    assert [left.source[-5:], right.source[-6:]] == ["#left", "#right"]
    assert [word.text for word in right.words] == ["«yes"]


def test_watson_sample_has_times_confidences_and_speakers_and_leaves_out_what_was_not_final() -> None:
    (transcript,) = sample("watson")
    assert spoken(transcript) == [
        ("several", 1.0, 1.52, "0"),
        ("storms", 1.52, 2.2, "0"),
        ("%HESITATION", 2.6, 2.9, "1"),
        ("where", 2.9, 3.3, "1"),
    ]
    assert [word.confidence for word in transcript.words] == [0.98, 0.91, 0.5, 0.77]


@pytest.mark.parametrize(
    "best",
    [
        {"transcript": "hello there ", "timestamps": [["hello", 0.1, 0.5], ["there", 0.5, 0.9]]},
        {"transcript": "hello "},
    ],
)
def test_watsons_alternatives_are_not_taken_for_googles(best: dict[str, Any]) -> None:
    source = Source("x.json", json.dumps({"result_index": 0, "results": [{"alternatives": [best]}]}).encode())
    assert formats.sniff(source).name == "watson"
    (transcript,) = formats.read_source(source)
    assert [word.text for word in transcript.words] == best["transcript"].split()


def test_watson_leaves_confidences_that_are_not_one_a_word() -> None:
    best = {"timestamps": [["so", 0.1, 0.2], ["far", 0.2, 0.4]], "word_confidence": [["so", 0.9]]}
    (transcript,) = read(WATSON, {"results": [{"alternatives": [best]}]})
    assert [word.confidence for word in transcript.words] == [None, None]


def test_google_says_what_an_alternative_lacks() -> None:
    with pytest.raises(InputError, match="neither 'words' nor 'transcript'"):
        read(GOOGLE, {"results": [{"alternatives": [{"content": "hello"}]}]})


def test_assemblyai_is_known_by_what_was_kept_of_it() -> None:
    words = [{"text": "hi", "start": 0, "end": 300}, {"text": "there", "start": 300, "end": 500}]
    source = Source(
        "x.json", json.dumps({"id": "x", "status": "completed", "text": "hi there", "words": words}).encode()
    )
    (transcript,) = formats.read_source(source)
    assert spoken(transcript) == [("hi", 0.0, 0.3, None), ("there", 0.3, 0.5, None)]


def test_milliseconds_of_nobody_are_refused() -> None:
    words = [{"text": "hi", "start": 0, "end": 300}, {"text": "there", "start": 300, "end": 500}]
    with pytest.raises(InputError, match=r"words of 250 s; milliseconds\?.*--from assemblyai"):
        list(formats.read_source(Source("x.json", json.dumps({"text": "hi there", "words": words}).encode())))


def test_watson_reads_the_answers_of_a_job() -> None:
    best = {"transcript": "so far ", "timestamps": [["so", 0.1, 0.5], ["far", 0.5, 0.9]]}
    answer = {"result_index": 0, "results": [{"final": True, "alternatives": [best]}]}
    source = Source("x.json", json.dumps({"id": "y", "status": "completed", "results": [answer, answer]}).encode())
    assert formats.sniff(source).name == "watson"
    (transcript,) = formats.read_source(source)
    assert [word.text for word in transcript.words] == ["so", "far", "so", "far"]


@pytest.mark.parametrize(
    ("document", "name"), [({"results": [], "result_index": 0}, "watson"), ({"results": []}, "google")]
)
def test_a_recording_in_which_nobody_speaks_has_no_words(document: dict[str, Any], name: str) -> None:
    source = Source("x.json", json.dumps(document).encode())
    assert formats.sniff(source).name == name
    (transcript,) = formats.read_source(source)
    assert transcript.words == ()


@pytest.mark.parametrize("asked", sorted(ALL))
def test_cloud_formats_never_make_nothing_of_anothers_answer(asked: str) -> None:
    for name in sorted(ALL.keys() - {asked}):
        try:
            read_words = [
                word
                for transcript in ALL[asked].read(Source.open(SAMPLES / f"{name}.json"))
                for word in transcript.words
            ]
        except InputError:
            continue
        assert read_words, name
