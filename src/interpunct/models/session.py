"""An ONNX file, ready to run on this machine's CPU.

In: a path, and weights that are not in the file. Out: onnxruntime's session; a file that it cannot load is a
`ModelError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interpunct.errors import ModelError
from interpunct.offline import keep_offline

if TYPE_CHECKING:
    import onnxruntime


def open_session(
    path: Path, *, threads: int | None, remedy: str, weights: Mapping[str, Any] | None = None
) -> onnxruntime.InferenceSession:
    """Open a file, with weights by name that lie elsewhere; `remedy` is what to do where that fails.

    The session looks at these weights where they are: whoever opens it must keep them for as long.
    """
    keep_offline()
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if threads is not None:
        options.intra_op_num_threads = threads
    try:
        if weights:
            given = [onnxruntime.OrtValue.ortvalue_from_numpy(each) for each in weights.values()]
            options.add_external_initializers(list(weights), given)
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own exceptions share no base class but this
        reason = str(error).strip().splitlines()[0]
        raise ModelError(f"{path}: onnxruntime cannot load it: {reason}; {remedy}") from None
