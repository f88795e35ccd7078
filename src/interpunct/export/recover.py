"""An exported network back to one that can go on learning.

In: the folder of an exported model whose type is in `READERS`. Out: a folder as training writes it. What rounding to
bytes took is gone; a model recovered from bytes and exported to bytes again is the same model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from interpunct.errors import MissingExtraError, ModelError
from interpunct.models import six_bits, type_named
from interpunct.models.branch import BRANCH
from interpunct.models.folder import DESCRIPTION, LEXICON, Description, make_folder, take_along
from interpunct.models.onnx import GRAPH, WINDOWS_AT_ONCE
from interpunct.tables import resolve

READERS: dict[str, str] = {
    "dilated": "interpunct.export.dilated_weights:read",
    "llama": "interpunct.export.llama:read",
    "transformer": "interpunct.export.transformer:read",
}


def recover(folder: str | Path, target: str | Path) -> Description:
    """Write the trained model that an exported one was, as far as its file still tells, with its prosody branch."""
    folder = Path(folder)
    if folder.resolve() == Path(target).resolve():
        raise ModelError(f"{folder}: a model cannot be recovered onto itself; give another folder")
    exported = Description.load(folder)
    kind = exported.exported_from
    if exported.type == "onnx" and not kind:
        raise ModelError(f"{folder}: it does not tell what it was trained as; export it again")
    if kind not in READERS:
        if not kind:
            raise ModelError(f"{folder}: it was never exported; training can go on from it as it is")
        raise ModelError(f"{folder}: no way back from an exported {kind}; name the folder that training wrote")
    try:
        import onnx

        read = resolve(READERS, "recovered type", kind)
        made = type_named(kind)
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"going on from an exported model (no {error.name})", "train") from None
    options = {name: value for name, value in exported.options.items() if name != WINDOWS_AT_ONCE}
    description = replace(exported, type=kind, exported_from="", options=options)
    model = made(description, made.load_vocabulary(folder, description))
    try:
        graph = onnx.load(str(folder / GRAPH), load_external_data=False).graph
    except Exception as error:  # that of protobuf, where the file is broken, has no name here
        raise ModelError(f"{folder / GRAPH}: cannot be read: {error}; export the model again") from None
    try:
        _put_inside(graph, six_bits.load(folder / six_bits.WEIGHTS))
        read(graph, model)
    except (KeyError, IndexError, ValueError, RuntimeError) as error:
        reason = (str(error).strip() or repr(error)).splitlines()[-1].strip()
        raise ModelError(f"{folder}: {GRAPH} is not what {DESCRIPTION} says: {reason}; export it again") from None
    target = make_folder(target)
    model.save(target)
    take_along(folder, target, (LEXICON, BRANCH))
    return description


def _put_inside(graph: Any, weights: Mapping[str, Any]) -> None:
    """Give a graph's weights that lie beside it their numbers."""
    for tensor in graph.initializer:
        if tensor.external_data:
            tensor.raw_data = weights[tensor.name].tobytes()
            del tensor.external_data[:]
            tensor.data_location = 0
