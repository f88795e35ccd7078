"""Trains and scores the systems of paper 004: sentence boundaries from words, word vectors and prosody.

    python recipes/paper004.py [SYSTEM ...] [--setup times|audio] [--seconds N] [--device cpu|cuda|auto] [--smoke]

In: `paper004.toml`; `boundaries.py`'s documents; `runs/vectors/cbow.npz` (`vectors.py`), `runs/syntax` (`syntax.py`).
Out: each system under `runs/paper004/SETUP/SYSTEM` with what it says of dev and tests, figures and tested claims in
`recipes/results/paper004.json`, and the tables of `RESULTS.md`. What was trained by the same configuration is not
trained again. `--seconds` is the limit of each network's training. `--smoke` does all of it on a tiny made-up text, in
a folder of its own, and fails where a system does not learn it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from interpunct.errors import UnknownNameError, told_in_a_line
from paper004_bench import Bench, make_embeddings
from paper004_data import load_data
from paper004_scores import write_scores
from paper004_smoke import smoke
from paper004_systems import read_paper
from recipe import HERE


@told_in_a_line
def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("systems", nargs="*", metavar="SYSTEM", help="of paper004.toml (all)")
    parser.add_argument("--setup", action="append", metavar="NAME", help="times or audio (both)")
    parser.add_argument("--seconds", type=float, help="limit of each network's training")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or auto (cpu)")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where models go (runs)")
    parser.add_argument("--stage", choices=("train", "score", "all"), default="all")
    parser.add_argument("--smoke", action="store_true", help="a tiny made-up text, learned by heart")
    given = parser.parse_args(arguments)
    if given.smoke:
        with tempfile.TemporaryDirectory() as folder:
            return 1 if smoke(given.systems, Path(folder)) else 0
    paper = read_paper()
    chosen = _known("system", given.systems, paper.systems)
    setups = {name: paper.setups[name] for name in _known("set-up", given.setup, paper.setups)}
    for name, setup in setups.items():
        data = load_data(setup, given.runs)
        if given.stage != "score":
            make_embeddings(paper.embeddings, given.runs, device=given.device, seconds=given.seconds)
            bench = Bench(paper, name, data, given.runs, device=given.device, seconds=given.seconds)
            for system in chosen:
                bench.make(system)
        if given.stage != "train":
            write_scores(paper, name, data, given.runs, HERE)
    return 0


def _known(kind: str, names: Sequence[str] | None, table: Mapping[str, Any]) -> list[str]:
    """Return the names that were given, or all; one that nobody knows is an error."""
    for name in names or ():
        if name not in table:
            raise UnknownNameError(kind, name, table)
    return list(names or table)


if __name__ == "__main__":
    sys.exit(main())
