"""`WordModel`: what the papers' networks have in common: they read whole words, learned or from files of vectors.

In: windows of words. Out: scores. Clitics are split and training sequences begin with a sentence, as in the papers;
the mark is the one after the word, everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from torch import nn

from interpunct.models.folder import PIECES, Description
from interpunct.models.model import Clitics
from interpunct.models.sequence_model import SequenceModel, SequenceOptions
from interpunct.models.word_input import WordInput, find_vectors, vocabulary_of
from interpunct.models.word_vocabulary import WordVocabulary


@dataclass(frozen=True)
class WordOptions(SequenceOptions):
    """Which words the network knows, and as what vectors."""

    vocabulary: int = 50_000
    longest_word: int = 1
    clitics: Clitics = "split"
    noise: float = 0.0
    embedding: int = 100
    """Numbers of a word's vector; vectors from files that have more are reduced to their principal components."""
    vectors: tuple[str, ...] = ()
    """Files of vectors, by path or by name in the data folder; the vocabulary is then theirs."""
    static: bool = False
    """Whether vectors stay as they are in training."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.static and not self.vectors:
            raise ValueError("static words need vectors: name files in vectors, or let static be false")

    def word_input(self, vocabulary: int, *, project: int | None = None) -> WordInput:
        """Return the network's first layer."""
        tables = max(1, len(self.vectors))
        return WordInput(vocabulary, self.embedding, tables=tables, static=self.static, project=project)


Options = TypeVar("Options", bound=WordOptions)


class WordModel(SequenceModel[Options]):
    """A sequence model over whole words; its network has a `WordInput`."""

    @staticmethod
    def learn_vocabulary(words: Iterable[str], options: Any) -> WordVocabulary:
        """Take the vectors' words, or the commonest of the text."""
        if options.vectors:
            return vocabulary_of(find_vectors(options.vectors, options.embedding))
        return WordVocabulary.learn(words, size=options.vocabulary)

    @staticmethod
    def load_vocabulary(folder: Path, _description: Description) -> WordVocabulary:
        """Read the vocabulary."""
        return WordVocabulary.load(folder / PIECES)

    def prepare(self) -> None:
        """Fill a new network's input with the vectors of files."""
        if self.options.vectors and isinstance(self.vocabulary, WordVocabulary):
            vectors = find_vectors(self.options.vectors, self.options.embedding)
            word_input(self.network).fill(vectors, self.vocabulary.words)


def word_input(network: nn.Module) -> WordInput:
    """Return a network's word input."""
    (found,) = (module for module in network.modules() if isinstance(module, WordInput))
    return found
