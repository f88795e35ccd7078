"""Tags to text, turns and sentences: with `cues`, the only place that writes spaces and line breaks.

In: a transcript with marks and cases. Out: the text a person reads. Sentences end at . ? ! and where the
speaker changes. A word's letters are its own: they were set when it was decoded. A sentence's times are those of its
words; where these lie between known ones, as inside a subtitle, they are estimated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from interpunct.labels import SENTENCE_MARKS, surface
from interpunct.timeline import known_or_between
from interpunct.transcript import Sentence, Transcript, Word


def join(words: Iterable[Word]) -> str:
    """Write words with their marks, one space between two.

    >>> join([Word("Hello", mark=","), Word("world", mark=".")])
    'Hello, world.'
    """
    return " ".join(form for form in map(surface, words) if form)


def text(transcript: Transcript) -> str:
    """Write the whole transcript as running text."""
    return join(transcript.words)


def sentences(transcript: Transcript) -> Iterator[Sentence]:
    """Cut a transcript after each closing mark and at each change of speaker.

    Words of which nothing is left to show stay with the sentence of their speaker before them.

    >>> [s.text for s in sentences(Transcript((Word("Yes", mark="."), Word("I", mark=""), Word("do", mark="."))))]
    ['Yes.', 'I do.']
    """
    words, times = transcript.words, known_or_between(transcript.words)
    first, closed = 0, False
    for index, word in enumerate(words):
        following = words[index + 1] if index + 1 < len(words) else None
        closed = word.mark in SENTENCE_MARKS or (closed and not surface(word))
        if following is None or following.speaker != word.speaker or (closed and surface(following)):
            yield _sentence(words, times, first, index)
            first, closed = index + 1, False


def turns(transcript: Transcript) -> Iterator[Sentence]:
    """Cut a transcript only where the speaker changes."""
    words, times = transcript.words, known_or_between(transcript.words)
    first = 0
    for index in range(1, len(words) + 1):
        if index == len(words) or words[index].speaker != words[first].speaker:
            yield _sentence(words, times, first, index - 1)
            first = index


def _sentence(
    words: Sequence[Word], times: Sequence[tuple[float | None, float | None]], first: int, last: int
) -> Sentence:
    known = [time for pair in times[first : last + 1] for time in pair if time is not None]
    start, end = (min(known), max(known)) if known else (None, None)
    return Sentence(first, last, start, end, words[first].speaker, join(words[first : last + 1]))
