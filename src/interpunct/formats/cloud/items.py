"""Items: the words and marks of a list that has both, as AWS Transcribe and Speechmatics write them.

In: the entries of such a list. Out: words with their marks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from interpunct.formats import located, word_entries
from interpunct.formats.cloud.answer import first, token_of
from interpunct.transcript import Word

Speakers = dict[tuple[float | None, float | None], str | None]
"""Who speaks from when to when."""


def item_words(items: Iterable[dict[str, Any]], speakers: Speakers | None = None) -> Iterator[Word]:
    """Yield words of items that are words or marks; a mark joins the word before it, or the next where it says so."""
    held: Word | None = None
    opening = ""
    for item in items:
        best = first(item, "alternatives")
        token = token_of(best or item, "content")
        if item.get("type") == "punctuation" and item.get("attaches_to") == "next":
            opening += token
            continue
        if held is not None and item.get("type") == "punctuation":
            held = replace(held, text=held.text + token)
            continue
        if held is not None:
            yield held
        start, end = located.number(item, "start_time"), located.number(item, "end_time")
        speaker = located.label(item, "speaker_label") or (speakers or {}).get((start, end)) or _speaker_of(best)
        held = word_entries.word(item, opening + token, start, end, located.number(best, "confidence"), speaker)
        opening = ""
    if held is not None:
        yield replace(held, text=held.text + opening)


def _speaker_of(best: dict[str, Any]) -> str | None:
    speaker = located.label(best, "speaker")
    return None if speaker == "UU" else speaker  # Speechmatics' "unknown"
