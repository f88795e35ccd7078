"""A joint stack of dilated convolutions, made for speed on a CPU: the type of small, fast models.

In: windows of words. Out: log-probabilities per task. A convolution reads each piece and its neighbours; residual
blocks follow, a few over pieces and the others over words, of which the last piece stands for the whole. A block
normalises and rectifies, reads each place and its neighbours at a distance (the block's dilation), and adds what it
found (He et al. 2016, "Identity mappings in deep residual networks": full pre-activation). Between convolutions over
words there may be attention, which reads the whole window.

Whatever a product reads lies within fixed limits (`LIMIT`, `CEILING`), so that bytes hold it in known steps: the int8
file needs no sample of text to be measured on, and a word's scores do not depend on what else is in the batch.
Needs the extra [train]; `export` turns it into a file that does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from interpunct.models.pieces import PAD
from interpunct.models.sequence_model import SequenceModel, SequenceOptions
from interpunct.models.word_states import at_words

LIMIT = 5.0
"""Numbers of embeddings, whose root mean square is 1, count as this where they are larger: -128 to 127 steps."""
STEP = LIMIT / 127
CEILING = 6.0
"""Normalised numbers above this count as this, and negative ones as 0: a byte of 0 to 255 steps."""
RECTIFIED_STEP = CEILING / 255
WEIGHT_STEPS = 63
"""Weights have 7 bits: CPUs without VNNI add two products of bytes into 16, where those of 8-bit weights overflow."""
EPSILON = 1e-6
NIBBLE_STEP = 16 * STEP
"""A table of 4 bits holds -8 to 7 of these steps: in a byte they are the upper half, so that a product reads them."""
NIBBLE_GAIN = 1.6
"""Embeddings times this are what 4 bits hold: of numbers whose root mean square is 1, those up to 2.8 fit in."""
STEEPEST = 0.05
"""What attention takes off for a distance of one word, at most; it grows with the distance's square."""
FAR = 1e9
"""What a word that is not there loses in attention, so that it has no share."""
PAIR_FACTOR = 40_503
"""A pair's row in its table is (the piece before × this + the piece) modulo the rows."""


@dataclass(frozen=True)
class DilatedOptions(SequenceOptions):
    """The network's shape; the defaults make an int8 file of 3.1 MB."""

    window: int = 256
    overlap: int = 32
    embedding: int = 128
    pairs: int = 16_384
    """Rows of a second table of embeddings, for a piece and the one before it together, hashed; 0 is no table.

    A larger table costs bytes and no time.
    """
    pair_embedding: int = 64
    table_bits: Literal[4, 8] = 8
    """Bits of a number in the tables of the int8 file."""
    width: int = 192
    kernel: int = 3
    """Places that a convolution reads: itself and as many on either side."""
    piece_dilations: tuple[int, ...] = ()
    """The dilations of the blocks over pieces."""
    dilations: tuple[int, ...] = (1, 2, 4, 8, 16, 1, 2, 4)
    """The dilations of the blocks over words."""
    inner: int | None = None
    """Numbers between a block's two products; None is a block of one product, which is faster."""
    inner_kernel: int = 1
    """Places that a block's second product reads, at the block's dilation; it has one where `inner` is given."""
    shifted: bool = False
    """Whether a block's product reads a quarter of either neighbour's numbers in place of as many of its own.

    Otherwise it reads all of them beside its own: three times the work, so that these blocks can be wider, or more.
    """
    signed: bool = False
    """Whether a block's first product reads numbers with their sign, and only what it finds is rectified."""
    attention: tuple[int, ...] = ()
    """After how many blocks over words attention stands, each with products of its own."""
    heads: int = 4
    keys: int = 13
    """Numbers of a head's queries and keys; three more say where a word stands."""
    values: int = 32
    """Numbers of a head's values."""
    stride: int = 4
    """Attention looks at every so many words, which know their neighbours from convolutions; all words ask."""
    dropout: float = 0.1
    rounded: bool = False
    """Whether training rounds weights and what they are multiplied with to the steps of the int8 file."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("kernel", "inner_kernel"):
            if getattr(self, name) % 2 == 0:
                raise ValueError(f"{name} {getattr(self, name)} has no middle; use an odd number")
        if self.shifted and (self.kernel != 3 or self.inner_kernel not in (1, 3)):
            raise ValueError("shifted blocks read one neighbour on either side; kernel must be 3, inner_kernel 1 or 3")
        if self.shifted and (self.width % 4 or (self.inner or 0) % 4):
            raise ValueError("shifted blocks read quarters; width and inner must be multiples of 4")
        if self.inner_kernel > 1 and not self.inner:
            raise ValueError(f"inner_kernel {self.inner_kernel}: there is no second product; give inner as well")
        if self.signed and not self.inner:
            raise ValueError("signed blocks of one product rectify nothing; give inner as well")
        if self.attention and max(self.attention) > len(self.dilations):
            raise ValueError(f"attention {self.attention}: there are {len(self.dilations)} blocks over words")
        if len(set(self.attention)) < len(self.attention):
            raise ValueError(f"attention {self.attention}: once after a block is enough")
        if self.table_bits == 4 and (self.embedding % 2 or self.pair_embedding % 2):
            raise ValueError("table_bits 4 puts two numbers into a byte; embedding and pair_embedding must be even")

    @property
    def reach(self) -> int:
        """Words on either side of a word that have a part in its scores, each through the pieces around its last.

        Attention, where there is any, reaches further: to the window's ends.
        """
        return self._side * sum(self.dilations)

    @property
    def piece_reach(self) -> int:
        """Pieces on either side of a word's last piece that have a part in it; with pairs, one more before it."""
        return self.kernel // 2 + self._side * sum(self.piece_dilations)

    @property
    def _side(self) -> int:
        """Places on either side that a block of dilation 1 reads."""
        return self.kernel // 2 + self.inner_kernel // 2


def straight_through(exact: Tensor, rounded: Tensor) -> Tensor:
    """Return rounded numbers whose gradient is that of the exact ones."""
    return exact + (rounded - exact).detach()


class Product(nn.Linear):
    """A linear layer; in training it may round its weights to bytes, each row with its own scale."""

    def __init__(self, inputs: int, outputs: int, *, rounds: bool) -> None:
        super().__init__(inputs, outputs)
        self.rounds = rounds

    def forward(self, given: Tensor) -> Tensor:
        """Multiply."""
        weight = self.weight
        if self.rounds and self.training:
            scale = weight.detach().abs().amax(dim=1, keepdim=True).clamp(min=1e-8) / WEIGHT_STEPS
            weight = straight_through(weight, torch.round(weight / scale) * scale)
        return F.linear(given, weight, self.bias)


def normalised(states: Tensor) -> Tensor:
    """Divide each place's numbers by their root mean square."""
    exact = states.float()  # a sum of squares is no work for bfloat16
    return (exact * torch.rsqrt(exact.square().mean(dim=-1, keepdim=True) + EPSILON)).to(states.dtype)


def bounded(states: Tensor, lowest: int, highest: int, step: float, *, rounds: bool) -> Tensor:
    """Keep numbers within so many steps; perhaps round them to whole ones."""
    states = states.clamp(lowest * step, highest * step)
    return straight_through(states, torch.round(states / step) * step) if rounds else states


def neighbours(states: Tensor, kernel: int, dilation: int) -> Tensor:
    """Put each place's neighbours beside it: (windows, places, numbers) to (windows, places, kernel * numbers)."""
    places, side = states.shape[1], kernel // 2 * dilation
    padded = F.pad(states, (0, 0, side, side))
    return torch.cat([padded[:, tap * dilation : tap * dilation + places] for tap in range(kernel)], dim=-1)


def shifted(states: Tensor, dilation: int) -> Tensor:
    """Take a quarter of each place's numbers from the place before it, and the last quarter from the one behind it."""
    quarter, places = states.shape[2] // 4, states.shape[1]
    padded = F.pad(states, (0, 0, dilation, dilation))
    before, behind = padded[:, :places, :quarter], padded[:, 2 * dilation :, 3 * quarter :]
    return torch.cat([before, states[:, :, quarter : 3 * quarter], behind], dim=-1)


class Block(nn.Module):
    """A residual block: normalise, rectify, read the neighbourhood, add what was found."""

    def __init__(self, options: DilatedOptions, dilation: int) -> None:
        super().__init__()
        self.kernel, self.dilation, self.rounds = options.kernel, dilation, options.rounded
        middle = options.inner or options.width
        self.shifted = options.shifted
        beside, inner_beside = (1, 1) if options.shifted else (options.kernel, options.inner_kernel)
        self.reads = Product(beside * options.width, middle, rounds=options.rounded)
        self.inner_kernel, self.signed = options.inner_kernel, options.signed
        self.writes = Product(inner_beside * middle, options.width, rounds=options.rounded) if options.inner else None
        self.dropout = nn.Dropout(options.dropout)

    def forward(self, states: Tensor, absent: Tensor) -> Tensor:
        """Return the states, each with what its neighbourhood adds; `absent` are the places where there is nothing."""
        given = normalised(states)
        if self.signed:
            given = bounded(given, -128, 127, STEP, rounds=self.rounds and self.training)
        else:
            given = self._rectified(given)
        given = given.masked_fill(absent, 0)
        found: Tensor = self.reads(self._around(given, self.kernel))
        if self.writes is not None:
            inner = self._rectified(found)
            if self.inner_kernel > 1:
                inner = self._around(inner.masked_fill(absent, 0), self.inner_kernel)
            found = self.writes(inner)
        added: Tensor = self.dropout(found)
        return states + added

    def _around(self, states: Tensor, kernel: int) -> Tensor:
        return shifted(states, self.dilation) if self.shifted else neighbours(states, kernel, self.dilation)

    def _rectified(self, states: Tensor) -> Tensor:
        return bounded(states, 0, 255, RECTIFIED_STEP, rounds=self.rounds and self.training)


class Attention(nn.Module):
    """A residual block that reads words of the whole window: content and distance decide how much of each.

    A head prefers words at some distance, its `shift`: what is d words off it loses d² times its steepness.
    """

    def __init__(self, options: DilatedOptions) -> None:
        super().__init__()
        self.heads, self.keys, self.values = options.heads, options.keys, options.values
        self.stride, self.rounds = options.stride, options.rounded
        self.asks = Product(options.width, self.heads * self.keys, rounds=options.rounded)
        self.reads = Product(options.width, self.heads * (self.keys + self.values), rounds=options.rounded)
        self.writes = Product(self.heads * self.values, options.width, rounds=options.rounded)
        # From heads that look four words far to those that look forty words far.
        self.sharpness = nn.Parameter(torch.linspace(1.0, -5.0, self.heads))
        self.shift = nn.Parameter(torch.zeros(self.heads))
        self.dropout = nn.Dropout(options.dropout)

    def forward(self, states: Tensor, absent: Tensor) -> Tensor:
        """Return the states, each with what it finds in the window; `absent` are the places where there is nothing."""
        windows, places, _ = states.shape
        given = self._bytes(normalised(states))
        found, parts = self.reads(given[:, :: self.stride]), [self.heads * self.keys, self.heads * self.values]
        queries, keys, values = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in (self.asks(given), *found.split(parts, dim=-1))
        )  # (windows, heads, places, numbers)
        place = torch.arange(places, device=states.device, dtype=torch.float32)
        off = place[:: self.stride] - place[:, None] - self.shift.float()[:, None, None]  # (heads, places, read ones)
        losses = off.square() * (STEEPEST * self.sharpness.float().sigmoid())[:, None, None]
        bias = -losses - FAR * absent[:, None, None, :: self.stride, 0]  # (windows, heads, places, read ones)
        attended = F.scaled_dot_product_attention(queries, keys, values, attn_mask=bias.to(queries.dtype))
        attended = self._bytes(attended.transpose(1, 2).reshape(windows, places, -1))
        added: Tensor = self.dropout(self.writes(attended))
        return states + added

    def _bytes(self, states: Tensor) -> Tensor:
        return bounded(states, -128, 127, STEP, rounds=self.rounds and self.training)


class Network(nn.Module):
    """Embedding, a convolution, residual blocks over pieces and over words, a linear branch per task."""

    def __init__(self, options: DilatedOptions, sizes: Mapping[str, int], vocabulary: int) -> None:
        super().__init__()
        self.options = options
        self.embedding = nn.Embedding(vocabulary, options.embedding, padding_idx=PAD)
        self.pairs = nn.Embedding(options.pairs, options.pair_embedding) if options.pairs else None
        if self.pairs is not None:
            nn.init.normal_(self.pairs.weight, std=0.1)  # a pair that was never seen should say next to nothing
        self.dropout = nn.Dropout(options.dropout)
        read = options.embedding + (options.pair_embedding if options.pairs else 0)
        self.stem = Product(options.kernel * read, options.width, rounds=options.rounded)
        self.piece_blocks = nn.ModuleList(Block(options, dilation) for dilation in options.piece_dilations)
        self.word_blocks = nn.ModuleList(Block(options, dilation) for dilation in options.dilations)
        self.attention = nn.ModuleDict({str(after): Attention(options) for after in options.attention})
        self.heads = nn.ModuleDict({task: nn.Linear(options.width, size) for task, size in sizes.items()})

    def looked_up(self, pieces: Tensor, before: Tensor) -> Tensor:
        """Return what the tables hold of pieces (windows × pieces), each behind the one before it."""
        embedded = normalised(self.embedding(pieces))  # (windows, pieces, embedding)
        if self.pairs is not None:
            rows = (before * PAIR_FACTOR + pieces) % self.pairs.num_embeddings
            embedded = torch.cat([embedded, self.pairs(rows)], dim=-1)
        rounds = self.options.rounded and self.training
        if self.options.table_bits == 4:
            return bounded(embedded * NIBBLE_GAIN, -8, 7, NIBBLE_STEP, rounds=rounds)
        return bounded(embedded, -128, 127, STEP, rounds=rounds)

    def forward(self, pieces: Tensor, lengths: Tensor, words: Tensor) -> dict[str, Tensor]:
        """Return each task's logits at each word's last piece."""
        absent = (torch.arange(pieces.shape[1], device=pieces.device) >= lengths[:, None])[:, :, None]
        embedded = self.looked_up(pieces, F.pad(pieces[:, :-1], (1, 0), value=PAD))
        embedded = self.dropout(embedded).masked_fill(absent, 0)
        states = self.stem(neighbours(embedded, self.options.kernel, 1))  # (windows, pieces, width)
        for block in self.piece_blocks:
            states = block(states, absent)
        states = at_words(states, words)  # (windows, words, width)
        # Of a window's words only the first can end with piece 0, so that any other 0 is a word that is not there.
        absent = ((words == 0) & (torch.arange(words.shape[1], device=words.device) > 0))[:, :, None]
        for number, block in enumerate(self.word_blocks):
            states = block(states, absent)
            if str(number + 1) in self.attention:
                states = self.attention[str(number + 1)](states, absent)
        states = self.dropout(normalised(states))
        return {task: head(states) for task, head in self.heads.items()}


class Dilated(SequenceModel[DilatedOptions]):
    """The stack of dilated convolutions."""

    TYPE = "dilated"
    OPTIONS = DilatedOptions

    @staticmethod
    def build(options: DilatedOptions, sizes: Mapping[str, int], vocabulary: int) -> nn.Module:
        """Return the network."""
        return Network(options, sizes, vocabulary)
