"""The word vectors that recipes share, made once: our CBOW, and GloVe completed by it.

In: `cbow.toml`'s corpora and the GloVe file of the data folder. Out: `runs/vectors/cbow.npz` and `glove-cbow.npz`. The
GloVe file lacks one-letter words, clitics and numbers (a, i, 's, n't, 00: one word in twelve of a talk); they get our
vectors, mapped into its space.

    python recipes/vectors.py
"""

from __future__ import annotations

import argparse
from pathlib import Path

from interpunct.corpora import data_root
from interpunct.features.embeddings import read_embeddings
from interpunct.train.vectors import train_vectors

HERE = Path(__file__).parent
GLOVE = "vectors/glove.6B.100d.npz"
SMALL = ("keep_count=5", 'keep_corpora=["iwslt:train"]')
"""Words that are neither in the talks nor common are trained, not kept: the file is half the size."""


def make_vectors(folder: Path) -> None:
    """Make the files that are not there yet; CBOW takes a quarter of an hour on two cores."""
    folder.mkdir(parents=True, exist_ok=True)
    cbow = train_vectors(HERE / "cbow.toml", folder / "cbow.npz", overrides=SMALL, log=print)
    if not (folder / "glove-cbow.npz").exists():
        read_embeddings(data_root() / GLOVE).completed(cbow).save(folder / "glove-cbow.npz")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    make_vectors(Path("runs/vectors"))
