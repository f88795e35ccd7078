"""An encoded corpus on a device, shown to a network in windows that are cut anew each epoch.

In: an `Encoded` corpus. Out: batches of windows as tensors, noised and in random order for training, plain and in
order for scoring.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from interpunct.models.encoded import Encoded
from interpunct.models.pieces import PAD
from interpunct.models.torch_loop import shuffled


class ShowOptions(Protocol):
    """How text is shown."""

    @property
    def window(self) -> int:
        """Words in a window."""

    @property
    def batch(self) -> int:
        """Windows in a batch."""

    @property
    def noise(self) -> float:
        """The share of pieces replaced by another at random."""

    @property
    def longest_word(self) -> int:
        """Pieces of a word at most."""


@dataclass(frozen=True)
class Batch:
    """Windows as tensors: `pieces` (windows × pieces), `lengths`, `words` (windows × words), labels per task."""

    pieces: Tensor
    lengths: Tensor
    words: Tensor
    labels: Mapping[str, Tensor]


class Shown:
    """An encoded corpus on a device, cut into windows anew each epoch."""

    def __init__(self, encoded: Encoded, options: ShowOptions, device: torch.device) -> None:
        self.options = options
        self.device = device
        self.count = len(encoded)
        # One window's worth of padding behind the end, so that any window can be gathered whole.
        spare = options.window * options.longest_word
        self.pieces = torch.from_numpy(np.concatenate([encoded.pieces, np.full(spare, PAD)])).to(device)
        self.ends = torch.from_numpy(encoded.ends).to(device)
        self.labels = {task: torch.from_numpy(column).to(device) for task, column in encoded.labels.items()}

    @property
    def steps(self) -> int:
        """Batches in an epoch."""
        return -(-self.count // (self.options.window * self.options.batch))

    def batches(self, seed: int) -> Iterator[Batch]:
        """Yield noised windows in random order, cut at places that differ from epoch to epoch."""
        generator = torch.Generator().manual_seed(seed)
        window = min(self.options.window, self.count)
        offset = int(torch.randint(min(window, self.count - window + 1), (), generator=generator))
        starts = torch.arange(offset, max(1, self.count - window + 1), window)
        for chosen in shuffled(len(starts), self.options.batch, seed=seed):
            # Some batches are cut short: users send short texts, too.
            short = int(torch.randint(4, window + 1, (), generator=generator)) if window > 4 else window
            size = short if torch.rand((), generator=generator) < 0.1 else window
            yield self._gather(starts[chosen], size, noise=self.options.noise)

    def plain_batches(self) -> Iterator[Batch]:
        """Yield every word once, in order and without noise."""
        window = min(self.options.window, self.count)
        starts = torch.arange(0, self.count - window + 1, window)
        for first in range(0, len(starts), self.options.batch):
            yield self._gather(starts[first : first + self.options.batch], window, noise=0.0)
        rest = self.count % window
        if rest:
            yield self._gather(torch.tensor([self.count - rest]), rest, noise=0.0)

    def _gather(self, starts: Tensor, size: int, *, noise: float) -> Batch:
        starts = starts.to(self.device)
        first = self.ends[starts]  # (windows,)
        lengths = self.ends[starts + size] - first
        places = torch.arange(int(lengths.max()), device=self.device)
        pieces = self.pieces[first[:, None] + places]  # (windows, pieces)
        if noise:
            others = self.pieces[torch.randint(int(self.ends[-1]), pieces.shape, device=self.device)]
            pieces = torch.where(torch.rand(pieces.shape, device=self.device) < noise, others, pieces)
        pieces = pieces.masked_fill(places >= lengths[:, None], PAD)
        rows = starts[:, None] + torch.arange(size, device=self.device)
        words = self.ends[rows + 1] - first[:, None] - 1
        return Batch(pieces, lengths, words, {task: column[rows] for task, column in self.labels.items()})
