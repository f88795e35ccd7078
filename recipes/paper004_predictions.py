"""What paper 004's systems said of documents: the probability of an end at every place, and what was chosen.

In: a trained model and sets of documents, or a system's folder. Out: `Predictions`, kept in the system's folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from boundaries import Spoken
from interpunct.decode.reading import score_tokens
from interpunct.models.encoded import IGNORED
from interpunct.models.scores import Array, Ints

LABELS = {"mark": ("", ".")}
"""A place ends a sentence or it does not."""
PREDICTIONS = "predictions.npz"
Predictions = dict[str, tuple[Array, Ints]]
"""For each set the probability of an end at every place, and what was chosen."""


def predict(model: Any, sets: Mapping[str, Sequence[Spoken]]) -> Predictions:
    """Let a model read sets."""
    found: Predictions = {}
    for name, documents in sets.items():
        words = [[word.text for word in each.transcript.words] for each in documents]
        scores = list(score_tokens(model, words, batch=64, prosody=[each.prosody for each in documents]))
        ends = np.exp(np.concatenate([each.tasks["mark"] for each in scores])[:, 1])
        found[name] = ends.astype(np.float32), np.concatenate([each.chosen("mark") for each in scores])
    return found


def labels_of(document: Spoken) -> Ints:
    """Return each place's label; what nobody knows is `IGNORED`."""
    names: dict[str | None, int] = {name: place for place, name in enumerate(LABELS["mark"])}
    return np.array([names.get(mark, IGNORED) for mark in document.transcript.marks], dtype=np.int64)


def save_predictions(folder: Path, found: Predictions) -> None:
    """Keep what a system said."""
    arrays = {f"{name}/ends": ends for name, (ends, _) in found.items()}
    arrays |= {f"{name}/chosen": chosen.astype(np.uint8) for name, (_, chosen) in found.items()}
    with (folder / PREDICTIONS).open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def load_predictions(folder: Path) -> Predictions:
    """Read what a system said."""
    with np.load(folder / PREDICTIONS) as file:
        names = [name.removesuffix("/ends") for name in file.files if name.endswith("/ends")]
        return {name: (file[f"{name}/ends"], file[f"{name}/chosen"].astype(np.int64)) for name in names}


def fits(said: Predictions, sets: Mapping[str, Sequence[Spoken]]) -> bool:
    """Say whether what a system said is of these documents."""
    return {name: len(chosen) for name, (_, chosen) in said.items()} == {
        name: sum(map(len, documents)) for name, documents in sets.items() if documents
    }
