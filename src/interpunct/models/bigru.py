"""A joint BiGRU over subwords: one network, a softmax branch per task (paper 000's Corr-BiRNN on pieces).

In: windows of words. Out: log-probabilities of the mark after each word and of its case, read at the
word's last piece, where the forward pass has seen the word and the backward pass all that follows.
Needs the extra [train]; `export` turns it into a file that does not.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from interpunct import config
from interpunct.errors import InputError, ModelError
from interpunct.features import Features
from interpunct.metrics.case import case_prf
from interpunct.metrics.prf import OVERALL, mark_prf
from interpunct.models import torch_loop
from interpunct.models.batch import piece_batch, window_scores
from interpunct.models.encoded import IGNORED, Encoded
from interpunct.models.folder import PIECES, Described, Description
from interpunct.models.loop_options import LoopOptions
from interpunct.models.model import Context
from interpunct.models.pieces import PAD, Pieces
from interpunct.models.scores import Scores

WEIGHTS = "weights.pt"


@dataclass(frozen=True)
class BiGRUOptions:
    """The network's shape, and how it is shown the text."""

    vocabulary: int = 8192
    embedding: int = 192
    hidden: int = 320
    layers: int = 2
    dropout: float = 0.3
    longest_word: int = 8
    noise: float = 0.05
    """The share of pieces replaced by another at random: recognisers make mistakes."""
    case_weight: float = 0.5
    """How much the case loss counts beside the mark loss (q_k of eq. 4)."""
    window: int = 128
    overlap: int = 48
    batch: int = 128


class Network(nn.Module):
    """Embedding, bidirectional GRU layers, a linear branch per task."""

    def __init__(self, options: BiGRUOptions, sizes: Mapping[str, int], vocabulary: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, options.embedding, padding_idx=PAD)
        self.dropout = nn.Dropout(options.dropout)
        self.gru = nn.GRU(
            options.embedding, options.hidden, options.layers,
            batch_first=True, bidirectional=True, dropout=options.dropout if options.layers > 1 else 0.0,
        )  # fmt: skip
        self.heads = nn.ModuleDict({task: nn.Linear(2 * options.hidden, size) for task, size in sizes.items()})

    def forward(self, pieces: Tensor, lengths: Tensor, words: Tensor) -> dict[str, Tensor]:
        """Return each task's logits at each word's last piece."""
        embedded = self.dropout(self.embedding(pieces))  # (windows, pieces, embedding)
        self.gru.flatten_parameters()  # a copied module's weights lie apart, which cuDNN would mend at every call
        packed = nn.utils.rnn.pack_padded_sequence(embedded, lengths.cpu(), batch_first=True, enforce_sorted=False)
        states, _ = nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], batch_first=True)
        at_words = torch.gather(states, 1, words[:, :, None].expand(-1, -1, states.shape[2]))
        at_words = self.dropout(at_words)  # (windows, words, 2 * hidden)
        return {task: head(at_words) for task, head in self.heads.items()}


class BiGRU(Described):
    """The model: network, vocabulary and description."""

    def __init__(self, description: Description, vocabulary: Pieces) -> None:
        self.description = description
        self.options = config.build(BiGRUOptions, description.options)
        self.vocabulary = vocabulary
        sizes = {task: len(names) for task, names in description.labels.items()}
        self.network = Network(self.options, sizes, len(vocabulary)).eval()

    @classmethod
    def create(
        cls,
        *,
        name: str,
        version: str,
        labels: Mapping[str, tuple[str, ...]],
        options: Mapping[str, Any],
        words: Iterable[str],
        trained_on: Sequence[str] = (),
        licence: str = "",
        seed: int = 1,
    ) -> BiGRU:
        """Make an untrained model whose vocabulary is learned from normalised words."""
        checked = config.build(BiGRUOptions, options)
        vocabulary = Pieces.learn(words, size=checked.vocabulary, longest=checked.longest_word)
        description = Description(
            "bigru", name, version, labels, Context(checked.window, checked.overlap), licence,
            tuple(trained_on), asdict(checked),
        )  # fmt: skip
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            return cls(description, vocabulary)

    @torch.no_grad()
    def forward(self, windows: Sequence[Features]) -> list[Scores]:
        """Score windows."""
        if not windows:
            return []
        batch = piece_batch(windows, self.vocabulary)
        logits = self.network(*(torch.from_numpy(a) for a in (batch.pieces, batch.lengths, batch.words)))
        logs = {task: F.log_softmax(values, dim=-1).numpy() for task, values in logits.items()}
        return window_scores(logs, windows)

    def fit(
        self,
        train: Encoded,
        dev: Encoded,
        *,
        loop: LoopOptions,
        log: Callable[[dict[str, float]], None],
    ) -> BiGRU:
        """Learn from encoded transcripts; the weights that do best on dev stay."""
        for name, corpus in (("train", train), ("dev", dev)):
            if not len(corpus):
                raise InputError(f"no words in the {name} corpora; give others")
        device = torch_loop.choose_device(loop.device)
        shown = _Shown(train, self.options, device)
        held_out = _Shown(dev, self.options, device)
        with torch.random.fork_rng():
            torch.manual_seed(loop.seed)
            self.network = torch_loop.fit(  # type: ignore[assignment]
                self.network,
                batches=lambda epoch: shown.batches(loop.seed * 1000 + epoch),
                steps=shown.steps,
                loss=self._loss,
                score=lambda network: self._score(network, held_out),
                options=loop,
                log=log,
            )
        return self

    def _loss(self, network: nn.Module, batch: _Batch) -> Tensor:
        logits = network(batch.pieces, batch.lengths, batch.words)
        total = torch.zeros((), device=batch.pieces.device)
        for task, values in logits.items():
            weight = self.options.case_weight if task == "case" else 1.0
            labels = batch.labels[task].flatten()
            summed = F.cross_entropy(values.float().flatten(0, 1), labels, ignore_index=IGNORED, reduction="sum")
            total = total + weight * summed / (labels != IGNORED).sum().clamp(min=1)
        return total

    def _score(self, network: nn.Module, held_out: _Shown) -> dict[str, float]:
        right: dict[str, list[Tensor]] = {task: [] for task in self.labels}
        guess: dict[str, list[Tensor]] = {task: [] for task in self.labels}
        for batch in held_out.plain_batches():
            for task, values in network(batch.pieces, batch.lengths, batch.words).items():
                right[task].append(batch.labels[task].flatten())
                guess[task].append(values.argmax(dim=-1).flatten())
        scores: dict[str, float] = {}
        for task, count in (("mark", mark_prf), ("case", case_prf)):
            if task in self.labels:
                names = self.labels[task]
                truth = [None if i == IGNORED else names[i] for i in torch.cat(right[task]).tolist()]
                guesses = [names[i] for i in torch.cat(guess[task]).tolist()]
                scores[f"{task}_f1"] = count(truth, guesses)[OVERALL].f1 or 0.0
        return {"dev": sum(scores.values()) / len(scores)} | scores

    def save(self, folder: Path) -> None:
        """Write the model into a folder."""
        self.description.save(folder)
        self.vocabulary.save(folder / PIECES)
        torch.save(self.network.state_dict(), folder / WEIGHTS)

    @classmethod
    def load(cls, folder: Path) -> BiGRU:
        """Read a trained model from its folder."""
        description = Description.load(folder)
        model = cls(description, Pieces.load(folder / PIECES, longest=description.whole("longest_word")))
        try:
            model.network.load_state_dict(torch.load(folder / WEIGHTS, weights_only=True))
        except (OSError, RuntimeError, pickle.UnpicklingError) as error:
            reason = str(error).splitlines()[0]
            raise ModelError(f"{folder / WEIGHTS}: not this model's weights: {reason}; train it again") from None
        return model


@dataclass(frozen=True)
class _Batch:
    pieces: Tensor
    lengths: Tensor
    words: Tensor
    labels: Mapping[str, Tensor]


class _Shown:
    """An encoded corpus on a device, cut into windows anew each epoch."""

    def __init__(self, encoded: Encoded, options: BiGRUOptions, device: torch.device) -> None:
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
        return -(-self.count // (self.options.window * self.options.batch))

    def batches(self, seed: int) -> Iterator[_Batch]:
        """Yield noised windows in random order, cut at places that differ from epoch to epoch."""
        generator = torch.Generator().manual_seed(seed)
        window = min(self.options.window, self.count)
        offset = int(torch.randint(min(window, self.count - window + 1), (), generator=generator))
        starts = torch.arange(offset, max(1, self.count - window + 1), window)
        for chosen in torch_loop.shuffled(len(starts), self.options.batch, seed=seed):
            # Some batches are cut short: users send short texts, too.
            short = int(torch.randint(4, window + 1, (), generator=generator)) if window > 4 else window
            size = short if torch.rand((), generator=generator) < 0.1 else window
            yield self._gather(starts[chosen], size, noise=self.options.noise)

    def plain_batches(self) -> Iterator[_Batch]:
        """Yield every word once, in order and without noise."""
        window = min(self.options.window, self.count)
        starts = torch.arange(0, self.count - window + 1, window)
        for first in range(0, len(starts), self.options.batch):
            yield self._gather(starts[first : first + self.options.batch], window, noise=0.0)
        rest = self.count % window
        if rest:
            yield self._gather(torch.tensor([self.count - rest]), rest, noise=0.0)

    def _gather(self, starts: Tensor, size: int, *, noise: float) -> _Batch:
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
        return _Batch(pieces, lengths, words, {task: column[rows] for task, column in self.labels.items()})
