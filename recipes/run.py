"""Runs recipes: prepares, trains, predicts, scores and compares with the papers.

    python recipes/run.py NAME ... [--smoke] [--jobs N] [--stage train|score|all]
    python recipes/run.py all

A recipe's models, logs and predictions go to `runs/NAME/seed-N/`, what was measured to `recipes/results/NAME.json` and
`recipes/pictures/`, and the tables of all recipes measured so far to `recipes/RESULTS.md`. What is there already is not
done again. `--smoke` runs a recipe on a tiny text, in a folder of its own, and fails unless it learns it by heart.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from interpunct.errors import told_in_a_line
from recipe import named, recipes

RUNS = Path("runs")


@told_in_a_line
def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="NAME", help="recipes, or all")
    parser.add_argument("--smoke", action="store_true", help="a tiny text, learned by heart")
    parser.add_argument("--jobs", type=int, default=1, help="trainings at the same time")
    parser.add_argument("--stage", choices=("train", "score", "all"), default="all")
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument("--runs", type=Path, default=RUNS, help="where models go (runs)")
    given = parser.parse_args(arguments)
    names = list(recipes()) if given.names == ["all"] else given.names
    if given.smoke:
        return _smoke(names)
    chosen = [named(name) for name in names]
    if given.stage != "score":
        from training import train_all
        from vectors import make_vectors

        if any(path.startswith("runs/vectors/") for recipe in chosen for path in recipe.options.get("vectors", ())):
            make_vectors(Path("runs/vectors"))
        train_all(chosen, given.runs, device=given.device, jobs=given.jobs)
    if given.stage != "train":
        from scoring import score_all

        score_all(chosen, given.runs)
    return 0


def _smoke(names: Sequence[str]) -> int:
    from smoke import learned_by_heart, tiny_data

    failed = 0
    with tempfile.TemporaryDirectory() as folder, tiny_data(Path(folder) / "data"):
        for name in names:
            f1 = learned_by_heart(name, Path(folder) / "runs")
            good = all(value >= 0.9 for value in f1.values())
            failed += not good
            shown = ", ".join(f"{task} F1 {100 * value:.1f}" for task, value in f1.items())
            print(f"{name}: {shown}{'' if good else '  <- below 90'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
