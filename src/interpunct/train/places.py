"""`Places`: what a prosody branch learns from, one row per word of corpora with times or sound.

In: a text model, and transcripts with the marks that are right, each with its recording where there is one. Out: what
the model says of the marks at each place, the prosody there, and which mark stands there. Listening takes minutes an
hour of sound, so what was gathered is kept in a file, which tells the model and the documents: another model reads
their words anew, and what was heard at them is taken as it is. Only columns that hold something are kept.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interpunct import corpora
from interpunct.align import align, carry_marks
from interpunct.corpora.recordings import AUDIO, with_times
from interpunct.decode.reading import score_tokens
from interpunct.errors import ConfigError, InputError
from interpunct.features.prosody import Prosody, measure_prosody, prosody_of
from interpunct.models.encoded import IGNORED, taught_mark
from interpunct.models.model import Model
from interpunct.models.scores import Array, Ints
from interpunct.train.arrays import UNREADABLE, save_arrays
from interpunct.transcript import Transcript, Word

_TEXTS = ("model", "marks")  # the fields of `Places` that are no arrays
_LATER = (*_TEXTS, "read", "fits")
_ALIKE = 0.01  # how far apart a network's probabilities may be that was cut into other batches
Log = Callable[[str], None]
Recorded = tuple[Transcript, Path | None]
"""A transcript and its recording, where there is one."""


@dataclass(frozen=True, eq=False)
class Places:
    """The places after the words of some documents, one row each."""

    logs: Array = field(repr=False)
    """Places × marks: the text model's log-probabilities."""
    values: Array = field(repr=False)
    """Places × columns of prosody, 0 where `known` says that a value is missing."""
    known: NDArray[np.bool_] = field(repr=False)
    columns: Ints = field(repr=False)
    """Which of the prosodic features the columns are."""
    right: Ints = field(repr=False)
    """The index of the mark that stands there, IGNORED where nobody knows."""
    starts: Ints = field(repr=False)
    """Where documents begin, and where the last one ends."""
    model: str = ""
    """The name and version of the text model; empty where a file does not tell."""
    marks: tuple[str, ...] = ()
    """The marks that the columns of `logs` are about."""
    read: Ints = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)
    """A number for each document that was read, which other words or times would not have; none in older files."""
    fits: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_), repr=False)
    """Which of these documents are here; the recordings of the others do not fit their words."""

    def __len__(self) -> int:
        return len(self.right)

    @property
    def around(self) -> Ints:
        """Places × 3: the place before, the place itself and the one after; -1 where the document ends."""
        place = np.arange(len(self), dtype=np.int64)
        before, after = place - 1, place + 1
        filled = self.starts[:-1][np.diff(self.starts) > 0]
        before[filled] = -1
        after[[*(filled[1:] - 1), -1] if len(filled) else []] = -1
        return np.stack([before, place, after], axis=1)

    def save(self, path: Path) -> None:
        """Keep all of it in one file."""
        save_arrays(path, {name: getattr(self, name) for name in self.__dataclass_fields__})

    @classmethod
    def load(cls, path: Path) -> Places:
        """Read what `save` kept."""
        try:
            with np.load(path) as stored:
                # Files of earlier versions do not say whose scores they hold, nor of which documents.
                known = [name for name in cls.__dataclass_fields__ if name in stored or name not in _LATER]
                arrays = {name: stored[name] for name in known if name not in _TEXTS}
                model, marks = (stored[name].tolist() if name in stored else "" for name in _TEXTS)
                return cls(**arrays, model=model, marks=tuple(marks))
        except UNREADABLE as error:
            raise InputError(f"cannot be read: {error}; delete it, and gather it again", path=str(path)) from None


def gather(model: Model, documents: Iterable[Recorded], log: Log | None = None) -> Places:
    """Let a model read documents and measure their prosody; a recording that its words do not fit is left out."""
    measured: list[Prosody] = []
    kept: list[Transcript] = []
    read: list[int] = []
    fits: list[bool] = []
    for transcript, audio in documents:
        read.append(_sum(transcript))
        fits.append(False)
        try:
            _, prosody = (transcript, measure_prosody(transcript)) if audio is None else prosody_of(transcript, audio)
        except InputError as error:
            _tell(log, f"{transcript.source}: left out: {error}")
            continue
        fits[-1] = True
        measured.append(prosody)
        kept.append(transcript)
        if len(kept) % 20 == 0:
            _tell(log, f"{len(kept)} documents measured")
    if not any(map(len, kept)):
        raise InputError("no words to learn from; name other corpora")
    known = np.concatenate([prosody.known for prosody in measured])
    columns = np.flatnonzero(known.any(axis=0))
    values = np.concatenate([prosody.values for prosody in measured])
    starts = np.concatenate([[0], np.cumsum([len(document) for document in kept])])
    marks, logs, right = _said(model, kept)
    return Places(
        logs, values[:, columns], known[:, columns], columns, right, starts,
        model=model.name, marks=marks, read=np.array(read), fits=np.array(fits),
    )  # fmt: skip


def _said(model: Model, documents: Sequence[Transcript]) -> tuple[tuple[str, ...], Array, Ints]:
    """Return a model's marks, what it says of them at each place of documents, and which of them stands there."""
    marks = tuple(model.labels.get("mark", ()))
    logs = [scores.tasks["mark"] for scores in score_tokens(model, [_texts(document) for document in documents])]
    return marks, np.concatenate(logs), _right(marks, documents)


def _right(marks: Sequence[str], documents: Sequence[Transcript]) -> Ints:
    """Return which mark stands at each place of documents."""
    index = {mark: label for label, mark in enumerate(marks)}
    return np.array(
        [
            index.get(taught_mark(word, marks) or "", IGNORED) if word.mark is not None else IGNORED
            for document in documents
            for word in document.words
        ]
    )


def _taught_by(model: Model, kept: Places, documents: Sequence[Transcript]) -> bool:
    """Say whether what is kept is this model's opinion: by its name, and by what it says of the first document."""
    if (kept.model, kept.marks) != (model.name, tuple(model.labels.get("mark", ()))):
        return False
    _, logs, _ = _said(model, [next(document for document in documents if document.words)])
    return np.allclose(np.exp(logs), np.exp(kept.logs[: len(logs)]), atol=_ALIKE)


def _sum(document: Transcript) -> int:
    """Return a number that other words, or other times, would not have."""
    return zlib.crc32(repr([(word.text, word.start, word.end) for word in document.words]).encode())


def gathered(
    model: Model,
    spec: str,
    path: Path,
    *,
    aligned: Path | None = None,
    documents: int | None = None,
    log: Log | None = None,
) -> Places:
    """Return a corpus's places from a file of this model's, or gather them into it; see `read`.

    A file is of use only where its documents are those of today, word by word; of another model's what was heard is
    taken.
    """
    recorded = list(islice(read(spec, aligned=aligned), documents))
    places: Places | None = None
    if path.exists():
        kept = Places.load(path)
        whose = f"{path}: of {kept.model or 'a model not named'} with {len(kept.marks)} marks"
        if kept.read.tolist() == [_sum(transcript) for transcript, _ in recorded]:
            fitting = [transcript for (transcript, _), fits in zip(recorded, kept.fits, strict=True) if fits]
            if _taught_by(model, kept, fitting):
                return replace(kept, right=_right(kept.marks, fitting))  # marks may have been corrected
            _tell(log, f"{whose}, or of another network of this name; reading anew")
            marks, logs, right = _said(model, fitting)
            places = replace(kept, logs=logs, right=right, model=model.name, marks=marks)
        else:
            _tell(log, f"{whose}, and of other documents; gathering anew")
    if places is None:
        places = gather(model, recorded, log)
    places.save(path)
    return places


def _tell(log: Log | None, line: str) -> None:
    if log is not None:
        log(line)


def read(spec: str, *, aligned: Path | None = None) -> Iterator[Recorded]:
    """Read "corpus:split" or "corpus:split:track"; marks are the reference's, carried to a recogniser's words.

    `aligned` is a folder of transcripts that were aligned before, CORPUS/SOURCE.json, whose times are taken rather than
    found again. Of a segment whose inner marks nobody knows the mark at its end is not taught either: else it would
    seem that places with marks are commoner than they are.
    """
    name, split, *tracks = spec.split(":")
    if len(tracks) > 1 or not split:
        raise ConfigError([f"{spec!r} is neither CORPUS:SPLIT nor CORPUS:SPLIT:TRACK, e.g. debater:dev:asr"])
    root = corpora.data_root()
    track = tracks[0] if tracks else None
    heard = track == "asr"
    references = {each.source: each for each in corpora.read(name, split, root=root)} if heard else {}
    for transcript in corpora.read(name, split, root=root, track=track):
        if heard:
            taught = with_marks_of(references[transcript.source], transcript)
        else:
            taught = replace(transcript, words=tuple(map(_wholly_known, transcript.words)))
        if aligned is not None:
            taught = with_times(taught, aligned / name / f"{transcript.source}.json")
        yield taught, AUDIO[name](root, transcript.source) if name in AUDIO else None


def with_marks_of(reference: Transcript, heard: Transcript) -> Transcript:
    """Give a recogniser's words the marks of the words that they stand for."""
    found = align(_texts(reference), _texts(heard))
    marks = carry_marks(reference.marks, found)
    words = (replace(word, mark=mark) for word, mark in zip(heard.words, marks, strict=True))
    return replace(heard, words=tuple(words))


def _wholly_known(word: Word) -> Word:
    return replace(word, mark=None) if word.case is None else word


def _texts(document: Transcript) -> Sequence[str]:
    return [word.text for word in document.words]
