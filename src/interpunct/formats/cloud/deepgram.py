"""Deepgram: channels with alternatives; the word with its mark stands beside the bare one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from interpunct.formats import located, word_entries
from interpunct.formats.cloud.answer import Channels, first, reader, token_of
from interpunct.formats.format import Format
from interpunct.transcript import Word


def _channels(data: dict[str, Any]) -> Channels:
    results = located.an_object(data.get("results"), "'results'", data)
    if "channels" not in results:
        raise located.wrong(results, "no 'channels' in its 'results'; is this Deepgram's JSON?")
    channels = located.objects(results, "channels")
    return {
        str(number): list(_words(first(channel, "alternatives"))) for number, channel in enumerate(channels, start=1)
    }


def _words(best: dict[str, Any]) -> Iterator[Word]:
    entries = located.objects(best, "words")
    for entry in entries:
        token = token_of(entry, "punctuated_word", "word")
        start, end = located.number(entry, "start"), located.number(entry, "end")
        confidence, speaker = located.number(entry, "confidence"), located.label(entry, "speaker")
        yield word_entries.word(entry, token, start, end, confidence, speaker)
    if not entries:
        yield from word_entries.spread(best, located.string(best, "transcript") or "")


DEEPGRAM = Format(
    name="deepgram",
    summary="Deepgram's JSON (read only)",
    extensions=(".json",),
    sniff=lambda source: "results.channels" in source.json_keys,
    read=reader(_channels),
    timed=True,
    many=True,
)
