"""`Restorer`: the main job. Words in; the same words out, with marks, capitals and sentences.

In: text, words or transcripts, of any length and in any number. Out: `Restored` transcripts, in order. The
count, order and times of the words never change. Memory holds the documents in hand and the scores of a few
batches of windows, whatever their length; short documents are taken in until a batch is full.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from interpunct import models, render
from interpunct.clitics import join_clitics, split_all
from interpunct.decode import DecodeOptions, Decoder
from interpunct.decode.windows import score
from interpunct.errors import InputError, ModelError, UnknownNameError
from interpunct.features import Features
from interpunct.labels import parse_text, split_token
from interpunct.models import Model, Scores
from interpunct.models.folder import load_lexicon
from interpunct.models.scores import Array, Ints, joined
from interpunct.transcript import Sentence, Transcript, Word

Document = str | Transcript | Iterable[Word | str]
"""What can be restored: text, a transcript, or words."""
Progress = Callable[[int, int], None]
PRETRAINED = Path(__file__).parent / "pretrained"


@dataclass(frozen=True, slots=True)
class Restored(Transcript):
    """A transcript with its marks and capitals back."""

    @property
    def text(self) -> str:
        """The whole text."""
        return render.text(self)

    @property
    def sentences(self) -> list[Sentence]:
        """The sentences, with the first and last word's place, times and speaker."""
        return list(render.sentences(self))


class Restorer:
    """Restores with one model.

    >>> import interpunct
    >>> restorer = interpunct.load()
    >>> restorer.restore("so how are you i am fine thanks").text
    'So how are you? I am fine. Thanks.'
    """

    def __init__(self, model: Model, lexicon: dict[str, str] | None = None) -> None:
        self.model = model
        self.lexicon = lexicon or {}

    def restore(self, document: Document, options: DecodeOptions | None = None) -> Restored:
        """Restore one document."""
        return next(self.restore_all([document], options))

    def restore_all(
        self,
        documents: Iterable[Document],
        options: DecodeOptions | None = None,
        *,
        progress: Progress | None = None,
    ) -> Iterator[Restored]:
        """Restore documents one after another; short ones share the model's batches.

        `progress` is told again and again how many of a document's words are done, and how many it has.
        """
        waiting: deque[_Job] = deque()

        def features() -> Iterator[Features]:
            for document in documents:
                job = _Job(as_transcript(document), self.model, options, self.lexicon)
                waiting.append(job)
                yield Features.of(job.units)

        done = 0
        beam = options.beam if options else 1
        for index, scores in score(self.model, features(), beam=beam):
            while done < index:
                yield waiting.popleft().result()
                done += 1
            waiting[0].take(scores)
            if progress is not None:
                progress(len(waiting[0].words), len(waiting[0].transcript))
        while waiting:
            yield waiting.popleft().result()


class _Job:
    """One document on its way: what went in, and what has come out so far."""

    def __init__(
        self, transcript: Transcript, model: Model, options: DecodeOptions | None, lexicon: dict[str, str]
    ) -> None:
        self.transcript = transcript
        self.model = model
        read = join_clitics if model.clitics == "joined" else split_all
        self.units, self.first, self.last = read([word.text for word in transcript.words])
        self.decoder = Decoder(transcript.words, model.labels, options=options, lexicon=lexicon)
        self.taken = 0
        self.held: list[Scores] = []
        self.words: list[Word] = []

    def take(self, scores: Scores) -> None:
        """Decode the next units' scores, spread over the tokens they were joined from or cut out of."""
        self.held.append(scores)
        known = self.taken + sum(map(len, self.held))
        if known < len(self.first) and self.first[known] == self.first[known - 1]:
            return  # the rest of a split word is still to come
        start, self.taken = self.taken, known
        scores, self.held = joined(self.held), []
        self._decode(scores, np.asarray(self.first[start:known]), np.asarray(self.last[start:known]))

    def _decode(self, scores: Scores, first: Ints, last: Ints) -> None:
        """Decode up to the next unit's first token, or to the end."""
        begin = len(self.words)
        end = self.first[self.taken] if self.taken < len(self.first) else len(self.transcript)
        if end - begin != len(scores) or self.model.clitics == "split":
            scores = _spread(scores, first - begin, last - begin, end - begin, self.model)
        self.words.extend(self.decoder.feed(scores))

    def result(self) -> Restored:
        """Return the document; one of which no model has anything to say is decoded only now."""
        if len(self.words) < len(self.transcript):
            nothing = {task: np.zeros((0, len(names)), np.float32) for task, names in self.model.labels.items()}
            nowhere = np.zeros(0, dtype=np.int64)
            self._decode(Scores(nothing), nowhere, nowhere)
        return Restored(tuple(self.words), self.transcript.source, self.model.name)


def _spread(scores: Scores, first: Ints, last: Ints, count: int, model: Model) -> Scores:
    """Give tokens the scores of their units: the mark stands after the last one, the case is the first's.

    Tokens that no unit stands for get no mark and lower case.
    """
    tasks: dict[str, Array] = {}
    best: dict[str, Ints] = {}
    for task, logs in scores.tasks.items():
        # Of several units of one token, the last has its mark and the first its case: who writes last stays.
        tokens, units = (last, slice(None)) if task == "mark" else (first[::-1], slice(None, None, -1))
        nothing = {"mark": "", "case": "lower"}.get(task)
        default = model.labels[task].index(nothing) if nothing in model.labels[task] else 0
        rows = np.full((count, logs.shape[1]), np.log(1e-12), dtype=np.float32)
        rows[:, default] = 0.0
        rows[tokens] = logs[units]
        tasks[task] = rows
        if task in scores.best:
            best[task] = np.full(count, default, dtype=np.int64)
            best[task][tokens] = scores.best[task][units]
    return Scores(tasks, {}, best)


def as_transcript(document: Document) -> Transcript:
    """Read text; and words of which nobody has yet told marks from letters, one word for one.

    >>> [(word.text, word.mark) for word in as_transcript(["Yes,", Word("no", mark=".")]).words]
    [('Yes', ','), ('no', '.')]
    """
    if isinstance(document, str):
        return Transcript(parse_text(document))
    words = document.words if isinstance(document, Transcript) else tuple(map(_as_word, document))
    if any(word.mark is None and word.case is None for word in words):
        words = tuple(map(_parsed, words))
    source = document.source if isinstance(document, Transcript) else ""
    return Transcript(words, source)


def _as_word(given: Word | str) -> Word:
    if isinstance(given, str):
        return Word(given)
    if not isinstance(given, Word):
        raise InputError(f"{given!r} is neither a word nor text; give a Transcript, words or a string")
    return given


def _parsed(word: Word) -> Word:
    if word.mark is not None or word.case is not None:
        return word
    text, mark, case = split_token(word.text)
    return replace(word, text=text, raw=word.token, mark=mark, case=case)


def load(model: str | Path = "default", *, threads: int | None = None) -> Restorer:
    """Load a restorer: a bundled model by its name, or any model by its folder."""
    folder = find_model(model)
    return Restorer(models.load(folder, threads=threads), load_lexicon(folder))


def find_model(model: str | Path) -> Path:
    """Return the folder of a bundled model's name or of a path."""
    bundled = {path.name: path for path in bundled_models()}
    if str(model) in bundled:
        return bundled[str(model)]
    if Path(model).is_dir():
        return Path(model)
    if "/" in str(model) or "\\" in str(model):
        raise ModelError(f"{model}: no such folder; give a model folder or one of {', '.join(bundled)}")
    raise UnknownNameError("model", str(model), bundled)


def bundled_models() -> list[Path]:
    """Return the folders of the models that come in the wheel."""
    return sorted(path.parent for path in PRETRAINED.glob("*/model.json"))
