"""Tables: literal dicts of name → "module:thing", resolved on use.

In: a table and a name. Out: the thing, its module imported only now; or an error that lists the known names.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from interpunct.errors import UnknownNameError


def resolve(table: Mapping[str, str], kind: str, name: str) -> Any:
    """Return what a table holds under a name; `kind` says in an error what the table is of.

    >>> resolve({"pi": "math:pi"}, "number", "pi")
    3.141592653589793
    """
    target = table.get(name)
    if target is None:
        raise UnknownNameError(kind, name, table)
    module, attribute = target.split(":")
    return getattr(importlib.import_module(module), attribute)
