"""T-BRNN (Tilk and Alumäe 2016), a peer of papers 000 and 002: GRUs both ways, then one with attention.

In: windows of words. Out: log-probabilities per task. A GRU reads the states of a bidirectional one; the attention of
its last state over all of these is fused with its new state at the very end, so nothing of it feeds back and a window
is computed at once. With vectors from files it is T-BRNN-pre. It reads windows of 50 words, each after the last
sentence end of the one before. The original labels the mark before a word, this the one after it: both ways of the
first GRU see the same words either way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from interpunct.models.word_model import WordModel, WordOptions
from interpunct.models.word_states import states_at_words

NUMBERS_AT_ONCE = 1 << 26  # of the attention's words × words × numbers: 256 MB, outside of training


@dataclass(frozen=True)
class TBRNNOptions(WordOptions):
    """The original's sizes."""

    context: Literal["overlap", "restart", "whole"] = "restart"
    window: int = 50
    shortest: int = 40
    longest: int = 70
    embedding: int = 256
    units: int = 256
    """Units of each of the three GRUs."""
    dropout: float = 0.0
    """On the states of the first GRUs and before the branches; the original has none."""


class Attention(nn.Module):
    """Additive attention: for each query a mean of the states, weighted by how well they fit it."""

    def __init__(self, queries: int, states: int) -> None:
        super().__init__()
        self.query = nn.Linear(queries, states, bias=False)
        self.state = nn.Linear(states, states)
        self.fit = nn.Linear(states, 1, bias=False)

    def forward(self, queries: Tensor, states: Tensor, lengths: Tensor) -> Tensor:
        """Return windows × queries × numbers of a state."""
        asked, offered = self.query(queries), self.state(states)  # (windows, words, numbers)
        padding = torch.arange(states.shape[1], device=states.device) >= lengths[:, None]  # (windows, words)
        step = asked.shape[1] if self.training else max(1, NUMBERS_AT_ONCE // offered.numel())
        found = []
        for part in asked.split(step, dim=1):
            fit = self.fit(torch.tanh(part[:, :, None] + offered[:, None]))[..., 0]  # (windows, queries, words)
            weights = torch.softmax(fit.masked_fill(padding[:, None], float("-inf")), dim=-1)
            found.append(weights @ states)
        return torch.cat(found, dim=1)


class Network(nn.Module):
    """Embedding, GRUs both ways, a GRU with attention, late fusion, a branch per task."""

    def __init__(self, options: TBRNNOptions, sizes: Mapping[str, int], vocabulary: int) -> None:
        super().__init__()
        units = options.units
        self.input = options.word_input(vocabulary)
        self.both_ways = nn.GRU(options.embedding, units, batch_first=True, bidirectional=True)
        self.onward = nn.GRU(2 * units, units, batch_first=True)
        self.attention = Attention(units, 2 * units)
        self.fused = nn.Linear(2 * units, units, bias=False)  # W_fa
        self.gate_of_fused = nn.Linear(units, units, bias=False)  # W_ff
        self.gate_of_state = nn.Linear(units, units)  # W_fs and b_f
        self.dropout = nn.Dropout(options.dropout)
        self.branches = nn.ModuleDict({task: nn.Linear(units, size) for task, size in sizes.items()})

    def forward(self, pieces: Tensor, lengths: Tensor, words: Tensor) -> dict[str, Tensor]:
        """Return each task's logits at each word."""
        embedded = self.input(pieces)  # (windows, words, embedding)
        around = self.dropout(states_at_words(self.both_ways, embedded, lengths, words))  # (windows, words, 2 · units)
        state = states_at_words(self.onward, around, lengths, words)  # (windows, words, units)
        before = F.pad(state[:, :-1], (0, 0, 1, 0))  # s_{t-1}; zeros at the first word
        fused = self.fused(self.attention(before, around, lengths))  # (windows, words, units)
        gate = torch.sigmoid(self.gate_of_fused(fused) + self.gate_of_state(state))
        shared = self.dropout(fused * gate + state)  # f_t
        return {task: branch(shared) for task, branch in self.branches.items()}


class TBRNN(WordModel[TBRNNOptions]):
    """T-BRNN, or T-BRNN-pre where vectors come from files."""

    TYPE = "tbrnn"
    OPTIONS = TBRNNOptions

    @staticmethod
    def build(options: TBRNNOptions, sizes: Mapping[str, int], vocabulary: int) -> nn.Module:
        """Return the network."""
        return Network(options, sizes, vocabulary)
