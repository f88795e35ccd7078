"""Prosody: 162 features of the place after each word (Xu et al. 2017, section 4.2; the inventory is our own).

In: a transcript with times; its recording, and its words' phones, where there are any. Out: `Prosody`, one row per
word. What times alone tell is there without audio. A missing value is 0 and marked as not known; no NaN or infinity
leaves here. The columns are listed in `prosody_table.py`; `docs/prosody.md` says how each is measured.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interpunct.audio import align_phones, timed_phones
from interpunct.errors import InputError, UnknownNameError
from interpunct.features.durations import Columns, Phones, durations, pauses, turns
from interpunct.features.prosody_table import NAMES
from interpunct.features.register import numbered
from interpunct.features.spans import Spans
from interpunct.features.track import Track, read_track
from interpunct.features.voice import voices
from interpunct.transcript import Transcript, is_timed


@dataclass(frozen=True, eq=False)
class Prosody:
    """One row per word and one column per name; 0 where a value is missing, which `known` tells from a true 0."""

    values: NDArray[np.float32] = field(repr=False)
    known: NDArray[np.bool_] = field(repr=False)
    names: tuple[str, ...] = NAMES

    def __post_init__(self) -> None:
        wanted = (len(self.values), len(self.names))
        if self.values.shape != wanted or self.known.shape != wanted:
            raise InputError(
                f"prosody of {len(self.names)} features, but values of shape {self.values.shape} "
                f"and known of {self.known.shape}; give words × features in both"
            )

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: slice) -> Prosody:
        return Prosody(self.values[rows], self.known[rows], self.names)

    def column(self, name: str) -> list[float | None]:
        """Return a feature of all words, None where it is missing."""
        if name not in self.names:
            raise UnknownNameError("prosodic feature", name, self.names)
        place = self.names.index(name)
        known = self.known[:, place].tolist()
        return [value if there else None for value, there in zip(self.values[:, place].tolist(), known, strict=True)]


def measure_prosody(
    transcript: Transcript,
    *,
    track: Track | None = None,
    phones: Phones | None = None,
    names: tuple[str, ...] = NAMES,
) -> Prosody:
    """Measure a transcript whose words have times; a word without them has few features.

    `names` are the columns that are kept: for a long text without sound, `prosody_table.FROM_TIMES`.

    >>> from interpunct.transcript import Word
    >>> words = Word("stop", 0.0, 0.5), Word("now", 0.75, 1.0)
    >>> measure_prosody(Transcript(words)).column("pause_after_s")
    [0.25, None]
    """
    words = transcript.words
    if phones is not None and len(phones) != len(words):
        raise InputError(f"phones of {len(phones)} words for a transcript of {len(words)}; give one entry a word")
    spans = Spans.of(words)
    owners, speakers = numbered([word.speaker for word in words])
    # Absurd times overflow on the way; what is not a number in the end is missing.
    with np.errstate(all="ignore"):
        columns = pauses(spans, owners, speakers)
        columns |= durations(words, spans, phones or ((),) * len(words), owners, speakers)
        columns |= turns(words, spans)
        if track is not None:
            columns |= voices(track, spans, owners, speakers)
        return _sealed(columns, len(words), names)


def prosody_of(
    transcript: Transcript, audio: str | Path | None = None, *, with_phones: bool = True
) -> tuple[Transcript, Prosody]:
    """Measure a transcript beside its recording, and return it with the times that were used.

    Phones are found at the words' times; `with_phones=False` does without. A transcript in which fewer than half of the
    words have both times gets the aligner's, and its phones, whatever `with_phones` says.
    """
    if audio is None:
        return transcript, measure_prosody(transcript)
    timed = is_timed(transcript)
    phones: Phones | None = None
    if timed and with_phones:
        phones = timed_phones(audio, transcript)
    elif transcript.words and not timed:
        found = align_phones(audio, transcript)
        transcript, phones = found.transcript, found.phones
    return transcript, measure_prosody(transcript, track=read_track(audio), phones=phones)


def _sealed(columns: Columns, count: int, names: tuple[str, ...]) -> Prosody:
    """Put the columns in their order and take out what is not a number."""
    nothing = np.full(count, np.nan)
    matrix = np.stack([columns.get(name, nothing) for name in names], axis=1).astype(np.float32)
    known = np.isfinite(matrix)
    return Prosody(np.where(known, matrix, np.float32(0.0)), known, names)
