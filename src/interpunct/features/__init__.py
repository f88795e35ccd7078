"""What a model may look at, one row per word: texts now, prosody and syntax beside them."""

from interpunct.features.features import Features, normalise

__all__ = ["Features", "normalise"]
