"""`ContextOptions`: how much of a document a model sees at once, as options of a configuration.

In: a configuration. Out: a `Context`. Without torch, so that models that do not need it can have the same options.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from interpunct.models.model import Context


@dataclass(frozen=True)
class ContextOptions:
    """Windows that overlap, windows that restart after the last sentence end, or the whole document."""

    context: Literal["overlap", "restart", "whole"] = "overlap"
    window: int = 128
    """Words that the model sees at once, unless it sees the whole document; also how dev is cut while training."""
    overlap: int = 48

    def as_context(self) -> Context:
        """Return the context that these options describe."""
        if self.context == "whole":
            return Context(None)
        if self.context == "restart":
            return Context(self.window, restart=True)
        return Context(self.window, self.overlap)


_MAY_BE_NONE = frozenset(("overlap", "shortest", "longest", "pairs", "pieces", "glance", "distances", "causal"))
_SHARES = frozenset(("noise", "clean", "dropped", "doubled", "smoothing", "distil"))


def check_numbers(options: Any) -> None:
    """Refuse options that no network can have: sizes below 1, shares and dropouts that are none.

    Raises ValueError, which a configuration's reader turns into its own error.
    """
    for field in fields(options):
        value = getattr(options, field.name)
        if isinstance(value, bool):
            continue
        sizes = value if isinstance(value, tuple) else (value,)
        if any(isinstance(size, int) and size < (field.name not in _MAY_BE_NONE) for size in sizes):
            raise ValueError(f"{field.name} {value} is too small; use {int(field.name not in _MAY_BE_NONE)} or more")
        if (field.name in _SHARES or field.name.endswith("dropout")) and not 0 <= value <= 1:
            raise ValueError(f"{field.name} {value} is no share; use 0 to 1")
