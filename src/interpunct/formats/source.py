"""`Source`: the bytes of one input, its name, and how they become text.

In: a path, `-` for standard input, or bytes. Out: text, or an error that names the byte. UTF-8 is
expected, a BOM is fine, UTF-16 and UTF-32 are known by theirs. Nothing is guessed beyond that.
"""

from __future__ import annotations

import codecs
import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from interpunct.errors import InputError
from interpunct.formats.json_keys import HEAD_CHARACTERS, json_keys

_BOMS = (  # UTF-32's begins with UTF-16's, so it comes first
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class Source:
    """One input: where it came from and what it holds."""

    name: str
    data: bytes = field(repr=False)
    encoding: str | None = None

    @classmethod
    def open(cls, path: str | Path, *, encoding: str | None = None) -> Source:
        """Read a file, or standard input for `-`."""
        if str(path) == "-":
            if sys.stdin is None:
                raise InputError("standard input is closed; give a file", path="-")
            return cls("-", sys.stdin.buffer.read(), encoding)
        try:
            return cls(str(path), Path(path).read_bytes(), encoding)
        except IsADirectoryError:
            what = "a folder, not a file; give a file, or a folder with files in it (folders in it are not read)"
            raise InputError(what, path=str(path)) from None
        except FileNotFoundError:
            raise InputError("no such file; check the name", path=str(path)) from None
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}; check it", path=str(path)) from None

    @property
    def id(self) -> str:
        """The file's name without its folder: what a transcript remembers as its source."""
        return Path(self.name).name

    @cached_property
    def text(self) -> str:
        """The whole text."""
        encoding = self.encoding
        if encoding is None:
            encoding = next((name for bom, name in _BOMS if self.data.startswith(bom)), "utf-8")
        try:
            text = self.data.decode(encoding)
        except LookupError:
            raise InputError(f"unknown encoding {encoding!r}; use one that Python knows", path=self.name) from None
        except UnicodeError as error:
            what = "UTF-8" if encoding.startswith("utf-8") else encoding
            where = f" at byte {error.start}" if isinstance(error, UnicodeDecodeError) else ""
            another = "another " if self.encoding else ""
            raise InputError(f"not {what}{where}; use {another}--encoding", path=self.name) from None
        if "\0" in text:
            line = text.count("\n", 0, text.index("\0")) + 1
            what = "binary data (a NUL character); give a text file, or --encoding utf-16-le for UTF-16 without a BOM"
            raise InputError(what, path=self.name, line=line)
        return text.removeprefix("\ufeff")

    @property
    def head(self) -> str:
        """The first 64k characters: enough to tell a format by."""
        return self.text[:HEAD_CHARACTERS]

    @cached_property
    def json_keys(self) -> frozenset[str]:
        """The paths of the keys where the text is JSON."""
        return json_keys(self.text)

    def lines(self) -> list[tuple[int, str]]:
        """Return (line number, line) pairs."""
        return list(enumerate(lines_of(self.text), start=1))


def lines_of(text: str) -> list[str]:
    """Return a text's lines; any of \\n, \\r\\n and \\r ends a line, nothing else does.

    Nor does \\r\\r\\n end two: it is what a file has whose \\r\\n was written as text once more.
    """
    if "\r" in text:
        text = text.replace("\r\r\n", "\n").replace("\r\n", "\n").replace("\r", "\n")
    return text.split("\n")
