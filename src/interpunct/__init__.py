"""interpunct puts marks, capitals and sentences back into what a speech recogniser wrote.

>>> import interpunct
>>> restorer = interpunct.load()
>>> result = restorer.restore("so how are you i am fine thanks")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interpunct.decode import DecodeOptions
from interpunct.errors import InterpunctError
from interpunct.formats import read, read_all, write, write_all
from interpunct.restore import Restored, Restorer, load
from interpunct.transcript import Sentence, Transcript, Word

if TYPE_CHECKING:
    from interpunct.metrics.evaluate import Evaluation, evaluate
    from interpunct.metrics.metric import MetricOptions

__version__ = "0.1.0"

__all__ = [
    "DecodeOptions", "Evaluation", "InterpunctError", "MetricOptions", "Restored", "Restorer", "Sentence", "Transcript",
    "Word", "__version__", "evaluate", "load", "read", "read_all", "write", "write_all",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import the evaluator when it is first asked for: restoring does without it."""
    if name in ("evaluate", "Evaluation", "MetricOptions"):
        from interpunct.metrics import evaluate as evaluator

        return getattr(evaluator, name)
    raise AttributeError(f"module 'interpunct' has no attribute {name!r}")
