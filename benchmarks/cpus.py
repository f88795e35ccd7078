"""Whether CPUs of other kinds give the same probabilities: a model's are saved on each, and compared.

    python benchmarks/cpus.py dump [--model NAME_OR_DIR] [--words N] [--text FILE] -o FILE.npz
    python benchmarks/cpus.py compare FIRST.npz OTHER.npz ... [--json FILE]

`dump` lets the restorer read the first words of iwslt:dev, or a text, and keeps what the model says of each word. It
needs numpy, onnxruntime and tokenizers beside the package's source. `compare` shows, for each file but the first, how
far its probabilities are from the first's, over all words and labels, and of how many words another label is likeliest.

onnxruntime picks its kernels by what the CPU can do: x86 without VNNI adds two products of bytes in 16 bits. User-mode
QEMU emulates another CPU for one program: `qemu-x86_64 -cpu Haswell python benchmarks/cpus.py dump ...` has AVX2 and no
VNNI; `qemu-aarch64 -cpu cortex-a72 -L ROOT ROOT/usr/bin/python3.11 ...` needs in ROOT that system's libc, libstdc++ and
Python, unpacked from packages, and an ARM machine's `proc/cpuinfo`, without which onnxruntime crashes; PYTHONHOME is
ROOT/usr, and PYTHONPATH `src` and a folder of unpacked aarch64 wheels, of the same versions. From an ARM machine it is
the same with `qemu-x86_64 -cpu Haswell`, and wheels and packages of that kind.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

import interpunct
from interpunct import corpora
from interpunct.labels import parse_text
from interpunct.models.onnx import GRAPH
from interpunct.models.scores import Array, Scores, joined
from interpunct.models.six_bits import WEIGHTS
from interpunct.restore import find_model
from report import report

_TASK = "task."


@dataclass(frozen=True)
class Dump:
    """What a model said of words on one CPU."""

    name: str
    about: Mapping[str, str]
    """The CPU, onnxruntime's version, the model, and its file's digest."""
    words: Sequence[str]
    tasks: Mapping[str, Array]
    """For each task words × labels log-probabilities."""

    @classmethod
    def load(cls, path: Path) -> Dump:
        """Read what `dump` wrote."""
        try:
            with np.load(path) as file:
                tasks = {key.removeprefix(_TASK): file[key] for key in file.files if key.startswith(_TASK)}
                return cls(path.stem, json.loads(str(file["about"])), file["words"].tolist(), tasks)
        except FileNotFoundError:
            sys.exit(f"{path}: no such file; write it with `cpus.py dump -o {path}`")
        except (OSError, EOFError, ValueError, KeyError, BadZipFile):
            sys.exit(f"{path}: not a dump; write one with `cpus.py dump -o FILE.npz`")

    def save(self, path: Path) -> None:
        """Write it."""
        arrays: dict[str, Any] = {_TASK + task: logs for task, logs in self.tasks.items()}
        with path.open("wb") as file:  # given a path, numpy would add an ending to some
            np.savez(file, about=json.dumps(self.about), words=np.array(self.words, dtype=np.str_), **arrays)


def main() -> None:
    """Dump or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("dump", help="save what a model says on this CPU")
    one.add_argument("--model", default="default", help="a bundled model or a folder")
    one.add_argument("--words", type=int, default=400, help="how many words to read (%(default)s)")
    one.add_argument("--text", type=Path, help="a text to read, instead of talks of iwslt:dev")
    one.add_argument("-o", "--output", type=Path, required=True, help="the file to write (.npz)")
    several = commands.add_parser("compare", help="show how far other dumps are from the first")
    several.add_argument("first", type=Path)
    several.add_argument("others", type=Path, nargs="+")
    several.add_argument("--json", type=Path, help="where to write the figures (benchmarks/results/cpus.json)")
    given = parser.parse_args()
    if given.command == "dump":
        read(given.model, documents(given.text, given.words), given.output.stem).save(given.output)
        return
    first = Dump.load(given.first)
    report("cpus", [row for path in given.others for row in compare(first, Dump.load(path))], given.json)


def documents(path: Path | None, count: int) -> list[list[str]]:
    """Return the first words of a text, or of talks, in lower case."""
    texts = [parse_text(path.read_text(encoding="utf-8"))] if path else (d.words for d in corpora.read("iwslt", "dev"))
    chosen: list[list[str]] = []
    for words in texts:
        if count <= 0:
            break
        chosen.append([word.text.lower() for word in words[:count]])
        count -= len(chosen[-1])
    return chosen


def read(model: str, texts: Sequence[Sequence[str]], name: str) -> Dump:
    """Restore documents and keep what the model says of their words."""
    import onnxruntime

    restorer = interpunct.load(model, threads=1)
    heard: list[Scores] = []
    for text in texts:
        restorer.restore(text, watch=heard.append)
    files = [path for path in (find_model(model) / name for name in (GRAPH, WEIGHTS)) if path.exists()]
    about = {
        "CPU": cpu(),
        "onnxruntime": str(onnxruntime.__version__),
        "model": restorer.model.name,
        "digest": hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest() if files else "",
    }
    return Dump(name, about, [word for text in texts for word in text], dict(joined(heard).tasks))


def cpu() -> str:
    """Name the CPU's kind, and those of its abilities that numpy knows: it asks the CPU, not the system's files.

    >>> cpu().startswith(platform.machine())
    True
    """
    known: Any = np.show_config(mode="dicts")
    return " ".join([platform.machine(), *known["SIMD Extensions"].get("found", [])])


def compare(first: Dump, other: Dump) -> list[dict[str, Any]]:
    """Return a row for each task: how far another dump's probabilities are from the first's."""
    if first.words != other.words or _sizes(first) != _sizes(other):
        sys.exit(
            f"{other.name}: other words, tasks or labels than {first.name}; dump the same text with the same model"
        )
    rows = []
    for task, logs in first.tasks.items():
        apart = np.abs(np.exp(logs.astype(np.float64)) - np.exp(other.tasks[task].astype(np.float64)))
        rows.append({
            "dump": other.name,
            "CPU": other.about["CPU"],
            "against": first.name,
            "model": first.about["model"],
            "same file": "yes" if first.about["digest"] == other.about["digest"] else "no",
            "same onnxruntime": "yes" if first.about["onnxruntime"] == other.about["onnxruntime"] else "no",
            "task": task,
            "words": len(logs),
            "largest difference": float(apart.max(initial=0)),
            "mean difference": float(apart.mean()) if apart.size else None,
            "words with another label": int((logs.argmax(axis=1) != other.tasks[task].argmax(axis=1)).sum()),
        })  # fmt: skip
    return rows


def _sizes(dump: Dump) -> dict[str, tuple[int, ...]]:
    return {task: logs.shape for task, logs in dump.tasks.items()}


if __name__ == "__main__":
    main()
