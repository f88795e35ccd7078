"""`Corpus`: what a corpus is, as data, and how the files of corpora are opened and split.

In: the data folder, a split and a track. Out: transcripts, one document at a time, so that memory holds one
document and never a corpus. A broken file is an `InputError` with its path and line. Nothing here knows the
layout of any one corpus: that is the business of the file of its family.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interpunct.errors import InputError, UnknownNameError
from interpunct.transcript import Transcript

TENTHS = ("train", "dev", "test")
"""The splits of a corpus that has none of its own; see `tenth`."""


@dataclass(frozen=True)
class Corpus:
    """One corpus: what it holds, what may be done with it, and how it is read."""

    name: str
    summary: str
    licence: str
    words: str
    """About how many words it has, for people: "2.1M"."""
    splits: tuple[str, ...]
    read: Callable[[Path, str, str], Iterator[Transcript]]
    """(data folder, split, track) to transcripts; `corpora.read` has checked the names."""
    tracks: tuple[str, ...] = ("ref",)
    """Whose words: the reference first, then recognisers or selections of it."""
    timed: bool = False
    """Whether words have start and end."""
    shippable: bool = True
    """Whether a model that is shipped may be trained on it."""
    noncommercial: bool = False
    """Whether the licence, or the lack of one, keeps it from commercial use."""
    lower_names: bool = False
    """Whether names stand there in lower case, so that of a word in lower case nobody knows how it is written."""

    def check(self, split: str, track: str) -> None:
        """Refuse a split or a track that this corpus does not have."""
        if split not in self.splits:
            raise UnknownNameError(f"split of {self.name}", split, self.splits)
        if track not in self.tracks:
            raise UnknownNameError(f"track of {self.name}", track, self.tracks)


def tenth(index: int) -> str:
    """Return the split of a corpus's document by its place in the file.

    >>> [tenth(index) for index in (0, 1, 2, 9, 10)]
    ['test', 'dev', 'train', 'train', 'test']
    """
    return {0: "test", 1: "dev"}.get(index % 10, "train")


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number, line without its end) of a UTF-8 text file, packed with xz or not."""
    opened = lzma.open if path.suffix == ".xz" else open
    number = 0
    try:
        with opened(path, "rt", encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                yield number, line.rstrip("\r\n")
    except FileNotFoundError:
        raise InputError("no such file; check INTERPUNCT_DATA", path=str(path)) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=str(path)) from None
    except (lzma.LZMAError, EOFError) as error:
        raise InputError(f"broken xz file ({error}); fetch it again", path=str(path), line=number + 1) from None
    except UnicodeDecodeError:
        raise InputError("not UTF-8; fetch the file again", path=str(path), line=number + 1) from None


def filled_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number, line) of the lines that hold something: the documents of JSONL, not parsed yet."""
    return ((number, line) for number, line in lines(path) if line and not line.isspace())


def parsed(
    path: Path, documents: Iterable[tuple[int, str]], build: Callable[[Any], Transcript]
) -> Iterator[Transcript]:
    """Build a transcript from each JSON document; what is wrong with one is told with its line."""
    for number, line in documents:
        try:
            transcript = build(json.loads(line))
        except InputError as error:
            raise error.at(path=str(path), line=number) from None
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            what = f"not a document of this corpus ({type(error).__name__}: {error}); fetch the file again"
            raise InputError(what, path=str(path), line=number) from None
        yield transcript


def parsed_split(path: Path, split: str, build: Callable[[Any], Transcript]) -> Iterator[Transcript]:
    """Build the transcripts of one split of a JSONL file that is split by tenths."""
    wanted = (found for index, found in enumerate(filled_lines(path)) if tenth(index) == split)
    return parsed(path, wanted, build)
