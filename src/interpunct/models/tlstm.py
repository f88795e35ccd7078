"""T-LSTM (Tilk and Alumäe 2015), a peer of paper 002: one LSTM that reads forward, without attention.

In: windows of words. Out: log-probabilities per task. A word's vector through tanh, an LSTM, a linear branch per task.
The original labels the mark before the word it has just read, so it knows one word behind the place. Here the mark
stands after the word: the state at word i + 1 labels word i, and behind the last word one step of padding is read.
Unlike the original's, the LSTM has no peepholes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from interpunct.models.pieces import PAD
from interpunct.models.word_model import WordModel, WordOptions
from interpunct.models.word_states import states_at_words


@dataclass(frozen=True)
class TLSTMOptions(WordOptions):
    """The original's sizes."""

    context: Literal["overlap", "restart", "whole"] = "whole"
    shortest: int = 40
    longest: int = 70
    embedding: int = 100
    units: int = 100
    dropout: float = 0.0
    """Before and behind the LSTM; the original has none."""


class Network(nn.Module):
    """Embedding, tanh, an LSTM, a branch per task."""

    def __init__(self, options: TLSTMOptions, sizes: Mapping[str, int], vocabulary: int) -> None:
        super().__init__()
        self.input = options.word_input(vocabulary)
        self.rnn = nn.LSTM(options.embedding, options.units, batch_first=True)
        self.dropout = nn.Dropout(options.dropout)
        self.branches = nn.ModuleDict({task: nn.Linear(options.units, size) for task, size in sizes.items()})

    def forward(self, pieces: Tensor, lengths: Tensor, words: Tensor) -> dict[str, Tensor]:
        """Return each task's logits at each word, from the state one step later."""
        one_more = F.pad(pieces, (0, 1), value=PAD)  # (windows, words + 1)
        embedded = self.dropout(torch.tanh(self.input(one_more)))  # (windows, words + 1, embedding)
        states = self.dropout(states_at_words(self.rnn, embedded, lengths + 1, words + 1))  # (windows, words, units)
        return {task: branch(states) for task, branch in self.branches.items()}


class TLSTM(WordModel[TLSTMOptions]):
    """T-LSTM."""

    TYPE = "tlstm"
    OPTIONS = TLSTMOptions

    @staticmethod
    def build(options: TLSTMOptions, sizes: Mapping[str, int], vocabulary: int) -> nn.Module:
        """Return the network."""
        return Network(options, sizes, vocabulary)
