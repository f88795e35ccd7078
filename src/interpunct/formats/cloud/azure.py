"""Azure: batch transcription, fast transcription, and the answers of the short-audio and SDK interfaces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import chain
from typing import Any

from interpunct.formats import located, word_entries
from interpunct.formats.cloud.answer import MS_PER_S, Channels, collected, first, reader, token_of
from interpunct.formats.format import Format
from interpunct.transcript import Word

_TICKS_PER_S = 10_000_000
_ISO_DURATION = re.compile(r"PT(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:\.\d{1,12})?)S)?")


def _channels(data: dict[str, Any]) -> Channels:
    if "recognizedPhrases" in data:
        return collected(chain.from_iterable(map(_batch_words, located.objects(data, "recognizedPhrases"))))
    if "phrases" in data:
        return collected(chain.from_iterable(map(_fast_words, located.objects(data, "phrases"))))
    if "NBest" in data or "DisplayText" in data:
        return {None: list(_answer_words(data))}
    raise located.wrong(data, "no 'recognizedPhrases', 'phrases' or 'NBest' in it; is this Azure's JSON?")


def _batch_words(phrase: dict[str, Any]) -> Iterator[tuple[str | None, Word]]:
    best = first(phrase, "nBest")
    channel, speaker = located.label(phrase, "channel"), located.label(phrase, "speaker")
    # The displayed words have their marks and capitals; the others are the bare ones.
    entries = located.objects(best, "displayWords") or located.objects(best, "words")
    for entry in entries:
        confidence = located.number(entry, "confidence")
        token = token_of(entry, "displayText", "word")
        yield channel, word_entries.word(entry, token, *_times(entry), confidence, speaker)
    if not entries:
        text = located.string(best, "display", "lexical") or ""
        for word in word_entries.spread(phrase, text, *_times(phrase), speaker):
            yield channel, word


def _fast_words(phrase: dict[str, Any]) -> Iterator[tuple[str | None, Word]]:
    channel, speaker = located.label(phrase, "channel"), located.label(phrase, "speaker")
    entries = located.objects(phrase, "words")
    for entry in entries:
        confidence = located.number(entry, "confidence")
        yield channel, word_entries.word(entry, token_of(entry, "text"), *_times(entry), confidence, speaker)
    if not entries:
        text = located.string(phrase, "text") or ""
        for word in word_entries.spread(phrase, text, *_times(phrase), speaker):
            yield channel, word


def _answer_words(answer: dict[str, Any]) -> Iterator[Word]:
    best = first(answer, "NBest")
    speaker = located.label(answer, "SpeakerId")
    entries = located.objects(best, "DisplayWords") or located.objects(best, "Words")
    for entry in entries:
        confidence = located.number(entry, "Confidence")
        yield word_entries.word(entry, token_of(entry, "Word"), *_times(entry), confidence, speaker)
    if not entries:
        text = located.string(best, "Display") or located.string(answer, "DisplayText") or ""
        yield from word_entries.spread(answer, text, *_times(answer), speaker)


def _times(item: dict[str, Any]) -> tuple[float | None, float | None]:
    """Return start and end; Azure gives an offset and a duration, in one of four units."""
    for offset_name, duration_name, unit_per_s in (
        ("offsetInTicks", "durationInTicks", _TICKS_PER_S),
        ("offsetMilliseconds", "durationMilliseconds", MS_PER_S),
        ("Offset", "Duration", _TICKS_PER_S),
    ):
        offset = located.exact(item, offset_name)
        if offset is not None:
            return _span(offset, located.exact(item, duration_name), unit_per_s)
    return _span(_iso_s(item, "offset"), _iso_s(item, "duration"), 1)


def _span(offset: Decimal | None, duration: Decimal | None, per_second: int) -> tuple[float | None, float | None]:
    end = None if offset is None or duration is None else offset + duration
    return located.seconds(offset, per_second=per_second), located.seconds(end, per_second=per_second)


def _iso_s(item: dict[str, Any], name: str) -> Decimal | None:
    value = located.string(item, name)
    if value is None:
        return None
    match = _ISO_DURATION.fullmatch(value)
    if match is None or value == "PT":
        raise located.wrong(item, f"{name!r} is {value[:60]!r}, not a duration such as 'PT1.2S'")
    hours, minutes, rest = (Decimal(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + rest


AZURE = Format(
    name="azure",
    summary="Azure Speech's JSON: batch, fast and single answers (read only)",
    extensions=(".json",),
    sniff=lambda source: bool(
        {
            "recognizedPhrases",
            "combinedRecognizedPhrases",
            "phrases.offsetMilliseconds",
            "NBest",
            "DisplayText",
        }
        & source.json_keys
    ),
    read=reader(_channels),
    timed=True,
    many=True,
)
