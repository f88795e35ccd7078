"""Where paper 004's systems are trained: each in a folder of its own, after those that it needs.

In: the list of systems and a set-up's documents. Out: under `runs/paper004` the network behind the word vectors, and
of each set-up its systems with what they said. What was trained by the same configuration is not trained again.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from boundaries import Spoken, capped, sentence_ends
from interpunct import config, corpora
from interpunct.decode.viterbi import Document, Transitions, tune
from interpunct.features import normalise
from interpunct.models import load, type_named
from interpunct.models.encoded import Tagged, parts_of
from interpunct.models.loop_options import LoopOptions
from interpunct.models.scores import Array
from interpunct.train.specs import licences
from interpunct.transcript import Transcript
from paper004_data import Data
from paper004_predictions import (
    LABELS,
    PREDICTIONS,
    Predictions,
    fits,
    labels_of,
    load_predictions,
    predict,
    save_predictions,
)  # fmt: skip
from paper004_systems import Embeddings, Paper, System
from training import machine

FOLDER = "paper004"
CONFIG = "made-by.json"
FACTS = "facts.json"
VITERBI = "viterbi"


def make_embeddings(made: Embeddings, runs: Path, *, device: str, seconds: float | None) -> None:
    """Train the network behind the projected and hidden vectors, and write the projected ones out."""
    folder, vectors = runs / FOLDER / "embeddings", runs / FOLDER / "projected.txt"
    if vectors.exists() and _is_made_by(folder, asdict(made)):
        return
    train = [each for name, words in made.train.items() for each in texts(name, "train", words)]
    dev = [each for name in made.train for each in texts(name, "dev", made.dev)]
    trained_on = [f"{name}:train" for name in made.train]
    loop = limited(made.loop, device, seconds)
    train_embeddings(made, train, dev, folder, vectors, trained_on=trained_on, loop=loop)
    _remember(folder, asdict(made))


def train_embeddings(
    made: Embeddings,
    train: Sequence[Transcript],
    dev: Sequence[Transcript],
    folder: Path,
    vectors: Path,
    *,
    trained_on: Sequence[str],
    loop: LoopOptions,
) -> None:
    """Train section 5.2's network on text, and keep it and its projection."""
    model = create(made.type, "embeddings", made, made.options, train, trained_on)
    model.fit(model.encode(train), model.encode(dev), loop=loop, log=_logged("embeddings"))
    model.save(folder)
    model.projection().save(vectors)


def texts(corpus: str, split: str, words: int) -> Iterator[Transcript]:
    """Yield documents of a corpus with their sentence ends alone, up to so many words."""
    left = words
    for transcript in corpora.read(corpus, split):
        if left <= 0:
            return
        ended = sentence_ends(transcript)
        yield Transcript(ended.words[:left], ended.source)
        left -= len(ended)


class Bench:
    """Where the systems of one set-up are trained and read."""

    def __init__(
        self, paper: Paper, setup: str, data: Data, runs: Path, *, device: str = "cpu", seconds: float | None = None
    ) -> None:
        self._paper, self._setup, self._data = paper, setup, data
        self._runs, self._device, self._seconds = runs, device, seconds
        self._here = runs / FOLDER / setup

    def make(self, name: str) -> None:
        """Train a system, and those it needs before it, unless it is there."""
        system = self._paper.systems[name]
        for need in system.needs:
            self.make(need)
        folder = self._here / name
        wanted = self._configuration(system)
        made = _is_made_by(folder, wanted)
        if made and (folder / PREDICTIONS).exists() and fits(load_predictions(folder), self._data.sets):
            return
        started = time.monotonic()
        trained = started
        folder.mkdir(parents=True, exist_ok=True)
        parameters: int | None = None
        if system.type == VITERBI:
            found = self._decoded(system, folder)
        else:
            # Other test documents need no other model.
            model = load(folder) if made else self._trained(name, system, folder)
            trained = time.monotonic()
            found = predict(model, self._data.sets)
            parameters = _parameters(model)
        facts = {
            "train_seconds": round(trained - started, 1),
            "predict_seconds": round(time.monotonic() - trained, 1),
            "parameters": parameters, **machine(self._device),
        }  # fmt: skip
        (folder / FACTS).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
        save_predictions(folder, found)
        _remember(folder, wanted)
        print(self._setup, name, json.dumps(facts), file=sys.stderr, flush=True)

    def _trained(self, name: str, system: System, folder: Path) -> Any:
        train = self._data.train if system.train_words is None else capped(self._data.train, system.train_words)
        documents = [Tagged(each.transcript, prosody=each.prosody) for each in train]
        dev = [Tagged(each.transcript, prosody=each.prosody) for each in self._data.dev]
        trained_on = [f"{corpus}:train" for corpus in self._paper.setups[self._setup].train]
        words = [each.transcript for each in documents]
        model = create(system.type, name, system, self._options(system), words, trained_on)
        epochs = self._paper.setups[self._setup].epochs.get(system.type, system.loop.epochs)
        loop = limited(replace(system.loop, epochs=epochs), self._device, self._seconds)
        model.fit(model.encode(documents), model.encode(dev), loop=loop, log=_logged(f"{self._setup} {name}"))
        model.save(folder)
        return load(folder)  # what is scored is what was written

    def _decoded(self, system: System, folder: Path) -> Predictions:
        """Choose the labels that another system finds likely together, by transitions that are tuned on dev."""
        (base,) = system.needs
        said = load_predictions(self._here / base)
        start = Transitions.learn([labels_of(each) for each in self._data.train], len(LABELS["mark"]))
        logs = list(_logs(said["dev"][0], self._data.dev))
        dev = [Document(each, labels_of(document)) for each, document in zip(logs, self._data.dev, strict=True)]
        transitions, _ = tune(start, dev, LABELS["mark"])
        transitions.save(folder / "transitions.json")
        found: Predictions = {}
        for name, documents in self._data.sets.items():
            ends = said[name][0]
            found[name] = ends, np.concatenate([transitions.best(each) for each in _logs(ends, documents)])
        return found

    def _options(self, system: System) -> dict[str, Any]:
        places = {"runs": str(self._runs), "here": str(self._here)}
        return {name: _filled(value, places) for name, value in system.options.items()}

    def _configuration(self, system: System) -> dict[str, Any]:
        setup = asdict(self._paper.setups[self._setup])
        return {
            "system": {key: value for key, value in asdict(system).items() if key not in ("title", "table", "paper")},
            "train": setup["train"], "dev": setup["dev"], "features": setup["features"],
            "epochs": setup["epochs"].get(system.type),
            "embeddings": asdict(self._paper.embeddings) if _reads_embeddings(system.options) else None,
            "needs": {need: self._configuration(self._paper.systems[need]) for need in system.needs},
        }  # fmt: skip


def create(
    kind: str, name: str, made: System | Embeddings, options: Mapping[str, Any], train: Sequence[Transcript],
    trained_on: Sequence[str],
) -> Any:  # fmt: skip
    """Make an untrained model that knows the training text's words."""
    found = type_named(kind)
    clitics = config.build(found.OPTIONS, options).clitics
    words = (
        text
        for document in train
        for word in document.words
        for text in map(normalise, parts_of(word.text, clitics))
        if text
    )
    return found.create(
        name=name, version=made.version, labels=LABELS, options=options, words=words, trained_on=trained_on,
        licence=licences(trained_on),
    )  # fmt: skip


def limited(loop: LoopOptions, device: str, seconds: float | None) -> LoopOptions:
    """Return how to train on a device, in less time where that is asked for."""
    return replace(loop, device=device, seconds=seconds or loop.seconds)


def _logs(ends: Array, documents: Sequence[Spoken]) -> Iterator[Array]:
    """Yield each document's log-probabilities from those of ends."""
    chances = np.maximum(np.stack([1 - ends, ends], axis=1), 1e-7)
    edges = np.cumsum([len(document) for document in documents])[:-1]
    yield from np.split(np.log(chances / chances.sum(axis=1, keepdims=True)).astype(np.float32), edges)


def _is_made_by(folder: Path, wanted: Mapping[str, Any]) -> bool:
    path = folder / CONFIG
    return path.exists() and json.loads(path.read_text(encoding="utf-8")) == json.loads(json.dumps(wanted))


def _remember(folder: Path, made_by: Mapping[str, Any]) -> None:
    (folder / CONFIG).write_text(json.dumps(made_by, indent=1) + "\n", encoding="utf-8")


def _reads_embeddings(options: Mapping[str, Any]) -> bool:
    return any(f"{{runs}}/{FOLDER}/" in str(value) for value in options.values())


def _filled(value: Any, places: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return value.format_map(places)
    return [_filled(each, places) for each in value] if isinstance(value, list | tuple) else value


def _parameters(model: Any) -> int | None:
    network = getattr(model, "network", None)
    return None if network is None else sum(each.numel() for each in network.parameters())


def _logged(name: str) -> Any:
    return lambda row: print(name, json.dumps(row), file=sys.stderr, flush=True)
