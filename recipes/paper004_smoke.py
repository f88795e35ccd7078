"""A tiny made-up set-up that every system of paper 004 must learn.

In: names of systems. Out: each one's SU error rate on speech made like what it learned from. Sentences of our own
follow one another at random; behind each is a pause, and each ends with a word that stands nowhere else, so that words
alone and prosody alone tell the ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from boundaries import Spoken, sentence_ends
from interpunct.features.embeddings import Embeddings
from interpunct.features.prosody import measure_prosody
from interpunct.models.encoded import Tagged
from interpunct.models.loop_options import LoopOptions
from interpunct.models.tag_crf import CHUNK, POS, TagCRF
from interpunct.transcript import Transcript, Word
from paper004_bench import FOLDER, Bench, limited, train_embeddings
from paper004_data import Data
from paper004_scores import scored
from paper004_systems import Setup, read_paper

SENTENCES = (
    "we walk to the old river", "my sister brings bread", "the boats are slow today", "he has seen them before",
    "it is two miles from here", "they talk about the weather",
)  # fmt: skip
SETUP = Setup("Made up", "sentences of our own", "all", {"ljspeech": 0}, {"ljspeech": 0}, {"tiny": 0, "tiny-asr": 0})
WORST = 20.0
"""The SU error rate, per cent, from which on a system has not learned the text."""


def smoke(names: Sequence[str], folder: Path) -> int:
    """Run systems the whole way; return how many did not learn the text."""
    found = rates(names, folder)
    for name, rate in found.items():
        print(f"{name}: SU error rate {rate:.1f}{'' if rate <= WORST else f'  <- above {WORST:.0f}'}", flush=True)
    return sum(rate > WORST for rate in found.values())


def rates(names: Sequence[str], folder: Path) -> dict[str, float]:
    """Train and score systems in a folder; return each one's SU error rate."""
    paper = replace(read_paper(smoke=True), setups={"tiny": SETUP})
    data = tiny_data()
    write_inputs(folder)
    texts = [each.transcript for each in data.train]
    embeddings = folder / FOLDER / "embeddings"
    if not embeddings.exists():
        loop = limited(paper.embeddings.loop, "cpu", None)
        train_embeddings(
            paper.embeddings, texts, texts[:1], embeddings, folder / FOLDER / "projected.txt",
            trained_on=(), loop=loop,
        )  # fmt: skip
    bench = Bench(paper, "tiny", data, folder)
    for name in names or paper.systems:
        bench.make(name)
    figures = scored(paper, "tiny", data, folder, {})["systems"]
    return {name: float(row["sets"]["tiny"]["error"][0]) for name, row in figures.items()}


def tiny_data() -> Data:
    """Return documents to learn from, others for dev, and a test that is read twice."""
    test = [made_up(seed) for seed in (7, 8)]
    return Data([made_up(seed) for seed in range(6)], [made_up(6)], {"tiny": test, "tiny-asr": test})


def made_up(seed: int, sentences: int = 30) -> Spoken:
    """Say sentences in an order of one's own, each with a pause behind it."""
    random = np.random.default_rng(seed)
    words: list[Word] = []
    now = 0.0
    for place in random.integers(len(SENTENCES), size=sentences).tolist():
        texts = SENTENCES[place].split()
        for number, text in enumerate(texts):
            last = number == len(texts) - 1
            lasts = random.uniform(0.2, 0.3) + 0.15 * last
            words.append(Word(text, round(now, 3), round(now + lasts, 3), speaker="A", mark="." if last else ""))
            now += lasts + (random.uniform(0.4, 0.8) if last else random.uniform(0.0, 0.05))
    transcript = sentence_ends(Transcript(tuple(words), f"tiny-{seed}"))
    return Spoken(transcript, measure_prosody(transcript))


def write_inputs(folder: Path) -> None:
    """Write the word vectors and the tagger that systems read."""
    vocabulary = sorted({text for sentence in SENTENCES for text in sentence.split()})
    vectors = folder / "vectors" / "cbow.npz"
    if not vectors.exists():
        vectors.parent.mkdir(parents=True)
        numbers = np.random.default_rng(1).normal(size=(len(vocabulary), 16)).astype(np.float32)
        Embeddings(tuple(vocabulary), numbers).save(vectors)
    if not (folder / "syntax").exists():
        tags = {POS: ("DT", "NN"), CHUNK: ("I-NP", "O")}
        words = tuple(map(Word, vocabulary))
        given = {task: [names[len(word.text) % 2] for word in words] for task, names in tags.items()}
        tagged = Tagged(Transcript(words), given)
        model = TagCRF.create(name="syntax", version="1", labels=tags, options={}, words=())
        corpus = model.encode([tagged] * 3)
        model.fit(corpus, corpus, loop=LoopOptions(epochs=3), log=lambda _: None)
        model.save(folder / "syntax")
