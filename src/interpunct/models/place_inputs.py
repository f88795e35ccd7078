"""`PlaceInputs`: the place behind a word as a row of numbers (Xu et al. 2017, sections 4 and 5).

In: words, perhaps with prosody. Out: beside one another, vectors from files, last hidden layers of trained models, the
162 prosodic features with a flag each that says whether it is known, and tags that other models find, one column a tag.
Numbers are shifted and scaled by mean and deviation of the training text; a missing one then stands at the mean. What
is read lies in the model's folder: files and folders that options name are needed only once.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, Self, cast, runtime_checkable

import numpy as np

from interpunct.corpora import data_root
from interpunct.errors import InputError, ModelError
from interpunct.features import Features
from interpunct.features.embeddings import Embeddings, read_embeddings
from interpunct.features.prosody_table import NAMES
from interpunct.models.context_options import ContextOptions, check_numbers
from interpunct.models.lattice import settled
from interpunct.models.model import Clitics, Model, Scorer
from interpunct.models.scores import Array, Ints

_SCALE = "scale.npz"
_VECTORS = "vectors-{}.npz"
_FOLDER = "{}-{}"
_LIMIT = 10.0  # deviations: a time that was measured wrongly must not drown the rest of its row
_LEAST = 1e-6


@dataclass(frozen=True)
class InputOptions(ContextOptions):
    """What is read of a place."""

    clitics: Clitics = "split"
    context: Literal["overlap", "restart", "whole"] = "whole"
    vectors: tuple[str, ...] = ()
    """Files of word vectors, by path or by name in the data folder: CBOW's, or a projection layer's."""
    contextual: tuple[str, ...] = ()
    """Folders of trained models whose last hidden layer is read (of type window_lstm)."""
    tags: tuple[str, ...] = ()
    """Folders of trained taggers, whose tags of all their tasks are read."""
    prosody: bool = False
    """Whether prosody is read; a text that comes without is read as one of which nothing is known."""

    def __post_init__(self) -> None:
        check_numbers(self)
        self.as_context()
        if not (self.vectors or self.contextual or self.tags or self.prosody):
            raise ValueError("nothing to read: name vectors, contextual or tags, or let prosody be true")


@runtime_checkable
class HiddenModel(Model, Protocol):
    """A trained model whose last hidden layer can be read."""

    @property
    def hidden_size(self) -> int:
        """Units of the layer."""

    def hidden(self, windows: Sequence[Features]) -> list[Array]:
        """Return the layer's activations, words × units for each window."""


@dataclass(frozen=True)
class Scale:
    """Mean and deviation of columns."""

    mean: Array
    deviation: Array

    @classmethod
    def none(cls, width: int) -> Self:
        """Return the scale that changes nothing."""
        return cls(np.zeros(width, dtype=np.float32), np.ones(width, dtype=np.float32))

    @classmethod
    def learn(cls, parts: Iterable[Array], width: int) -> Self:
        """Measure columns; NaN does not count, and a column that says the same everywhere is only shifted."""
        count, total, squares = np.zeros(width), np.zeros(width), np.zeros(width)
        for part in parts:
            known = ~np.isnan(part)
            values = np.where(known, part, 0.0).astype(np.float64)
            count += known.sum(axis=0)
            total += values.sum(axis=0)
            squares += (values**2).sum(axis=0)
        count = np.maximum(count, 1)
        mean = total / count
        deviation = np.sqrt(np.maximum(squares / count - mean**2, 0.0))
        return cls(mean.astype(np.float32), np.where(deviation < _LEAST, 1.0, deviation).astype(np.float32))

    def scaled(self, numbers: Array) -> Array:
        """Return columns of mean 0 and deviation 1, with 0 where a number is missing."""
        found: Array = np.clip((numbers - self.mean) / self.deviation, -_LIMIT, _LIMIT)
        found[np.isnan(found)] = 0.0
        return found


class PlaceInputs:
    """What is read of a place, and from whom."""

    def __init__(
        self,
        vectors: Sequence[Embeddings] = (),
        contextual: Sequence[HiddenModel] = (),
        taggers: Sequence[Scorer] = (),
        *,
        prosody: bool = False,
    ) -> None:
        self.vectors = tuple(vectors)
        self.contextual = tuple(contextual)
        self.taggers = tuple(taggers)
        self.prosody = prosody
        sizes = [embeddings.dimension for embeddings in self.vectors]
        sizes += [model.hidden_size for model in self.contextual]
        self._lexical = sum(sizes)
        self.flags_width = len(NAMES) if prosody else 0
        """Columns that say whether a prosodic number is known."""
        self.numbers_width = self._lexical + self.flags_width
        """Columns that are scaled."""
        tags = sum(len(names) for tagger in self.taggers for names in tagger.labels.values())
        self.width = self.numbers_width + self.flags_width + tags
        """All columns."""
        self.scale = Scale.none(self.numbers_width)

    @classmethod
    def of(cls, options: Any, *, prosody: bool | None = None) -> Self:
        """Read what options name: `vectors`, `contextual`, `tags`, and `prosody` unless it is given."""
        return cls(
            [read_embeddings(_found(name)) for name in options.vectors],
            [_hidden_model(Path(name), options.clitics) for name in options.contextual],
            [_tagger(Path(name), options.clitics) for name in options.tags],
            prosody=options.prosody if prosody is None else prosody,
        )

    def to(self, device: str) -> None:
        """Move the models that can move to a device."""
        for model in (*self.contextual, *self.taggers):
            move = getattr(model, "to", None)
            if move is not None:
                move(device)

    def learn(self, parts: Iterable[Array]) -> None:
        """Learn the scale from a text's `numbers`."""
        self.scale = Scale.learn(parts, self.numbers_width)

    def numbers(self, features: Features) -> Array:
        """Return what is scaled, unscaled: words × `numbers_width`, NaN where prosody is missing."""
        parts = [embeddings.table[embeddings.rows(features.texts)] for embeddings in self.vectors]
        parts += [model.hidden([features])[0] for model in self.contextual]
        if self.prosody:
            found = features.prosody
            missing = np.full((len(features), len(NAMES)), np.nan, dtype=np.float32)
            if found is not None and found.names != NAMES:
                raise InputError(f"prosody of {len(found.names)} other features; measure it with this version")
            parts.append(missing if found is None else np.where(found.known, found.values, missing))
        return np.concatenate([np.zeros((len(features), 0), dtype=np.float32), *parts], axis=1)

    def scaled(self, numbers: Array) -> Array:
        """Return scaled numbers, and behind them a flag for each prosodic one that says whether it is known."""
        flags = ~np.isnan(numbers[:, self._lexical :])
        return np.concatenate([self.scale.scaled(numbers), flags.astype(np.float32)], axis=1)

    def tags(self, features: Features) -> dict[str, list[str]]:
        """Return each word's tags by task; a second tagger's task of the same name has its number behind it."""
        found: dict[str, list[str]] = {}
        for number, tagger in enumerate(self.taggers, start=1):
            for task, labels in _chosen(tagger, features).items():
                names = tagger.labels[task]
                found[task if task not in found else f"{task}{number}"] = [names[label] for label in labels]
        return found

    def tag_columns(self, features: Features) -> Array:
        """Return each word's tags as columns that are 1 for the tag it has."""
        blocks = [np.zeros((len(features), 0), dtype=np.float32)]
        for tagger in self.taggers:
            for task, labels in _chosen(tagger, features).items():
                blocks.append(np.eye(len(tagger.labels[task]), dtype=np.float32)[labels])
        return np.concatenate(blocks, axis=1)

    def rows(self, features: Features) -> Array:
        """Return everything, scaled: words × `width`."""
        return np.concatenate([self.scaled(self.numbers(features)), self.tag_columns(features)], axis=1)

    def save(self, folder: Path) -> None:
        """Write everything that is needed to read a text into a model's folder."""
        np.savez(folder / _SCALE, mean=self.scale.mean, deviation=self.scale.deviation)
        for number, embeddings in enumerate(self.vectors, start=1):
            path = folder / _VECTORS.format(number)
            # In full precision, unlike `Embeddings.save`: a loaded model says exactly what the saved one said.
            np.savez_compressed(path, words=np.array(embeddings.words), vectors=embeddings.vectors.astype(np.float32))
        for kind, models in (("contextual", self.contextual), ("tags", self.taggers)):
            for number, model in enumerate(models, start=1):
                cast(Any, model).save(folder / _FOLDER.format(kind, number))

    @classmethod
    def load(cls, folder: Path, options: Any, *, prosody: bool | None = None) -> Self:
        """Read what was saved."""

        def places(kind: str, names: Sequence[str]) -> list[Path]:
            return [folder / _FOLDER.format(kind, number) for number in range(1, len(names) + 1)]

        inputs = cls(
            [read_embeddings(folder / _VECTORS.format(number)) for number in range(1, len(options.vectors) + 1)],
            [_hidden_model(path, options.clitics) for path in places("contextual", options.contextual)],
            [_tagger(path, options.clitics) for path in places("tags", options.tags)],
            prosody=options.prosody if prosody is None else prosody,
        )
        arrays = load_arrays(folder / _SCALE)
        if {name: array.shape for name, array in arrays.items()} != dict.fromkeys(
            ("mean", "deviation"), (inputs.numbers_width,)
        ):
            raise ModelError(f"{folder / _SCALE}: not this model's scale; train it again")
        inputs.scale = Scale(arrays["mean"], arrays["deviation"])
        return inputs


def load_arrays(path: Path) -> dict[str, Any]:
    """Read arrays from a model's npz file."""
    try:
        with np.load(path, allow_pickle=False) as data:
            return dict(data)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ModelError(f"{path}: cannot be read: {error}; train the model again") from None


def _chosen(tagger: Scorer, features: Features) -> dict[str, Ints]:
    (scores,) = settled(tagger.forward([features]))
    return {task: scores.chosen(task) for task in tagger.labels}


def _found(name: str) -> Path:
    path = Path(name) if Path(name).exists() else data_root() / name
    if not path.exists():
        raise InputError(f"no such file, nor {path}; check options.vectors", path=name)
    return path


def _hidden_model(folder: Path, clitics: Clitics) -> HiddenModel:
    model = _loaded(folder, clitics)
    if not isinstance(model, HiddenModel):
        raise ModelError(f"{folder}: {model.name} has no hidden layer that can be read; give a model of window_lstm")
    return model


def _tagger(folder: Path, clitics: Clitics) -> Scorer:
    model = _loaded(folder, clitics)
    if not isinstance(model, Scorer):
        raise ModelError(f"{folder}: {model.name} does not tag all words at once; give a model of tag_crf")
    return model


def _loaded(folder: Path, clitics: Clitics) -> Model:
    from interpunct.models import load  # the table of types stands above its rows

    model = load(folder)
    if model.clitics != clitics:
        told = f"{model.name} reads clitics {model.clitics}, and options.clitics is {clitics!r}"
        raise ModelError(f"{folder}: {told}; let both read words alike")
    return model
