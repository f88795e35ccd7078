"""What each family of prosodic features is worth to a system of paper 004: permutation importance.

    python recipes/importance.py [SYSTEM ...] [--setup NAME] [--set NAME] [--draws N] [--runs DIR]

In: trained systems of `paper004.py` that read prosody (dnn, dblstm-prosody and dblstm-all unless others are named).
Out: for each family by how much the SU error rate rises when the rows of its features are exchanged among the places of
a test set at random, the mean and deviation over some draws, in `results/paper004-importance.json`, and a picture. A
family whose values are never known is left out. Families that tell the same can stand in for each other: a small rise
does not mean that a family says nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from boundaries import Spoken
from interpunct.errors import UnknownNameError, told_in_a_line
from interpunct.features.prosody import Prosody
from interpunct.features.prosody_table import FAMILIES
from interpunct.metrics import plot
from interpunct.metrics.evaluate import evaluate
from interpunct.metrics.significance import SEED
from interpunct.models import load
from paper004_bench import FOLDER
from paper004_data import load_data
from paper004_predictions import predict
from paper004_scores import METRIC, hypothesis_of, reference_of
from paper004_systems import read_paper
from recipe import HERE
from training import machine

SYSTEMS = ("dnn", "dblstm-prosody", "dblstm-all")
RESULTS = HERE / "results" / "paper004-importance.json"
PICTURE = HERE / "pictures" / "paper004-importance.png"


@told_in_a_line
def main(arguments: Sequence[str] | None = None) -> int:
    """Exchange, read, compare, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("systems", nargs="*", metavar="SYSTEM", default=list(SYSTEMS))
    parser.add_argument("--setup", default="audio", help="of paper004.toml (%(default)s)")
    parser.add_argument("--set", help="the test set that is read (the set-up's first)")
    parser.add_argument("--draws", type=int, default=5, help="how often rows are exchanged (%(default)s)")
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    given = parser.parse_args(arguments)
    measure(given.systems, given.setup, given.set, given.runs, draws=given.draws)
    return 0


def measure(systems: Sequence[str], setup_name: str, set_name: str | None, runs: Path, *, draws: int) -> None:
    """Measure systems on a test set of a set-up, its first one unless it is named, and draw all measured so far."""
    setups = read_paper().setups
    if setup_name not in setups:
        raise UnknownNameError("set-up", setup_name, setups)
    setup = setups[setup_name]
    chosen = set_name or next(iter(setup.tests))
    if chosen not in setup.tests:
        raise UnknownNameError(f"test set of {setup_name}", chosen, setup.tests)
    read = replace(setup, train={}, dev={}, tests={chosen: setup.tests[chosen]})
    documents = load_data(read, runs).tests[chosen]
    found = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name in systems:
        model = load(runs / FOLDER / setup_name / name)
        row = {**importance(model, documents, draws=draws), **machine("cpu")}
        found[f"{setup_name}/{chosen}/{name}"] = row
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        print(name, json.dumps(row), flush=True)
    draw(found, PICTURE)


def importance(model: Any, documents: Sequence[Spoken], *, draws: int) -> dict[str, Any]:
    """Return a model's SU error rate as it is, and the rise by family, in per cent."""
    plain = error(model, documents)
    random = np.random.default_rng(SEED)
    families: dict[str, dict[str, float]] = {}
    for family, names in FAMILIES.items():
        columns = [place for place, name in enumerate(documents[0].prosody.names) if name in names]
        if not any(each.prosody.known[:, columns].any() for each in documents):
            continue
        rises = [error(model, exchanged(documents, columns, random)) - plain for _ in range(draws)]
        families[family] = {"mean": round(float(np.mean(rises)), 2), "deviation": round(float(np.std(rises)), 2)}
    return {"error": round(plain, 2), "families": families, "draws": draws}


def error(model: Any, documents: Sequence[Spoken]) -> float:
    """Return a model's SU error rate, per cent."""
    ((_, chosen),) = predict(model, {"read": documents}).values()
    found = evaluate(reference_of(documents), hypothesis_of(documents, chosen), metrics=[METRIC], draws=2)
    return 100 * float(found.metrics[METRIC]["error"])


def exchanged(documents: Sequence[Spoken], columns: Sequence[int], random: np.random.Generator) -> list[Spoken]:
    """Give each place the values of some columns of another place, drawn over all documents; a row stays together."""
    values = np.concatenate([each.prosody.values for each in documents])
    known = np.concatenate([each.prosody.known for each in documents])
    drawn = random.permutation(len(values))
    for place in columns:
        values[:, place], known[:, place] = values[drawn, place], known[drawn, place]
    found = []
    first = 0
    for each in documents:
        rows = slice(first, first + len(each))
        first += len(each)
        found.append(Spoken(each.transcript, Prosody(values[rows], known[rows], each.prosody.names)))
    return found


def draw(found: Mapping[str, Mapping[str, Any]], path: Path) -> None:
    """Draw a panel for each system."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(plot.STYLE):
        columns = min(3, len(found))
        rows = -(-len(found) // columns)
        drawn = Figure(figsize=(4.6 * columns, 3.2 * rows), layout="constrained")
        panels = np.ravel(drawn.subplots(rows, columns, squeeze=False))
        for axes, (name, each) in zip(panels, found.items(), strict=False):
            families = each["families"]
            means = [families[family]["mean"] for family in families]
            spread = [families[family]["deviation"] for family in families]
            axes.barh(list(families), means, xerr=spread, color=plot.COLOURS[0])
            axes.invert_yaxis()
            axes.set_title(f"{name} (SU error rate {each['error']:.1f})", fontsize=9)
            axes.set_xlabel("rise of the SU error rate when exchanged, points")
        for axes in panels[len(found) :]:
            axes.set_axis_off()
    path.parent.mkdir(exist_ok=True)
    plot.save_picture(drawn, path)


if __name__ == "__main__":
    sys.exit(main())
