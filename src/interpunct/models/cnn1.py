"""CNN-1 of paper 001 (Che et al. 2016): filters over one to four whole words, after Kim (2014).

In: windows of words. Out: log-probabilities per task, each word's from the five around it. 128 filters of each height
h = 1..4 slide over the five words, the highest value of each is kept, and two sigmoid layers of 4096 and 2048 units
follow (section 2.2). The paper does not name the filters' activation: ReLU here, as Kim's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from interpunct.models.word_window import WORDS, WindowModel, WindowNetwork, WindowOptions, start_filters


@dataclass(frozen=True)
class CNN1Options(WindowOptions):
    """The paper's sizes."""

    filters: int = 128
    """Filters of each height."""


class Filters(nn.Module):
    """Filters of every height below the window's, the maximum over time of each."""

    def __init__(self, embedding: int, filters: int) -> None:
        super().__init__()
        made = [nn.Conv1d(embedding, filters, height) for height in range(1, WORDS)]
        start_filters(*made)
        self.heights = nn.ModuleList(made)
        self.width = filters * len(self.heights)

    def forward(self, vectors: Tensor) -> Tensor:
        """Return a row of features for each place."""
        columns = vectors.transpose(1, 2)  # (places, embedding, 5)
        return torch.cat([torch.relu(filters(columns)).amax(dim=2) for filters in self.heights], dim=1)


class CNN1(WindowModel[CNN1Options]):
    """CNN-1."""

    TYPE = "cnn1"
    OPTIONS = CNN1Options

    @staticmethod
    def build(options: CNN1Options, sizes: Mapping[str, int], vocabulary: int) -> nn.Module:
        """Return the network."""
        reader = Filters(options.embedding, options.filters)
        return WindowNetwork(options, sizes, vocabulary, reader=reader, width=reader.width)
