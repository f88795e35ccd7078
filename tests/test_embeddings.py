from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpunct.errors import InputError
from interpunct.features.embeddings import Embeddings, read_embeddings

SMALL = Embeddings(("so", "it", "naïve"), np.array([[1, 0.5], [-2, 0], [0.25, 1e-7]], dtype=np.float32))


def glove(folder: Path) -> Path:
    path = folder / "glove.txt"
    path.write_text("so 1 0.5\nit -2 0\nnaïve 0.25 1e-7\n", encoding="utf-8")
    return path


def npz(folder: Path) -> Path:
    np.savez(folder / "glove.npz", words=np.array(SMALL.words), vectors=SMALL.vectors.astype(np.float16))
    return folder / "glove.npz"


def word2vec_text(folder: Path) -> Path:
    SMALL.save(folder / "w2v.txt")
    return folder / "w2v.txt"


def word2vec_binary(folder: Path) -> Path:
    rows = (
        w.encode() + b" " + v.astype("<f4").tobytes() + b"\n" for w, v in zip(SMALL.words, SMALL.vectors, strict=True)
    )
    (folder / "w2v.bin").write_bytes(b"3 2\n" + b"".join(rows))
    return folder / "w2v.bin"


@pytest.mark.parametrize("make", [glove, npz, word2vec_text, word2vec_binary])
def test_embeddings_are_read_from_every_format(make: object, tmp_path: Path) -> None:
    found = read_embeddings(make(tmp_path))  # type: ignore[operator]
    assert found.words == SMALL.words
    np.testing.assert_allclose(found.vectors, SMALL.vectors, atol=1e-4)


def test_embeddings_written_and_read_are_the_same(tmp_path: Path) -> None:
    again = read_embeddings(word2vec_text(tmp_path))
    np.testing.assert_array_equal(again.vectors, SMALL.vectors)


def test_embeddings_give_all_unknown_words_one_vector() -> None:
    rows = SMALL.rows(["It", "so", "xyzzy", "plugh"])
    assert rows.tolist() == [1, 0, 3, 3]
    np.testing.assert_allclose(SMALL.table[3], SMALL.vectors.mean(axis=0))
    assert SMALL.coverage(["so", "xyzzy"]) == 0.5
    assert SMALL.coverage([]) is None


@given(st.integers(1, 6))
def test_reduced_embeddings_keep_as_much_variance_as_there_can_be(dimension: int) -> None:
    vectors = np.random.default_rng(1).normal(size=(40, 6)) * [5, 4, 3, 2, 1, 0.1]
    made = Embeddings(tuple(f"w{i}" for i in range(40)), vectors.astype(np.float32))
    reduced = made.reduced(dimension)
    assert reduced.dimension == dimension
    kept = np.sort(np.linalg.eigvalsh(np.cov(made.vectors.T)))[::-1][:dimension].sum()
    assert np.var(reduced.vectors, axis=0, ddof=1).sum() == pytest.approx(kept, rel=1e-3)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("so 1 2\nit 3\n", 2, "1 numbers, 2 were expected"),
        ("so one two\n", 1, "not a word"),
        ("2 2\nso 1 2\nit x y\n", 3, "mend"),
    ],
)
def test_embeddings_name_the_line_that_is_broken(tmp_path: Path, text: str, line: int, what: str) -> None:
    (tmp_path / "v.txt").write_text(text)
    with pytest.raises(InputError, match=what) as caught:
        read_embeddings(tmp_path / "v.txt")
    assert caught.value.line == line


def test_embeddings_refuse_missing_empty_and_cut_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_embeddings(tmp_path / "none.txt")
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(InputError, match="no vectors"):
        read_embeddings(tmp_path / "empty.txt")
    path = word2vec_binary(tmp_path)
    path.write_bytes(path.read_bytes()[:-6])
    with pytest.raises(InputError, match="ends after 2 of 3 words"):
        read_embeddings(path)
    np.savez(tmp_path / "other.npz", things=np.zeros(3))
    with pytest.raises(InputError, match="needs `words` and `vectors`"):
        read_embeddings(tmp_path / "other.npz")


def test_embeddings_of_the_corpora_cover_the_talks(data: Path) -> None:
    found = read_embeddings(data / "vectors" / "glove.6B.100d.npz")
    assert found.vectors.shape == (64_549, 100)
    assert found.coverage(["the", "people", "of", "london"]) == 1.0


def test_rows_find_capitalised_words_by_their_lower_form() -> None:
    """Vectors of news texts know London and not london; a word written as asked for comes first."""
    vectors = Embeddings(("the", "London", "May", "may"), np.arange(8, dtype=np.float32).reshape(4, 2))
    assert vectors.rows(["london", "London", "may", "May", "the", "paris"]).tolist() == [1, 1, 3, 2, 0, 4]
