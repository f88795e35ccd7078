"""Seconds to import the package, to load a model and to restore twenty words, each the best of several.

python benchmarks/start.py [--model NAME_OR_DIR]
"""

from __future__ import annotations

import subprocess
import sys

from report import arguments, report

_IMPORT = "import time; t = time.perf_counter(); import interpunct; print(time.perf_counter() - t)"
_WORK = """
import time, interpunct, onnxruntime, tokenizers
t = time.perf_counter(); restorer = interpunct.load({model!r}); loaded = time.perf_counter() - t
text = "so how are you i am fine thanks and what did you do in new york last year my friend"
times = []
for _ in range(20):
    t = time.perf_counter(); restorer.restore(text).text; times.append(time.perf_counter() - t)
print(loaded, min(times), restorer.model.name)
"""


def main() -> None:
    """Measure in fresh processes."""
    given = arguments(__doc__).parse_args()
    imports = [float(_run(_IMPORT)) for _ in range(7)]
    loads, firsts, names = zip(*(work(given.model) for _ in range(5)), strict=True)
    rows = [
        {"what": "import interpunct", "ms": 1000 * min(imports), "must be under": 300.0},
        {"what": f"load {names[0]}, libraries imported", "ms": 1000 * min(loads), "must be under": 1000.0},
        {"what": f"restore 20 words by {names[0]}, loaded", "ms": 1000 * min(firsts), "must be under": 40.0},
    ]
    report("start", rows, given.json)


def work(model: str) -> tuple[float, float, str]:
    """Return the seconds in which a model is loaded and restores twenty words, and what it is called."""
    loaded, restored, name = _run(_WORK.format(model=model)).rstrip("\n").split(" ", 2)
    return float(loaded), float(restored), name


def _run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
