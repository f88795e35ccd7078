"""`interpunct align`: what listens to recordings.

In: a recording and a transcript of it. Out: the transcript with the times of its words.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from interpunct import formats
from interpunct.bar import Bar
from interpunct.cli.restoring import check_encoding, cue_options, io_options, write_options
from interpunct.errors import InputError
from interpunct.formats import Format, Source
from interpunct.transcript import Transcript


@click.command()
@click.argument("audio", metavar="AUDIO")
@click.argument("transcript", metavar="TRANSCRIPT")
@io_options
@cue_options
def align(audio: str, transcript: str, output: str | None, to: str | None, **io: Any) -> None:
    """Time a transcript's words by a recording."""
    from interpunct.audio import align_audio

    check_encoding(io["encoding"])
    read, reader = _read(transcript, io["from_"], io["encoding"])
    writer = _writer(reader, output, to)
    with Bar(1) as bar:
        timed = align_audio(audio, read, progress=bar.words)
    written = formats.written([timed], writer, write_options(io))
    if output is not None:
        formats.replace_file(Path(output), written)
    else:
        sys.stdout.buffer.write(b"".join(written))
        sys.stdout.buffer.flush()
    lost = sum(word.start is None for word in timed.words)
    if lost:
        click.echo(f"{lost} of {len(timed.words)} words could not be placed and have no times", err=True)


def _read(path: str, name: str | None, encoding: str | None) -> tuple[Transcript, Format]:
    """Read the one document of a transcript."""
    source = Source.open(path, encoding=encoding)
    reader = formats.named(name) if name else formats.named("plain") if path == "-" else formats.sniff(source)
    documents = list(formats.read_source(source, reader))
    if len(documents) != 1:
        raise InputError(f"holds {len(documents)} documents, and a recording is one; give its transcript", path=path)
    return documents[0], reader


def _writer(reader: Format, output: str | None, to: str | None) -> Format:
    """Choose by --to, else by the output's extension, else the input's format, where it holds times, or JSON."""
    if to is not None:
        return formats.named(to)
    if output is not None and Path(output).suffix:
        return formats.by_extension(output)
    return reader if reader.timed and reader.write is not None else formats.named("json")
