"""The syntax tagger: its chunks against a slow reading, its features, joined sentences, its folder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpunct.corpora.syntax import TaggedSentence
from interpunct.errors import ConfigError
from interpunct.features import Features
from interpunct.labels import parse_text
from interpunct.models.encoded import Tagged
from interpunct.models.loop_options import LoopOptions
from interpunct.models.tag_crf import (
    TagCRF,
    TagCRFOptions,
    chunk_spans,
    joined_documents,
    tag_features,
    tagged_documents,
    to_iobes,
    universal_pos,
)
from interpunct.transcript import Transcript, Word

SENTENCES = (
    TaggedSentence(
        ("The", "old", "man", "boats", "."),
        ("DT", "JJ", "NN", "VBZ", "."),
        ("B-NP", "I-NP", "I-NP", "B-VP", "O"),
        "a",
    ),
    TaggedSentence(
        ("He", "did", "n't", "see", "the", "boats", ",", "I", "think", "."),
        ("PRP", "VBD", "RB", "VB", "DT", "NNS", ",", "PRP", "VBP", "."),
        ("B-NP", "B-VP", "I-VP", "I-VP", "B-NP", "I-NP", "O", "B-NP", "B-VP", "O"),
        "b",
    ),
    TaggedSentence(
        ("Old", "boats", "see", "to", "Paris", "!"),
        ("JJ", "NNS", "VBP", "IN", "NNP", "."),
        ("B-NP", "I-NP", "B-VP", "B-PP", "B-NP", "O"),
        "b",
    ),
)
WORDS = "the old man boats he did n't see the boats i think old boats see to paris".split()
PENN = "DT JJ NN VBZ PRP VBD RB VB DT NNS PRP VBP JJ NNS VBP TO NNP".split()
IOBES = (
    "B-NP I-NP E-NP S-VP S-NP B-VP I-VP E-VP B-NP E-NP S-NP S-VP B-NP E-NP S-VP S-PP S-NP".split()
)  # fmt: skip


def labels_of(documents: Sequence[Tagged]) -> dict[str, tuple[str, ...]]:
    return {
        task: tuple(sorted({tag for document in documents for tag in document.tags[task] if tag}))
        for task in ("chunk", "pos")
    }


def taught(*, epochs: int = 60, seed: int = 1, tasks: Sequence[str] = ("chunk", "pos"), **options: Any) -> TagCRF:
    documents = list(tagged_documents(SENTENCES))
    labels = {task: names for task, names in labels_of(documents).items() if task in tasks}
    chosen = {"c2": 0.01, "algorithm": "lbfgs"} | options
    model = TagCRF.create(name="tiny", version="1", labels=labels, options=chosen, words=())
    data = model.encode(documents)
    return model.fit(data, data, loop=LoopOptions(epochs=epochs, seed=seed), log=lambda _: None)


def found(model: TagCRF, task: str, texts: Sequence[str]) -> list[str]:
    (scores,) = model.forward([Features.of(texts)])
    return [model.labels[task][label] for label in scores.chosen(task)]


@pytest.fixture(scope="module")
def model() -> TagCRF:
    return taught()


def slow_iobes(chunks: Sequence[str]) -> list[str]:
    """Look at each tag's neighbours: does the chunk go on from before, does it go on behind?"""
    tags = []
    for place, chunk in enumerate(chunks):
        before = chunks[place - 1] if place else "O"
        behind = chunks[place + 1] if place + 1 < len(chunks) else "O"
        if chunk == "O":
            tags.append("O")
            continue
        kind = chunk[2:]
        begins = chunk.startswith("B-") or before == "O" or before[2:] != kind
        ends = behind != f"I-{kind}"
        tags.append({(1, 1): "S", (1, 0): "B", (0, 0): "I", (0, 1): "E"}[begins, ends] + f"-{kind}")
    return tags


any_chunks = st.lists(st.sampled_from(["O", "B-NP", "I-NP", "B-VP", "I-VP"]), max_size=12)


@given(any_chunks)
def test_iobes_tags_are_those_of_a_slow_reading(chunks: list[str]) -> None:
    assert to_iobes(chunks) == slow_iobes(chunks)


@given(any_chunks)
def test_iobes_tags_hold_the_same_chunks(chunks: list[str]) -> None:
    tags = to_iobes(chunks)
    assert chunk_spans(tags) == chunk_spans(chunks)
    said = " ".join(tags)
    assert re.fullmatch(r"(?:(?:O|S-\w+|B-(?P<k>\w+)(?: I-(?P=k))* E-(?P=k))(?: |$))*", said)


@given(any_chunks, st.data())
def test_iobes_tags_of_words_that_stay_are_those_of_shorter_chunks(chunks: list[str], data: st.DataObject) -> None:
    kept = data.draw(st.lists(st.booleans(), min_size=len(chunks), max_size=len(chunks)))
    place = {word: number for number, word in enumerate(word for word, keep in enumerate(kept) if keep)}
    expected = []
    for span in chunk_spans(chunks):
        rows = [place[word] for word in range(span.begin, span.stop) if kept[word]]
        if rows:
            expected.append((rows[0], rows[-1] + 1, span.kind))
    tags = to_iobes(chunks, kept)
    assert len(tags) == sum(kept)
    assert [tuple(span) for span in chunk_spans(tags)] == expected


def test_chunks_that_are_not_ended_are_read_as_far_as_they_go() -> None:
    assert chunk_spans(["B-NP", "O", "B-NP", "E-VP", "E-VP", "S-VP", "I-VP"]) == [
        (0, 1, "NP"), (2, 3, "NP"), (3, 4, "VP"), (4, 5, "VP"), (5, 6, "VP"), (6, 7, "VP"),
    ]  # fmt: skip


def test_documents_are_lower_case_without_punctuation() -> None:
    (document,) = joined_documents(tagged_documents(SENTENCES), words=100)
    assert [word.text for word in document.transcript.words] == WORDS
    assert list(document.tags["pos"]) == PENN
    assert list(document.tags["chunk"]) == IOBES
    assert {word.mark for word in document.transcript.words} == {None}


def test_documents_leave_out_what_nobody_says_and_mend_its_chunk() -> None:
    sentence = TaggedSentence(
        ("It", "%", "fell", "%", "."), ("PRP", "NN", "VBD", "NN", "."), ("B-NP", "B-NP", "I-NP", "I-NP", "O")
    )
    (document,) = tagged_documents([sentence, TaggedSentence(("%",), ("NN",), ("B-NP",))])
    assert [word.text for word in document.transcript.words] == ["it", "fell"]
    assert document.tags == {"pos": ["PRP", "VBD"], "chunk": ["S-NP", "S-NP"]}


def test_documents_without_chunks_teach_parts_of_speech_alone() -> None:
    (document,) = tagged_documents([replace(SENTENCES[2], chunks=None)], universal=True)
    assert document.tags == {"pos": ["ADJ", "NOUN", "VERB", "PRT", "NOUN"]}
    assert [universal_pos(tag) for tag in ("MD", "WDT", "CD", "FW")] == ["VERB", "DET", "NUM", "X"]


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=8), st.integers(1, 9))
def test_joined_documents_keep_every_word_and_tag(shapes: list[tuple[int, bool]], words: int) -> None:
    documents = []
    for number, (size, chunked) in enumerate(shapes):
        texts = [f"{number}.{place}" for place in range(size)]
        tags = {"pos": texts} | ({"chunk": texts} if chunked else {})
        documents.append(Tagged(Transcript(tuple(map(Word, texts))), tags))
    joined = list(joined_documents(documents, words=words))
    said = [word.text for document in joined for word in document.transcript.words]
    assert said == [word.text for document in documents for word in document.transcript.words]
    for document in joined:
        for column in document.tags.values():
            assert list(column) == [word.text for word in document.transcript.words]
    for task in ("pos", "chunk"):
        before = [tag for document in documents for tag in document.tags.get(task, ())]
        assert [tag for document in joined for tag in document.tags.get(task, ())] == before
    if len({chunked for _, chunked in shapes}) == 1 and sum(size for size, _ in shapes) >= words:
        assert all(len(document.transcript.words) >= words for document in joined)


def test_joined_sentences_are_one_text_to_the_model() -> None:
    """Sentences and the same words as one document teach the same: no feature tells where a sentence ended."""
    documents = list(tagged_documents(SENTENCES))
    (whole,) = joined_documents(documents, words=100)
    made = TagCRF.create(name="tiny", version="1", labels=labels_of(documents), options={}, words=())
    parts, one = made.encode(documents), made.encode([whole])
    assert len(parts.documents) == len(one.documents) == 1
    assert len(made.encode(documents * 20).documents) == 1  # 340 words: what is left over is too short for its own
    learned = [
        made.fit(data, data, loop=LoopOptions(epochs=3), log=lambda _: None).chains["pos"].data for data in (parts, one)
    ]
    assert learned[0] == learned[1]
    assert sum("<s>" in row for features in tag_features(WORDS) for row in features) == 6  # 3 words, 3 endings


def test_features_do_not_look_at_case_or_punctuation() -> None:
    plain = "so don't you see the u.s team of 00 well-known men do you".split()
    noisy = ["“So,", "DON’T", "you?!", "See", "(the)", "U.S.", "Team;", "of:", "12", "Well-Known", "men.", "Do", "You?"]
    assert list(tag_features(noisy)) == list(tag_features(plain))


def test_features_are_those_of_the_word_and_two_neighbours() -> None:
    texts = "we saw twenty-two o'clock jumping boats go".split()
    rows = list(tag_features(texts, list("ABCDEFG")))
    row = set(rows[3])
    assert {"-2=saw", "-1=twenty-two", "0=o'clock", "1=jumping", "2=boats"} <= row
    assert {"b1=o", "b2=o'", "b3=o'c", "b4=o'cl", "e1=k", "e2=ck", "e3=ock", "e4=lock", "~=a'a"} <= row
    assert {"-2e3=saw", "-1e2=wo", "1e3=ing", "2e1=s"} <= row
    assert {"p-2=B", "p0=D", "p2=F", "p-1,0=C D", "p0,1,2=D E F"} <= row
    assert not any("=we" in one or "=go" in one or "b5" in one or "e5" in one for one in row)
    assert "~=a-a" in rows[2]
    assert all(len(one) == len(set(one)) for one in rows)
    assert not any(one.startswith("p") for features in tag_features(texts) for one in features)


def test_features_of_short_strange_and_no_words() -> None:
    assert list(tag_features([])) == []
    for text in ("", "a", "x" * 5000, "?", "ж", "<s>", "00"):
        (row,) = tag_features([text])
        assert all(len(one) < 60 for one in row)


def test_model_learns_a_text_by_heart(model: TagCRF) -> None:
    assert found(model, "pos", WORDS) == PENN
    assert found(model, "chunk", WORDS) == IOBES
    (scores,) = model.forward([Features.of(WORDS)])
    for task in ("pos", "chunk"):
        chances = np.exp(scores.tasks[task])
        np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-5)
        assert chances.max(axis=1).min() > 0.5


def test_model_reads_transcripts_with_case_and_marks_alike(model: TagCRF) -> None:
    (plain,) = model.forward([Features(tuple(WORDS))])
    (noisy,) = model.forward([Features(tuple(word.title() + "," for word in WORDS))])
    for task in ("pos", "chunk"):
        np.testing.assert_array_equal(plain.tasks[task], noisy.tasks[task])


def test_chunks_are_found_by_the_parts_of_speech_that_were_found(model: TagCRF) -> None:
    """The chunk chain's scores are those of the features with the tagger's own tags, wherever the task stands."""
    assert list(model.labels) == ["pos", "chunk"]
    texts = "a man did see old boats".split()
    (scores,) = model.forward([Features.of(texts)])
    rows = tag_features(texts, found(model, "pos", texts), options=model.options)
    expected, _ = model.chains["chunk"].read(rows, len(texts))
    np.testing.assert_array_equal(scores.tasks["chunk"], expected)
    blind, _ = model.chains["chunk"].read(tag_features(texts, options=model.options), len(texts))
    assert not np.allclose(scores.tasks["chunk"], blind, atol=1e-3)


@pytest.mark.parametrize("task", ["pos", "chunk"])
def test_model_of_one_task_works_alone(task: str) -> None:
    alone = taught(tasks=[task])
    assert found(alone, task, WORDS) == (PENN if task == "pos" else IOBES)


def test_model_saved_and_loaded_gives_the_same_scores(model: TagCRF, tmp_path: Path) -> None:
    model.save(tmp_path)
    again = TagCRF.load(tmp_path)
    assert again.options == model.options == TagCRFOptions(c2=0.01, algorithm="lbfgs")
    texts = Features.of("the man did n't think".split())
    for task, logs in model.forward([texts])[0].tasks.items():
        np.testing.assert_array_equal(again.forward([texts])[0].tasks[task], logs)
    assert (again.labels, again.name, again.clitics) == (model.labels, "tiny 1", "split")


@pytest.mark.parametrize("algorithm", ["l2sgd", "lbfgs"])
def test_fit_learns_the_same_from_the_same_seed(algorithm: str) -> None:
    one, two = (taught(epochs=3, algorithm=algorithm, sequence=4) for _ in range(2))
    assert {task: crf.data for task, crf in one.chains.items()} == {task: crf.data for task, crf in two.chains.items()}


def test_model_takes_marks_as_another_task() -> None:
    made = TagCRF.create(
        name="m",
        version="1",
        labels={"mark": ("", ",", ".")},
        options={"c2": 0.01, "algorithm": "lbfgs"},
        words=(),
    )
    data = made.encode([Transcript(parse_text("Yes, we see. You see, he went."))])
    made.fit(data, data, loop=LoopOptions(epochs=60), log=lambda _: None)
    assert found(made, "mark", "yes we see you see he went".split()) == [",", "", ".", "", ",", "", "."]


@pytest.mark.parametrize(
    "bad", [{"affix": -1}, {"near_affix": -1}, {"tag_order": 0}, {"tag_order": 9}, {"joined": 0}, {"clitics": "joined"}]
)
def test_options_refuse_nonsense(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(bad))):
        TagCRF.create(name="m", version="1", labels={"pos": ("NN",)}, options=bad, words=())
