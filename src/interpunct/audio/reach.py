"""What a recording leaves out of its transcript.

In: a recording, and a transcript before and after it was listened to. Out: whether anybody speaks in the recording at
all, and a sentence for the user where it does not reach all words.
"""

from __future__ import annotations

from pathlib import Path

from interpunct.audio.sound import sound_blocks, sound_info
from interpunct.audio.speech import speech_frames
from interpunct.transcript import Transcript, is_timed


def is_silent(audio: str | Path) -> bool:
    """Say whether nobody speaks in a recording; where somebody does, no more is read than up to there."""
    return not any(speech_frames(block).any() for block in sound_blocks(audio))


def unheard(transcript: Transcript, timed: Transcript, audio: str | Path) -> str:
    """Say which words a recording leaves out; nothing where it holds them all.

    `transcript` is what was given, `timed` the same words with the times that were found.
    """
    count = len(timed.words)
    if not is_timed(transcript):
        lost = sum(word.start is None for word in timed.words)
        return f"{lost} of {count} words could not be placed and have no times" if lost else ""
    end_s = sound_info(audio).duration_s
    behind = sum(word.start is not None and word.start >= end_s for word in timed.words)
    if not behind:
        return ""
    return f"the recording ends at {end_s:.1f} s, before {behind} of {count} words; check that it is whole"
