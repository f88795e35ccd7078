"""The audio room: a recording beside its transcript.

In: any audio that soundfile reads, and the words that were said. Out: when each word, and each phone of it, was said.
Needs the extra [audio], which is imported only when used. `sound.py` reads samples, `speech.py` finds pauses,
`window.py` cuts an hour into pieces, `spelling.py` says how words sound, `listener.py` hears them in a piece, and
`aligner.py` walks over the recording; `timed_phones.py` finds the phones of words that have times already,
and `reach.py` says what a recording leaves out.
"""

from __future__ import annotations

from interpunct.audio.aligner import AlignOptions, AudioAlignment, Phone, align_audio, align_phones
from interpunct.audio.timed_phones import timed_phones

__all__ = ["AlignOptions", "AudioAlignment", "Phone", "align_audio", "align_phones", "timed_phones"]
