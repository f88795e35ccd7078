"""Trains the prosody branch of a model and writes it into the model's folder, as `prosody.onnx`.

    python recipes/bundled/prosody_branch.py MODEL_DIR [-o DIR] [--kept runs/branch] [--documents N] [--smoke]

It learns from the training splits of the corpora with times (ICSI, Earnings-22, Project Debater as spoken and as
recognised) and with sound (ESIC, LJ Speech), and stops by their dev splits. What the model says of 1.3 million words
and what is heard at them is gathered once and kept by the name of the model's folder; another version reads the words
anew, and what is heard stays. `--aligned` names a folder of transcripts that were aligned before
(`recipes/speech2vec.py` makes one), which saves most of the time that sound takes. `--smoke` tries it all on one
document each, for one epoch.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from interpunct.errors import told_in_a_line
from interpunct.export.branch import write_branch
from interpunct.models import load
from interpunct.models.branch import BRANCH
from interpunct.models.scores import Array
from interpunct.train.branch import BranchOptions, train_branch
from interpunct.train.places import Places, gathered

TRAIN = (
    "icsi:train", "earnings22:train:timed", "debater:train", "debater:train:asr", "esic:train", "ljspeech:train",
)  # fmt: skip
DEV = tuple(spec.replace(":train", ":dev") for spec in TRAIN)
SMOKE = ("debater:dev", "ljspeech:dev")


@told_in_a_line
def main() -> int:
    """Gather, train, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, metavar="MODEL_DIR")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="another folder for the branch")
    parser.add_argument("--kept", type=Path, default=Path("runs/branch"), help="what was gathered (%(default)s)")
    parser.add_argument("--aligned", type=Path, help="transcripts aligned before, CORPUS/SOURCE.json")
    parser.add_argument("--documents", type=int, metavar="N", help="only the first so many of each corpus")
    parser.add_argument("--epochs", type=int, default=BranchOptions.epochs)
    parser.add_argument("--seed", type=int, default=BranchOptions.seed)
    parser.add_argument("--threads", type=int, help="threads of the text model")
    parser.add_argument("--smoke", action="store_true", help="one document of each, one epoch")
    given = parser.parse_args()
    options = replace(BranchOptions(), epochs=given.epochs, seed=given.seed)
    if given.smoke:
        given.documents, options = 1, replace(options, epochs=1, draws=4096)
    model = load(given.model, threads=given.threads)

    def places(spec: str) -> Places:
        started = time.perf_counter()
        suffix = "" if given.documents is None else f"-{given.documents}"
        path = given.kept / given.model.name / f"{spec.replace(':', '-')}{suffix}.npz"
        found = gathered(model, spec, path, aligned=given.aligned, documents=given.documents, log=_say)
        _say(f"{spec}: {len(found)} places, {time.perf_counter() - started:.0f} s")
        return found

    train = {spec: places(spec) for spec in (SMOKE if given.smoke else TRAIN)}
    dev = {spec: places(spec) for spec in (SMOKE if given.smoke else DEV)}
    network = train_branch(train, dev, options, log=_row)
    path = write_branch(network, model.labels["mark"], given.output or given.model)
    size = path.stat().st_size
    print(f"{BRANCH} written to {path.parent}: {size:,} bytes; text alone, on dev: {_text_alone(dev)}")
    return 0


def _text_alone(dev: dict[str, Places]) -> str:
    return ", ".join(f"{spec} {_loss(places.logs, places):.4f}" for spec, places in dev.items())


def _loss(logs: Array, places: Places) -> float:
    known = places.right >= 0
    return float(-logs[known, places.right[known]].mean())


def _row(row: dict[str, Any]) -> None:
    _say(
        "  ".join(
            f"{name} {value:.4f}" if isinstance(value, float) else f"{name} {value}" for name, value in row.items()
        )
    )


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
