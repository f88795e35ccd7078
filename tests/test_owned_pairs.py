"""Which pairs have rows of their own: those that tell most, in one of the two rows where they can stand."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interpunct.errors import ModelError
from interpunct.labels import parse_text
from interpunct.models.dilated import Dilated
from interpunct.models.encoded import Encoded
from interpunct.models.loop_options import LoopOptions
from interpunct.models.owned_pairs import NOBODY, owners, row_of
from interpunct.transcript import Transcript

SIZE = 20
MARKS = ("", ",", ".")
LABELS = {"mark": MARKS, "case": ("lower", "sentence")}


def corpus(words: list[tuple[tuple[int, ...], int, int]]) -> Encoded:
    """A corpus of words as (pieces, mark, case)."""
    pieces = [piece for word, _, _ in words for piece in word]
    ends = np.cumsum([0, *(len(word) for word, _, _ in words)])
    labels = {"mark": np.array([mark for _, mark, _ in words]), "case": np.array([case for _, _, case in words])}
    return Encoded(np.array(pieces), ends, np.array([0]), labels)


def told_slowly(words: list[tuple[tuple[int, ...], int, int]], weights: dict[str, float]) -> dict[int, float]:
    """What each pair tells, pair by pair, from counts in dictionaries."""
    pieces = [(piece, number == len(word) - 1, tags) for word, *tags in words for number, piece in enumerate(word)]
    pairs = list(pairwise(pieces))
    total: Counter[int] = Counter()
    for task in range(2):
        size = max(tags[task] for _, _, tags in pieces) + 1
        for side in range(2):
            rows = [(one[0], two[0], pair[side][2][task]) for pair in pairs if pair[side][1] for one, two in [pair]]
            mean = [(sum(label == each for *_, label in rows) + 1) / (len(rows) + size) for each in range(size)]

            def alone(place: int, piece: int, label: int, rows: Any = rows, mean: Any = mean) -> float:
                seen = [row[2] for row in rows if row[place] == piece]
                return float((seen.count(label) + mean[label]) / (len(seen) + 1))

            for one, two in {(one, two) for one, two, _ in rows}:
                seen = [label for *pair, label in rows if pair == [one, two]]
                wanted = [alone(1, two, label) for label in range(size)]
                if side == 0:
                    wanted = [w * alone(0, one, label) / mean[label] for label, w in enumerate(wanted)]
                wanted = [w / sum(wanted) for w in wanted]
                for label in range(size):
                    together = (seen.count(label) + 4 * wanted[label]) / (len(seen) + 4)
                    gain = seen.count(label) * math.log(together / wanted[label])
                    total[one * SIZE + two] += weights[("mark", "case")[task]] * gain  # type: ignore[assignment]
    return dict(total)


@pytest.fixture
def words() -> list[tuple[tuple[int, ...], int, int]]:
    generator = np.random.default_rng(3)
    found = []
    for _ in range(400):
        word = tuple(generator.integers(2, SIZE, generator.choice([1, 1, 1, 2, 3])).tolist())
        mark = int(word[-1] % 7 == 3 and word[0] % 2) + int(generator.random() < 0.1)
        found.append((word, mark, int(generator.random() < 0.2)))
    return found


def test_rows_go_to_the_pairs_that_tell_most(words: list[tuple[tuple[int, ...], int, int]]) -> None:
    weights = {"mark": 1.0, "case": 0.5}
    told = told_slowly(words, weights)
    found = owners(corpus(words), 24, SIZE, {"case": 0.5})
    wanted = np.full(24, NOBODY)
    for pair in sorted(told, key=lambda pair: -told[pair]):
        for choice in range(2):
            row = row_of(np.array(pair // SIZE), np.array(pair % SIZE), 24, choice)
            if wanted[row] == NOBODY and told[pair] > 0:
                wanted[row] = pair
                break
    np.testing.assert_array_equal(found, wanted)
    assert (found != NOBODY).sum() > 20


def test_nobody_owns_a_row_where_pairs_tell_nothing() -> None:
    assert (owners(corpus([((5,), 0, 0)] * 30), 10, SIZE, {}) == NOBODY).all()
    assert (owners(corpus([((5,), 1, 0)]), 10, SIZE, {}) == NOBODY).all()


def made(**options: Any) -> Dilated:
    shape: dict[str, Any] = {
        "vocabulary": 60, "embedding": 12, "pairs": 50, "pair_embedding": 6, "width": 16, "dilations": (1,), "batch": 4,
    }  # fmt: skip
    return Dilated.create(
        name="tiny", version="1", labels=LABELS, options=shape | options, words=TEXT.lower().split() * 2
    )


TEXT = "So how are you. I am fine, thanks. My name is Anna, and so is hers."


def test_model_whose_pairs_shared_their_rows_goes_on_with_what_these_said(tmp_path: Path) -> None:
    before = made()
    before.save(tmp_path / "shared")
    model = Dilated.go_on(tmp_path / "shared", name="tiny", version="2", options={"owned": True})
    data = model.encode([Transcript(parse_text(TEXT))] * 3)
    model.fit(data, data, loop=LoopOptions(epochs=0, device="cpu"), log=lambda _: None)
    state, old = model.network.state_dict(), before.network.state_dict()["pairs.weight"]
    owned = [(row, pair) for row, pair in enumerate(state["owners"].tolist()) if pair != NOBODY]
    size = len(model.vocabulary)
    assert len(owned) > 5
    for row, pair in owned:
        said = old[row_of(np.array(pair // size), np.array(pair % size), 50)]
        np.testing.assert_array_equal(state["pairs.weight"][row].numpy(), said.numpy())
    given = state["owners"].clone()
    other = model.encode([Transcript(parse_text("Anna is fine. Hers is, too. And how is so and so."))] * 3)
    model.fit(other, other, loop=LoopOptions(epochs=1, device="cpu"), log=lambda _: None)
    np.testing.assert_array_equal(model.network.state_dict()["owners"].numpy(), given.numpy())
    model.save(tmp_path / "owned")
    again = Dilated.go_on(tmp_path / "owned", name="tiny", version="3", options={})
    np.testing.assert_array_equal(again.network.state_dict()["owners"].numpy(), given.numpy())
    with pytest.raises(ModelError, match="another shape"):
        Dilated.go_on(tmp_path / "owned", name="tiny", version="3", options={"owned": False})
