"""A teacher's probabilities beside the labels of a corpus, for a student to learn from (Yi et al. 2017).

In: a student that encodes documents, a teacher (any model, an ensemble above all), and documents that can be read
twice. Out: the student's `Encoded` corpus with the teacher's probabilities of every word, in the student's order of
labels. How much they count is the student's option `distil`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from interpunct.decode.windows import score
from interpunct.errors import InputError
from interpunct.features import Features, normalise
from interpunct.models.encoded import Encoded, Tagged, parts_of
from interpunct.models.model import Clitics, Model, Scorer
from interpunct.models.scores import Array, Chances, Ints
from interpunct.train.pack import Pack, distinct
from interpunct.transcript import Transcript

Documents = Callable[[], Iterable[Transcript | Tagged]]


class Student(Model, Protocol):
    """A model that can be taught."""

    def encode(self, documents: Iterable[Transcript | Tagged]) -> Encoded:
        """Encode documents."""


def taught(
    model: Student, teacher: Model, documents: Documents, *, temperature: float = 1.0, batch: int = 256
) -> Encoded:
    """Encode documents for a student and put the teacher's probabilities of each word beside its labels.

    A `temperature` above 1 makes the teacher less sure of itself. `documents` is called twice and must give the same.
    """
    if not 0 < temperature < math.inf:
        raise InputError(f"temperature {temperature} must be a number above 0; 1 leaves the teacher as sure as it is")
    columns = _columns(model, teacher)
    encoded = model.encode(documents())
    targets = {task: np.empty((len(encoded), len(order)), dtype=np.float32) for task, order in columns.items()}
    done = 0
    for _, scores in score(teacher, _read(documents(), model.clitics), batch=batch):
        if done + len(scores) > len(encoded):
            done += len(scores)
            break
        for task, order in columns.items():
            targets[task][done : done + len(scores)] = _softened(scores.tasks[task][:, order], temperature)
        done += len(scores)
    if done != len(encoded):
        raise InputError(
            f"the teacher {teacher.name} read {'more' if done > len(encoded) else f'only {done}'} words where "
            f"the student {model.name} read {len(encoded)}; give documents that are the same at every reading"
        )
    return replace(encoded, targets=targets)


def taught_packs(model: Any, teacher: Any, packs: Sequence[Pack]) -> Encoded:
    """Encode packs for a student and put the teacher's probabilities beside their labels, the quick way.

    The teacher is a network or an ensemble of them, which read the packs with vocabularies of their own; a pack that
    stands there several times is read once.
    """
    columns = _columns(model, teacher)
    read = distinct(packs)
    said = asked(teacher, Pack.joined(read))
    begins = np.cumsum([0, *map(len, read)]).tolist()
    spans = {id(pack): slice(*span) for pack, span in zip(read, pairwise(begins), strict=True)}
    targets = {
        task: np.concatenate([said[task][spans[id(pack)]] for pack in packs])[:, order]
        for task, order in columns.items()
    }
    return replace(Pack.joined(packs).encoded(model.vocabulary, model.labels), targets=targets)


def asked(teacher: Any, pack: Pack) -> dict[str, Chances]:
    """Return what a teacher says of every word of a pack, in its own order of labels."""
    if not len(pack):
        raise InputError("the packs hold no words; name others")
    members = getattr(teacher, "members", (teacher,))
    found: dict[str, Chances] = {}
    for member in members:
        said = _said(member, pack)
        for task, names in teacher.labels.items():
            order = [member.labels[task].index(name) for name in names]
            share = said[task][:, order] / np.float16(len(members))
            found[task] = found[task] + share if task in found else share
    return found


def _said(member: Any, pack: Pack) -> dict[str, Chances]:
    """Return what one teacher says of every word: a network reads packs as they are, an exported model words."""
    if hasattr(member, "chances"):
        found: dict[str, Chances] = member.chances(pack.encoded(member.vocabulary, member.labels))
        return found
    if not isinstance(member, Scorer):
        raise InputError(f"the teacher {member.name} cannot read packs; name corpora in data.train")
    found = {task: np.empty((len(pack), len(names)), np.float16) for task, names in member.labels.items()}
    done = 0
    for _, scores in score(member, pack.features()):
        for task, rows in found.items():
            rows[done : done + len(scores)] = np.exp(scores.tasks[task])
        done += len(scores)
    return found


def _columns(model: Student, teacher: Model) -> dict[str, Ints]:
    """Return for each of the student's tasks where its labels stand among the teacher's."""
    if model.clitics != teacher.clitics:
        raise InputError(
            f"the teacher {teacher.name} reads clitics {teacher.clitics}, the student {model.name} {model.clitics}; "
            f"set the option clitics to {teacher.clitics!r} or take another teacher"
        )
    columns: dict[str, Ints] = {}
    for task, names in model.labels.items():
        known = teacher.labels.get(task, ())
        if sorted(known) != sorted(names):
            raise InputError(
                f"the teacher {teacher.name} has the {task} labels {known}, the student {model.name} {names}; "
                "give both the same"
            )
        columns[task] = np.array([known.index(name) for name in names], dtype=np.int64)
    return columns


def _read(documents: Iterable[Transcript | Tagged], clitics: Clitics) -> Iterator[Features]:
    """Yield what a student's encoder reads: words' parts, without those of which nothing is left."""
    for document in documents:
        words = (document.transcript if isinstance(document, Tagged) else document).words
        parts = (normalise(part) for word in words for part in parts_of(word.text, clitics))
        yield Features(tuple(filter(None, parts)))


def _softened(logs: Array, temperature: float) -> Array:
    """Return probabilities at a temperature."""
    scaled = logs / temperature
    chances = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True), dtype=np.float32)
