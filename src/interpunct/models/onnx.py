"""Any exported model: a network as an ONNX file, run without torch.

In: windows of words. Out: scores. The graph takes `pieces`, `lengths` and `words` (see `batch`) and gives
log-probabilities per task; vocabulary, labels and context stand beside it in the model's folder.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from interpunct.errors import ModelError
from interpunct.features import Features
from interpunct.models.batch import piece_batch, window_scores
from interpunct.models.folder import DESCRIPTION, LEXICON, PIECES, Described, Description
from interpunct.models.scores import Scores

if TYPE_CHECKING:
    import onnxruntime

GRAPH = "model.onnx"


class OnnxModel(Described):
    """An exported model, ready to run."""

    def __init__(self, description: Description, folder: Path, *, threads: int | None = None) -> None:
        from interpunct.models.pieces import Pieces

        self.description = description
        self._folder = folder
        self._pieces = Pieces.load(folder / PIECES, longest=description.whole("longest_word"))
        self._session = _session(folder / GRAPH, threads)
        self._tasks = list(description.labels)

    def forward(self, windows: Sequence[Features]) -> list[Scores]:
        """Score windows."""
        if not windows:
            return []
        batch = piece_batch(windows, self._pieces)
        feed = {"pieces": batch.pieces, "lengths": batch.lengths, "words": batch.words}
        outputs = dict(zip(self._tasks, self._session.run(self._tasks, feed), strict=True))
        return window_scores(outputs, windows)

    def save(self, folder: Path) -> None:
        """Copy the model into another folder."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in (DESCRIPTION, GRAPH, PIECES, LEXICON):
            if (self._folder / name).exists() and folder.resolve() != self._folder.resolve():
                shutil.copyfile(self._folder / name, folder / name)

    @classmethod
    def load(cls, folder: Path, *, threads: int | None = None) -> OnnxModel:
        """Read an exported model from its folder."""
        description = Description.load(folder)
        for name in (GRAPH, PIECES):
            if not (folder / name).exists():
                raise ModelError(f"{folder}: no {name}; export the model again")
        return cls(description, folder, threads=threads)


def _session(path: Path, threads: int | None) -> onnxruntime.InferenceSession:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if threads is not None:
        options.intra_op_num_threads = threads
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own exceptions share no base class but this
        reason = str(error).strip().splitlines()[0]
        raise ModelError(f"{path}: onnxruntime cannot load it: {reason}; export the model again") from None
