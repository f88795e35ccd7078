"""What torch models share beside their training loop, against slow versions."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from interpunct.models.encoded import IGNORED  # noqa: E402
from interpunct.models.known_labels import add_pairs  # noqa: E402
from interpunct.models.word_states import at_words  # noqa: E402


def test_pairs_of_labels_are_counted_where_they_are_known() -> None:
    drawn = torch.Generator().manual_seed(1)
    right = torch.randint(-1, 3, (4, 6), generator=drawn)
    right[right < 0] = IGNORED
    chosen = torch.randint(0, 3, (4, 6), generator=drawn)
    counts = torch.full((3, 3), 2)
    expected = counts.tolist()
    for row, column in zip(right.flatten().tolist(), chosen.flatten().tolist(), strict=True):
        if row != IGNORED:
            expected[row][column] += 1
    add_pairs(counts, right, chosen)
    assert counts.tolist() == expected
    assert counts.sum() < 18 + 24


def test_states_at_words_are_those_of_their_pieces() -> None:
    states = torch.arange(2 * 5 * 3).reshape(2, 5, 3)
    words = torch.tensor([[0, 2, 4], [1, 3, 0]])
    found = at_words(states, words)
    assert found.shape == (2, 3, 3)
    assert found.tolist() == [[states[row, place].tolist() for place in words[row]] for row in range(2)]
