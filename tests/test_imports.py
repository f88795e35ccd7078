from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "interpunct"

# The one way through the house: a module may import only what stands before it. See docs/architecture.md.
ORDER = [
    {"errors", "offline"}, {"tables"}, {"config"}, {"transcript"}, {"cases"}, {"labels"}, {"clitics", "timeline"},
    {"align", "render", "cues"},
    {"formats"}, {"corpora"}, {"metrics"}, {"audio"}, {"features"}, {"models"}, {"decode"}, {"restore"}, {"stream"},
    {"train"}, {"export"}, {"jobs"}, {"engines"}, {"serve"}, {"__init__"}, {"bar"}, {"cli"}, {"__main__"},
]  # fmt: skip
PLACE = {room: place for place, rooms in enumerate(ORDER) for room in rooms}


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    rooms: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            names = [f"{module}.{a.name}" for a in node.names] if module == "interpunct" else [module]
        for name in names:
            parts = name.split(".")
            if parts[0] == "interpunct":
                rooms.add(parts[1] if len(parts) > 1 and parts[1] in PLACE else "__init__")
    return rooms


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(SOURCE)) for path in FILES])
def test_imports_follow_the_order_of_the_rooms(path: Path) -> None:
    room = room_of(path)
    assert room in PLACE, f"{room} has no place in the order"
    for other in imported_rooms(path) - {room}:
        assert PLACE[other] < PLACE[room], f"{room} must not import {other}"


def test_imports_of_the_evaluator_touch_no_model() -> None:
    for path in (SOURCE / "metrics").glob("*.py"):
        assert not imported_rooms(path) & {"models", "decode", "restore", "features"}


def test_import_of_the_package_is_light() -> None:
    code = (
        "import interpunct, sys; print([m for m in ('torch', 'onnxruntime', 'tokenizers', 'onnx') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
