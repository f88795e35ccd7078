"""`Encoded`: a corpus as flat arrays, ready for a network to learn from.

In: transcripts with marks and cases. Out: piece ids of all words in one row, where each word's pieces end,
and a label per word and task; `IGNORED` where nobody knows the label. Documents follow one another.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from interpunct.features import normalise
from interpunct.labels import mark_with_ellipsis
from interpunct.models.pieces import Vocabulary
from interpunct.transcript import Transcript

IGNORED = -100
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Encoded:
    """Words as numbers: word i's pieces are `pieces[ends[i]:ends[i + 1]]`, its labels `labels[task][i]`."""

    pieces: Ints
    ends: Ints
    labels: Mapping[str, Ints]

    def __len__(self) -> int:
        return len(self.ends) - 1


def encode(transcripts: Iterable[Transcript], vocabulary: Vocabulary, labels: Mapping[str, tuple[str, ...]]) -> Encoded:
    """Encode every word of the transcripts."""
    pieces, ends = array("q"), array("q", [0])
    columns = {task: array("q") for task in labels}
    index: dict[str, dict[str | None, int]] = {
        task: {name: place for place, name in enumerate(names)} for task, names in labels.items()
    }
    for transcript in transcripts:
        for word in transcript.words:
            text = normalise(word.text)
            if not text:
                continue
            pieces.extend(vocabulary.ids(text))
            ends.append(len(pieces))
            if "mark" in columns:
                # A pause written as "..." teaches neither that there is a mark nor that there is none.
                columns["mark"].append(index["mark"].get(mark_with_ellipsis(word), IGNORED))
            if "case" in columns:
                columns["case"].append(index["case"].get(word.case, IGNORED))
    return Encoded(_ints(pieces), _ints(ends), {task: _ints(column) for task, column in columns.items()})


def _ints(column: array[int]) -> Ints:
    return np.frombuffer(column, dtype=np.int64) if column else np.zeros(0, dtype=np.int64)
