"""From what a model says to what stands in the text.

In: features through a model. Out: words with marks, cases and confidences. `windows` takes documents of any length
through a model's context, `decoder` turns scores into tags.
"""

from __future__ import annotations

from interpunct.decode.decoder import DecodeOptions, Decoder, case_is_known, is_readable, turn_ends

__all__ = ["DecodeOptions", "Decoder", "case_is_known", "is_readable", "turn_ends"]
