"""A BERT-like encoder over subwords: one network, a softmax branch per task, from random or pretrained weights.

In: windows of words. Out: log-probabilities of the mark after each word and of its case, read at the word's last
piece. The layers are BERT's (Devlin et al. 2019): learned positions, attention to the whole window, GELU, and
normalisation behind each sum; with `distances`, MPNet's, which also weigh how far apart two pieces are. Windows are
running text, so that there is neither [CLS] nor [SEP]. `pretrained` names a file made by `pretrained_encoder.convert`;
only a new model needs it. Needs the extra [train]; `export` turns it into a file that does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from interpunct.errors import ConfigError, InputError, ModelError
from interpunct.models import distances
from interpunct.models.depth import check_kept, evenly_spaced, shortened
from interpunct.models.pieces import PAD, Vocabulary
from interpunct.models.pretrained_encoder import PretrainedEncoder, WordPieces, word_pieces
from interpunct.models.sequence_model import SequenceModel, SequenceOptions
from interpunct.models.shown import Batch
from interpunct.models.word_states import at_words

_GLANCE_COUNTS = 0.5  # what the loss of a glance counts beside that of the last look


@dataclass(frozen=True)
class TransformerOptions(SequenceOptions):
    """The network's shape, and where its weights come from."""

    vocabulary: int = 30_522
    """Pieces at most; of a pretrained vocabulary that has more, those stay that the training text needs most."""
    batch: int = 32
    width: int = 384
    heads: int = 12
    head: int | None = None
    """Numbers of a head; None is as many as make all heads together as wide as the states."""
    layers: int = 12
    inner: int = 1536
    positions: int = 512
    """Pieces of a window at most; those of a longer one share the last position."""
    dropout: float = 0.1
    attention_dropout: float = 0.1
    distances: int = 0
    """Classes of distances between pieces that attention tells apart (MPNet: 32); 0 tells none."""
    own_distances: bool = False
    """Whether each layer weighs distances by itself; MPNet's do it alike, until each has lost other heads."""
    learn_distances: bool = True
    """Whether what distances weigh is learned; where it stays as it is, steps of training are shorter."""
    epsilon: float = PretrainedEncoder.epsilon
    """What a normalisation adds to a variance."""
    pretrained: str = ""
    """A file made by `pretrained_encoder.convert`; without one, weights are random and pieces learned."""
    keep_layers: tuple[int, ...] = ()
    """Which layers stay of the pretrained ones, or of `model.start`'s, counted from 1; where nothing is said, `layers`
    of them, evenly spaced."""
    glance: int = 0
    """Layers that read every piece; where there are any, those above look again at the words left in doubt alone."""
    doubted: int = 30
    """How many places the layers above a glance look at, in percent of a window's pieces."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.head and self.width % self.heads:
            raise ValueError(f"width {self.width} must be a multiple of heads {self.heads}, or head given")
        if self.context == "whole" or max(self.window, self.longest, self.pieces) > self.positions:
            raise ValueError(f"positions {self.positions} must be enough for a window; make it shorter")
        check_kept(self.keep_layers, self.layers)
        if not 0 <= self.glance < self.layers:
            raise ValueError(f"glance {self.glance} must be fewer layers than layers, {self.layers}")
        if not 0 < self.doubted <= 100:
            raise ValueError(f"doubted {self.doubted} must be above 0 and at most 100")
        if self.distances % 4 or not 0 <= self.distances <= 2 * distances.FARTHEST:
            raise ValueError(f"distances {self.distances} must be a multiple of 4, {2 * distances.FARTHEST} at most")
        if self.own_distances and not self.distances:
            raise ValueError("own_distances needs distances; give them, too")
        if self.epsilon <= 0:
            raise ValueError(f"epsilon {self.epsilon} must be above 0")

    @property
    def attended(self) -> int:
        """Numbers of all heads together: what attention finds for a piece."""
        return self.heads * (self.head or self.width // self.heads)


class Layer(nn.Module):
    """Attention to the whole window, and a feed-forward layer for each piece."""

    def __init__(self, options: TransformerOptions) -> None:
        super().__init__()
        self.heads, self.attended = options.heads, options.attended
        self.attention_dropout = options.attention_dropout
        # One matrix for queries, keys and values: a few large products are faster than many small ones.
        self.projections = nn.Linear(options.width, 3 * self.attended)
        self.output = nn.Linear(self.attended, options.width)
        self.output_norm = nn.LayerNorm(options.width, eps=options.epsilon)
        self.up = nn.Linear(options.width, options.inner)
        self.down = nn.Linear(options.inner, options.width)
        self.down_norm = nn.LayerNorm(options.width, eps=options.epsilon)
        self.dropout = nn.Dropout(options.dropout)

    def forward(self, states: Tensor, mask: Tensor | None, asking: Tensor | None = None) -> Tensor:
        """Return new states (windows × pieces × width) of all pieces, or of those that ask alone.

        `mask` tells pieces from padding, or what is added to each look at a piece, where there is anything to tell.
        """
        attended = self.attend(states, mask, asking)
        states = self.output_norm((states if asking is None else asking) + self.dropout(self.output(attended)))
        inner = F.gelu(self.up(states))
        return cast(Tensor, self.down_norm(states + self.dropout(self.down(inner))))

    def attend(self, states: Tensor, mask: Tensor | None, asking: Tensor | None = None) -> Tensor:
        """Return what each piece that asks finds in all of them, heads side by side."""
        if asking is None:
            queries, keys, values = self._apart(self.projections(states), 3)
        else:
            first = self.attended
            weight, bias = self.projections.weight, self.projections.bias
            (queries,) = self._apart(F.linear(asking, weight[:first], bias[:first]), 1)
            keys, values = self._apart(F.linear(states, weight[first:], bias[first:]), 2)
        dropout = self.attention_dropout if self.training else 0.0
        found = F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask, dropout_p=dropout)
        return found.transpose(1, 2).flatten(2)

    def _apart(self, projected: Tensor, count: int) -> tuple[Tensor, ...]:
        """Return projections one by one, windows × heads × pieces × numbers."""
        numbers = projected.shape[2] // (count * self.heads)
        parts = projected.view(*projected.shape[:2], count, self.heads, numbers)
        return parts.permute(2, 0, 3, 1, 4).unbind()


class Network(nn.Module):
    """Embeddings of pieces and positions, layers, a linear branch per task; perhaps one after a glance, too."""

    def __init__(self, options: TransformerOptions, sizes: Mapping[str, int], vocabulary: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, options.width, padding_idx=PAD)
        self.positions = nn.Embedding(options.positions, options.width)
        weighing = options.heads * (options.layers if options.own_distances else 1)
        self.distances = nn.Embedding(options.distances, weighing) if options.distances else None
        if self.distances is not None:
            self.distances.weight.requires_grad_(options.learn_distances)
        self.norm = nn.LayerNorm(options.width, eps=options.epsilon)
        self.dropout = nn.Dropout(options.dropout)
        self.layers = nn.ModuleList(Layer(options) for _ in range(options.layers))
        self.heads = nn.ModuleDict({task: nn.Linear(options.width, size) for task, size in sizes.items()})
        self.glance, self.doubted = options.glance, options.doubted
        seen = sizes if options.glance else {}
        self.glances = nn.ModuleDict({task: nn.Linear(options.width, size) for task, size in seen.items()})
        self._initialise()

    @torch.no_grad()
    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)
        self.embedding.weight[PAD] = 0

    def states(self, pieces: Tensor, mask: Tensor | None) -> Tensor:
        """Return the states (windows × pieces × width) after a glance, or after all layers where there is none."""
        return self._read(pieces, self.masks(pieces.shape[1], mask))

    def _read(self, pieces: Tensor, masks: Sequence[Tensor | None]) -> Tensor:
        states = self.embedded(pieces)
        for layer, seen in zip(self.layers[: self.glance or None], masks, strict=False):
            states = layer(states, seen)
        return states

    def embedded(self, pieces: Tensor) -> Tensor:
        """Return what the first layer reads (windows × pieces × width)."""
        places = torch.arange(pieces.shape[1], device=pieces.device)
        known = places.clamp(max=self.positions.num_embeddings - 1)
        return cast(Tensor, self.dropout(self.norm(self.embedding(pieces) + self.positions(known))))

    def masks(self, pieces: int, mask: Tensor | None) -> Sequence[Tensor | None]:
        """Return for each layer what is added to each look at a piece, or what tells pieces from padding."""
        if self.distances is None:
            return [mask] * len(self.layers)
        weighed = _weighed(self.distances, pieces, mask)
        if self.distances.embedding_dim == cast(Layer, self.layers[0]).heads:
            return [weighed] * len(self.layers)
        # Each layer's own; fused attention wants the numbers of a window side by side.
        return [each.contiguous() for each in weighed.chunk(len(self.layers), dim=1)]

    def forward(self, pieces: Tensor, lengths: Tensor | None, words: Tensor) -> dict[str, Tensor]:
        """Return each task's logits at each word's last piece."""
        return self.looks(pieces, lengths, words)[-1]

    def looks(self, pieces: Tensor, lengths: Tensor | None, words: Tensor) -> list[dict[str, Tensor]]:
        """Return each task's logits at each word's last piece, after a glance where there is one, and at last."""
        mask = None
        if lengths is not None:
            inside = torch.arange(pieces.shape[1], device=pieces.device) < lengths[:, None]
            mask = inside[:, None, None, :]  # (windows, 1, 1, pieces)
        masks = self.masks(pieces.shape[1], mask)
        states = self._read(pieces, masks)
        if not self.glance:
            states = self.dropout(at_words(states, words))  # (windows, words, width)
            return [{task: head(states) for task, head in self.heads.items()}]
        glanced = {task: head(self.dropout(states)) for task, head in self.glances.items()}
        places, counted = self._in_doubt(glanced, lengths, words)
        asking = at_words(states, places)
        for layer, seen in zip(self.layers[self.glance :], masks[self.glance :], strict=True):
            new = layer(states, _at_places(seen, places), asking)
            asking = torch.where(counted, new.to(states.dtype), asking)
            states = states.scatter(1, places[:, :, None].expand_as(asking), asking)
        asking, last = self.dropout(asking), {}
        for task, logits in glanced.items():
            again = torch.where(counted, self.heads[task](asking), at_words(logits, places))
            last[task] = logits.scatter(1, places[:, :, None].expand_as(again), again)
        return [{task: at_words(logits, words) for task, logits in each.items()} for each in (glanced, last)]

    @torch.no_grad()
    def _in_doubt(self, glanced: Mapping[str, Tensor], lengths: Tensor | None, words: Tensor) -> tuple[Tensor, Tensor]:
        """Return the words' places (windows × places) where a task is least sure, and which of these count.

        Of a window with padding no more count than of the window alone.
        """
        sure = torch.stack([logits.float().softmax(dim=-1).amax(dim=-1) for logits in glanced.values()]).amin(dim=0)
        # A padded word points at the first piece, which may be in the middle of a word.
        words = words.where(words > 0, words[:, :1])
        doubt = torch.zeros_like(sure).scatter(1, words, 1.0) * (1 - sure)  # (windows, pieces)
        greatest, places = doubt.topk(self._share(doubt.shape[1]), dim=1)
        counted = greatest > 0  # not so where there is no word, or no doubt at all
        if lengths is not None:
            counted &= torch.arange(places.shape[1], device=places.device) < self._share(lengths)[:, None]
        return places, counted[:, :, None]

    def _share(self, pieces: Any) -> Any:
        """Return how many of so many pieces are looked at again."""
        return (pieces * self.doubted + 99) // 100


def _weighed(learned: nn.Embedding, pieces: int, mask: Tensor | None) -> Tensor:
    """Return what is added to each look at a piece (1 or windows × heads × pieces × pieces), padding's included."""
    classes = distances.between(pieces, learned.num_embeddings, learned.weight.device)
    # Fused attention wants the numbers of a row side by side; without that it is slow, and compiled it fails.
    added: Tensor = learned(classes).permute(2, 0, 1)[None].contiguous()
    return added if mask is None else added.masked_fill(~mask, -torch.inf)


def _at_places(mask: Tensor | None, places: Tensor) -> Tensor | None:
    """Return those rows of a mask that are of some places (windows × places), where its rows differ."""
    if mask is None or mask.shape[2] == 1:
        return mask
    rows = places[:, None, :, None].expand(-1, mask.shape[1], -1, mask.shape[3])
    return mask.expand(len(places), -1, -1, -1).gather(2, rows)


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
        if before.options.glance and self.options.glance and asked != layers:
            raise ModelError(f"{before.name} glances with {before.options.glance} of its {layers} layers; "
                             f"go on with {layers}, or with glance = 0")  # fmt: skip
        if self.options.distances != before.options.distances:
            raise ModelError(f"{before.name} has distances = {before.options.distances}; go on with these")
        if asked > layers and not self.options.keep_layers:
            state = deepened(state, layers, asked)
        else:
            state = shortened(state, self.options.keep_layers or evenly_spaced(asked, layers), layers)
        glances = {name.replace("heads.", "glances."): value for name, value in state.items() if "heads." in name}
        needed = self.network.state_dict().keys()
        state = {name: value for name, value in {**glances, **state}.items() if name in needed}
        self.network.load_state_dict(state)

    def _loss(self, network: nn.Module, batch: Batch) -> Tensor:
        """Return the loss of the last look, and of the glance, which must know what it does not know."""
        if not self.options.glance:
            return super()._loss(network, batch)
        glanced, last = cast(Network, network).looks(batch.pieces, self._lengths(batch), batch.words)
        return self._sum_of_losses(last, batch) + _GLANCE_COUNTS * self._sum_of_losses(glanced, batch)

    @staticmethod
    def check_new(options: Any) -> None:
        """Refuse to keep layers of nothing."""
        if options.keep_layers and not options.pretrained:
            raise ConfigError(["options.keep_layers are of another network's; name it in pretrained or model.start"])

    def prepare(self) -> None:
        """Fill a new network with pretrained weights."""
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
            ("distances", options.distances, pretrained.distances),
            ("epsilon", options.epsilon, pretrained.epsilon),
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
        elif part in ("norm", "distances"):
            chosen[name] = weights[name]
    network.load_state_dict(network.state_dict() | chosen)
