"""`Encoded`: a corpus as flat arrays, ready for a network to learn from.

In: transcripts with marks and cases, and perhaps tags of other tasks or prosody beside them (`Tagged`). Out: piece ids
of all words in one row, where each word's pieces end, where sentences begin, and a label per word and task; `IGNORED`
where nobody knows the label. Documents follow one another. A teacher's probabilities may stand beside the labels, and
a row of prosody beside each word.
"""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from interpunct.clitics import split_clitics
from interpunct.errors import InputError
from interpunct.features import normalise
from interpunct.features.features import chosen_rows
from interpunct.labels import SENTENCE_MARKS, mark_with_ellipsis, to_three
from interpunct.models.model import Clitics
from interpunct.models.pieces import Vocabulary
from interpunct.models.scores import Array, Chances, Ints
from interpunct.transcript import Transcript, Word

if TYPE_CHECKING:
    from interpunct.features.prosody import Prosody

IGNORED = -100

States = npt.NDArray[np.int8]


@dataclass(frozen=True)
class Tagged:
    """A transcript and its words' tags for tasks that a word itself does not know, e.g. parts of speech.

    One that has such tags teaches only them, and neither marks nor cases. Prosody is a row for each word.
    """

    transcript: Transcript
    tags: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    prosody: Prosody | None = None

    def __post_init__(self) -> None:
        if self.prosody is not None and len(self.prosody) != len(self.transcript.words):
            name, words = self.transcript.source or "a transcript", len(self.transcript.words)
            raise InputError(f"{name}: prosody of {len(self.prosody)} words for {words} words; measure it again")

    def tag(self, task: str, place: int) -> str | None:
        """Return a word's tag for a task, or None where nobody knows it."""
        return self.tags[task][place] if task in self.tags else None


@dataclass(frozen=True)
class Heard:
    """How a recogniser mishears the words of a corpus: what it writes instead, and how often it misses them."""

    numbers: npt.NDArray[np.uint32]
    """Which of the different words each word is."""
    others: Ints
    """For each different word places in the corpus of words that are heard instead, each as often as it is drawn."""
    replaced: Array
    """For each different word the share that is heard as another."""
    missed: Array
    """For each different word the share that is not heard."""


@dataclass(frozen=True)
class Encoded:
    """Words as numbers: word i's pieces are `pieces[ends[i]:ends[i + 1]]`, its labels `labels[task][i]`."""

    pieces: Ints
    ends: Ints
    starts: Ints
    """The words that begin a sentence or a document."""
    labels: Mapping[str, Ints]
    targets: Mapping[str, Chances] = field(default_factory=dict)
    """A teacher's probabilities, words × labels per task; empty where there is no teacher."""
    states: States | None = None
    """Some of a teacher's states, words × numbers; None where nobody kept them."""
    heard: Heard | None = None
    prosody: Prosody | None = None
    """A row for each word, all of it missing for words that came without; None where no word came with any."""

    def __len__(self) -> int:
        return len(self.ends) - 1


def joined(parts: Sequence[Encoded]) -> Encoded:
    """Put corpora of the same tasks behind one another; how their words are misheard is lost."""
    if len(parts) == 1:
        return parts[0]
    words = np.cumsum([0, *(len(part) for part in parts)])
    pieces = np.cumsum([0, *(len(part.pieces) for part in parts)])
    ends = [part.ends[1:] + first for part, first in zip(parts, pieces, strict=False)]
    return Encoded(
        np.concatenate([part.pieces for part in parts]),
        np.concatenate([np.zeros(1, dtype=np.int64), *ends]),
        np.concatenate([part.starts + first for part, first in zip(parts, words, strict=False)]),
        {task: np.concatenate([part.labels[task] for part in parts]) for task in parts[0].labels},
        {task: np.concatenate([part.targets[task] for part in parts]) for task in parts[0].targets},
        prosody=joined_prosody([part.prosody for part in parts], [len(part) for part in parts]),
    )


def joined_prosody(parts: Sequence[Prosody | None], sizes: Sequence[int]) -> Prosody | None:
    """Put rows of prosody behind one another; a part that has none is so many rows of which nothing is known."""
    some = next((part for part in parts if part is not None), None)
    if some is None:
        return None
    for part in parts:
        if part is not None and part.names != some.names:
            raise InputError("prosody with different columns in one corpus; measure all documents again")
    shape = (sum(sizes), len(some.names))
    values, known = np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=np.bool_)
    first = 0
    for part, size in zip(parts, sizes, strict=True):
        if part is not None:
            values[first : first + size], known[first : first + size] = part.values, part.known
        first += size
    return replace(some, values=values, known=known)


def encode(
    documents: Iterable[Transcript | Tagged],
    vocabulary: Vocabulary,
    labels: Mapping[str, tuple[str, ...]],
    *,
    clitics: Clitics = "joined",
) -> Encoded:
    """Encode every word; of a word that is split, the first part has its case and the last its mark.

    All parts of a word have its row of prosody; a word without anything to read drops out with its row.
    """
    prosody: list[Prosody | None] = []
    sizes: list[int] = []
    pieces, ends, starts = array("q"), array("q", [0]), array("q")
    columns = {task: array("q") for task in labels}
    index: dict[str, dict[str | None, int]] = {
        task: {name: place for place, name in enumerate(names)} for task, names in labels.items()
    }
    inside = {"mark": index.get("mark", {}).get("", IGNORED), "case": index.get("case", {}).get("lower", IGNORED)}
    for document in documents:
        tagged = document if isinstance(document, Tagged) else Tagged(document)
        opens = True
        read = array("q")
        for place, word in enumerate(tagged.transcript.words):
            parts = [text for text in map(normalise, parts_of(word.text, clitics)) if text]
            if not parts:
                continue
            if opens:
                starts.append(len(ends) - 1)
            opens = word.mark in SENTENCE_MARKS
            read.extend([place] * len(parts))
            known = {} if tagged.tags else {"mark": taught_mark(word, index.get("mark", {})), "case": word.case}
            for number, part in enumerate(parts):
                pieces.extend(vocabulary.ids(part))
                ends.append(len(pieces))
                for task, column in columns.items():
                    decides = number == (len(parts) - 1 if task == "mark" else 0)
                    if decides or task not in inside:
                        tag = known[task] if task in known else tagged.tag(task, place)
                        if task == "case" and len(parts) > 1:
                            tag = case_of_first(part, tag)
                        column.append(index[task].get(tag, IGNORED))
                    else:
                        column.append(IGNORED if tagged.tags else inside[task])
        prosody.append(None if tagged.prosody is None else chosen_rows(tagged.prosody, _ints(read)))
        sizes.append(len(read))
    return Encoded(
        _ints(pieces),
        _ints(ends),
        _ints(starts),
        {task: _ints(column) for task, column in columns.items()},
        prosody=joined_prosody(prosody, sizes),
    )


def parts_of(text: str, clitics: Clitics) -> list[str]:
    """Return what a model reads of a word: itself, or its parts where clitics are split."""
    return split_clitics(text) if clitics == "split" else [text]


def case_of_first(part: str, case: str | None) -> str | None:
    """Return the case of a split word's first part: the word's, but a capital letter alone is a single one.

    >>> case_of_first("i", "sentence"), case_of_first("we", "sentence")
    ('single', 'sentence')
    """
    return "single" if case == "sentence" and len(part) == 1 else case


def taught_mark(word: Word, names: Container[str | None]) -> str | None:
    """Return the label that a word teaches: its mark, or the one of the papers' three that it counts as.

    A pause written as "..." teaches neither that there is a mark nor that there is none.
    """
    mark = mark_with_ellipsis(word)
    if mark is None or mark == "…" or mark in names:
        return mark  # nobody knows "…" as a label
    return to_three(mark)


def _ints(column: array[int]) -> Ints:
    return np.frombuffer(column, dtype=np.int64) if column else np.zeros(0, dtype=np.int64)
