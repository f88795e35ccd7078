"""Paper 004's figure 4: the three kinds of word vectors on a plane, by t-SNE.

    python recipes/tsne.py [--runs DIR] [--words N]

In: `runs/vectors/cbow.npz`, and the projected and hidden vectors that `paper004.py` made; the training documents of the
set-up "times". Out: `pictures/paper004-tsne.png`: a point a word, coloured by how often a sentence ends behind it, and
`results/paper004-tsne.json`: how well a word's ten nearest neighbours (by the vectors, not on the plane) tell that
share. A hidden vector belongs to a place; a word's is the mean over the places where it stands. Perplexity 50, as in
the paper. Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from interpunct.errors import told_in_a_line
from interpunct.features import Features, normalise
from interpunct.features.embeddings import read_embeddings
from interpunct.metrics import plot
from interpunct.metrics.significance import SEED
from interpunct.models import load
from interpunct.models.encoded import parts_of
from interpunct.models.place_model import scikit
from interpunct.transcript import Transcript
from paper004_bench import FOLDER
from paper004_data import load_data
from paper004_systems import read_paper
from recipe import HERE
from training import machine

LEAST = 20
"""How often a word must stand in the text: of rarer ones the share says little."""
PERPLEXITY = 50
NEIGHBOURS = 10
RESULTS = HERE / "results" / "paper004-tsne.json"
PICTURE = HERE / "pictures" / "paper004-tsne.png"
Matrix = npt.NDArray[np.float32]


@told_in_a_line
def main(arguments: Sequence[str] | None = None) -> int:
    """Collect, map, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    parser.add_argument("--words", type=int, default=1000, help="the commonest so many (%(default)s)")
    given = parser.parse_args(arguments)
    compare(given.runs, given.words)
    return 0


def compare(runs: Path, count: int) -> None:
    """Compare what the vectors of the commonest so many words tell, and draw them."""
    setup = read_paper().setups["times"]
    documents = [each.transcript for each in load_data(setup, runs).train]
    shares = end_shares(documents, count)
    words = list(shares)
    share = np.array(list(shares.values()))
    kinds = {
        "CBOW": static(runs / "vectors" / "cbow.npz", words),
        "projected": static(runs / FOLDER / "projected.txt", words),
        "hidden": contextual(load(runs / FOLDER / "embeddings"), documents, words),
    }
    told = {name: round(neighbours_tell(vectors, share), 3) for name, vectors in kinds.items()}
    print(told)
    result = {"words": len(words), "correlation with the neighbours' share": told, **machine("cpu")}
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    draw({name: plane(vectors) for name, vectors in kinds.items()}, share, told, PICTURE)


def units_of(document: Transcript) -> Iterable[tuple[str, bool]]:
    """Yield what the networks read, and whether a sentence ends behind it."""
    for word in document.words:
        parts = [text for text in map(normalise, parts_of(word.text, "split")) if text]
        for number, part in enumerate(parts):
            yield part, number == len(parts) - 1 and word.mark == "."


def end_shares(documents: Sequence[Transcript], count: int) -> dict[str, float]:
    """Return the commonest words, and how often a sentence ends behind each."""
    seen: Counter[str] = Counter()
    ended: Counter[str] = Counter()
    for document in documents:
        for text, end in units_of(document):
            seen[text] += 1
            ended[text] += end
    return {text: ended[text] / times for text, times in seen.most_common(count) if times >= LEAST}


def static(path: Path, words: Sequence[str]) -> Matrix:
    """Return words' vectors of a file."""
    vectors = read_embeddings(path)
    found: Matrix = vectors.table[vectors.rows(words)]
    return found


def contextual(model: Any, documents: Sequence[Transcript], words: Sequence[str]) -> Matrix:
    """Return the mean of each word's hidden vectors over its places."""
    place_of = {word: place for place, word in enumerate(words)}
    sums: dict[int, Matrix] = {}
    times: Counter[int] = Counter()
    for document in documents:
        texts = [text for text, _ in units_of(document)]
        (hidden,) = model.hidden([Features(tuple(texts))])
        for text, vector in zip(texts, hidden, strict=True):
            place = place_of.get(text)
            if place is not None:
                sums[place] = sums[place] + vector if place in sums else vector.copy()
                times[place] += 1
    return np.stack([sums[place] / times[place] for place in range(len(words))]).astype(np.float32)


def neighbours_tell(vectors: Matrix, share: npt.NDArray[np.float64]) -> float:
    """Return the correlation of words' shares with the mean of their nearest neighbours' (by cosine).

    >>> vectors = np.repeat(np.eye(2, dtype=np.float32), 15, axis=0)
    >>> round(neighbours_tell(vectors, np.repeat([0.0, 1.0], 15)), 3)
    1.0
    """
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    near = unit @ unit.T
    np.fill_diagonal(near, -np.inf)
    nearest = np.argsort(-near, axis=1)[:, :NEIGHBOURS]
    return float(np.corrcoef(share, share[nearest].mean(axis=1))[0, 1])


def plane(vectors: Matrix) -> npt.NDArray[np.float64]:
    """Lay vectors out on a plane."""
    perplexity = min(PERPLEXITY, (len(vectors) - 1) / 3)
    mapping = scikit("manifold").TSNE(perplexity=perplexity, random_state=SEED, init="pca")
    found: npt.NDArray[np.float64] = mapping.fit_transform(vectors)
    return found


def draw(
    planes: Mapping[str, npt.NDArray[np.float64]],
    share: npt.NDArray[np.float64],
    told: Mapping[str, float],
    path: Path,
) -> None:
    """Draw a panel for each kind of vectors."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(plot.STYLE):
        drawn = Figure(figsize=(5 * len(planes), 4.6), layout="constrained")
        panels = np.ravel(drawn.subplots(1, len(planes), squeeze=False))
        order = np.argsort(share)  # the few words that often end a sentence come last, on top
        for axes, (name, points) in zip(panels, planes.items(), strict=True):
            seen = axes.scatter(
                points[order, 0], points[order, 1], c=share[order], s=9, cmap="viridis", vmin=0.0,
                vmax=float(np.quantile(share, 0.98)),
            )  # fmt: skip
            axes.set_title(f"{name} (neighbours tell the share: r = {told[name]:.2f})", fontsize=10)
            axes.set_xticks([])
            axes.set_yticks([])
        drawn.colorbar(seen, ax=panels[-1], label="share of the word's places that end a sentence")
    path.parent.mkdir(exist_ok=True)
    plot.save_picture(drawn, path)


if __name__ == "__main__":
    sys.exit(main())
