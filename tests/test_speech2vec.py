"""Speech2Vec on tones: each tone is a word, and an order of tones a language."""

from __future__ import annotations

import random
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rapidfuzz.distance import Levenshtein

torch = pytest.importorskip("torch")
soundfile = pytest.importorskip("soundfile")

from homophones import checked, homophones, near_in_spelling  # noqa: E402
from interpunct.audio.sound import RATE  # noqa: E402
from interpunct.errors import InputError  # noqa: E402
from interpunct.features.embeddings import Embeddings, read_embeddings  # noqa: E402
from interpunct.models.loop_options import LoopOptions  # noqa: E402
from interpunct.train.speech2vec import (  # noqa: E402
    Speech2Vec,
    Speech2VecOptions,
    SpeechModel,
    SpokenWord,
    _Words,
    cut_words,
    train_speech2vec,
    with_clitics,
)
from interpunct.transcript import Transcript, Word  # noqa: E402

TONES = {"too": 300.0, "two": 300.0, "so": 900.0, "fa": 2000.0, "la": 3500.0}
SONG = ("too", "so", "fa", "two", "la")
SMALL = Speech2VecOptions(dimension=8, units=12, window=1, longest=30, batch=16)


def sung(path: Path, words: list[str], seed: int) -> Transcript:
    """Write a recording of tones, of lengths of their own, with a little noise; return its timed transcript."""
    draw, said, at, parts = random.Random(seed), [], 0.0, []
    for text in words:
        length = draw.choice((0.1, 0.15, 0.2))
        time = np.arange(round(length * RATE)) / RATE
        parts.append(0.3 * np.sin(2 * np.pi * TONES[text] * draw.uniform(0.97, 1.03) * time))
        said.append(Word(text, round(at, 3), round(at + length, 3)))
        at += length
    sound = np.concatenate(parts)
    sound += np.random.default_rng(seed).normal(0, 0.01, len(sound))
    soundfile.write(path, sound.astype(np.float32), RATE)
    return Transcript(tuple(said))


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> list[list[SpokenWord]]:
    folder = tmp_path_factory.mktemp("songs")
    made = []
    for number in range(12):
        # Too stands before so and two before la: what is spelt apart has other neighbours, too.
        begin = random.Random(number).randrange(len(SONG))
        transcript = sung(folder / f"{number}.wav", [*SONG[begin:], *SONG * 2], number)
        made.append(cut_words(folder / f"{number}.wav", transcript))
    return made


def learned(recordings: list[list[SpokenWord]], *, epochs: int = 10, seed: int = 1) -> tuple[SpeechModel, list[Any]]:
    rows: list[Any] = []
    loop = LoopOptions(epochs=epochs, rate=1e-2, seed=seed, device="cpu", mixed=False, weight_decay=0.0)
    return train_speech2vec(recordings, options=SMALL, loop=loop, log=rows.append), rows


@pytest.fixture(scope="module")
def trained(recordings: list[list[SpokenWord]]) -> tuple[SpeechModel, list[Any]]:
    return learned(recordings)


def cosine(vectors: Embeddings, one: str, other: str) -> float:
    centred = vectors.vectors - vectors.unknown
    a, b = centred[vectors.rows([one, other])]
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_cut_words_have_the_frames_of_their_times(tmp_path: Path) -> None:
    transcript = sung(tmp_path / "song.wav", list(SONG), 1)
    cut = cut_words(tmp_path / "song.wav", transcript)
    assert [word.text for word in cut] == list(SONG)
    for word, said in zip(cut[:-1], transcript.words, strict=False):
        assert len(word.frames) == pytest.approx(100 * ((said.end or 0) - (said.start or 0)) - 1.5, abs=1)
    together = np.concatenate([word.frames for word in cut])
    np.testing.assert_allclose(together.mean(axis=0), 0, atol=1e-3)
    np.testing.assert_allclose(together.std(axis=0), 1, atol=1e-3)


def test_cut_words_leave_out_what_has_no_times_or_no_sound(tmp_path: Path) -> None:
    sung(tmp_path / "song.wav", list(SONG), 1)
    words = (
        Word("Too", 0.0, 0.1, raw="Too,"),
        Word("so"),
        Word("fa", 0.2, 0.22),
        Word("—", 0.3, 0.4),
        Word("la", 50, 51),
    )
    assert [word.text for word in cut_words(tmp_path / "song.wav", Transcript(words))] == ["too"]
    assert cut_words(tmp_path / "song.wav", Transcript(())) == []


def test_cut_words_do_not_depend_on_loudness(tmp_path: Path) -> None:
    transcript = sung(tmp_path / "song.wav", list(SONG), 1)
    sound, _ = soundfile.read(tmp_path / "song.wav", dtype="float32")
    soundfile.write(tmp_path / "quiet.wav", 0.1 * sound, RATE, subtype="FLOAT")
    soundfile.write(tmp_path / "loud.wav", sound, RATE, subtype="FLOAT")
    both = [cut_words(tmp_path / name, transcript) for name in ("quiet.wav", "loud.wav")]
    for quiet, loud in zip(*both, strict=True):
        np.testing.assert_allclose(quiet.frames, loud.frames, atol=1e-2)


def test_neighbours_stay_within_their_recording(recordings: list[list[SpokenWord]]) -> None:
    options = Speech2VecOptions(window=2, longest=30)
    words = _Words.of(recordings[:2], options)
    sizes = [len(recordings[0]), len(recordings[1])]
    for place in range(sum(sizes)):
        begin, end = (0, sizes[0]) if place < sizes[0] else (sizes[0], sum(sizes))
        expected = [near if begin <= near < end else -1 for near in (place - 2, place - 1, place + 1, place + 2)]
        assert words.neighbours[place].tolist() == expected


def test_speech2vec_gives_the_same_vector_whatever_else_is_in_the_batch() -> None:
    torch.manual_seed(1)
    network = Speech2Vec(SMALL).eval()
    sounds, lengths = torch.randn(3, 20, 13), torch.tensor([5, 20, 11])
    together = network.encode(sounds, lengths)
    for row, length in enumerate(lengths.tolist()):
        alone = network.encode(sounds[row : row + 1, :length], lengths[row : row + 1])
        torch.testing.assert_close(together[row : row + 1], alone, atol=1e-6, rtol=1e-5)


def test_training_beats_the_mean_neighbour(trained: tuple[SpeechModel, list[Any]]) -> None:
    model, rows = trained
    assert rows[-1]["loss"] < rows[0]["loss"]
    assert model.loss < 0.9 * model.plain_loss  # a tone tells its neighbours


def test_vectors_of_one_tone_lie_near_each_other(trained: tuple[SpeechModel, list[Any]]) -> None:
    vectors = trained[0].embeddings
    others = [cosine(vectors, "two", other) for other in ("so", "fa", "la")]
    assert cosine(vectors, "two", "too") > 0.9
    assert max(others) < 0.7


def test_vectors_are_means_over_occurrences_commonest_first(recordings: list[list[SpokenWord]]) -> None:
    model, _ = learned(recordings, epochs=0)
    assert dict(model.counts) == {word: sum(w.text == word for r in recordings for w in r) for word in TONES}
    assert [model.counts[word] for word in model.embeddings.words] == sorted(model.counts.values(), reverse=True)
    torch.manual_seed(1)
    network = Speech2Vec(SMALL)
    with torch.no_grad():
        each = [
            network.encode(torch.from_numpy(word.frames)[None, :30], torch.tensor([min(30, len(word.frames))]))[0]
            for recording in recordings
            for word in recording
            if word.text == "la"
        ]
    row = model.embeddings.words.index("la")
    np.testing.assert_allclose(model.embeddings.vectors[row], torch.stack(each).mean(dim=0), atol=1e-5)


def test_seeds_repeat(recordings: list[list[SpokenWord]]) -> None:
    first, again, other = (learned(recordings[:4], epochs=1, seed=seed)[0] for seed in (1, 1, 2))
    assert np.array_equal(first.embeddings.vectors, again.embeddings.vectors)
    assert not np.array_equal(first.embeddings.vectors, other.embeddings.vectors)


def test_saved_vectors_are_read_back_equal(recordings: list[list[SpokenWord]], tmp_path: Path) -> None:
    vectors = learned(recordings[:4], epochs=1)[0].embeddings
    vectors.save(tmp_path / "speech2vec.txt")
    lines = (tmp_path / "speech2vec.txt").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "5 8"
    assert len(lines[1].split(" ")) == 9
    read = read_embeddings(tmp_path / "speech2vec.txt")
    assert read.words == vectors.words
    assert np.array_equal(read.vectors, vectors.vectors)


def test_with_clitics_leaves_known_words_alone() -> None:
    vectors = Embeddings(("it", "it's", "he's", "'s"), np.arange(8, dtype=np.float32).reshape(4, 2))
    assert with_clitics(vectors, {"it": 1, "it's": 1, "he's": 1, "'s": 1}).words == vectors.words
    added = with_clitics(Embeddings(vectors.words[:3], vectors.vectors[:3]), {"it": 9, "it's": 3, "he's": 1})
    assert added.words == ("it", "it's", "he's", "'s")
    np.testing.assert_allclose(added.vectors[3], (3 * vectors.vectors[1] + vectors.vectors[2]) / 4)


def test_options_refuse_what_no_network_has() -> None:
    with pytest.raises(ValueError, match="even"):
        Speech2VecOptions(dimension=51)
    with pytest.raises(ValueError, match="longest"):
        Speech2VecOptions(longest=0)


def test_training_holds_nothing_out_where_that_would_leave_nothing_to_score(
    recordings: list[list[SpokenWord]],
) -> None:
    model, _ = learned([*recordings[:10], recordings[10][:1]], epochs=1)  # the eleventh is the one held out
    assert np.isfinite(model.loss)


def test_training_without_neighbours_is_refused() -> None:
    alone = [[SpokenWord("so", np.zeros((5, 13), dtype=np.float32))]]
    with pytest.raises(InputError, match="running speech"):
        learned(alone)


SOUNDS = {"two": "T UW", "too": "T UW", "toe": "T OW", "no": "N OW", "know": "N OW", "now": "N AW"}


def test_homophones_are_words_of_one_sound() -> None:
    words = ["too", "know", "two", "toe", "no", "now", "unheard", "know's"]
    assert homophones(words, SOUNDS | {"know's": "N OW Z"}) == [["too", "two"], ["know", "no"]]


def test_near_in_spelling_are_all_pairs_at_distance_one_that_sound_different() -> None:
    words = ["two", "too", "toe", "now", "know", "no", "toes"]
    sounds = SOUNDS | {"toes": "T OW Z"}
    expected = [
        (one, other)
        for one, other in combinations(sorted(words), 2)
        if Levenshtein.distance(one, other) == 1 and sounds[one] != sounds[other] and min(len(one), len(other)) > 2
    ]
    assert near_in_spelling(words, sounds) == expected


def test_homophone_check_tells_vectors_of_sound_from_random_ones() -> None:
    draw = np.random.default_rng(1)
    words = [f"{first}{vowel}{last}" for first in "bdfgklmnprst" for vowel in "aeiou" for last in ("t", "tt", "m", "k")]
    sounds = {word: word.replace("tt", "t") for word in words}
    counts = {word: int(count) for word, count in zip(words, draw.integers(1, 50, len(words)), strict=True)}
    by_sound = {sound: draw.normal(size=10) for sound in sorted(set(sounds.values()))}
    heard = np.array([by_sound[sounds[word]] + draw.normal(0, 0.1, 10) for word in words], dtype=np.float32)
    random_vectors = draw.normal(size=heard.shape).astype(np.float32)
    for name in ("random pairs", "pairs near in spelling"):
        good = checked(Embeddings(tuple(words), heard), counts, sounds)[name]
        chance = checked(Embeddings(tuple(words), random_vectors), counts, sounds)[name]
        assert (good.pairs, good.sets) == (60, 60)
        assert good.low > 0.95
        assert good.cosine > 0.9
        assert chance.low < 0.5 < chance.high
