"""Durations: the families pause, duration and turn, which need times but no sound.

In: words with their times and speakers, and their phones where an aligner gave them. Out: columns by name, NaN where a
value is missing: a time or the neighbour is missing, phones are, or the speaker is not named (turns only).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from interpunct.audio import Phone
from interpunct.features import phone_durations
from interpunct.features.pitch import Values
from interpunct.features.register import LIMIT, Owners, learn_register
from interpunct.features.spans import Spans, after, before
from interpunct.transcript import Word

Columns = dict[str, Values]
Phones = Sequence[Sequence[Phone]]

_TICK_S = 0.01  # a pause of this length is the unit of the logarithm: shorter ones are hardly measured
_LEAST = 8  # words of a speaker that make a register
_SMALLEST = 0.1  # of deviations of logarithms: a tenth longer or shorter
_MANY_GAPS, _HEARD_GAP_S, _FEWEST_GAPS = 40, 0.05, 0.01  # recognisers leave gaps after 7 to 25 words of a hundred
_LONGEST_FIT_S = 0.1  # phones whose edges lie farther from the word's times are of another opinion about the word


def pauses(spans: Spans, owners: Owners, speakers: int) -> Columns:
    """Return the family pause."""
    gap = _told(after(spans.starts) - spans.ends)
    follows = np.maximum(gap, 0.0)
    log_after = np.log1p(follows / _TICK_S)
    log_before = before(log_after)
    # A pause belongs to the speaker before it, in both of its roles.
    register = learn_register(log_after, owners, speakers, least=_LEAST, smallest=_SMALLEST)
    speaker_after = register.of(owners).z(log_after)
    return {
        "pause_after_s": follows,
        "pause_after_log": log_after,
        "pause_after_speaker": speaker_after,
        "pause_before_s": before(follows),
        "pause_before_log": log_before,
        "pause_before_speaker": before(speaker_after),
        "pause_change": log_after - log_before,
        "pause_overlap_s": np.maximum(-gap, 0.0),
    }


def _told(gap: Values) -> Values:
    """Return the gaps between words; none is known where a recogniser lets every word last until the next begins.

    Nobody speaks long without a pause, so a text without any was timed so, and a gap of 0 in it means nothing.
    """
    known = gap[np.isfinite(gap)]
    if len(known) >= _MANY_GAPS and np.mean(known >= _HEARD_GAP_S) < _FEWEST_GAPS:
        return np.full_like(gap, np.nan)
    return gap


def durations(words: Sequence[Word], spans: Spans, phones: Phones, owners: Owners, speakers: int) -> Columns:
    """Return the family duration."""
    fitting = [_fitting(of_word, *times) for of_word, *times in zip(phones, spans.starts, spans.ends, strict=True)]
    seconds = spans.ends - spans.starts
    columns: Columns = {"duration_before_word_s": seconds}
    expected = _each(fitting, phone_durations.expected_s)
    ratios = {"word": _log(seconds) - _log(expected)}
    for unit, begin, end in (
        ("syllable", phone_durations.last_syllable, None),
        ("rhyme", phone_durations.last_vowel, None),
        ("vowel", phone_durations.last_vowel, 1),
    ):
        parts = [_part(of_word, begin(of_word), end) for of_word in fitting]
        columns[f"duration_before_{unit}_s"] = _each(parts, phone_durations.seconds)
        expected = _each(parts, phone_durations.expected_s)
        ratios[unit] = _log(columns[f"duration_before_{unit}_s"]) - _log(expected)
    for unit, ratio in ratios.items():
        log = _log(columns[f"duration_before_{unit}_s"])
        columns[f"duration_before_{unit}_phone"] = ratio
        columns[f"duration_before_{unit}_speaker"] = _by_speaker(log, owners, speakers)
        columns[f"duration_before_{unit}_both"] = _by_speaker(ratio, owners, speakers)
    letters = np.array([max(1, sum(map(str.isalnum, word.text))) for word in words], dtype=np.float64)
    columns["duration_before_letter"] = _by_speaker(_log(seconds) - np.log(letters), owners, speakers)
    longest = _each(fitting, lambda of_word: max(map(phone_durations.lengthening, of_word)))
    columns["duration_before_longest_phone"] = np.clip(longest, -LIMIT, LIMIT)
    for name in ("word_s", "word_phone", "word_speaker", "word_both", "letter"):
        columns[f"duration_after_{name}"] = after(columns[f"duration_before_{name}"])
    return columns


def turns(words: Sequence[Word], spans: Spans) -> Columns:
    """Return the family turn: whether the speaker changes, and how long ago that was."""
    count = len(words)
    changes, time_s, said = np.full(count, np.nan), np.full(count, np.nan), np.full(count, np.nan)
    began, start_s = 0, math.nan
    for place, word in enumerate(words):
        previous = words[place - 1].speaker if place else None
        if place and word.speaker != previous:
            began, start_s = place, math.nan
        if place and word.speaker is not None and previous is not None:
            changes[place - 1] = float(word.speaker != previous)
        if word.speaker is None:
            continue
        if math.isnan(start_s):
            start_s = float(spans.starts[place])
        time_s[place] = np.maximum(spans.ends[place] - start_s, 0.0)  # which keeps NaN, where `max` would not
        said[place] = place - began + 1
    return {"turn_after": changes, "turn_before": before(changes), "turn_time_s": time_s, "turn_words": said}


def _fitting(phones: Sequence[Phone], start: float, end: float) -> Sequence[Phone]:
    """Return a word's phones where they agree with its times, else none."""
    if not phones or math.isnan(start):
        return ()
    apart = max(abs(phones[0].start - start), abs(phones[-1].end - end))
    return phones if apart <= _LONGEST_FIT_S else ()


def _part(phones: Sequence[Phone], begin: int | None, size: int | None) -> Sequence[Phone]:
    return () if begin is None else phones[begin : None if size is None else begin + size]


def _each(parts: Phones, measure: Callable[[Sequence[Phone]], float]) -> Values:
    return np.array([measure(part) if part else math.nan for part in parts], dtype=np.float64)


def _log(values: Values) -> Values:
    """Return logarithms, NaN of what lasts no time at all."""
    return np.log(np.where(values > 0.0, values, np.nan))


def _by_speaker(values: Values, owners: Owners, speakers: int) -> Values:
    return learn_register(values, owners, speakers, least=_LEAST, smallest=_SMALLEST).of(owners).z(values)
