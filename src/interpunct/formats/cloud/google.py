"""Google Speech-to-Text: results with alternatives; v1 and v2, camel case and snake case."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from itertools import chain
from typing import Any

from interpunct.formats import located, word_entries
from interpunct.formats.cloud import watson
from interpunct.formats.cloud.answer import Channels, first, reader, token_of
from interpunct.formats.format import Format
from interpunct.formats.source import Source
from interpunct.transcript import Word

_NANOS_PER_S = 1_000_000_000


def _channels(data: dict[str, Any]) -> Channels:
    response = located.an_object(data.get("response") or data, "'response'", data)
    if "results" not in response:
        raise located.wrong(response, "no 'results' in it; is this Google's JSON?")
    by_channel: dict[str | None, list[list[Word]]] = {}
    for result in located.objects(response, "results"):
        words = list(_words(first(result, "alternatives")))
        by_channel.setdefault(located.label(result, "channelTag", "channel_tag"), []).append(words)
    return {channel: list(_once(results)) for channel, results in by_channel.items()}


def _once(results: list[list[Word]]) -> Iterator[Word]:
    """With speakers told apart, the last result says all words of the others again: take it for them."""
    *earlier, last = results
    said = list(chain.from_iterable(earlier))
    repeats = 0 < len(said) <= len(last) and all(map(_is_same, said, last)) and any(word.speaker for word in last)
    return iter(last) if repeats else chain.from_iterable(results)


def _is_same(word: Word, again: Word) -> bool:
    """Say whether two words are one that is told twice; a result of text alone has no times."""
    same_time = None in (word.start, again.start) or word.start == again.start
    return same_time and word.text.casefold() == again.text.casefold()


def _words(best: dict[str, Any]) -> Iterator[Word]:
    entries = located.objects(best, "words")
    for entry in entries:
        start = _time(entry, "startTime", "start_time", "startOffset", "start_offset")
        end = _time(entry, "endTime", "end_time", "endOffset", "end_offset")
        speaker = located.label(entry, "speakerLabel", "speaker_label", "speakerTag", "speaker_tag")
        named = None if speaker in ("0", "") else speaker  # speakers count from 1; 0 is protobuf's "not set"
        yield word_entries.word(entry, token_of(entry, "word"), start, end, located.number(entry, "confidence"), named)
    if not entries:
        text = located.string(best, "transcript")
        if text is None and "content" in best:
            raise located.wrong(best, "neither 'words' nor 'transcript' in an alternative; is this Google's JSON?")
        yield from word_entries.spread(best, text or "")


def _time(entry: dict[str, Any], *names: str) -> float | None:
    name = next((name for name in names if entry.get(name) is not None), None)
    if name is None:
        return None
    value = entry[name]
    if isinstance(value, dict):
        whole, nanos = located.exact(value, "seconds"), located.exact(value, "nanos")
        total = (whole or Decimal(0)) * _NANOS_PER_S + (nanos or Decimal(0))
        return located.seconds(total, per_second=_NANOS_PER_S)
    text = value.removesuffix("s") if isinstance(value, str) else value
    return located.seconds(located.decimal(text, name, entry), per_second=1)


def _is_google(source: Source) -> bool:
    """Tell Google's answer from those of others that have results with alternatives, too (Speechmatics, Watson)."""
    keys = {key.removeprefix("response.") for key in source.json_keys}
    others = {"results.alternatives.content"} | watson.KEYS
    # Of a recording in which nobody speaks there are no results.
    return keys == {"results"} or ("results.alternatives" in keys and not others & keys)


GOOGLE = Format(
    name="google",
    summary="Google Speech-to-Text's JSON (read only)",
    extensions=(".json",),
    sniff=_is_google,
    read=reader(_channels),
    timed=True,
    many=True,
)
