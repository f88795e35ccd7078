"""Learning curves: loss and dev scores by epoch, all seeds of a recipe in one picture."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from interpunct.metrics import plot


def draw_learning_curves(title: str, logs: Mapping[int, Path], path: Path) -> None:
    """Draw the training logs of a recipe's seeds."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib.figure import Figure

    rows = {seed: _rows(log) for seed, log in logs.items()}
    shown = [name for name in next(iter(rows.values()))[0] if name.endswith(("_f1", "_accuracy"))]
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    losses, scores = figure.subplots(1, 2)
    for number, (seed, epochs) in enumerate(rows.items()):
        places = [row["epoch"] for row in epochs]
        style = ("-", "--", ":")[number % 3]
        losses.plot(places, [row["loss"] for row in epochs], style, color="#4477aa", label=f"seed {seed}")
        for colour, name in zip(("#4477aa", "#cc6677", "#999933"), shown, strict=False):
            label = name.replace("_", " ") if number == 0 else None
            scores.plot(places, [100 * row[name] for row in epochs], style, color=colour, label=label)
    losses.set(xlabel="epoch", ylabel="training loss", title=title)
    scores.set(xlabel="epoch", ylabel="dev, %", title="dev while training")
    for axes in (losses, scores):
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    plot.save_picture(figure, path, dpi=90)


def _rows(log: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
