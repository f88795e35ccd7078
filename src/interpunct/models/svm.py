"""The support vector machine on the current word's row (Xu et al. 2017, section 6.3.2).

In: windows of words; a place is decided from its own word's vector, or whatever else the options name, and from no
neighbour. Out: log-probabilities per task: one machine a label against the rest, margins made probabilities by Platt's
sigmoid, which is fitted on dev. Learning needs the extra [papers], scoring does not.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from interpunct.models.loop_options import LoopOptions
from interpunct.models.place_inputs import InputOptions
from interpunct.models.place_model import LEAST, Arrays, Log, PlaceModel, Rows, scikit
from interpunct.models.scores import Array

Floats = npt.NDArray[np.float64]
_ROWS_AT_ONCE = 1024
_STEPS = 50


@dataclass(frozen=True)
class SVMOptions(InputOptions):
    """The kernel, and how hard margins are."""

    kernel: Literal["linear", "rbf"] = "linear"
    c: float = 1.0
    """What a place on the wrong side costs; the smaller, the wider the margin."""
    gamma: float | None = None
    """How fast the RBF kernel falls with the squared distance; without it, one over the number of columns."""
    most: int | None = None
    """Places to learn from at most, drawn at random: the time of an RBF machine grows with their square."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.c > 0 or not (self.gamma is None or self.gamma > 0):
            raise ValueError("c and gamma must be above 0")


@dataclass(frozen=True, eq=False)
class Machine:
    """One label against the rest: the margin of a row, and Platt's two numbers that make a probability of it.

    A linear machine has one support vector, its weights; `gamma` is then 0.
    """

    support: Array
    dual: Floats
    bias: float
    gamma: float
    slope: float = -1.0
    shift: float = 0.0

    def margins(self, rows: Array) -> Floats:
        """Return how far rows lie on the label's side."""
        parts = [self._kernel(rows[first : first + _ROWS_AT_ONCE]) for first in range(0, len(rows), _ROWS_AT_ONCE)]
        return np.concatenate([np.zeros(0), *(part @ self.dual for part in parts)]) + self.bias

    def chances(self, rows: Array) -> Floats:
        """Return the label's probability."""
        return _sigmoid(-(self.slope * self.margins(rows) + self.shift))

    def opposite(self) -> Machine:
        """Return the machine of the other label, where there are two."""
        return replace(self, dual=-self.dual, bias=-self.bias, shift=-self.shift)

    def _kernel(self, rows: Array) -> Floats:
        wide, support = rows.astype(np.float64), self.support.astype(np.float64)
        products: Floats = wide @ support.T
        if not self.gamma:
            return products
        distances = (wide**2).sum(axis=1)[:, None] + (support**2).sum(axis=1) - 2 * products
        found: Floats = np.exp(-self.gamma * np.maximum(distances, 0.0))
        return found


class SVM(PlaceModel[SVMOptions]):
    """Machines for the labels of each task that the text showed."""

    TYPE = "svm"
    OPTIONS = SVMOptions

    def start(self, _seed: int) -> None:
        """Begin without machines: all labels are alike."""
        self.machines: dict[str, dict[int, Machine]] = {task: {} for task in self.labels}

    def read(self, windows: Sequence[Array]) -> list[dict[str, Array]]:
        """Return log-probabilities of windows of rows."""
        return [{task: self._logs(task, rows) for task in self.labels} for rows in windows]

    def _logs(self, task: str, rows: Array) -> Array:
        machines = self.machines[task]
        chances = np.full((len(rows), len(self.labels[task])), LEAST if machines else 1.0)
        for label, machine in machines.items():
            chances[:, label] = np.maximum(machine.chances(rows), LEAST)
        logs: Array = np.log(chances / chances.sum(axis=1, keepdims=True)).astype(np.float32)
        return logs

    def learn(self, train: Rows, dev: Rows, *, loop: LoopOptions, log: Log) -> None:
        """Learn machines from train and their sigmoids from dev; of the loop's options only the seed counts."""
        started = time.monotonic()
        for task in self.labels:
            rows, labels = train.known(task)
            held_out, right = dev.known(task)
            if self.options.most is not None and len(rows) > self.options.most:
                drawn = np.random.default_rng(loop.seed).choice(len(rows), self.options.most, replace=False)
                rows, labels = rows[drawn], labels[drawn]
            present = np.unique(labels).tolist()
            # Of two labels one machine tells both.
            wanted = present[1:] if len(present) == 2 else present
            made = {label: self._machine(rows, labels == label, loop.seed) for label in wanted}
            made = {label: _calibrated(machine, held_out, right == label) for label, machine in made.items()}
            if len(present) == 2:
                made[present[0]] = made[present[1]].opposite()
            self.machines[task] = made
        self.tell(log, train, dev, started=started)

    def _machine(self, rows: Array, right: npt.NDArray[np.bool_], seed: int) -> Machine:
        if right.all():  # the text shows no other label
            return Machine(rows[:1], np.zeros(1), 1.0, 0.0)
        learners: Any = scikit("svm")
        if self.options.kernel == "linear":
            learned = learners.LinearSVC(C=self.options.c, dual="auto", random_state=seed).fit(rows, right)
            return Machine(learned.coef_.astype(np.float32), np.ones(1), float(learned.intercept_[0]), 0.0)
        gamma = self.options.gamma or 1 / rows.shape[1]
        learned = learners.SVC(C=self.options.c, gamma=gamma).fit(rows, right)
        bias = float(learned.intercept_[0])
        return Machine(learned.support_vectors_.astype(np.float32), learned.dual_coef_[0], bias, gamma)

    def arrays(self) -> Arrays:
        """Return all machines."""
        found: Arrays = {}
        for task, machines in self.machines.items():
            found[f"{task}.labels"] = np.array(sorted(machines), dtype=np.int64)
            for label, machine in machines.items():
                found[f"{task}.{label}.support"] = machine.support
                found[f"{task}.{label}.dual"] = machine.dual
                found[f"{task}.{label}.numbers"] = np.array([machine.bias, machine.gamma, machine.slope, machine.shift])
        return found

    def take(self, arrays: Arrays) -> None:
        """Take all machines."""
        self.machines = {task: {} for task in self.labels}
        for task, names in self.labels.items():
            for label in arrays[f"{task}.labels"].tolist():
                support, dual = arrays[f"{task}.{label}.support"], arrays[f"{task}.{label}.dual"]
                if label >= len(names) or support.shape != (len(dual), self.width):
                    raise ValueError(f"the machines of {task} have other labels or columns")
                self.machines[task][label] = Machine(support, dual, *arrays[f"{task}.{label}.numbers"].tolist())


def _calibrated(machine: Machine, rows: Array, right: npt.NDArray[np.bool_]) -> Machine:
    if not len(rows):
        return machine
    slope, shift = platt(machine.margins(rows), right)
    return replace(machine, slope=slope, shift=shift)


def platt(margins: Floats, right: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """Return a and b of 1 / (1 + exp(a · margin + b)), the likeliest for margins of places with and without a label.

    Targets stand a little inside 0 and 1, as if one more place of each kind had been seen, so that a and b are finite
    though margins may part the places without a mistake.
    """
    positive, negative = int(right.sum()), int((~right).sum())
    target = np.where(right, (positive + 1) / (positive + 2), 1 / (negative + 2))
    design = np.stack([margins, np.ones_like(margins)], axis=1)
    weights = np.array([0.0, np.log((negative + 1) / (positive + 1))])
    loss = _cross_entropy(design @ weights, target)
    for _ in range(_STEPS):
        chance = _sigmoid(-(design @ weights))
        gradient = design.T @ (target - chance)
        curvature = (design * (chance * (1 - chance))[:, None]).T @ design + 1e-9 * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while (found := _cross_entropy(design @ (weights - size * step), target)) > loss and size > 1e-6:
            size /= 2
        if found > loss - 1e-10 * (1 + abs(loss)):
            break
        weights, loss = weights - size * step, found
    return float(weights[0]), float(weights[1])


def _cross_entropy(logits: Floats, target: Floats) -> float:
    """Return -Σ log-likelihood of targets whose probability is 1 / (1 + exp(logit))."""
    return float((np.logaddexp(0.0, logits) - (1 - target) * logits).sum())


def _sigmoid(values: Floats) -> Floats:
    found: Floats = np.exp(-np.logaddexp(0.0, -values))
    return found
