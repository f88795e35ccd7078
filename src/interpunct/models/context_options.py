"""`ContextOptions`: how much of a document a model sees at once, as options of a configuration.

In: a configuration. Out: a `Context`. Without torch, so that models that do not need it can have the same options.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
