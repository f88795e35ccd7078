from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpunct.cues import CueLimits
from interpunct.errors import InputError
from interpunct.formats import Format, Source, WriteOptions, read_source, written
from interpunct.formats.subtitles import SRT, VTT, clock
from interpunct.formats.vtt import escaped, row
from interpunct.labels import surface
from interpunct.transcript import Transcript, Word

SAMPLES = Path(__file__).parent / "samples"
Timed = tuple[str, float | None, float | None]


def read(text: str, form: Format = SRT) -> Transcript:
    (transcript,) = form.read(Source("talk", text.encode()))
    return transcript


def write(form: Format, *transcripts: Transcript, options: WriteOptions | None = None) -> str:
    return b"".join(written(transcripts, form, options or WriteOptions())).decode()


def tokens(transcript: Transcript) -> str:
    return " ".join(map(surface, transcript.words))


def spans(transcript: Transcript) -> list[Timed]:
    return [(word.text, word.start, word.end) for word in transcript.words]


def srt(*cues: tuple[float, float, str]) -> str:
    return "".join(
        f"{number}\n{clock(start, ',')} --> {clock(end, ',')}\n{text}\n\n"
        for number, (start, end, text) in enumerate(cues, start=1)
    )


def test_srt_sample_gives_cue_times_to_first_and_last_words() -> None:
    (transcript,) = SRT.read(Source.open(SAMPLES / "srt.srt"))
    assert tokens(transcript) == (
        "The ferry leaves at nine, so we should hurry. No. No. -Is it always this late? -Only on Sundays. "
        "Fish & chips, 4,754 portions."
    )
    timed = [span for span in spans(transcript) if span[1:] != (None, None)]
    assert timed == [
        ("The", 1.2, None),
        ("hurry", None, 3.45),
        ("No", 3.9, 5.0),
        ("No", 5.0, 6.1),
        ("-Is", 6.5, None),
        ("Sundays", None, 9.25),
        ("Fish", 11.04, None),
        ("portions", None, 13.875),
    ]


def test_vtt_sample_gives_speakers_and_inline_times() -> None:
    (transcript,) = VTT.read(Source.open(SAMPLES / "vtt.vtt"))
    assert tokens(transcript) == ("Shall we take the long way? Yes. Good, then up the hill we go! Rock & roll <loud>.")
    assert [word.speaker for word in transcript.words] == ["Mia"] * 6 + ["Leo Brandt"] + ["Mia"] * 7 + [None] * 4
    assert spans(transcript)[7:14] == [
        ("Good", 5.5, 6.0),
        ("then", 6.0, 6.25),
        ("up", 6.25, 6.75),
        ("the", 6.75, None),
        ("hill", None, 7.5),
        ("we", 7.5, None),
        ("go", None, 8.25),
    ]
    assert transcript.words[14].start == 3600.0


@pytest.mark.parametrize(
    "text",
    [
        "1\n00:00:01,500 --> 00:00:02,250\nHello you.\n",
        "\ufeff1\r\n00:00:01,500 --> 00:00:02,250\r\nHello\r\nyou.\r\n\r\n",
        "0:00:01.5-->0:00:02.25 X1:0\nHello you.",
        "1\n00:00:01,500 --> 00:00:02,250 Hello you.\n",
        "1\n00:00:01,500 --> 00:00:02,250 align: start size=50% position:50 %\nHello you.\n",
        "1\n00:00:01,500 --> 00:00:02,250 A:start L:80%\nHello you.\n",
        "00:00:01,500 --> 00:00:02,250   Hello\nyou.\n",
        "made by hand\n\n00:01,500 --> 00:02,25\n\nHello\n\nyou.\n",
        "WEBVTT\n\n00:01.500 --> 00:02.250 line:0\nHello you.\n\nNOTE hello\nthere\n",
        "WEBVTT title\nKind: captions\n\nSTYLE\na { b }\n\nfirst\n00:01,5 --> 00:02,25\nHello you.\n\n",
        "WEBVTT\n\n00:01.500 --> 00:02.250\n \n<c>Hel<00:00:01.700>lo</c> {\\an8}<font size=3>you</font>.\n",
    ],
)
def test_subtitles_read_is_tolerant(text: str) -> None:
    source = Source("talk", text.encode())
    assert (VTT if "WEBVTT" in text else SRT).sniff(source)
    (transcript,) = SRT.read(source)
    assert spans(transcript) == [("Hello", 1.5, None), ("you", None, 2.25)]
    assert transcript.marks == ("", ".")


def test_subtitles_number_before_a_timing_is_not_text_but_a_number_said_is() -> None:
    text = "1\n00:01,0 --> 00:02,0\n1984\n\n2\n00:02,0 --> 00:03,0\n42\n3\n00:03,0 --> 00:04,0\nyes\n\n"
    assert tokens(read(text)) == "1984 42 yes"
    assert tokens(read("WEBVTT\n\n00:01.0 --> 00:02.0\n42\n\n00:02.0 --> 00:03.0\nyes\n")) == "42 yes"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("00:00:01,000 --> 00:00:02,000\nborn in\n1984\n00:00:03,000 --> 00:00:04,000\nyes\n", "born in 1984 yes"),
        ("00:00:01,000 --> 00:00:02,000\n42\n\n00:00:03,000 --> 00:00:04,000\nyes\n", "42 yes"),
        ("1\n00:00:01,000 --> 00:00:02,000\nborn in\n2\n00:00:03,000 --> 00:00:04,000\nyes\n", "born in yes"),
        ("00:00:01,000 --> 00:00:02,000\nborn in\n\n2\n00:00:03,000 --> 00:00:04,000\nyes\n", "born in yes"),
        ("1\n\n00:00:01,000 --> 00:00:02,000\nborn\n\n2\n\n00:00:03,000 --> 00:00:04,000\nyes\n", "born yes"),
        (srt((1, 2, "no"), (3, 4, "yes")).replace("\n", "\r\r\n"), "no yes"),
    ],
)
def test_subtitles_number_is_told_from_a_year(text: str, expected: str) -> None:
    assert tokens(read(text)) == expected


def test_subtitles_clock_in_the_text_is_text() -> None:
    assert tokens(read("1\n00:01,000 --> 00:02,000\n\n9:00 -> 10:30 is when\n")) == "9:00 -> 10:30 is when"


def test_subtitles_many_colons_take_no_time() -> None:
    assert len(read(f"00:01,0 --> 00:02,0 {'b:' * 5000} x\nyes\n").words) == 3


def test_subtitles_without_cues_are_empty() -> None:
    assert VTT.sniff(Source("x", b"WEBVTT Kind: captions; Language: en\n"))
    assert VTT.sniff(Source("x", b"\r\nWEBVTT\r\n"))
    assert VTT.sniff(Source("x", b"WEBVTT - nobody spoke\n\nNOTE x\n"))
    assert VTT.sniff(Source("x", b"WEBVTT\r\nKind: captions\r\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000\r\n"))
    assert not VTT.sniff(Source("x", b"WEBVTT - how to write it\n\nIt begins with a header.\n"))
    assert not VTT.sniff(Source("x", b"WEBVTT - how to write it\nit begins with a header\n"))
    for text in ("", "\n", "WEBVTT\n", "WEBVTT\n\nNOTE nobody\nspoke\n\nSTYLE\na { b }\n"):
        assert not read(text).words


def test_subtitles_arrow_in_text_is_text() -> None:
    assert tokens(read(srt((0, 1, "5 --> 6\nis an arrow")))) == "5 --> 6 is an arrow"


def test_subtitles_mark_standing_alone_takes_no_time() -> None:
    transcript = read(srt((0, 1, "Hello ."), (1, 2, "you\n-- there ?")))
    assert spans(transcript) == [("Hello", 0.0, 1.0), ("you", 1.0, None), ("there", None, 2.0)]
    assert transcript.marks == (".", "—", "?")


def test_subtitles_cue_of_marks_alone_keeps_its_time() -> None:
    transcript = read(srt((0, 1, "Wait for"), (2, 3, "... !"), (4, 5, "it, yes")))
    assert spans(transcript)[2] == ("...", 2.0, 3.0)
    again = read(write(SRT, transcript, options=WriteOptions(recut=False)))
    assert spans(again) == spans(transcript)


def test_subtitles_opening_mark_is_a_word_of_its_own() -> None:
    assert spans(read(srt((0, 1, "..."), (1, 2, "Yes")))) == [("...", 0.0, 1.0), ("Yes", 1.0, 2.0)]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("- Hello.\n- Hi.", "So. -Hello. -Hi."),
        ("<i>-Hello.</i>\n&gt;&gt; Hi.", "So. -Hello. >>Hi."),
        ("— Hello.\n— Hi.", "So. —Hello. —Hi."),
        ("Hello\n— hi.", "So. Hello — hi."),
    ],
)
def test_subtitles_speakers_dash_clings_to_its_word(rows: str, expected: str) -> None:
    assert tokens(read(srt((0, 1, "So."), (1, 2, rows)))) == expected


def test_vtt_voices_may_change_inside_a_cue() -> None:
    transcript = read("WEBVTT\n\n00:00.0 --> 00:01.0\n<v A&amp;B>Hi\nyou</v> all\n<v.x Bo>yes\n", VTT)
    assert [(word.text, word.speaker) for word in transcript.words] == [
        ("Hi", "A&B"),
        ("you", "A&B"),
        ("all", None),
        ("yes", "Bo"),
    ]


def test_vtt_unknown_tags_are_words() -> None:
    assert tokens(read("WEBVTT\n\n00:00.0 --> 00:01.0\n<unk> <12> a <b>b</b> AT&T &copy; &nosuch;\n")) == (
        "<unk> <12> a b AT&T © &nosuch;"
    )


ROLLED: list[Timed] = [
    ("so", 0.48, 0.719),
    ("today", 0.719, 1.12),
    ("we", 1.12, 1.28),
    ("plant", 1.28, 1.76),
    ("beans", 1.76, 2.389),
    ("and", 2.399, 2.72),
    ("then", 2.72, 3.04),
    ("we", 3.04, 3.36),
    ("wait", 3.36, 4.55),
    ("no", 4.56, 6.23),
    ("no", 6.24, 6.64),
    ("peas", 6.64, 7.12),
    ("this", 7.12, 7.44),
    ("year", 7.44, 8.39),
]


def test_vtt_rolling_captions_are_read_once() -> None:
    (transcript,) = VTT.read(Source.open(SAMPLES / "vtt_youtube.vtt"))
    assert spans(transcript) == ROLLED


def test_vtt_rolling_captions_are_known_from_two_cues() -> None:
    text = "WEBVTT\n\n00:00.0 --> 00:02.0\n \nso<00:01.0><c> then</c>\n\n00:02.0 --> 00:04.0\nso then\nyes\n"
    assert spans(read(text, VTT)) == [("so", 0.0, 1.0), ("then", 1.0, 2.0), ("yes", 2.0, 4.0)]


def test_srt_rolling_captions_without_inline_times_are_read_once() -> None:
    flashing = srt(
        (0.48, 2.389, "so today"),
        (2.389, 2.399, "so today"),
        (2.399, 4.55, "so today\nwe wait"),
        (4.55, 4.56, "we wait"),
        (4.56, 6, "we wait\nno"),
        (6, 6.01, "no"),
        (6.01, 8, "no\nno"),
        (8, 8.01, "no"),
        (8.01, 9, "no\npeas"),
    )
    assert tokens(read(flashing)) == "so today we wait no no peas"
    assert spans(read(flashing))[2:4] == [("we", 2.399, None), ("wait", None, 4.55)]
    overlapping = srt((0, 4, "one\ntwo"), (2, 6, "two\nthree"), (4, 8, "three\nfour"), (9, 12, "five\nsix"))
    assert tokens(read(overlapping)) == "one two three four five six"


def test_srt_line_said_twice_is_read_twice() -> None:
    assert tokens(read(srt((0, 1, "No."), (1, 2, "No.")))) == "No. No."
    assert tokens(read(srt((0, 1, "No."), (1, 2, "No."), (2, 3, "No."), (3, 4, "No.\nWhy?")))) == "No. No. No. No. Why?"
    ordinary = [(float(n), n + 1.0, f"line {n}\nand more {n}") for n in range(20)]
    ordinary[5] = (5.0, 6.0, "and more 4\nline 5")
    ordinary[9] = (9.0, 10.0, "and more 8\nline 9")
    assert len(read(srt(*ordinary)).words) == sum(len(text.split()) for _, _, text in ordinary)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (
            "1\n00:00:01,0 --> 00:00:02,0\na\n\n2\n00:00:05,0 --> 00:00:04,9\nb c\n",
            6,
            "ends at 4.9 s, before its start",
        ),
        ("1\n00:00:01,0 --> 00:00:x2,0\na\n", 2, "no timing; write it like"),
        ("1\n00:00:01,0 -> 00:00:02,0\na\n\n2\n00:00:03,0 --> 00:00:04,0\nb\n", 2, "no timing; write it like"),
        ("1\n00:00:01,0 --> 00:00:02,0\na\n\n2\n00:00:03,0 —> 00:00:04,0\nb\n", 6, "no timing; write it like"),
        ("WEBVTT\n\nNOTE yes\n\nso how are you\n", None, "no timing like .* in it; give subtitles"),
        ("so how are you\n", None, "no timing like .* in it; give subtitles"),
        ("1\n00:01,0 --> 00:02,0\na\n-00:00:03,0 --> 00:00:04,0\nb\n", 4, "no timing"),
        ("WEBVTT\n\n00:01.0 --> 00:03.0\na<00:02.0> b<00:01.5> c\n", 3, "inline time"),
        ("WEBVTT\n\n00:01.0 --> 00:03.0\na<00:04.0> b\n", 3, "inline time"),
    ],
)
def test_subtitles_error_names_the_timing_line(text: str, line: int | None, what: str) -> None:
    with pytest.raises(InputError, match=what) as caught:
        read(text)
    assert caught.value.line == line


@pytest.mark.parametrize(("form", "name", "line"), [(SRT, "srt.srt", 6), (VTT, "vtt.vtt", 6)])
def test_subtitles_broken_sample_names_path_and_line(form: Format, name: str, line: int) -> None:
    source = Source.open(SAMPLES / "broken" / name)
    assert form.sniff(source)
    with pytest.raises(InputError, match=rf"broken/{name}:{line}: "):
        list(read_source(source, form))


def test_subtitles_sniff_refuses_prose() -> None:
    for text in (
        "",
        "WEBVTTX\n",
        "WEBVTT is a format that i like\n",
        "At 10:15 --> we left.\n",
        "9:00 -> 10:30 breakfast\n3:2 => 4:1\n",
        "1\n2\n3\n",
        "It began at 00:00:01,000 and ended.\n",
    ):
        source = Source("x", text.encode())
        assert not SRT.sniff(source)
        assert not VTT.sniff(source)
    assert not SRT.sniff(Source.open(SAMPLES / "vtt.vtt"))


TALK = Transcript(
    (
        Word("Hello", 0.5, 1.0, mark=","),
        Word("R&B", 1.0, 1.4, mark=""),
        Word("<3", 1.4, 2.0004, mark="."),
        Word("Why", 360000.0, 360002.5, speaker="Ann <a&b>", mark="?"),
    )
)


def test_srt_write_numbers_cues() -> None:
    assert write(SRT, TALK) == (
        "1\n00:00:00,500 --> 00:00:02,000\nHello, R&B <3.\n\n2\n100:00:00,000 --> 100:00:02,500\nWhy?\n\n"
    )


def test_vtt_write_escapes_text_and_names_speakers() -> None:
    text = write(VTT, TALK)
    assert text == (
        "WEBVTT\n\n00:00:00.500 --> 00:00:02.000\nHello, R&amp;B &lt;3.\n\n"
        "100:00:00.000 --> 100:00:02.500\n<v Ann &lt;a&amp;b&gt;>Why?\n\n"
    )
    again = read(text, VTT)
    assert [(word.text, word.speaker) for word in again.words] == [(w.text, w.speaker) for w in TALK.words]


@pytest.mark.parametrize("form", [SRT, VTT])
def test_subtitles_write_keeps_the_cues_that_were_read_where_asked(form: Format) -> None:
    read_cues = read(srt((0, 2, "So we"), (2, 4, "left. And then"), (4, 6, "we came back.")))
    text = write(form, read_cues, options=WriteOptions(recut=False))
    assert spans(read(text)) == spans(read_cues)
    recut = write(form, read_cues, options=WriteOptions(cues=CueLimits(line_characters=20)))
    assert "So we left.\n" in recut
    assert tokens(read(recut)) == tokens(read_cues)


@pytest.mark.parametrize("name", ["srt.srt", "vtt.vtt", "vtt_youtube.vtt"])
@pytest.mark.parametrize("form", [SRT, VTT])
def test_subtitles_round_trip_keeps_words_and_marks(form: Format, name: str) -> None:
    (transcript,) = SRT.read(Source.open(SAMPLES / name))
    again = read(write(form, transcript))
    assert [(word.text, word.mark) for word in again.words] == [(word.text, word.mark) for word in transcript.words]


@pytest.mark.parametrize("form", [SRT, VTT])
def test_subtitles_write_refuses_what_it_cannot_hold(form: Format) -> None:
    with pytest.raises(InputError, match=rf"{form.name.upper()} holds one document.*-o DIR"):
        write(form, TALK, TALK)
    with pytest.raises(InputError, match="no word has a time"):
        write(form, Transcript((Word("a"), Word("b"))))


def test_subtitles_write_of_nothing_is_an_empty_file() -> None:
    assert write(SRT, Transcript(())) == ""
    assert write(VTT, Transcript(())) == "WEBVTT\n\n"


@given(st.text(st.characters(exclude_characters="\r\n\0{", codec="utf-8")))
def test_vtt_escaping_is_undone_by_reading(text: str) -> None:
    assert row(escaped(text)).text == text


@given(st.integers(0, 10**10))
def test_subtitles_clock_round_trip_keeps_milliseconds(milliseconds: int) -> None:
    time = milliseconds / 1000
    assert read(f"{clock(0, ',')} --> {clock(time, ',')}\nword\n").words[0].end == time
