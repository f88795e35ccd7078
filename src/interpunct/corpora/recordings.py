"""The recordings of corpora that have some, and times that were found in them before.

In: the source of a transcript, or a transcript and a file. Out: where its recording lies; the transcript with the
file's times. Nothing here listens: `interpunct.audio` finds times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from interpunct import formats
from interpunct.errors import InputError
from interpunct.transcript import Transcript


def audio_path(corpus: str, root: Path, source: str) -> Path:
    """Return where the recording of a transcript's source lies, in a corpus with audio."""
    path = root / "audio" / corpus / f"{source}.opus"
    if not path.is_file():
        raise InputError(f"no audio for {source!r}; use the source of a transcript of {corpus}", path=str(path))
    return path


AUDIO: dict[str, Callable[[Path, str], Path]] = {name: partial(audio_path, name) for name in ("esic", "ljspeech")}
"""The corpora with recordings: (data folder, a transcript's source) to where the recording lies."""


def with_times(transcript: Transcript, path: Path) -> Transcript:
    """Return a transcript with the times of the one in a file, where that is there and has the same words."""
    if not path.exists():
        return transcript
    timed = formats.read(path)
    if [word.text for word in timed.words] != [word.text for word in transcript.words]:
        return transcript
    pairs = zip(transcript.words, timed.words, strict=True)
    return replace(transcript, words=tuple(replace(word, start=its.start, end=its.end) for word, its in pairs))
