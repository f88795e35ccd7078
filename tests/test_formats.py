"""The contract of every format, over every row of FORMATS."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import SAMPLES
from interpunct import formats
from interpunct.errors import InputError, UnknownNameError
from interpunct.formats import FORMATS, Format, Source, WriteOptions
from interpunct.labels import parse_words
from interpunct.transcript import Transcript, Word, span

NAMES = sorted(FORMATS)
WRITABLE = [name for name in NAMES if formats.named(name).write is not None]
TIMED = [name for name in WRITABLE if formats.named(name).timed]


def sample(name: str, folder: Path = SAMPLES) -> Path:
    (path,) = [path for path in folder.iterdir() if path.stem == name]
    return path


def encoded(transcripts: list[Transcript], form: Format) -> Source:
    return Source("again", b"".join(formats.written(transcripts, form, WriteOptions())))


@pytest.mark.parametrize("name", NAMES)
def test_format_knows_its_sample_by_content(name: str) -> None:
    assert formats.sniff(Source.open(sample(name))).name == name


@pytest.mark.parametrize("name", NAMES)
def test_format_reads_words_and_tags_from_its_sample(name: str) -> None:
    transcripts = formats.read_all(sample(name))
    assert transcripts
    assert sum(map(len, transcripts)) > 2
    if formats.named(name).timed:
        assert any(word.start is not None for transcript in transcripts for word in transcript.words)


@pytest.mark.parametrize("name", WRITABLE)
def test_format_read_write_read_gives_the_same_words(name: str) -> None:
    form = formats.named(name)
    first = formats.read_all(sample(name))
    again = list(formats.read_source(encoded(first, form), form))
    assert [[(w.text, w.mark, w.case) for w in t.words] for t in again] == [
        [(w.text, w.mark, w.case) for w in t.words] for t in first
    ]
    if form.timed:
        assert [[(w.start, w.end) for w in t.words] for t in again] == [
            [(w.start, w.end) for w in t.words] for t in first
        ]


@pytest.mark.parametrize("name", WRITABLE)
def test_format_keeps_a_number_with_a_no_break_space_one_word(name: str) -> None:
    form = formats.named(name)
    texts = ["So", "5\u00a0000", "or", "1\u202f000\u202f000", "people"]
    words = tuple(Word(text, float(place), place + 0.5) for place, text in enumerate(texts))
    (again,) = formats.read_source(encoded([Transcript(words, "talk")], form), form)
    assert [word.text.lower() for word in again.words] == [text.lower() for text in texts]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "plain"])
def test_format_names_path_and_line_of_what_is_broken(name: str) -> None:
    path = sample(name, SAMPLES / "broken")
    with pytest.raises(InputError) as caught:
        formats.read_all(path)
    assert caught.value.path == str(path)
    assert caught.value.line is not None
    assert str(caught.value).startswith(f"{path}:{caught.value.line}: ")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("junk", [b"\xff\xfe\x00", b"\x00\x01\x02\x03", b"\x89PNG\r\n\x1a\n", b"\xed\xa0\x80"])
def test_format_refuses_what_is_no_text(name: str, junk: bytes) -> None:
    with pytest.raises(InputError, match=r"^junk"):
        list(formats.read_source(Source("junk", junk), formats.named(name)))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("plain", "srt", "vtt")])
@pytest.mark.parametrize("junk", [b"PAR1", b'{"words": [', b"some prose, with a comma"])
def test_format_refuses_text_of_another_kind(name: str, junk: bytes) -> None:
    with pytest.raises(InputError, match=r"^junk"):
        list(formats.read_source(Source("junk", junk), formats.named(name)))


@pytest.mark.parametrize("name", WRITABLE)
def test_format_holds_an_empty_transcript(name: str) -> None:
    form = formats.named(name)
    source = encoded([Transcript((), "empty")], form)
    try:
        assert all(len(transcript) == 0 for transcript in formats.read_source(source, form))
    except InputError:
        assert name in ("rttm", "vosk"), "only formats without a frame of their own may refuse to hold nothing"


tokens = st.sampled_from("so So, how? don't 4,754 3.5 U.S. café e-mail NATO's wait… (yes) i.e. —x stop.".split())
milliseconds = st.integers(0, 3_000)


@st.composite
def timed_transcripts(draw: st.DrawFn) -> Transcript:
    """Words one after another, to the millisecond, perhaps with speakers and confidences."""
    now = draw(milliseconds)
    words: list[Word] = []
    speakers: tuple[str | None, ...]
    speakers = draw(st.sampled_from([(None,), ("A",), ("A", "B")]))
    for token in draw(st.lists(tokens, min_size=1, max_size=15)):
        end = now + draw(milliseconds)
        confidence = draw(st.sampled_from([None, 0.5, 0.875, 1.0]))
        words.append(Word(token, now / 1000, end / 1000, confidence, draw(st.sampled_from(speakers))))
        now = end + draw(st.sampled_from([0, 1, 250, 4000]))
    return Transcript(tuple(parse_words(words)), "talk")


@pytest.mark.parametrize("name", TIMED)
@settings(max_examples=40, deadline=None)
@given(transcript=timed_transcripts())
def test_format_keeps_every_word_and_every_time(name: str, transcript: Transcript) -> None:
    form = formats.named(name)
    if name == "textgrid" and any(word.duration_s == 0 for word in transcript.words):
        return  # an interval without length is no interval: TextGrid cannot hold it
    (again,) = formats.read_source(encoded([transcript], form), form)
    assert [(w.text, w.start, w.end) for w in again.words] == [(w.text, w.start, w.end) for w in transcript.words]


@pytest.mark.parametrize("name", ["srt", "vtt"])
@settings(max_examples=40, deadline=None)
@given(transcript=timed_transcripts())
def test_subtitles_keep_every_word_in_order_and_the_whole_span(name: str, transcript: Transcript) -> None:
    form = formats.named(name)
    (again,) = formats.read_source(encoded([transcript], form), form)
    assert [w.text for w in again.words] == [w.text for w in transcript.words]
    start, end = span(transcript.words)
    again_start, again_end = span(again.words)
    assert again_start == start
    assert end is not None
    assert again_end is not None
    assert again_end >= end


def test_named_lists_the_known_formats_for_an_unknown_one() -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean 'srt'.*vtt"):
        formats.named("strt")


def test_read_refuses_a_file_of_several_documents_and_a_missing_one() -> None:
    with pytest.raises(InputError, match=r"documents; use interpunct\.read_all"):
        formats.read(sample("ctm"))
    with pytest.raises(InputError, match="no such file"):
        formats.read("nowhere.txt")


def test_write_makes_a_whole_file_or_none(tmp_path: Path) -> None:
    target = tmp_path / "talk.srt"
    target.write_text("what was there before")
    with pytest.raises(InputError, match="no word has a time"):
        formats.write(Transcript((Word("untimed"),)), target)
    assert target.read_text() == "what was there before"
    assert [path.name for path in tmp_path.iterdir()] == ["talk.srt"]
    formats.write(Transcript((Word("yes", 0.0, 1.0, mark="."),)), target)
    assert "yes." in target.read_text()


@pytest.mark.parametrize("name", ["talk.txt", "talk.parquet"])
def test_write_refuses_half_a_character(name: str, tmp_path: Path) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow", reason="the extra [tables] is not installed")
    with pytest.raises(InputError, match="half a character"):
        formats.write(Transcript((Word("x\ud800"),)), tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("mode", [0o600, 0o664])
def test_write_leaves_a_file_as_private_as_it_was(mode: int, tmp_path: Path) -> None:
    target = tmp_path / "talk.txt"
    target.touch()
    target.chmod(mode)
    formats.write(Transcript((Word("yes", mark="."),)), target)
    assert (target.stat().st_mode & 0o777, target.read_text()) == (mode, "yes.\n")


def test_write_takes_the_format_from_the_extension(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no format has the extension"):
        formats.write(Transcript(()), tmp_path / "talk.xyz")
    formats.write(Transcript((Word("yes", mark="."),)), tmp_path / "talk.txt")
    assert (tmp_path / "talk.txt").read_text() == "yes.\n"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("héllo".encode(), "héllo"),
        ("héllo".encode("utf-8-sig"), "héllo"),
        ("héllo".encode("utf-16"), "héllo"),
        ("héllo".encode("utf-32"), "héllo"),
    ],
)
def test_source_decodes_by_bom(data: bytes, text: str) -> None:
    assert Source("x", data).text == text


def test_source_tells_the_byte_that_is_not_utf8_and_takes_an_encoding() -> None:
    with pytest.raises(InputError, match="not ascii at byte 4; use another --encoding"):
        _ = Source("x", b"abc \xe9", "ascii").text
    with pytest.raises(InputError, match="not UTF-8 at byte 4; use --encoding"):
        _ = Source("x", b"abc \xe9").text
    assert Source("x", b"abc \xe9", "latin-1").text == "abc é"
    with pytest.raises(InputError, match="unknown encoding"):
        _ = Source("x", b"abc", "latin-99").text
    with pytest.raises(InputError, match="not undefined; use another --encoding"):  # a codec that tells no byte
        _ = Source("x", b"abc", "undefined").text


def test_source_lines_take_any_line_end() -> None:
    assert Source("x", b"a\r\nb\rc\nd").lines() == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
