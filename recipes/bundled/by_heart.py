"""Says how much of its own text a trained model knows by heart.

    python recipes/bundled/by_heart.py runs/default-6 runs/fast-3
    python recipes/bundled/by_heart.py runs/default-6 --on runs/packs/spoken.pack changelog:dev --words 100000

F1 of the three marks and nats a word, on documents drawn by chance: from a pack that the model learned from, and from
a corpus that it did not. Two teachers, each of one half of the talks, had 2.9 points more on the other half than on
iwslt:dev (see LOG.md): so much are the talks easier, and what a model has beyond that it remembers.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

from halves import some
from interpunct.errors import InputError, told_in_a_line
from interpunct.labels import MARKS, to_three
from interpunct.metrics.counts import PrecisionRecall
from interpunct.models import load
from interpunct.train import distil, specs
from interpunct.train.pack import UNKNOWN, Pack

_LEAST = 1e-4
"""The least probability that a mark which is there is given: half-precision numbers hold no less with certainty."""


@told_in_a_line
def main() -> int:
    """Print a line for each model and text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL_DIR")
    parser.add_argument(
        "--on", nargs="+", default=["runs/packs/ted.pack", "iwslt:dev"], metavar="PACK|CORPUS:SPLIT",
        help="what each is asked about (%(default)s)",
    )  # fmt: skip
    parser.add_argument("--words", type=int, default=40_000, metavar="N", help="words of each at most (40,000)")
    parser.add_argument("--seed", type=int, default=1, help="which documents are drawn (1)")
    given = parser.parse_args()
    if given.seed < 0:
        parser.error("--seed must not be below 0")
    specs.check(given.on)
    models = {name: _loaded(name) for name in given.models}
    texts = {spec: some(_read(spec), given.words, seed=given.seed) for spec in given.on}
    print("| model | text | words | F1 | nats a word |\n|---|---|---|---|---|")
    for name, model in models.items():
        for spec, pack in texts.items():
            f1, nats = scored(model, pack)
            print(f"| {name} | {spec} | {len(pack):,} | {100 * f1:.1f} | {nats:.4f} |", flush=True)
    return 0


def scored(model: Any, pack: Pack) -> tuple[float, float]:
    """Return the micro F1 of a model's likeliest marks, mapped to three, and the nats of the marks that are there."""
    said = distil.asked(model, pack)["mark"].astype(np.float64)
    names = model.labels["mark"]
    known = pack.tags["mark"] != UNKNOWN
    right = pack.tags["mark"][known]
    order = [names.index(mark) for mark in MARKS]
    nats = -np.log(np.maximum(said[known][:, order][np.arange(len(right)), right], _LEAST)).mean()
    three = np.array([to_three(mark) for mark in MARKS])
    wanted, guessed = three[right], np.array([to_three(mark) for mark in names])[said[known].argmax(axis=1)]
    counts = PrecisionRecall(
        int(((guessed == wanted) & (wanted != "")).sum()), int((guessed != "").sum()), int((wanted != "").sum())
    )
    return counts.f1 or 0.0, float(nats)


def _loaded(name: str) -> Any:
    model = load(name)
    if sorted(model.labels.get("mark", ())) != sorted(MARKS):
        raise InputError(f"{name}: it has not the marks of packs; give one that knows {' '.join(MARKS[1:])}")
    return model


def _read(spec: str) -> Pack:
    return specs.packs([spec])[0] if specs.is_pack(spec) else Pack.of(specs.read(spec), sources=[spec])


if __name__ == "__main__":
    sys.exit(main())
