"""What can go wrong, as one tree.

    InterpunctError
    ├── InputError         a file or a text that cannot be read; knows its path and line
    ├── UnknownNameError   a name that is in none of the tables; knows the valid ones
    ├── MissingExtraError  a library of an extra that is not installed; names the extra
    ├── ConfigError        a configuration with one or more mistakes, all told at once
    └── ModelError         a model folder that cannot be used

Every message says what is wrong and what to do; the command prints `str(error)` and nothing more, and so do recipes
(`told_in_a_line`).
"""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

Given = ParamSpec("Given")


class InterpunctError(Exception):
    """The root: catch this to catch all that interpunct raises on purpose."""


class InputError(InterpunctError, ValueError):
    """A file or a text that cannot be read.

    >>> str(InputError("end before start", path="talk.ctm", line=7))
    'talk.ctm:7: end before start'
    """

    def __init__(self, what: str, *, path: str | None = None, line: int | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.path = path
        self.line = line

    def __reduce__(self) -> tuple[Any, ...]:
        return _input_error, (self.what, self.path, self.line)

    def at(self, *, path: str | None = None, line: int | None = None) -> InputError:
        """Return this error with the place filled in where it was not yet known."""
        return InputError(
            self.what,
            path=path if self.path is None else self.path,
            line=line if self.line is None else self.line,
        )

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.path, self.line) if part is not None)
        return f"{place}: {self.what}" if place else self.what


class UnknownNameError(InterpunctError, KeyError):
    """A name that is not in a table: the message lists those that are.

    >>> str(UnknownNameError("format", "strt", ["srt", "vtt"]))
    "unknown format 'strt'; did you mean 'srt'? known: srt, vtt"
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind, self.name, self.known = kind, name, sorted(known)
        super().__init__(kind, name, self.known)  # all of them, so that another process can send it here

    def __str__(self) -> str:
        near = nearest(self.name, self.known)
        hint = f"did you mean {near!r}? " if near else ""
        return f"unknown {self.kind} {self.name!r}; {hint}known: {', '.join(self.known)}"


class MissingExtraError(InterpunctError, ImportError):
    """A library that an extra brings is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(feature, extra)
        self.feature, self.extra = feature, extra

    def __str__(self) -> str:
        return f"{self.feature} needs the extra [{self.extra}]; run: pip install 'interpunct[{self.extra}]'"


class ConfigError(InterpunctError, ValueError):
    """A configuration with mistakes: all of them, not only the first."""

    def __init__(self, problems: Iterable[str], path: str | None = None) -> None:
        self.problems, self.path = list(problems), path
        super().__init__(self.problems, path)

    def __str__(self) -> str:
        return f"{self.path}: " * bool(self.path) + "; ".join(self.problems)


class ModelError(InterpunctError):
    """A model folder that is missing something or does not fit this version."""


def _input_error(what: str, path: str | None, line: int | None) -> InputError:
    return InputError(what, path=path, line=line)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most like `name`, or None where none is near.

    >>> nearest("epoch", ["epochs", "seed"])
    'epochs'
    """
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return close[0] if close else None


def told_in_a_line(main: Callable[Given, int]) -> Callable[Given, int]:
    """Make a script's `main`, which returns its exit code, tell what went wrong in one line on stderr, and return 1.

    Only what is raised on purpose; any other error is a mistake of ours and goes on as it is.
    """

    @wraps(main)
    def run(*args: Given.args, **options: Given.kwargs) -> int:
        try:
            return main(*args, **options)
        except InterpunctError as error:
            print(f"{Path(inspect.getfile(main)).name}: error: {error}", file=sys.stderr)
            return 1

    return run
