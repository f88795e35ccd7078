"""`PlaceNetwork`: what networks have in common that read rows of numbers (Xu et al. 2017).

In: windows of rows. Out: log-probabilities. Training text is cut into sequences of `window` places, elsewhere in each
epoch and never across documents; a network that sees one place at a time has sequences of one. Needs the extra [train].
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from interpunct.models import torch_loop
from interpunct.models.dev_scores import dev_scores
from interpunct.models.encoded import IGNORED
from interpunct.models.folder import Description
from interpunct.models.known_labels import add_pairs, known_mean
from interpunct.models.loop_options import LoopOptions
from interpunct.models.place_inputs import InputOptions, PlaceInputs
from interpunct.models.place_model import Arrays, Log, PlaceModel, Rows
from interpunct.models.scores import Array, Ints

_DEV_WINDOW = 128


@dataclass(frozen=True)
class NetworkOptions(InputOptions):
    """How rows are shown."""

    batch: int = 50
    """Sequences in a batch."""
    dropout: float = 0.2
    """The share of a layer's units that are hidden in training."""


Options = TypeVar("Options", bound=NetworkOptions)


class PlaceNetwork(PlaceModel[Options]):
    """A network over rows; a subclass builds it."""

    def __init__(self, description: Description, inputs: PlaceInputs) -> None:
        super().__init__(description, inputs)
        sizes = {task: len(names) for task, names in description.labels.items()}
        self.network = self.build(self.options, self.width, sizes).eval()

    @staticmethod
    @abstractmethod
    def build(options: Options, width: int, sizes: Mapping[str, int]) -> nn.Module:
        """Return a network: rows (sequences × places × width) and lengths to logits per task."""

    def start(self, seed: int) -> None:
        """Build the network anew from a seed."""
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            sizes = {task: len(names) for task, names in self.labels.items()}
            self.network = self.build(self.options, self.width, sizes).eval()

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return next(self.network.parameters()).device

    def to(self, device: str) -> Self:
        """Move the network, and the models that it reads, to a device; `auto` is CUDA where there is one."""
        self.network.to(torch_loop.choose_device(device))
        self.inputs.to(device)
        return self

    @torch.no_grad()
    def read(self, windows: Sequence[Array]) -> list[dict[str, Array]]:
        """Return log-probabilities of windows of rows."""
        if not windows:
            return []
        lengths = torch.tensor([len(window) for window in windows])
        rows = nn.utils.rnn.pad_sequence([torch.from_numpy(window) for window in windows], batch_first=True)
        logits = self.network(rows.to(self.device), lengths.to(self.device))
        logs = {task: F.log_softmax(values.float(), dim=-1).cpu().numpy() for task, values in logits.items()}
        return [
            {task: values[place, : len(window)] for task, values in logs.items()}
            for place, window in enumerate(windows)
        ]

    def learn(self, train: Rows, dev: Rows, *, loop: LoopOptions, log: Log) -> None:
        """Learn by the training loop; the weights that do best on dev stay."""
        device = torch_loop.choose_device(loop.device)
        shown, held_out = ShownRows(train, device), ShownRows(dev, device)
        window, batch = self.options.window, self.options.batch
        with torch.random.fork_rng():
            torch.manual_seed(loop.seed)
            self.network = torch_loop.fit(
                self.network,
                batches=lambda epoch: shown.batches(window, batch, seed=loop.seed * 1000 + epoch),
                steps=-(-len(shown.sequences(window, 0)) // batch),
                loss=self._loss,
                score=lambda network: self._score(network, held_out),
                options=loop,
                log=log,
            )

    def _loss(self, network: nn.Module, batch: RowBatch) -> Tensor:
        total = torch.zeros((), device=batch.rows.device)
        for task, logits in network(batch.rows, batch.lengths).items():
            labels = batch.labels[task]
            losses = F.cross_entropy(
                logits.float().flatten(0, 1), labels.flatten(), ignore_index=IGNORED, reduction="none"
            )
            total = total + known_mean(losses, labels)
        return total

    def _score(self, network: nn.Module, held_out: ShownRows) -> dict[str, float]:
        confusion = {task: torch.zeros((len(n), len(n)), dtype=torch.int64) for task, n in self.labels.items()}
        for batch in held_out.plain_batches(max(self.options.window, _DEV_WINDOW), self.options.batch):
            for task, logits in network(batch.rows, batch.lengths).items():
                add_pairs(confusion[task], batch.labels[task], logits.argmax(dim=-1))
        return dev_scores(self.labels, {task: counts.numpy() for task, counts in confusion.items()})

    def arrays(self) -> Arrays:
        """Return the weights."""
        return {name: values.cpu().numpy() for name, values in self.network.state_dict().items()}

    def take(self, arrays: Arrays) -> None:
        """Take the weights."""
        self.network.load_state_dict({name: torch.from_numpy(values) for name, values in arrays.items()})


@dataclass(frozen=True)
class RowBatch:
    """Sequences as tensors: `rows` (sequences × places × width), `lengths`, labels per task."""

    rows: Tensor
    lengths: Tensor
    labels: Mapping[str, Tensor]


class ShownRows:
    """Rows of a corpus on a device, cut into sequences anew each epoch."""

    def __init__(self, corpus: Rows, device: torch.device) -> None:
        self._device = device
        sizes = [len(rows) for rows in corpus.documents]
        self._edges = np.cumsum([0, *sizes])
        self._rows = torch.from_numpy(np.concatenate(corpus.documents)).to(device)
        self._labels = {
            task: torch.from_numpy(np.concatenate([labels[task] for labels in corpus.labels])).to(device)
            for task in corpus.labels[0]
        }

    def sequences(self, window: int, seed: int) -> Ints:
        """Return where sequences begin and end, two columns: in each document a shorter first one, then full ones."""
        shifts = np.random.default_rng(seed).integers(0, window, size=len(self._edges) - 1)
        found = []
        for begin, stop, shift in zip(self._edges[:-1], self._edges[1:], shifts, strict=True):
            cuts = np.unique([begin, *range(begin + shift, stop, window), stop])
            found.append(np.stack([cuts[:-1], cuts[1:]], axis=1))
        return np.concatenate(found)

    def batches(self, window: int, size: int, *, seed: int) -> Iterator[RowBatch]:
        """Yield sequences in random order."""
        sequences = self.sequences(window, seed)
        for chosen in torch_loop.shuffled(len(sequences), size, seed=seed):
            yield self._gather(sequences[chosen.numpy()])

    def plain_batches(self, window: int, size: int) -> Iterator[RowBatch]:
        """Yield every place once, in order."""
        cuts = [
            (first, min(first + window, stop)) for begin, stop in self._spans() for first in range(begin, stop, window)
        ]
        for first in range(0, len(cuts), size):
            yield self._gather(np.array(cuts[first : first + size]))

    def _spans(self) -> list[tuple[int, int]]:
        return list(zip(self._edges[:-1].tolist(), self._edges[1:].tolist(), strict=True))

    def _gather(self, spans: Ints) -> RowBatch:
        begin, stop = (torch.from_numpy(column.copy()).to(self._device) for column in spans.T)
        longest = int((spans[:, 1] - spans[:, 0]).max())
        places = begin[:, None] + torch.arange(longest, device=self._device)
        inside = places < stop[:, None]
        places = places.masked_fill(~inside, 0)
        labels = {task: column[places].masked_fill(~inside, IGNORED) for task, column in self._labels.items()}
        return RowBatch(self._rows[places] * inside[:, :, None], stop - begin, labels)
