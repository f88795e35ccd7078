"""A joint BiGRU over subwords: one network, a softmax branch per task (paper 000's Corr-BiRNN on pieces).

In: windows of words. Out: log-probabilities of the mark after each word and of its case, read at the
word's last piece, where the forward pass has seen the word and the backward pass all that follows.
Needs the extra [train]; `export` turns it into a file that does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor, nn

from interpunct.models.pieces import PAD
from interpunct.models.sequence_model import SequenceModel, SequenceOptions
from interpunct.models.word_states import states_at_words


@dataclass(frozen=True)
class BiGRUOptions(SequenceOptions):
    """The network's shape."""

    embedding: int = 192
    hidden: int = 320
    layers: int = 2
    dropout: float = 0.3


class Network(nn.Module):
    """Embedding, bidirectional GRU layers, a linear branch per task."""

    def __init__(self, options: BiGRUOptions, sizes: Mapping[str, int], vocabulary: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, options.embedding, padding_idx=PAD)
        self.dropout = nn.Dropout(options.dropout)
        self.gru = nn.GRU(
            options.embedding, options.hidden, options.layers,
            batch_first=True, bidirectional=True, dropout=options.dropout if options.layers > 1 else 0.0,
        )  # fmt: skip
        self.heads = nn.ModuleDict({task: nn.Linear(2 * options.hidden, size) for task, size in sizes.items()})

    def forward(self, pieces: Tensor, lengths: Tensor, words: Tensor) -> dict[str, Tensor]:
        """Return each task's logits at each word's last piece."""
        embedded = self.dropout(self.embedding(pieces))  # (windows, pieces, embedding)
        at_words = states_at_words(self.gru, embedded, lengths, words)
        at_words = self.dropout(at_words)  # (windows, words, 2 * hidden)
        return {task: head(at_words) for task, head in self.heads.items()}


class BiGRU(SequenceModel[BiGRUOptions]):
    """The joint BiGRU."""

    TYPE = "bigru"
    OPTIONS = BiGRUOptions

    @staticmethod
    def build(options: BiGRUOptions, sizes: Mapping[str, int], vocabulary: int) -> nn.Module:
        """Return the network."""
        return Network(options, sizes, vocabulary)
