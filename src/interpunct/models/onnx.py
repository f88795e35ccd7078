"""Any exported model: a network as an ONNX file, run without torch.

In: windows of words. Out: scores. The graph takes `pieces`, `lengths` and `words` (see `batch`) and gives
log-probabilities per task; vocabulary, labels and context stand beside it in the model's folder.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from interpunct.errors import ModelError
from interpunct.features import Features
from interpunct.models import six_bits
from interpunct.models.batch import piece_batch, window_scores
from interpunct.models.branch import BRANCH
from interpunct.models.folder import DESCRIPTION, LEXICON, PIECES, Described, Description, take_along
from interpunct.models.scores import Scores
from interpunct.models.session import open_session

GRAPH = "model.onnx"
WINDOWS_AT_ONCE = "windows_at_once"
"""The option that says how many windows the graph reads fastest in one go; without it, as many as there are."""


class OnnxModel(Described):
    """An exported model, ready to run."""

    def __init__(self, description: Description, folder: Path, *, threads: int | None = None) -> None:
        from interpunct.models.pieces import Pieces

        self.description = description
        self._folder = folder
        self._pieces = Pieces.load(folder / PIECES, longest=description.whole("longest_word"))
        self._tasks = list(description.labels)
        self._at_once = description.whole(WINDOWS_AT_ONCE) if WINDOWS_AT_ONCE in description.options else None
        # Few windows at a time leave threads inside the graph little to share: each worker reads windows of its own.
        workers = threads or os.cpu_count() or 1
        self._workers = workers if self._at_once else 1
        self._weights = six_bits.load(folder / six_bits.WEIGHTS)  # the session has no copy of its own
        self._session = open_session(
            folder / GRAPH, threads=1 if self._at_once else threads, remedy="export the model again",
            weights=self._weights,
        )  # fmt: skip
        self._pool: tuple[int, ThreadPoolExecutor] | None = None

    def forward(self, windows: Sequence[Features]) -> list[Scores]:
        """Score windows."""
        if not windows:
            return []
        size = self._at_once or len(windows)
        parts = [windows[first : first + size] for first in range(0, len(windows), size)]
        if len(parts) == 1 or self._workers == 1:
            return [scores for part in parts for scores in self._read(part)]
        return [scores for found in self._workforce().map(self._read, parts) for scores in found]

    def _read(self, windows: Sequence[Features]) -> list[Scores]:
        batch = piece_batch(windows, self._pieces)
        feed = {"pieces": batch.pieces, "lengths": batch.lengths, "words": batch.words}
        outputs = dict(zip(self._tasks, self._session.run(self._tasks, feed), strict=True))
        return window_scores(outputs, windows)

    def _workforce(self) -> ThreadPoolExecutor:
        # A forked process has the pool but not its threads, and would wait for them for ever.
        if self._pool is None or self._pool[0] != os.getpid():
            self._pool = os.getpid(), ThreadPoolExecutor(self._workers, thread_name_prefix="interpunct")
        return self._pool[1]

    def save(self, folder: Path) -> None:
        """Copy the model into another folder."""
        folder.mkdir(parents=True, exist_ok=True)
        take_along(self._folder, folder, (DESCRIPTION, GRAPH, six_bits.WEIGHTS, PIECES, LEXICON, BRANCH))

    @classmethod
    def load(cls, folder: Path, *, threads: int | None = None) -> OnnxModel:
        """Read an exported model from its folder."""
        description = Description.load(folder)
        for name in (GRAPH, PIECES):
            if not (folder / name).exists():
                raise ModelError(f"{folder}: no {name}; export the model again")
        return cls(description, folder, threads=threads)
