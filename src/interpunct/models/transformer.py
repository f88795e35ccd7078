"""A BERT-like encoder over subwords: one network, a softmax branch per task, from random or pretrained weights.

In: windows of words. Out: log-probabilities of the mark after each word and of its case, read at the word's last
piece. The layers are BERT's (Devlin et al. 2019): learned positions, attention to the whole window, GELU, and
normalisation behind each sum. Windows are running text, so that there is neither [CLS] nor [SEP]. `pretrained` names a
file made by `pretrained_encoder.convert`; only a new model needs it. Needs the extra [train]; `export` turns it into a
file that does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from interpunct.errors import ConfigError, InputError, ModelError
from interpunct.models.depth import check_kept, evenly_spaced, shortened
from interpunct.models.pieces import PAD, Vocabulary
from interpunct.models.pretrained_encoder import PretrainedEncoder, WordPieces, word_pieces
from interpunct.models.sequence_model import SequenceModel, SequenceOptions, at_words

NORM_EPSILON = 1e-12  # BERT's


@dataclass(frozen=True)
class TransformerOptions(SequenceOptions):
    """The network's shape, and where its weights come from."""

    vocabulary: int = 30_522
    """Pieces at most; of a pretrained vocabulary that has more, those stay that the training text needs most."""
    batch: int = 32
    width: int = 384
    heads: int = 12
    layers: int = 12
    inner: int = 1536
    positions: int = 512
    """Pieces of a window at most; those of a longer one share the last position."""
    dropout: float = 0.1
    attention_dropout: float = 0.1
    pretrained: str = ""
    """A file made by `pretrained_encoder.convert`; without one, weights are random and pieces learned."""
    keep_layers: tuple[int, ...] = ()
    """Which layers stay of the pretrained ones, or of `model.start`'s, counted from 1; where nothing is said, `layers`
    of them, evenly spaced."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width % self.heads:
            raise ValueError(f"width {self.width} must be a multiple of heads {self.heads}")
        if self.context == "whole" or max(self.window, self.longest, self.pieces) > self.positions:
            raise ValueError(f"positions {self.positions} must be enough for a window; make it shorter")
        check_kept(self.keep_layers, self.layers)


class Layer(nn.Module):
    """Attention to the whole window, and a feed-forward layer for each piece."""

    def __init__(self, options: TransformerOptions) -> None:
        super().__init__()
        self.heads = options.heads
        self.attention_dropout = options.attention_dropout
        # One matrix for queries, keys and values: a few large products are faster than many small ones.
        self.projections = nn.Linear(options.width, 3 * options.width)
        self.output = nn.Linear(options.width, options.width)
        self.output_norm = nn.LayerNorm(options.width, eps=NORM_EPSILON)
        self.up = nn.Linear(options.width, options.inner)
        self.down = nn.Linear(options.inner, options.width)
        self.down_norm = nn.LayerNorm(options.width, eps=NORM_EPSILON)
        self.dropout = nn.Dropout(options.dropout)

    def forward(self, states: Tensor, mask: Tensor | None) -> Tensor:
        """Return new states (windows × pieces × width); `mask` tells pieces from padding, where there is any."""
        states = self.output_norm(states + self.dropout(self.output(self.attend(states, mask))))
        inner = F.gelu(self.up(states))
        return cast(Tensor, self.down_norm(states + self.dropout(self.down(inner))))

    def attend(self, states: Tensor, mask: Tensor | None) -> Tensor:
        """Return what each piece finds in the others, heads side by side."""
        parts = self.projections(states).unflatten(2, (3, self.heads, -1))  # (windows, pieces, 3, heads, numbers)
        queries, keys, values = parts.permute(2, 0, 3, 1, 4).unbind()
        dropout = self.attention_dropout if self.training else 0.0
        found = F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask, dropout_p=dropout)
        return found.transpose(1, 2).flatten(2)


class Network(nn.Module):
    """Embeddings of pieces and positions, layers, a linear branch per task."""

    def __init__(self, options: TransformerOptions, sizes: Mapping[str, int], vocabulary: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, options.width, padding_idx=PAD)
        self.positions = nn.Embedding(options.positions, options.width)
        self.norm = nn.LayerNorm(options.width, eps=NORM_EPSILON)
        self.dropout = nn.Dropout(options.dropout)
        self.layers = nn.ModuleList(Layer(options) for _ in range(options.layers))
        self.heads = nn.ModuleDict({task: nn.Linear(options.width, size) for task, size in sizes.items()})
        self._initialise()

    @torch.no_grad()
    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)
        self.embedding.weight[PAD] = 0

    def states(self, pieces: Tensor, lengths: Tensor | None) -> Tensor:
        """Return the last layer's states (windows × pieces × width)."""
        places = torch.arange(pieces.shape[1], device=pieces.device)
        mask = None if lengths is None else (places < lengths[:, None])[:, None, None, :]  # (windows, 1, 1, pieces)
        known = places.clamp(max=self.positions.num_embeddings - 1)
        states = self.dropout(self.norm(self.embedding(pieces) + self.positions(known)))
        for layer in self.layers:
            states = layer(states, mask)
        return cast(Tensor, states)

    def forward(self, pieces: Tensor, lengths: Tensor | None, words: Tensor) -> dict[str, Tensor]:
        """Return each task's logits at each word's last piece."""
        states = self.states(pieces, lengths)
        states = self.dropout(at_words(states, words))  # (windows, words, width)
        return {task: head(states) for task, head in self.heads.items()}


class Transformer(SequenceModel[TransformerOptions]):
    """The encoder."""

    TYPE = "transformer"
    OPTIONS = TransformerOptions
    UNPADDED = True

    @staticmethod
    def build(options: TransformerOptions, sizes: Mapping[str, int], vocabulary: int) -> nn.Module:
        """Return the network."""
        return Network(options, sizes, vocabulary)

    @staticmethod
    def learn_vocabulary(words: Iterable[str], options: Any) -> Vocabulary:
        """Take the pretrained pieces that the words need, or learn pieces."""
        if not options.pretrained:
            return SequenceModel.learn_vocabulary(words, options)
        published = PretrainedEncoder.load(Path(options.pretrained)).pieces
        return word_pieces(published, words, size=options.vocabulary, longest=options.longest_word)

    def adopt(self, before: Self) -> None:
        """Take the weights of a trained model: of its layers those that stay, and new ones where it has too few."""
        asked, layers, state = self.options.layers, before.options.layers, before.network.state_dict()
        if asked > 2 * layers:
            raise ModelError(f"{before.name} has {layers} layers; layers can be {2 * layers} at most when it goes on")
        if asked > layers and not self.options.keep_layers:
            self.network.load_state_dict(deepened(state, layers, asked))
        else:
            kept = self.options.keep_layers or evenly_spaced(asked, layers)
            self.network.load_state_dict(shortened(state, kept, layers))

    def prepare(self) -> None:
        """Fill a new network with pretrained weights."""
        if self.options.keep_layers and not self.options.pretrained:
            raise ConfigError(["options.keep_layers are of another network's; name it in pretrained or model.start"])
        if self.options.pretrained and isinstance(self.vocabulary, WordPieces):
            pretrained = PretrainedEncoder.load(Path(self.options.pretrained))
            fill(cast(Network, self.network), pretrained, self.options, self.vocabulary.names())


def deepened(state: Mapping[str, Tensor], layers: int, asked: int) -> dict[str, Tensor]:
    """Return a network's weights with new layers behind some of its own that change next to nothing yet.

    They are evenly spaced; one stands behind the last layer.

    A new layer is that before it, whose two sums add nothing; what its norms read has the length and mean that the
    norm before them gave it, so that scaled by these it passes nearly as it was.
    """
    copied = set(evenly_spaced(asked - layers, layers))
    sources = [(layer, new) for layer in range(layers) for new in ((False, True) if layer + 1 in copied else (False,))]
    grown = {name: value for name, value in state.items() if not name.startswith("layers.")}
    for place, (source, new) in enumerate(sources):
        begin = f"layers.{source}."
        weight, bias = state[f"{begin}down_norm.weight"], state[f"{begin}down_norm.bias"]
        length = (weight.square().mean() + bias.var(correction=0)).sqrt()
        for name, value in state.items():
            inside = name.removeprefix(begin)
            if inside == name:
                continue
            if new and inside.startswith(("output.", "down.")):
                value = torch.zeros_like(value)
            elif new and "norm." in inside:
                value = torch.full_like(value, float(length if inside.endswith("weight") else bias.mean()))
            grown[f"layers.{place}.{inside}"] = value
    return grown


def fill(network: Network, pretrained: PretrainedEncoder, options: TransformerOptions, pieces: Iterable[str]) -> None:
    """Give a network pretrained weights: the rows of its pieces, its first positions, and the layers that stay."""
    kept = options.keep_layers or evenly_spaced(options.layers, pretrained.layers)
    problems = [
        f"{name} is {asked} but the encoder's is {has}; write {name} = {has}"
        for name, asked, has in (
            ("width", options.width, pretrained.width),
            ("heads", options.heads, pretrained.heads),
            ("inner", options.inner, pretrained.inner),
        )
        if asked != has
    ]
    if options.positions > pretrained.positions:
        problems.append(f"positions is {options.positions}; the encoder has {pretrained.positions}")
    if options.layers > pretrained.layers or max(kept) > pretrained.layers:
        problems.append(f"layers {kept} are asked for; the encoder has {pretrained.layers}")
    if problems:
        raise InputError("; ".join(problems), path=options.pretrained)
    row_of = {piece: row for row, piece in enumerate(pretrained.pieces)}
    weights = {name: torch.from_numpy(value.astype(np.float32)) for name, value in pretrained.weights.items()}
    chosen = {
        "embedding.weight": weights["embedding.weight"][[row_of[piece] for piece in pieces]],
        "positions.weight": weights["positions.weight"][: options.positions],
    }
    chosen["embedding.weight"][PAD] = 0
    for name in network.state_dict():
        part, _, rest = name.partition(".")
        if part == "layers":
            number, _, inside = rest.partition(".")
            chosen[name] = weights[f"layers.{kept[int(number)] - 1}.{inside}"]
        elif part == "norm":
            chosen[name] = weights[name]
    network.load_state_dict(network.state_dict() | chosen)
