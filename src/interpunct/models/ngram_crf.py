"""The n-gram CRF: the baseline of papers 001, 002 and 004 (section 6.3.2: window 7, order 2), by CRFsuite.

In: windows of words. Out: log-probabilities per word (the marginals) and the best labels of all (Viterbi), one linear
chain per task. A word's features are the n-grams in a window around it, see `ngrams`; nothing else is looked at.
It learns from running text. A word whose label nobody knows is in no training sequence: the sequence ends before it
and a new one begins behind it, while its neighbours still see it. A label that the text never showed gets no
probability. Needs the extra [papers].
"""

from __future__ import annotations

import ctypes
import gzip
import os
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pycrfsuite

from interpunct import config
from interpunct.errors import ConfigError, ModelError
from interpunct.features import Features
from interpunct.models.context_options import ContextOptions
from interpunct.models.dev_scores import dev_scores
from interpunct.models.encoded import IGNORED, Tagged
from interpunct.models.encoded_texts import EncodedTexts, check_corpora, encode_texts
from interpunct.models.folder import DESCRIPTION, Description
from interpunct.models.learner import Learner
from interpunct.models.loop_options import LoopOptions
from interpunct.models.model import Clitics
from interpunct.models.scores import Array, Ints, Scores
from interpunct.transcript import Transcript

BEGIN, END = "<s>", "</s>"
"""What stands before and behind a text; no normalised word looks like these."""
_LONGEST_WORD = 40
_LEAST = 1e-12
_FILE = "{}.crfsuite.gz"

Items = Iterator[list[str]] | Iterator[dict[str, float]]
"""What a chain sees of each word: features that are there, or features and their values."""


@dataclass(frozen=True)
class NgramCRFOptions(ContextOptions):
    """What the chain looks at, and how it learns."""

    clitics: Clitics = "split"
    context: Literal["overlap", "restart", "whole"] = "whole"
    """With windows, train and dev are cut into them, too."""
    window_words: int = 7
    """Words whose n-grams are a word's features: itself and as many before it as behind it."""
    order: int = 2
    """The longest n-grams: 1 is single words, 2 pairs, 3 triples."""
    least: int = 2
    """How often a feature must occur with a label to be learned."""
    sequence: int = 500
    """Words of a training sequence, at most; features look beyond its ends."""
    algorithm: Literal["lbfgs", "l2sgd", "ap", "pa", "arow"] = "lbfgs"
    """CRFsuite's; the last three learn no probabilities, and confidences are then only an order."""
    iterations: int | None = None
    """Passes over the text at most; without it, the training loop's epochs."""
    c1: float = 0.0
    """L1 regularisation (lbfgs)."""
    c2: float = 1.0
    """L2 regularisation (lbfgs, l2sgd)."""

    def __post_init__(self) -> None:
        self.as_context()
        if self.window_words < 1 or self.window_words % 2 == 0:
            raise ValueError(f"window_words {self.window_words} must be odd: a word and as many on either side")
        if not 1 <= self.order <= self.window_words:
            raise ValueError(f"order {self.order} must be at least 1 and at most window_words {self.window_words}")
        if self.sequence < 1 or self.least < 1:
            raise ValueError("sequence and least must be at least 1")
        if self.iterations is not None and self.iterations < 0:
            raise ValueError(f"iterations {self.iterations} must not be negative")
        if self.c1 < 0 or self.c2 < 0:
            raise ValueError("c1 and c2 must not be negative")


def ngrams(texts: Sequence[str], *, window_words: int, order: int) -> Iterator[list[str]]:
    """Yield each word's features: the n-grams of the window around it, with their places counted from the word.

    Beyond the text's ends stand `<s>` and `</s>`. An over-long word is clipped.

    >>> first, last = ngrams(["so", "what"], window_words=3, order=2)
    >>> first
    ['-1=<s>', '0=so', '1=what', '-1,0=<s> so', '0,1=so what']
    >>> last
    ['-1=so', '0=what', '1=</s>', '-1,0=so what', '0,1=what </s>']
    """
    reach = window_words // 2
    padded = [BEGIN] * reach + [text[:_LONGEST_WORD] for text in texts] + [END] * reach
    templates: list[tuple[str, int, list[str]]] = []
    for size in range(1, order + 1):
        grams = [" ".join(padded[first : first + size]) for first in range(len(padded) - size + 1)]
        for first in range(window_words - size + 1):
            places = range(first - reach, first - reach + size)
            templates.append((",".join(map(str, places)) + "=", first, grams))
    for word in range(len(texts)):
        yield [places + grams[word + first] for places, first, grams in templates]


class NgramCRF(Learner):
    """A linear chain per task over n-grams."""

    TYPE: ClassVar[str] = "ngram_crf"
    OPTIONS: ClassVar[Any] = NgramCRFOptions

    def __init__(self, description: Description, chains: Mapping[str, Chain]) -> None:
        self.description = description
        self.options: Any = config.build(self.OPTIONS, description.options)
        self.chains = dict(chains)

    @classmethod
    def untrained(cls, description: Description, _options: Any, _words: Iterable[str], _seed: int) -> Self:
        """Return a model for which all labels are alike; its vocabulary comes with training."""
        return cls(description, {task: Chain(b"", names) for task, names in description.labels.items()})

    def forward(self, windows: Sequence[Features]) -> list[Scores]:
        """Score windows."""
        return [self._scores(window) for window in windows]

    def _scores(self, window: Features) -> Scores:
        tasks: dict[str, Array] = {}
        best: dict[str, Ints] = {}
        for task, chain in self.chains.items():
            tasks[task], best[task] = chain.read(self.features(task, window, best), len(window))
        return Scores(tasks, {}, best)

    def features(self, _task: str, window: Features, _best: Mapping[str, Ints]) -> Items:
        """Yield what a task's chain sees of each word: the same for every task, unless a type says otherwise.

        `_best` are the labels that the chains of earlier tasks have found.
        """
        return ngrams(window.texts, window_words=self.options.window_words, order=self.options.order)

    def encode(self, documents: Iterable[Transcript | Tagged]) -> EncodedTexts:
        """Encode documents with the model's own labels; every word is kept."""
        return encode_texts(documents, self.labels, clitics=self.clitics)

    def fit(
        self,
        train: EncodedTexts,
        dev: EncodedTexts,
        *,
        loop: LoopOptions,
        log: Callable[[dict[str, float]], None],
    ) -> Self:
        """Learn from encoded transcripts, and score dev once at the end.

        Of the loop's options only `epochs` counts, and `seed` for algorithms that shuffle (all but lbfgs).
        """
        check_corpora(train, dev)
        iterations = loop.epochs if self.options.iterations is None else self.options.iterations
        if not iterations:
            return self
        started = time.monotonic()
        done, loss = 0, 0.0
        for task, names in self.labels.items():
            learned = self._learn(task, train, iterations, loop.seed)
            self.chains[task] = Chain(learned.data, names)
            done, loss = max(done, learned.iterations), loss + learned.loss
        row = {"epoch": done, "loss": loss, **self._dev_scores(dev)}
        log({name: round(value, 5) for name, value in row.items()} | {"seconds": round(time.monotonic() - started, 1)})
        return self

    def _learn(self, task: str, train: EncodedTexts, iterations: int, seed: int) -> _Learned:
        """Learn one task; one that the text says nothing of is not learned."""
        trainer = pycrfsuite.Trainer(self.options.algorithm, verbose=False)
        wanted = {
            "feature.minfreq": self.options.least,
            "max_iterations": iterations,
            "c1": self.options.c1,
            "c2": self.options.c2,
        }
        taken = trainer.params()
        trainer.set_params({name: value for name, value in wanted.items() if name in taken})
        names = [crfsuite_label(label) for label in self.labels[task]]
        count = 0
        # Documents are cut as the model sees them, so that an end of a text means the same to it in training.
        for window, labels in train.windows(self.context.words):
            features = self.features(task, window, {})
            column = labels[task]
            done = 0
            for begin, stop in known_runs(column, longest=self.options.sequence):
                # A sequence at a time: numbers beside the words of a long document would fill the memory.
                run = list(islice(features, begin - done, stop - done))
                trainer.append(run, [names[label] for label in column[begin:stop]])
                count, done = count + stop - begin, stop
        if not count:
            return _Learned(b"", 0, 0.0)
        _seed_c_library(seed)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            try:
                trainer.train(str(path))
                data = path.read_bytes()
            except (pycrfsuite.CRFSuiteError, OSError) as error:
                raise ModelError(f"CRFsuite could not learn the task {task}: {error}; change its options") from None
        last = trainer.logparser.last_iteration or {}
        return _Learned(data, last.get("num", 0), last.get("loss", 0.0) / count)

    def _dev_scores(self, dev: EncodedTexts) -> dict[str, float]:
        confusion = {task: np.zeros((len(names), len(names)), dtype=np.int64) for task, names in self.labels.items()}
        for window, labels in dev.windows(self.context.words):
            scores = self._scores(window)
            for task, column in labels.items():
                known = column != IGNORED
                np.add.at(confusion[task], (column[known], scores.chosen(task)[known]), 1)
        return dev_scores(self.labels, confusion)

    def save(self, folder: Path) -> None:
        """Write the model into a folder."""
        self.description.save(folder)
        for task, chain in self.chains.items():
            # CRFsuite crashes on a damaged file; gzip brings a checksum.
            (folder / _FILE.format(task)).write_bytes(gzip.compress(chain.data, compresslevel=6, mtime=0))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a trained model from its folder."""
        description = Description.load(folder)
        chains = {}
        for task, names in description.labels.items():
            path = folder / _FILE.format(task)
            try:
                chains[task] = Chain(gzip.decompress(path.read_bytes()), names)
            except (OSError, EOFError, zlib.error, ValueError) as error:
                raise ModelError(f"{path}: not this model's CRF: {error}; train it again") from None
        try:
            return cls(description, chains)
        except ConfigError as error:
            raise ModelError(f"{folder / DESCRIPTION}: {error}; train the model again") from None


class Chain:
    """One task's CRF. Without data it has learned nothing: every weight is 0."""

    def __init__(self, data: bytes, labels: Sequence[str]) -> None:
        self.data = data  # CRFsuite reads its weights here: the bytes must live as long as the tagger
        self._place = {crfsuite_label(label): place for place, label in enumerate(labels)}
        self._tagger = pycrfsuite.Tagger()
        self._known: list[str] = []
        self._in_use = threading.Lock()  # a tagger holds one text at a time
        if data:
            self._tagger.open_inmemory(data)
            self._known = self._tagger.labels()
        strange = [label for label in self._known if label not in self._place]
        if strange:
            raise ValueError(f"it has other labels: {' '.join(strange)}")

    def read(self, features: Items, count: int) -> tuple[Array, Ints]:
        """Return the log-probabilities of `count` words' labels, and the best sequence of labels."""
        chances = np.zeros((count, len(self._place)))
        best = np.zeros(count, dtype=np.int64)
        if not self._known:
            chances[:] = 1.0
        elif count:
            with self._in_use:
                self._tagger.set(features)
                best[:] = [self._place[label] for label in self._tagger.tag()]
                for label in self._known:
                    chances[:, self._place[label]] = [self._tagger.marginal(label, word) for word in range(count)]
        chances /= chances.sum(axis=1, keepdims=True)
        return np.log(np.maximum(chances, _LEAST)).astype(np.float32), best


@dataclass(frozen=True)
class _Learned:
    """What training gave: CRFsuite's bytes, after so many iterations, with such a loss per word."""

    data: bytes
    iterations: int
    loss: float


def crfsuite_label(label: str) -> str:
    """Return a label's name in CRFsuite, which prints and reads none that is empty."""
    return f"={label}"


def known_runs(labels: Ints, *, longest: int) -> Iterator[tuple[int, int]]:
    """Yield where runs of known labels begin and stop, each of at most `longest` words.

    >>> list(known_runs(np.array([0, 1, 0, IGNORED, IGNORED, 1]), longest=2))
    [(0, 2), (2, 3), (5, 6)]
    """
    edges = [-1, *np.flatnonzero(labels == IGNORED).tolist(), len(labels)]
    for before, behind in pairwise(edges):
        for first in range(before + 1, behind, longest):
            yield first, min(first + longest, behind)


def _seed_c_library(seed: int) -> None:
    """Seed C's `rand`, by which CRFsuite shuffles and which it never seeds itself."""
    ctypes.CDLL("ucrtbase" if os.name == "nt" else None).srand(seed)
