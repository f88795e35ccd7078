"""How long scoring takes: all metrics on an hour of speech, a million words without alignment, an alignment of 100k.

    python benchmarks/metrics.py

Beside each part that they share stand `jiwer` (word error rate) and `segeval` (boundary similarity, WindowDiff),
where they are installed: same data, same run. Memory is what the process took on top at its peak.
"""

from __future__ import annotations

import importlib.util
import random
import resource
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from interpunct.align import align
from interpunct.cases import recase
from interpunct.metrics import METRICS, MetricOptions, named, pair
from interpunct.metrics.evaluate import evaluate
from interpunct.transcript import Transcript, Word
from report import arguments, report

VOCABULARY = [f"w{number}" for number in range(5_000)]


def spoken(count: int, seed: int = 1) -> Transcript:
    """Make a transcript of random words in sentences of about fifteen."""
    chooser = random.Random(seed)
    words = []
    for _ in range(count):
        mark = chooser.choices(["", ",", ".", "?"], [82, 10, 7, 1])[0]
        case = chooser.choices(["lower", "sentence"], [85, 15])[0]
        words.append(Word(recase(chooser.choice(VOCABULARY), case), mark=mark, case=case))
    return Transcript(tuple(words), "made up")


def restored(reference: Transcript, seed: int = 2) -> Transcript:
    """Make a hypothesis of the same words, one mark in ten different."""
    chooser = random.Random(seed)
    words = tuple(
        replace(word, mark=chooser.choice(["", ",", "."])) if chooser.random() < 0.1 else word
        for word in reference.words
    )
    return replace(reference, words=words)


def recognised(reference: Transcript, seed: int = 3) -> Transcript:
    """Make a hypothesis with one word in five mistaken, missed or added."""
    chooser = random.Random(seed)
    words: list[Word] = []
    for word in reference.words:
        fate = chooser.random()
        if fate > 0.05:
            words.append(replace(word, text=chooser.choice(VOCABULARY)) if fate < 0.15 else word)
        if fate > 0.97:
            words.append(Word(chooser.choice(VOCABULARY), mark="", case="lower"))
    return replace(reference, words=tuple(words))


def timed(what: str, words: int, must: float | None, work: Callable[[], Any]) -> dict[str, Any]:
    """Run once and say how long it took and what it held."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    work()
    seconds = time.perf_counter() - started
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return {
        "what": what,
        "words": words,
        "seconds": round(seconds, 3),
        "must be under": must,
        "MB on top": round(grown),
    }


def main() -> None:
    """Measure everything once, smaller parts first so that peaks do not hide each other."""
    given = arguments(__doc__).parse_args()
    hour, many = spoken(10_000), spoken(1_000_000)
    hour_restored, hour_heard = restored(hour), recognised(hour)
    everything = [*METRICS]
    rows = [
        timed(
            "all metrics with intervals, an hour",
            10_000,
            2.0,
            lambda: evaluate(hour, hour_restored, metrics=everything),
        ),
        timed("the same, aligned", 10_000, None, lambda: evaluate(hour, hour_heard, metrics=everything, align=True)),
    ]
    texts = [[word.text for word in side.words] for side in (hour, hour_heard)]
    rows.append(timed("word alignment: ours", 10_000, None, lambda: align(*texts)))
    if importlib.util.find_spec("jiwer"):
        import jiwer

        joined = [" ".join(side) for side in texts]
        rows.append(timed("word alignment: jiwer", 10_000, None, lambda: jiwer.process_words(*joined)))
    found = pair(hour, hour_restored)
    options = MetricOptions()
    rows.append(timed("segmentation: ours", 10_000, None, lambda: named("segmentation").count(found, options)))
    if importlib.util.find_spec("segeval"):
        import segeval

        masses = [_masses(side) for side in (hour, hour_restored)]
        rows.append(timed("segmentation: segeval", 10_000, None, lambda: (
            segeval.boundary_similarity(*masses), segeval.window_diff(*masses), segeval.pk(*masses),
        )))  # fmt: skip
    long = spoken(100_000, 4)
    heard = recognised(long)
    sides = [[word.text for word in side.words] for side in (long, heard)]
    rows.append(timed("word alignment: ours", 100_000, None, lambda: align(*sides)))
    many_restored = restored(many)
    rows.append(
        timed("all metrics with intervals", 1_000_000, 20.0, lambda: evaluate(many, many_restored, metrics=everything))
    )
    report("metrics", rows, given.json)


def _masses(transcript: Transcript) -> tuple[int, ...]:
    masses, current = [], 0
    for word in transcript.words:
        current += 1
        if word.mark in (".", "?"):
            masses.append(current)
            current = 0
    return (*masses, current) if current else tuple(masses)


if __name__ == "__main__":
    main()
