"""Trains and scores the systems of paper 004: sentence boundaries from words, word vectors and prosody.

    python recipes/paper004.py [SYSTEM ...] [--setup times|audio] [--seconds N] [--device cpu|cuda|auto] [--smoke]

In: `paper004.toml`; `boundaries.py`'s documents; `runs/vectors/cbow.npz` (`vectors.py`), `runs/syntax` (`syntax.py`).
Out: each system under `runs/paper004/SETUP/SYSTEM` with what it says of dev and tests, figures and tested claims in
`recipes/results/paper004.json`, and the tables of `RESULTS.md`. What was trained by the same configuration is not
trained again. `--seconds` is the limit of each network's training. `--smoke` does all of it on a tiny made-up text, in
a folder of its own, and fails where a system does not learn it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from boundaries import Spoken, capped, sentence_ends, spoken
from failure import told
from interpunct import config, corpora
from interpunct.decode.reading import score_tokens
from interpunct.decode.viterbi import Document, Transitions, tune
from interpunct.errors import ConfigError, UnknownNameError
from interpunct.features import normalise
from interpunct.features.prosody_table import FROM_TIMES, NAMES
from interpunct.models import load, type_named
from interpunct.models.encoded import IGNORED, Tagged, parts_of
from interpunct.models.loop_options import LoopOptions
from interpunct.models.scores import Array, Ints
from interpunct.train.specs import licences
from interpunct.transcript import Transcript
from recipe import HERE, merged_tables
from training import machine

LABELS = {"mark": ("", ".")}
"""A place ends a sentence or it does not."""
FOLDER = "paper004"
PREDICTIONS = "predictions.npz"
CONFIG = "made-by.json"
FACTS = "facts.json"
VITERBI = "viterbi"
Predictions = dict[str, tuple[Array, Ints]]
"""For each set the probability of an end at every place, and what was chosen."""


@dataclass(frozen=True)
class System:
    """A row of a table: a model type with its options, what it must find trained, and what the paper prints."""

    title: str
    type: str
    table: int = 1
    version: str = "1"
    paper: dict[str, float] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    train_words: int | None = None
    """Words of the set-up's training text that are learned from, where that is not all of it."""
    options: dict[str, Any] = field(default_factory=dict)
    loop: LoopOptions = field(default_factory=LoopOptions)


@dataclass(frozen=True)
class Setup:
    """What systems are trained on and tested on; of each corpus so many words at most."""

    title: str
    about: str
    features: Literal["times", "all"]
    train: dict[str, int]
    dev: dict[str, int]
    tests: dict[str, int]
    epochs: dict[str, int] = field(default_factory=dict)
    """How often a type of network sees the training text: less often, where there is more of it."""


@dataclass(frozen=True)
class Embeddings:
    """The network of section 5.2, and the text that it learns from."""

    type: str
    version: str
    train: dict[str, int]
    dev: int
    options: dict[str, Any] = field(default_factory=dict)
    loop: LoopOptions = field(default_factory=LoopOptions)


@dataclass(frozen=True)
class Claim:
    """One system said to be better than another."""

    title: str
    better: str
    worse: str


@dataclass(frozen=True)
class Paper:
    """The whole of `paper004.toml`."""

    embeddings: Embeddings
    setups: dict[str, Setup]
    systems: dict[str, System]
    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class Data:
    """A set-up's documents."""

    train: Sequence[Spoken]
    dev: Sequence[Spoken]
    tests: Mapping[str, Sequence[Spoken]]

    @cached_property
    def sets(self) -> dict[str, Sequence[Spoken]]:
        """What a system reads once it is trained."""
        return {"dev": self.dev, **self.tests}


def read_paper(*, smoke: bool = False, path: Path = HERE / "paper004.toml") -> Paper:
    """Read the list of systems; `smoke` tables hold what makes them tiny."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    systems = {
        name: _tiny(merged_tables(tables["types"][table["type"]], table), smoke)
        for name, table in tables["systems"].items()
    }
    try:
        paper = Paper(
            config.build(Embeddings, _tiny(tables["embeddings"], smoke)),
            {name: config.build(Setup, table) for name, table in tables["setups"].items()},
            {name: config.build(System, table) for name, table in systems.items()},
            tuple(config.build(Claim, table) for table in tables["claims"]),
        )
    except ConfigError as error:
        raise ConfigError(error.problems, path=str(path)) from None
    for claim in paper.claims:
        for name in (claim.better, claim.worse):
            if name not in paper.systems:
                raise UnknownNameError("system", name, paper.systems)
    return paper


@told
def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("systems", nargs="*", metavar="SYSTEM", help="of paper004.toml (all)")
    parser.add_argument("--setup", action="append", metavar="NAME", help="times or audio (both)")
    parser.add_argument("--seconds", type=float, help="limit of each network's training")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or auto (cpu)")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where models go (runs)")
    parser.add_argument("--stage", choices=("train", "score", "all"), default="all")
    parser.add_argument("--smoke", action="store_true", help="a tiny made-up text, learned by heart")
    given = parser.parse_args(arguments)
    if given.smoke:
        from paper004_smoke import smoke

        with tempfile.TemporaryDirectory() as folder:
            return 1 if smoke(given.systems, Path(folder)) else 0
    paper = read_paper()
    chosen = _known("system", given.systems, paper.systems)
    setups = {name: paper.setups[name] for name in _known("set-up", given.setup, paper.setups)}
    for name, setup in setups.items():
        data = load_data(setup, given.runs)
        if given.stage != "score":
            make_embeddings(paper.embeddings, given.runs, device=given.device, seconds=given.seconds)
            bench = Bench(paper, name, data, given.runs, device=given.device, seconds=given.seconds)
            for system in chosen:
                bench.make(system)
        if given.stage != "train":
            from paper004_scores import write_scores

            write_scores(paper, name, data, given.runs, HERE)
    return 0


def load_data(setup: Setup, runs: Path) -> Data:
    """Read a set-up's documents, with the features that it has."""
    names = FROM_TIMES if setup.features == "times" else NAMES

    def some(split: str, caps: Mapping[str, int]) -> list[Spoken]:
        return [
            document
            for corpus, words in caps.items()
            for document in spoken(corpus, split, runs=runs, names=names, words=words)
        ]

    tests = {name: spoken(name, "test", runs=runs, names=names, words=words) for name, words in setup.tests.items()}
    return Data(some("train", setup.train), some("dev", setup.dev), tests)


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


def limited(loop: LoopOptions, device: str, seconds: float | None) -> LoopOptions:
    """Return how to train on a device, in less time where that is asked for."""
    return replace(loop, device=device, seconds=seconds or loop.seconds)


def _logs(ends: Array, documents: Sequence[Spoken]) -> Iterator[Array]:
    """Yield each document's log-probabilities from those of ends."""
    chances = np.maximum(np.stack([1 - ends, ends], axis=1), 1e-7)
    edges = np.cumsum([len(document) for document in documents])[:-1]
    yield from np.split(np.log(chances / chances.sum(axis=1, keepdims=True)).astype(np.float32), edges)


def _known(kind: str, names: Sequence[str] | None, table: Mapping[str, Any]) -> list[str]:
    """Return the names that were given, or all; one that nobody knows is an error."""
    for name in names or ():
        if name not in table:
            raise UnknownNameError(kind, name, table)
    return list(names or table)


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


def _tiny(table: dict[str, Any], smoke: bool) -> dict[str, Any]:
    table = dict(table)
    changes = table.pop("smoke", {})
    return merged_tables(table, changes) if smoke else table


def _parameters(model: Any) -> int | None:
    network = getattr(model, "network", None)
    return None if network is None else sum(each.numel() for each in network.parameters())


def _logged(name: str) -> Any:
    return lambda row: print(name, json.dumps(row), file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
