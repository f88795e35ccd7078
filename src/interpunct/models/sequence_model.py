"""`SequenceModel`: what every torch model has in common that labels words in sequence.

In: windows of words; for training, encoded transcripts. Out: scores; a trained model in its folder. A model type
adds its network and its options. Needs the extra [train].
"""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

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
from interpunct.models.pieces import Pieces, Vocabulary
from interpunct.models.scores import Scores
from interpunct.models.shown import Batch, Shown

WEIGHTS = "weights.pt"


@dataclass(frozen=True)
class SequenceOptions:
    """How text is cut into pieces and windows, and shown."""

    vocabulary: int = 8192
    longest_word: int = 8
    noise: float = 0.05
    """The share of pieces replaced by another at random: recognisers make mistakes."""
    case_weight: float = 0.5
    """How much the case loss counts beside the mark loss (q_k of paper 000's eq. 4)."""
    window: int = 128
    overlap: int = 48
    batch: int = 128


Options = TypeVar("Options", bound=SequenceOptions)


class Network(Protocol):
    """What a model type's network does."""

    def __call__(self, pieces: Tensor, lengths: Tensor, words: Tensor) -> dict[str, Tensor]:
        """Return each task's logits at each word's last piece."""


def states_at_words(rnn: nn.RNNBase, embedded: Tensor, lengths: Tensor, words: Tensor) -> Tensor:
    """Run recurrent layers over padded windows and return their states at each word's last piece."""
    rnn.flatten_parameters()  # a copied module's weights lie apart, which cuDNN would mend at every call
    packed = nn.utils.rnn.pack_padded_sequence(embedded, lengths.cpu(), batch_first=True, enforce_sorted=False)
    states, _ = nn.utils.rnn.pad_packed_sequence(rnn(packed)[0], batch_first=True)
    return torch.gather(states, 1, words[:, :, None].expand(-1, -1, states.shape[2]))


class SequenceModel(Described, ABC, Generic[Options]):
    """A network with its vocabulary and description; a subclass names its type and builds its network."""

    TYPE: ClassVar[str]
    OPTIONS: ClassVar[Any]
    """The dataclass of the type's options."""

    def __init__(self, description: Description, vocabulary: Vocabulary) -> None:
        self.description = description
        self.options: Options = config.build(self.OPTIONS, description.options)
        self.vocabulary = vocabulary
        sizes = {task: len(names) for task, names in description.labels.items()}
        self.network = self.build(self.options, sizes, len(vocabulary)).eval()

    @staticmethod
    @abstractmethod
    def build(options: Options, sizes: Mapping[str, int], vocabulary: int) -> nn.Module:
        """Return the network: a `Network` for so many labels per task and so many pieces."""

    @staticmethod
    def learn_vocabulary(words: Iterable[str], options: Any) -> Vocabulary:
        """Learn a vocabulary from normalised words: subwords, unless a type says otherwise."""
        return Pieces.learn(words, size=options.vocabulary, longest=options.longest_word)

    @staticmethod
    def load_vocabulary(folder: Path, description: Description) -> Vocabulary:
        """Read the vocabulary from the model's folder."""
        return Pieces.load(folder / PIECES, longest=description.whole("longest_word"))

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
    ) -> Self:
        """Make an untrained model whose vocabulary is learned from normalised words."""
        checked = config.build(cls.OPTIONS, options)
        vocabulary = cls.learn_vocabulary(words, checked)
        description = Description(
            cls.TYPE, name, version, labels, Context(checked.window, checked.overlap), licence,
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
    ) -> Self:
        """Learn from encoded transcripts; the weights that do best on dev stay."""
        for name, corpus in (("train", train), ("dev", dev)):
            if not len(corpus):
                raise InputError(f"no words in the {name} corpora; give others")
        device = torch_loop.choose_device(loop.device)
        shown = Shown(train, self.options, device)
        held_out = Shown(dev, self.options, device)
        with torch.random.fork_rng():
            torch.manual_seed(loop.seed)
            self.network = torch_loop.fit(
                self.network,
                batches=lambda epoch: shown.batches(loop.seed * 1000 + epoch),
                steps=shown.steps,
                loss=self._loss,
                score=lambda network: self._score(network, held_out),
                options=loop,
                log=log,
            )
        return self

    def _loss(self, network: nn.Module, batch: Batch) -> Tensor:
        logits = network(batch.pieces, batch.lengths, batch.words)
        total = torch.zeros((), device=batch.pieces.device)
        for task, values in logits.items():
            weight = self.options.case_weight if task == "case" else 1.0
            labels = batch.labels[task].flatten()
            summed = F.cross_entropy(values.float().flatten(0, 1), labels, ignore_index=IGNORED, reduction="sum")
            total = total + weight * summed / (labels != IGNORED).sum().clamp(min=1)
        return total

    def _score(self, network: nn.Module, held_out: Shown) -> dict[str, float]:
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
    def load(cls, folder: Path) -> Self:
        """Read a trained model from its folder."""
        description = Description.load(folder)
        model = cls(description, cls.load_vocabulary(folder, description))
        try:
            model.network.load_state_dict(torch.load(folder / WEIGHTS, weights_only=True))
        except (OSError, RuntimeError, pickle.UnpicklingError) as error:
            reason = str(error).splitlines()[0]
            raise ModelError(f"{folder / WEIGHTS}: not this model's weights: {reason}; train it again") from None
        return model
