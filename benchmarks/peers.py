"""Speed and memory of our models beside the peers' architectures, in one run: words per second, and ratios.

    python benchmarks/peers.py [--model NAME_OR_DIR ...] [--only edge bert-base xlmr-large] [--words N]

Peers are built with random weights by `shared/tools/peer_speed.py` beside the checkout, int8, each in its own way
through a text: the edge CNN-BiLSTM with all 200-token rows of the text in one batch (as sherpa-onnx ships it),
BERT-base in 256-piece chunks, XLM-R-large in 230-word chunks. "model" is the onnxruntime session alone on arrays
made before; "end to end" is text in, text out. Each round visits every system once, since the machine's speed
changes with its load; a ratio is the median of the rounds' own ratios, and ours end to end stands against the
peer's model alone. Peak memory is of a process that does nothing else.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import interpunct
import start
from accuracy import first_words, megabytes, several_models
from interpunct import corpora
from interpunct.features import Features
from interpunct.labels import parse_text
from interpunct.models import six_bits
from interpunct.models.batch import piece_batch
from interpunct.models.folder import PIECES, Description
from interpunct.models.model import Scorer
from interpunct.models.onnx import GRAPH, WINDOWS_AT_ONCE
from interpunct.models.pieces import Pieces
from interpunct.models.scores import Scores
from interpunct.models.session import open_session
from interpunct.restore import bundled_models, find_model
from interpunct.transcript import Transcript
from report import report

TOOL = Path("shared/tools/peer_speed.py")
PEERS = {
    "edge": "edge CNN-BiLSTM, a text's 200-token rows in one batch",
    "bert-base": "BERT-base, 256-piece chunks",
    "xlmr-large": "XLM-R-large, 230-word chunks",
}
PIECES_PER_WORD = 1.15  # of BERT's vocabulary, as the tool assumes where it has no tokenizer
Feed = dict[str, npt.NDArray[np.int64]]
_KEPT: list[dict[str, Any]] = []
"""Weights that sessions look at where they are."""

# VmHWM and not getrusage: what a process is given of its parent's peak when it is started stays in the latter.
_PEAK = "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
_LIBRARIES = f"import numpy, onnxruntime\n{_PEAK}"
_SESSION = """
import json, numpy, pathlib
from interpunct.models import six_bits
from interpunct.models.session import open_session
graph = pathlib.Path({graph!r})
weights = six_bits.load(graph.with_name(six_bits.WEIGHTS))
session = open_session(graph, threads={threads}, remedy="build it again", weights=weights)
with numpy.load({feeds!r}) as arrays:
    for names in json.loads({names!r}):
        session.run(None, {{name: arrays[key] for name, key in names.items()}})
"""
_RESTORE = """
import interpunct
restorer = interpunct.load({model!r}, threads={threads})
restorer.restore(open({text!r}, encoding="utf-8").read()).text
"""


@dataclasses.dataclass
class Job:
    """One system in one way: how many words a run takes in, and how fast each round was."""

    system: str
    what: str
    words: float
    run: Callable[[], object]
    shown: dict[str, Any]
    """What else stands in its row."""
    peer: str | None = None
    speeds: list[float] = dataclasses.field(default_factory=list)


class Recorder:
    """A model that keeps the windows it was asked about."""

    def __init__(self, model: Scorer) -> None:
        self._model = model
        self.name, self.labels, self.context, self.clitics = model.name, model.labels, model.context, model.clitics
        self.asked: list[Sequence[Features]] = []

    def forward(self, windows: Sequence[Features]) -> list[Scores]:
        """Score windows."""
        self.asked.append(windows)
        return self._model.forward(windows)


def main() -> None:
    """Measure all systems, round after round."""
    parser = several_models(__doc__, [path.name for path in bundled_models()])
    parser.add_argument("--only", nargs="*", choices=PEERS, default=list(PEERS), help="the peers to measure")
    parser.add_argument("--words", type=int, default=20_000, help="the text's length (%(default)s)")
    parser.add_argument("--text", type=Path, help="a text of words to read, instead of talks of iwslt:dev")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="that a peer runs in a round (%(default)s)")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--tool", type=Path, default=Path(__file__).resolve().parents[2] / TOOL, help="peer_speed.py")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "peer_speed")
    given = parser.parse_args()
    text = words(given.text, given.words)
    builders = load_builders(given.tool) if given.only else None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "text.txt").write_text(" ".join(text), encoding="utf-8")
        jobs = [
            peer_job(builders, key, len(text), folder, cache=given.cache, threads=given.threads, seconds=given.seconds)
            for key in given.only
        ]
        for model in given.model:
            jobs += our_jobs(model, folder, threads=given.threads)
        visit(jobs, given.rounds)
    libraries = {"system": "numpy and onnxruntime, imported", "peak MB": _peak_mb(_LIBRARIES)}
    report("peers", [*rows(jobs), libraries], given.json)


def words(path: Path | None, count: int) -> list[str]:
    """Return the first words of a text, or of the talks of iwslt:dev, in lower case."""
    read = corpora.read("iwslt", "dev") if path is None else [Transcript(parse_text(path.read_text(encoding="utf-8")))]
    return [word.text.lower() for document in first_words(read, count) for word in document.words]


def load_builders(path: Path) -> Any:
    """Load the module that builds the peers."""
    if not path.is_file():
        sys.exit(f"{path}: not there; name peer_speed.py with --tool, or measure no peers with --only")
    spec = importlib.util.spec_from_file_location("peer_speed", path)
    if spec is None or spec.loader is None:
        sys.exit(f"{path}: no Python module; name peer_speed.py with --tool")
    module = importlib.util.module_from_spec(spec)
    sys.modules["peer_speed"] = module
    spec.loader.exec_module(module)
    return module


def peer_job(builders: Any, key: str, words: int, folder: Path, *, cache: Path, threads: int, seconds: float) -> Job:
    """Build a peer and cut the text for it; where one call takes in less than the text, call it for some seconds."""
    cache.mkdir(parents=True, exist_ok=True)
    _, graph, _ = builders.build(key, str(cache))
    ways = [row for row in builders.rows(PIECES_PER_WORD) if row.model == key and row.int8]
    way = max(ways, key=lambda row: row.window)  # BERT-base also stands there with windows of 64
    if key == "edge":
        way = dataclasses.replace(way, batch=math.ceil(words / way.words))
    one = builders.Job(way, _session(graph, threads), np.arange(1_000, 25_000))
    one.run()
    one.calls = 1 if key == "edge" else max(1, round(seconds / one.run()))
    taken = words if key == "edge" else one.calls * way.batch * way.words  # the last row of edge is not full
    peak = session_peak_mb(graph, [one.feed], folder, threads)
    return Job(PEERS[key], "model", taken, one.run, {"MB": Path(graph).stat().st_size / 1e6, "peak MB": peak}, key)


def our_jobs(model: str, folder: Path, *, threads: int) -> list[Job]:
    """Prepare one of our models: its session alone, where it has one, and end to end."""
    path, home, text = folder / "text.txt", find_model(model), (folder / "text.txt").read_text(encoding="utf-8")
    restorer = interpunct.load(model, threads=threads)
    ours, words = restorer.model.name, len(restorer.restore(text))
    loads, firsts, _ = zip(*(start.work(model) for _ in range(5)), strict=True)
    load_ms, first_ms = 1000 * min(loads), 1000 * min(firsts)
    jobs = []
    if (home / GRAPH).exists() and isinstance(restorer.model, Scorer):
        feeds = prepared(restorer.model, home, text)
        alone = WINDOWS_AT_ONCE in Description.load(home).options  # then it is read by workers of one thread each
        session = _session(str(home / GRAPH), 1 if alone else threads)
        pool = ThreadPoolExecutor(threads if alone else 1)
        peak = session_peak_mb(str(home / GRAPH), feeds, folder, 1 if alone else threads)
        files = [path for path in (home / GRAPH, home / six_bits.WEIGHTS) if path.exists()]
        shown = {"MB": sum(file.stat().st_size for file in files) / 1e6, "peak MB": peak}
        jobs.append(Job(ours, "model", words, lambda: [*pool.map(lambda feed: session.run(None, feed), feeds)], shown))
    peak = _peak_mb(_RESTORE.format(model=model, threads=threads, text=str(path)) + _PEAK)
    shown = {"MB": megabytes(model), "peak MB": peak, "load ms": load_ms, "20 words ms": first_ms}
    return [*jobs, Job(ours, "end to end", words, lambda: restorer.restore(text).text, shown)]


def prepared(model: Scorer, home: Path, text: str) -> list[Feed]:
    """Return the arrays that a restorer would hand to the model's session for a text."""
    recorder = Recorder(model)
    interpunct.Restorer(recorder).restore(text)
    description = Description.load(home)
    pieces = Pieces.load(home / PIECES, longest=description.whole("longest_word"))
    batches = []
    for windows in recorder.asked:
        size = description.options.get(WINDOWS_AT_ONCE, len(windows))
        batches += [piece_batch(windows[first : first + size], pieces) for first in range(0, len(windows), size)]
    return [{"pieces": batch.pieces, "lengths": batch.lengths, "words": batch.words} for batch in batches]


def _session(graph: str, threads: int) -> Any:
    weights = six_bits.load(Path(graph).with_name(six_bits.WEIGHTS))
    session = open_session(Path(graph), threads=threads, remedy="build it again", weights=weights)
    _KEPT.append(weights)
    return session


def session_peak_mb(graph: str, feeds: Sequence[Feed], folder: Path, threads: int) -> float:
    """Run a session over its arrays in a process of its own and return what that took at its peak."""
    keys = [{name: f"{place}-{name}" for name in feed} for place, feed in enumerate(feeds)]
    arrays: dict[str, Any] = {key[name]: feed[name] for key, feed in zip(keys, feeds, strict=True) for name in feed}
    path = folder / "feeds.npz"
    np.savez(path, **arrays)
    return _peak_mb(_SESSION.format(graph=graph, threads=threads, feeds=str(path), names=json.dumps(keys)) + _PEAK)


def _peak_mb(code: str) -> float:
    return round(int(start._run(code)) / 1024)


def visit(jobs: Sequence[Job], rounds: int) -> None:
    """Run every job once a round, after a round that does not count."""
    for number in range(rounds + 1):
        for job in jobs:
            began = time.perf_counter()
            job.run()
            if number:
                job.speeds.append(job.words / (time.perf_counter() - began))
        print(f"round {number} of {rounds}", file=sys.stderr, flush=True)


def rows(jobs: Sequence[Job]) -> list[dict[str, Any]]:
    """Return a row for each job: its median speed, and how many times each peer's that is, round by round."""
    found = []
    for job in jobs:
        row: dict[str, Any] = {"system": job.system, "what": job.what, "words/s": round(statistics.median(job.speeds))}
        row["lowest to highest"] = f"{min(job.speeds):,.0f} to {max(job.speeds):,.0f}"
        for peer in jobs:
            if peer.peer is not None:
                ratios = [ours / theirs for ours, theirs in zip(job.speeds, peer.speeds, strict=True)]
                row[f"x {peer.peer}"] = statistics.median(ratios)
        found.append(row | job.shown)
    return found


if __name__ == "__main__":
    main()
