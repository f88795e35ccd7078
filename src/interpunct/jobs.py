"""One input through the whole house: read, restore or only convert, write.

In: a path and options, both plain data that can be sent to another process. Out: an `Outcome`: the bytes
for stdout, or nothing where a file was written, or the error. An input that fails never stops the others.
"""

from __future__ import annotations

import glob
import os
import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path

from interpunct import formats
from interpunct.decode import DecodeOptions
from interpunct.errors import InputError, InterpunctError
from interpunct.formats import Format, Source, WriteOptions
from interpunct.models.scores import Scores, end_chances
from interpunct.restore import Progress, Restorer, load
from interpunct.transcript import Transcript


@dataclass(frozen=True)
class JobOptions:
    """How every input of a call is treated. Without a model nothing is restored."""

    model: str | None = None
    threads: int | None = None
    decode: DecodeOptions = field(default_factory=DecodeOptions)
    from_: str | None = None
    to: str | None = None
    encoding: str | None = None
    write: WriteOptions = field(default_factory=WriteOptions)
    audio: str | None = None
    """The recording of the one input."""
    plot: str | None = None
    """Where to draw how the one input is said, and where its sentences end."""
    plot_from: float = 0.0
    """The second at which the picture begins."""


@dataclass(frozen=True)
class Job:
    """One input and where its result goes: a file, a file in a folder, or (None) stdout."""

    path: str
    output: str | None = None
    into_folder: bool = False
    given: bytes | None = field(default=None, repr=False)
    """What the input holds, where it can be read only once: standard input or a pipe."""

    def source(self, encoding: str | None) -> Source:
        """Return the input's content."""
        if self.given is None:
            return Source.open(self.path, encoding=encoding)
        return Source(self.path, self.given, encoding)


@dataclass(frozen=True)
class Outcome:
    """What became of one job."""

    job: Job
    data: bytes | None = None
    error: InterpunctError | None = None
    """What went wrong; where only the picture did, the result is there all the same."""
    trace: str = ""
    note: str = ""
    """What a user should know of a job that went well."""


def expand(inputs: Iterable[str]) -> list[str]:
    """Turn files, folders and globs into files; nothing at all is standard input.

    A folder gives the files in it, those in its own folders and hidden ones left out, in the order of their names; one
    that gives none stays, so that reading it says so, and the others go on.
    """
    paths: list[str] = []
    for given in inputs:
        if not given:
            raise InputError("an input has no name; is a variable empty?")
        if given == "-" or os.path.isfile(given):  # noqa: PTH113 - Path raises for names too long
            paths.append(given)
        elif os.path.isdir(given):  # noqa: PTH112
            paths.extend(_files_in(Path(given)) or [given])
        else:
            found = sorted(filter(os.path.isfile, glob.glob(given, recursive=True)))  # noqa: PTH207
            paths.extend(found or [given])  # reading it will say what is wrong, and the others go on
    return paths or ["-"]


def _files_in(folder: Path) -> list[str]:
    try:
        return sorted(str(file) for file in folder.iterdir() if file.is_file() and file.name[0] != ".")
    except OSError:
        return []


def run_job(job: Job, options: JobOptions, progress: Progress | None = None) -> Outcome:
    """Run one job; what goes wrong with its input is told, not raised."""
    try:
        return _run(job, options, progress)
    except InterpunctError as error:
        return Outcome(job, error=error, trace=traceback.format_exc())
    except OSError as error:
        what = f"cannot be read or written: {error.strerror or error}; check it"
        return Outcome(job, error=InputError(what, path=job.path), trace=traceback.format_exc())
    except RecursionError:
        return Outcome(job, error=InputError("nested too deeply; give a flatter file", path=job.path))
    except MemoryError:
        return Outcome(job, error=InputError("too large for this machine's memory", path=job.path))


def _run(job: Job, options: JobOptions, progress: Progress | None) -> Outcome:
    source = job.source(options.encoding)
    reader = _reader(job, options, source)
    writer = _writer(job, options, reader)
    transcripts: Iterable[Transcript] = formats.read_source(source, reader)
    if options.model is not None:
        restorer = _restorer(options.model, options.threads)
        if options.audio is None and options.plot is None:
            transcripts = restorer.restore_all(transcripts, options.decode, progress=progress)
        else:
            return _with_sound(job, options, restorer, list(transcripts), writer, progress)
    return Outcome(job, _written(job, transcripts, writer, options.write), note=_unread(job, options, source))


def _unread(job: Job, options: JobOptions, source: Source) -> str:
    """Say what standard input seems to be that was read as plain text."""
    if job.path != "-" or options.from_:
        return ""
    seems = formats.sniff(source).name
    return "" if seems == "plain" else f"standard input was read as plain text; if it is {seems}, say --from {seems}"


def _written(job: Job, transcripts: Iterable[Transcript], writer: Format, options: WriteOptions) -> bytes | None:
    """Write where the job says; what goes to stdout is returned."""
    if job.output is not None and job.into_folder:
        _write_into_folder(job, transcripts, writer, options)
        return None
    pieces = _named(job.path, formats.written(transcripts, writer, options))
    if job.output is None:
        return b"".join(pieces)
    formats.replace_file(Path(job.output), pieces)
    return None


def _with_sound(
    job: Job,
    options: JobOptions,
    restorer: Restorer,
    documents: Sequence[Transcript],
    writer: Format,
    progress: Progress | None,
) -> Outcome:
    """Restore and write the one document of a recording, and draw it where that is asked for."""
    if len(documents) != 1:
        raise InputError(
            f"holds {len(documents)} documents, and a recording is one; give its transcript", path=job.path
        )
    marks = restorer.model.labels.get("mark", ())
    if options.plot is not None and not marks:
        raise InputError(f"model {restorer.model.name} knows no marks to draw; use another model", path=job.path)
    blocks: list[Scores] = []
    watch = None if options.plot is None else blocks.append
    restored = restorer.restore(documents[0], options.decode, audio=options.audio, progress=progress, watch=watch)
    note = ""
    if options.audio is not None:
        from interpunct.audio.reach import unheard

        note = unheard(documents[0], restored, options.audio)
    outcome = Outcome(job, _written(job, [restored], writer, options.write), note=note)
    if options.plot is not None:
        from interpunct.features.speech_plot import draw_speech

        ends = end_chances(blocks, marks)
        try:
            draw_speech(options.plot, restored.words, ends.tolist(), audio=options.audio, begin_s=options.plot_from)
        except InputError as error:
            return replace(outcome, error=error.at(path=job.path), trace=traceback.format_exc())
    return outcome


def _write_into_folder(job: Job, transcripts: Iterable[Transcript], writer: Format, options: WriteOptions) -> None:
    """Write a file for the input, or one for each of its documents where the format holds only one."""
    target = target_of(job, writer)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror}; give another folder", path=str(target.parent)) from None
    given = iter(transcripts)
    first = list(islice(given, 2))
    if writer.many or len(first) < 2:
        everything = chain(first, given)
        formats.replace_file(target, _named(job.path, formats.written(everything, writer, options)))
        return
    # A folder of its own: no other input's result can have such a name.
    target.with_suffix("").mkdir(exist_ok=True)
    for number, transcript in enumerate(chain(first, given), start=1):
        own = target.with_suffix("") / f"{number}{target.suffix}"
        formats.replace_file(own, _named(job.path, formats.written([transcript], writer, options)))


def _reader(job: Job, options: JobOptions, source: Source) -> Format:
    """Choose by --from, else by the content; standard input is plain text."""
    if options.from_:
        return formats.named(options.from_)
    return formats.named("plain") if job.path == "-" else formats.sniff(source)


def _named(path: str, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Name the input in what goes wrong while its result is written."""
    try:
        yield from pieces
    except InputError as error:
        raise error.at(path=path) from None


def _writer(job: Job, options: JobOptions, reader: Format) -> Format:
    """Choose by --to, else by the output's extension where the input's format has another, else the input's."""
    if options.to:
        return formats.named(options.to)
    suffix = "" if job.output is None or job.into_folder else Path(job.output).suffix.lower()
    if suffix and (options.model is None or suffix not in reader.extensions):
        return formats.by_extension(job.output or "")
    return reader if reader.write is not None else formats.named("json")


def plan(inputs: Sequence[str], output: str | None, options: JobOptions) -> list[Job]:
    """Turn a call's inputs and output into jobs; refuse a call in which a result would replace another or an input."""
    if options.audio is not None or options.plot is not None:
        option = "--plot" if options.audio is None else "--audio"
        count = len(expand(inputs))
        if count != 1:
            raise InputError(f"{count} inputs, but {option} is about one; give one transcript")
    if options.to is not None and formats.named(options.to).write is None:
        raise InputError(f"format {options.to!r} can be read but not written; use --to json")
    paths = expand(inputs)
    if output is None or output == "-":
        return [Job(path, given=_read_once(path)) for path in paths]
    if not output:
        raise InputError("the output has no name; is a variable empty?")
    several = len(paths) > 1 or any(os.path.isdir(given) for given in inputs)  # noqa: PTH112
    into_folder = output.endswith(("/", os.sep)) or Path(output).is_dir() or several
    if into_folder and not Path(output).is_dir() and (Path(output).exists() or _is_file_name(output)):
        raise InputError(f"{len(paths)} inputs cannot go into one file; give a folder", path=output)
    if not into_folder and options.to is None and Path(output).suffix and not Path(output).exists():
        formats.by_extension(output)  # says which extensions there are
    work = [Job(path, output, into_folder, _read_once(path)) for path in paths]
    if into_folder:
        _refuse_clashes(work, options)
    return work


def _read_once(path: str) -> bytes | None:
    """Read what nobody can read again, and another process not at all: standard input, a pipe."""
    if path != "-" and (os.path.isfile(path) or not os.path.exists(path)):  # noqa: PTH110, PTH113
        return None
    try:
        return Source.open(path).data
    except InputError:
        return None  # the job tries again, and tells


def _is_file_name(output: str) -> bool:
    suffix = Path(output).suffix.lower()
    return not output.endswith(("/", os.sep)) and any(
        suffix in f.extensions for f in map(formats.named, formats.FORMATS)
    )


def _refuse_clashes(work: Sequence[Job], options: JobOptions) -> None:
    taken: dict[Path, str] = {}
    inputs = {Path(job.path).resolve() for job in work}
    for job in work:
        target = target_of(job, _expected_writer(job, options)).resolve()
        if target in taken:
            raise InputError(f"{taken[target]} and {job.path} would both be written to {target}; use two folders")
        if target in inputs and target != Path(job.path).resolve():
            raise InputError(f"the result of {job.path} would replace the input {target}; use another folder")
        taken[target] = job.path


def _expected_writer(job: Job, options: JobOptions) -> Format:
    """Return the format a job will be written in; where it cannot be read, what it would be as plain text."""
    if options.to:
        return formats.named(options.to)
    try:
        return _writer(job, options, _reader(job, options, job.source(options.encoding)))
    except InterpunctError:
        return formats.named("plain")


def _stem(job: Job) -> str:
    return "stdin" if job.path == "-" else Path(job.path).stem


def target_of(job: Job, writer: Format) -> Path:
    """Return the file in the output folder that a job writes: the input's stem, the format's extension."""
    return Path(job.output or os.curdir) / (_stem(job) + writer.extensions[0])


@lru_cache(maxsize=2)
def _restorer(model: str, threads: int | None) -> Restorer:
    return load(model, threads=threads)
