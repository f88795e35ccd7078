"""The phones of words whose times are known.

In: a recording and its transcript with times. Out: the phones of each word. Stretches between pauses are cut out by the
words' own times and followed word by word, which costs a fraction of finding the words. Nothing is guessed: a stretch
whose words are not heard in it has no phones, and where hardly any are, the times are another recording's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from interpunct.audio.aligner import AlignOptions, Phone, fit_of, spoken
from interpunct.audio.listener import Heard, Listener
from interpunct.audio.reach import is_silent
from interpunct.audio.sound import RATE
from interpunct.audio.window import Reel
from interpunct.errors import InputError
from interpunct.transcript import Transcript, Word

_PAUSE_S = 0.12  # between two stretches
_LONGEST_S = 8.0  # of a stretch, where no pause comes
_AROUND_S = 0.08  # of sound on either side of a stretch: times are no better than that
_LAPPED_S = 0.05  # how far two words of a stretch may overlap


@dataclass(frozen=True, slots=True)
class Stretch:
    """Words said without a pause: their places in the transcript, and from when to when."""

    places: tuple[int, ...]
    start: float
    end: float


def timed_phones(
    audio: str | Path, transcript: Transcript, *, options: AlignOptions | None = None
) -> tuple[tuple[Phone, ...], ...]:
    """Return the phones of each word, none where it has no times or was not heard at them."""
    options = options or AlignOptions()
    listener = Listener(with_phones=True, quick=True)  # phones' edges differ by 12 ms at the 90th percentile
    words = transcript.words
    keys = {place: key for place, key in spoken(transcript, listener).items() if words[place].duration_s}
    phones: list[tuple[Phone, ...]] = [()] * len(words)
    if not keys:
        return tuple(phones)
    reel, heard_all = Reel(audio), 0
    for stretch in stretches(words, list(keys)):
        begin = max(0.0, stretch.start - _AROUND_S)
        samples = reel.window(begin, stretch.end + _AROUND_S - begin)
        if len(samples) < RATE // 20:
            continue
        heard = listener.follow(samples, [keys[place] for place in stretch.places])
        if heard and fit_of(heard) >= options.least_fit:
            heard_all += len(heard)
            for place, word in zip(stretch.places, heard, strict=True):
                phones[place] = _shifted(word, begin)
    if heard_all < options.least_placed * len(keys):
        if is_silent(audio):
            raise InputError("nobody speaks in this recording; give the one of the transcript", path=str(audio))
        raise InputError(
            f"the words are not heard at their times: {heard_all} of {len(keys)} are; check that the transcript and "
            "its times are of this recording (to restore without it, leave it out; features do with --no-phones)",
            path=str(audio),
        )
    return tuple(phones)


def stretches(words: Sequence[Word], places: Sequence[int]) -> Iterator[Stretch]:
    """Cut the words at these places into stretches, in the order of their times."""
    order = sorted(places, key=lambda place: words[place].start or 0.0)
    run: list[int] = []
    for place in order:
        if run and not _goes_on(words, run, place):
            yield _stretch(words, run)
            run = []
        run.append(place)
    if run:
        yield _stretch(words, run)


def _goes_on(words: Sequence[Word], run: Sequence[int], place: int) -> bool:
    before, word = words[run[-1]], words[place]
    gap = (word.start or 0.0) - (before.end or 0.0)
    length = (word.end or 0.0) - (words[run[0]].start or 0.0)
    return place > run[-1] and before.speaker == word.speaker and -_LAPPED_S <= gap < _PAUSE_S and length <= _LONGEST_S


def _stretch(words: Sequence[Word], run: Sequence[int]) -> Stretch:
    return Stretch(tuple(run), words[run[0]].start or 0.0, max(words[place].end or 0.0 for place in run))


def _shifted(word: Heard, begin: float) -> tuple[Phone, ...]:
    return tuple(
        Phone(phone.name, round(begin + phone.first_s, 4), round(begin + phone.last_s, 4)) for phone in word.phones
    )
