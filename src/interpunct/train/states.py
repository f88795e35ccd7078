"""What a teacher's layers hold of each word, in a few numbers that a student can learn to tell.

In: a trained network with layers, and packs. Out: the directions in which its layers' states differ most, and of each
word how far its states go in these, in bytes. A teacher's probabilities say what it has decided; its states say what it
has seen, which is more to learn from where text is scarce (Romero et al. 2015, arXiv 1412.6550).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from interpunct.errors import InputError
from interpunct.models.depth import evenly_spaced, layers_of
from interpunct.models.encoded import States
from interpunct.models.scores import Array, Chances
from interpunct.models.sequence_model import Spans, put
from interpunct.models.shown import LOOKS, STATE_STEP, Batch
from interpunct.models.word_states import at_words
from interpunct.train.arrays import UNREADABLE, save_arrays
from interpunct.train.pack import Pack

_SAMPLE = 20_000  # words by which directions are chosen

Take = Callable[[Sequence[Tensor], Tensor], Tensor]


@dataclass(frozen=True)
class Directions:
    """Some layers of a network, and in which directions their states are looked at."""

    layers: tuple[int, ...]
    """Counted from 1."""
    means: Array
    """The mean state of each layer: layers × width."""
    axes: Array
    """Layers × width × numbers; the mean square of each layer's numbers is 1."""

    @classmethod
    def learn(cls, teacher: Any, pack: Pack, *, numbers: int, looks: int = LOOKS) -> Directions:
        """Choose directions for as many layers, evenly spaced up to the last, by the first words of a pack."""
        count = len(_layers(teacher))
        layers = evenly_spaced(min(looks, count), count)
        if numbers < 1:
            raise InputError(f"{numbers} directions are none; ask for one at least")
        some = pack.of_words(np.arange(len(pack)) < _SAMPLE)

        def take(heard: Sequence[Tensor], words: Tensor) -> Tensor:
            return torch.cat([at_words(states, words).float() for states in heard], dim=-1)

        _, rows = watched(teacher, some, layers, take)
        means, axes = [], []
        for states in np.split(rows, len(layers), axis=1):
            mean = states.mean(axis=0)
            if len(states) <= numbers or states.shape[1] < numbers:
                raise InputError(
                    f"{numbers} directions of {states.shape[1]} numbers and {len(states)} words; ask for fewer"
                )
            spread, directions = np.linalg.eigh(np.cov(states - mean, rowvar=False))
            means.append(mean)
            axes.append(directions[:, -numbers:] / np.sqrt(spread[-numbers:].mean()))
        return cls(layers, np.stack(means).astype(np.float32), np.stack(axes).astype(np.float32))

    @classmethod
    def load(cls, path: Path) -> Directions:
        """Read directions from their file."""
        try:
            with np.load(path) as arrays:
                return cls(tuple(arrays["layers"].tolist()), arrays["means"], arrays["axes"])
        except UNREADABLE as error:
            raise InputError(f"not a teacher's directions ({error}); delete it and ask again", path=str(path)) from None

    def save(self, path: Path) -> None:
        """Write directions to a file."""
        save_arrays(path, {"layers": np.array(self.layers), "means": self.means, "axes": self.axes}, compress=False)

    @property
    def sum(self) -> int:
        """A number that other directions would not have."""
        return zlib.crc32(self.axes.tobytes(), zlib.crc32(self.means.tobytes(), zlib.crc32(bytes(self.layers))))

    def asked(self, teacher: Any, pack: Pack) -> tuple[dict[str, Chances], States]:
        """Return what a teacher says of every word of a pack, and its states in these directions."""
        another = InputError(f"directions of another network than {teacher.name}; keep its states in another folder")
        if max(self.layers) > len(_layers(teacher)):
            raise another
        means, axes = (torch.from_numpy(each).to(teacher.device) for each in (self.means, self.axes))

        def take(heard: Sequence[Tensor], words: Tensor) -> Tensor:
            if heard[0].shape[2] != means.shape[1]:
                raise another
            found = [
                (at_words(s, words).float() - mean) @ axis for s, mean, axis in zip(heard, means, axes, strict=True)
            ]
            return (torch.cat(found, dim=-1) / STATE_STEP).round().clamp(-127, 127).to(torch.int8)

        return watched(teacher, pack, self.layers, take)


class Watch:
    """What some layers of a network say while it reads, taken of every word once."""

    def __init__(self, layers: Sequence[nn.Module], take: Take, words: int) -> None:
        self._layers, self._take, self._words = layers, take, words
        self._heard: list[Tensor] = []
        self.rows: npt.NDArray[Any] | None = None
        """What was taken, a row for each word; None before anything was read."""

    def __enter__(self) -> Self:
        self._hooks = [layer.register_forward_hook(self._hear) for layer in self._layers]
        return self

    def __exit__(self, *_: object) -> None:
        for hook in self._hooks:
            hook.remove()

    def __call__(self, shape: Batch, spans: Spans) -> None:
        """Take what was heard of a batch."""
        taken = self._take(self._heard, shape.words).cpu().numpy()
        self._heard.clear()
        if self.rows is None:
            self.rows = np.empty((self._words, taken.shape[2]), dtype=taken.dtype)
        put(self.rows, taken, spans)

    def _hear(self, _layer: nn.Module, _given: Any, states: Tensor) -> None:
        self._heard.append(states)


def watched(teacher: Any, pack: Pack, layers: Sequence[int], take: Take) -> tuple[dict[str, Chances], Any]:
    """Return what a teacher says of every word of a pack, and what is taken of its layers, a row for each word."""
    if not len(pack):
        raise InputError("the packs hold no words; name others")
    every = _layers(teacher)
    with Watch([every[layer - 1] for layer in layers], take, len(pack)) as watch:
        said = teacher.chances(pack.encoded(teacher.vocabulary, teacher.labels), watch=watch)
    return said, watch.rows


def _layers(teacher: Any) -> nn.ModuleList:
    """Return a network's layers, all of which read the same pieces."""
    layers = layers_of(getattr(teacher, "network", None))
    if layers is None or not hasattr(teacher, "chances"):
        raise InputError(f"the teacher {teacher.name} has no layers that read everything; ask a transformer or a llama")
    return layers
