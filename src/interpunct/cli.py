"""The command. Each subcommand reads its arguments, calls one public function and prints what it returns.

Results go to stdout, messages to stderr. Exit codes: 0 all done, 1 some inputs failed and the others were
written, 2 the call is wrong. An error is one line; `--debug` shows where it came from.
"""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click

import interpunct
from interpunct import formats
from interpunct.bar import Bar
from interpunct.cues import CueLimits
from interpunct.decode import DecodeOptions
from interpunct.engines import ENGINES, run
from interpunct.errors import InputError, InterpunctError
from interpunct.formats import WriteOptions
from interpunct.jobs import JobOptions, Outcome, plan
from interpunct.models import Description
from interpunct.restore import find_model

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


@click.group(context_settings=_CONTEXT)
@click.version_option(interpunct.__version__, prog_name="interpunct")
@click.option("--debug", is_flag=True, help="Show where an error came from.")
@click.pass_context
def cli(context: click.Context, debug: bool) -> None:
    """Put marks, capitals and sentences back into transcripts, and keep every word's time."""
    context.obj = debug


def _cue_options(command: Callable[..., Any]) -> Callable[..., Any]:
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


def _io_options(command: Callable[..., Any]) -> Callable[..., Any]:
    known = click.Choice([*formats.FORMATS, *formats.ALIASES])
    for option in (
        click.option("--encoding", metavar="NAME", help="Text encoding of the inputs; UTF-8 or a BOM's without it."),
        click.option("--lines", is_flag=True, help="Plain text: one sentence a line."),
        click.option("--to", "to", type=known, metavar="FORMAT", help="Output format; without it the input's."),
        click.option("--from", "from_", type=known, metavar="FORMAT", help="Input format; the content decides."),
        click.option("-o", "--output", metavar="PATH_OR_DIR", help="Where to write; stdout without it."),
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


@cli.command()
@click.argument("inputs", nargs=-1, metavar="[INPUT ...]")
@_io_options
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
    help="Write MARK where its probability reaches P.",
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
@click.option("--threads", type=click.IntRange(min=1), help="Threads of the model; all cores without it.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Files at a time.")
@click.option(
    "--engine",
    type=click.Choice(list(ENGINES)),
    default="local",
    show_default=True,
    help="What runs the jobs.",
)
@_cue_options
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
    threads: int | None,
    jobs: int,
    engine: str,
    **io: Any,
) -> None:  # fmt: skip
    """Restore marks and capitals in files, folders, globs or standard input (`-` or none)."""
    options = DecodeOptions(
        marks=marks, case=case, existing=existing, thresholds=thresholds, scales=scales, close=close, beam=beam
    )
    _run(context, inputs, io, engine=engine, jobs=jobs, model=model, threads=threads, decode=options)


@cli.command()
@click.argument("inputs", nargs=-1, metavar="[INPUT ...]")
@_io_options
@click.option("--recut", is_flag=True, help="Subtitles: cut cues anew at sentence ends instead of keeping them.")
@_cue_options
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
    recut: bool = True,
) -> None:
    limits = CueLimits(io["cue_line"], io["cue_lines"], io["cue_min"], io["cue_max"], io["cue_speed"])
    if threads is None and jobs > 1:
        threads = max(1, (os.cpu_count() or 1) // jobs)  # else every worker takes all cores from the others
    _check_encoding(io["encoding"])
    options = JobOptions(
        model=model,
        threads=threads,
        decode=decode or DecodeOptions(),
        from_=io["from_"],
        to=io["to"],
        encoding=io["encoding"],
        write=WriteOptions(lines=io["lines"], cues=limits, recut=recut),
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


def _check_encoding(encoding: str | None) -> None:
    if encoding is not None:
        try:
            codecs.lookup(encoding)
        except LookupError:
            raise InputError(f"unknown encoding {encoding!r}; use one that Python knows") from None


def _report(context: click.Context, outcome: Outcome) -> bool:
    if outcome.error is not None:
        _complain(str(outcome.error))
        if context.obj and outcome.trace:
            click.echo(outcome.trace, err=True)
        return True
    if outcome.data is not None:
        if sys.stdout is None:
            _complain("standard output is closed; use -o")
            return True
        sys.stdout.buffer.write(outcome.data)
        sys.stdout.buffer.flush()
    return False


@cli.command()
@click.argument("config", metavar="CONFIG.toml")
@click.option("-o", "--output", required=True, metavar="MODEL_DIR", help="The folder of the new model.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a key, e.g. train.epochs=3.")
def train(config: str, output: str, overrides: tuple[str, ...]) -> None:
    """Train a model from corpora."""
    from interpunct.train import train as run_training

    def log(row: dict[str, Any]) -> None:
        click.echo("  ".join(f"{name} {value}" for name, value in row.items()), err=True)

    description = run_training(config, output, overrides=overrides, log=log)
    click.echo(f"{description.title} written to {output}")


@cli.command()
@click.argument("config", metavar="CONFIG.toml")
@click.option("-o", "--output", required=True, metavar="DIR", help="The folder of the search; one begun there goes on.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a key, e.g. tune.trials=20.")
def tune(config: str, output: str, overrides: tuple[str, ...]) -> None:
    """Search a model's options for the lowest error on dev."""
    from interpunct.train.tune import tune as run_tuning

    def log(row: dict[str, Any]) -> None:
        click.echo("  ".join(f"{name} {value}" for name, value in row.items()), err=True)

    tuned = run_tuning(config, output, overrides=overrides, log=log)
    click.echo(f"{tuned.task} SER {tuned.value:.4f} on dev, the best of {tuned.trials} trials, with:")
    for name, value in tuned.params.items():
        click.echo(f"  {name} = {value}")
    click.echo(f"{tuned.config} written; train with it")


@cli.command()
@click.argument("model", metavar="MODEL_DIR")
@click.option("-o", "--output", required=True, metavar="DIR", help="The folder of the exported model.")
@click.option("--int8", is_flag=True, help="Store weights as bytes.")
def export(model: str, output: str, int8: bool) -> None:
    """Export a trained model to ONNX, which runs without torch."""
    from interpunct.export import export as run_export

    description = run_export(model, output, int8=int8)
    click.echo(f"{description.title} written to {output}")


@cli.command()
@click.option("--reference", "references", multiple=True, required=True, metavar="FILE", help="One or several.")
@click.option("--hypothesis", required=True, metavar="FILE", help="What is scored: a file or a folder.")
@click.option("--baseline", metavar="FILE", help="Another system's hypothesis, to compare with.")
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help="A metric; see `interpunct metrics`.")
@click.option("--classes", type=click.Choice(["4", "3", "2"]), default="4", show_default=True, help="Classes of marks.")
@click.option("--window", type=int, default=3, show_default=True, metavar="WORDS", help="WiSeBE: the window limit.")
@click.option("--merge-mixed", is_flag=True, help="Case: count mixed as sentence case, as the papers do.")
@click.option("--align", is_flag=True, help="Align recognised words; marks beside mistaken ones do not count.")
@click.option(
    "--segments",
    type=click.Choice(["auto", "lines", "marks"]),
    default="auto",
    show_default=True,
    help="Plain text: whether line ends or marks are the sentence boundaries.",
)
@click.option(
    "--from",
    "from_",
    type=click.Choice([*formats.FORMATS, *formats.ALIASES]),
    metavar="FORMAT",
    help="Format of the files; the content decides.",
)
@click.option("--encoding", metavar="NAME", help="Text encoding of the files; UTF-8 or a BOM's without it.")
@click.option("--by-time", is_flag=True, help="RTTM: compare the SU lines by their times, whatever the words.")
@click.option("--tolerance", type=float, default=0.5, show_default=True, metavar="SECONDS", help="With --by-time.")
@click.option("--units", metavar="FILE.xml", help="Draw the bootstrap by the talks of an IWSLT XML file.")
@click.option("--draws", type=click.IntRange(min=1), default=1000, show_default=True, help="Bootstrap draws.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; the same as --view json.")
@click.option("--view", type=click.Choice(["table", "json", "csv", "markdown", "latex"]), default="table")
@click.option("--plot", metavar="FILE.png", help="Draw bars, confusion matrix, curves and windows.")
@click.option("--page", metavar="FILE.html", help="Write the errors in their text as a page.")
def evaluate(
    references: tuple[str, ...],
    hypothesis: str,
    baseline: str | None,
    metrics: tuple[str, ...],
    classes: str,
    window: int,
    merge_mixed: bool,
    align: bool,
    segments: Any,
    from_: str | None,
    encoding: str | None,
    by_time: bool,
    tolerance: float,
    units: str | None,
    draws: int,
    as_json: bool,
    view: str,
    plot: str | None,
    page: str | None,
) -> None:  # fmt: skip
    """Score a hypothesis against one reference or several."""
    from interpunct.metrics import MetricOptions, report
    from interpunct.metrics.documents import ReadOptions
    from interpunct.metrics.evaluate import evaluate as run_evaluation

    if by_time:
        if len(references) > 1 or metrics or baseline or align or units or plot or page:
            raise InputError("--by-time compares SU lines with one reference alone; leave the other options out")
        from interpunct.metrics.su_times import evaluate_times

        found = evaluate_times(references[0], hypothesis, tolerance_s=tolerance, draws=draws)
    else:
        found = run_evaluation(
            references[0] if len(references) == 1 else references,
            hypothesis,
            metrics=metrics or None,
            align=align,
            baseline=baseline,
            options=MetricOptions(classes=int(classes), merge_mixed=merge_mixed, window=window),
            reading=ReadOptions(segments=segments, format=from_, encoding=encoding),
            talks=units,
            draws=draws,
        )
    if plot is not None:
        from interpunct.metrics.plot import draw

        draw(found, plot)
    if page is not None:
        from interpunct.metrics.page import write_page

        formats.replace_file(Path(page), [write_page(found).encode()])
    if as_json or view != "table":
        click.echo(report.VIEWS["json" if as_json else view](found).rstrip("\n"))
    else:
        _print(report.table(found))


@cli.command("metrics")
def metrics_command() -> None:
    """List the metrics."""
    from interpunct import metrics

    rows = [(name, metrics.named(name).summary) for name in metrics.METRICS]
    _table(("metric", "what"), [*rows, (metrics.WISEBE, "sentence boundaries against several references")])


@cli.command("models")
def models_command() -> None:
    """List the bundled models and the model types."""
    from interpunct.models import MODELS, Description
    from interpunct.restore import bundled_models

    rows = []
    for folder in bundled_models():
        description = Description.load(folder)
        size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
        marks = " ".join(filter(None, description.labels.get("mark", ())))
        rows.append((description.name, description.version, f"{size:.1f} MB", marks, ", ".join(description.labels)))
    _table(("model", "version", "size", "marks", "tasks"), rows)
    _table(("type", "made by"), [(name, "train" if name != "onnx" else "export") for name in MODELS])


@cli.command("formats")
def formats_command() -> None:
    """List the file formats."""
    rows = []
    for name in sorted(formats.FORMATS):
        entry = formats.named(name)
        rows.append((
            name, "read, write" if entry.write else "read", "yes" if entry.timed else "no",
            "several" if entry.many else "one", " ".join(entry.extensions), entry.summary,
        ))  # fmt: skip
    _table(("format", "can", "word times", "documents", "extensions", "what"), rows)


@cli.command("corpora")
def corpora_command() -> None:
    """List the corpora that can be read for training and scoring."""
    from interpunct import corpora

    rows = []
    for name in corpora.CORPORA:
        corpus = corpora.named(name)
        rows.append(
            (
                name,
                corpus.words,
                " ".join(corpus.splits),
                " ".join(corpus.tracks),
                corpus.licence,
                corpus.summary,
            )
        )
    _table(("corpus", "words", "splits", "tracks", "licence", "what"), rows)


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    table = Table(*header, box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*map(escape, row))
    _print(table)


def _print(renderable: Any) -> None:
    from rich.console import Console

    # A table in a pipe is for other programs: it is never folded.
    Console(width=None if sys.stdout.isatty() else 400).print(renderable)


def _complain(message: str) -> None:
    if sys.stderr is not None:
        click.echo(f"interpunct: error: {' '.join(message.split())}", err=True)


def _forget_stdout() -> None:
    """Keep Python from flushing, at its end, what nobody can take any more."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(arguments: list[str] | None = None) -> None:
    """Run the command and exit with its code."""
    arguments = sys.argv[1:] if arguments is None else arguments
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
        _complain(error.format_message() + usage)
        code = 2
    except InterpunctError as error:
        if debug:
            raise
        _complain(str(error))
        code = 2
    except BrokenPipeError:
        code = 1  # the reader went away, e.g. `| head`: nothing is left to say
        _forget_stdout()
    except OSError as error:
        _complain(f"cannot go on: {error.strerror or error}; check the disk and the output")
        code = 1
        _forget_stdout()
    except KeyboardInterrupt:
        code = 130
    sys.exit(code if isinstance(code, int) else 0)
