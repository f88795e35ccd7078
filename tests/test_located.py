from __future__ import annotations

import copy
import json
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpunct import formats
from interpunct.errors import InputError
from interpunct.formats import located, word_entries
from interpunct.formats.json_keys import json_keys
from interpunct.formats.source import Source
from interpunct.transcript import Transcript, Word

SAMPLES = Path(__file__).parent / "samples"
FORMAT_OF_SAMPLE = {
    "json.json": "json",
    "jsonl.jsonl": "jsonl",
    "whisper.json": "whisper",
    "whisper_faster.json": "whisper",
    "whisper_x.json": "whisper",
    "whisper_cpp.json": "whisper",
    "vosk.json": "vosk",
    "vosk_stream.json": "vosk",
    "aws.json": "aws",
    "google.json": "google",
    "deepgram.json": "deepgram",
    "assemblyai.json": "assemblyai",
    "azure.json": "azure",
    "speechmatics.json": "speechmatics",
    "watson.json": "watson",
}
NAMES = sorted(set(FORMAT_OF_SAMPLE.values()))
PROSE = [
    "so how are you i am fine thanks",
    '[Music] and then she said: "look at that"',
    '"text": she said, and wrote it down',
    "{smiling} well, that is that",
    '{"well" she said: "that": is that}',
    '[ [laughter] so "text": it goes',
    "",
    "[",
    "{}",
]

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["1.5", "abc", "-1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def source(text: str, name: str = "talk.json") -> Source:
    return Source(name, text.encode())


def documents(sample: str) -> list[Any]:
    decoder, text, found, begin = json.JSONDecoder(), (SAMPLES / sample).read_text(), [], 0
    while begin < len(text):
        value, begin = decoder.raw_decode(text, begin)
        found.append(value)
        begin += len(text[begin:]) - len(text[begin:].lstrip())
    return found


def read_or_refuse(name: str, text: str) -> list[Transcript] | None:
    """Read; an InputError with a line gives None, any other exception fails the test."""
    try:
        return list(formats.named(name).read(source(text)))
    except InputError as error:
        line = error.line
    assert line is not None
    assert 1 <= line <= text.count("\n") + 1
    return None


def paths(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [here]
    if isinstance(value, dict):
        for key, inner in value.items():
            found += paths(inner, (*here, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found += paths(inner, (*here, index))
    return found


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    changed = copy.deepcopy(value)
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = new
    return changed


def test_parse_gives_the_value() -> None:
    assert located.parse(' {"a": [1, 2.5, "x", null, true]}\n') == {"a": [1, 2.5, "x", None, True]}


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('{"words": [\n  {"text": "so"},\n  {"text": "f', 3, "ends too soon"),
        ('{"words": [\n  {"text": "so"},\n', 3, "ends too soon"),
        ('{"words": [\n  {"text": "so"}\n', 3, "ends too soon"),
        ('{"words": [\n  {"text": tr', 2, "ends too soon"),
        ('{"words": [\n  {"text": "\\u00', 2, "ends too soon"),
        ('{"words":\n\n "so" "far"}', 3, "broken JSON"),
        ('{"a": "fine \\ud83d\\ude00",\n "b": "\\\\ud800",\n "text": "\\ud800"}', 3, "UTF-8"),
        ('{"a":\n "\\udc00\\ud800"}', 2, "UTF-8"),
        ('{"a":\n ' + "1" * 5000 + "}", 2, "too many digits"),
        ('{"a": 1}\nand more', 2, "follows"),
        ("\n" + "[" * 100_000, 2, "nested too deeply"),
        ("", 1, "ends too soon"),
    ],
)
def test_parse_names_the_line_of_what_is_wrong(text: str, line: int, what: str) -> None:
    with pytest.raises(InputError, match=what) as caught:
        located.parse(text)
    assert caught.value.line == line


def test_parse_does_not_call_broken_what_is_only_followed_by_text_cut_off() -> None:
    with pytest.raises(InputError) as caught:
        list(located.read_located('{"a": 1}\nhello there', "x", lambda data, _: data))
    assert caught.value.line == 2
    assert "too soon" not in caught.value.what


def test_read_located_parses_slowly_only_after_a_complaint() -> None:
    seen: list[type] = []

    def build(data: Any, _: str) -> Any:
        seen.append(type(data))
        return data

    assert list(located.read_located('{"a": 1}', "x", build)) == [{"a": 1}]
    assert seen == [dict]


def test_read_located_numbers_documents_only_where_there_are_several() -> None:
    def labels(text: str) -> list[str]:
        return list(located.read_located(text, "talk", lambda _, label: label))

    assert labels('{"a": 1}\n') == ["talk"]
    assert labels('{"a": 1}\n{"a": 2} {"a": 3}') == ["talk#1", "talk#2", "talk#3"]


def test_read_located_gives_the_complaint_the_line_of_its_item() -> None:
    text = '{"a": 1}\n{"words": [\n  {"n": 1},\n  [3, {"x": ":,{"}],\n  {"n": 2}\n]}\n'

    def build(data: Any, _: str) -> None:
        for item in data.get("words", []):
            if isinstance(item, dict) and item["n"] == 2:
                raise located.wrong(item, "two")

    with pytest.raises(InputError) as caught:
        list(located.read_located(text, "x", build))
    assert (caught.value.what, caught.value.line) == ("two", 5)


def test_read_located_falls_back_to_the_first_line_where_the_item_has_none() -> None:
    def build(data: Any, _: str) -> None:
        raise InputError("no words")

    deep = "[" * 600 + "]" * 600
    for text in ("\n\n3", '\n\n{"a": 1}', f"\n\n{deep}"):
        with pytest.raises(InputError, match="no words") as caught:
            list(located.read_located(text, "x", build))
        assert caught.value.line == 3


@settings(deadline=None)
@given(json_values.filter(lambda value: "Infinity" not in json.dumps(value) and "NaN" not in json.dumps(value)))
def test_slow_parser_agrees_with_the_fast_one(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, indent=2), json.dumps(value, ensure_ascii=False)):
        rebuilt: list[Any] = []

        def build(data: Any, _: str, rebuilt: list[Any] = rebuilt) -> None:
            rebuilt.append(data)
            raise InputError("again")

        with pytest.raises(InputError):
            list(located.read_located(text, "x", build))
        fast, slow = rebuilt
        assert slow == fast == value


@pytest.mark.parametrize("value", ["1.3", "01.30", " 1.3 ", 1.3, "+1.3", "13e-1"])
def test_number_takes_numeric_strings(value: Any) -> None:
    assert located.number({"start": value}, "start") == 1.3


@pytest.mark.parametrize(
    "value", ["abc", "", "nan", "inf", "1_0", "١", True, [], {}, float("inf"), 10**400, "9e999", "1e99999999"]
)
def test_number_refuses_what_is_none(value: Any) -> None:
    with pytest.raises(InputError, match="start"):
        located.number({"start": value}, "start")


def test_seconds_are_rounded_once() -> None:
    for amount in range(0, 100_000, 7):
        assert located.seconds(Decimal(amount), per_second=1000) == float(f"{amount // 1000}.{amount % 1000:03d}")


def test_spread_gives_times_to_the_outer_words_only() -> None:
    words = list(word_entries.spread({}, "— well , so be it .", 1.0, 2.5, "A"))
    assert [(word.text, word.start, word.end) for word in words if word.start or word.end] == [
        ("well", 1.0, None),
        ("it", None, 2.5),
    ]
    assert {word.speaker for word in words} == {"A"}


def test_spread_refuses_a_phrase_that_ends_before_it_starts() -> None:
    with pytest.raises(InputError, match="before start"):
        list(word_entries.spread({}, "two words", 2.0, 1.0))


def test_parsed_keeps_one_word_for_an_entry() -> None:
    entries = [
        Word(" New York,", 1.0, 2.0, 0.5, "A"),
        Word("  "),
        Word("10\u00a0000"),
        Word("so ?", 3.0, 4.0),
    ]
    words = word_entries.parsed(entries)
    assert [(word.text, word.mark, word.start, word.end) for word in words] == [
        ("New York", ",", 1.0, 2.0),
        ("10\u00a0000", "", None, None),
        ("so", "?", 3.0, 4.0),
    ]


@pytest.mark.parametrize("text", PROSE)
def test_json_keys_of_prose_are_none(text: str) -> None:
    assert not json_keys(text)


def test_json_keys_are_not_what_stands_in_strings() -> None:
    text = '{"text": "a \\"results\\": {\\"items\\": 1}", "a": [{"b": {"c": 1}}, {"d": 2}], "e": 1}'
    assert json_keys(text) == {"text", "a", "a.b", "a.b.c", "a.d", "e"}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", PROSE)
def test_sniffers_leave_prose_alone(name: str, text: str) -> None:
    assert not formats.named(name).sniff(source(text))


@pytest.mark.parametrize("sample", FORMAT_OF_SAMPLE)
@pytest.mark.parametrize("compact", [False, True], ids=["as is", "compact"])
def test_sniffers_know_their_own_samples_and_no_others(sample: str, compact: bool) -> None:
    text = (SAMPLES / sample).read_text()
    if compact:
        text = "\n".join(map(json.dumps, documents(sample)))
    assert [name for name in NAMES if formats.named(name).sniff(source(text))] == [FORMAT_OF_SAMPLE[sample]]


@pytest.mark.parametrize("sample", [*FORMAT_OF_SAMPLE, "parquet.parquet"])
def test_sniffing_the_whole_table_finds_the_format_of_each_sample(sample: str) -> None:
    expected = FORMAT_OF_SAMPLE.get(sample, "parquet")
    assert formats.sniff(Source.open(SAMPLES / sample)).name == expected
    broken = SAMPLES / "broken" / sample
    assert not broken.exists() or formats.sniff(Source.open(broken)).name == expected


@pytest.mark.parametrize("sample", FORMAT_OF_SAMPLE)
def test_sniffers_know_a_head_cut_off_anywhere_late(sample: str) -> None:
    text = (SAMPLES / sample).read_text()
    for stop in range(len(text) * 3 // 4, len(text), 37):
        assert formats.named(FORMAT_OF_SAMPLE[sample]).sniff(source(text[:stop]))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40, deadline=None)
@given(value=json_values)
def test_readers_refuse_arbitrary_json_with_a_line(name: str, value: Any) -> None:
    found = read_or_refuse(name, json.dumps(value, indent=1))
    assert found is None or all(isinstance(transcript, Transcript) for transcript in found)


@pytest.mark.parametrize("sample", FORMAT_OF_SAMPLE)
@settings(max_examples=60, deadline=None)
@given(new=json_values, chooser=st.randoms(use_true_random=False))
def test_readers_survive_any_one_wrong_value(sample: str, new: Any, chooser: random.Random) -> None:
    changed = documents(sample)
    at = chooser.randrange(len(changed))
    changed[at] = replaced(changed[at], chooser.choice(paths(changed[at])), new)
    indent = None if sample == "jsonl.jsonl" else 1
    found = read_or_refuse(FORMAT_OF_SAMPLE[sample], "\n".join(json.dumps(value, indent=indent) for value in changed))
    assert found is None or all(isinstance(transcript, Transcript) for transcript in found)


@pytest.mark.parametrize("sample", FORMAT_OF_SAMPLE)
def test_readers_survive_a_file_cut_off_anywhere(sample: str) -> None:
    text = (SAMPLES / sample).read_text()
    whole = text.rstrip()
    for stop in range(0, len(whole), 11):
        result = read_or_refuse(FORMAT_OF_SAMPLE[sample], text[:stop])
        assert result is None or sample in ("jsonl.jsonl", "vosk_stream.json")


@pytest.mark.parametrize("broken", ["", ", "])
def test_json_keys_are_found_behind_a_long_text_of_a_whole_document(broken: str) -> None:
    text = json.dumps({"text": "so " * 100_000, "segments": [{"words": [{"word": "so"}]}]})
    found = json_keys(text if not broken else text[:-1] + broken)
    assert found == ({"text"} if broken else {"text", "segments", "segments.words", "segments.words.word"})


def test_json_keys_of_later_rows_are_those_of_the_head() -> None:
    assert json_keys('{"a": 1}\n{"b": {"c": 1}}\n') == {"a", "b", "b.c"}
