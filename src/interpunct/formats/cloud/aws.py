"""AWS Transcribe: words and marks are items of one list, times are strings."""

from __future__ import annotations

from typing import Any

from interpunct.formats import located, word_entries
from interpunct.formats.cloud.answer import Channels, first, reader
from interpunct.formats.cloud.items import Speakers, item_words
from interpunct.formats.format import Format


def _channels(data: dict[str, Any]) -> Channels:
    results = located.an_object(data.get("results"), "'results'", data)
    if not {"channel_labels", "items", "transcripts"} & results.keys():
        raise located.wrong(results, "no 'items' or 'transcripts' in its 'results'; is this AWS Transcribe's JSON?")
    labels = located.an_object(results.get("channel_labels") or {}, "'channel_labels'", results)
    channels = located.objects(labels, "channels")
    if channels:
        return {
            located.label(channel, "channel_label"): list(item_words(located.objects(channel, "items")))
            for channel in channels
        }
    words = list(item_words(located.objects(results, "items"), _speakers(results)))
    if not words:
        transcript = first(results, "transcripts")
        words = list(word_entries.spread(transcript, located.string(transcript, "transcript") or ""))
    return {None: words}


def _speakers(results: dict[str, Any]) -> Speakers:
    """Return who speaks from when to when, as older answers tell it: beside the items."""
    labels = located.an_object(results.get("speaker_labels") or {}, "'speaker_labels'", results)
    return {
        (located.number(item, "start_time"), located.number(item, "end_time")): located.label(item, "speaker_label")
        for segment in located.objects(labels, "segments")
        for item in located.objects(segment, "items")
    }


AWS = Format(
    name="aws",
    summary="AWS Transcribe's JSON (read only)",
    extensions=(".json",),
    sniff=lambda source: bool({"results.items", "results.transcripts"} & source.json_keys),
    read=reader(_channels),
    timed=True,
    many=True,
)
