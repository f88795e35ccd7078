"""Words per second and peak memory of restoring 1k, 100k and 1M words of plain text, end to end.

    python benchmarks/speed.py [--model NAME_OR_DIR] [--words 1000 100000 1000000]

Each size runs in a process of its own, so that peaks do not mix: read the file, restore it, write the text.
"held" is what the process holds at the end on top of a warm model: the words, read and restored; "beyond" is
what it took at any time on top of that, and must not grow with the text.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import interpunct
from interpunct import formats, render
from interpunct.labels import parse_text
from report import arguments, report


def measure(path: Path, model: str) -> dict[str, Any]:
    """Restore a file and say what it took."""
    restorer = interpunct.load(model)
    restorer.restore("so how are you " * 2_000)  # the model's working memory is there after this
    loaded = _current_mb()
    started = time.perf_counter()
    words = parse_text(formats.Source.open(path).text)
    read = time.perf_counter()
    result = restorer.restore(interpunct.Transcript(words))
    restored = time.perf_counter()
    text = render.text(result)
    written = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    held = _current_mb() - loaded
    return {
        "model": restorer.model.name,
        "words": len(words),
        "words/s": round(len(words) / (written - started)),
        "read s": round(read - started, 2),
        "restore s": round(restored - read, 2),
        "write s": round(written - restored, 2),
        "peak MB": round(peak),
        "held MB": round(held),
        "held bytes/word": round(held * 2**20 / len(words)),
        "beyond MB": round(peak - loaded - held),
        "characters": len(text),
    }


def _current_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def main() -> None:
    """Measure each size in a process of its own."""
    parser = arguments(__doc__)
    parser.add_argument("--words", type=int, nargs="+", default=[1_000, 100_000, 1_000_000])
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(given.measure, given.model)))
        return
    from interpunct import corpora

    talks = [word.text.lower() for talk in corpora.read("iwslt", "dev") for word in talk.words]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for count in given.words:
            path = Path(folder) / f"{count}.txt"
            path.write_text(" ".join(islice(cycle(talks), count)))
            call = [sys.executable, __file__, "--measure", str(path), "--model", given.model]
            done = subprocess.run(call, capture_output=True, text=True, check=True)
            rows.append(json.loads(done.stdout))
            print(f"{count} words: {rows[-1]['words/s']} words/s", file=sys.stderr)
    report("speed", rows, given.json)


if __name__ == "__main__":
    main()
