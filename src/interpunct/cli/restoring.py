"""`interpunct restore` and `interpunct convert`, and the options of commands that read and write transcripts.

In: files, folders, globs or standard input. Out: transcripts, one for one; what failed is said, and the rest goes on.
"""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import click

from interpunct import formats
from interpunct.bar import Bar
from interpunct.cli.terminal import complain
from interpunct.cues import CueLimits
from interpunct.decode import DecodeOptions
from interpunct.engines import ENGINES, run
from interpunct.errors import InputError
from interpunct.formats import WriteOptions
from interpunct.jobs import JobOptions, Outcome, plan
from interpunct.models import Description
from interpunct.restore import find_model


class Sound(NamedTuple):
    """What a call says of sound: the recording, and where to draw what of it."""

    audio: str | None = None
    plot: str | None = None
    plot_from: float = 0.0


def cue_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the limits of subtitle cues."""
    limits = CueLimits()
    for name, kind, default, what in (
        ("--cue-speed", float, limits.characters_per_s, "characters a second at most"),
        ("--cue-max", float, limits.max_s, "seconds a cue at most"),
        ("--cue-min", float, limits.min_s, "seconds a cue at least"),
        ("--cue-lines", int, limits.lines, "lines a cue"),
        ("--cue-line", int, limits.line_characters, "characters a line"),
    ):
        command = click.option(name, type=kind, default=default, show_default=True, help=f"Subtitles: {what}.")(command)
    return command


def io_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add where to read and write, and in which formats."""
    known = click.Choice([*formats.FORMATS, *formats.ALIASES])
    for option in (
        click.option("--encoding", metavar="NAME", help="Text encoding of the inputs; UTF-8 or a BOM's without it."),
        click.option("--lines", is_flag=True, help="Plain text: one sentence a line."),
        click.option(
            "--to", "to", type=known, metavar="FORMAT", help="Output format; else -o's extension's, else the input's."
        ),
        click.option("--from", "from_", type=known, metavar="FORMAT", help="Input format; the content decides."),
        click.option("-o", "--output", metavar="PATH_OR_DIR", help="Where to write; stdout without it, or with -."),
    ):
        command = option(command)
    return command


def _by_mark(_context: click.Context, _option: click.Parameter, values: Iterable[str]) -> dict[str, float]:
    """Read MARK=NUMBER options; "none" is no mark."""
    numbers: dict[str, float] = {}
    for value in values:
        mark, equals, number = value.rpartition("=")
        try:
            numbers["" if mark == "none" else mark] = float(number)
        except ValueError:
            equals = ""
        if not equals:
            raise click.BadParameter(f"{value!r} is not MARK=NUMBER, e.g. ,=0.6")
    return numbers


@click.command()
@click.argument("inputs", nargs=-1, metavar="[INPUT ...]")
@io_options
@click.option(
    "--model",
    default="default",
    show_default=True,
    metavar="NAME_OR_DIR",
    help="A bundled model or a folder.",
)
@click.option("--marks/--no-marks", default=True, help="Restore marks, or leave them as they are.")
@click.option("--case/--no-case", default=True, help="Restore capitals, or leave them as they are.")
@click.option(
    "--existing",
    type=click.Choice(["redo", "keep", "fill"]),
    default="redo",
    show_default=True,
    help="What becomes of marks and capitals in the input.",
)
@click.option(
    "--threshold",
    "thresholds",
    multiple=True,
    callback=_by_mark,
    metavar="MARK=P",
    help="Write MARK, where it is the likeliest mark, from the probability P on.",
)
@click.option(
    "--scale",
    "scales",
    multiple=True,
    callback=_by_mark,
    metavar="MARK=F",
    help="Multiply MARK's probability by F; `none` is no mark.",
)
@click.option("--close/--no-close", default=True, help="End documents and turns with a closing mark.")
@click.option(
    "--beam",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Label sequences kept by a model that writes label after label.",
)
@click.option("--audio", metavar="FILE", help="The recording of the one input: how it is said helps to decide.")
@click.option("--prosody/--no-prosody", default=True, help="Let times and sound help to decide, or the words alone.")
@click.option("--plot", metavar="FILE.png", help="Draw a minute of the one input: wave, pitch, pauses, sentence ends.")
@click.option(
    "--plot-from",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    metavar="SECONDS",
    help="Where the picture begins.",
)
@click.option("--threads", type=click.IntRange(min=1), help="Threads of the model; all cores without it.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Files at a time.")
@click.option(
    "--engine",
    type=click.Choice(list(ENGINES)),
    default="local",
    show_default=True,
    help="What runs the jobs.",
)
@cue_options
@click.pass_context
def restore(
    context: click.Context,
    /,
    inputs: tuple[str, ...],
    model: str,
    marks: bool,
    case: bool,
    existing: Any,
    thresholds: dict[str, float],
    scales: dict[str, float],
    close: bool,
    beam: int,
    audio: str | None,
    prosody: bool,
    plot: str | None,
    plot_from: float,
    threads: int | None,
    jobs: int,
    engine: str,
    **io: Any,
) -> None:  # fmt: skip
    """Restore marks and capitals in files, folders, globs or standard input (`-` or none).

    Of a folder its own files are read, and not those of folders in it: for these, write a glob ('calls/**/*.json').
    """
    options = DecodeOptions(
        marks=marks, case=case, existing=existing, thresholds=thresholds, scales=scales, close=close, beam=beam,
        prosody=prosody,
    )  # fmt: skip
    if plot is not None:
        from interpunct.features.speech_plot import check_picture

        check_picture(plot)  # before an hour is listened to
    sound = Sound(audio, plot, plot_from)
    _run(context, inputs, io, engine=engine, jobs=jobs, model=model, threads=threads, decode=options, sound=sound)


@click.command()
@click.argument("inputs", nargs=-1, metavar="[INPUT ...]")
@io_options
@click.option("--recut", is_flag=True, help="Subtitles: cut cues anew at sentence ends instead of keeping them.")
@cue_options
@click.pass_context
def convert(context: click.Context, /, inputs: tuple[str, ...], recut: bool, **io: Any) -> None:
    """Convert one format to another; nothing is restored."""
    _run(context, inputs, io, recut=recut)


def _run(
    context: click.Context,
    inputs: tuple[str, ...],
    io: dict[str, Any],
    *,
    engine: str = "local",
    jobs: int = 1,
    model: str | None = None,
    threads: int | None = None,
    decode: DecodeOptions | None = None,
    sound: Sound | None = None,
    recut: bool = True,
) -> None:
    sound = sound or Sound()
    if threads is None and jobs > 1:
        threads = max(1, (os.cpu_count() or 1) // jobs)  # else every worker takes all cores from the others
    check_encoding(io["encoding"])
    options = JobOptions(
        model=model,
        threads=threads,
        decode=decode or DecodeOptions(),
        from_=io["from_"],
        to=io["to"],
        encoding=io["encoding"],
        write=WriteOptions(lines=io["lines"], cues=cues_of(io), recut=recut),
        audio=sound.audio,
        plot=sound.plot,
        plot_from=sound.plot_from,
    )
    if model is not None:
        Description.load(find_model(model))  # a wrong model is a wrong call, not a failed input
    work = plan(inputs, io["output"], options)
    failed = False
    with Bar(len(work)) as bar:
        for outcome in run(engine, work, options, jobs=jobs, progress=bar.words):
            bar.input_done()
            failed |= _report(context, outcome)
    if failed:
        context.exit(1)


def cues_of(given: dict[str, Any]) -> CueLimits:
    """Return the limits that `cue_options` say."""
    return CueLimits(given["cue_line"], given["cue_lines"], given["cue_min"], given["cue_max"], given["cue_speed"])


def check_encoding(encoding: str | None) -> None:
    """Refuse an encoding that Python does not know."""
    if encoding is not None:
        try:
            codecs.lookup(encoding)
        except LookupError:
            raise InputError(f"unknown encoding {encoding!r}; use one that Python knows") from None


def _report(context: click.Context, outcome: Outcome) -> bool:
    if outcome.data is not None:
        if sys.stdout is None:
            complain("standard output is closed; use -o")
            return True
        sys.stdout.buffer.write(outcome.data)
        sys.stdout.buffer.flush()
    if outcome.note:
        click.echo(outcome.note, err=True)
    if outcome.error is None:
        return False
    complain(str(outcome.error))
    if context.obj and outcome.trace:
        click.echo(outcome.trace, err=True)
    return True
