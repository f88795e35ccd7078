"""Segments: words of which only the whole is timed.

In: the words of a phrase, a cue or an interval, with its start and end. Out: the first word with the start,
the last with the end, nothing in between guessed; and from such words, the runs whose times are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from textwrap import shorten

from interpunct import render
from interpunct.errors import InputError
from interpunct.labels import standalone_mark
from interpunct.transcript import Word


def timed(words: Sequence[Word], start: float | None, end: float | None, *, opening: bool = False) -> list[Word]:
    """Give a segment's start to its first word and its end to its last.

    A mark standing alone will join the word before it and takes no time, unless it is `opening` a document.

    >>> [(w.start, w.end) for w in timed([Word("So"), Word("it"), Word("is"), Word(".")], 1.0, 2.0)]
    [(1.0, None), (None, None), (None, 2.0), (None, None)]
    """
    if start is not None and end is not None and end < start:
        raise InputError(f"end {end} is before start {start}; swap them or remove the line")
    filled = list(words)
    spoken = [
        index for index, word in enumerate(filled) if standalone_mark(word.text) is None or (opening and index == 0)
    ]
    if spoken:
        first, last = spoken[0], spoken[-1]
        filled[first] = replace(filled[first], start=start, end=end if first == last else None)
        if first != last:
            filled[last] = replace(filled[last], end=end)
    return filled


def segments(words: Sequence[Word], lasts: Iterable[int], holder: str) -> Iterator[Sequence[Word]]:
    """Cut words after each of the places `lasts` that has a known time on both sides.

    A run reaches from a word with a start to one with an end, and never past a change of speaker.

    >>> words = [Word("so", 0.0), Word("it"), Word("is", end=1.0), Word("yes", 1.5, 2.0)]
    >>> [[word.text for word in run] for run in segments(words, range(4), "STM")]
    [['so', 'it', 'is'], ['yes']]
    """
    first = 0
    for last in lasts:
        following = words[last + 1] if last + 1 < len(words) else None
        same_speaker = following is not None and following.speaker == words[last].speaker
        if following is not None and same_speaker and (words[last].end is None or following.start is None):
            continue
        for index, time, name in ((first, words[first].start, "start"), (last, words[last].end, "end")):
            if time is None:
                whole = shorten(render.join(words[first : last + 1]), 60, placeholder=" …")
                raise InputError(
                    f"word {index + 1} ({words[index].text!r}) has no {name}, and {holder} needs "
                    f"the times of {whole!r}; use --to json"
                )
        yield words[first : last + 1]
        first = last + 1
