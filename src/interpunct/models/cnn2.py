"""CNN-2 of paper 001 (Che et al. 2016): the vectors of five words as an image of 5 × 50 pixels.

In: windows of words. Out: log-probabilities per task, each word's from the five around it. Convolutions of 64, 128
and 128 filters with a pooling layer behind the first, then two sigmoid layers of 4096 and 2048 units (section 2.2).
What the paper leaves open is chosen here: filters of 3 × 3 that keep the image's size, ReLU, and a maximum over
2 × 2 pixels that rounds up, as the paper's framework Caffe does: 5 × 50 become 3 × 25.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import nn

from interpunct.models.word_window import WORDS, WindowModel, WindowNetwork, WindowOptions, start_filters


@dataclass(frozen=True)
class CNN2Options(WindowOptions):
    """The paper's sizes."""

    filters: tuple[int, ...] = (64, 128, 128)
    """Filters of each convolution; the image is pooled behind the first."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.filters or min(self.filters) < 1:
            raise ValueError(f"filters {self.filters} must name one convolution of one filter, at least")


class CNN2(WindowModel[CNN2Options]):
    """CNN-2; CNN-2A is the same model with the probability of no mark halved in decoding."""

    TYPE = "cnn2"
    OPTIONS = CNN2Options

    @staticmethod
    def build(options: CNN2Options, sizes: Mapping[str, int], vocabulary: int) -> nn.Module:
        """Return the network."""
        layers: list[nn.Module] = [nn.Unflatten(1, (1, WORDS))]  # (places, 1, 5, embedding)
        channels = 1
        for number, filters in enumerate(options.filters):
            convolution = nn.Conv2d(channels, filters, kernel_size=3, padding=1)
            start_filters(convolution)
            layers += [convolution, nn.ReLU()]
            if number == 0:
                layers.append(nn.MaxPool2d(2, ceil_mode=True))
            channels = filters
        layers.append(nn.Flatten())
        width = channels * ((WORDS + 1) // 2) * ((options.embedding + 1) // 2)
        return WindowNetwork(options, sizes, vocabulary, reader=nn.Sequential(*layers), width=width)
