"""`Restorer`: the main job. Words in; the same words out, with marks, capitals and sentences.

In: text, words or transcripts, of any length and in any number. Out: `Restored` transcripts, in order. The
count, order and times of the words never change. Memory holds the documents in hand and one window's worth
of scores, whatever their length.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from interpunct import models, render
from interpunct.decode import DecodeOptions, Decoder
from interpunct.errors import ModelError, UnknownNameError
from interpunct.features import Features
from interpunct.labels import join_clitics, parse_text, parse_words
from interpunct.models import Model, Scores
from interpunct.models.folder import load_lexicon
from interpunct.models.windows import score
from interpunct.transcript import Sentence, Transcript, Word

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

    def restore(self, document: str | Transcript | Iterable[Word], options: DecodeOptions | None = None) -> Restored:
        """Restore one document."""
        return next(self.restore_all([document], options))

    def restore_all(
        self,
        documents: Iterable[str | Transcript | Iterable[Word]],
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
                yield Features.of(job.joined)

        done = 0
        for index, scores in score(self.model, features()):
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
        self.joined, self.last = join_clitics([word.text for word in transcript.words])
        self.decoder = Decoder(transcript.words, model.labels, options=options, lexicon=lexicon)
        self.taken = 0
        self.words: list[Word] = []

    def take(self, scores: Scores) -> None:
        """Decode the next joined words' scores, spread over the tokens they were joined from."""
        stop = self.taken + len(scores)
        tokens = np.asarray(self.last[self.taken : stop], dtype=np.int64)
        self.taken = stop
        self.words.extend(self.decoder.feed(_spread(scores, tokens - len(self.words), self.model)))

    def result(self) -> Restored:
        return Restored(tuple(self.words), self.transcript.source, self.model.name)


def _spread(scores: Scores, last: np.ndarray, model: Model) -> Scores:
    """Give each token of a joined word its scores: the mark stands after the last one, the case is the first's."""
    count = int(last[-1]) + 1
    if count == len(scores):
        return scores
    first = np.concatenate([[0], last[:-1] + 1])
    spread = {}
    for task, logs in scores.tasks.items():
        rows = np.full((count, logs.shape[1]), np.log(1e-12), dtype=logs.dtype)
        rows[:, model.labels[task].index("" if task == "mark" else "lower")] = 0.0
        rows[last if task == "mark" else first] = logs
        spread[task] = rows
    return Scores(spread)


def as_transcript(document: str | Transcript | Iterable[Word]) -> Transcript:
    """Read text; and words of which nobody has yet told marks from letters, one word for one."""
    if isinstance(document, str):
        return Transcript(parse_text(document))
    transcript = document if isinstance(document, Transcript) else Transcript(tuple(document))
    if transcript.words and all(word.mark is None and word.case is None for word in transcript.words):
        return replace(transcript, words=tuple(parse_words(transcript.words, join=False)))
    return transcript


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
