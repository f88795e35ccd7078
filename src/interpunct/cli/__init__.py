"""The command line. Each subcommand reads its arguments, calls one public function and prints what it returns.

Results go to stdout, messages to stderr. `command.py` holds the group and the exit codes; the subcommands stand in
modules by what they are for: `restoring`, `listening`, `scoring`, `training`, `listing`.
"""

from __future__ import annotations

from interpunct.cli.command import cli, main

__all__ = ["cli", "main"]
