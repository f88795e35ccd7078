"""Entries: the words of recognisers' JSON, one entry a word.

In: an entry's token, times and speaker. Out: words, with the entry's line where one is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from interpunct.errors import InputError
from interpunct.formats import located
from interpunct.formats.segments import timed
from interpunct.labels import parse_words, standalone_mark, tokens_of
from interpunct.transcript import Word

_TOKEN = re.compile(r"[^ \t\n\r\v\f]+")  # a no-break space belongs to its word


def word(
    item: object,
    token: str,
    start: float | None = None,
    end: float | None = None,
    confidence: float | None = None,
    speaker: str | None = None,
) -> Word:
    """Make a word of an entry's fields; what `Word` refuses is told with the entry's line."""
    try:
        return Word(token, start, end, confidence, speaker)
    except InputError as error:
        raise error.at(line=located.line_of(item)) from None


def spread(
    item: object, text: str, start: float | None = None, end: float | None = None, speaker: str | None = None
) -> Iterator[Word]:
    """Yield the words of a phrase of which only the whole is timed: nothing between its ends is known.

    >>> [(word.text, word.start, word.end) for word in spread({}, "so it goes .", 1.0, 2.0)]
    [('so', 1.0, None), ('it', None, None), ('goes', None, 2.0), ('.', None, None)]
    """
    try:
        yield from timed([Word(token, speaker=speaker) for token in tokens_of(text)], start, end)
    except InputError as error:
        raise error.at(line=located.line_of(item)) from None


def parsed(entries: Iterable[Word]) -> tuple[Word, ...]:
    """Turn entries as read into words with tags: one entry is one word, even with a space in it.

    >>> [(word.text, word.mark, word.end) for word in parsed([Word(" Yes —", 0.0, 0.4), Word("- No")])]
    [('Yes', '—', 0.4), ('- No', '', None)]
    """
    return tuple(parse_words(chain.from_iterable(map(_trimmed, entries))))


def _trimmed(entry: Word) -> Iterator[Word]:
    tokens = _TOKEN.findall(entry.text.strip())
    stop = len(tokens)
    # "Yes —" is a word and its mark: the mark has no time of its own, so the word keeps both.
    while stop > 1 and standalone_mark(tokens[stop - 1]) is not None:
        stop -= 1
    if tokens:
        yield Word(" ".join(tokens[:stop]), entry.start, entry.end, entry.confidence, entry.speaker)
    yield from map(Word, tokens[stop:])
