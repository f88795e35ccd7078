"""An encoded corpus on a device, shown to a network in sequences that are cut anew each epoch.

In: an `Encoded` corpus. Out: batches of sequences as tensors, noised and in random order for training, plain and in
order for scoring. Training sequences are windows of one length, cut anywhere; or, as in paper 000 (section 3.2), of
random length, each beginning with a sentence, where the sentence that is cut off begins the next one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from interpunct.models.encoded import IGNORED, Encoded
from interpunct.models.pieces import PAD
from interpunct.models.scores import Ints
from interpunct.models.torch_loop import shuffled


class ShowOptions(Protocol):
    """How text is shown."""

    @property
    def window(self) -> int:
        """Words in a window."""

    @property
    def shortest(self) -> int:
        """Words of a training sequence that begins with a sentence, at least; 0 cuts windows anywhere."""

    @property
    def longest(self) -> int:
        """Words of a training sequence that begins with a sentence, at most."""

    @property
    def batch(self) -> int:
        """Sequences in a batch."""

    @property
    def noise(self) -> float:
        """The share of pieces replaced by another at random."""

    @property
    def longest_word(self) -> int:
        """Pieces of a word at most."""


@dataclass(frozen=True)
class Batch:
    """Sequences as tensors: `pieces` (sequences × pieces), `lengths`, `words` (sequences × words), labels per task."""

    pieces: Tensor
    lengths: Tensor
    words: Tensor
    labels: Mapping[str, Tensor]
    targets: Mapping[str, Tensor]


class Shown:
    """An encoded corpus on a device, cut into sequences anew each epoch."""

    def __init__(self, encoded: Encoded, options: ShowOptions, device: torch.device) -> None:
        self.options = options
        self.device = device
        self.count = len(encoded)
        self.starts = encoded.starts
        # One sequence's worth of padding behind the end, so that any sequence can be gathered whole.
        spare = max(options.window, options.longest) * options.longest_word
        self.pieces = torch.from_numpy(np.concatenate([encoded.pieces, np.full(spare, PAD)])).to(device)
        self.ends = torch.from_numpy(encoded.ends).to(device)
        self.labels = {task: torch.from_numpy(column).to(device) for task, column in encoded.labels.items()}
        self.targets = {task: torch.from_numpy(rows).to(device) for task, rows in encoded.targets.items()}

    @property
    def steps(self) -> int:
        """Batches in an epoch, about: sentences cut off are shown twice."""
        words = (
            0.8 * (self.options.shortest + self.options.longest) / 2 if self.options.shortest else self.options.window
        )
        return -(-self.count // max(1, int(words * self.options.batch)))

    def batches(self, seed: int) -> Iterator[Batch]:
        """Yield noised sequences in random order, cut at places that differ from epoch to epoch."""
        if self.options.shortest:
            begin, stop = sentence_sequences(
                self.starts, self.count, shortest=self.options.shortest, longest=self.options.longest, seed=seed
            )
            for chosen in shuffled(len(begin), self.options.batch, seed=seed):
                rows = chosen.numpy()
                yield self._gather(begin[rows], stop[rows], noise=self.options.noise)
            return
        generator = torch.Generator().manual_seed(seed)
        window = min(self.options.window, self.count)
        offset = int(torch.randint(min(window, self.count - window + 1), (), generator=generator))
        starts = np.arange(offset, max(1, self.count - window + 1), window)
        for chosen in shuffled(len(starts), self.options.batch, seed=seed):
            # Some batches are cut short: users send short texts, too.
            short = int(torch.randint(4, window + 1, (), generator=generator)) if window > 4 else window
            size = short if torch.rand((), generator=generator) < 0.1 else window
            rows = starts[chosen.numpy()]
            yield self._gather(rows, rows + size, noise=self.options.noise)

    def plain_batches(self) -> Iterator[Batch]:
        """Yield every word once, in order and without noise; all windows of a batch have the same length."""
        window = min(self.options.window, self.count)
        starts = np.arange(0, self.count - window + 1, window)
        for first in range(0, len(starts), self.options.batch):
            rows = starts[first : first + self.options.batch]
            yield self._gather(rows, rows + window, noise=0.0)
        rest = self.count % window
        if rest:
            yield self._gather(np.array([self.count - rest]), np.array([self.count]), noise=0.0)

    def _gather(self, begin: Ints, stop: Ints, *, noise: float) -> Batch:
        size = int((stop - begin).max())
        starts, stops = torch.from_numpy(begin).to(self.device), torch.from_numpy(stop).to(self.device)
        first = self.ends[starts]  # (sequences,)
        lengths = self.ends[stops] - first
        places = torch.arange(int(lengths.max()), device=self.device)
        pieces = self.pieces[first[:, None] + places]  # (sequences, pieces)
        if noise:
            others = self.pieces[torch.randint(int(self.ends[-1]), pieces.shape, device=self.device)]
            pieces = torch.where(torch.rand(pieces.shape, device=self.device) < noise, others, pieces)
        pieces = pieces.masked_fill(places >= lengths[:, None], PAD)
        rows = starts[:, None] + torch.arange(size, device=self.device)
        beyond = rows >= stops[:, None]
        rows = rows.clamp(max=self.count - 1)
        words = (self.ends[rows + 1] - first[:, None] - 1).masked_fill(beyond, 0)
        return Batch(
            pieces, lengths, words,
            {task: column[rows].masked_fill(beyond, IGNORED) for task, column in self.labels.items()},
            {task: table[rows] for task, table in self.targets.items()},
        )  # fmt: skip


def sentence_sequences(starts: Ints, count: int, *, shortest: int, longest: int, seed: int) -> tuple[Ints, Ints]:
    """Cut `count` words into sequences of random length that each begin with a sentence.

    The unfinished sentence at the end of one begins the next; a sentence longer than its sequence is not shown again.

    >>> begin, stop = sentence_sequences(np.array([0, 3, 6, 8]), 10, shortest=5, longest=5, seed=1)
    >>> list(zip(begin.tolist(), stop.tolist()))
    [(0, 5), (3, 8), (8, 10)]
    """
    lengths = np.random.default_rng(seed).integers(shortest, longest + 1, size=count)
    begin: list[int] = []
    stop: list[int] = []
    first = 0
    while first < count:
        end = min(count, first + int(lengths[len(begin)]))
        begin.append(first)
        stop.append(end)
        if end == count:
            break
        following = int(starts[np.searchsorted(starts, end, side="right") - 1])
        if following <= first:  # one sentence fills the sequence: the next one begins with the next sentence
            later = np.searchsorted(starts, end, side="left")
            if later == len(starts):
                break
            following = int(starts[later])
        first = following
    return np.array(begin, dtype=np.int64), np.array(stop, dtype=np.int64)
