"""`interpunct align` and `interpunct features`: what listens to recordings.

In: a recording and a transcript of it. Out: the transcript with the times of its words, or what can be heard at each.
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


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="[AUDIO] TIMED")
@click.option("-o", "--output", required=True, metavar="FILE.parquet", help="Where to write the table.")
@click.option("--phones/--no-phones", default=True, help="Find phones for durations, which takes most of the time.")
@click.option("--from", "from_", metavar="FORMAT", help="Format of the transcript; the content decides.")
@click.option("--encoding", metavar="NAME", help="Text encoding of the transcript; UTF-8 or a BOM's without it.")
def features(files: tuple[str, ...], output: str, phones: bool, from_: str | None, encoding: str | None) -> None:
    """Write what times and sound tell of each word: 162 columns.

    Without AUDIO it is what the times alone tell. A transcript without times gets them from the recording.
    """
    from interpunct.features.prosody import prosody_of
    from interpunct.features.prosody_parquet import write_prosody

    if len(files) > 2:
        raise InputError(f"{len(files)} files; give a recording and its transcript, or a transcript with times alone")
    check_encoding(encoding)
    read, _ = _read(files[-1], from_, encoding)
    write_prosody(output, [prosody_of(read, files[0] if len(files) == 2 else None, with_phones=phones)])


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
