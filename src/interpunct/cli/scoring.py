"""`interpunct evaluate`.

In: references and a hypothesis. Out: a table, JSON, CSV, Markdown or LaTeX; pictures and a page where they are wanted.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from interpunct import formats
from interpunct.cli.terminal import print_rich
from interpunct.errors import InputError


@click.command()
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
        others = classes != "4" or segments != "auto" or merge_mixed or from_
        if len(references) > 1 or metrics or baseline or align or units or plot or page or others:
            raise InputError("--by-time compares SU lines with one reference alone; leave the other options out")
        from interpunct.metrics.su_times import evaluate_times

        found = evaluate_times(references[0], hypothesis, tolerance_s=tolerance, draws=draws, encoding=encoding)
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
        print_rich(report.table(found))
