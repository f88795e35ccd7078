"""Speechmatics: words and marks are one list, as AWS has them; the speaker stands with the alternative."""

from __future__ import annotations

from typing import Any

from interpunct.formats import located
from interpunct.formats.cloud.answer import Channels, reader
from interpunct.formats.cloud.items import item_words
from interpunct.formats.format import Format


def _channels(data: dict[str, Any]) -> Channels:
    if "results" not in data:
        raise located.wrong(data, "no 'results' in it; is this Speechmatics' JSON?")
    by_channel: dict[str | None, list[dict[str, Any]]] = {}
    for result in located.objects(data, "results"):
        if result.get("type") != "speaker_change":
            by_channel.setdefault(located.label(result, "channel"), []).append(result)
    return {channel: list(item_words(results)) for channel, results in by_channel.items()}


SPEECHMATICS = Format(
    name="speechmatics",
    summary="Speechmatics' JSON (read only)",
    extensions=(".json",),
    sniff=lambda source: {"results.type", "results.alternatives.content"} <= source.json_keys,
    read=reader(_channels),
    timed=True,
    many=True,
)
