"""interpunct puts marks, capitals and sentences back into what a speech recogniser wrote.

>>> import interpunct
>>> restorer = interpunct.load()
>>> result = restorer.restore("so how are you i am fine thanks")
"""

from __future__ import annotations

from interpunct.decode import DecodeOptions
from interpunct.errors import InterpunctError
from interpunct.formats import read, read_all, write
from interpunct.restore import Restored, Restorer, load
from interpunct.transcript import Sentence, Transcript, Word

__version__ = "0.1.0"

__all__ = [
    "DecodeOptions", "InterpunctError", "Restored", "Restorer", "Sentence", "Transcript", "Word",
    "__version__", "load", "read", "read_all", "write",
]  # fmt: skip
