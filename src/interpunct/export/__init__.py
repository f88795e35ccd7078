"""A trained model folder to ONNX, which restores without torch.

In: a folder of a model whose type is in `WRITERS`. Out: a folder with `model.onnx` and all it needs. A new type is one
file, which writes the network's forward pass into a `Graph`, and one row. `recover` is the way back.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from interpunct.errors import MissingExtraError, ModelError
from interpunct.models import load
from interpunct.models.branch import BRANCH
from interpunct.models.folder import LEXICON, PIECES, Description, make_folder, take_along
from interpunct.models.onnx import GRAPH, WINDOWS_AT_ONCE
from interpunct.tables import resolve

WRITERS: dict[str, str] = {
    "bigru": "interpunct.export.bigru:write",
    "dilated": "interpunct.export.dilated:write",
    "llama": "interpunct.export.llama:write",
    "transformer": "interpunct.export.transformer:write",
}


def export(folder: str | Path, target: str | Path, *, int8: bool = False) -> Description:
    """Export a trained model; everything the restorer needs lies in `target` afterwards."""
    folder = Path(folder)
    if folder.resolve() == Path(target).resolve():
        raise ModelError(f"{folder}: a model cannot be exported onto itself; give another folder")
    description = Description.load(folder)
    if description.type not in WRITERS:
        can = ", ".join(WRITERS)
        raise ModelError(f"{folder}: models of type {description.type!r} cannot be exported; {can} can")
    try:
        import onnx

        from interpunct.export.graph import Graph

        write = resolve(WRITERS, "exported type", description.type)
        model = load(folder)
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"exporting (no {error.name})", "train") from None
    target = make_folder(target)
    graph = Graph(int8=int8)
    write(model, graph)
    made = graph.model(description.name, description.labels)
    onnx.checker.check_model(made)
    onnx.save(made, str(target / GRAPH))
    options = dict(description.options)
    if graph.windows_at_once is not None:
        options[WINDOWS_AT_ONCE] = graph.windows_at_once
    exported = replace(description, type="onnx", exported_from=description.type, options=options)
    exported.save(target)
    take_along(folder, target, (PIECES, LEXICON, BRANCH))
    for name in ("CARD.md", "config.toml", "log.jsonl"):
        if (folder / name).exists():
            shutil.copyfile(folder / name, target / name)
    return exported
