"""`SequenceModel`: what every torch model has in common that labels words in sequence.

In: windows of words; for training, encoded transcripts. Out: scores; a trained model in its folder. A model type
adds its network and its options. Needs the extra [train].
"""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from interpunct import config
from interpunct.errors import InputError, ModelError
from interpunct.features import Features
from interpunct.models import torch_loop
from interpunct.models.batch import piece_batch, window_scores
from interpunct.models.context_options import ContextOptions, check_numbers
from interpunct.models.dev_scores import dev_scores
from interpunct.models.encoded import IGNORED, Encoded, Tagged, encode
from interpunct.models.folder import PIECES, Description, written_whole
from interpunct.models.imitation import Imitation
from interpunct.models.known_labels import add_pairs, known_mean
from interpunct.models.learner import Learner
from interpunct.models.loop_options import LoopOptions
from interpunct.models.model import Clitics
from interpunct.models.pieces import Pieces, Vocabulary
from interpunct.models.scores import Chances, Scores
from interpunct.models.shown import Batch, Shown, covering
from interpunct.transcript import Transcript

WEIGHTS = "weights.pt"
FIXED = ("vocabulary", "longest_word", "clitics", "pretrained", "vectors", "heads", "kv_heads")
"""Options that cannot change when training goes on: the words would be read otherwise, or the weights."""

Spans = Sequence[tuple[int, int, int]]
"""Of each window its first word, and those from and to which it decides."""


@dataclass(frozen=True)
class SequenceOptions(ContextOptions):
    """How text is cut into pieces and sequences, and shown."""

    vocabulary: int = 8192
    longest_word: int = 8
    clitics: Clitics = "joined"
    noise: float = 0.05
    """The share of pieces replaced by another at random: recognisers make mistakes."""
    dropped: float = 0.0
    """The share of words without a mark that are left out in training, as a recogniser may miss them."""
    doubled: float = 0.0
    """The share of words that are said twice in training."""
    misheard: float = 1.0
    """How often words are misheard in training, as a multiple of the rates that `data.misheard` tells; 0 is never."""
    clean: float = 0.0
    """The share of training sequences that are shown as they are, without any of these mistakes."""
    weights: dict[str, float] = field(default_factory=lambda: {"case": 0.5})
    """How much each task's loss counts (q_k of paper 000's eq. 4); 1 where nothing is said."""
    smoothing: float = 0.0
    """The share of a label's probability that goes to all others in training."""
    distil: float = 0.5
    """How much a teacher's probabilities count beside the labels, where there is a teacher."""
    imitate: float = 0.0
    """How much it counts at first to tell the teacher's states, where these were kept; less and less, in the end 0."""
    pieces: int = 0
    """Pieces of every training window, so that nothing is padded; 0 is as many as `window` words have."""
    shortest: int = 0
    """Words of a training sequence at least, each beginning with a sentence; 0 cuts windows anywhere."""
    longest: int = 0
    batch: int = 128

    def __post_init__(self) -> None:
        check_numbers(self)
        self.as_context()
        for name in ("misheard", "imitate"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} {getattr(self, name)} must not be negative")
        if any(not weight >= 0 for weight in self.weights.values()):
            raise ValueError(f"weights {self.weights} must not be negative")
        if self.shortest > self.longest:
            raise ValueError(f"shortest {self.shortest} is above longest {self.longest}")


Options = TypeVar("Options", bound=SequenceOptions)


class Network(Protocol):
    """What a model type's network does."""

    def __call__(self, pieces: Tensor, lengths: Tensor | None, words: Tensor) -> dict[str, Tensor]:
        """Return each task's logits at each word's last piece; lengths are None where a type is `UNPADDED`."""


def put(rows: npt.NDArray[Any], read: npt.NDArray[Any], spans: Spans) -> None:
    """Put what was read of windows (windows × words × numbers) into the rows of the words that each decides."""
    for (start, first, last), window in zip(spans, read, strict=True):
        rows[first:last] = window[first - start : last - start]


class SequenceModel(Learner, ABC, Generic[Options]):
    """A network with its vocabulary and description; a subclass names its type and builds its network."""

    UNPADDED: ClassVar[bool] = False
    """Whether the network takes None for the lengths of windows without padding, and is faster for it."""

    def __init__(self, description: Description, vocabulary: Vocabulary) -> None:
        self.description = description
        self.options: Options = config.build(self.OPTIONS, description.options)
        self.vocabulary = vocabulary
        sizes = {task: len(names) for task, names in description.labels.items()}
        self.network = self.build(self.options, sizes, len(vocabulary)).eval()
        self._imitation: Imitation | None = None

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
    def untrained(cls, description: Description, options: Any, words: Iterable[str], seed: int) -> Self:
        """Return a model that has learned nothing but its vocabulary."""
        cls.check_new(options)
        vocabulary = cls.learn_vocabulary(words, options)
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model = cls(description, vocabulary)
        model.prepare()
        return model

    @classmethod
    def go_on(
        cls,
        folder: Path,
        *,
        name: str,
        version: str,
        options: Mapping[str, Any],
        trained_on: Sequence[str] = (),
        licence: str = "",
    ) -> Self:
        """Make a model that goes on from a trained one, with other options where they are given."""
        described = Description.load(folder)
        if described.type != cls.TYPE:
            raise ModelError(f"{folder}: its type is {described.type!r}, and a {cls.TYPE} cannot go on from it")
        fixed = [name for name in FIXED if name in options and options[name] != described.options.get(name)]
        if fixed:
            raise ModelError(f"{folder}: {', '.join(fixed)} cannot change when training goes on; leave them out")
        before = cls.load(folder)
        merged = config.build(cls.OPTIONS, {**described.handed_on(), **options})
        description = replace(
            before.description,
            name=name,
            version=version,
            context=merged.as_context(),
            licence="; ".join(sorted({*before.description.licence.split("; "), *licence.split("; ")} - {""})),
            trained_on=tuple(dict.fromkeys((*before.description.trained_on, *trained_on))),
            options=asdict(merged),
            scales={},  # they were best for what it was
        )
        model = cls(description, before.vocabulary)
        try:
            model.adopt(before)
        except RuntimeError as error:
            reason = str(error).splitlines()[-1].strip()
            raise ModelError(
                f"{folder}: its network has another shape: {reason}; leave its sizes as they are"
            ) from None
        return model

    @staticmethod
    def check_new(options: Any) -> None:
        """Refuse options that only a model that goes on can have: nothing, unless a type says so."""

    def adopt(self, before: Self) -> None:
        """Take the weights of a trained model; a type may know how to, though the shapes differ."""
        self.network.load_state_dict(before.network.state_dict())

    def prepare(self) -> None:
        """Do what a new network needs before it learns, and a loaded one does not: nothing, unless a type says so."""

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return next(self.network.parameters()).device

    def to(self, device: str) -> Self:
        """Move the network to a device; `auto` is CUDA where there is one."""
        self.network.to(torch_loop.choose_device(device))
        return self

    def forward(self, windows: Sequence[Features]) -> list[Scores]:
        """Score windows."""
        if not windows:
            return []
        logs = {task: F.log_softmax(values.float(), dim=-1) for task, values in self.logits(windows).items()}
        return window_scores({task: values.cpu().numpy() for task, values in logs.items()}, windows)

    @torch.no_grad()
    def logits(self, windows: Sequence[Features]) -> dict[str, Tensor]:
        """Return each task's logits: windows × words × labels, padded."""
        batch = piece_batch(windows, self.vocabulary)
        arrays = (batch.pieces, batch.lengths, batch.words)
        found: dict[str, Tensor] = self.network(*(torch.from_numpy(a).to(self.device) for a in arrays))
        return found

    @torch.no_grad()
    def chances(
        self, encoded: Encoded, *, batch: int = 128, watch: Callable[[Batch, Spans], None] | None = None
    ) -> dict[str, Chances]:
        """Return every word's probabilities per task (words × labels, half precision), in windows that overlap.

        Documents are read as one running text, on the network's device: the quick way through millions of words.
        Whoever watches is told of each batch that was read.
        """
        shown = Shown(encoded, self.options, self.device)
        found: dict[str, Chances] = {
            task: np.empty((len(encoded), len(names)), np.float16) for task, names in self.labels.items()
        }
        for shape, spans in self._overlapping(shown, encoded, batch):
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
                logits = self.network(shape.pieces, self._lengths(shape), shape.words)
            for task, values in logits.items():
                put(found[task], torch.softmax(values.float(), dim=-1).half().cpu().numpy(), spans)
            if watch is not None:
                watch(shape, spans)
        return found

    def _overlapping(self, shown: Shown, encoded: Encoded, batch: int) -> Iterator[tuple[Batch, Spans]]:
        """Yield windows of a corpus, and what each decides.

        Of two windows the later one decides from the middle of what they share.
        """
        context, count = self.context, len(encoded)
        words = min(context.words or self.options.window, count)
        overlap = min(context.overlap, words - 1) if context.words and not context.restart else words // 4
        if self.options.pieces and count > self.options.pieces:
            begin, stop = covering(encoded.ends, self.options.pieces, overlap)
        else:
            begin = np.array([*range(0, count - words, words - overlap), count - words])
            stop = begin + words
        middle = (begin[1:] + stop[:-1]) // 2
        decided = np.stack([begin, np.concatenate([[0], middle]), np.concatenate([middle, [count]])], axis=1)
        # All windows but the last one are full of pieces, or have about as many as the others of their batch.
        order = np.arange(len(begin) - 1)
        if not self.options.pieces:
            order = order[np.argsort(shown.sizes(begin[:-1], words), kind="stable")]
        for place in range(0, len(order), batch):
            rows = order[place : place + batch]
            size = int((stop - begin)[rows].max())
            # One word more than a window holds, so that all of them are filled to the last piece.
            full = {"words": size + 1, "pieces": self.options.pieces} if self.options.pieces else {"words": size}
            yield shown.windows(begin[rows], **full), list(map(tuple, decided[rows].tolist()))
        yield shown.windows(begin[-1:], int(stop[-1] - begin[-1])), [tuple(decided[-1].tolist())]

    def encode(self, documents: Iterable[Transcript | Tagged]) -> Encoded:
        """Encode documents with the model's own vocabulary and labels."""
        return encode(documents, self.vocabulary, self.labels, clitics=self.clitics)

    def fit(
        self,
        train: Encoded,
        dev: Encoded,
        *,
        loop: LoopOptions,
        log: Callable[[dict[str, float]], None],
        keep: torch_loop.Keep | None = None,
    ) -> Self:
        """Learn from encoded transcripts; the weights that do best on dev stay.

        `keep` is given the weights that are best so far, should training break off.
        """
        for name, corpus in (("train", train), ("dev", dev)):
            if not len(corpus):
                raise InputError(f"no words in the {name} corpora; give others")
        device = torch_loop.choose_device(loop.device)
        names = self.labels.get("mark", ())
        shown = Shown(train, self.options, device, unmarked=names.index("") if "" in names else None)
        held_out = Shown(dev, self.options, device)
        own = self.network.state_dict().keys()

        def keep_own(weights: Mapping[str, Tensor]) -> None:
            if keep is not None:
                keep({name: weights[name] for name in own})  # and nothing of what tells a teacher's states

        with torch.random.fork_rng():
            torch.manual_seed(loop.seed)
            self._imitation = None
            if train.states is not None and self.options.imitate:
                self._imitation = Imitation(self, train.states.shape[1], device)
            with self._imitation or nullcontext():
                self.network = torch_loop.fit(
                    self.network,
                    batches=lambda epoch: shown.batches(loop.seed * 1000 + epoch),
                    steps=shown.steps,
                    loss=self._loss,
                    score=lambda network: self._score(network, held_out),
                    options=loop,
                    log=log,
                    progress=self._imitation.progress if self._imitation else None,
                    keep=keep_own,
                )
        return self

    def _loss(self, network: nn.Module, batch: Batch) -> Tensor:
        logits = network(batch.pieces, self._lengths(batch), batch.words)
        total = self._sum_of_losses(logits, batch)
        if self._imitation is not None:
            told = self._imitation.told(network, logits, batch)
            total = total + self._imitation.counts * self._imitation.loss(told, batch)
        return total

    def _sum_of_losses(self, logits: Mapping[str, Tensor], batch: Batch) -> Tensor:
        total = torch.zeros((), device=batch.pieces.device)
        for task in self.labels:
            weight = self.options.weights.get(task, 1.0)
            total = total + weight * self.task_loss(task, logits[task].float(), batch)
        return total

    def _lengths(self, batch: Batch) -> Tensor | None:
        return None if batch.full and self.UNPADDED else batch.lengths

    def task_loss(self, task: str, logits: Tensor, batch: Batch) -> Tensor:
        """Return one task's loss; where a teacher taught the batch, its probabilities count beside the labels."""
        loss = self.label_loss(task, logits, batch)
        if task not in batch.targets:
            return loss
        return (1 - self.options.distil) * loss + self.options.distil * self.teacher_loss(task, logits, batch)

    def label_loss(self, task: str, logits: Tensor, batch: Batch) -> Tensor:
        """Return the loss against the labels, averaged over known ones: cross-entropy, unless a type differs."""
        labels = batch.labels[task]
        losses = F.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED, reduction="none",
            label_smoothing=self.options.smoothing,
        )  # fmt: skip
        return known_mean(losses, labels)

    def teacher_loss(self, task: str, logits: Tensor, batch: Batch) -> Tensor:
        """Return the loss against the teacher's probabilities: cross-entropy, unless a type differs."""
        losses = -(batch.targets[task] * F.log_softmax(logits, dim=-1)).sum(dim=-1)
        return known_mean(losses.flatten(), batch.labels[task])

    def chosen(self, _network: nn.Module, _task: str, logits: Tensor) -> Tensor:
        """Return the labels that the network's logits stand for: the highest, unless a type chooses them together."""
        return logits.argmax(dim=-1)

    def _score(self, network: nn.Module, held_out: Shown) -> dict[str, float]:
        confusion = {task: torch.zeros((len(n), len(n)), dtype=torch.int64) for task, n in self.labels.items()}
        for batch in held_out.plain_batches():
            logits = network(batch.pieces, batch.lengths, batch.words)
            for task, pairs in confusion.items():
                add_pairs(pairs, batch.labels[task], self.chosen(network, task, logits[task]))
        return dev_scores(self.labels, {task: counts.numpy() for task, counts in confusion.items()})

    def save(self, folder: Path) -> None:
        """Write the model into a folder."""
        self.save_description(folder)
        self.save_weights(folder, self.network.state_dict())

    def save_description(self, folder: Path) -> None:
        """Write all of the model into a folder but its weights."""
        self.description.save(folder)
        self.vocabulary.save(folder / PIECES)

    def save_weights(self, folder: Path, weights: Mapping[str, Tensor]) -> None:
        """Write weights of the model's network; whoever looks meanwhile finds all of these, or all of those before."""
        with written_whole(folder / WEIGHTS) as unfinished, unfinished.open("wb") as file:
            torch.save({name: value.cpu() for name, value in weights.items()}, file)

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
