"""Word vectors: read, written, and looked up, unknown words in one place.

In: a file of GloVe (text or npz), word2vec (text or binary) or Speech2Vec (word2vec's text). Out: `Embeddings`:
a row for each known word and one fixed row for all others. Nothing is trained here. Words are looked up as they
are, then in lower case.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from interpunct.errors import InputError

Vectors = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Embeddings:
    """Vectors by word; `unknown` stands for every word that has none."""

    words: tuple[str, ...]
    vectors: Vectors = field(repr=False)

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2 or len(self.words) != len(self.vectors):
            raise InputError(f"{len(self.words)} words but vectors of shape {self.vectors.shape}; give one row a word")

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""
        return int(self.vectors.shape[1])

    @cached_property
    def unknown(self) -> Vectors:
        """The one vector of all unknown words: the mean of the known ones."""
        return self.vectors.mean(axis=0) if len(self.vectors) else np.zeros(self.dimension, dtype=np.float32)

    @cached_property
    def table(self) -> Vectors:
        """All vectors, the unknown words' row last: what an embedding layer is filled with."""
        return np.vstack([self.vectors, self.unknown[None]]).astype(np.float32)

    @cached_property
    def _index(self) -> dict[str, int]:
        index = {word.lower(): row for row, word in reversed(list(enumerate(self.words)))}
        # A word as it is written comes before another that only looks like it in lower case.
        return index | {word: row for row, word in reversed(list(enumerate(self.words)))}

    def rows(self, texts: Iterable[str]) -> Rows:
        """Return each text's row of `table`.

        >>> Embeddings(("so", "it"), np.eye(2, dtype=np.float32)).rows(["It", "so", "goes"]).tolist()
        [1, 0, 2]
        """
        index, unknown = self._index, len(self.words)
        found = (index.get(text, index.get(text.lower(), unknown)) for text in texts)
        return np.fromiter(found, dtype=np.int64)

    def coverage(self, texts: Sequence[str]) -> float | None:
        """Return the share of texts that have a vector of their own."""
        return float(np.mean(self.rows(texts) < len(self.words))) if texts else None

    def reduced(self, dimension: int) -> Embeddings:
        """Return the first principal components: 50-d vectors from 100-d ones, where a paper used those."""
        if not 0 < dimension <= self.dimension:
            raise InputError(
                f"{self.dimension}-d vectors have no {dimension} components; ask for at most {self.dimension}"
            )
        centred = self.vectors - self.vectors.mean(axis=0)
        _, _, axes = np.linalg.svd(centred.T @ centred)
        return Embeddings(self.words, np.ascontiguousarray(centred @ axes[:dimension].T, dtype=np.float32))

    def completed(self, other: Embeddings) -> Embeddings:
        """Return these vectors and, for words that only `other` has, other's, mapped into this space.

        The map is linear, by least squares over the words that both have: neighbours stay neighbours, though the
        two were learned apart.

        >>> ours = Embeddings(("a", "b", "o"), np.array([[1, 0], [0, 1], [0, 0]], dtype=np.float32))
        >>> theirs = Embeddings(("a", "b", "o", "c"), np.array([[2, 0], [0, 2], [0, 0], [2, 2]], dtype=np.float32))
        >>> ours.completed(theirs).vectors[-1].round(3).tolist()
        [1.0, 1.0]
        """
        rows = other.rows(self.words)
        shared = rows < len(other.words)
        if not shared.any():
            raise InputError("the two files of vectors have no word in common; give others")
        known = frozenset(self.words)
        added = [row for row, word in enumerate(other.words) if word not in known]
        change, *_ = np.linalg.lstsq(_with_one(other.table[rows[shared]]), self.vectors[shared], rcond=None)
        mapped = _with_one(other.vectors[added]) @ change
        words = (*self.words, *(other.words[row] for row in added))
        return Embeddings(words, np.vstack([self.vectors, mapped]).astype(np.float32))

    def save(self, path: str | Path) -> None:
        """Write vectors in word2vec's text format, which is also Speech2Vec's; as .npz compactly, in half precision."""
        if str(path).endswith(".npz"):
            np.savez_compressed(path, words=np.array(self.words), vectors=self.vectors.astype(np.float16))
            return
        with Path(path).open("w", encoding="utf-8") as file:
            file.write(f"{len(self.words)} {self.dimension}\n")
            for word, vector in zip(self.words, self.vectors, strict=True):
                file.write(f"{word} {' '.join(map(repr, vector.tolist()))}\n")


def _with_one(vectors: Vectors) -> Vectors:
    return np.hstack([vectors, np.ones((len(vectors), 1), dtype=np.float32)])


def read_embeddings(path: str | Path) -> Embeddings:
    """Read vectors of any of the formats; the content decides which."""
    path = Path(path)
    try:
        if zipfile.is_zipfile(path):
            return _read_npz(path)
        with path.open("rb") as file:
            header = file.readline(1 << 16).split()
            if len(header) == 2 and all(part.isdigit() for part in header):
                words, dimension = map(int, header)
                body = file.tell()
                if _is_text(file.read(1 << 12)):
                    return _read_text(path, skip=1)
                file.seek(body)
                return _read_binary(path, file.read(), words, dimension)
        return _read_text(path, skip=0)
    except FileNotFoundError:
        raise InputError("no such file; check the name", path=str(path)) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}; check it", path=str(path)) from None


def _read_npz(path: Path) -> Embeddings:
    with np.load(path, allow_pickle=False) as data:
        if not {"words", "vectors"} <= set(data.files):
            raise InputError(f"holds {', '.join(data.files)}; needs `words` and `vectors`", path=str(path))
        return Embeddings(tuple(map(str, data["words"].tolist())), data["vectors"].astype(np.float32))


def _is_text(sample: bytes) -> bool:
    """Tell word2vec's text from its binary form: numbers between line ends from raw floats."""
    return all(byte in b"\t\n\r" or byte >= 0x20 for byte in sample) and b"\n" in sample + b"\n" * (len(sample) < 4096)


def _read_text(path: Path, *, skip: int) -> Embeddings:
    words: list[str] = []
    rows: list[Vectors] = []
    with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            if number <= skip or not line.strip():
                continue
            word, _, numbers = line.rstrip().partition(" ")
            try:
                vector = np.array(numbers.split(), dtype=np.float32)
            except ValueError:
                raise InputError("not a word and its numbers; mend the line", path=str(path), line=number) from None
            if not len(vector) or (rows and len(vector) != len(rows[0])):
                wanted = f", {len(rows[0])} were expected" if rows else ""
                raise InputError(f"{len(vector)} numbers{wanted}; mend the line", path=str(path), line=number)
            words.append(word)
            rows.append(vector)
    if not rows:
        raise InputError("holds no vectors; give another file", path=str(path))
    return Embeddings(tuple(words), np.stack(rows))


def _read_binary(path: Path, data: bytes, count: int, dimension: int) -> Embeddings:
    """Read word2vec's binary form: a word, a space, its float32 numbers, perhaps a line end."""
    words: list[str] = []
    vectors = np.empty((count, dimension), dtype=np.float32)
    place, width = 0, 4 * dimension
    for row in range(count):
        space = data.find(b" ", place)
        if space < 0 or space + 1 + width > len(data):
            raise InputError(f"ends after {row} of {count} words; fetch it again", path=str(path))
        words.append(data[place:space].lstrip(b"\n").decode("utf-8", errors="replace"))
        vectors[row] = np.frombuffer(data, dtype="<f4", count=dimension, offset=space + 1)
        place = space + 1 + width
    return Embeddings(tuple(words), vectors)
