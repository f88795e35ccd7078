from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpunct.errors import InputError
from interpunct.formats import Source, WriteOptions, read_source, written
from interpunct.formats.textgrid import TEXTGRID
from interpunct.transcript import Transcript, Word

SAMPLES = Path(__file__).parent / "samples"
Interval = tuple[float, float, str]


def read(text: str | bytes) -> Transcript:
    (transcript,) = TEXTGRID.read(Source("talk.TextGrid", text.encode() if isinstance(text, str) else text))
    return transcript


def write(*transcripts: Transcript) -> str:
    return b"".join(written(transcripts, TEXTGRID, WriteOptions())).decode()


def short(**tiers: list[Interval]) -> str:
    """A grid in the short form."""
    rows = [
        'File type = "ooTextFile"',
        'Object class = "TextGrid"',
        "",
        "0",
        "9",
        "<exists>",
        str(len(tiers)),
    ]
    for name, intervals in tiers.items():
        rows += ['"IntervalTier"', f'"{name}"', "0", "9", str(len(intervals))]
        for start, end, text in intervals:
            rows += [str(start), str(end), f'"{text}"']
    return "\n".join(rows) + "\n"


def spans(transcript: Transcript) -> list[tuple[str, float | None, float | None]]:
    return [(word.text, word.start, word.end) for word in transcript.words]


def test_textgrid_sample_merges_the_speakers_tiers_by_start() -> None:
    (transcript,) = TEXTGRID.read(Source.open(SAMPLES / "textgrid.TextGrid"))
    assert transcript.source == "textgrid.TextGrid"
    assert spans(transcript) == [
        ("Say", 0.32, 0.61),
        ('"cheese"', 0.61, 1.2),
        ("please", 1.2, 1.93),
        ("Is", 2.05, None),
        ("it", None, None),
        ("done", None, 3.5),
        ("Already", 3.5, 4.75),
    ]
    assert transcript.marks == ("", ",", ".", "", "", "?", "?")
    assert [word.speaker for word in transcript.words] == ["ida"] * 3 + ["jo"] * 4


def test_textgrid_short_form_gives_the_same() -> None:
    long = write(Transcript((Word("Hello", 0.5, 1.25), Word("you", 2.0, 3.0)), "x"))
    assert spans(read(long)) == spans(read(short(words=[(0, 0.5, ""), (0.5, 1.25, "Hello"), (2, 3, "you")])))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_textgrid_read_takes_praats_encodings_and_line_ends(encoding: str, line_end: str) -> None:
    text = short(words=[(0, 1, "naïve"), (1, 2, "sp")])
    source = Source("x", text.replace("\n", line_end).encode(encoding))
    assert TEXTGRID.sniff(source)
    (transcript,) = TEXTGRID.read(source)
    assert spans(transcript) == [("naïve", 0.0, 1.0)]


def test_textgrid_read_prefers_the_word_tier_and_drops_its_silences() -> None:
    phones = [(0.0, 1.0, "HH")]
    words = [(0.0, 0.5, "<eps>"), (0.5, 1.0, "Hi"), (1.0, 2.0, "sil"), (2.0, 3.0, " "), (3.0, 4.0, "SIL")]
    assert spans(read(short(phones=phones, Words=words))) == [("Hi", 0.5, 1.0), ("SIL", 3.0, 4.0)]


def test_textgrid_read_falls_back_to_the_first_tier_with_text() -> None:
    grid = short(empty=[(0, 9, "")], talk=[(1, 2, "sil is a word"), (3, 4, "")], other=[(0, 1, "no")])
    assert spans(read(grid)) == [
        ("sil", 1.0, None),
        ("is", None, None),
        ("a", None, None),
        ("word", None, 2.0),
    ]


def test_textgrid_read_takes_tiers_that_take_turns_for_speakers() -> None:
    notes = [(0.0, 0.9, "greets"), (2.1, 3.9, "answers")]
    grid = short(Ann=[(0, 1, "hello"), (4, 5, "good")], Bob=[(2, 4.2, "hi there")], gestures=notes)
    spoken = [(word.text, word.start, word.speaker) for word in read(grid).words]
    assert spoken == [("hello", 0.0, "Ann"), ("hi", 2.0, "Bob"), ("there", None, "Bob"), ("good", 4.0, "Ann")]


@pytest.mark.parametrize(
    "beside",
    [
        {"noise": [(2, 3, "cough")]},
        {"sounds heard": [(2, 3, "a dog barks outside")]},
        {"remark": [(2, 3, "unclear")]},
        {"state": [(0, 1, "sounding"), (1, 9, "silent")]},
        {"part": [(0, 9, "the whole interview")]},
    ],
)
def test_textgrid_read_leaves_what_stands_beside_speech(beside: dict[str, list[Interval]]) -> None:
    talk: list[Interval] = [(0, 1, "so how are you"), (4, 4.5, "i see")]
    assert [word.text for word in read(short(talk=talk, **beside)).words] == ["so", "how", "are", "you", "i", "see"]


def test_textgrid_read_passes_over_comments_and_point_tiers() -> None:
    grid = short(points=[], words=[(0, 1, "yes")]).replace('"IntervalTier"\n"points"', '"TextTier" ! 3 "x"\n"points"')
    assert spans(read(grid)) == [("yes", 0.0, 1.0)]


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (short(words=[(2, 1, "a")]), 14, "ends at 1.0, before its start 2.0"),
        (short(words=[(-1, 1, "a")]), 14, "not a time"),
        (short(words=[(0, 1, "a")]).replace("\n1\n0\n1\n", "\n1\n0\n1x\n"), 14, "'1x' is not a number"),
        (short(words=[(0, 1, "a")]).replace("\n1\n0\n1\n", "\n2\n0\n1\n"), 15, "the end of the file"),
        (short(words=[(0, 1, "a")]).replace('"a"', '"a'), 15, "never ends"),
        (short(words=[]).replace("IntervalTier", "PitchTier"), 8, "unknown class of tier 'PitchTier'"),
        ('"Praat chronological TextGrid text file"\n0 1\n', 1, "save it as a text file"),
    ],
)
def test_textgrid_error_names_line_and_reason(text: str, line: int, what: str) -> None:
    with pytest.raises(InputError, match=what) as caught:
        read(text)
    assert caught.value.line == line


def test_textgrid_broken_sample_names_path_and_line() -> None:
    with pytest.raises(InputError, match=r"broken/textgrid\.TextGrid:21: "):
        list(read_source(Source.open(SAMPLES / "broken" / "textgrid.TextGrid"), TEXTGRID))


def test_textgrid_write_fills_silences_and_doubles_quotes() -> None:
    text = write(Transcript((Word('"Hi"', 0.5, 1.25, mark="."), Word("You", 2.0, 3.0, speaker="jo"))))
    assert text.startswith('File type = "ooTextFile"\nObject class = "TextGrid"\n\nxmin = 0\nxmax = 3.0\n')
    tiers = text.split("class = ")[2:]
    assert [tier.split("name = ")[1].split("\n")[0] for tier in tiers] == ['"words"', '"jo - words"']
    assert [line.split(" = ")[1] for line in tiers[0].splitlines() if "text" in line] == [
        '""',
        '"""Hi."""',
        '""',
    ]
    assert [line.split(" = ")[1] for line in tiers[0].splitlines() if "xmax" in line] == [
        "3.0",
        "0.5",
        "1.25",
        "3.0",
    ]


def test_textgrid_write_says_what_it_cannot_hold() -> None:
    with pytest.raises(InputError, match=r"'b' begins at 0\.5, before 'a' ends at 1\.0"):
        write(Transcript((Word("a", 0.0, 1.0), Word("b", 0.5, 2.0))))
    with pytest.raises(InputError, match=r"word 1 \('a'\) has no start"):
        write(Transcript((Word("a"), Word("b", 0.5, 2.0))))
    with pytest.raises(InputError, match="TextGrid holds one document"):
        write(Transcript(()), Transcript(()))


def test_textgrid_round_trip_of_the_sample_and_of_nothing() -> None:
    (transcript,) = TEXTGRID.read(Source.open(SAMPLES / "textgrid.TextGrid"))
    assert read(write(transcript)).words == transcript.words
    assert read(write(Transcript(()))).words == ()


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["word", '"quo""te"', "a —", "Dr.", "end."]),
            st.floats(0, 100),
            st.floats(0, 100),
            st.booleans(),
        ),
        max_size=12,
    )
)
def test_textgrid_round_trip_gives_identical_times(rows: list[tuple[str, float, float, bool]]) -> None:
    time = 0.0
    intervals: list[Interval] = []
    for text, pause, length, several in rows:
        intervals.append((time + pause, time + pause + length, text.replace('"', '""') + " and more" * several))
        time = intervals[-1][1]
    transcript = read(short(words=intervals))
    assert read(write(transcript)).words == transcript.words


def test_textgrid_sniff_needs_the_header() -> None:
    assert TEXTGRID.sniff(Source("x", short(words=[]).encode()))
    assert TEXTGRID.sniff(Source("x", b'"ooTextFile short"\n"TextGrid"\n0\n1\n'))
    assert not TEXTGRID.sniff(Source("x", b'File type = "ooTextFile"\nObject class = "Pitch 1"\n'))
    assert not TEXTGRID.sniff(Source("x", b'A TextGrid begins with "ooTextFile".\n'))
