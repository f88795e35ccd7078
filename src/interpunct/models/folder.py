"""A model's folder: `model.json`, which says what the model is, and the files beside it.

In: a folder. Out: its description, checked. Every model type writes the same description, so that
`interpunct models` and the restorer need not know the type.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from interpunct.errors import InputError, ModelError
from interpunct.models.model import Clitics, Context

DESCRIPTION = "model.json"
LEXICON = "lexicon.txt"
PIECES = "pieces.json"
VERSION = 1


@dataclass(frozen=True)
class Description:
    """What a model is: enough to load it and to name it in a result."""

    type: str
    name: str
    version: str
    labels: Mapping[str, tuple[str, ...]]
    context: Context
    licence: str = ""
    trained_on: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    """What the model's own type needs to build it again."""
    scales: Mapping[str, float] = field(default_factory=dict)
    """Factors on marks' probabilities that were best on dev, which decoding uses unless it is told others."""
    exported_from: str = ""
    """The type that an exported model was trained as."""

    @property
    def title(self) -> str:
        """Name and version."""
        return f"{self.name} {self.version}"

    def whole(self, name: str) -> int:
        """Return an option that is a whole number."""
        value = self.options.get(name)
        if not isinstance(value, int):
            raise ModelError(f"model {self.title}: option {name!r} is {value!r}, not a whole number; export it again")
        return value

    def handed_on(self) -> dict[str, Any]:
        """Return the options that a model has which goes on from this one, where no others are given.

        What it kept itself of the layers of another, or told of a teacher's states, says nothing of the next one.
        """
        return {name: value for name, value in self.options.items() if name not in ("keep_layers", "imitate")}

    def save(self, folder: Path) -> None:
        """Write `model.json`."""
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"interpunct_model": VERSION, **asdict(self)}, indent=1, ensure_ascii=False)
        (folder / DESCRIPTION).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Description:
        """Read `model.json`."""
        path = folder / DESCRIPTION
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ModelError(f"{folder}: no {DESCRIPTION}; give the folder of a trained model") from None
        except (OSError, ValueError) as error:
            raise ModelError(f"{path}: cannot be read: {error}; train or export the model again") from None
        try:
            if data.pop("interpunct_model") != VERSION:
                raise ModelError(f"{path}: made for another version of interpunct; export it again")
            data["labels"] = {task: tuple(names) for task, names in data["labels"].items()}
            data["context"] = Context(**data["context"])
            data["trained_on"] = tuple(data["trained_on"])
            description = cls(**data)
            _check_scales(description)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ModelError(f"{path}: not a model description: {error}; export the model again") from None
        return description


def _check_scales(description: Description) -> None:
    """Refuse factors that no mark's probability can be multiplied with."""
    for mark, factor in description.scales.items():
        if not isinstance(factor, int | float) or not 0 < factor < math.inf:
            raise ValueError(f"scale {factor!r} for {mark!r} is no factor above 0")


class Described:
    """What a model says of itself, read from its description."""

    description: Description

    @property
    def name(self) -> str:
        """Name and version."""
        return self.description.title

    @property
    def labels(self) -> Mapping[str, tuple[str, ...]]:
        """The labels of each task."""
        return self.description.labels

    @property
    def context(self) -> Context:
        """How much the model sees at once."""
        return self.description.context

    @property
    def clitics(self) -> Clitics:
        """Whether the model reads "don't" as one word or as "do" and "n't"."""
        return "split" if self.description.options.get("clitics") == "split" else "joined"


def make_folder(folder: str | Path) -> Path:
    """Make the folder that a model will be written to, or say why there can be none."""
    if not str(folder):
        raise InputError("the output has no name; is a variable empty?")
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = "a file of this name is there" if isinstance(error, FileExistsError) else error.strerror
        raise InputError(f"cannot be made: {reason}; choose another place", path=str(folder)) from None
    return folder


def take_along(source: Path, target: Path, names: Iterable[str]) -> None:
    """Copy the files of these names that a model has; of those it has not, none of another model's stays behind."""
    if source.resolve() == target.resolve():
        return
    for name in names:
        if (source / name).exists():
            shutil.copyfile(source / name, target / name)
        else:
            (target / name).unlink(missing_ok=True)


def save_lexicon(lexicon: Mapping[str, str], folder: Path) -> None:
    """Write the surface forms of mixed-case words, one a line, for people to read and mend."""
    text = "".join(f"{lexicon[low]}\n" for low in sorted(lexicon))
    (folder / LEXICON).write_text(text, encoding="utf-8")


def load_lexicon(folder: Path) -> dict[str, str]:
    """Read the surface forms of mixed-case words; no file is an empty lexicon."""
    path = folder / LEXICON
    if not path.exists():
        return {}
    try:
        return {form.lower(): form for form in path.read_text(encoding="utf-8-sig").split()}
    except UnicodeDecodeError as error:
        raise ModelError(f"{path}: not UTF-8 at byte {error.start}; save it as UTF-8") from None


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Give a path to write a file to, which takes its place once all of it is there: nobody finds half of it."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.unfinished")  # several may write the same file
    try:
        yield unfinished
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
