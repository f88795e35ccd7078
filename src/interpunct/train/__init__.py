"""Corpora and a configuration to a model folder.

In: a TOML file that names corpora, a model type with its options, and how to train. Out: a folder with the
model, its case lexicon, the effective configuration, the training log and a card. Corpora are read twice
from disk rather than held in memory: once for the vocabulary, once for the numbers; packs are held.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from interpunct import config
from interpunct.cases import CASES
from interpunct.errors import ConfigError
from interpunct.features import normalise
from interpunct.labels import MARKS
from interpunct.models import load, type_named
from interpunct.models.branch import BRANCH
from interpunct.models.encoded import Encoded, Tagged, joined, parts_of
from interpunct.models.folder import Description, load_lexicon, make_folder, save_lexicon
from interpunct.models.loop_options import LoopOptions
from interpunct.models.model import Clitics
from interpunct.train import said, specs
from interpunct.train.distil import taught, taught_packs
from interpunct.train.misheard import check as check_misheard
from interpunct.train.misheard import learned_from
from interpunct.train.pack import Pack, distinct, surface_forms
from interpunct.transcript import Transcript

_CARD, _LOG = "CARD.md", "log.jsonl"

Log = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class ModelConfig:
    """Which model to train, under which name."""

    type: str
    name: str
    version: str
    tasks: tuple[str, ...] = ("mark", "case")
    """Marks and cases, and any other task that `data.tags` teaches."""
    marks: tuple[str, ...] = MARKS
    start: str | None = None
    """The folder of a trained model of the same type to go on from: its words, its labels and what it has learned."""

    def __post_init__(self) -> None:
        if not self.name.strip() or not self.version.strip():
            raise ValueError("name and version must not be empty")
        for name in ("tasks", "marks"):
            if len(set(getattr(self, name))) < len(getattr(self, name)):
                raise ValueError(f"{name} has something twice")


@dataclass(frozen=True)
class DataConfig:
    """What to learn from: "corpus:split", e.g. "iwslt:train"; `documents` takes only the first so many of each.

    To train also on a file of packed corpora (see `pack`), name it: "runs/packs/spoken.pack".
    """

    train: tuple[str, ...]
    dev: tuple[str, ...]
    tags: dict[str, list[str]] = field(default_factory=dict)
    """What teaches other tasks: for "pos" corpora with parts of speech, e.g. pos = ["gum:train"]."""
    dev_tags: dict[str, list[str]] = field(default_factory=dict)
    teacher: str | None = None
    """The folder of a trained model whose probabilities are taught beside the labels (distillation)."""
    said: tuple[str, ...] = ()
    """Folders with what teachers said of the packs (see `said`), instead of a teacher that is asked: their mean."""
    wait: float = 0.0
    """How many seconds to wait, once the text is read, for teachers who still speak; each must speak of each pack."""
    misheard: tuple[str, ...] = ()
    """What tells how a recogniser mishears words, so that the words of packs are: "corpus:split:track"."""
    documents: int | None = None
    lexicon_count: int = 3
    """How often a mixed-case word must occur to be remembered."""

    def __post_init__(self) -> None:
        if self.lexicon_count < 1 or (self.documents is not None and self.documents < 1):
            raise ValueError("documents and lexicon_count must be at least 1")
        if not self.wait >= 0:
            raise ValueError(f"wait {self.wait} must not be negative")


@dataclass(frozen=True)
class TrainConfig:
    """A whole training run."""

    model: ModelConfig
    data: DataConfig
    train: LoopOptions = field(default_factory=LoopOptions)
    options: dict[str, Any] = field(default_factory=dict)
    """The model type's own options."""


def train(
    source: str | Path | TrainConfig,
    folder: str | Path,
    *,
    overrides: Iterable[str] = (),
    log: Log | None = None,
) -> Description:
    """Train what a configuration, or a file with one, describes and write the model to `folder`."""
    settings = source if isinstance(source, TrainConfig) else config.load(TrainConfig, source, overrides)
    _check(settings)
    if settings.model.start is not None and Path(settings.model.start).resolve() == Path(folder).resolve():
        raise ConfigError([f"model.start: {folder} would be written over by what goes on from it; give another folder"])
    folder = make_folder(folder)
    kind = type_named(settings.model.type)
    clitics = _options(settings).clitics
    packs = specs.packs(settings.data.train)
    # What is named several times is read as often, but holds its corpora and its surface forms once.
    held = distinct(packs)
    unpacked = dict.fromkeys(specs.unpacked(settings.data.train))
    sources = [*unpacked, *chain.from_iterable(pack.sources for pack in held)]
    lexicon: Counter[str] = Counter()
    for pack in held:
        lexicon.update(pack.forms)
    words = chain(
        _words(_read(settings, specs.unpacked(settings.data.train)), lexicon, clitics),
        chain.from_iterable(pack.texts() for pack in packs),
    )
    about = {
        "name": settings.model.name,
        "version": settings.model.version,
        "options": settings.options,
        "trained_on": (*sources, *chain.from_iterable(settings.data.tags.values())),
        "licence": specs.licences([*sources, *chain.from_iterable(settings.data.tags.values())]),
    }
    if settings.model.start is None:
        model = kind.create(labels=_labels(settings), words=words, seed=settings.train.seed, **about)
    else:
        model = kind.go_on(Path(settings.model.start), **about)
    if specs.unpacked(settings.data.train):
        for _ in words:  # a model that brings its own words has not read on: the lexicon counts them all
            pass
    rows: list[dict[str, Any]] = []

    def note(row: dict[str, Any]) -> None:
        rows.append(row)
        if log is not None:
            log(row)

    output = _Output(folder, settings, lexicon, model)
    model.fit(
        _encoded(settings, model, packs),
        model.encode(
            chain(_read(settings, settings.data.dev), _read_tagged(settings.data.dev_tags, settings.data.documents))
        ),
        loop=settings.train,
        log=note,
        **({"keep": output.keep} if hasattr(kind, "save_weights") else {}),  # others learn in minutes
    )
    output.finish(rows)
    return Description.load(folder)


@dataclass
class _Output:
    """The folder of a model that learns: from its first weights on all that lies there is this model's."""

    folder: Path
    settings: TrainConfig
    lexicon: Counter[str]
    model: Any
    begun: bool = False

    def keep(self, weights: Any) -> None:
        """Write the model as it is best so far."""
        if not self.begun:
            self._begin()
            self.model.save_description(self.folder)
        self.model.save_weights(self.folder, weights)

    def finish(self, rows: list[dict[str, Any]]) -> None:
        """Write the model that has learned, and what there is to say of it."""
        if not self.begun:
            self._begin()
        self.model.save(self.folder)
        (self.folder / _LOG).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        (self.folder / _CARD).write_text(_card(self.settings, self.model.description, rows), encoding="utf-8")

    def _begin(self) -> None:
        self.begun = True
        for name in (BRANCH, _CARD, _LOG):
            (self.folder / name).unlink(missing_ok=True)  # they were another model's
        start = self.settings.model.start
        known = {} if start is None else load_lexicon(Path(start))
        save_lexicon(known | _surface_forms(self.lexicon, self.settings.data.lexicon_count), self.folder)
        (self.folder / "config.toml").write_text(config.dump(self.settings), encoding="utf-8")


def _labels(settings: TrainConfig) -> dict[str, tuple[str, ...]]:
    """Return each task's labels: marks as configured, every case, and of another task those that its corpora hold."""
    labels = {"mark": settings.model.marks, "case": CASES}
    for task in settings.data.tags:
        read = _read_tagged({task: settings.data.tags[task]}, settings.data.documents)
        seen = {tag for tagged in read for tag in tagged.tags[task]}
        labels[task] = tuple(sorted(tag for tag in seen if tag is not None))
    return {task: labels[task] for task in settings.model.tasks}


def _encoded(settings: TrainConfig, model: Any, packs: Sequence[Pack]) -> Encoded:
    """Return what the model learns from, with a teacher's probabilities where there is one."""
    corpora_read = partial(_read, settings, specs.unpacked(settings.data.train))
    tagged = partial(_read_tagged, settings.data.tags, settings.data.documents)
    pack = Pack.joined(packs) if packs else None
    parts: list[Encoded] = []
    if settings.data.said:
        parts.append(said.taught(model, settings.data.said, settings.data.train, packs, wait=settings.data.wait))
    elif settings.data.teacher is None:
        if pack is None or settings.data.tags or specs.unpacked(settings.data.train):
            parts.append(model.encode(chain(corpora_read(), tagged())))
        if pack is not None:
            parts.append(pack.encoded(model.vocabulary, model.labels))
    else:
        teacher: Any = load(settings.data.teacher)
        if hasattr(teacher, "to"):
            teacher.to(settings.train.device)
        if pack is None or specs.unpacked(settings.data.train):
            parts.append(taught(model, teacher, corpora_read))
        if pack is not None:
            parts.append(taught_packs(model, teacher, packs))
    if pack is not None and settings.data.misheard:
        return replace(parts[0], heard=learned_from(settings.data.misheard).heard(pack))
    return joined(parts)


def _check(settings: TrainConfig) -> None:
    """Refuse what cannot work before hours are spent on it."""
    kind = type_named(settings.model.type)
    if not hasattr(kind, "fit"):
        raise ConfigError([f"models of type {settings.model.type!r} are not trained; `interpunct models` lists types"])
    if settings.model.start is not None:
        _check_start(settings, kind)
    options = _options(settings)
    if settings.model.start is None and hasattr(kind, "check_new"):
        kind.check_new(options)
    _check_tasks(settings, options)
    unknown = [mark for mark in settings.model.marks if mark not in MARKS]
    if unknown or "" not in settings.model.marks:
        raise ConfigError([f"model.marks must hold '' and of the others only {' '.join(MARKS[1:])}"])
    tagged = [*settings.data.tags.values(), *settings.data.dev_tags.values()]
    specs.check((*settings.data.train, *settings.data.dev, *chain.from_iterable(tagged)))
    _check_packs(settings, kind)


def _check_packs(settings: TrainConfig, kind: Any) -> None:
    """Refuse packs where they cannot be read, and a start that this type cannot go on from."""
    problems = []
    if any(map(specs.is_pack, settings.data.train)):
        if _options(settings).clitics == "split":
            problems.append("data.train: packs hold whole words; models that split clitics cannot read them")
        if not hasattr(kind, "chances"):
            problems.append(f"data.train: models of type {settings.model.type!r} cannot read packs; name corpora")
        if settings.data.documents is not None:
            problems.append("data.documents: packs are read whole; leave it out or name corpora")
    if settings.data.misheard and (specs.unpacked(settings.data.train) or settings.data.tags):
        problems.append("data.misheard: only the words of packs are misheard; train on packs alone, or leave it out")
    for spec in settings.data.misheard:
        check_misheard(spec)
    if any(map(specs.is_pack, settings.data.dev)):
        problems.append("data.dev: packs are for training; name corpora")
    if settings.data.teacher is not None and not Path(settings.data.teacher).is_dir():
        problems.append(f"data.teacher: {settings.data.teacher}: no such folder; train it first")
    if settings.data.said and (settings.data.teacher or specs.unpacked(settings.data.train) or settings.data.tags):
        problems.append("data.said: teachers spoke of packs; train on these alone, without data.teacher and data.tags")
    elif settings.data.said and not settings.data.wait:
        problems += said.problems(settings.data.said, settings.data.train)
    if settings.data.wait and not settings.data.said:
        problems.append("data.wait: nobody is waited for without data.said")
    if problems:
        raise ConfigError(problems)


def _check_start(settings: TrainConfig, kind: Any) -> None:
    """Refuse to go on from a model that is another, or that has other labels than the configuration says."""
    before = Description.load(Path(settings.model.start or ""))
    problems = []
    if not hasattr(kind, "go_on") or before.type != settings.model.type:
        problems.append(f"model.start: a {settings.model.type} cannot go on from a {before.type}")
    if set(before.labels) != set(settings.model.tasks):
        problems.append(f"model.tasks: it goes on from a model of the tasks {', '.join(before.labels)}; write these")
    if "mark" in before.labels and tuple(before.labels["mark"]) != settings.model.marks:
        problems.append(f"model.marks: it goes on from a model with {list(before.labels['mark'])}; write these")
    if problems:
        raise ConfigError(problems)


def _options(settings: TrainConfig) -> Any:
    """Return the model type's options, checked; those of the model that training goes on from where none are given."""
    before = {} if settings.model.start is None else Description.load(Path(settings.model.start)).handed_on()
    return config.build(type_named(settings.model.type).OPTIONS, {**before, **settings.options})


def _check_tasks(settings: TrainConfig, options: Any) -> None:
    """Refuse tasks that nothing teaches, and teaching that no task or type takes."""
    tasks, data = settings.model.tasks, settings.data
    problems = [
        f"nothing teaches the task {task!r}; name its corpora in data.tags"
        for task in tasks
        if task not in ("mark", "case", *data.tags)
    ]
    if not tasks:
        problems.append("model.tasks is empty; name mark, case or both")
    for task in data.tags:
        if task in ("mark", "case") or task not in tasks:
            problems.append(f"data.tags.{task} teaches no task; it must be one of model.tasks, and no mark or case")
    problems += [f"data.dev_tags.{task} has no data.tags.{task}" for task in data.dev_tags if task not in data.tags]
    problems += [
        f"options.weights.{task} weighs no task; model.tasks are {', '.join(tasks)}"
        for task in settings.options.get("weights", {})
        if task not in tasks
    ]
    if data.tags and settings.model.type == "self_attention":
        problems.append("self_attention writes all tasks' labels as one, and text tagged for one task has no others")
    if data.teacher is not None and data.tags:
        problems.append("a teacher teaches marks and cases; leave data.tags out")
    if (data.teacher is not None or data.said) and not hasattr(options, "distil"):
        problems.append(f"models of type {settings.model.type!r} cannot learn from a teacher")
    if settings.options.get("imitate") and not data.said:
        problems.append("options.imitate tells the states that data.said keeps; name its folders, or leave it out")
    if problems:
        raise ConfigError(problems)


def _read(settings: TrainConfig, names: Iterable[str]) -> Iterator[Transcript]:
    return chain.from_iterable(specs.read(name, settings.data.documents) for name in names)


def _read_tagged(tags: Mapping[str, Sequence[str]], documents: int | None) -> Iterator[Tagged]:
    """Read corpora that teach other tasks; parts of speech are the only ones there are."""
    for task, names in tags.items():
        for name in names:
            for transcript, pos in specs.read_tagged(name, documents):
                yield Tagged(transcript, {task: pos})


def _words(transcripts: Iterable[Transcript], lexicon: Counter[str], clitics: Clitics) -> Iterator[str]:
    """Yield normalised words, and count on the way the surface forms that no rule gives back."""
    for transcript in transcripts:
        lexicon.update(surface_forms(transcript))
        for word in transcript.words:
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
        f"| {spec} | {specs.summary(spec)} | {specs.licences([spec])} |" for spec in description.trained_on
    )
    dev = ", ".join(f"{name} {value}" for name, value in best.items() if name.endswith("_f1"))
    restores = " and ".join({"mark": "punctuation", "case": "capitals"}.get(task, task) for task in description.labels)
    return f"""# {description.title}

Restores {restores} in English transcripts of speech. Type: `{description.type}`.

It writes the marks {" ".join(mark for mark in description.labels.get("mark", ()) if mark)}.
It does not change words: numbers stay as the recogniser wrote them (no inverse text normalisation). Other languages
pass through unimproved.

## Trained on

| corpus | what | licence |
|---|---|---|
{data}

Best epoch on {", ".join(settings.data.dev)}: {dev or "none"} (argmax, three marks; case without lower).
The effective configuration is in `config.toml`, the log in `log.jsonl`.
"""
