"""Runs recipes: prepares, trains, predicts, scores and compares with the papers.

    python recipes/run.py NAME ... [--smoke] [--jobs N] [--stage train|score|all]
    python recipes/run.py all

A recipe's models, logs and predictions go to `runs/NAME/seed-N/`, what was measured to `recipes/results/NAME.json` and
`recipes/pictures/`, and the tables of all recipes measured so far to `recipes/RESULTS.md`. What is there already is not
done again. `--smoke` runs a recipe on a tiny text, in a folder of its own, and fails unless it learns it by heart.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from interpunct.errors import InterpunctError, ModelError
from interpunct.train import train
from recipe import HERE, Recipe, named, recipes

RUNS = Path("runs")
RESULTS = HERE / "results"
PREDICTIONS = "predictions.npz"


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
    try:
        if given.smoke:
            return _smoke(names)
        chosen = [named(name) for name in names]
        if given.stage != "score":
            train_all(chosen, given.runs, device=given.device, jobs=given.jobs)
        if given.stage != "train":
            from scoring import score_all

            score_all(chosen, given.runs)
    except InterpunctError as error:
        print(f"run.py: error: {error}", file=sys.stderr)
        return 1
    return 0


def train_all(chosen: Iterable[Recipe], runs: Path, *, device: str = "auto", jobs: int = 1) -> None:
    """Train every seed of every recipe; those that need others' models come when these are there."""
    waiting = [(recipe, seed) for recipe in chosen for seed in recipe.seeds]
    while waiting:
        ready = [(recipe, seed) for recipe, seed in waiting if _needs_are_met(recipe, runs)]
        if not ready:
            missing = sorted({need for recipe, _ in waiting for need in _needs(recipe)})
            raise ModelError(f"these recipes must be trained before: {', '.join(missing)}")
        waiting = [each for each in waiting if each not in ready]
        if jobs == 1:
            for recipe, seed in ready:
                train_one(recipe, seed, runs, device)
            continue
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            running = {pool.submit(train_one, recipe, seed, runs, device): recipe.name for recipe, seed in ready}
            for done in as_completed(running):
                if done.exception() is not None:
                    print(f"{running[done]} failed: {done.exception()!r}", file=sys.stderr, flush=True)


def _needs(recipe: Recipe) -> list[str]:
    teacher = [recipe.data.teacher.split("/")[0]] if recipe.data.teacher else []
    return [*recipe.members, *teacher]


def _needs_are_met(recipe: Recipe, runs: Path) -> bool:
    return all((runs / need / f"seed-{seed}" / PREDICTIONS).exists() for need in _needs(recipe) for seed in (1,))


def train_one(recipe: Recipe, seed: int, runs: Path, device: str) -> None:
    """Train one model and let it read the test sets; its folder is complete when the predictions are there."""
    from predict import choose_window, predict

    folder = runs / recipe.name / f"seed-{seed}"
    if (folder / PREDICTIONS).exists():
        return
    started = time.monotonic()
    if recipe.members:
        model: Any = _ensemble(recipe, runs)
        model.save(folder)
    else:
        settings = recipe.settings(seed)
        settings = _on_device(settings, device, runs)
        train(settings, folder, log=lambda row: print(recipe.name, seed, json.dumps(row), flush=True))
        model = _load(folder)
    trained = time.monotonic()
    if hasattr(model, "to"):
        model.to(device)
    tried = choose_window(model, recipe) if recipe.windows else {}
    if tried:
        model.description.save(folder)
    arrays = predict(model, recipe)
    facts = {
        "train_seconds": round(trained - started, 1),
        "predict_seconds": round(time.monotonic() - trained, 1),
        "windows": {str(words): round(100 * f1, 2) for words, f1 in tried.items()},
        "parameters": _parameters(model),
        **machine(device),
    }
    (folder / "facts.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    beside = folder / f".{PREDICTIONS}"
    with beside.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
    beside.replace(folder / PREDICTIONS)
    print(recipe.name, seed, "done", json.dumps(facts), flush=True)


def _on_device(settings: Any, device: str, runs: Path) -> Any:
    from dataclasses import replace

    data = settings.data
    if data.teacher:
        data = replace(data, teacher=str(runs / data.teacher))
    return replace(settings, train=replace(settings.train, device=device), data=data)


def _load(folder: Path) -> Any:
    from interpunct.models import load

    return load(folder)


def _ensemble(recipe: Recipe, runs: Path) -> Any:
    from interpunct.models.ensemble import Ensemble

    folders = [path for name in recipe.members for path in sorted((runs / name).glob("seed-*"))]
    return Ensemble.of([_load(folder) for folder in folders], name=recipe.name, version=recipe.model.version)


def _parameters(model: Any) -> int:
    members = getattr(model, "members", [model])
    networks = [member.network for member in members if hasattr(member, "network")]
    return sum(parameter.numel() for network in networks for parameter in network.parameters())


def machine(device: str) -> dict[str, str]:
    """Say where and when something was measured, and with which code."""
    commit = (
        os.environ.get("INTERPUNCT_COMMIT")
        or subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
        ).stdout.strip()
    )
    name = f"{platform.machine()}, {os.cpu_count()} cores"
    try:
        import torch

        if device != "cpu" and torch.cuda.is_available():
            name = torch.cuda.get_device_name()
    except ModuleNotFoundError:
        pass
    return {"device": name, "commit": commit, "date": datetime.now(UTC).isoformat(timespec="seconds")}


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
