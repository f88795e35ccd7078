"""`interpunct metrics`, `models`, `formats` and `corpora`: what there is.

In: nothing. Out: tables.
"""

from __future__ import annotations

import click

from interpunct import formats
from interpunct.cli.terminal import print_table


@click.command("metrics")
def metrics_command() -> None:
    """List the metrics."""
    from interpunct import metrics

    rows = [(name, metrics.named(name).summary) for name in metrics.METRICS]
    print_table(("metric", "what"), [*rows, (metrics.WISEBE, "sentence boundaries against several references")])


_MADE_BY = {"onnx": "export", "ensemble": "recipes/bundled/ensemble.py"}


@click.command("models")
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
    print_table(("model", "version", "size", "marks", "tasks"), rows)
    print_table(("type", "made by"), [(name, _MADE_BY.get(name, "train")) for name in MODELS])


@click.command("formats")
def formats_command() -> None:
    """List the file formats."""
    rows = []
    for name in sorted(formats.FORMATS):
        entry = formats.named(name)
        rows.append((
            name, "read, write" if entry.write else "read", "yes" if entry.timed else "no",
            "several" if entry.many else "one", " ".join(entry.extensions), entry.summary,
        ))  # fmt: skip
    print_table(("format", "can", "word times", "documents", "extensions", "what"), rows)


@click.command("corpora")
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
    print_table(("corpus", "words", "splits", "tracks", "licence", "what"), rows)
