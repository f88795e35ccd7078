"""`Bar`: how far the command has come, for a person who waits.

In: words and inputs done. Out: a bar on stderr, if that is a terminal and the work takes over a second.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self

_PATIENCE_S = 1.0


class Bar:
    """A progress bar that shows itself only when it is wanted; a context manager."""

    def __init__(self, inputs: int) -> None:
        self._inputs = inputs
        self._done = 0
        self._started = time.monotonic()
        self._wanted = sys.stderr is not None and sys.stderr.isatty()
        self._shown: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown is not None:
            self._shown.stop()

    def words(self, done: int, total: int) -> None:
        """Take in how many words of the input in hand are done."""
        self._show(self._done + done / max(1, total), f"{done:,} of {total:,} words")

    def input_done(self) -> None:
        """Take in that one more input is done."""
        self._done += 1
        self._show(self._done, f"{self._done} of {self._inputs} inputs")

    def _show(self, completed: float, what: str) -> None:
        if not self._wanted or time.monotonic() - self._started < _PATIENCE_S:
            return
        if self._shown is None:
            from rich.console import Console
            from rich.progress import Progress

            self._shown = Progress(console=Console(stderr=True), transient=True)
            self._shown.add_task(what, total=self._inputs)
            self._shown.start()
        self._shown.update(self._shown.task_ids[0], completed=completed, description=what)
