"""Subtitles, SRT and WebVTT: cues of text with times, not words with times.

In: either, read by one tolerant reader: numbering, hours, header, cue names, settings and NOTE, STYLE and
REGION blocks are optional, a decimal is a comma or a point. Out: one transcript; a cue's first word has the
cue's start and its last word the cue's end, and VTT's inline times give starts and ends inside the cue.
Captions that roll, as automatic ones do, are read once (see `vtt`). Written are the cues that
`interpunct.cues` cuts; VTT names the speaker, SRT cannot. Fonts, colours and positions are not kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from interpunct.cues import cues
from interpunct.errors import InputError
from interpunct.formats.format import Format, WriteOptions, sole
from interpunct.formats.source import Source, lines_of
from interpunct.formats.vtt import TIME, ShownCue, escaped, row, time_of, unrolled, words_of
from interpunct.labels import parse_words, standalone_mark, tokens_of
from interpunct.transcript import Transcript, Word

_TIMING = re.compile(rf"\s*{TIME}\s*-->\s*{TIME}(?:\s(.*))?", re.ASCII)
# Two times and another arrow between them, as people and programs write it by mistake.
_EXACT = r"(?:\d{1,6}:)?\d{1,6}:\d{1,2}[.,]\d{1,9}"
_ALMOST_TIMING = re.compile(rf"\s*{_EXACT}\s*(?:[-–—=]{{1,3}}\s?>|→|--&gt;)\s*{_EXACT}(?:\s.*)?", re.ASCII)
_SETTINGS = re.compile(r"\s*(?:(?:align|line|position|size|region|vertical|[XY][12]|[ADLST])\s*[:=].*)?", re.IGNORECASE)
_TITLE = re.compile(r"\s*WEBVTT(?:[ \t]*|[ \t]+(?:-|\w+:).*)(?:[\r\n]|\Z)")
_CLOCK_LIKE = re.compile(r"\s*[-+]?\d+:")
_NUMBER_LIKE = re.compile(r"\s*[-+]?\d")
_HEADER = re.compile(r"\s*WEBVTT(?:[ \t\r\n]|\Z)")
_FIELD = re.compile(r"\s*[\w-]+\s*[:=].*")
_ASIDE = re.compile(r"(?:WEBVTT|NOTE|STYLE|REGION)\b")
_LINE_END = re.compile(r"\r\n?|\n")
# In the head of a subtitle file a cue is never far: a number, a title or a comment may stand before it.
_FIRST_ROWS = 10


def sniff_vtt(source: Source) -> bool:
    """Know WebVTT by its header, before cues or with nothing but a title and notes behind it."""
    if "-->" in source.text:
        return _HEADER.match(source.head) is not None
    return _TITLE.match(source.head) is not None and not _is_prose(source.text)


def _is_prose(text: str) -> bool:
    """Say whether something stands there, of what has no cues, that is neither a header nor a note."""
    blocks = re.split(r"\n\s*\n", "\n".join(lines_of(text.strip())))
    return any(not _ASIDE.match(block) or _is_headline(block) for block in blocks if block)


def _is_headline(block: str) -> bool:
    """Say whether what looks like WebVTT's header has text below it instead of fields."""
    title, *fields = block.split("\n")
    return bool(_HEADER.match(title)) and not all(map(_FIELD.fullmatch, fields))


def sniff_srt(source: Source) -> bool:
    """Know SRT by a timing line among the first lines, be it well or almost well written."""
    rows = [line for line in _LINE_END.split(source.head) if line.strip()][:_FIRST_ROWS]
    return not sniff_vtt(source) and any(_TIMING.fullmatch(line) or _ALMOST_TIMING.fullmatch(line) for line in rows)


def read(source: Source) -> Iterator[Transcript]:
    """Read the file as one transcript."""
    runs: list[list[Word]] = [[]]
    for cue in unrolled(_cues(source)):
        if all(standalone_mark(token) is not None for shown in cue.rows for token in tokens_of(shown.text)):
            runs.append([])  # a cue of marks alone is a word with a time of its own, and joins none before it
        try:
            runs[-1] += words_of(cue, opening=not runs[-1])
        except InputError as error:
            raise error.at(line=cue.line) from None
    yield Transcript(tuple(chain.from_iterable(map(parse_words, runs))), source.id)


def _cues(source: Source) -> Iterator[ShownCue]:
    """Read the cues: when each shows, and its rows of text."""
    vtt = sniff_vtt(source)
    timing: tuple[int, float, float] | None = None
    rows: list[str] = []
    collecting = numbered = False
    before = ""
    for number, line in source.lines():
        times = _TIMING.fullmatch(line) if "-->" in line else None
        if times is not None:
            if timing is not None:
                shown = _without_number(rows, numbered=numbered) if collecting else rows
                yield ShownCue(*timing, tuple(map(row, shown)))
            else:
                numbered = before.strip().isdecimal()
            start, end = time_of(*times.groups()[:4]), time_of(*times.groups()[4:8])
            if end < start:
                raise InputError(f"cue ends at {end} s, before its start {start} s; mend the times", line=number)
            behind = times[9] or ""
            timing, collecting = (number, start, end), True
            rows = [] if _SETTINGS.fullmatch(behind) else [behind]  # some write a cue's text behind its times
        elif _is_broken_timing(line, before):
            raise InputError(f"{line.strip()!r} is no timing; write it like 00:00:01,000 --> 00:00:02,500", line=number)
        elif collecting:
            # An empty line ends a VTT cue; in SRT, text goes on after one until the next cue. A row of one
            # space right behind the timing is how rolling captions leave their upper row free.
            if vtt and not line.strip() and (rows or not line):
                collecting = False
            else:
                rows.append(line)
        before = line
    if timing is not None:
        yield ShownCue(*timing, tuple(map(row, rows)))
    elif _is_prose(source.text):
        raise InputError("no timing like 00:00:01,000 --> 00:00:02,500 in it; give subtitles, or --from plain")


def _is_broken_timing(line: str, before: str) -> bool:
    """Tell a timing that cannot be read from text with an arrow in it."""
    in_its_place = not before.strip() or before.strip().isdecimal()
    if "-->" not in line:
        return in_its_place and _ALMOST_TIMING.fullmatch(line) is not None
    return bool((_CLOCK_LIKE if not in_its_place else _NUMBER_LIKE).match(line))


def _without_number(rows: list[str], *, numbered: bool) -> list[str]:
    """Drop the next cue's number, which stands right before its timing, perhaps with empty rows between.

    A number right below a cue's text is text, unless the file's first cue is `numbered`.
    """
    last = len(rows) - 1
    while last >= 0 and not rows[last].strip():
        last -= 1
    if last < 0 or not rows[last].strip().isdecimal():
        return rows
    return rows[:last] if numbered or (last > 0 and not rows[last - 1].strip()) else rows


def write_srt(transcripts: Iterable[Transcript], options: WriteOptions) -> Iterator[str]:
    """Write numbered cues."""
    transcript = sole(transcripts, "SRT")
    for number, cue in enumerate(cues(transcript, options.cues, recut=options.recut), start=1):
        text = "\n".join(cue.lines)
        yield f"{number}\n{clock(cue.start, ',')} --> {clock(cue.end, ',')}\n{text}\n\n"


def write_vtt(transcripts: Iterable[Transcript], options: WriteOptions) -> Iterator[str]:
    """Write the header, and cues with the speaker where one is known."""
    transcript = sole(transcripts, "VTT")
    yield "WEBVTT\n\n"
    for cue in cues(transcript, options.cues, recut=options.recut):
        text = "\n".join(map(escaped, cue.lines))
        voice = "" if cue.speaker is None else f"<v {escaped(cue.speaker)}>"
        yield f"{clock(cue.start, '.')} --> {clock(cue.end, '.')}\n{voice}{text}\n\n"


def clock(time: float, point: str) -> str:
    """Write seconds as hours, minutes, seconds and milliseconds.

    >>> clock(3725.5, ","), clock(360000.0004, ".")
    ('01:02:05,500', '100:00:00.000')
    """
    total_s, milliseconds = divmod(round(time * 1000), 1000)
    minutes, seconds = divmod(total_s, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{seconds:02}{point}{milliseconds:03}"


SRT = Format(
    name="srt",
    summary="SubRip subtitles",
    extensions=(".srt",),
    sniff=sniff_srt,
    read=read,
    write=write_srt,
)

VTT = Format(
    name="vtt",
    summary="WebVTT subtitles",
    extensions=(".vtt",),
    sniff=sniff_vtt,
    read=read,
    write=write_vtt,
)
