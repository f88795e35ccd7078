"""What the networks of paper 001 (Che et al. 2016) share: every word is classified from the five around it.

In: windows of words. Out: log-probabilities per task. A type says how it reads the 5 × n matrix of a word's
neighbourhood (section 2.2); sigmoid layers and a linear branch per task follow. Beyond the text stands a zero vector.
The loss is the squared error of the softmax's output (eq. 1); its weight decay is the training loop's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from interpunct.models.known_labels import known_mean
from interpunct.models.pieces import PAD
from interpunct.models.shown import Batch
from interpunct.models.word_model import WordModel, WordOptions
from interpunct.models.word_states import at_words

SIDE = 2
WORDS = 2 * SIDE + 1
PLACES_AT_ONCE = 2048  # of a document that is read in one shot: CNN-2 needs about 150 kB for each


@dataclass(frozen=True)
class WindowOptions(WordOptions):
    """The paper's sizes. Without many steps of warm-up they learn at small rates only, say 3e-4.

    The vectors stay as they are, so give some; or set `static` to false and learn them.
    """

    context: Literal["overlap", "restart", "whole"] = "whole"
    # Each place is a sample. The two places at either end of a training sequence see zeros for their neighbours, and
    # in sequences this long they are less than one place in a hundred.
    window: int = 512
    batch: int = 8
    embedding: int = 50
    static: bool = True
    layers: tuple[int, ...] = (4096, 2048)
    """Units of each fully connected layer."""
    dropout: float = 0.5
    """The share of a fully connected layer's units that are hidden in training."""
    loss: Literal["squared", "cross_entropy"] = "squared"

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.layers, default=1) < 1:
            raise ValueError(f"layers {self.layers} must have one unit each, at least")


class WindowNetwork(nn.Module):
    """Vectors of five words, a reader that makes one row of them, fully connected layers, a branch per task."""

    def __init__(
        self, options: WindowOptions, sizes: Mapping[str, int], vocabulary: int, *, reader: nn.Module, width: int
    ) -> None:
        super().__init__()
        self.input = options.word_input(vocabulary)
        self.reader = reader
        self.hidden = sigmoid_layers(width, options.layers, dropout=options.dropout)
        last = options.layers[-1] if options.layers else width
        self.branches = nn.ModuleDict({task: nn.Linear(last, size) for task, size in sizes.items()})

    def forward(self, pieces: Tensor, lengths: Tensor, words: Tensor) -> dict[str, Tensor]:
        """Return each task's logits at each word; all zero behind a window's end."""
        around = F.pad(pieces, (SIDE, SIDE), value=PAD).unfold(1, WORDS, 1)  # (windows, pieces, 5)
        around = at_words(around, words)  # (windows, words, 5)
        real = torch.arange(words.shape[1], device=words.device) < lengths[:, None]  # (windows, words)
        ids = around[real]  # (places, 5)
        places = len(ids) if self.training else PLACES_AT_ONCE
        parts = [self._classify(part) for part in torch.split(ids, places)]
        found = {}
        for task in self.branches:
            logits = torch.cat([part[task] for part in parts])  # (places, labels)
            found[task] = logits.new_zeros(*real.shape, logits.shape[1]).masked_scatter(real[:, :, None], logits)
        return found

    def _classify(self, ids: Tensor) -> dict[str, Tensor]:
        vectors = self.input(ids)  # (places, 5, embedding)
        shared = self.hidden(self.reader(vectors))  # (places, units)
        return {task: branch(shared) for task, branch in self.branches.items()}


class CentredSigmoid(nn.Module):
    """The sigmoid (eq. 2) less one half, which the next layer's bias makes up for: the same network, easier to train.

    Around one half all units pull the next layer one way: with squared error the softmax then soon says "no mark" with
    full certainty, and from there no gradient leads back. Dropout hides a unit by setting it to its middle.
    """

    def forward(self, values: Tensor) -> Tensor:
        """Return values between -0.5 and 0.5."""
        return torch.sigmoid(values) - 0.5


def sigmoid_layers(width: int, sizes: tuple[int, ...], *, dropout: float) -> nn.Sequential:
    """Return fully connected layers with sigmoid and dropout, ready to learn.

    A sigmoid hands on a quarter of what differs between its inputs, so that all words would look alike behind three of
    them. The weights behind one are four times as large as usual.
    """
    layers: list[nn.Module] = []
    for number, size in enumerate(sizes):
        linear = nn.Linear(width, size)
        nn.init.normal_(linear.weight, std=(4.0 if number else 2.0) / math.sqrt(width))
        nn.init.zeros_(linear.bias)
        layers += [linear, CentredSigmoid(), nn.Dropout(dropout)]
        width = size
    return nn.Sequential(*layers)


def start_filters(*filters: nn.Conv1d | nn.Conv2d) -> None:
    """Give filters with ReLU weights that keep the size of what they read; torch's own let it fade."""
    for module in filters:
        nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        if module.bias is not None:
            nn.init.zeros_(module.bias)


Options = TypeVar("Options", bound=WindowOptions)


class WindowModel(WordModel[Options]):
    """A word model that learns by squared error."""

    def label_loss(self, task: str, logits: Tensor, batch: Batch) -> Tensor:
        """Return half the squared distance between softmax and label (eq. 1), averaged; or cross-entropy."""
        if self.options.loss == "cross_entropy":
            return super().label_loss(task, logits, batch)
        labels, count = batch.labels[task], logits.shape[-1]
        right = F.one_hot(labels.clamp(min=0), count).to(logits.dtype)
        right = (1 - self.options.smoothing) * right + self.options.smoothing / count
        return known_mean(_half_square(torch.softmax(logits, dim=-1), right), labels)

    def teacher_loss(self, task: str, logits: Tensor, batch: Batch) -> Tensor:
        """Return half the squared distance between softmax and the teacher's probabilities; or cross-entropy."""
        if self.options.loss == "cross_entropy":
            return super().teacher_loss(task, logits, batch)
        return known_mean(_half_square(torch.softmax(logits, dim=-1), batch.targets[task]), batch.labels[task])


def _half_square(guess: Tensor, right: Tensor) -> Tensor:
    """Return half the squared distance of each word's probabilities, flat."""
    return 0.5 * (guess - right).square().sum(dim=-1).flatten()
