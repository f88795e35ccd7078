"""Trains the syntax tagger and scores it: parts of speech and chunks of lower-case, unpunctuated words.

    python recipes/syntax.py [--runs DIR] [--passes N]

The tagger learns from GUM's training documents and CoNLL-2000's training sentences, and is written to `runs/syntax`.
Scored are GUM's held-out documents, those of speech apart (conversation, speech, interview, vlog, court), and
CoNLL-2000's test sentences: the share of right tags with 95 % intervals (documents drawn anew a thousand times), and F1
of whole chunks. Beside it stands the commonest tag of each word, which is what any tagger must beat. The table goes to
`recipes/results/syntax.json`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from interpunct import corpora
from interpunct.corpora.syntax import tagged
from interpunct.errors import told_in_a_line
from interpunct.features import Features, normalise
from interpunct.metrics.significance import SEED
from interpunct.models.encoded import Tagged
from interpunct.models.loop_options import LoopOptions
from interpunct.models.tag_crf import CHUNK, POS, TagCRF, chunk_spans, joined_documents, tagged_documents
from training import machine

SPEECH = frozenset(("conversation", "speech", "interview", "vlog", "court"))
"""GUM's genres of speech."""
_DEV = 500
"""Sentences of CoNLL-2000, which has no dev split, that are held out for the log of the training."""
_DRAWS = 1000
_RESULTS = Path(__file__).parent / "results" / "syntax.json"


@told_in_a_line
def main(arguments: Sequence[str] | None = None) -> int:
    """Train, score, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where the tagger goes (runs)")
    parser.add_argument("--passes", type=int, default=20, help="passes over the training text")
    given = parser.parse_args(arguments)
    conll = documents("conll2000", "train")
    train, dev = [*documents("gum", "train"), *conll[:-_DEV]], [*documents("gum", "dev"), *conll[-_DEV:]]
    labels = {task: tags_of(train, task) for task in (POS, CHUNK)}
    model = TagCRF.create(
        name="syntax", version="1", labels=labels, options={}, words=(),
        trained_on=("gum:train", "conll2000:train"),
        licence="; ".join(sorted({corpora.named(name).licence for name in ("gum", "conll2000")})),
    )  # fmt: skip
    started = time.monotonic()
    model.fit(model.encode(train), model.encode(dev), loop=LoopOptions(epochs=given.passes), log=print)
    seconds = time.monotonic() - started
    model.save(given.runs / "syntax")
    commonest = {task: Commonest(train, task) for task in labels}
    tests = {
        "GUM, speech": [each for each in documents("gum", "test") if genre(each) in SPEECH],
        "GUM": documents("gum", "test"),
        "CoNLL-2000": documents("conll2000", "test"),
    }
    rows = [row for name, test in tests.items() for row in scored(name, test, model, commonest)]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    for line in (columns, ["---"] * len(columns), *([str(row.get(key, "")) for key in columns] for row in rows)):
        print("| " + " | ".join(line) + " |")
    _RESULTS.write_text(
        json.dumps({"train_seconds": round(seconds, 1), **machine("cpu"), "rows": rows}, indent=1) + "\n"
    )
    return 0


def documents(corpus: str, split: str) -> list[Tagged]:
    """Return a split as it is heard: lower case, no punctuation."""
    return list(tagged_documents(tagged(corpora.data_root(), corpus, split)))


def genre(document: Tagged) -> str:
    """Return the genre of a GUM document, which its name tells."""
    return document.transcript.source.split("_")[1]


def tags_of(train: Iterable[Tagged], task: str) -> tuple[str, ...]:
    """Return the tags of a task that the training text holds."""
    return tuple(sorted({tag for each in train for tag in each.tags.get(task, ()) if tag is not None}))


class Commonest:
    """The commonest tag of each word; of a word never seen, the commonest of words seen once."""

    def __init__(self, train: Iterable[Tagged], task: str) -> None:
        seen: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for each in train:
            for word, tag in zip(each.transcript.words, each.tags.get(task, ()), strict=False):
                seen[normalise(word.text)][str(tag)] += 1
        rare = sum((counts for counts in seen.values() if counts.total() == 1), Counter[str]())
        self._best = {word: counts.most_common(1)[0][0] for word, counts in seen.items()}
        self._rare = rare.most_common(1)[0][0]

    def tags(self, words: Iterable[str]) -> list[str]:
        """Tag words."""
        return [self._best.get(word, self._rare) for word in words]


def scored(name: str, test: Sequence[Tagged], model: TagCRF, commonest: dict[str, Commonest]) -> list[dict[str, str]]:
    """Return a row for each task that a test teaches."""
    right: defaultdict[str, list[tuple[int, int, int]]] = defaultdict(list)
    chunks: list[tuple[int, int, int]] = []
    for each in joined_documents(test, words=1000):
        features = Features.of([word.text for word in each.transcript.words])
        (scores,) = model.forward([features])
        for task, wanted in each.tags.items():
            found = [model.labels[task][label] for label in scores.best[task]]
            guess = commonest[task].tags(features.texts)
            hits = [sum(one == other for one, other in zip(wanted, tags, strict=True)) for tags in (found, guess)]
            right[task].append((hits[0], hits[1], len(wanted)))
            if task == CHUNK:
                spans, theirs = set(chunk_spans([str(tag) for tag in wanted])), set(chunk_spans(found))
                chunks.append((len(spans & theirs), len(theirs), len(spans)))
    rows = []
    for task, counts in right.items():
        table = np.array(counts)
        row = {
            "test": name, "task": task, "words": str(table[:, 2].sum()),
            "right, %": with_interval(table[:, [0, 2]]),
            "commonest tag": f"{100 * table[:, 1].sum() / table[:, 2].sum():.1f}",
        }  # fmt: skip
        if task == CHUNK:
            hits, found_chunks, wanted_chunks = np.array(chunks).sum(axis=0)
            row["F1 of chunks"] = f"{200 * hits / (found_chunks + wanted_chunks):.1f}"
        rows.append(row)
    return rows


def with_interval(counts: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> str:
    """Return a share in percent with half of its 95 % interval, texts drawn anew."""
    random = np.random.default_rng(SEED)
    drawn = counts[random.integers(len(counts), size=(_DRAWS, len(counts)))].sum(axis=1)
    low, high = np.quantile(drawn[:, 0] / drawn[:, 1], (0.025, 0.975))
    hits, total = counts.sum(axis=0)
    return f"{100 * hits / total:.1f} ±{50 * (high - low):.1f}"


if __name__ == "__main__":
    sys.exit(main())
