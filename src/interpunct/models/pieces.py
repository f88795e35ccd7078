"""`Pieces`: the subword vocabulary of a model.

In: normalised words. Out: a few piece ids for each, the same ids for the same word, remembered so that a
word is split once. An over-long word is clipped, for the model only. Id 0 pads, id 1 is the unknown piece.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from tokenizers import Tokenizer, decoders, models, normalizers, trainers

from interpunct.errors import ModelError

PAD, UNKNOWN = 0, 1
_BEGIN = "▁"
_REMEMBERED = 1 << 17


class Vocabulary(Protocol):
    """What a network asks of a vocabulary."""

    def __len__(self) -> int: ...

    def ids(self, word: str) -> tuple[int, ...]:
        """Return the ids of a normalised word: at least one."""

    def save(self, path: Path) -> None:
        """Write the vocabulary to a file."""


class Pieces:
    """Words to piece ids, by a tokenizer that reads one word at a time."""

    def __init__(self, tokenizer: Tokenizer, *, longest: int) -> None:
        self._tokenizer = tokenizer
        self.longest = longest
        self._ids: dict[str, tuple[int, ...]] = {}

    @classmethod
    def learn(cls, words: Iterable[str], *, size: int, longest: int = 8) -> Pieces:
        """Learn a vocabulary of at most `size` pieces from words, each as often as it occurs."""
        tokenizer = Tokenizer(models.BPE(unk_token="<unknown>"))
        # The library's own marks for a word's begin or end get their numbers in the order of a hash table, which
        # differs from run to run; a character of the word itself does not.
        tokenizer.normalizer = normalizers.Prepend(_BEGIN)
        tokenizer.decoder = decoders.Metaspace(replacement=_BEGIN)
        trainer = trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=["<pad>", "<unknown>"],
            limit_alphabet=100,
            show_progress=False,
        )
        tokenizer.train_from_iterator(words, trainer)
        return cls(tokenizer, longest=longest)

    @classmethod
    def load(cls, path: Path, *, longest: int) -> Pieces:
        """Read a vocabulary from its file."""
        try:
            return cls(Tokenizer.from_file(str(path)), longest=longest)
        except Exception as error:  # the library raises nothing narrower
            raise ModelError(f"{path}: no subword vocabulary: {error}; export the model again") from None

    def save(self, path: Path) -> None:
        """Write the vocabulary to a file."""
        self._tokenizer.save(str(path), pretty=False)  # spread over lines it is twice as large

    def __len__(self) -> int:
        return int(self._tokenizer.get_vocab_size())

    def names(self) -> list[str]:
        """Return all pieces in the order of their ids."""
        index: dict[str, int] = self._tokenizer.get_vocab()
        return sorted(index, key=index.__getitem__)

    def ids(self, word: str) -> tuple[int, ...]:
        """Return the ids of a word's pieces: at least one, at most `longest`."""
        found = self._ids.get(word)
        if found is None:
            found = tuple(self._tokenizer.encode(word, add_special_tokens=False).ids[: self.longest])
            found = found or (UNKNOWN,)
            if len(self._ids) >= _REMEMBERED:
                self._ids.clear()
            self._ids[word] = found
        return found

    def written(self, rows: Iterable[Sequence[int]]) -> list[str]:
        """Return each row of pieces as text, words apart: the way back from `ids`, but for what was clipped."""
        if self._tokenizer.decoder is None:
            raise ModelError("its vocabulary does not tell how pieces are written as words; learn it anew")
        return [text.strip() for text in self._tokenizer.decode_batch(list(rows), skip_special_tokens=False)]
