"""The command: a group of subcommands, and what becomes of errors.

In: arguments. Out: an exit code: 0 all done, 1 some inputs failed and the others were written, 2 the call is wrong.
An error is one line; `--debug` shows where it came from.
"""

from __future__ import annotations

import sys

import click

import interpunct
from interpunct.cli import listening, listing, restoring, scoring, training
from interpunct.cli.terminal import complain, forget_stdout, speak_unicode
from interpunct.errors import InterpunctError

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


@click.group(context_settings=_CONTEXT)
@click.version_option(interpunct.__version__, prog_name="interpunct")
@click.option("--debug", is_flag=True, help="Show where an error came from.")
@click.pass_context
def cli(context: click.Context, debug: bool) -> None:
    """Put marks, capitals and sentences back into transcripts, and keep every word's time."""
    context.obj = debug


for _command in (
    restoring.restore, restoring.convert, listening.align, listening.features, scoring.evaluate,
    training.train, training.tune, training.calibrate, training.export, training.recover,
    listing.metrics_command, listing.models_command, listing.formats_command, listing.corpora_command,
):  # fmt: skip
    cli.add_command(_command)


def main(arguments: list[str] | None = None) -> None:
    """Run the command and exit with its code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    speak_unicode()
    debug = "--debug" in arguments
    try:
        code = cli.main(arguments, prog_name="interpunct", standalone_mode=False)
    except click.exceptions.Abort:
        code = 130
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        code = 2
    except click.ClickException as error:
        usage = f" (see: {error.ctx.command_path} --help)" if isinstance(error, click.UsageError) and error.ctx else ""
        complain(error.format_message() + usage)
        code = 2
    except InterpunctError as error:
        if debug:
            raise
        complain(str(error))
        code = 2
    except BrokenPipeError:
        code = 1  # the reader went away, e.g. `| head`: nothing is left to say
        forget_stdout()
    except OSError as error:
        complain(f"cannot go on: {error.strerror or error}; check the disk and the output")
        code = 1
        forget_stdout()
    except KeyboardInterrupt:
        code = 130
    sys.exit(code if isinstance(code, int) else 0)
