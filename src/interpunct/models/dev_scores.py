"""How well a network does on held-out words, from a confusion matrix.

In: how often each label was guessed for each right one. Out: F1 and slot error rate where a task has a label for
"nothing here" (the papers' three marks; every case but lower), accuracy for any other task; and `dev`, the one number
by which the best epoch is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from interpunct.metrics.classes import class_of
from interpunct.metrics.counts import PrecisionRecall, Slots
from interpunct.models.scores import Ints


def dev_scores(labels: Mapping[str, Sequence[str]], confusion: Mapping[str, Ints]) -> dict[str, float]:
    """Return every task's scores, and `dev`: the mean F1 of marks and cases, or the others' mean accuracy."""
    scores: dict[str, float] = {}
    for task, names in labels.items():
        if task in ("mark", "case"):
            classes = [class_of(name) if task == "mark" else name.replace("lower", "") for name in names]
            scores |= {f"{task}_{rate}": value for rate, value in slot_scores(classes, confusion[task]).items()}
        else:
            total = int(confusion[task].sum())
            scores[f"{task}_accuracy"] = int(np.trace(confusion[task])) / total if total else 0.0
    chosen = [value for name, value in scores.items() if name.endswith("_f1")]
    chosen = chosen or [value for name, value in scores.items() if name.endswith("_accuracy")]
    return {"dev": sum(chosen) / max(1, len(chosen))} | scores


def slot_scores(classes: Sequence[str], confusion: Ints) -> dict[str, float]:
    """Return F1 and slot error rate over classes; "" is no slot.

    >>> slot_scores(["", ","], np.array([[90, 2], [4, 4]]))
    {'f1': 0.5714285714285714, 'ser': 0.75}
    """
    names = ["", *sorted({*classes} - {""})]
    code = np.array([names.index(name) for name in classes])
    merged = np.zeros((len(names), len(names)), dtype=np.int64)
    np.add.at(merged, (code[:, None], code[None, :]), confusion)
    correct = int(np.trace(merged)) - int(merged[0, 0])
    counts = PrecisionRecall(correct, int(merged[:, 1:].sum()), int(merged[1:, :].sum()))
    slots = Slots(correct, int(merged[1:, 1:].sum()) - correct, int(merged[1:, 0].sum()), int(merged[0, 1:].sum()))
    ser = slots.ser
    return {"f1": counts.f1 or 0.0, "ser": 1.0 if ser is None else ser}
