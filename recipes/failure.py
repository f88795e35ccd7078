"""What a recipe's command does when it fails on purpose: one line instead of a traceback.

In: the `main` of a command, which returns its exit code. Out: the same, but for errors of interpunct, which are told on
stderr with the command's name, and give 1. Any other error is a mistake of ours and goes on as it is.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import ParamSpec

from interpunct.errors import InterpunctError

Given = ParamSpec("Given")


def told(main: Callable[Given, int]) -> Callable[Given, int]:
    """Make a command tell what went wrong in a line."""

    @wraps(main)
    def run(*args: Given.args, **options: Given.kwargs) -> int:
        try:
            return main(*args, **options)
        except InterpunctError as error:
            print(f"{Path(inspect.getfile(main)).name}: error: {error}", file=sys.stderr)
            return 1

    return run
