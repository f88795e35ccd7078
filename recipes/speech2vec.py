"""Makes paper 002's speech vectors from the recordings we have, and their controls, and asks what they know.

    python recipes/speech2vec.py [--runs DIR] [--epochs N] [--seconds S] [--device cpu] [--seed N]

The training splits of esic and ljspeech are aligned (a quarter of an hour on one core; kept in `runs/speech2vec`, a
second run reads them). `runs/vectors` gets, all of the same words and 50-d, in the authors' text format:
`speech2vec.txt`; `speech2vec-text.txt`, a skip-gram of the same transcripts; `speech2vec-random.txt`; and
`speech2vec-untrained.txt`, the same network before it has learned anything: it is given the sound, too, so only what
the trained one has beyond it was learned. Asked is whether homophones lie near each other, and whether words lie as
they do in GloVe, which knows what they mean. All figures go to `recipes/results/speech2vec.json`. No test split is
read.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from homophones import Against, checked, cosines_of, homophones, pronunciations
from interpunct import corpora, formats
from interpunct.audio import align_audio
from interpunct.corpora.recordings import AUDIO
from interpunct.errors import InputError, MissingExtraError, told_in_a_line
from interpunct.features import normalise
from interpunct.features.embeddings import Embeddings, read_embeddings
from interpunct.metrics.significance import SEED
from interpunct.models.encoded import parts_of
from interpunct.models.loop_options import LoopOptions
from interpunct.train.speech2vec import (
    Recording,
    Speech2VecOptions,
    SpeechModel,
    cut_words,
    train_speech2vec,
    with_clitics,
)
from interpunct.transcript import Transcript
from training import machine
from vectors import GLOVE

READ = "iwslt:train"
"""What coverage is counted on: the text that 002's models learn from."""
_TEXT_EPOCHS = 50  # of the skip-gram over text: with word2vec's five, so few words would barely move
_OFTEN = 5
"""How often a word was said of which is asked whether its neighbours are those it has in GloVe."""
_DRAWS = 200
_RESULTS = Path(__file__).parent / "results" / "speech2vec.json"


@told_in_a_line
def main(arguments: Sequence[str] | None = None) -> int:
    """Align, train, check, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where alignments and vectors go (runs)")
    parser.add_argument("--epochs", type=int, default=4, help="passes over the words (4; more overfit)")
    parser.add_argument("--seconds", type=float, default=None, help="stop after so long, though epochs are left")
    parser.add_argument("--device", default="auto", help="cpu, cuda or auto")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    options = Speech2VecOptions()
    loop = LoopOptions(
        epochs=given.epochs, seconds=given.seconds, device=given.device, seed=given.seed,
        rate=1e-2, weight_decay=0.0, mixed=False,
    )  # fmt: skip
    recordings, facts = spoken(given.runs / "speech2vec")
    curve: list[dict[str, Any]] = []

    def log(row: dict[str, Any]) -> None:
        curve.append(row)
        print(json.dumps(row), file=sys.stderr, flush=True)

    started = time.monotonic()
    model = train_speech2vec(recordings, options=options, loop=loop, log=log)
    seconds = time.monotonic() - started
    kinds = all_vectors(model, recordings, options, loop)
    (given.runs / "vectors").mkdir(parents=True, exist_ok=True)
    for ending, each in kinds.items():
        path = given.runs / "vectors" / f"speech2vec{ending}.txt"
        each.save(path)
        if not np.array_equal(read_embeddings(path).vectors, each.vectors):
            raise InputError("the file does not hold the vectors that were written", path=str(path))
    sounds = pronunciations()
    found = {NAMES[ending]: checked(each, model.counts, sounds) for ending, each in kinds.items()}
    print_table(found)
    meant = agreement(kinds, model.counts, read_embeddings(corpora.data_root() / GLOVE))
    for name, row in meant.items():
        print(f"{name}: correlation with GloVe's cosines", row)
    result = {
        **machine(given.device),
        "options": asdict(options),
        "loop": {"epochs": loop.epochs, "rate": loop.rate, "seed": loop.seed},
        **facts,
        "types": len(model.counts),
        "types said once": sum(count == 1 for count in model.counts.values()),
        "vectors": len(kinds[""].words),
        "coverage": coverage(kinds[""]),
        "train seconds": round(seconds, 1),
        "loss held out": round(model.loss, 4),
        "loss of the mean neighbour": round(model.plain_loss, 4),
        "curve": curve,
        "correlation with GloVe's cosines": meant,
        "homophones": pair_rows(kinds, model.counts, sounds),
        "check": {name: {other: rounded(each) for other, each in rows.items()} for name, rows in found.items()},
    }
    _RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


NAMES = {"": "Speech2Vec", "-untrained": "the same, untrained", "-text": "text skip-gram", "-random": "random"}
"""The kinds of vectors by what their files' names end with."""


def aligned(corpus: str, folder: Path) -> Iterator[tuple[Path, Transcript]]:
    """Yield recordings and their timed transcripts; what was aligned before is read."""
    root = corpora.data_root()
    for transcript in corpora.read(corpus, "train", root=root):
        audio, kept = AUDIO[corpus](root, transcript.source), folder / "aligned" / corpus / f"{transcript.source}.json"
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            try:
                formats.write(align_audio(audio, transcript), kept)
            except InputError as error:
                print(f"left out: {error}", file=sys.stderr)
                continue
        yield audio, formats.read(kept)


def spoken(folder: Path) -> tuple[list[Recording], dict[str, Any]]:
    """Return the words of all recordings, cut, and what there is of them."""
    recordings: list[Recording] = []
    facts: dict[str, Any] = {}
    for corpus in AUDIO:
        written = placed = 0
        said_s = 0.0
        cut: list[Recording] = []
        for audio, transcript in aligned(corpus, folder):
            spans = [
                word.end - word.start for word in transcript.words if word.start is not None and word.end is not None
            ]
            written, placed, said_s = written + len(transcript.words), placed + len(spans), said_s + sum(spans)
            cut.append(cut_words(audio, transcript))
        facts[f"{corpus}:train"] = {
            "recordings": len(cut), "words": written, "placed": placed, "cut": sum(map(len, cut)),
            "hours of words": round(said_s / 3600, 2),
        }  # fmt: skip
        recordings += cut
    return recordings, {"audio": facts, "words": sum(map(len, recordings))}


def all_vectors(
    model: SpeechModel, recordings: Sequence[Recording], options: Speech2VecOptions, loop: LoopOptions
) -> dict[str, Embeddings]:
    """Return all kinds of vectors, of the same words in the same order, clitics added."""
    words, dimension = model.embeddings.words, options.dimension
    idle = LoopOptions(epochs=0, device=loop.device, seed=loop.seed)
    untrained = train_speech2vec(recordings, options=options, loop=idle, log=lambda _: None).embeddings
    spread = float(model.embeddings.vectors.std())
    drawn = np.random.default_rng(loop.seed).normal(0, spread, (len(words), dimension)).astype(np.float32)
    kinds = {
        "": model.embeddings,
        "-untrained": untrained,
        "-text": text_vectors(recordings, words, options, loop.seed),
    }
    made = {ending: with_clitics(each, model.counts) for ending, each in kinds.items()}
    more = made[""].words[len(words) :]
    added = np.random.default_rng(loop.seed + 1).normal(0, spread, (len(more), dimension)).astype(np.float32)
    return made | {"-random": Embeddings((*words, *more), np.vstack([drawn, added]))}


def text_vectors(
    recordings: Sequence[Recording], words: Sequence[str], options: Speech2VecOptions, seed: int
) -> Embeddings:
    """Return skip-gram vectors of what was said as text, with the same window."""
    try:
        from gensim.models import Word2Vec
    except ImportError:
        raise MissingExtraError("training word vectors", "papers") from None
    model = Word2Vec(
        [[word.text for word in recording] for recording in recordings],
        vector_size=options.dimension, window=options.window, sg=1, negative=5, min_count=1, epochs=_TEXT_EPOCHS,
        seed=seed, workers=1,
    )  # fmt: skip
    return Embeddings(tuple(words), np.stack([model.wv[word] for word in words]).astype(np.float32))


def coverage(embeddings: Embeddings) -> dict[str, float]:
    """Return how much of the text that 002's models learn from has a vector, in percent."""
    name, _, split = READ.partition(":")
    counts: Counter[str] = Counter()
    for transcript in corpora.read(name, split):
        counts.update(normalise(part) for word in transcript.words for part in parts_of(word.text, "split"))
    del counts[""]
    known = embeddings.rows(counts) < len(embeddings.words)
    sizes = np.fromiter(counts.values(), dtype=np.int64)
    return {
        f"{READ} tokens": int(sizes.sum()),
        f"{READ} types": len(sizes),
        "tokens, %": round(100 * float(sizes[known].sum() / sizes.sum()), 2),
        "types, %": round(100 * float(known.mean()), 2),
    }


def pair_rows(
    kinds: Mapping[str, Embeddings], counts: Mapping[str, int], sounds: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return each pair of homophones, how often its words were said, and its cosines, the commonest first."""
    words = sorted(counts, key=lambda word: (-counts[word], word))
    pairs = [pair for same in homophones(words, sounds) for pair in combinations(same, 2)]
    cosines = {NAMES[ending]: cosines_of(each)(pairs) for ending, each in kinds.items()}
    return [
        {"pair": " ".join(pair), "said": [counts[word] for word in pair]}
        | {name: round(float(values[at]), 2) for name, values in cosines.items()}
        for at, pair in enumerate(pairs)
    ]


def agreement(
    kinds: Mapping[str, Embeddings], counts: Mapping[str, int], other: Embeddings
) -> dict[str, dict[str, float]]:
    """Return how cosines go with those of other vectors: the correlation over all pairs of the words often said.

    The interval is over words drawn anew.
    """
    words = [word for word, count in counts.items() if count >= _OFTEN and other.coverage([word])]
    pairs = list(product(words, words))

    def square(vectors: Embeddings) -> npt.NDArray[np.float64]:
        return cosines_of(vectors)(pairs).reshape(len(words), len(words))

    theirs = square(Embeddings(tuple(words), other.table[other.rows(words)]))
    draws = [np.arange(len(words)), *np.random.default_rng(SEED).integers(len(words), size=(_DRAWS, len(words)))]
    found = {}
    for ending, each in kinds.items():
        ours = square(each)
        values = []
        for drawn in draws:
            apart = drawn[:, None] < drawn[None, :]  # each pair once, and no word with itself
            grid = np.ix_(drawn, drawn)
            values.append(np.corrcoef(ours[grid][apart], theirs[grid][apart])[0, 1])
        low, high = np.quantile(values[1:], (0.025, 0.975))
        row = {"words": len(words), "correlation": values[0], "low": low, "high": high}
        found[NAMES[ending]] = {name: round(float(value), 3) for name, value in row.items()}
    return found


def rounded(found: Against) -> dict[str, float]:
    """Return a comparison as plain numbers."""
    return {name: round(value, 3) for name, value in asdict(found).items()}


def print_table(found: Mapping[str, Mapping[str, Against]]) -> None:
    """Print the homophone check."""
    print("| vectors | homophones against | pairs | AUC | 95 % | cosine | cosine of the others |")
    print("|---|---|---|---|---|---|---|")
    for name, rows in found.items():
        for other, each in rows.items():
            interval = f"{each.low:.2f}–{each.high:.2f}"
            figures = f"{each.auc:.2f} | {interval} | {each.cosine:.2f} | {each.cosine_others:.2f}"
            print(f"| {name} | {other} | {each.pairs} | {figures} |")


if __name__ == "__main__":
    sys.exit(main())
