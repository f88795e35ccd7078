"""Words as a network reads them: learned vectors, vectors from files, or several summed.

In: word ids. Out: a vector for each. Vectors from files come in a table each, in the order of the vocabulary: id 0
pads, id 1 is the one vector of all unknown words. `find_vectors` finds and reads the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import torch
from torch import Tensor, nn

from interpunct.corpora import data_root
from interpunct.errors import InputError
from interpunct.features.embeddings import Embeddings, read_embeddings
from interpunct.models.pieces import PAD, UNKNOWN
from interpunct.models.word_vocabulary import WordVocabulary


class WordInput(nn.Module):
    """Embeds word ids; with several tables the vectors are summed, each after its own projection where asked for."""

    def __init__(
        self, vocabulary: int, dimension: int, *, tables: int = 1, static: bool = False, project: int | None = None
    ) -> None:
        super().__init__()
        made = [nn.Embedding(vocabulary, dimension, padding_idx=PAD) for _ in range(tables)]
        for table in made:
            table.weight.requires_grad_(not static)
        self.tables = nn.ModuleList(made)
        self.projections = nn.ModuleList(
            nn.Identity() if project is None else nn.Linear(dimension, project) for _ in range(tables)
        )
        self.width = dimension if project is None else project

    def forward(self, ids: Tensor) -> Tensor:
        """Return vectors: ids' shape × width."""
        parts = [project(table(ids)) for table, project in zip(self.tables, self.projections, strict=True)]
        return parts[0] if len(parts) == 1 else torch.stack(parts).sum(dim=0)

    @torch.no_grad()
    def fill(self, vectors: Sequence[Embeddings], words: Sequence[str]) -> None:
        """Fill the tables with vectors from files; a word that a file lacks has the file's unknown vector."""
        for table, embeddings in zip(self.tables, vectors, strict=True):
            weight = cast(nn.Embedding, table).weight
            rows = embeddings.table[embeddings.rows(words)]
            weight[PAD] = 0
            weight[UNKNOWN] = torch.from_numpy(embeddings.unknown)
            weight[UNKNOWN + 1 :] = torch.from_numpy(rows)


def find_vectors(names: Sequence[str], dimension: int) -> list[Embeddings]:
    """Read files of vectors, each a path or a name in the data folder, reduced to `dimension` numbers a word."""
    found = []
    for name in names:
        path = Path(name) if Path(name).exists() else data_root() / name
        if not path.exists():
            raise InputError(f"no such file, nor {path}; check options.vectors", path=name)
        embeddings = read_embeddings(path)
        if dimension > embeddings.dimension:
            what = f"vectors of {embeddings.dimension} numbers, fewer than options.embedding = {dimension}; lower it"
            raise InputError(what, path=str(path))
        found.append(embeddings if embeddings.dimension == dimension else embeddings.reduced(dimension))
    return found


def vocabulary_of(vectors: Sequence[Embeddings]) -> WordVocabulary:
    """Return all words that have a vector in one of the files, in lower case, in the files' order."""
    return WordVocabulary(list(dict.fromkeys(word.lower() for embeddings in vectors for word in embeddings.words)))
