"""`interpunct train`, `tune`, `calibrate`, `export` and `recover`: what makes models.

In: a configuration, or a model's folder. Out: a folder.
"""

from __future__ import annotations

from typing import Any

import click


@click.command()
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


@click.command()
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


@click.command()
@click.argument("model", metavar="MODEL_DIR")
@click.option("-o", "--output", required=True, metavar="DIR", help="The folder of the exported model.")
@click.option("--int8", is_flag=True, help="Store weights as bytes.")
@click.option(
    "--bits",
    type=click.Choice(["6", "8"]),
    default="8",
    show_default=True,
    help="With --int8: bits of a transformer's or a llama's weight on disk, a byte once it is loaded.",
)
@click.option(
    "--by",
    "packs",
    multiple=True,
    metavar="PACK",
    help="With --int8: text by which a transformer's weights are rounded, so that its answers change least.",
)
def export(model: str, output: str, int8: bool, bits: str, packs: tuple[str, ...]) -> None:
    """Export a trained model to ONNX, which runs without torch."""
    from interpunct.export import export as run_export

    description = run_export(model, output, int8=int8, bits=6 if bits == "6" else 8, packs=packs)
    click.echo(f"{description.title} written to {output}")


@click.command()
@click.argument("model", metavar="MODEL")
@click.option("-o", "--output", required=True, metavar="DIR", help="The folder of the model, for `model.start`.")
def recover(model: str, output: str) -> None:
    """Make of a bundled or exported model one that training can go on from."""
    from interpunct.export.recover import recover as run_recovery
    from interpunct.restore import find_model

    description = run_recovery(find_model(model), output)
    click.echo(f"{description.title}, a {description.type}, written to {output}")


@click.command()
@click.argument("model", metavar="MODEL_DIR")
@click.option(
    "--on", "names", multiple=True, required=True, metavar="CORPUS:SPLIT", help="A held-out corpus, or several."
)
@click.option("--words", type=click.IntRange(min=1), help="Only the first so many words of each.")
def calibrate(model: str, names: tuple[str, ...], words: int | None) -> None:
    """Find from which probability on marks are best written, and tell the model."""
    from interpunct.train.calibrate import calibrate as run_calibration

    description, gain = run_calibration(model, names, words=words)
    click.echo(f"{description.title}: F1 {gain.before:.4f} without factors, {gain.after:.4f} with")
    for mark, factor in description.scales.items():
        click.echo(f"  {mark or 'none'} = {factor}")
