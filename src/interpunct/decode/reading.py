"""`Reading`: a document's tokens as a model reads them, and what the model says back at the tokens.

In: tokens, perhaps with their prosody, and a model that reads clitics joined or split. Out: the units it reads; and for
their scores, which come block after block, the scores of the tokens. Of a word that the model reads in parts, the mark
is the last part's and the case the first's; of tokens that it reads as one word, the mark stands after the last and the
case is the first's. A unit's prosody is that of its last token.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np

from interpunct.clitics import join_clitics, split_all
from interpunct.decode.windows import score
from interpunct.errors import InputError
from interpunct.features import Features
from interpunct.features.features import chosen_rows
from interpunct.models.model import Model
from interpunct.models.scores import Array, Ints, Scores, joined

if TYPE_CHECKING:
    from interpunct.features.prosody import Prosody

_NOTHING = {"mark": "", "case": "lower"}


class Reading:
    """One document on its way through a model."""

    def __init__(self, texts: Sequence[str], model: Model, prosody: Prosody | None = None) -> None:
        if prosody is not None and len(prosody) != len(texts):
            raise InputError(f"prosody of {len(prosody)} words for {len(texts)} words; measure it again")
        self._model = model
        self._tokens = len(texts)
        read = join_clitics if model.clitics == "joined" else split_all
        units, first, last = read(texts)
        self._first, self._last = np.asarray(first, dtype=np.int64), np.asarray(last, dtype=np.int64)
        self.features = Features.of(units, None if prosody is None else chosen_rows(prosody, self._last))
        self._held: list[Scores] = []
        self._units_done = 0
        self._tokens_done = 0

    @property
    def whole(self) -> bool:
        """Whether the scores of all units were taken."""
        return self._units_done == len(self._first)

    def take(self, scores: Scores) -> Scores | None:
        """Take the scores of the next units; return those of the tokens that are complete with them, if any is."""
        self._held.append(scores)
        known = self._units_done + sum(map(len, self._held))
        if known < len(self._first) and self._first[known] == self._first[known - 1]:
            return None  # the rest of a split word is still to come
        units = slice(self._units_done, known)
        end = int(self._first[known]) if known < len(self._first) else self._tokens
        begin, self._units_done, self._tokens_done = self._tokens_done, known, end
        found, self._held = joined(self._held), []
        return self._spread(found, self._first[units] - begin, self._last[units] - begin, end - begin)

    def rest(self) -> Scores | None:
        """Return the scores of tokens that are left, in a document of which the model has nothing to read."""
        if self._tokens_done == self._tokens and self._tokens:
            return None
        nothing = {task: np.zeros((0, len(names)), np.float32) for task, names in self._model.labels.items()}
        nowhere = np.zeros(0, dtype=np.int64)
        return self._spread(Scores(nothing), nowhere, nowhere, self._tokens - self._tokens_done)

    def _spread(self, scores: Scores, first: Ints, last: Ints, count: int) -> Scores:
        """Give `count` tokens the scores of their units; one that no unit stands for has no mark and lower case."""
        if count == len(scores) and np.array_equal(first, last) and np.array_equal(first, np.arange(count)):
            return scores
        tasks: dict[str, Array] = {}
        best: dict[str, Ints] = {}
        for task, logs in scores.tasks.items():
            # Of several units of one token, the last has its mark and the first its case: who writes last stays.
            tokens, units = (last, slice(None)) if task == "mark" else (first[::-1], slice(None, None, -1))
            names = self._model.labels[task]
            nothing = names.index(_NOTHING[task]) if _NOTHING.get(task) in names else 0
            rows = np.full((count, logs.shape[1]), np.log(1e-12), dtype=np.float32)
            rows[:, nothing] = 0.0
            rows[tokens] = logs[units]
            tasks[task] = rows
            if task in scores.best:
                best[task] = np.full(count, nothing, dtype=np.int64)
                best[task][tokens] = scores.best[task][units]
        return Scores(tasks, {}, best)


def score_tokens(
    model: Model,
    documents: Iterable[Sequence[str]],
    *,
    batch: int = 16,
    beam: int = 1,
    prosody: Iterable[Prosody | None] | None = None,
) -> Iterator[Scores]:
    """Yield what a model says of every token of each document, without deciding anything.

    `prosody` has an entry for each document.
    """
    pairs = zip(documents, repeat(None)) if prosody is None else zip(documents, prosody, strict=True)
    readings = [Reading(texts, model, rows) for texts, rows in pairs]
    parts: list[list[Scores]] = [[] for _ in readings]
    for index, scores in score(model, (reading.features for reading in readings), batch=batch, beam=beam):
        found = readings[index].take(scores)
        if found is not None:
            parts[index].append(found)
    for reading, found_parts in zip(readings, parts, strict=True):
        rest = reading.rest()
        yield joined(found_parts if rest is None else [*found_parts, rest])
