"""IBM Watson: results with alternatives; times, confidences and speakers are lists of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from interpunct.formats import located, word_entries
from interpunct.formats.cloud.answer import Channels, first, reader, token_of
from interpunct.formats.format import Format
from interpunct.transcript import Word

KEYS = frozenset(("result_index", "results.alternatives.timestamps"))
"""What no other service's answer has beside results with alternatives."""

Speakers = dict[float | None, str | None]
"""Who says the word that begins then."""


def _channels(data: dict[str, Any]) -> Channels:
    speakers = {
        located.number(label, "from"): located.label(label, "speaker")
        for label in located.objects(data, "speaker_labels")
    }
    words = [
        word
        for result in located.objects(data, "results")
        if result.get("final") is not False  # said while it listens, and again when it is sure
        for word in _words(first(result, "alternatives"), speakers)
    ]
    return {None: words}


def _words(best: dict[str, Any], speakers: Speakers) -> Iterator[Word]:
    timestamps = located.a_list(best, "timestamps")
    scores = located.a_list(best, "word_confidence")
    confidences = [
        located.number(located.fields(score, ("word", "score"), "a word", scores), "score") for score in scores
    ]
    if len(confidences) != len(timestamps):
        confidences = [None] * len(timestamps)
    for timestamp, confidence in zip(timestamps, confidences, strict=True):
        entry = located.fields(timestamp, ("word", "start", "end"), "a word", timestamps)
        start, end = located.number(entry, "start"), located.number(entry, "end")
        yield word_entries.word(entry, token_of(entry, "word"), start, end, confidence, speakers.get(start))
    if not timestamps:
        yield from word_entries.spread(best, located.string(best, "transcript") or "")


WATSON = Format(
    name="watson",
    summary="IBM Watson Speech to Text's JSON (read only)",
    extensions=(".json",),
    sniff=lambda source: "results.alternatives" in source.json_keys and bool(KEYS & source.json_keys),
    read=reader(_channels),
    timed=True,
    many=True,
)
