"""AssemblyAI: one list of words, times in milliseconds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from interpunct.formats import located, word_entries
from interpunct.formats.cloud.answer import MS_PER_S, Channels, collected, reader, token_of
from interpunct.formats.format import Format
from interpunct.formats.source import Source
from interpunct.transcript import Word

_KEYS = frozenset(
    (
        "audio_url",
        "audio_duration",
        "acoustic_model",
        "language_model",
        "speech_model",
        "utterances",
        "webhook_url",
    )
)
_ANSWERED = frozenset(("id", "status", "text"))
"""What every transcript has beside its words, though only some of it was kept."""


def _channels(data: dict[str, Any]) -> Channels:
    if data.get("words") is None:
        text = located.string(data, "text")
        if text is None:
            what = located.string(data, "error") or "neither 'words' nor 'text' in it; wait until it is done"
            raise located.wrong(data, f"not a finished AssemblyAI transcript: {what}")
        return {None: list(word_entries.spread(data, text))}
    return collected(_words(data))


def _words(data: dict[str, Any]) -> Iterator[tuple[str | None, Word]]:
    for entry in located.objects(data, "words"):
        start = located.seconds(located.exact(entry, "start"), per_second=MS_PER_S)
        end = located.seconds(located.exact(entry, "end"), per_second=MS_PER_S)
        confidence, speaker = located.number(entry, "confidence"), located.label(entry, "speaker")
        word = word_entries.word(entry, token_of(entry, "text"), start, end, confidence, speaker)
        yield located.label(entry, "channel"), word


def _is_assemblyai(source: Source) -> bool:
    keys = source.json_keys
    own = len(keys & _KEYS)
    return own >= 2 or ({"words.text", "words.start"} <= keys and (own == 1 or keys >= _ANSWERED))


ASSEMBLYAI = Format(
    name="assemblyai",
    summary="AssemblyAI's JSON (read only)",
    extensions=(".json",),
    sniff=_is_assemblyai,
    read=reader(_channels),
    timed=True,
    many=True,
)
