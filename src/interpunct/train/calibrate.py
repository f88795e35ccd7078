"""Factors on marks' probabilities that are best on dev.

In: a model and corpora that it has not learned from. Out: a factor for each mark. The likeliest label is right most
often, but F1 counts only places with marks, of which a cautious model leaves out too many: what maximises F1 is to
write a mark from a lower probability on (Lipton et al. 2014, arXiv 1402.1892). Marks of a kind share a factor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from interpunct.decode.reading import score_tokens
from interpunct.errors import InputError
from interpunct.labels import to_three
from interpunct.models import load
from interpunct.models.encoded import IGNORED, taught_mark
from interpunct.models.folder import Description
from interpunct.models.model import Model
from interpunct.models.scores import Array, Ints
from interpunct.train import specs
from interpunct.transcript import Transcript

_FEWEST = 100
"""Marks that a corpus must hold."""

Floats = npt.NDArray[np.float64]

_STEPS = (0.5, 0.2, 0.1, 0.05)
"""How far the logarithm of a factor is moved at a time, ever more finely."""
_LARGEST = 3.0
"""Factors are between exp of minus this and of this."""


@dataclass(frozen=True)
class Held:
    """A corpus that was held out: each place's probability of each kind of mark, and which stands there."""

    chances: Array
    """Places × kinds; the first kind is none."""
    right: Ints

    def f1(self, logs: Floats) -> float:
        """Return micro F1 over the kinds, where the probabilities are multiplied by the exponentials of `logs`."""
        guess = (self.chances * np.exp(logs)).argmax(axis=1)
        hits = int(((guess == self.right) & (guess > 0)).sum())
        written, wanted = int((guess > 0).sum()), int((self.right > 0).sum())
        return 2 * hits / (written + wanted) if hits else 0.0


@dataclass(frozen=True)
class Gain:
    """The mean of corpora's F1 without factors and with them."""

    before: float
    after: float


def best_scales(model: Model, corpora: Iterable[Iterable[Transcript]]) -> tuple[dict[str, float], Gain]:
    """Return the factors with the best mean of the corpora's F1, and what they gain."""
    marks = model.labels.get("mark", ())
    if "" not in marks:
        raise InputError(f"the model {model.name} has no marks to choose from")
    kinds = list(dict.fromkeys(["", *map(to_three, marks)]))
    held = [_held(model, documents, marks, kinds) for documents in corpora]
    if not held:
        raise InputError("name a corpus to calibrate on")
    logs = found(held, len(kinds))
    gain = Gain(_mean(held, np.zeros(len(kinds))), _mean(held, logs))
    scales = {mark: round(float(np.exp(logs[kinds.index(to_three(mark))])), 3) for mark in marks}
    return {mark: factor for mark, factor in scales.items() if factor != 1.0}, gain


def found(held: Sequence[Held], kinds: int) -> Floats:
    """Climb to factors that no single step makes better; that of "none" stays 1."""
    logs = np.zeros(kinds)
    best = _mean(held, logs)
    for step in _STEPS:
        better = True
        while better:
            better = False
            for kind in range(1, kinds):
                for move in (step, -step):
                    tried = logs.copy()
                    tried[kind] = np.clip(tried[kind] + move, -_LARGEST, _LARGEST)
                    score = _mean(held, tried)
                    if score > best:
                        logs, best, better = tried, score, True
    return logs


def _mean(held: Sequence[Held], logs: Floats) -> float:
    return float(np.mean([each.f1(logs) for each in held]))


def _held(model: Model, documents: Iterable[Transcript], marks: Sequence[str], kinds: Sequence[str]) -> Held:
    """Let a model read a corpus, one document after another."""
    rows: list[Array] = []
    right: list[int] = []
    member = np.array([[to_three(mark) == kind for kind in kinds] for mark in marks], dtype=np.float32)
    for document in documents:
        if not document.words:
            continue
        (scores,) = score_tokens(model, [[word.text for word in document.words]])
        rows.append(np.exp(scores.tasks["mark"]) @ member)
        right += [_kind(taught_mark(word, marks), kinds) for word in document.words]
    if not rows:
        raise InputError("a corpus to calibrate on has no words; name another")
    known = np.array(right) != IGNORED
    if (np.array(right) > 0).sum() < _FEWEST:
        raise InputError(
            f"a corpus to calibrate on has fewer than {_FEWEST} marks, of which nothing is learned; use more"
        )
    return Held(np.concatenate(rows)[known], np.array(right)[known])


def _kind(mark: str | None, kinds: Sequence[str]) -> int:
    """Return which kind a mark is of; of a pause written as "…" nobody knows, nor of what the model cannot write."""
    kind = None if mark is None or mark == "…" else to_three(mark)
    return kinds.index(kind) if kind in kinds else IGNORED


def calibrate(folder: str | Path, names: Sequence[str], *, words: int | None = None) -> tuple[Description, Gain]:
    """Find a model's best factors on the first `words` of each corpus ("iwslt:dev"), and write them to its folder.

    Decoding uses them from then on. Do it on what you will not score.
    """
    folder = Path(folder)
    specs.check(names)
    before = Description.load(folder)
    for name in names:
        if specs.is_pack(name):
            raise InputError(f"{name}: packs are for training; calibrate on text that is held out, e.g. iwslt:dev")
        if name in before.trained_on:
            raise InputError(f"{name} is what {before.title} learned from; calibrate on text that it has not read")
        if name.split(":")[1].startswith("test"):
            raise InputError(f"{name} is for testing; calibrate on text that is held out, e.g. iwslt:dev")
    scales, gain = best_scales(load(folder), [_first(specs.read(name), words) for name in names])
    description = replace(before, scales=scales)
    description.save(folder)
    return description, gain


def _first(documents: Iterable[Transcript], words: int | None) -> Iterator[Transcript]:
    for document in documents:
        if words is None:
            yield document
        elif words > 0:
            yield replace(document, words=document.words[:words])
            words -= len(document.words)
        else:
            return
