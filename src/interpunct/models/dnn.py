"""The DNN of paper 001 (Che et al. 2016): three fully connected layers over the vectors of five words.

In: windows of words. Out: log-probabilities per task, each word's from the five around it. The 5 × 50 matrix is one
long row; sigmoid layers of 2048, 4096 and 2048 units, dropout, softmax (section 2.2). The share of dropout is ours:
the paper does not say it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import nn

from interpunct.models.word_window import WORDS, WindowModel, WindowNetwork, WindowOptions


@dataclass(frozen=True)
class DNNOptions(WindowOptions):
    """The paper's sizes."""

    layers: tuple[int, ...] = (2048, 4096, 2048)


class DNN(WindowModel[DNNOptions]):
    """DNN; DNN-A is the same model with the probability of no mark halved in decoding."""

    TYPE = "dnn"
    OPTIONS = DNNOptions

    @staticmethod
    def build(options: DNNOptions, sizes: Mapping[str, int], vocabulary: int) -> nn.Module:
        """Return the network."""
        return WindowNetwork(options, sizes, vocabulary, reader=nn.Flatten(), width=WORDS * options.embedding)
