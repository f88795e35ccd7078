"""A Llama network that reads both ways: a language model's layers, without the mask that hides what follows.

In: windows of words. Out: log-probabilities of each task's labels, read at the word's last piece. The network is that
of Touvron et al. 2023 (arXiv 2302.13971): RMSNorm before each part, rotary positions (Su et al. 2021, arXiv
2104.09864), keys and values shared by groups of heads (Ainslie et al. 2023, arXiv 2305.13245), SwiGLU; with biases
for queries, keys and values it is Qwen2's (arXiv 2407.10671). It learns from nothing, or goes on from a GGUF file,
whose vocabulary and shape it then has. It is large: a teacher rather than a model to restore with. Needs the extra
[train], and [bundled] to read a GGUF file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from interpunct import config
from interpunct.errors import ConfigError, InputError, ModelError
from interpunct.models.depth import check_kept, evenly_spaced, shortened
from interpunct.models.gguf_weights import GgufFile, find_gguf
from interpunct.models.pieces import Vocabulary
from interpunct.models.sequence_model import SequenceModel, SequenceOptions
from interpunct.models.word_states import at_words

Rotation = tuple[Tensor, Tensor]
"""The cosines and sines of positions, places × half of a head's numbers."""


@dataclass(frozen=True)
class LlamaOptions(SequenceOptions):
    """The network's shape; the defaults are those of SmolLM2-135M."""

    pretrained: str = ""
    """A GGUF file to begin with, by path or by name in the data folder; shape and vocabulary are then the file's."""
    width: int = 576
    layers: int = 30
    heads: int = 9
    kv_heads: int = 3
    """Heads of keys and values; each serves as many heads of queries."""
    inner: int = 1536
    biases: bool = False
    """Whether something is added to queries, keys and values."""
    causal: int = 0
    """How many of the first layers see what stands before a piece alone, as they learned to; the others see all."""
    theta: float = 100_000.0
    """The base of the rotary positions' paces."""
    epsilon: float = 1e-5
    """What is added to the mean square in a norm."""
    dropout: float = 0.1
    """Dropout of the last states, before the branches of the tasks."""
    layer_dropout: float = 0.0
    """Dropout of what each part of a layer adds."""
    keep_layers: tuple[int, ...] = ()
    """Which layers stay of `model.start`'s, counted from 1; where nothing is said, `layers` of them, evenly spaced."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_kept(self.keep_layers, self.layers)
        if self.pretrained:  # the shape is the file's, and is not known yet
            return
        if self.causal > self.layers:
            raise ValueError(f"causal {self.causal} is above layers {self.layers}")
        if self.width % (2 * self.heads):
            raise ValueError(f"width {self.width} must be an even multiple of heads {self.heads}")
        if self.heads % self.kv_heads:
            raise ValueError(f"heads {self.heads} must be a multiple of kv_heads {self.kv_heads}")
        if not self.theta > 0 or not self.epsilon > 0:
            raise ValueError(f"theta {self.theta} and epsilon {self.epsilon} must be above 0")


def rotation(places: Tensor, paces: Tensor) -> Rotation:
    """Return how numbers at `places` are rotated, each at its own of the `paces`."""
    angles = places[:, None].float() * paces  # (places, half)
    return angles.cos(), angles.sin()


def rotated(states: Tensor, turn: Rotation) -> Tensor:
    """Rotate states (… × places × numbers): a head's number i together with number i of its second half."""
    cos, sin = turn
    first, second = states.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1).to(states.dtype)


class Attention(nn.Module):
    """Attention of each piece to all that the mask shows; groups of heads share keys and values."""

    def __init__(self, options: LlamaOptions) -> None:
        super().__init__()
        self.heads, self.kv_heads = options.heads, options.kv_heads
        numbers = options.width // options.heads
        self.norm = nn.RMSNorm(options.width, eps=options.epsilon)
        # One matrix for queries, keys and values: a few large products are faster than many small ones.
        rows = (options.heads + 2 * options.kv_heads) * numbers
        self.input = nn.Linear(options.width, rows, bias=options.biases)
        self.output = nn.Linear(options.width, options.width, bias=False)

    def forward(self, states: Tensor, turn: Rotation, mask: Tensor | None, *, causal: bool = False) -> Tensor:
        """Return what the layer adds to states (windows × pieces × width); of what pads nothing is before a piece."""
        projected = self.input(self.norm(states)).unflatten(-1, (self.heads + 2 * self.kv_heads, -1)).transpose(1, 2)
        queries, keys, values = projected.split([self.heads, self.kv_heads, self.kv_heads], dim=1)
        # Repeated, since not every fast kernel takes a mask together with shared keys.
        group = self.heads // self.kv_heads
        keys = rotated(keys, turn).repeat_interleave(group, dim=1)  # (windows, heads, pieces, numbers)
        values = values.repeat_interleave(group, dim=1)
        queries = rotated(queries, turn)
        seen = None if causal else mask
        found = F.scaled_dot_product_attention(queries, keys, values, attn_mask=seen, is_causal=causal)
        return cast(Tensor, self.output(found.transpose(1, 2).flatten(2)))


class Inner(nn.Module):
    """The part of a layer that looks at each piece alone: SwiGLU."""

    def __init__(self, options: LlamaOptions) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(options.width, eps=options.epsilon)
        self.input = nn.Linear(options.width, 2 * options.inner, bias=False)
        self.output = nn.Linear(options.inner, options.width, bias=False)

    def forward(self, states: Tensor) -> Tensor:
        """Return what the layer adds to states."""
        gate, values = self.input(self.norm(states)).chunk(2, dim=-1)
        return cast(Tensor, self.output(F.silu(gate) * values))


class Layer(nn.Module):
    """Attention and the inner part, each added to what it read."""

    def __init__(self, options: LlamaOptions) -> None:
        super().__init__()
        self.attention = Attention(options)
        self.inner = Inner(options)
        self.dropout = nn.Dropout(options.layer_dropout)

    def forward(self, states: Tensor, turn: Rotation, mask: Tensor | None, *, causal: bool = False) -> Tensor:
        """Return new states of pieces."""
        states = states + self.dropout(self.attention(states, turn, mask, causal=causal))
        return states + cast(Tensor, self.dropout(self.inner(states)))


class Trunk(nn.Module):
    """What a language model has but its last layer: pieces' vectors, the layers, and a norm."""

    paces: Tensor

    def __init__(self, options: LlamaOptions, vocabulary: int) -> None:
        super().__init__()
        self.causal = options.causal
        self.embedding = nn.Embedding(vocabulary, options.width)
        self.layers = nn.ModuleList(Layer(options) for _ in range(options.layers))
        self.norm = nn.RMSNorm(options.width, eps=options.epsilon)
        half = options.width // options.heads // 2
        paces = torch.exp(torch.arange(half, dtype=torch.float32) * (-math.log(options.theta) / half))
        self.register_buffer("paces", paces, persistent=False)

    def forward(self, pieces: Tensor, mask: Tensor | None) -> Tensor:
        """Return states of pieces; the mask (windows × 1 × 1 or pieces × pieces) shows which see which; None is all.

        Causal layers do not look at it.
        """
        turn = rotation(torch.arange(pieces.shape[1], device=pieces.device), self.paces)
        states = self.embedding(pieces)  # (windows, pieces, width)
        for place, layer in enumerate(self.layers):
            states = layer(states, turn, mask, causal=place < self.causal)
        return cast(Tensor, self.norm(states))


class Network(nn.Module):
    """The trunk, and a linear branch per task at each word's last piece."""

    def __init__(self, options: LlamaOptions, sizes: Mapping[str, int], vocabulary: int) -> None:
        super().__init__()
        self.trunk = Trunk(options, vocabulary)
        self.dropout = nn.Dropout(options.dropout)
        self.heads = nn.ModuleDict({task: nn.Linear(options.width, size) for task, size in sizes.items()})

    def forward(self, pieces: Tensor, lengths: Tensor | None, words: Tensor) -> dict[str, Tensor]:
        """Return each task's logits at each word's last piece."""
        places = torch.arange(pieces.shape[1], device=pieces.device)
        mask = None if lengths is None else places < lengths[:, None, None, None]  # (windows, 1, 1, pieces)
        states = self.trunk(pieces, mask)
        states = self.dropout(at_words(states, words))  # (windows, words, width)
        return {task: head(states) for task, head in self.heads.items()}


class Llama(SequenceModel[LlamaOptions]):
    """A Llama network over both sides of a word."""

    TYPE = "llama"
    OPTIONS = LlamaOptions
    UNPADDED = True

    @staticmethod
    def build(options: LlamaOptions, sizes: Mapping[str, int], vocabulary: int) -> nn.Module:
        """Return the network."""
        return Network(options, sizes, vocabulary)

    @classmethod
    def create(cls, *, options: Mapping[str, Any], **others: Any) -> Self:
        """Make a model that has learned no task yet; one with a pretrained file has the file's shape and weights."""
        name = config.build(cls.OPTIONS, options).pretrained
        if name:
            options = _with_shape(options, GgufFile(find_gguf(name)).shape, name)
        return super().create(options=options, **others)

    @staticmethod
    def learn_vocabulary(words: Iterable[str], options: Any) -> Vocabulary:
        """Take the pretrained file's vocabulary, or learn subwords from normalised words."""
        if options.pretrained:
            return GgufFile(find_gguf(options.pretrained)).vocabulary(longest=options.longest_word)
        return SequenceModel.learn_vocabulary(words, options)

    @staticmethod
    def check_new(options: Any) -> None:
        """Refuse to keep layers of nothing."""
        if options.keep_layers:
            raise ConfigError(["options.keep_layers are of another network's; name it in model.start"])

    def adopt(self, before: Self) -> None:
        """Take the weights of a trained model, of its layers those that stay."""
        layers = before.options.layers
        if self.options.causal > self.options.layers:
            raise ModelError(f"options.causal is {self.options.causal}, above the {self.options.layers} layers")
        if self.options.layers > layers:
            raise ModelError(f"{before.name} has {layers} layers, and a llama cannot go on with more; ask for fewer")
        kept = self.options.keep_layers or evenly_spaced(self.options.layers, layers)
        causal = sum(place <= before.options.causal for place in kept)
        if len(kept) < layers and self.options.causal != causal:
            what = f"of the layers that stay of {before.name} {causal} see the past alone"
            raise ModelError(f"{what}; set options.causal to {causal}")
        self.network.load_state_dict(shortened(before.network.state_dict(), kept, layers, inside="trunk."))

    def prepare(self) -> None:
        """Fill a new network's trunk with the pretrained weights."""
        if not self.options.pretrained:
            return
        path = find_gguf(self.options.pretrained)
        try:
            cast(Network, self.network).trunk.load_state_dict(GgufFile(path).weights())
        except RuntimeError as error:
            reason = " ".join(str(error).split())
            raise InputError(f"weights do not fit the file's own shape: {reason}", path=str(path)) from None


def _with_shape(options: Mapping[str, Any], shape: Mapping[str, int | float], name: str) -> dict[str, Any]:
    """Return options with the file's shape; one that says otherwise is a mistake."""
    problems = [
        f"options.{option} is {options[option]}, but {value} in {name}; leave it out"
        for option, value in shape.items()
        if option in options and not math.isclose(options[option], value, rel_tol=1e-6)
    ]
    if options.get("causal", 0) > shape["layers"]:
        problems.append(f"options.causal is {options['causal']}, above the {shape['layers']} layers of {name}")
    if problems:
        raise ConfigError(problems)
    return {**options, **shape}
