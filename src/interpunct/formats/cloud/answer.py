"""Answers: what all cloud recognisers' JSON has in common.

In: a function that finds the words of each channel in a service's answer. Out: a reader of transcripts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from interpunct.formats import located, word_entries
from interpunct.formats.source import Source
from interpunct.transcript import Transcript, Word

Channels = dict[str | None, list[Word]]
"""The words of each channel, in the order of the file; None is the channel of those that name none."""

MS_PER_S = 1000


def reader(channels_of: Callable[[dict[str, Any]], Channels]) -> Callable[[Source], Iterator[Transcript]]:
    """Return the reader that makes transcripts of what a service's function finds in its answer."""

    def transcripts(data: Any, name: str) -> list[Transcript]:
        channels = channels_of(located.an_object(data, "the document"))
        if len(channels) < 2:
            return [Transcript(word_entries.parsed(chain.from_iterable(channels.values())), name)]
        return [
            Transcript(word_entries.parsed(words), name if channel is None else f"{name}#{channel}")
            for channel, words in channels.items()
        ]

    def read(source: Source) -> Iterator[Transcript]:
        yield from chain.from_iterable(located.read_located(source.text, source.id, transcripts))

    return read


def collected(words: Iterable[tuple[str | None, Word]]) -> Channels:
    """Put words together by their channels."""
    channels: Channels = {}
    for channel, word in words:
        channels.setdefault(channel, []).append(word)
    return channels


def first(item: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the first, that is the best, of a list of alternatives, or an empty one."""
    return next(iter(located.objects(item, name)), {})


def token_of(entry: dict[str, Any], *names: str) -> str:
    """Return what a word's entry says under the first of these names that it has."""
    token = located.string(entry, *names)
    if token is None:
        raise located.wrong(entry, f"a word without {names[0]!r}; every word needs one")
    return token
