"""The supervised network of Xu et al. 2017 (section 5.2, Fig. 3), from which two kinds of word vectors are taken.

In: windows of words. Out: log-probabilities per task; and, once it has learned, `projection`, a vector for each word
(projected embedding), and `hidden`, a vector for each place (hidden embedding): what the last hidden layer holds before
its sigmoid. The vectors of a word, the two before it and the two behind it go beside one another through one LSTM
layer, forward in time, and a sigmoid layer. Beyond the text stands a zero vector.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from interpunct.features import Features
from interpunct.features.embeddings import Embeddings
from interpunct.models.batch import piece_batch
from interpunct.models.pieces import PAD, UNKNOWN
from interpunct.models.scores import Array
from interpunct.models.word_model import WordModel, WordOptions, word_input
from interpunct.models.word_states import states_at_words
from interpunct.models.word_vocabulary import WordVocabulary


@dataclass(frozen=True)
class WindowLSTMOptions(WordOptions):
    """The paper's sizes."""

    context: Literal["overlap", "restart", "whole"] = "whole"
    embedding: int = 50
    """Units of the projection layer, for each word."""
    least: int = 5
    """How often a word must occur to be known."""
    side: int = 2
    """Words before a word, and behind it, that are read with it."""
    units: int = 200
    """Cells of the LSTM layer."""
    hidden: int = 100
    """Units of the sigmoid layer."""
    dropout: float = 0.0
    """On the LSTM layer's states."""


class Network(nn.Module):
    """Projection, LSTM, a hidden layer with sigmoid, a linear branch per task."""

    def __init__(self, options: WindowLSTMOptions, sizes: Mapping[str, int], vocabulary: int) -> None:
        super().__init__()
        self.side = options.side
        self.input = options.word_input(vocabulary)
        self.rnn = nn.LSTM((2 * options.side + 1) * options.embedding, options.units, batch_first=True)
        self.dropout = nn.Dropout(options.dropout)
        self.hidden = nn.Linear(options.units, options.hidden)
        self.branches = nn.ModuleDict({task: nn.Linear(options.hidden, size) for task, size in sizes.items()})

    def forward(self, pieces: Tensor, lengths: Tensor, words: Tensor) -> dict[str, Tensor]:
        """Return each task's logits at each word."""
        activations = torch.sigmoid(self.activations(pieces, lengths, words))
        return {task: branch(activations) for task, branch in self.branches.items()}

    def activations(self, pieces: Tensor, lengths: Tensor, words: Tensor) -> Tensor:
        """Return the hidden layer's values before the sigmoid, at each word."""
        around = F.pad(pieces, (self.side, self.side), value=PAD).unfold(1, 2 * self.side + 1, 1)
        vectors = self.input(around).flatten(2)  # (windows, words, 5 * embedding)
        states = self.dropout(states_at_words(self.rnn, vectors, lengths, words))
        found: Tensor = self.hidden(states)  # (windows, words, hidden)
        return found


class WindowLSTM(WordModel[WindowLSTMOptions]):
    """The network whose projection and hidden layers are word vectors."""

    TYPE = "window_lstm"
    OPTIONS = WindowLSTMOptions

    @staticmethod
    def build(options: WindowLSTMOptions, sizes: Mapping[str, int], vocabulary: int) -> nn.Module:
        """Return the network."""
        return Network(options, sizes, vocabulary)

    @staticmethod
    def learn_vocabulary(words: Iterable[str], options: Any) -> WordVocabulary:
        """Take the vectors' words, or those of the text that are common enough."""
        if options.vectors:
            return WordModel.learn_vocabulary((), options)
        counts = Counter(words)
        kept = {word: count for word, count in counts.items() if count >= options.least}
        return WordVocabulary.learn(Counter(kept).elements(), size=options.vocabulary)

    def projection(self) -> Embeddings:
        """Return the projection layer as vectors, one for each known word; `save` writes them into a file."""
        words = cast(WordVocabulary, self.vocabulary).words
        layer = word_input(self.network)
        with torch.no_grad():
            vectors = layer(torch.arange(UNKNOWN + 1, UNKNOWN + 1 + len(words), device=self.device))
        return Embeddings(words, vectors.float().cpu().numpy())

    @property
    def hidden_size(self) -> int:
        """Units of the last hidden layer."""
        return self.options.hidden

    @torch.no_grad()
    def hidden(self, windows: Sequence[Features]) -> list[Array]:
        """Return what the last hidden layer holds at each word before its sigmoid, words × units for each window."""
        if not windows:
            return []
        batch = piece_batch(windows, self.vocabulary)
        arrays = (torch.from_numpy(array).to(self.device) for array in (batch.pieces, batch.lengths, batch.words))
        found = cast(Network, self.network).activations(*arrays).float().cpu().numpy()
        return [found[place, : len(window)] for place, window in enumerate(windows)]
