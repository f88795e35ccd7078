"""Corpora and a configuration to a model folder.

In: a TOML file that names corpora, a model type with its options, and how to train. Out: a folder with the
model, its case lexicon, the effective configuration, the training log and a card. Everything is read twice
from disk rather than held in memory: once for the vocabulary, once for the numbers.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from interpunct import config, corpora
from interpunct.cases import CASES, recase, trim
from interpunct.errors import ConfigError
from interpunct.features import normalise
from interpunct.labels import MARKS
from interpunct.models import type_named
from interpunct.models.encoded import parts_of
from interpunct.models.folder import Description, save_lexicon
from interpunct.models.loop_options import LoopOptions
from interpunct.models.model import Clitics
from interpunct.transcript import Transcript

Log = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class ModelConfig:
    """Which model to train, under which name."""

    type: str
    name: str
    version: str
    tasks: tuple[Literal["mark", "case"], ...] = ("mark", "case")
    marks: tuple[str, ...] = MARKS


@dataclass(frozen=True)
class DataConfig:
    """What to learn from: "corpus:split", e.g. "iwslt:train"; `documents` takes only the first so many of each."""

    train: tuple[str, ...]
    dev: tuple[str, ...]
    documents: int | None = None
    lexicon_count: int = 3
    """How often a mixed-case word must occur to be remembered."""


@dataclass(frozen=True)
class TrainConfig:
    """A whole training run."""

    model: ModelConfig
    data: DataConfig
    train: LoopOptions = field(default_factory=LoopOptions)
    options: dict[str, Any] = field(default_factory=dict)
    """The model type's own options."""


def train(
    path: str | Path, folder: str | Path, *, overrides: Iterable[str] = (), log: Log | None = None
) -> Description:
    """Train what a configuration file describes and write the model to `folder`."""
    settings = config.load(TrainConfig, path, overrides)
    _check(settings)
    folder = Path(folder)
    kind = type_named(settings.model.type)
    clitics = config.build(kind.OPTIONS, settings.options).clitics
    lexicon: Counter[str] = Counter()
    labels = {"mark": settings.model.marks, "case": CASES}
    words = _words(_read(settings, settings.data.train), lexicon, clitics)
    model = kind.create(
        name=settings.model.name,
        version=settings.model.version,
        labels={task: labels[task] for task in settings.model.tasks},
        options=settings.options,
        words=words,
        trained_on=settings.data.train,
        licence="; ".join(sorted({corpora.named(s.split(":")[0]).licence for s in settings.data.train})),
        seed=settings.train.seed,
    )
    for _ in words:  # a model that brings its own words has not read on: the lexicon counts them all
        pass
    rows: list[dict[str, Any]] = []

    def note(row: dict[str, Any]) -> None:
        rows.append(row)
        if log is not None:
            log(row)

    model.fit(
        model.encode(_read(settings, settings.data.train)),
        model.encode(_read(settings, settings.data.dev)),
        loop=settings.train,
        log=note,
    )
    folder.mkdir(parents=True, exist_ok=True)
    model.save(folder)
    save_lexicon(_surface_forms(lexicon, settings.data.lexicon_count), folder)
    (folder / "config.toml").write_text(config.dump(settings), encoding="utf-8")
    (folder / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "CARD.md").write_text(_card(settings, model.description, rows), encoding="utf-8")
    return Description.load(folder)


def _check(settings: TrainConfig) -> None:
    """Refuse what cannot work before hours are spent on it."""
    unknown = [mark for mark in settings.model.marks if mark not in MARKS]
    if unknown or "" not in settings.model.marks:
        raise ConfigError([f"model.marks must hold '' and of the others only {' '.join(MARKS[1:])}"])
    for spec in (*settings.data.train, *settings.data.dev):
        name, colon, split = spec.partition(":")
        if not colon:
            raise ConfigError([f"{spec!r} is not CORPUS:SPLIT, e.g. iwslt:train"])
        corpus = corpora.named(name)
        corpus.check(split, corpus.tracks[0])


def _read(settings: TrainConfig, specs: Iterable[str]) -> Iterator[Transcript]:
    for spec in specs:
        name, _, split = spec.partition(":")
        for index, transcript in enumerate(corpora.read(name, split)):
            if settings.data.documents is not None and index >= settings.data.documents:
                break
            yield transcript


def _words(transcripts: Iterable[Transcript], lexicon: Counter[str], clitics: Clitics) -> Iterator[str]:
    """Yield normalised words, and count on the way the surface forms that no rule gives back."""
    for transcript in transcripts:
        for word in transcript.words:
            if word.case in ("mixed", "upper"):
                core = trim(word.text)[1]
                if word.case == "mixed" or recase(core, "upper") != core:
                    lexicon[core] += 1
            yield from filter(None, map(normalise, parts_of(word.text, clitics)))


def _surface_forms(counts: Counter[str], least: int) -> dict[str, str]:
    """Keep the commonest surface form of each word that is common enough."""
    forms: dict[str, str] = {}
    for form, count in counts.most_common():
        if count >= least:
            forms.setdefault(form.lower(), form)
    return forms


def _card(settings: TrainConfig, description: Description, rows: list[dict[str, Any]]) -> str:
    best = max(rows, key=lambda row: float(row["dev"])) if rows else {}
    data = "\n".join(
        f"| {spec} | {corpora.named(spec.split(':')[0]).summary} | {corpora.named(spec.split(':')[0]).licence} |"
        for spec in settings.data.train
    )
    dev = ", ".join(f"{name} {value}" for name, value in best.items() if name.endswith("_f1"))
    return f"""# {description.title}

Restores {" and ".join({"mark": "punctuation", "case": "capitals"}[task] for task in description.labels)} in English
transcripts of speech. Type: `{description.type}`.

It writes the marks {" ".join(mark for mark in settings.model.marks if mark)}. It does not change words: numbers stay as
the recogniser wrote them (no inverse text normalisation). Other languages pass through unimproved.

## Trained on

| corpus | what | licence |
|---|---|---|
{data}

Best epoch on {", ".join(settings.data.dev)}: {dev or "none"} (argmax, three marks; case without lower).
The effective configuration is in `config.toml`, the log in `log.jsonl`.
"""
