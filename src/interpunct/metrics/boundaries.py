"""Sentence boundaries: the places where a segment ends.

In: marks, of which `. ? ! ;` end a segment and `, : — …` do not; or the text of a file with one segment a line,
whose line ends are the boundaries whatever marks stand inside. Out: a mask over the words. The words are the
same either way, and compare without case (`cases.bare`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from interpunct.formats.source import lines_of
from interpunct.labels import parse_tokens, standalone_mark, tokens_of
from interpunct.transcript import Word

Mask = npt.NDArray[np.bool_]
BOUNDARY_MARKS = frozenset(".?!;")
LINES_FOR_A_MARK = 5
"""Where lines end with marks, one mark inside for so many lines is a slip; more are sentences."""


def boundaries(marks: Sequence[str | None]) -> Mask:
    """Say for each place whether a sentence ends there.

    >>> boundaries([",", "?", "", ";", "—"]).tolist()
    [False, True, False, True, False]
    """
    return np.fromiter((mark in BOUNDARY_MARKS for mark in marks), dtype=np.bool_, count=len(marks))


def boundaries_of_lines(text: str) -> tuple[tuple[Word, ...], Mask]:
    """Return the words of a text and the places of its line ends.

    A mark standing alone belongs to the word before it, also where it opens a line; a line without a word ends
    nothing.

    >>> words, mask = boundaries_of_lines("so we left the u s .\\nyes . we did\\n")
    >>> [word.text for word, last in zip(words, mask) if last]
    ['s', 'did']
    """
    lines = [tokens_of(line) for line in lines_of(text)]
    tokens = [token for line in lines for token in line]
    words = tuple(parse_tokens(tokens))
    # The first token is always a word; after it, a mark standing alone is none.
    opens = np.fromiter((standalone_mark(token) is None for token in tokens), dtype=np.bool_, count=len(tokens))
    opens[:1] = True
    place = np.cumsum(opens) - 1
    ends = np.cumsum([len(line) for line in lines if line], dtype=np.int64) - 1
    mask = np.zeros(len(words), dtype=np.bool_)
    mask[place[ends]] = True
    return words, mask


def is_segment_per_line(text: str) -> bool:
    """Say whether a text looks like one segment a line.

    It must have several lines with words. Where some line ends with one of `. ? ! ;`, the text is punctuated,
    and paragraphs, turns and wrapped lines have such marks inside: with more than one for every five lines it is
    running text. Where no line does, the marks inside are strays ("u s ."), unless they outnumber the lines.

    >>> is_segment_per_line("so how are you\\ni am in the u s . today\\n")
    True
    >>> is_segment_per_line("Well, I left. You\\nknow why. So there.\\n")
    False
    """
    words, last = boundaries_of_lines(text)
    lines = int(np.count_nonzero(last))
    if lines < 2:
        return False
    marked = boundaries([word.mark for word in words])
    inside = int(np.count_nonzero(marked & ~last))
    return inside * LINES_FOR_A_MARK <= lines if np.any(marked & last) else inside <= lines
