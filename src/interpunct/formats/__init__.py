"""The table of file formats, and reading and writing by name, extension or content.

In: a path or a `Source`. Out: transcripts; and back. A new format is one file and one row of `FORMATS`,
whose order is the order of sniffing: the strictest first, plain text last.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from interpunct.errors import InputError
from interpunct.formats.format import Format, WriteOptions
from interpunct.formats.source import Source
from interpunct.tables import resolve
from interpunct.transcript import Transcript

__all__ = [
    "ALIASES", "FORMATS", "Format", "Source", "WriteOptions", "by_extension", "named", "read", "read_all",
    "read_source", "replace_file", "sniff", "write", "write_all", "written",
]  # fmt: skip

FORMATS: dict[str, str] = {
    "parquet": "interpunct.formats.parquet:PARQUET",
    "vtt": "interpunct.formats.subtitles:VTT",
    "srt": "interpunct.formats.subtitles:SRT",
    "textgrid": "interpunct.formats.textgrid:TEXTGRID",
    "json": "interpunct.formats.own:JSON",
    "jsonl": "interpunct.formats.jsonl:JSONL",
    "whisper": "interpunct.formats.whisper:WHISPER",
    "vosk": "interpunct.formats.vosk:VOSK",
    "aws": "interpunct.formats.cloud.aws:AWS",
    "google": "interpunct.formats.cloud.google:GOOGLE",
    "deepgram": "interpunct.formats.cloud.deepgram:DEEPGRAM",
    "assemblyai": "interpunct.formats.cloud.assemblyai:ASSEMBLYAI",
    "azure": "interpunct.formats.cloud.azure:AZURE",
    "speechmatics": "interpunct.formats.cloud.speechmatics:SPEECHMATICS",
    "watson": "interpunct.formats.cloud.watson:WATSON",
    "rttm": "interpunct.formats.rttm:RTTM",
    "stm": "interpunct.formats.stm:STM",
    "ctm": "interpunct.formats.ctm:CTM",
    "iwslt": "interpunct.formats.iwslt:IWSLT",
    "plain": "interpunct.formats.plain:PLAIN",
}
_OPEN = re.compile(r"/dev/(?:stdout|stderr)|/(?:dev|proc/self)/fd/(\d{1,9})")
_NUMBERS = {"stdout": 1, "stderr": 2}
_UMASK = os.umask(0)
os.umask(_UMASK)  # it can only be read by setting it; done once, before there are threads
ALIASES = {"txt": "plain", "text": "plain"}


def named(name: str) -> Format:
    """Return the format of a name.

    >>> named("txt").name
    'plain'
    """
    found: Format = resolve(FORMATS, "format", ALIASES.get(name, name))
    return found


def sniff(source: Source) -> Format:
    """Tell a source's format by its content, and by its name where the content does not show one.

    A file cut off in its first line shows nothing, but `talk.json` is no prose: its reader will say what is wrong.
    """
    found = next(known for known in map(named, FORMATS) if known.sniff(source))
    suffix = Path(source.name).suffix.lower()
    if found.name == "plain" and suffix not in found.extensions and source.text.strip():
        return next((known for known in map(named, FORMATS) if suffix in known.extensions), found)
    return found


def by_extension(path: str | Path) -> Format:
    """Return the format that a file of this name is written in.

    >>> by_extension("talk.srt").name
    'srt'
    """
    suffix = Path(path).suffix.lower()
    for known in map(named, FORMATS):
        if suffix in known.extensions and known.write is not None:
            return known
    writable = sorted({e for f in map(named, FORMATS) if f.write is not None for e in f.extensions})
    raise InputError(f"no format has the extension {suffix!r}; use one of {' '.join(writable)}", path=str(path))


def read_source(source: Source, format: Format | None = None) -> Iterator[Transcript]:
    """Read every document of a source, in the given format or the one its content shows."""
    try:
        yield from (format or sniff(source)).read(source)
    except InputError as error:
        raise error.at(path=source.name) from None


def read_all(path: str | Path, *, format: str | None = None, encoding: str | None = None) -> list[Transcript]:
    """Read every document of a file."""
    source = Source.open(path, encoding=encoding)
    return list(read_source(source, named(format) if format else None))


def read(path: str | Path, *, format: str | None = None, encoding: str | None = None) -> Transcript:
    """Read a file that holds one document."""
    transcripts = read_all(path, format=format, encoding=encoding)
    if len(transcripts) != 1:
        raise InputError(f"holds {len(transcripts)} documents; use interpunct.read_all", path=str(path))
    return transcripts[0]


def write(
    transcript: Transcript,
    path: str | Path,
    *,
    format: str | None = None,
    options: WriteOptions | None = None,
) -> None:
    """Write one transcript to a file, in the given format or the one of the file's extension."""
    write_all([transcript], path, format=format, options=options)


def write_all(
    transcripts: Iterable[Transcript],
    path: str | Path,
    *,
    format: str | None = None,
    options: WriteOptions | None = None,
) -> None:
    """Write transcripts to one file. The file appears whole or not at all."""
    chosen = named(format) if format else by_extension(path)
    replace_file(Path(path), written(transcripts, chosen, options or WriteOptions()))


def replace_file(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a file beside its place and rename it: it appears whole or not at all.

    A link is followed; a device or a pipe is written into, and so is what is open already, like /dev/stdout.
    """
    try:
        if (is_open := _OPEN.fullmatch(str(path))) is not None:
            with os.fdopen(os.dup(int(is_open[1] or _NUMBERS[path.name])), "wb") as stream:
                stream.writelines(pieces)
            return
        path = path.resolve()
        if path.exists() and not path.is_file() and not path.is_dir():
            with path.open("wb") as device:
                device.writelines(pieces)
            return
        _write_beside(path, pieces)
    except BrokenPipeError:
        raise  # whoever read it has gone: nothing is wrong with the place
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"cannot be written: {reason}; choose another place", path=str(path)) from None


def _write_beside(path: Path, pieces: Iterable[bytes]) -> None:
    descriptor, beside = tempfile.mkstemp(prefix=".interpunct-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(pieces)
        # mkstemp makes it private, and a result is not: it is as open as the file that was there, or as any new one.
        Path(beside).chmod(path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_UMASK)
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def written(transcripts: Iterable[Transcript], format: Format, options: WriteOptions) -> Iterator[bytes]:
    """Yield the bytes of a file in a format."""
    if format.write is None:
        raise InputError(f"format {format.name!r} can be read but not written; use --to json")
    try:
        for piece in format.write(transcripts, options):
            yield piece.encode("utf-8") if isinstance(piece, str) else piece
    except UnicodeEncodeError as error:
        what = f"{error.object[error.start]!r} is half a character and cannot be written as UTF-8; remove it"
        raise InputError(what) from None
