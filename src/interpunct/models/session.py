"""An ONNX file, ready to run on this machine's CPU.

In: a path. Out: onnxruntime's session; a file that it cannot load is a `ModelError`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from interpunct.errors import ModelError
from interpunct.offline import keep_offline

if TYPE_CHECKING:
    import onnxruntime


def open_session(path: Path, *, threads: int | None, remedy: str) -> onnxruntime.InferenceSession:
    """Open a file; `remedy` is what to do where that fails."""
    keep_offline()
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if threads is not None:
        options.intra_op_num_threads = threads
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own exceptions share no base class but this
        reason = str(error).strip().splitlines()[0]
        raise ModelError(f"{path}: onnxruntime cannot load it: {reason}; {remedy}") from None
