from __future__ import annotations

import json
import lzma
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interpunct import config, corpora
from interpunct.clitics import split_clitics
from interpunct.errors import ConfigError, InputError, MissingExtraError, UnknownNameError
from interpunct.features import normalise
from interpunct.features.embeddings import Embeddings, read_embeddings
from interpunct.train.vectors import VectorsConfig, train_vectors

RECIPE = Path(__file__).parents[1] / "recipes" / "cbow.toml"
ANIMALS, DAYS = ("cat", "dog", "cow", "horse"), ("Monday", "Tuesday", "Friday", "Sunday")
TINY = ['corpora=["iwslt:train"]', "workers=1", "dimension=12", "epochs=3", "sample=0"]
EVERYTHING = "I don't know 42 of them; we'll see. “They’re here,” said the U.S.'s — well — o'clock man."
ADDRESS = "example.org/" + "very" * 20


def write_talks(folder: Path, split: str, talks: list[str]) -> None:
    rows = (
        {"id": str(i), "title": "", "published": None, "start_ms": None, "paragraphs": [t]} for i, t in enumerate(talks)
    )
    (folder / f"{split}.jsonl.xz").write_bytes(lzma.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))


def sentences(count: int) -> str:
    """Sentences in which animals stand where animals do and days where days do."""
    draw = random.Random(5)
    made = []
    for _ in range(count):
        animal, day = draw.choice(ANIMALS), draw.choice(DAYS)
        made.append(draw.choice([f"The old {animal} ate my green grass.", f"We will meet again on {day} at noon."]))
    return " ".join(made)


@pytest.fixture
def talks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with talks of our own: one of every kind of word, one of more words than a line holds."""
    folder = tmp_path / "data" / "iwslt"
    folder.mkdir(parents=True)
    numbered = " ".join(map(str, range(2500))).translate(str.maketrans("0123456789", "abcdefghij"))
    write_talks(folder, "train", [f"{EVERYTHING} {ADDRESS}.", f"{numbered} end."])
    write_talks(folder, "extra", [sentences(1500)])
    monkeypatch.setenv("INTERPUNCT_DATA", str(tmp_path / "data"))
    return folder


def run(target: Path, *overrides: str) -> tuple[Embeddings, list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    return train_vectors(RECIPE, target, overrides=[*TINY, *overrides], log=rows.append), rows


def trained(rows: list[dict[str, Any]]) -> bool:
    return any("epoch" in row for row in rows)


@pytest.mark.usefixtures("talks")
def test_vectors_of_words_in_the_same_places_are_near(tmp_path: Path) -> None:
    found, _ = run(tmp_path / "v.npz", 'corpora=["iwslt:extra"]', "epochs=15", "dimension=20")
    names = [word.lower() for word in (*ANIMALS, *DAYS)]
    vectors = found.vectors[found.rows(names)]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    near = vectors @ vectors.T
    alike = near[:4, :4][np.triu_indices(4, 1)].tolist() + near[4:, 4:][np.triu_indices(4, 1)].tolist()
    assert min(alike) > near[:4, 4:].max() + 0.1


@pytest.mark.usefixtures("talks")
def test_vectors_have_a_row_for_every_word_as_models_read_it(tmp_path: Path) -> None:
    slow: dict[str, int] = {}
    for transcript in corpora.read("iwslt", "train"):
        for word in transcript.words:
            for part in split_clitics(normalise(word.text)):
                slow[normalise(part)] = slow.get(normalise(part), 0) + 1
    found, rows = run(tmp_path / "v.npz")
    del slow[ADDRESS]
    slow.pop("", None)
    assert len(slow) > 2000
    assert sorted(found.words) == sorted(slow)
    assert rows[0] == {"corpus": "iwslt:train", "words": sum(slow.values())}
    assert {"do", "n't", "00", "'ll", "'re", "u.s", "'s", "o'clock"} <= set(found.words)
    assert found.dimension == 12


@pytest.mark.usefixtures("talks")
def test_vectors_are_of_joined_words_where_a_model_reads_those(tmp_path: Path) -> None:
    found, _ = run(tmp_path / "v.npz", "clitics=joined", "documents=1")
    assert {"don't", "we'll", "they're"} <= set(found.words)
    assert not {"n't", "'ll", "end"} & set(found.words)


@pytest.mark.usefixtures("talks")
@pytest.mark.parametrize("name", ["v.npz", "v.txt"])
def test_vectors_are_trained_once_and_reused(tmp_path: Path, name: str) -> None:
    target = tmp_path / "new" / name
    first, rows = run(target)
    assert [row["epoch"] for row in rows if "epoch" in row] == [1, 2, 3]
    written = target.read_bytes()
    again, rows = run(target)
    assert rows == [{"reused": str(target)}]
    assert again.words == first.words
    np.testing.assert_array_equal(again.vectors, first.vectors)
    np.testing.assert_array_equal(read_embeddings(target).vectors, first.vectors)
    assert target.read_bytes() == written
    assert sorted(path.name for path in target.parent.iterdir()) == [name, f"{name}.json"]


@pytest.mark.usefixtures("talks")
def test_vectors_of_an_npz_are_small_and_near_those_of_the_text(tmp_path: Path) -> None:
    half, _ = run(tmp_path / "v.npz")
    whole, _ = run(tmp_path / "v.txt")
    with np.load(tmp_path / "v.npz", allow_pickle=False) as data:
        assert data["vectors"].dtype == np.float16
    assert half.words == whole.words
    np.testing.assert_allclose(half.vectors, whole.vectors, rtol=1e-3, atol=1e-6)
    assert not np.array_equal(half.vectors, whole.vectors)


@pytest.mark.usefixtures("talks")
def test_vectors_are_trained_anew_when_the_configuration_or_a_file_is_another(tmp_path: Path) -> None:
    target = tmp_path / "v.npz"
    first, _ = run(target)
    second, rows = run(target, "seed=2")
    assert trained(rows)
    assert not np.array_equal(first.vectors, second.vectors)
    assert "seed = 2" in json.loads((tmp_path / "v.npz.json").read_text())["config"]
    assert not trained(run(target, "seed=2")[1])
    (tmp_path / "v.npz.json").write_text("[1, 2")
    assert trained(run(target, "seed=2")[1])
    target.unlink()
    assert trained(run(target, "seed=2")[1])


@pytest.mark.usefixtures("talks")
def test_vectors_stay_as_they_were_when_training_breaks_off(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    run(folder / "v.npz")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def stop(row: dict[str, Any]) -> None:
        if row.get("epoch") == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_vectors(RECIPE, folder / "v.npz", overrides=[*TINY, "seed=2"], log=stop)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert not trained(run(folder / "v.npz")[1])


@pytest.mark.usefixtures("talks")
def test_vectors_of_one_worker_are_the_same_in_another_process(tmp_path: Path) -> None:
    here, _ = run(tmp_path / "here.npz", 'corpora=["iwslt:train", "iwslt:extra"]', "sample=1e-3")
    code = f"""if True:
        from interpunct.train.vectors import train_vectors
        overrides = {[*TINY, 'corpora=["iwslt:train", "iwslt:extra"]', "sample=1e-3"]!r}
        train_vectors({str(RECIPE)!r}, {str(tmp_path / "there.npz")!r}, overrides=overrides)
    """
    for hash_seed in ("1", "2"):
        (tmp_path / "there.npz").unlink(missing_ok=True)
        subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"PYTHONHASHSEED": hash_seed})
        there = read_embeddings(tmp_path / "there.npz")
        assert there.words == here.words
        np.testing.assert_array_equal(there.vectors, here.vectors)


@pytest.mark.usefixtures("talks")
def test_vectors_are_learned_by_every_worker(tmp_path: Path) -> None:
    """Words change from their first values wherever in the text they stand."""
    both = 'corpora=["iwslt:train", "iwslt:extra"]'
    start, _ = run(tmp_path / "start.npz", both, "epochs=1", "rate=1e-12")
    found, _ = run(tmp_path / "v.npz", both, "epochs=6", "workers=2")
    assert found.words == start.words
    moved = np.abs(found.vectors - start.vectors).max(axis=1) > 1e-5
    assert moved.mean() > 0.9


@pytest.mark.usefixtures("talks")
def test_vectors_of_rare_words_are_not_saved_unless_a_corpus_has_them(tmp_path: Path) -> None:
    both = 'corpora=["iwslt:train", "iwslt:extra"]'
    everything, _ = run(tmp_path / "all.npz", both)
    common, _ = run(tmp_path / "common.npz", both, "keep_count=20")
    kept, _ = run(tmp_path / "kept.npz", both, "keep_count=20", 'keep_corpora=["iwslt:extra"]')
    assert set(common.words) < set(everything.words)
    assert "o'clock" not in common.words
    rows = everything.rows(common.words)
    np.testing.assert_array_equal(everything.vectors[rows], common.vectors)  # trained all the same
    assert {"cat", "sunday"} <= set(kept.words)
    assert "o'clock" not in kept.words
    counted, _ = run(tmp_path / "counted.npz", both, "min_count=20")
    assert set(counted.words) == set(common.words)
    made = json.loads((tmp_path / "common.npz.json").read_text())
    assert (made["vocabulary"], made["saved"]) == (len(everything.words), len(common.words))


@pytest.mark.usefixtures("talks")
def test_vectors_refuse_what_cannot_work_before_they_read_a_word(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="corpus"):
        run(tmp_path / "v.npz", 'corpora=["ted:train"]')
    with pytest.raises(UnknownNameError, match="split"):
        run(tmp_path / "v.npz", 'corpora=["iwslt:trian"]')
    with pytest.raises(ConfigError, match="CORPUS:SPLIT"):
        run(tmp_path / "v.npz", 'corpora=["iwslt"]')
    with pytest.raises(ConfigError, match="corpora is empty"):
        run(tmp_path / "v.npz", "corpora=[]")
    with pytest.raises(ConfigError, match="did you mean 'epochs'"):
        run(tmp_path / "v.npz", "epoch=3")
    with pytest.raises(ConfigError, match="window is 0"):
        run(tmp_path / "v.npz", "window=0")
    with pytest.raises(ConfigError, match="rate must be above 0"):
        run(tmp_path / "v.npz", "rate=0")
    with pytest.raises(ConfigError, match="keep_corpora"):
        run(tmp_path / "v.npz", 'keep_corpora=["iwslt:dev"]')
    with pytest.raises(InputError, match="name a file"):
        run(tmp_path)
    with pytest.raises(InputError, match="lower min_count"):
        run(tmp_path / "v.npz", "min_count=100000")
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


@pytest.mark.usefixtures("talks")
def test_vectors_without_gensim_name_the_extra_and_are_still_reused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path / "v.npz")
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(MissingExtraError, match=r"training word vectors needs the extra \[papers\]"):
        run(tmp_path / "other.npz")
    assert not trained(run(tmp_path / "v.npz")[1])


def test_vectors_of_the_recipe_are_paper_004s_and_see_no_test_data() -> None:
    settings = config.load(VectorsConfig, RECIPE)
    assert (settings.dimension, settings.window, settings.min_count, settings.epochs) == (100, 4, 1, 15)
    assert (settings.rate, settings.sample, settings.clitics) == (0.025, 1e-4, "split")
    assert (settings.documents, settings.keep_count) == (None, 1)
    assert {spec.partition(":")[2] for spec in settings.corpora} == {"train"}
    assert not {"iq2", "earnings21"} & {spec.partition(":")[0] for spec in settings.corpora}
    assert config.load(VectorsConfig, RECIPE, ["workers=1"]) == VectorsConfig(settings.corpora)
