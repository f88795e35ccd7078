"""Trains recipes and lets their models read the test sets.

In: recipes. Out: for each seed a folder `runs/NAME/seed-N` with the model, its log, its predictions and facts of how it
was made. A folder is complete when the predictions are there, and is taken as it is when it was made by the same
configuration; a model without predictions is not trained again, it only reads.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from interpunct import config
from interpunct.errors import ConfigError, ModelError
from interpunct.models import load
from interpunct.train import TrainConfig, train
from predict import choose_window, predict
from recipe import Recipe, named

PREDICTIONS = "predictions.npz"
FACTS = "facts.json"


def train_all(chosen: Iterable[Recipe], runs: Path, *, device: str = "auto", jobs: int = 1) -> None:
    """Train every seed of every recipe; those that need others' models come when these are there."""
    waiting = [(recipe, seed) for recipe in chosen for seed in recipe.seeds]
    failed: list[str] = []
    while waiting:
        ready = [(recipe, seed) for recipe, seed in waiting if needs_are_met(recipe, runs)]
        if not ready:
            missing = sorted({need for recipe, _ in waiting for need in needs(recipe)})
            raise ModelError(f"these recipes must be trained before: {', '.join(missing)}{_after(failed)}")
        waiting = [each for each in waiting if each not in ready]
        if jobs == 1:
            for recipe, seed in ready:
                train_one(recipe, seed, runs, device)
            continue
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            running = {pool.submit(train_one, recipe, seed, runs, device): (recipe, seed) for recipe, seed in ready}
            for done in as_completed(running):
                if done.exception() is not None:
                    recipe, seed = running[done]
                    failed.append(f"{recipe.name} (seed {seed}): {done.exception()}")
                    print(failed[-1], file=sys.stderr, flush=True)
    if failed:
        raise ModelError(f"{len(failed)} trainings failed: {'; '.join(failed)}")


def _after(failed: list[str]) -> str:
    return f"; failed: {'; '.join(failed)}" if failed else ""


def needs(recipe: Recipe) -> list[str]:
    """Return the recipes whose models a recipe needs."""
    teacher = [recipe.data.teacher.split("/")[0]] if recipe.data.teacher else []
    return [*recipe.members, *teacher]


def needs_are_met(recipe: Recipe, runs: Path) -> bool:
    """Say whether all models that a recipe needs are there, every seed of each."""
    return all((folder / PREDICTIONS).exists() for name in needs(recipe) for folder in folders_of(name, runs))


def folders_of(name: str, runs: Path) -> list[Path]:
    """Return the folders of a recipe's seeds; a smoke run has fewer, which its folder says."""
    smoke = (runs / "smoke").exists()
    return [runs / name / f"seed-{seed}" for seed in named(name, smoke=smoke).seeds]


def is_complete(recipe: Recipe, seed: int, runs: Path) -> bool:
    """Say whether a seed was trained by what the recipe says now and has read what the recipe scores now."""
    folder = runs / recipe.name / f"seed-{seed}"
    if not (folder / PREDICTIONS).exists() or not (recipe.members or _is_of(folder, recipe, seed, runs)):
        return False
    with np.load(folder / PREDICTIONS) as arrays:
        read = {name.rsplit("/", 1)[1] for name in arrays.files}
    return all(row.title in read for row in recipe.rows)


def _is_of(folder: Path, recipe: Recipe, seed: int, runs: Path) -> bool:
    """Say whether a folder's model was made by a recipe, on whatever device."""
    try:
        made = config.load(TrainConfig, folder / "config.toml")
    except ConfigError:
        return False
    return _anywhere(made) == _anywhere(_settings(recipe, seed, "auto", runs))


def _anywhere(settings: TrainConfig) -> str:
    return config.dump(replace(settings, train=replace(settings.train, device="auto")))


def train_one(recipe: Recipe, seed: int, runs: Path, device: str) -> None:
    """Train one model and let it read the test sets."""
    folder = runs / recipe.name / f"seed-{seed}"
    if is_complete(recipe, seed, runs):
        return
    started = time.monotonic()
    model: Any
    if recipe.members:
        model = _ensemble(recipe, runs)
        model.save(folder)
        spent = time.monotonic() - started
    elif (folder / "model.json").exists() and _is_of(folder, recipe, seed, runs):
        model = load(folder)
        rows = (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
        spent = float(json.loads(rows[-1])["seconds"])
    else:
        settings = _settings(recipe, seed, device, runs)
        train(settings, folder, log=lambda row: print(recipe.name, seed, json.dumps(row), flush=True))
        model = load(folder)
        spent = time.monotonic() - started
    trained = time.monotonic()
    if hasattr(model, "to"):
        model.to(device)
    tried = choose_window(model, recipe) if recipe.windows else {}
    if tried:
        model.description.save(folder)
    arrays = predict(model, recipe)
    facts = {
        "train_seconds": round(spent, 1),
        "predict_seconds": round(time.monotonic() - trained, 1),
        "windows": {str(words): round(100 * f1, 2) for words, f1 in tried.items()},
        "parameters": _parameters(model),
        **machine(device),
    }
    (folder / FACTS).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    beside = folder / f".{PREDICTIONS}"
    with beside.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
    beside.replace(folder / PREDICTIONS)
    print(recipe.name, seed, "done", json.dumps(facts), flush=True)


def _settings(recipe: Recipe, seed: int, device: str, runs: Path) -> TrainConfig:
    settings = recipe.settings(seed)
    data = settings.data
    if data.teacher:
        data = replace(data, teacher=str(runs / data.teacher))
    return replace(settings, train=replace(settings.train, device=device), data=data)


def _ensemble(recipe: Recipe, runs: Path) -> Any:
    from interpunct.models.ensemble import Ensemble

    folders = [folder for name in recipe.members for folder in folders_of(name, runs)]
    return Ensemble.of([load(folder) for folder in folders], name=recipe.name, version=recipe.model.version)


def _parameters(model: Any) -> int | None:
    """Count the numbers that networks learned; None for a model that is no network."""
    members = getattr(model, "members", [model])
    networks = [member.network for member in members if hasattr(member, "network")]
    return sum(p.numel() for network in networks for p in network.parameters()) if networks else None


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
