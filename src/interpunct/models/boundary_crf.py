"""The linear-chain CRFs of Xu et al. 2017 (sections 6.2 and 6.3.2): n-grams, tags, word vectors, prosodic posteriors.

In: windows of words, perhaps with prosody. Out: as `ngram_crf`. Beside the n-grams of words a place has those of tags
that other models find, the numbers of the vectors of the words around it, and the probability that a prosodic model
gives it, in one of six bins (DT-CRF, DNN-CRF). CRF++, which the paper uses, knows no numbers; CRFsuite does, but counts
values as occurrences and drops what adds up to less than `least`: a number is given as two features, of which one has
it where it is positive and the other where it is negative.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self, cast

import numpy as np

from interpunct.errors import ModelError
from interpunct.features import Features
from interpunct.models.encoded_texts import EncodedTexts
from interpunct.models.lattice import settled
from interpunct.models.loop_options import LoopOptions
from interpunct.models.model import Scorer
from interpunct.models.ngram_crf import Items, NgramCRF, NgramCRFOptions, ngrams
from interpunct.models.place_inputs import PlaceInputs
from interpunct.models.place_model import Log
from interpunct.models.scores import Array, Ints, end_chances

BINS = (0.1, 0.3, 0.5, 0.7, 0.9)
"""The upper ends of the paper's bins, which belong to them; the sixth ends at 1."""
_POSTERIOR = "posterior"


@dataclass(frozen=True)
class BoundaryCRFOptions(NgramCRFOptions):
    """What the chain looks at beside n-grams of words."""

    words: bool = True
    """Whether n-grams of words are looked at: not where a paper gives a CRF vectors alone."""
    vectors: tuple[str, ...] = ()
    """Files of word vectors, by path or by name in the data folder."""
    contextual: tuple[str, ...] = ()
    """Folders of trained models whose last hidden layer is read (of type window_lstm)."""
    vector_words: int = 7
    """Words whose vectors and hidden layers are a place's features: its own and as many before it as behind it."""
    tags: tuple[str, ...] = ()
    """Folders of trained taggers; n-grams of their tags are as long, and reach as far, as those of words."""
    posterior: str = ""
    """The folder of a trained model on prosody, whose probability of a sentence's end is a feature."""
    posterior_words: int = 1
    """Places whose bins are looked at: its own and as many before it as behind it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("vector_words", "posterior_words"):
            value = getattr(self, name)
            if value < 1 or value % 2 == 0:
                raise ValueError(f"{name} {value} must be odd: a word and as many on either side")
        if not (self.words or self.vectors or self.contextual or self.tags or self.posterior):
            raise ValueError("nothing to look at: let words be true, or name vectors, contextual, tags or posterior")


class BoundaryCRF(NgramCRF):
    """A linear chain per task over n-grams and what else is known of a place."""

    TYPE: ClassVar[str] = "boundary_crf"
    OPTIONS: ClassVar[Any] = BoundaryCRFOptions
    inputs: PlaceInputs
    posterior: Scorer | None = None

    @property
    def hears(self) -> bool:
        """Whether a model on prosody stands behind it."""
        return self.posterior is not None

    @classmethod
    def create(cls, **given: Any) -> Self:
        """Make an untrained model, for which all labels are alike."""
        model = super().create(**given)
        model.inputs = PlaceInputs.of(model.options, prosody=False)
        model.posterior = _scorer(Path(model.options.posterior)) if model.options.posterior else None
        return model

    def fit(self, train: EncodedTexts, dev: EncodedTexts, *, loop: LoopOptions, log: Log) -> Self:
        """Learn from encoded transcripts, and score dev once at the end."""
        if self.inputs.numbers_width and loop.epochs:
            self.inputs.learn(self.inputs.numbers(window) for window, _ in train.windows(self.context.words))
        return super().fit(train, dev, loop=loop, log=log)

    def features(self, task: str, window: Features, best: Mapping[str, Ints]) -> Items:
        """Yield what the chain sees of each place."""
        found = self._names(task, window, best)
        return self._with_numbers(found, window) if self.inputs.numbers_width else found

    def _names(self, task: str, window: Features, best: Mapping[str, Ints]) -> Iterator[list[str]]:
        """Yield the features that are there or not."""
        kinds: list[Iterator[list[str]]] = []
        if self.options.words:
            kinds.append(cast(Iterator[list[str]], super().features(task, window, best)))
        for name, tags in self.inputs.tags(window).items():
            grams = ngrams(tags, window_words=self.options.window_words, order=self.options.order)
            kinds.append(_named(name, grams))
        if self.posterior is not None:
            size = self.options.posterior_words
            bins = list(map(str, posterior_bins(self.posterior, window).tolist()))
            grams = ngrams(bins, window_words=size, order=min(size, self.options.order))
            kinds.append(_named("bin", grams))
        for _ in range(len(window)):
            yield [feature for kind in kinds for feature in next(kind)]

    def _with_numbers(self, found: Iterator[list[str]], window: Features) -> Iterator[dict[str, float]]:
        reach = self.options.vector_words // 2
        numbers = self.inputs.scale.scaled(self.inputs.numbers(window))
        padded = np.pad(numbers, ((reach, reach), (0, 0)))  # beyond the text nothing stands
        names = [
            (f"{offset}v{column}-", f"{offset}v{column}+")
            for offset in range(-reach, reach + 1)
            for column in range(numbers.shape[1])
        ]
        for place, row in enumerate(found):
            values = padded[place : place + 2 * reach + 1].ravel().tolist()
            features = dict.fromkeys(row, 1.0)
            features.update((pair[value > 0], abs(value)) for pair, value in zip(names, values, strict=True) if value)
            yield features

    def save(self, folder: Path) -> None:
        """Write the model into a folder, and the models that it asks into folders in it."""
        super().save(folder)
        self.inputs.save(folder)
        if self.posterior is not None:
            cast(Any, self.posterior).save(folder / _POSTERIOR)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a trained model from its folder."""
        model = super().load(folder)
        model.inputs = PlaceInputs.load(folder, model.options, prosody=False)
        model.posterior = _scorer(folder / _POSTERIOR) if model.options.posterior else None
        return model


def _named(name: str, rows: Iterator[list[str]]) -> Iterator[list[str]]:
    for row in rows:
        yield [f"{name}:{gram}" for gram in row]


def posterior_bins(model: Scorer, window: Features) -> Ints:
    """Return the bin (0 to 5) of the probability that a sentence ends behind each word."""
    (scores,) = settled(model.forward([window]))
    return binned(end_chances([scores], model.labels["mark"]))


def binned(chances: Array) -> Ints:
    """Return the bins of probabilities.

    >>> binned(np.array([0.0, 0.1, 0.11, 0.5, 0.9, 0.91, 1.0])).tolist()
    [0, 0, 1, 2, 4, 5, 5]
    """
    edges = np.array(BINS, dtype=np.float32)  # as exact as the probabilities, so that 0.1 lies on its edge
    return np.searchsorted(edges, chances.astype(np.float32), side="left").astype(np.int64)


def _scorer(folder: Path) -> Scorer:
    from interpunct.models import load  # the table of types stands above its rows

    model = load(folder)
    if not isinstance(model, Scorer) or "mark" not in model.labels:
        raise ModelError(f"{folder}: {model.name} gives no probabilities of marks; give a model on prosody")
    return model
