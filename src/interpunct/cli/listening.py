"""`interpunct align` and `interpunct features`: what listens to recordings.

In: a recording and a transcript of it. Out: the transcript with the times of its words, or what can be heard at each.
A recording or a transcript that will not do ends with exit code 1, a wrong call with 2, before anything is listened to.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from interpunct import formats
from interpunct.bar import Bar
from interpunct.cli.restoring import check_encoding, cue_options, cues_of
from interpunct.cli.terminal import complain
from interpunct.errors import InputError
from interpunct.formats import Format, Source, WriteOptions
from interpunct.transcript import Transcript

_RECORDINGS = frozenset((".wav", ".mp3", ".flac", ".ogg", ".opus", ".m4a", ".aac", ".wma", ".mp4", ".webm"))
_TIMELESS = frozenset(("plain", "iwslt"))
"""Formats that would lose every time that was found."""


def _reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    known = click.Choice([*formats.FORMATS, *formats.ALIASES])
    for option in (
        click.option(
            "--encoding", metavar="NAME", help="Text encoding of the transcript; UTF-8 or a BOM's without it."
        ),
        click.option("--from", "from_", type=known, metavar="FORMAT", help="Its format; the content decides."),
    ):
        command = option(command)
    return command


@click.command()
@click.argument("audio", metavar="AUDIO")
@click.argument("transcript", metavar="TRANSCRIPT")
@_reading_options
@click.option(
    "--to",
    type=click.Choice([*formats.FORMATS, *formats.ALIASES]),
    metavar="FORMAT",
    help="Output format; without it that of the output's name, or the transcript's if it holds times, or JSON.",
)
@click.option("-o", "--output", metavar="FILE", help="Where to write; stdout without it.")
@cue_options
@click.pass_context
def align(
    context: click.Context,
    /,
    audio: str,
    transcript: str,
    from_: str | None,
    encoding: str | None,
    to: str | None,
    output: str | None,
    **cues: Any,
) -> None:  # fmt: skip
    """Time a transcript's words by a recording."""
    from interpunct.audio import align_audio

    check_encoding(encoding)
    _check_files(transcript, output)
    chosen = formats.named(to) if to else formats.by_extension(output) if output and Path(output).suffix else None
    if chosen is not None and (chosen.name in _TIMELESS or chosen.write is None):
        raise InputError(f"{chosen.name} cannot be written with times; use json, srt, vtt or ctm")
    with _failing(context):
        read, reader = _read(transcript, from_, encoding)
        with Bar(1) as bar:
            timed = align_audio(audio, read, progress=bar.words)
        writer = chosen or (reader if reader.timed and reader.write is not None else formats.named("json"))
        _write(timed, writer, output, WriteOptions(cues=cues_of(cues)))
    lost = sum(word.start is None for word in timed.words)
    if lost:
        guessed = "" if writer.timed else "; where cues need times, theirs are guessed"
        click.echo(f"{lost} of {len(timed.words)} words could not be placed and have no times{guessed}", err=True)


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="[AUDIO] TIMED")
@_reading_options
@click.option("-o", "--output", required=True, metavar="FILE.parquet", help="Where to write the table.")
@click.option(
    "--phones/--no-phones",
    default=True,
    help="Find phones for durations, which takes about half of the time; words without times are timed all the same.",
)
@click.pass_context
def features(
    context: click.Context,
    /,
    files: tuple[str, ...],
    output: str,
    phones: bool,
    from_: str | None,
    encoding: str | None,
) -> None:  # fmt: skip
    """Write what times and sound tell of each word: 162 columns.

    Without AUDIO it is what the times alone tell. A transcript without times gets them from the recording.
    """
    from interpunct.audio.reach import unheard
    from interpunct.features.prosody import prosody_of
    from interpunct.features.prosody_parquet import write_prosody

    if len(files) > 2:
        raise InputError(f"{len(files)} files; give a recording and its transcript, or a transcript with times alone")
    if Path(output).suffix.lower() != ".parquet":
        raise InputError("the table is Parquet; give a name that ends with .parquet", path=output)
    check_encoding(encoding)
    _check_files(files[-1], output)
    audio = files[0] if len(files) == 2 else None
    with _failing(context):
        read, _ = _read(files[-1], from_, encoding)
        if audio is None and all(word.duration_s is None for word in read.words):
            raise InputError("no word has times; give the recording, too", path=files[-1])
        timed, found = prosody_of(read, audio, with_phones=phones)
        write_prosody(output, [(timed, found)])
        note = "" if audio is None else unheard(read, timed, audio)
    if note:
        click.echo(note, err=True)


@contextmanager
def _failing(context: click.Context) -> Iterator[None]:
    """Say what is wrong with an input, and end with 1."""
    try:
        yield
    except InputError as error:
        if context.obj:
            raise
        complain(str(error))
        context.exit(1)


def _check_files(transcript: str, output: str | None) -> None:
    """Refuse a call that can come to nothing, before an hour is listened to."""
    if Path(transcript).suffix.lower() in _RECORDINGS:
        raise InputError(
            "a recording where the transcript should be; give AUDIO first, then the transcript", path=transcript
        )
    if output is not None and Path(output).is_dir():
        raise InputError("a folder; give the name of a file", path=output)
    if output is not None and not Path(output).parent.is_dir():
        raise InputError("its folder is not there; make it first", path=output)


def _read(path: str, name: str | None, encoding: str | None) -> tuple[Transcript, Format]:
    """Read the one document of a transcript."""
    source = Source.open(path, encoding=encoding)
    reader = formats.named(name) if name else formats.sniff(source)
    documents = list(formats.read_source(source, reader))
    if len(documents) != 1:
        raise InputError(f"holds {len(documents)} documents, and a recording is one; give its transcript", path=path)
    if not documents[0].words:
        raise InputError("holds no words; give the words that were said", path=path)
    return documents[0], reader


def _write(timed: Transcript, writer: Format, output: str | None, options: WriteOptions) -> None:
    """Write the transcript; where a format needs more times than there are, all is kept as JSON."""
    if output is None:
        sys.stdout.buffer.write(b"".join(formats.written([timed], writer, options)))
        sys.stdout.buffer.flush()
        return
    try:
        formats.replace_file(Path(output), formats.written([timed], writer, options))
    except InputError as error:
        kept = Path(output).with_suffix(".json")
        if writer.name == "json" or kept.exists():
            raise
        formats.replace_file(kept, formats.written([timed], formats.named("json"), WriteOptions()))
        raise InputError(f"{error}; what was found is in {kept}, which `interpunct convert` reads") from None
