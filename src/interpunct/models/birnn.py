"""The BiRNN of paper 000 (Pahuja et al. 2017): Single-BiRNN with one task, Corr-BiRNN with several.

In: windows of words. Out: log-probabilities per task. Forward and backward recurrent layers (eq. 1-2), a hidden
layer with activation φ over both (eq. 3), and for each task a linear branch over the shared hidden layer; the loss
is the weighted sum of the branches' (eq. 4). The mark is the one after the word; the paper's is the one before.
It learns from sequences of 40 to 70 words and reads a document in one shot (section 3.2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from interpunct.models.word_model import WordModel, WordOptions
from interpunct.models.word_states import states_at_words

_CELLS: dict[str, Callable[..., nn.RNNBase]] = {"simple": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "relu": torch.relu,
    "linear": lambda value: value,
}


@dataclass(frozen=True)
class BiRNNOptions(WordOptions):
    """The ranges that the paper tunes."""

    context: Literal["overlap", "restart", "whole"] = "whole"
    shortest: int = 40
    longest: int = 70
    cell: Literal["simple", "lstm", "gru"] = "gru"
    layers: int = 1
    units: int = 256
    rnn_dropout: float = 0.2
    output_dropout: float = 0.2
    hidden: int = 128
    activation: Literal["sigmoid", "tanh", "relu", "linear"] = "tanh"


class Network(nn.Module):
    """Embedding, recurrent layers both ways, a shared hidden layer, a branch per task."""

    def __init__(self, options: BiRNNOptions, sizes: Mapping[str, int], vocabulary: int) -> None:
        super().__init__()
        self.input = options.word_input(vocabulary)
        self.rnn = _CELLS[options.cell](
            options.embedding, options.units, options.layers,
            batch_first=True, bidirectional=True, dropout=options.rnn_dropout if options.layers > 1 else 0.0,
        )  # fmt: skip
        self.dropout = nn.Dropout(options.output_dropout)
        self.hidden = nn.Linear(2 * options.units, options.hidden)
        self.activation = _ACTIVATIONS[options.activation]
        self.branches = nn.ModuleDict({task: nn.Linear(options.hidden, size) for task, size in sizes.items()})

    def forward(self, pieces: Tensor, lengths: Tensor, words: Tensor) -> dict[str, Tensor]:
        """Return each task's logits at each word."""
        embedded = self.input(pieces)  # (windows, words, embedding)
        at_words = states_at_words(self.rnn, embedded, lengths, words)
        shared = self.activation(self.hidden(self.dropout(at_words)))  # (windows, words, hidden)
        return {task: branch(shared) for task, branch in self.branches.items()}


class BiRNN(WordModel[BiRNNOptions]):
    """Single-BiRNN or Corr-BiRNN, by the number of its tasks."""

    TYPE = "birnn"
    OPTIONS = BiRNNOptions

    @staticmethod
    def build(options: BiRNNOptions, sizes: Mapping[str, int], vocabulary: int) -> nn.Module:
        """Return the network."""
        return Network(options, sizes, vocabulary)
