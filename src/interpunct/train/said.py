"""What teachers say of packs, each pack in a file of its own: asked once, read by any number of students.

In: a teacher and a pack. Out: a file with the teacher's probabilities of every word; from folders of such files the
mean of all that was said of a pack. So a teacher of one half of the text can tell what it thinks of the other half, and
one that came later what it thinks of both; a student learns from whatever there is of each pack.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from interpunct.errors import ConfigError, InputError
from interpunct.models.encoded import Encoded, States
from interpunct.models.model import Clitics
from interpunct.models.scores import Chances
from interpunct.train import distil
from interpunct.train.arrays import UNREADABLE, save_arrays, wait_for
from interpunct.train.pack import Pack

if TYPE_CHECKING:
    from interpunct.train.states import Directions

SUFFIX = ".npz"
DIRECTIONS = "directions"
"""The file of a folder, named so, with the directions in which a teacher's states are kept."""
_STATES = "states"
WHOLE: Clitics = "joined"
"""How packs hold "don't": as one word."""


def ask(teacher: Any, pack: Pack, path: Path, directions: Directions | None = None) -> None:
    """Write what a teacher says of every word of a pack, and perhaps its states in some directions."""
    if teacher.clitics != WHOLE:
        raise InputError(f"the teacher {teacher.name} splits clitics, and packs hold whole words; take another")
    about: dict[str, Any] = {
        "teacher": teacher.name,
        "labels": {task: list(names) for task, names in teacher.labels.items()},
        "words": _sum(pack),
    }
    said: dict[str, Any]
    if directions is None:
        said = {**distil.asked(teacher, pack)}
    else:
        chances, states = directions.asked(teacher, pack)
        said = {**chances, _STATES: states}
        about["directions"] = directions.sum
    written = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    save_arrays(path, {"about": written, **said}, compress=False)


def file_of(folder: Path, pack: str) -> Path:
    """Return the file of a folder for what is said of a pack of this name."""
    return folder / f"{Path(pack).stem}{SUFFIX}"


def problems(folders: Iterable[str], train: Iterable[str]) -> list[str]:
    """Return what is wrong with learning from these folders: nobody spoke of a pack, or not in a folder at all."""
    packs = list(dict.fromkeys(train))
    spoken = {folder: [spec for spec in packs if file_of(Path(folder), spec).is_file()] for folder in folders}
    unsaid = [spec for spec in packs if not any(spec in found for found in spoken.values())]
    return [
        *(f"data.said: {folder}: nothing of these packs there" for folder, found in spoken.items() if not found),
        *(f"data.said: nothing of {spec} there; ask a teacher with recipes/bundled/said.py" for spec in unsaid),
    ]


def taught(
    model: Any, folders: Sequence[str], train: Sequence[str], packs: Sequence[Pack], *, wait: float = 0
) -> Encoded:
    """Encode the packs of these names for a student, with what was said of each beside its labels.

    A pack that is named several times is read once, and stands there as often. While it is encoded teachers may still
    speak; they are then waited for, for so many seconds at most, until each has spoken of each pack.
    """
    encoded = Pack.joined(packs).encoded(model.vocabulary, model.labels)
    if wait:
        awaited = dict.fromkeys(file_of(Path(folder), spec) for folder in folders for spec in train)
        if missing := wait_for(awaited, wait):
            raise ConfigError([f"data.said: {path} is not there after {wait:g} s" for path in missing])
    read: dict[str, Mapping[str, Chances]] = {}
    states: dict[str, tuple[int, States]] = {}
    for spec, pack in zip(train, packs, strict=True):
        if spec not in read:
            files = [path for folder in folders if (path := file_of(Path(folder), spec)).is_file()]
            read[spec] = _mean([_read(path, pack, model.labels) for path in files])
            if model.options.imitate:
                states[spec] = _states(files, spec)
    targets = {task: np.concatenate([read[spec][task] for spec in train]) for task in model.labels}
    if len({directions for directions, _ in states.values()}) > 1:
        raise InputError("data.said has states in several directions; keep those of all packs in one folder")
    kept = np.concatenate([states[spec][1] for spec in train]) if states else None
    return replace(encoded, targets=targets, states=kept)


def _states(files: Sequence[Path], spec: str) -> tuple[int, States]:
    """Read the states that one of the teachers has of a pack, and which directions these are in."""
    found: list[tuple[int, States]] = []
    for path in files:
        try:
            with np.load(path) as arrays:
                if _STATES in arrays:
                    found.append((json.loads(arrays["about"].tobytes())["directions"], arrays[_STATES]))
        except UNREADABLE as error:
            raise _unreadable(path, error) from None
    if len(found) != 1:
        what = "no teacher's states" if not found else "the states of several teachers"
        raise InputError(f"data.said has {what} of {spec}; keep those of one (said.py --states), or set imitate to 0")
    return found[0]


def _unreadable(path: Path, error: Exception) -> InputError:
    return InputError(f"not what a teacher said ({error}); delete it and ask again", path=str(path))


def _read(path: Path, pack: Pack, labels: Mapping[str, Sequence[str]]) -> dict[str, Chances]:
    """Read what was said of a pack, in this order of labels."""
    try:
        with np.load(path) as arrays:
            about = json.loads(arrays["about"].tobytes())
            said = {task: arrays[task] for task in about["labels"]}
    except UNREADABLE as error:
        raise _unreadable(path, error) from None
    who = f"by {about['teacher']}"
    if about["words"] != _sum(pack):
        raise InputError(f"said {who} of another pack of this name; delete it and ask again", path=str(path))
    for task, names in labels.items():
        known = about["labels"].get(task, [])
        if sorted(known) != sorted(names):
            raise InputError(f"said {who} with the {task} labels {known}, not {list(names)}", path=str(path))
    return {
        task: said[task][:, [about["labels"][task].index(name) for name in names]] for task, names in labels.items()
    }


def _mean(said: Sequence[Mapping[str, Chances]]) -> dict[str, Chances]:
    found = dict(said[0])
    for other in said[1:]:
        found = {task: rows + other[task] for task, rows in found.items()}
    return {task: rows / np.float16(len(said)) for task, rows in found.items()}


def _sum(pack: Pack) -> int:
    """Return a number that other words would not have."""
    return zlib.crc32("\n".join(pack.words).encode(), zlib.crc32(pack.numbers.tobytes()))
