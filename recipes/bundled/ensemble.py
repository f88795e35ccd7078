"""Puts trained models together into one that a configuration can name as its teacher: the mean of what they say.

python recipes/bundled/ensemble.py runs/teacher-5 runs/default-3 -o runs/teachers
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from interpunct.errors import told_in_a_line
from interpunct.models import load
from interpunct.models.ensemble import Ensemble


@told_in_a_line
def main() -> int:
    """Load the members and write the ensemble."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("members", nargs="+", type=Path, metavar="MODEL_DIR")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="DIR")
    given = parser.parse_args()
    ensemble = Ensemble.of([load(folder) for folder in given.members], name=given.output.name, version="1")
    given.output.mkdir(parents=True, exist_ok=True)
    ensemble.save(given.output)
    print(f"{len(ensemble.members)} models together in {given.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
