"""`Pack`: corpora as numbers, read once from their texts and many times from one file.

In: corpora by name. Out: a file with every word's number, mark and case, where documents begin, and the surface forms
that no rule gives back; from it, in seconds, what a network with any vocabulary learns from. Reading fifty million
words from their texts takes a quarter of an hour, which is more than training on them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from interpunct.cases import CASES, recase, trim
from interpunct.errors import InputError
from interpunct.features import Features, normalise
from interpunct.labels import MARKS, SENTENCE_MARKS, mark_with_ellipsis, to_three
from interpunct.models.encoded import IGNORED, Encoded
from interpunct.models.pieces import Vocabulary
from interpunct.models.scores import Ints
from interpunct.train.arrays import UNREADABLE, save_arrays
from interpunct.transcript import Transcript

SUFFIX = ".pack"
UNKNOWN = 255
"""The tag of a word whose mark or case nobody knows."""

_TAGS: dict[str, tuple[str, ...]] = {"mark": MARKS, "case": CASES}
_FORMAT = 1
_CHUNK = 1 << 22  # words that are turned into pieces at a time

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Pack:
    """Words as numbers, commonest first, and what is known of each."""

    words: tuple[str, ...]
    numbers: npt.NDArray[np.uint32]
    tags: Mapping[str, Bytes]
    """For "mark" and "case" the place of each word's in `MARKS` and `CASES`, or `UNKNOWN`."""
    documents: Ints
    """The first word of each document."""
    forms: Mapping[str, int]
    """How often each surface form occurs that no rule gives back."""
    sources: tuple[str, ...] = ()
    """The corpora, as "corpus:split"; a model's card names them with their licences."""

    def __len__(self) -> int:
        return len(self.numbers)

    @classmethod
    def of(cls, transcripts: Iterable[Transcript], *, sources: Sequence[str] = ()) -> Pack:
        """Pack transcripts; words of which normalisation leaves nothing are left out."""
        first_seen: dict[str, int] = {}
        numbers: list[npt.NDArray[np.uint32]] = []
        tags: dict[str, list[Bytes]] = {task: [] for task in _TAGS}
        places: dict[str, dict[str | None, int]] = {
            task: {name: place for place, name in enumerate(names)} for task, names in _TAGS.items()
        }
        begins: list[int] = []
        forms: Counter[str] = Counter()
        count = 0
        for transcript in transcripts:
            read = [(text, word) for word in transcript.words if (text := normalise(word.text))]
            if not read:
                continue
            begins.append(count)
            count += len(read)
            row = (first_seen.setdefault(text, len(first_seen)) for text, _ in read)
            numbers.append(np.fromiter(row, dtype=np.uint32, count=len(read)))
            # A pause written as "…" is among no marks: nobody knows whether it is one.
            marks = (places["mark"].get(mark_with_ellipsis(word), UNKNOWN) for _, word in read)
            tags["mark"].append(np.fromiter(marks, dtype=np.uint8, count=len(read)))
            cases = (places["case"].get(word.case, UNKNOWN) for _, word in read)
            tags["case"].append(np.fromiter(cases, dtype=np.uint8, count=len(read)))
            forms.update(surface_forms(transcript))
        return cls(
            *_commonest_first(tuple(first_seen), _row(numbers, np.uint32)),
            {task: _row(rows, np.uint8) for task, rows in tags.items()},
            np.array(begins, dtype=np.int64),
            dict(forms.most_common()),
            tuple(sources),
        )

    @classmethod
    def joined(cls, packs: Sequence[Pack]) -> Pack:
        """Put packs behind one another."""
        if len(packs) == 1:
            return packs[0]
        first_seen: dict[str, int] = {}
        numbers = []
        for pack in packs:
            table = [first_seen.setdefault(word, len(first_seen)) for word in pack.words]
            numbers.append(np.array(table, dtype=np.uint32)[pack.numbers])
        forms: Counter[str] = Counter()
        for pack in packs:
            forms.update(pack.forms)
        begins = np.cumsum([0, *(len(pack) for pack in packs)])
        return cls(
            *_commonest_first(tuple(first_seen), np.concatenate(numbers)),
            {task: np.concatenate([pack.tags[task] for pack in packs]) for task in _TAGS},
            np.concatenate([pack.documents + begin for pack, begin in zip(packs, begins, strict=False)]),
            dict(forms.most_common()),
            tuple(dict.fromkeys(source for pack in packs for source in pack.sources)),
        )

    def of_documents(self, chosen: npt.NDArray[np.bool_]) -> Pack:
        """Return a pack of some of the documents."""
        return self.of_words(np.repeat(chosen, np.diff(np.append(self.documents, len(self)))))

    def of_words(self, chosen: npt.NDArray[np.bool_]) -> Pack:
        """Return a pack of some of the words; behind others that are left out a document begins.

        Which surface forms stand among these is not known, so it has none.
        """
        words, numbers = _commonest_first(self.words, self.numbers[chosen])
        begins = np.append(True, ~chosen[:-1])[: len(self)]
        begins[self.documents] = True
        return Pack(
            words[: int(numbers.max()) + 1 if len(numbers) else 0],
            numbers,
            {task: row[chosen] for task, row in self.tags.items()},
            np.flatnonzero(begins[chosen]),
            {},
            self.sources,
        )

    def save(self, path: str | Path) -> None:
        """Write the pack to a file."""
        path = Path(path)
        about = {"pack": _FORMAT, "sources": self.sources, "forms": self.forms}
        arrays: dict[str, Any] = {
            "about": np.frombuffer(json.dumps(about).encode(), dtype=np.uint8),
            "words": np.frombuffer("\n".join(self.words).encode(), dtype=np.uint8),
            "numbers": self.numbers,
            "documents": self.documents,
            **self.tags,
        }
        save_arrays(path, arrays)

    @classmethod
    def load(cls, path: Path) -> Pack:
        """Read a pack from its file."""
        try:
            with np.load(path) as arrays:
                about = json.loads(arrays["about"].tobytes())
                if about["pack"] != _FORMAT:
                    raise InputError("made by another version of interpunct; pack the corpora again", path=str(path))
                words = tuple(filter(None, arrays["words"].tobytes().decode().split("\n")))
                tags = {task: arrays[task] for task in _TAGS}
                return cls(words, arrays["numbers"], tags, arrays["documents"], about["forms"], tuple(about["sources"]))
        except FileNotFoundError:
            raise InputError("no such file; make it with recipes/bundled/pack.py", path=str(path)) from None
        except InputError:
            raise
        except UNREADABLE as error:
            raise InputError(f"not a pack of corpora ({error}); pack them again", path=str(path)) from None

    def texts(self) -> Iterator[str]:
        """Yield every word, in order."""
        for first in range(0, len(self), _CHUNK):
            yield from map(self.words.__getitem__, self.numbers[first : first + _CHUNK].tolist())

    def features(self) -> Iterator[Features]:
        """Yield each document as a model reads it."""
        for begin, end in pairwise([*self.documents.tolist(), len(self)]):
            yield Features(tuple(map(self.words.__getitem__, self.numbers[begin:end].tolist())))

    def encoded(self, vocabulary: Vocabulary, labels: Mapping[str, tuple[str, ...]]) -> Encoded:
        """Return what a network learns from: every word's pieces and labels."""
        rows = [vocabulary.ids(word) for word in self.words]
        sizes = np.array([len(row) for row in rows], dtype=np.int64)
        flat = np.array([piece for row in rows for piece in row], dtype=np.int64)
        begins = np.cumsum(sizes) - sizes
        ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes[self.numbers])])
        pieces = np.empty(int(ends[-1]), dtype=np.int64)
        for first in range(0, len(self), _CHUNK):
            chosen = self.numbers[first : first + _CHUNK]
            inside = slice(int(ends[first]), int(ends[first + len(chosen)]))
            offset = np.arange(inside.stop - inside.start) - np.repeat(ends[first : first + len(chosen)], sizes[chosen])
            pieces[inside] = flat[np.repeat(begins[chosen], sizes[chosen]) + offset + inside.start]
        return Encoded(
            pieces, ends, self._starts(), {task: self._labels(task, names) for task, names in labels.items()}
        )

    def _starts(self) -> Ints:
        """Return the words that begin a sentence or a document."""
        closing = [place for place, mark in enumerate(MARKS) if mark in SENTENCE_MARKS]
        behind = np.flatnonzero(np.isin(self.tags["mark"][:-1], closing)) + 1
        return np.union1d(self.documents, behind).astype(np.int64)

    def _labels(self, task: str, names: tuple[str, ...]) -> Ints:
        """Return a task's labels; a mark that is not among them counts as one of the papers' three."""
        if task not in _TAGS:
            return np.full(len(self), IGNORED, dtype=np.int64)
        index = {name: place for place, name in enumerate(names)}
        table = np.full(UNKNOWN + 1, IGNORED, dtype=np.int64)
        for place, name in enumerate(_TAGS[task]):
            table[place] = index.get(name, index.get(to_three(name), IGNORED) if task == "mark" else IGNORED)
        return table[self.tags[task]]


def distinct(packs: Iterable[Pack]) -> list[Pack]:
    """Return each pack once, in the order in which they first stand there."""
    return list({id(pack): pack for pack in packs}.values())


def surface_forms(transcript: Transcript) -> Iterator[str]:
    """Yield the forms of a transcript's words that no rule gives back from lower case: "iPhone", "NATO's"."""
    for word in transcript.words:
        if word.case in ("mixed", "upper"):
            core = trim(word.text)[1]
            if word.case == "mixed" or recase(core, "upper") != core:
                yield core


def _row(rows: Sequence[npt.NDArray[Any]], kind: Any) -> npt.NDArray[Any]:
    return np.concatenate(rows) if rows else np.zeros(0, dtype=kind)


def _commonest_first(
    words: tuple[str, ...], numbers: npt.NDArray[np.uint32]
) -> tuple[tuple[str, ...], npt.NDArray[np.uint32]]:
    """Number words by how often they occur: small numbers pack better."""
    order = np.argsort(-np.bincount(numbers, minlength=len(words)), kind="stable")
    place = np.empty(len(words), dtype=np.uint32)
    place[order] = np.arange(len(words), dtype=np.uint32)
    return tuple(words[old] for old in order.tolist()), place[numbers]
