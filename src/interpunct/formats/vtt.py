"""What stands in a subtitle cue: its markup, its words, and what it only shows again.

In: a cue's times and its rows as written. Out: words with the times and speakers that the cue gives; markup
gone, entities decoded, a speaker's dash kept on the word behind it ("-Hello"). Rolling captions show each
row twice or more while it moves up; whether a file rolls is decided for the file as a whole, so that a line
said twice in ordinary subtitles is read twice. Cue files are cut into cues in `subtitles`, not here.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from interpunct.errors import InputError
from interpunct.formats.segments import timed
from interpunct.labels import TOKEN
from interpunct.transcript import Word

TIME = r"(?:(\d{1,6}):)?(\d{1,6}):(\d{1,2})(?:[.,](\d{1,9}))?"
"""A clock time, as a regular expression: hours (perhaps), minutes, seconds, decimals (perhaps)."""

_STAMP = re.compile(rf"<{TIME}>", re.ASCII)
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?[ \t]+([^>]*)>", re.IGNORECASE)
_TAGS = "c|i|b|u|s|v|lang|ruby|rt|font|em|strong|span|br"
# Only known tags go: "<unk>" is a word that a recogniser wrote.
_MARKUP = re.compile(rf"\{{\\[^}}]*\}}|<[\d:.,]+>|</?(?:{_TAGS})(?:[.\s/][^>]*)?>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|\w{1,32});")
_SPEAKER_SIGNS = frozenset(("-", ">>", ">>>"))
_LONG_DASHES = frozenset(("–", "—"))
# Automatic captions put a cue of 10 ms between two others; nobody could read a subtitle this short.
_FLASH_S = 0.05


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a cue without its markup, and where in it a time or a voice was written."""

    text: str
    stamps: tuple[tuple[int, float], ...] = ()
    voices: tuple[tuple[int, str | None], ...] = ()

    @property
    def key(self) -> str:
        """The text to compare by."""
        return " ".join(self.text.split())


@dataclass(frozen=True, slots=True)
class ShownCue:
    """A cue as it was read: the line of its timing, when it shows, its rows."""

    line: int
    start: float
    end: float
    rows: tuple[Row, ...]

    @property
    def is_flash(self) -> bool:
        """Whether it is too short to be read."""
        return self.end - self.start <= _FLASH_S


def time_of(hours: str | None, minutes: str, seconds: str, decimals: str | None) -> float:
    """Read the parts of a clock time.

    >>> time_of("1", "02", "05", "5"), time_of(None, "00", "01", "280")
    (3725.5, 1.28)
    """
    decimals = decimals or "0"
    scale = int("1" + "0" * len(decimals))
    whole_s = int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds)
    return (whole_s * scale + int(decimals)) / scale


def row(line: str) -> Row:
    """Read one row of a cue.

    >>> row("<i>it</i> &amp;<00:00:01.280><c> is</c>")
    Row(text='it & is', stamps=((4, 1.28),), voices=())
    """
    if "<" not in line and "{" not in line:
        return Row(_decoded(line))
    text = ""
    stamps: list[tuple[int, float]] = []
    voices: list[tuple[int, str | None]] = []
    done = 0
    for tag in _MARKUP.finditer(line):
        text += _decoded(line[done : tag.start()])
        done = tag.end()
        if stamp := _STAMP.fullmatch(tag[0]):
            stamps.append((len(text), time_of(*stamp.groups())))
        elif voice := _VOICE.fullmatch(tag[0]):
            voices.append((len(text), " ".join(_decoded(voice[1]).split()) or None))
        elif tag[0].lower() == "</v>":
            voices.append((len(text), None))
        elif tag[0].lower().startswith("<br"):
            text += " "
        elif tag[0][1].isdigit():
            text += tag[0]  # "<12>" is no time
    return Row(text + _decoded(line[done:]), tuple(stamps), tuple(voices))


def _decoded(text: str) -> str:
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), text) if "&" in text else text


def escaped(text: str) -> str:
    """Write text so that a VTT reader takes none of it for markup.

    >>> escaped("R&B <3")
    'R&amp;B &lt;3'
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def words_of(cue: ShownCue, *, opening: bool) -> list[Word]:
    """Return the words of a cue; each is a token as read, with the times that the cue gives.

    Inline times cut the cue into pieces, and a piece gives its start to its first word and its end to its
    last; a cue without them is one piece. A time inside a word says nothing about words.
    """
    pieces: list[tuple[float, list[Word]]] = [(cue.start, [])]
    speaker: str | None = None
    dialogue = any(shown.key.startswith(("-", "–", "—")) for shown in cue.rows[:1])
    for number, shown in enumerate(cue.rows):
        stamps, voices = list(shown.stamps), list(shown.voices)
        for begin, stop, token in _tokens(shown.text, clings=dialogue or number == 0):
            while stamps and stamps[0][0] <= begin:
                pieces.append((stamps.pop(0)[1], []))
            while voices and voices[0][0] <= begin:
                speaker = voices.pop(0)[1]
            while stamps and stamps[0][0] < stop:
                stamps.pop(0)
            pieces[-1][1].append(Word(token, speaker=speaker))
        pieces += [(time, []) for _, time in stamps]
        speaker = voices[-1][1] if voices else speaker
    words: list[Word] = []
    ends = [start for start, _ in pieces[1:]] + [cue.end]
    for (start, spoken), end in zip(pieces, ends, strict=True):
        if end < start:
            raise InputError(f"inline time {end} s comes after {start} s; times in a cue go up to its end")
        words += timed(spoken, start, end, opening=opening and not words)
    return words


def _tokens(text: str, *, clings: bool) -> Iterator[tuple[int, int, str]]:
    """Yield (begin, stop, token); a speaker's dash or chevron before the first word joins it.

    A long dash is a speaker's only where the cue begins with one (`clings`): otherwise it is a mark that was
    wrapped to the next row.
    """
    tokens = [(match.start(), match.end(), match[0]) for match in TOKEN.finditer(text)]
    if len(tokens) > 1:
        (begin, _, sign), (_, stop, word) = tokens[:2]
        if sign in _SPEAKER_SIGNS or (clings and sign in _LONG_DASHES):
            tokens[:2] = [(begin, stop, sign + word)]
    yield from tokens


def unrolled(cues: Iterable[ShownCue]) -> Iterator[ShownCue]:
    """Yield the cues with text; where the file rolls, each with its new rows only."""
    shown = [replace(cue, rows=tuple(r for r in cue.rows if r.key)) for cue in cues]
    shown = [cue for cue in shown if cue.rows]
    if not _rolls(shown):
        yield from shown
        return
    previous: ShownCue | None = None
    for cue in shown:
        repeated = 0 if previous is None else _repeated(previous, cue)
        previous = cue
        if repeated < len(cue.rows):
            yield replace(cue, rows=cue.rows[repeated:])


def _rolls(cues: list[ShownCue]) -> bool:
    """Say whether at least half of the cues begin with what the cue before ended with, as only rolling does.

    A cue that merely repeats the one before is no sign of it ("No." "No."); signs are a flash, a row whose
    inline times are gone the second time, and two cues that put a new row below a repeated one.
    """
    repeating = scrolling = certain = 0
    for previous, cue in pairwise(cues):
        repeated = _repeated(previous, cue)
        if repeated:
            lost_times = any(shown.stamps for shown in previous.rows) and not cue.rows[0].stamps
            repeating += 1
            scrolling += repeated < len(cue.rows)
            certain += cue.is_flash or lost_times
    return repeating * 2 >= len(cues) - 1 and (certain > 0 or scrolling > 1)


def _repeated(previous: ShownCue, cue: ShownCue) -> int:
    """Return how many rows at the cue's top are the last rows of the cue before.

    A cue that is no flash should bring a new row, which is tried first: of "no" above "no", the lower is new.
    """
    above, below = [shown.key for shown in previous.rows], [shown.key for shown in cue.rows]
    counts = list(range(min(len(above), len(below)), 0, -1))
    if not cue.is_flash and counts and counts[0] == len(below):
        counts.append(counts.pop(0))
    return next((count for count in counts if above[-count:] == below[:count]), 0)
