"""The aligner: when each word of a transcript was said.

In: a recording and the words said in it. Out: the same transcript with start and end per word, None where a word could
not be placed; the phones of each word for whoever wants them.

An hour is aligned window by window. A window ends in a pause, and is searched for the next words of the transcript,
as many as the sound itself says were spoken. Only the words well before the window's end are kept; the next window
begins in the last pause between kept words, so a mistake at an edge is not handed on. Where the next words do not fit,
the window is made shorter, and the search may begin at a later word; where none fit, the window is passed over. Words
fit by their score per frame, relative to the best state searched in that frame: a transcript of another recording
falls so far below that it is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from interpunct.audio.listener import FRAME_S, Heard, Listener
from interpunct.audio.reach import is_silent
from interpunct.audio.sound import RATE
from interpunct.audio.speech import cut_place, speech_frames
from interpunct.audio.window import Clock, Reel, shortened
from interpunct.errors import InputError
from interpunct.transcript import Transcript

_FASTEST = 6.0  # words a second: more than the fastest speaker says over a window
_AHEAD = 360  # words among which a window may begin that the next words do not fit
_SHORT = 1 / 3  # of a window, where a whole one does not fit
_RUN = 8  # words: a passage that may not fit much worse than the whole
_SLACK = 1.0  # how much worse
_LEAST_SAID = 0.2  # the share of a piece that its words must fill
_SETTLED_S = 4.0  # words this near to a window's end are placed again by the next window
_FEW = 12  # words: fewer tell less surely whether they are of this recording
_NOTE = 8  # words of a note in square brackets, at most
_NOTED = re.compile(r"\(\w+\)|<\w+>")
_BREATH_S = 0.1  # a pause between two words behind which a window may begin


Progress = Callable[[int, int], None]
"""Takes how many words are done, and of how many."""


@dataclass(frozen=True, slots=True)
class AlignOptions:
    """How to align: the length of a window, and how well words must fit the sound."""

    window_s: float = 30.0
    least_fit: float = -3.5  # mean log score per frame; set between right (worst -2.3) and wrong (best -3.8)
    least_fit_few: float = -3.1  # of a transcript of few words, which can be found in any speech
    least_placed: float = 0.5  # the share of words that must be placed, or the transcript is of something else


@dataclass(frozen=True, slots=True)
class Phone:
    """One phone (ARPAbet) and when it was said, in seconds."""

    name: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class AudioAlignment:
    """A transcript with times, the phones of each of its words (none where it was not placed), and how well it fits.

    `fit` is the mean score per frame of the placed words: 0 is perfect, lower is worse.
    """

    transcript: Transcript
    phones: tuple[tuple[Phone, ...], ...]
    fit: float
    placed: int


def align_audio(
    audio: str | Path,
    transcript: Transcript,
    *,
    options: AlignOptions | None = None,
    progress: Progress | None = None,
) -> Transcript:
    """Return the transcript with the times at which its words are said in the recording.

    A word that could not be placed has no times. A transcript that is not of this recording is an `InputError`.
    """
    return _align(audio, transcript, options or AlignOptions(), progress, with_phones=False).transcript


def align_phones(
    audio: str | Path,
    transcript: Transcript,
    *,
    options: AlignOptions | None = None,
    progress: Progress | None = None,
) -> AudioAlignment:
    """Align as `align_audio` does, and return the phones of each word and the fit, too."""
    return _align(audio, transcript, options or AlignOptions(), progress, with_phones=True)


def _align(
    audio: str | Path, transcript: Transcript, options: AlignOptions, progress: Progress | None, *, with_phones: bool
) -> AudioAlignment:
    listener = Listener(with_phones=with_phones)
    keys = spoken(transcript, listener)
    if not keys:
        raise InputError("the transcript has no word that can be spoken; give the words of the recording")
    indices = list(keys)
    words = [replace(word, start=None, end=None) for word in transcript.words]
    phones: list[tuple[Phone, ...]] = [()] * len(words)
    placed: list[Heard] = []
    for heard, clock in _walk(Reel(audio), list(keys.values()), listener, options):
        index = indices[heard.place]
        start, end = clock.span(heard.first_s, heard.last_s)
        words[index] = replace(words[index], start=start, end=end)
        phones[index] = _phones(heard, clock, start, end)
        placed.append(heard)
        if progress is not None:
            progress(index + 1, len(words))
    if len(keys) < _FEW and fit_of(placed) < options.least_fit_few:
        placed.clear()
    if len(placed) < options.least_placed * len(keys):
        if is_silent(audio):
            raise InputError("nobody speaks in this recording; give the one of the transcript", path=str(audio))
        raise InputError(
            f"the transcript does not fit this recording: {len(placed)} of {len(keys)} words could be placed; "
            "check that it is the transcript of this audio, that the audio is whole, and that it holds English speech",
            path=str(audio),
        )
    return AudioAlignment(replace(transcript, words=tuple(words)), tuple(phones), fit_of(placed), len(placed))


def spoken(transcript: Transcript, listener: Listener) -> dict[int, str]:
    """Return the places of the words that can be heard, and under which name the listener knows each."""
    unspoken = noted([word.token for word in transcript.words])
    return {
        place: key
        for place, word in enumerate(transcript.words)
        if place not in unspoken and (key := listener.key(word.token))
    }


def noted(tokens: Sequence[str]) -> set[int]:
    """Return the places of what a transcriber noted and nobody said: "[door slams]", "(Applause)", "<noise>".

    Round brackets of several words are an aside, which is spoken.

    >>> sorted(noted("so [door slams] we (Applause) went (as you know) home".split()))
    [1, 2, 4]
    """
    found: set[int] = set()
    for place, token in enumerate(tokens):
        if token[:1] == "[":
            last = next((end for end in range(place, min(place + _NOTE, len(tokens))) if "]" in tokens[end]), None)
            found.update(() if last is None else range(place, last + 1))
        elif _NOTED.fullmatch(token):
            found.add(place)
    return found


def _phones(heard: Heard, clock: Clock, start: float, end: float) -> tuple[Phone, ...]:
    """Return the phones of a word; none where a shortened pause cuts some of them off from the word's times."""
    phones = tuple(Phone(phone.name, *clock.span(phone.first_s, phone.last_s)) for phone in heard.phones)
    return phones if all(start <= phone.start and phone.end <= end for phone in phones) else ()


def _walk(reel: Reel, keys: Sequence[str], listener: Listener, options: AlignOptions) -> Iterator[tuple[Heard, Clock]]:
    """Yield the words that are placed for good, window after window, with the clock of their window."""
    at_s, begin, short = 0.0, 0, False
    while begin < len(keys):
        length_s = options.window_s * (_SHORT if short else 1.0)
        window = reel.window(at_s, length_s)
        if len(window) < RATE // 10:
            return
        last = len(window) / RATE < length_s
        cut_s = len(window) / RATE if last else cut_place(window, 0.7 * length_s, length_s)
        piece, clock = shortened(window[: int(cut_s * RATE)], at_s)
        piece_s, reach = len(piece) / RATE, int(length_s * _FASTEST)
        heard = listener.listen(piece, keys[begin : begin + reach]) if speech_frames(piece).any() else []
        if short and heard and not _fits(heard, piece_s, options.least_fit):
            heard = listener.listen(piece, keys[begin : begin + _AHEAD], anywhere=True)
        if not _fits(heard, piece_s, options.least_fit):
            # Short windows part what fits from what does not. What does not fit even then is passed over.
            at_s += cut_s if short else 0.0
            short = True
            continue
        short = False
        kept, resume_s = (len(heard), None) if last else _settled(heard, piece_s)
        for word in heard[:kept]:
            yield replace(word, place=begin + word.place), clock
        begin += heard[kept - 1].place + 1
        at_s = at_s + cut_s if resume_s is None else clock.time(resume_s)


def _fits(heard: Sequence[Heard], piece_s: float, least: float) -> bool:
    """Say whether words fit: all together, and no run of them much worse, as where one side has a passage more.

    They must fill a part of the piece, too: a word or two can be found in music or noise.
    """
    said_s = sum(word.last_s - word.first_s for word in heard)
    runs = (heard[first : first + _RUN] for first in range(max(1, len(heard) - _RUN + 1)))
    return said_s >= _LEAST_SAID * piece_s and fit_of(heard) >= least and min(map(fit_of, runs)) >= least - _SLACK


def fit_of(heard: Sequence[Heard]) -> float:
    """Return the mean score per frame, minus infinity where nothing was heard."""
    frames = sum(word.last_s - word.first_s for word in heard) / FRAME_S
    return sum(word.score for word in heard) / frames if frames else -math.inf


def _settled(heard: Sequence[Heard], whole_s: float) -> tuple[int, float | None]:
    """Return how many words of a window stay, and the second where the next begins (None: where this one ends).

    The last pause between words that is not near the end; without any pause, the last word's end that is not.
    """
    calm = [count for count in range(1, len(heard)) if heard[count - 1].last_s <= whole_s - _SETTLED_S]
    if not calm:
        return len(heard), None
    paused = [count for count in calm if heard[count].first_s - heard[count - 1].last_s >= _BREATH_S]
    count = paused[-1] if paused and paused[-1] >= len(calm) // 2 else calm[-1]
    return count, (heard[count - 1].last_s + heard[count].first_s) / 2
