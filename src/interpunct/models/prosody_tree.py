"""The decision tree on prosody (the DT of Xu et al. 2017, section 6.2; C4.5 there, CART by scikit-learn here).

In: windows of words with prosody. Out: log-probabilities per task: the share of each label in the leaf that a place
falls into, with one more of each label. Numbers are as measured; where one is missing, the tree has learned which way
to go. Learning needs the extra [papers], scoring does not.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from interpunct.models.loop_options import LoopOptions
from interpunct.models.model import Clitics
from interpunct.models.place_inputs import InputOptions
from interpunct.models.place_model import Arrays, Log, PlaceModel, Rows, scikit
from interpunct.models.scores import Array, Ints

_LEAF = -1


@dataclass(frozen=True)
class ProsodyTreeOptions(InputOptions):
    """How the tree grows and how it is pruned."""

    clitics: Clitics = "joined"
    prosody: bool = True
    criterion: Literal["entropy", "gini"] = "entropy"
    """What a split must lower; entropy is C4.5's."""
    leaf: int = 20
    """Places in a leaf, at least."""
    depth: int | None = None
    """Splits from the root to a leaf, at most."""
    prune: tuple[float, ...] = (1e-4, 3e-4, 1e-3, 3e-3)
    """Branches that lower the tree's impurity by less than this for each of their leaves are cut off; 0 keeps all.

    Of several the one stays that gives dev's labels the highest probability.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.prune or not all(share >= 0 for share in self.prune):
            raise ValueError(f"prune {self.prune} must be one number at least, and none of them negative")


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes in columns; `feature` is -1 in a leaf."""

    feature: Ints
    threshold: npt.NDArray[np.float64]
    left: Ints
    right: Ints
    missing_left: npt.NDArray[np.bool_]
    logs: Array
    """Log-probabilities of all labels in each node."""

    @classmethod
    def stump(cls, labels: int) -> Self:
        """Return the tree that has learned nothing: one leaf in which all labels are alike."""
        nowhere = np.full(1, _LEAF, dtype=np.int64)
        alike = np.full((1, labels), -np.log(labels), dtype=np.float32)
        return cls(nowhere, np.zeros(1), nowhere, nowhere, np.zeros(1, dtype=np.bool_), alike)

    @classmethod
    def of(cls, learned: Any, labels: int) -> Self:
        """Take scikit-learn's tree, which may know fewer labels."""
        tree = learned.tree_
        counts = np.zeros((tree.node_count, labels))
        counts[:, learned.classes_] = tree.value[:, 0, :] * tree.weighted_n_node_samples[:, None]
        chances = (counts + 1) / (counts.sum(axis=1, keepdims=True) + labels)
        leaf = tree.children_left == tree.children_right
        return cls(
            np.where(leaf, _LEAF, tree.feature).astype(np.int64),
            tree.threshold.astype(np.float64),
            tree.children_left.astype(np.int64),
            tree.children_right.astype(np.int64),
            tree.missing_go_to_left.astype(np.bool_),
            np.log(chances).astype(np.float32),
        )

    def leaves(self, rows: Array) -> Ints:
        """Return the leaf that each row falls into."""
        nodes = np.zeros(len(rows), dtype=np.int64)
        going = np.arange(len(rows))
        while len(going := going[self.feature[nodes[going]] != _LEAF]):
            here = nodes[going]
            values = rows[going, self.feature[here]]
            left = np.where(np.isnan(values), self.missing_left[here], values <= self.threshold[here])
            nodes[going] = np.where(left, self.left[here], self.right[here])
        return nodes

    def likelihood(self, rows: Array, labels: Ints) -> float:
        """Return the log-probability of labels."""
        return float(self.logs[self.leaves(rows), labels].sum())


class ProsodyTree(PlaceModel[ProsodyTreeOptions]):
    """A decision tree per task."""

    TYPE = "prosody_tree"
    OPTIONS = ProsodyTreeOptions
    SCALED = False

    def start(self, _seed: int) -> None:
        """Begin with trees that know nothing."""
        self.trees = {task: Tree.stump(len(names)) for task, names in self.labels.items()}

    def read(self, windows: Sequence[Array]) -> list[dict[str, Array]]:
        """Return log-probabilities of windows of rows."""
        return [{task: tree.logs[tree.leaves(rows)] for task, tree in self.trees.items()} for rows in windows]

    def learn(self, train: Rows, dev: Rows, *, loop: LoopOptions, log: Log) -> None:
        """Grow a tree for each task; of the loop's options only the seed counts, which decides between equal splits."""
        started = time.monotonic()
        learner = scikit("tree").DecisionTreeClassifier
        for task, names in self.labels.items():
            rows, labels = train.known(task)
            if not len(labels):
                continue
            grown: list[Tree] = []
            for share in self.options.prune:
                tree = learner(
                    criterion=self.options.criterion, max_depth=self.options.depth, min_samples_leaf=self.options.leaf,
                    ccp_alpha=share, random_state=loop.seed,
                )  # fmt: skip
                grown.append(Tree.of(tree.fit(rows, labels), len(names)))
            held_out, right = dev.known(task)
            self.trees[task] = max(grown, key=lambda tree: tree.likelihood(held_out, right))
        self.tell(log, train, dev, started=started)

    def arrays(self) -> Arrays:
        """Return the nodes of all trees."""
        return {
            f"{task}.{field.name}": getattr(tree, field.name)
            for task, tree in self.trees.items()
            for field in fields(Tree)
        }

    def take(self, arrays: Arrays) -> None:
        """Take the nodes of all trees."""
        self.trees = {
            task: Tree(**{field.name: arrays[f"{task}.{field.name}"] for field in fields(Tree)}) for task in self.labels
        }
        for task, tree in self.trees.items():
            if tree.logs.shape[1:] != (len(self.labels[task]),):
                raise ValueError(f"the tree of {task} has other labels")
