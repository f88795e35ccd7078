"""The self-attention model of paper 002 (Yi & Tao 2019): an encoder of words and a decoder that writes their labels.

In: windows of words, as learned vectors or as vectors from files (word, speech, or both summed). Out: a way to write
labels one after another: each is chosen in view of all words of the window and of the labels before it. The layers
are those of the Transformer (Vaswani et al. 2017; section 2.1, eq. 1-3), positions are sinusoids. All tasks' labels
of a word are one label: their place in the product of the tasks' labels, in their order.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from interpunct.features import Features
from interpunct.models.batch import piece_batch
from interpunct.models.encoded import IGNORED
from interpunct.models.known_labels import known_mean
from interpunct.models.scores import Array, Ints
from interpunct.models.shown import Batch, Shown
from interpunct.models.waves import look, positions
from interpunct.models.word_model import WordModel, WordOptions

_DEV_BATCH = 1024  # windows written side by side on dev: a step costs about the same for one as for hundreds

_DISTANCES = (0, 1, -1, 2, -2, 3, -3, 4)
"""How far ahead the heads look before they have learned anything."""

KeysValues = tuple[Tensor, Tensor]
"""What attention looks at: keys and values, each rows × heads × places × numbers."""


@dataclass(frozen=True)
class SelfAttentionOptions(WordOptions):
    """The paper's network (section 3.2)."""

    context: Literal["overlap", "restart", "whole"] = "restart"
    window: int = 70
    """As long as the longest training sequence: the network knows nothing of positions that it never learned at."""
    shortest: int = 40
    longest: int = 70
    batch: int = 32
    smoothing: float = 0.1
    embedding: int = 512
    """Numbers of a word's vector; where they are not `width`, a linear projection makes them so."""
    width: int = 512
    heads: int = 8
    layers: int = 6
    """Layers of the encoder, and of the decoder."""
    inner: int = 2048
    dropout: float = 0.1
    norm_first: bool = False
    """Whether a part's input is normalised, which learns with less warm-up, or the sum behind it, as in the paper."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.heads < 1 or self.width % self.heads or self.width % 2:
            raise ValueError(f"width {self.width} must be even and a multiple of heads {self.heads}")


class Attention(nn.Module):
    """Multi-head attention (eq. 1-3): to the sequence itself, or to another whose keys and values are given."""

    def __init__(self, options: SelfAttentionOptions, *, itself: bool) -> None:
        super().__init__()
        self.heads = options.heads
        # One matrix for queries, keys and values: a few large products are faster than many small ones.
        self.input = nn.Linear(options.width, (3 if itself else 1) * options.width, bias=False)
        self.output = nn.Linear(options.width, options.width, bias=False)

    def own(self, states: Tensor) -> tuple[Tensor, KeysValues]:
        """Return the queries, and the keys and values, of states (rows × places × width)."""
        queries, keys, values = split_heads(self.input(states), 3, self.heads)
        return queries, (keys, values)

    def queries(self, states: Tensor) -> Tensor:
        """Return the queries alone, of attention to another sequence."""
        (queries,) = split_heads(self.input(states), 1, self.heads)
        return queries

    def forward(self, queries: Tensor, read: KeysValues, mask: Tensor | None = None, *, causal: bool = False) -> Tensor:
        """Return for each query what it finds in `read`, where `mask` is true, or up to its own place if `causal`."""
        found = F.scaled_dot_product_attention(queries, *read, attn_mask=mask, is_causal=causal)
        return cast(Tensor, self.output(found.transpose(1, 2).flatten(2)))


def split_heads(states: Tensor, parts: int, heads: int) -> tuple[Tensor, ...]:
    """Cut states (rows × places × parts · width) into parts, each rows × heads × places × numbers."""
    rows, places, _ = states.shape
    return states.view(rows, places, parts, heads, -1).permute(2, 0, 3, 1, 4).unbind()


class Residual(nn.Module):
    """What stands around each part of a layer: dropout, the sum with the part's input, normalisation."""

    def __init__(self, options: SelfAttentionOptions) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(options.width)
        self.dropout = nn.Dropout(options.dropout)
        self.norm_first = options.norm_first

    def forward(self, states: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
        """Send states through a part of the layer and around it."""
        if self.norm_first:
            return states + cast(Tensor, self.dropout(part(self.norm(states))))
        return cast(Tensor, self.norm(states + self.dropout(part(states))))


class Past:
    """The keys and values of the labels written so far, in one decoder layer."""

    def __init__(self, words: int) -> None:
        self.words = words
        self.count = 0
        self.table = torch.empty(0)

    def add(self, read: KeysValues) -> KeysValues:
        """Add one label's keys and values, and return all so far."""
        if not self.count:
            rows, heads, _, numbers = read[0].shape
            self.table = read[0].new_empty((2, rows, heads, self.words, numbers))
        for place, added in enumerate(read):
            self.table[place, :, :, self.count] = added[:, :, 0]
        self.count += 1
        return self.table[0, :, :, : self.count], self.table[1, :, :, : self.count]

    def reorder(self, parents: Tensor) -> None:
        """Go on with other rows."""
        if self.count:
            self.table = self.table.index_select(1, parents)


class EncoderLayer(nn.Module):
    """Self-attention over all words, and a layer of its own for each."""

    def __init__(self, options: SelfAttentionOptions) -> None:
        super().__init__()
        self.attention = Attention(options, itself=True)
        self.inner = _inner(options)
        self.around = nn.ModuleList(Residual(options) for _ in range(2))

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return new states of words (windows × words × width); `mask` tells words from padding."""
        states = self.around[0](states, lambda given: self.attention(*self.attention.own(given), mask))
        return cast(Tensor, self.around[1](states, self.inner))


class DecoderLayer(nn.Module):
    """Self-attention over the labels so far, attention to the words, and a layer of its own for each."""

    def __init__(self, options: SelfAttentionOptions) -> None:
        super().__init__()
        self.attention = Attention(options, itself=True)
        self.cross = Attention(options, itself=False)
        self.inner = _inner(options)
        self.around = nn.ModuleList(Residual(options) for _ in range(3))

    def forward(self, states: Tensor, words: KeysValues, mask: Tensor, past: Past | None) -> Tensor:
        """Return new states of labels: of a whole sequence, or with a `past` of the one label behind it."""

        def own(given: Tensor) -> Tensor:
            queries, read = self.attention.own(given)
            if past is None:
                # Padding stands behind the words, so that looking only back also keeps it out.
                return cast(Tensor, self.attention(queries, read, causal=True))
            return cast(Tensor, self.attention(queries, past.add(read)))

        states = self.around[0](states, own)
        states = self.around[1](states, lambda given: self.cross(self.cross.queries(given), words, mask))
        return cast(Tensor, self.around[2](states, self.inner))


def _inner(options: SelfAttentionOptions) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(options.width, options.inner), nn.ReLU(), nn.Linear(options.inner, options.width)
    )  # fmt: skip


@dataclass(frozen=True)
class Memory:
    """Words as the decoder sees them: each layer's keys and values, and which of the places are words."""

    layers: tuple[KeysValues, ...]
    mask: Tensor

    def reorder(self, parents: Tensor) -> Memory:
        """Return the memory for other rows."""
        chosen = tuple((keys[parents], values[parents]) for keys, values in self.layers)
        return Memory(chosen, self.mask[parents])


class Network(nn.Module):
    """Encoder and decoder."""

    def __init__(self, options: SelfAttentionOptions, sizes: Mapping[str, int], vocabulary: int) -> None:
        super().__init__()
        self.sizes = dict(sizes)
        self.width, self.heads = options.width, options.heads
        labels = math.prod(sizes.values())
        self.begin, self.unknown = labels, labels + 1
        projected = options.width if options.embedding != options.width else None
        self.input = options.word_input(vocabulary, project=projected)
        self.scale = math.sqrt(options.embedding)
        self.label_input = nn.Embedding(labels + 2, options.width)
        self.dropout = nn.Dropout(options.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(options) for _ in range(options.layers))
        self.memory = nn.Linear(options.width, 2 * options.layers * options.width, bias=False)
        self.decoder = nn.ModuleList(DecoderLayer(options) for _ in range(options.layers))
        # Where parts' inputs are normalised, nothing else does it for the last layer's output.
        self.norms = nn.ModuleList(
            nn.LayerNorm(options.width) if options.norm_first else nn.Identity() for _ in range(2)
        )  # fmt: skip
        self.output = nn.Linear(options.width, labels)
        self._initialise()

    @torch.no_grad()
    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                # Attention's matrices have no bias, and some are several square ones in one.
                squares = module.out_features // module.in_features if module.bias is None else 1
                for matrix in module.weight.chunk(squares):
                    nn.init.xavier_uniform_(matrix)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                # Scaled up when read (Vaswani et al. 2017, section 3.4), so that they learn as fast as they are large.
                nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
                if module.padding_idx is not None:
                    nn.init.zeros_(module.weight[module.padding_idx])
        # Each head begins by looking at one place: a label's heads at its own word and its neighbours, a word's at its
        # neighbours. Until they have found these by themselves, which takes thousands of steps, nothing is learned.
        for layer, keys in zip(self.decoder, self.memory.weight.chunk(2 * len(self.decoder))[::2], strict=True):
            look(cast(DecoderLayer, layer).cross.input.weight, keys, self.heads, _DISTANCES)
        for layer in self.encoder:
            queries, keys, _ = cast(EncoderLayer, layer).attention.input.weight.chunk(3)
            look(queries, keys, self.heads, _DISTANCES[1:])

    def read(self, pieces: Tensor, lengths: Tensor, places: Tensor) -> Memory:
        """Encode words (windows × words), which stand at `places`' positions."""
        mask = torch.arange(pieces.shape[1], device=pieces.device) < lengths[:, None, None, None]  # (…, 1, 1, words)
        states = self.dropout(self.input(pieces) * self.scale + places)
        for layer in self.encoder:
            states = layer(states, mask)
        read = split_heads(self.memory(self.norms[0](states)), 2 * len(self.decoder), self.heads)
        return Memory(tuple(zip(read[::2], read[1::2], strict=True)), mask)

    def write(self, before: Tensor, places: Tensor, memory: Memory, past: Sequence[Past | None]) -> Tensor:
        """Return logits of the label behind each of `before` (rows × labels), which stand at `places`' positions."""
        states = self.dropout(self.label_input(before) * math.sqrt(self.width) + places)
        for layer, words, own in zip(self.decoder, memory.layers, past, strict=True):
            states = layer(states, words, memory.mask, own)
        return cast(Tensor, self.output(self.norms[1](states)))

    def taught(self, pieces: Tensor, lengths: Tensor, labels: Tensor) -> Tensor:
        """Return logits (windows × words × labels), each in view of the right labels before it."""
        known = labels.masked_fill(labels == IGNORED, self.unknown)
        before = torch.cat([torch.full_like(known[:, :1], self.begin), known[:, :-1]], dim=1)
        places = positions(before.shape[1], self.width, before.device)
        return self.write(before, places, self.read(pieces, lengths, places), [None] * len(self.decoder))

    def forward(self, pieces: Tensor, lengths: Tensor, _words: Tensor) -> dict[str, Tensor]:
        """Return each task's log-probabilities, each in view of the likeliest labels, written before it."""
        return self.apart(WindowSteps(self, pieces, lengths).greedy())

    def apart(self, logs: Tensor) -> dict[str, Tensor]:
        """Return each task's log-probabilities, whatever the other tasks' labels are."""
        table = logs.reshape(*logs.shape[:-1], *self.sizes.values())
        first = logs.ndim - 1
        found = {}
        for axis, task in enumerate(self.sizes):
            others = [first + other for other in range(len(self.sizes)) if other != axis]
            found[task] = table.logsumexp(dim=others) if others else table
        return found

    def together(self, labels: Mapping[str, Tensor]) -> Tensor:
        """Return the one label of all tasks; where one of them is not known, neither is it."""
        joint = torch.zeros_like(next(iter(labels.values())))
        known = torch.ones_like(joint, dtype=torch.bool)
        for task, size in self.sizes.items():
            joint = joint * size + labels[task]
            known &= labels[task] != IGNORED
        return joint.masked_fill(~known, IGNORED)


class WindowSteps:
    """Windows whose labels are being written; what was computed for words and earlier labels is kept."""

    def __init__(self, network: Network, pieces: Tensor, lengths: Tensor) -> None:
        self._network = network
        self._count = pieces.shape[1]
        self._places = positions(self._count, network.width, pieces.device)
        self._memory = network.read(pieces, lengths, self._places)
        self._past = [Past(self._count) for _ in network.decoder]
        self._written = 0
        self._windows: Ints = np.arange(len(pieces))  # of each row

    @torch.no_grad()
    def step(self, parents: Ints, labels: Ints) -> Array:
        """Go on one word (see `Steps`)."""
        if not np.array_equal(parents, np.arange(len(self._windows))):
            self._reorder(parents)
        device = self._places.device
        logs: Array = self._next(torch.from_numpy(labels).to(device)).cpu().numpy()
        return logs

    def greedy(self) -> Tensor:
        """Write the likeliest label at each step; return log-probabilities, windows × words × labels."""
        labels = torch.zeros(len(self._windows), dtype=torch.int64, device=self._places.device)
        found = []
        for _ in range(self._count):
            found.append(self._next(labels))
            labels = found[-1].argmax(dim=1)
        return torch.stack(found, dim=1)

    def _next(self, labels: Tensor) -> Tensor:
        """Write labels, one a row, and return the log-probabilities of those behind them."""
        before = labels if self._written else torch.full_like(labels, self._network.begin)
        places = self._places[self._written : self._written + 1]
        self._written += 1
        logits = self._network.write(before[:, None], places, self._memory, self._past)
        return F.log_softmax(logits[:, 0].float(), dim=-1)

    def _reorder(self, parents: Ints) -> None:
        rows = torch.from_numpy(parents).to(self._places.device)
        for past in self._past:
            past.reorder(rows)
        windows = self._windows[parents]
        if not np.array_equal(windows, self._windows):  # a beam changes places within its window, mostly
            self._memory = self._memory.reorder(rows)
        self._windows = windows


class SelfAttention(WordModel[SelfAttentionOptions]):
    """Self-attention, -word, -speech or -word-speech, by its vectors.

    It is a `Writer`, and decoding treats it as one. The `forward` that it has of every sequence model scores words in
    view of labels written greedily. Tasks have no weights here, and a word teaches only where all its labels are known.
    """

    TYPE = "self_attention"
    OPTIONS = SelfAttentionOptions

    @staticmethod
    def build(options: SelfAttentionOptions, sizes: Mapping[str, int], vocabulary: int) -> nn.Module:
        """Return the network."""
        return Network(options, sizes, vocabulary)

    @torch.no_grad()
    def steps(self, windows: Sequence[Features]) -> WindowSteps:
        """Begin to write the labels of windows."""
        batch = piece_batch(windows, self.vocabulary)
        pieces, lengths = (torch.from_numpy(array).to(self.device) for array in (batch.pieces, batch.lengths))
        return WindowSteps(cast(Network, self.network), pieces, lengths)

    def _loss(self, network: nn.Module, batch: Batch) -> Tensor:
        """Return the loss of each label in view of the right ones before it (teacher forcing)."""
        learner = cast(Network, network)
        labels = learner.together(batch.labels)
        logits = learner.taught(batch.pieces, batch.lengths, labels).float()
        loss = known_mean(F.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED, reduction="none",
            label_smoothing=self.options.smoothing,
        ), labels)  # fmt: skip
        if not batch.targets:
            return loss
        alone = learner.apart(F.log_softmax(logits, dim=-1))
        agreed = torch.zeros_like(logits[..., 0])
        for task, chances in batch.targets.items():
            agreed = agreed + (chances * alone[task]).sum(dim=-1)
        return (1 - self.options.distil) * loss + self.options.distil * known_mean(-agreed.flatten(), labels)

    def _score(self, network: nn.Module, held_out: Shown) -> dict[str, float]:
        """Score what the network writes by itself, many windows at once."""
        wide = copy.copy(held_out)
        wide.options = replace(self.options, batch=max(self.options.batch, _DEV_BATCH))
        return super()._score(network, wide)
