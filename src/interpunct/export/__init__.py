"""A trained model folder to ONNX, which restores without torch.

In: a folder of a model whose type is in `WRITERS`. Out: a folder with `model.onnx` and all it needs. A new type is one
file, which writes the network's forward pass into a `Graph`, and one row. `recover` is the way back.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from interpunct.errors import InputError, MissingExtraError, ModelError
from interpunct.models import load
from interpunct.models.branch import BRANCH
from interpunct.models.folder import LEXICON, PIECES, Description, make_folder, take_along
from interpunct.models.onnx import GRAPH, WINDOWS_AT_ONCE
from interpunct.models.six_bits import WEIGHTS
from interpunct.tables import resolve
from interpunct.train.arrays import save_arrays

Bits = Literal[6, 8]
"""How many bits a weight may have in a file of bytes."""
_WINDOWS = 96
"""Windows that are read to round by."""

WRITERS: dict[str, str] = {
    "bigru": "interpunct.export.bigru:write",
    "dilated": "interpunct.export.dilated:write",
    "llama": "interpunct.export.llama:write",
    "transformer": "interpunct.export.transformer:write",
}


def export(
    folder: str | Path, target: str | Path, *, int8: bool = False, bits: Bits = 8, packs: Sequence[str | Path] = ()
) -> Description:
    """Export a trained model; everything the restorer needs lies in `target` afterwards.

    With `int8` a transformer's or a llama's weights may have 6 bits on disk, which become bytes when they are loaded.
    A transformer's are rounded so that what they give for the text of some packs changes least.
    """
    folder = Path(folder)
    if folder.resolve() == Path(target).resolve():
        raise ModelError(f"{folder}: a model cannot be exported onto itself; give another folder")
    if bits not in get_args(Bits) or (bits != 8 and not int8):
        raise InputError(f"weights of {bits} bits: use 8, or 6 together with int8")
    if packs and not int8:
        raise InputError("packs are for rounding; use them together with int8")
    description = Description.load(folder)
    if packs and description.type != "transformer":
        raise ModelError(f"{folder}: a {description.type} is rounded without packs; leave them out")
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
    graph = Graph(int8=int8, bits=bits, seen=_seen(model, packs) if packs else None)
    write(model, graph)
    if bits != 8 and not graph.beside:
        raise ModelError(f"{folder}: a {description.type} has no weights of {bits} bits; leave bits at 8")
    target = make_folder(target)
    made = graph.model(description.name, description.labels)
    if graph.beside:
        save_arrays(target / WEIGHTS, graph.beside, compress=False)
    else:
        (target / WEIGHTS).unlink(missing_ok=True)  # they were another model's
        onnx.checker.check_model(made)  # it would read what lies beside as it is
    (target / GRAPH).write_bytes(made.SerializeToString())
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


def _seen(model: Any, packs: Sequence[str | Path]) -> Mapping[str, np.ndarray]:
    """Return what a transformer's weights read in windows of packs."""
    from interpunct.export.seen import seen
    from interpunct.train.drawn import drawn
    from interpunct.train.pack import Pack

    return seen(model, drawn(model, [Pack.load(Path(path)) for path in packs], _WINDOWS))
