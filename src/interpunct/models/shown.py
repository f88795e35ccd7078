"""An encoded corpus on a device, shown to a network in sequences that are cut anew each epoch.

In: an `Encoded` corpus. Out: batches of sequences as tensors, noised and in random order for training, plain and in
order for scoring. Training sequences are windows of so many words, or of so many pieces, cut anywhere; or, as in paper
000 (section 3.2), of random length, each beginning with a sentence, where the sentence that is cut off begins the next
one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from interpunct.models.encoded import IGNORED, Encoded, Heard
from interpunct.models.pieces import PAD
from interpunct.models.scores import Ints
from interpunct.models.torch_loop import shuffled

STATE_STEP = 1 / 12
"""A teacher's states are held in bytes, in steps of this; their mean square is 1."""
LOOKS = 3
"""Layers of a teacher whose states are held, evenly spaced; all of them where it has fewer."""

_POOL = 32
"""Batches' worth of windows among which those of a batch are chosen by their length."""


class ShowOptions(Protocol):
    """How text is shown."""

    @property
    def window(self) -> int:
        """Words in a window."""

    @property
    def pieces(self) -> int:
        """Pieces in every training window; 0 is as many as its words have, and padding."""

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
    def dropped(self) -> float:
        """The share of words without a mark that are left out."""

    @property
    def doubled(self) -> float:
        """The share of words that are said twice."""

    @property
    def misheard(self) -> float:
        """How often words are misheard, as a multiple of how often a recogniser does so."""

    @property
    def clean(self) -> float:
        """The share of training sequences without any of this."""


@dataclass(frozen=True)
class Batch:
    """Sequences as tensors: `pieces` (sequences × pieces), `lengths`, `words` (sequences × words), labels per task.

    A batch that is `full` has no padding: all lengths are the same.
    """

    pieces: Tensor
    lengths: Tensor
    words: Tensor
    labels: Mapping[str, Tensor]
    targets: Mapping[str, Tensor]
    full: bool = False
    states: Tensor | None = None
    """A teacher's states (sequences × words × numbers), where these were kept."""


class Shown:
    """An encoded corpus on a device, cut into sequences anew each epoch."""

    def __init__(
        self, encoded: Encoded, options: ShowOptions, device: torch.device, *, unmarked: int | None = None
    ) -> None:
        """Take a corpus; `unmarked` is the label of a word without a mark, where marks are a task."""
        self.options = options
        self.device = device
        self.unmarked = unmarked
        self.count = len(encoded)
        self.starts = encoded.starts
        self._ends = encoded.ends
        self.pieces = torch.from_numpy(encoded.pieces).to(device)
        self.ends = torch.from_numpy(encoded.ends).to(device)
        self.labels = {task: torch.from_numpy(column).to(device) for task, column in encoded.labels.items()}
        self.targets = {task: torch.from_numpy(rows).to(device) for task, rows in encoded.targets.items()}
        self.states = None if encoded.states is None else torch.from_numpy(encoded.states).to(device)
        self.heard = _HeardOnDevice(encoded.heard, options.misheard, device) if encoded.heard else None

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
                yield self._gather(begin[rows], stop[rows], noise=True)
            return
        generator = torch.Generator().manual_seed(seed)
        window = min(self.options.window, self.count)
        offset = int(torch.randint(min(window, self.count - window + 1), (), generator=generator))
        # Words that fill a window of so many pieces, however short they are and though some are left out.
        enough = self.options.pieces + self.options.pieces // 8
        full = self.options.pieces if 0 < enough <= self.count else 0
        starts = np.arange(offset, max(1, self.count - (enough if full else window) + 1), window)
        for chosen in shuffled(len(starts), self.options.batch * _POOL, seed=seed):
            for rows in self._alike(starts[chosen.numpy()], window, generator):
                # Some batches are cut short: users send short texts, too.
                short = int(torch.randint(4, window + 1, (), generator=generator)) if window > 4 else window
                if torch.rand((), generator=generator) < 0.1:
                    yield self._gather(rows, rows + short, noise=True)
                else:
                    yield self._gather(rows, rows + (enough if full else window), noise=True, pieces=full)

    def _alike(self, starts: Ints, words: int, generator: torch.Generator) -> Iterator[Ints]:
        """Cut windows into batches whose windows have about as many pieces: the shorter ones would be padded."""
        order = np.argsort(self.sizes(starts, words), kind="stable")
        batches = -(-len(starts) // self.options.batch)
        for batch in torch.randperm(batches, generator=generator).tolist():
            yield starts[order[batch * self.options.batch : (batch + 1) * self.options.batch]]

    def sizes(self, starts: Ints, words: int) -> Ints:
        """Return how many pieces the windows of so many words have that begin at these words."""
        return self._ends[np.minimum(starts + words, self.count)] - self._ends[starts]

    def plain_batches(self) -> Iterator[Batch]:
        """Yield every word once, in order and without noise; all windows of a batch have the same length."""
        window = min(self.options.window, self.count)
        starts = np.arange(0, self.count - window + 1, window)
        for first in range(0, len(starts), self.options.batch):
            rows = starts[first : first + self.options.batch]
            yield self._gather(rows, rows + window, noise=False)
        rest = self.count % window
        if rest:
            yield self._gather(np.array([self.count - rest]), np.array([self.count]), noise=False)

    def windows(self, starts: Ints, words: int, *, pieces: int = 0) -> Batch:
        """Return the windows of so many words that begin at these words, without noise; perhaps cut at so many pieces.

        Words behind the cut have no labels.
        """
        return self._gather(starts, starts + words, noise=False, pieces=pieces)

    def _gather(self, begin: Ints, stop: Ints, *, noise: bool, pieces: int = 0) -> Batch:
        """Return the sequences from and to these words; with `pieces` cut there, which all of them must reach."""
        size = int((stop - begin).max())
        starts, stops = torch.from_numpy(begin).to(self.device), torch.from_numpy(stop).to(self.device)
        rows = starts[:, None] + torch.arange(size, device=self.device)  # (sequences, words)
        inside = rows < stops[:, None]
        rows = rows.clamp(max=self.count - 1)
        again = second = torch.zeros_like(inside)
        noised = inside & self._noised(len(rows)) if noise else second
        if noise and (self.options.dropped or self.options.doubled or self.heard):
            rows, inside, again, second = self._missed(rows, inside, noised)
        spoken = self.heard.instead(rows, noised[:, :1]) if noise and self.heard else rows
        first = self.ends[spoken]  # each word's first piece
        sizes = (self.ends[spoken + 1] - first) * inside
        behind = sizes.cumsum(1)
        if pieces:
            inside = inside & (behind <= pieces)
        labels = {task: column[rows].masked_fill(~inside, IGNORED) for task, column in self.labels.items()}
        targets = {task: table[rows] for task, table in self.targets.items()}
        for task in labels.keys() - {"mark"}:
            labels[task] = labels[task].masked_fill(second, IGNORED)  # whether "The the" or "The The", nobody knows
        if self.unmarked is not None:
            labels["mark"] = labels["mark"].masked_fill(again & inside, self.unmarked)
            if "mark" in targets:
                targets["mark"] = targets["mark"].masked_fill(again[:, :, None], 0.0)
                targets["mark"][:, :, self.unmarked].masked_fill_(again, 1.0)
        # To ask a device for the longest one is to wait for it, which windows of so many pieces spare.
        lengths = behind[:, -1].clamp(max=pieces) if pieces else behind[:, -1]
        longest = pieces or int(lengths.max())
        places = torch.arange(longest, device=self.device).expand(len(rows), -1).contiguous()
        word = torch.searchsorted(behind, places, right=True).clamp(max=size - 1)  # whose piece stands there
        read = self.pieces[((first - behind + sizes).gather(1, word) + places).clamp(max=len(self.pieces) - 1)]
        if noise and self.options.noise:
            others = self.pieces[torch.randint(len(self.pieces), read.shape, device=self.device)]
            chance = torch.rand(read.shape, device=self.device)
            read = torch.where((chance < self.options.noise) & noised[:, :1], others, read)
        if not pieces:
            read = read.masked_fill(places >= lengths[:, None], PAD)
        words = (behind - 1).masked_fill(~inside, 0)
        states = None if self.states is None else self.states[rows] * STATE_STEP
        return Batch(read, lengths, words, labels, targets, full=bool(pieces), states=states)

    def _noised(self, sequences: int) -> Tensor:
        """Say of each sequence whether it is noised, as a column."""
        if not self.options.clean:
            return torch.ones((sequences, 1), dtype=torch.bool, device=self.device)
        return torch.rand((sequences, 1), device=self.device) >= self.options.clean

    def _missed(self, rows: Tensor, inside: Tensor, noised: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Leave out words and say words twice, of those that are `noised`.

        Return rows, which of them are words, which of these are said once more behind, and which are such a second one.

        A word with a mark is not left out: where its mark would go, nobody knows. Sequences keep their width; what
        runs over it is cut off.
        """
        chance = torch.rand(rows.shape, device=self.device)
        times = inside.long() + (noised & (chance > 1 - self.options.doubled))
        if self.unmarked is not None:
            share = self.options.dropped + (self.heard.missed(rows) if self.heard else 0.0)
            times = times.masked_fill(noised & (chance < share) & (self.labels["mark"][rows] == self.unmarked), 0)
        times[:, 0] = times[:, 0].clamp(min=1)  # a sequence has at least one word
        behind = times.cumsum(1)
        places = torch.arange(rows.shape[1], device=self.device).expand(len(rows), -1).contiguous()
        source = torch.searchsorted(behind, places, right=True).clamp(max=rows.shape[1] - 1)
        again = behind.gather(1, source) > places + 1  # the word comes once more
        second = torch.nn.functional.pad(again[:, :-1], (1, 0))
        return rows.gather(1, source), places < behind[:, -1:], again, second


class _HeardOnDevice:
    """How words are misheard, on a device."""

    def __init__(self, heard: Heard, times: float, device: torch.device) -> None:
        self.numbers = torch.from_numpy(heard.numbers.astype(np.int32)).to(device)
        self.others = torch.from_numpy(heard.others).to(device)
        self.replaced = torch.from_numpy(heard.replaced * np.float32(times)).to(device)
        self.shares_missed = torch.from_numpy(heard.missed * np.float32(times)).to(device)

    def instead(self, rows: Tensor, noised: Tensor) -> Tensor:
        """Return for each word the place of the word that is heard, mostly its own; always so where not `noised`."""
        numbers = self.numbers[rows].long()
        drawn = torch.randint(self.others.shape[1], rows.shape, device=rows.device)
        replaced = torch.rand(rows.shape, device=rows.device) < self.replaced[numbers]
        return torch.where(replaced & noised, self.others[numbers, drawn], rows)

    def missed(self, rows: Tensor) -> Tensor:
        """Return how likely each word is to be missed."""
        return self.shares_missed[self.numbers[rows].long()]


def covering(ends: Ints, pieces: int, overlap: int) -> tuple[Ints, Ints]:
    """Return first words, and ends, of windows of at most so many pieces that cover a corpus and share `overlap` words.

    `ends` is where each word's pieces begin, and where the last one's end.

    >>> begin, stop = covering(np.array([0, 1, 3, 4, 5, 8, 9]), pieces=5, overlap=1)
    >>> list(zip(begin.tolist(), stop.tolist()))
    [(0, 4), (3, 6)]
    """

    def end(first: int) -> int:
        last = int(np.searchsorted(ends, ends[first] + pieces, side="right")) - 1
        return max(last, first + 1)  # a word that is longer than a window is one

    begin, stop = [0], [end(0)]
    while stop[-1] < len(ends) - 1:
        first = max(begin[-1] + 1, stop[-1] - overlap)
        while end(first) <= stop[-1]:  # long words follow: it shares fewer, or it would add nothing
            first += 1
        begin.append(first)
        stop.append(end(first))
    return np.array(begin, dtype=np.int64), np.array(stop, dtype=np.int64)


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
