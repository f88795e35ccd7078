"""CBOW word vectors: trained once with gensim, saved, and read back ever after (paper 004, section 5.1).

In: a TOML file that names corpora and says how to train, and the file to write. Out: `Embeddings`, and beside their
file a JSON file that says how they were made; where that already says the same, nothing is trained. Words are what
models read: `normalise`d, clitics split as in the papers' files or joined. The text goes once through the readers
into a file of its own, which gensim then reads once an epoch. As in the word2vec tool a window has up to `window`
words on each side, drawn anew at each place, and the mean of its words is taken.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from interpunct import config
from interpunct.clitics import join_clitics, split_clitics
from interpunct.errors import InputError, MissingExtraError
from interpunct.features import normalise
from interpunct.features.embeddings import Embeddings, read_embeddings
from interpunct.models.model import Clitics
from interpunct.train import specs

Log = Callable[[dict[str, Any]], None]

# gensim's windows end where a line ends. Models read running text that has no sentence ends yet, so a word's
# neighbours over a sentence's end count like any others, and lines are cut by length alone. gensim takes 10,000 words
# at a time and keeps a line together: lines well below that fill its batches and leave few windows cut.
_LINE_WORDS = 1000
_LONGEST_WORD = 64  # what is longer is an address; numpy gives all words of a file the longest one's room
_LAST_RATE = 1e-4  # gensim's; the rate falls to it in a straight line
# gensim (4.4) seeds the draw of window sizes only where it also samples: with sample=0 it starts from whatever lies in
# memory, and no two runs are the same. No word is so frequent that this would leave it out.
_KEEP_ALL = 0.99


@dataclass(frozen=True)
class VectorsConfig:
    """How to train word vectors; the defaults are paper 004's."""

    corpora: tuple[str, ...]
    """What to learn from: "corpus:split", e.g. "iwslt:train"."""
    documents: int | None = None
    """Take only the first so many of each corpus."""
    clitics: Clitics = "split"
    """Whether "don't" is "do" and "n't", as in the papers' files, or one word."""
    dimension: int = 100
    window: int = 4
    """How many words on each side are looked at."""
    rate: float = 0.025
    sample: float = 1e-4
    """Words that are more frequent than this are randomly left out; 0 keeps all."""
    min_count: int = 1
    epochs: int = 15
    seed: int = 1
    workers: int = 1
    """How many threads train. One gives the same vectors again, whatever PYTHONHASHSEED is: gensim draws the first
    values by place in the vocabulary. More write to the same vectors without waiting, and no two runs are the same."""
    keep_count: int = 1
    """Words rarer than this are trained but not saved, to keep the file small,"""
    keep_corpora: tuple[str, ...] = ()
    """unless they occur in one of these."""

    def __post_init__(self) -> None:
        if not self.corpora:
            raise ValueError("corpora is empty; name at least one, e.g. iwslt:train")
        for name in ("dimension", "window", "min_count", "epochs", "workers", "keep_count", "documents"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value}; it must be at least 1")
        if self.rate <= 0 or not 0 <= self.sample < 1 or not 0 <= self.seed < 1 << 32:
            raise ValueError("rate must be above 0, sample from 0 to below 1, seed from 0 to below 2**32")
        if not set(self.keep_corpora) <= set(self.corpora):
            raise ValueError("keep_corpora names what is not among corpora; vectors come from corpora alone")


@dataclass
class _Text:
    """What was written for gensim to read: how many lines, of which words, from where."""

    lines: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    by_corpus: Counter[str] = field(default_factory=Counter)
    kept: set[str] = field(default_factory=set)


def train_vectors(
    path: str | Path, target: str | Path, *, overrides: Iterable[str] = (), log: Log | None = None
) -> Embeddings:
    """Train what a configuration file describes and write it to `target`, or read it from there if that was done.

    A target that ends with .npz holds `words` and `vectors` (float16), any other is word2vec's text. What is returned
    is always what the file holds. A change of the texts themselves goes unseen: delete the file to train it again.
    """
    settings = config.load(VectorsConfig, path, overrides)
    specs.check(settings.corpora)
    target = Path(target)
    note = log or (lambda _: None)
    if _is_made(target, settings):
        note({"reused": str(target)})
        return read_embeddings(target)
    if target.is_dir():
        raise InputError("is a folder; name a file", path=str(target))
    word2vec, version = _gensim()
    start = time.monotonic()
    target.parent.mkdir(parents=True, exist_ok=True)
    # Everything is made in a folder beside the target and moved when it is whole.
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
        text = _write_text(settings, Path(folder), note)
        embeddings = _train(word2vec, settings, text, Path(folder) / "text", note)
        made = {
            "config": config.dump(settings),
            "corpora": dict(text.by_corpus),
            "licence": specs.licences(settings.corpora),
            "words": text.counts.total(),
            "vocabulary": len(text.counts),
            "saved": len(embeddings.words),
            "gensim": version,
            "seconds": round(time.monotonic() - start, 1),
        }
        _save(embeddings, made, target, Path(folder))
    return read_embeddings(target)


def _gensim() -> tuple[Any, str]:
    try:
        import gensim
        from gensim.models import Word2Vec
    except ImportError:
        raise MissingExtraError("training word vectors", "papers") from None
    return Word2Vec, str(gensim.__version__)


def _write_text(settings: VectorsConfig, folder: Path, log: Log) -> _Text:
    """Write all words, a line of them in a row, lines in random order, to the file "text" of a folder."""
    text = _Text()
    places = [0]
    with (folder / "ordered").open("wb") as file:
        for spec in settings.corpora:
            for line in _lines(settings, spec):
                text.counts.update(line)
                text.by_corpus[spec] += len(line)
                if spec in settings.keep_corpora:
                    text.kept.update(line)
                places.append(places[-1] + file.write(" ".join(line).encode() + b"\n"))
            log({"corpus": spec, "words": text.by_corpus[spec]})
    # Each of gensim's workers begins at its share of the bytes and stops after its share of the words. Were the
    # corpora one after another, one with longer words would leave a stretch that nobody reads; and the last corpus
    # would have the last word on every vector.
    spans = list(pairwise(places))
    random.Random(settings.seed).shuffle(spans)
    with (folder / "ordered").open("rb") as ordered, (folder / "text").open("wb") as file:
        for begin, end in spans:
            ordered.seek(begin)
            file.write(ordered.read(end - begin))
    (folder / "ordered").unlink()
    text.lines = len(spans)
    return text


def _lines(settings: VectorsConfig, spec: str) -> Iterator[list[str]]:
    for transcript in specs.read(spec, settings.documents):
        words = _read_as([word.text for word in transcript.words], settings.clitics)
        for begin in range(0, len(words), _LINE_WORDS):
            yield words[begin : begin + _LINE_WORDS]


def _read_as(texts: Sequence[str], clitics: Clitics) -> list[str]:
    """Return words as a model reads them; a blank inside one would be two words to gensim, and so it is here."""
    texts = [normalise(text) for text in texts]
    if clitics == "joined":
        parts = join_clitics(texts)[0]
    else:
        # A part is normalised again: "u.s.'s" leaves "u.s.".
        parts = [normalise(part) for text in texts for part in split_clitics(text)]
    return [word for part in parts for word in part.split() if len(word) <= _LONGEST_WORD]


class _Epochs:
    """Tells the log of each epoch; gensim wants all four methods."""

    def __init__(self, log: Log) -> None:
        self._log, self._epoch, self._start = log, 0, time.monotonic()

    def on_epoch_end(self, _model: object) -> None:
        self._epoch += 1
        self._log({"epoch": self._epoch, "seconds": round(time.monotonic() - self._start, 1)})

    def _nothing(self, _model: object) -> None:
        pass

    on_train_begin = on_train_end = on_epoch_begin = _nothing


def _train(word2vec: Any, settings: VectorsConfig, text: _Text, path: Path, log: Log) -> Embeddings:
    commonest = max(text.counts.values(), default=0)
    if commonest < settings.min_count:
        raise InputError(
            f"no word of {', '.join(settings.corpora)} occurs {settings.min_count} times; take more text or a lower "
            "min_count"
        )
    model = word2vec(
        vector_size=settings.dimension,
        window=settings.window,
        alpha=settings.rate,
        min_alpha=min(_LAST_RATE, settings.rate),
        sample=settings.sample or _KEEP_ALL,
        min_count=settings.min_count,
        seed=settings.seed,
        workers=settings.workers,
        sg=0,  # CBOW
        hs=1,  # hierarchical softmax,
        negative=0,  # and no negative sampling beside it
    )
    model.build_vocab_from_freq(dict(text.counts), corpus_count=text.lines)
    model.train(
        corpus_file=str(path),
        total_examples=text.lines,
        total_words=text.counts.total(),
        epochs=settings.epochs,
        callbacks=[_Epochs(log)],
    )
    words: list[str] = model.wv.index_to_key
    rows = [row for row, word in enumerate(words) if text.counts[word] >= settings.keep_count or word in text.kept]
    return Embeddings(tuple(words[row] for row in rows), np.asarray(model.wv.vectors, dtype=np.float32)[rows])


def _sidecar(target: Path) -> Path:
    return target.with_name(f"{target.name}.json")


def _is_made(target: Path, settings: VectorsConfig) -> bool:
    """Say whether a file is there that was made with these very settings."""
    try:
        made = json.loads(_sidecar(target).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return target.is_file() and isinstance(made, dict) and made.get("config") == config.dump(settings)


def _save(embeddings: Embeddings, made: dict[str, Any], target: Path, folder: Path) -> None:
    """Write vectors and how they were made inside a folder, then move both to their places."""
    made_file = folder / f"vectors{target.suffix}"
    embeddings.save(made_file)
    (folder / "made").write_text(json.dumps(made, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    # In this order new vectors never stand beside a file that speaks of old ones.
    _sidecar(target).unlink(missing_ok=True)
    made_file.replace(target)
    (folder / "made").replace(_sidecar(target))
