"""What the command says to a person: tables and messages.

In: rows, messages. Out: a table on standard output, an error of one line on standard error.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import click

from interpunct.errors import InputError


def print_table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print a table."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    table = Table(*header, box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*map(escape, row))
    print_rich(table)


def print_rich(renderable: Any) -> None:
    """Print what rich renders."""
    from rich.console import Console

    if sys.stdout is None:
        raise InputError("standard output is closed; give another")
    # A table in a pipe is for other programs: it is never folded.
    Console(width=None if sys.stdout.isatty() else 400).print(renderable)


def complain(message: str) -> None:
    """Say in one line, on standard error, what is wrong."""
    if sys.stderr is not None:
        click.echo(f"interpunct: error: {' '.join(message.split())}", err=True)


def speak_unicode() -> None:
    """Write UTF-8 into pipes and files, whatever their locale; on a terminal that lacks a letter, write a ?."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with suppress(ValueError):  # it is closed
                if stream.isatty():
                    stream.reconfigure(errors="replace")
                else:
                    stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def forget_stdout() -> None:
    """Keep Python from flushing, at its end, what nobody can take any more."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
