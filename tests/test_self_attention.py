"""The self-attention model: what it writes step by step is what it learned from whole sequences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from interpunct.decode.windows import scored
from interpunct.errors import ConfigError
from interpunct.features import Features
from interpunct.features.embeddings import Embeddings
from interpunct.labels import parse_text
from interpunct.models.dev_scores import dev_scores
from interpunct.models.encoded import IGNORED
from interpunct.models.loop_options import LoopOptions
from interpunct.models.model import Writer
from interpunct.models.scores import Ints
from interpunct.models.self_attention import Network, SelfAttention, split_heads
from interpunct.models.shown import Batch, Shown
from interpunct.models.waves import look, positions
from interpunct.transcript import Transcript

WORDS = "so how are you i am fine thanks my name is anna".split()
BOTH = {"mark": ("", ",", "."), "case": ("lower", "sentence")}
LENGTHS = [5, 1, 3, 7]


def made(labels: Mapping[str, tuple[str, ...]] = BOTH, seed: int = 1, **options: Any) -> SelfAttention:
    tiny = {"embedding": 6, "width": 16, "heads": 4, "layers": 2, "inner": 24, "batch": 4}
    return SelfAttention.create(
        name="tiny", version="1", labels=labels, options=tiny | options, words=WORDS, seed=seed
    )  # fmt: skip


def network_of(model: SelfAttention) -> Network:
    return cast(Network, model.network)


def windows_of(lengths: Sequence[int]) -> list[Features]:
    return [Features(tuple(WORDS[(3 * row + place) % 12] for place in range(n))) for row, n in enumerate(lengths)]


@torch.no_grad()
def taught(model: SelfAttention, windows: Sequence[Features], labels: Ints) -> list[Any]:
    """Return each window's log-probabilities in view of the labels given, by one pass over whole sequences."""
    found = []
    for window, row in zip(windows, labels, strict=True):
        ids = torch.tensor([[model.vocabulary.ids(text)[0] for text in window.texts]])
        right = torch.from_numpy(row[None, : len(window)])
        logits = network_of(model).taught(ids, torch.tensor([len(window)]), right)
        found.append(F.log_softmax(logits[0], dim=-1).numpy())
    return found


def random_labels(rows: int, words: int, seed: int = 1) -> Ints:
    return np.random.default_rng(seed).integers(6, size=(rows, words))


either_norm = pytest.mark.parametrize("norm_first", [False, True])


@either_norm
def test_steps_agree_with_whole_sequences(norm_first: bool) -> None:
    model = made(norm_first=norm_first)
    windows, labels = windows_of(LENGTHS), random_labels(len(LENGTHS), max(LENGTHS))
    expected = taught(model, windows, labels)
    steps, rows = model.steps(windows), np.arange(len(LENGTHS))
    for word in range(max(LENGTHS)):
        logs = steps.step(rows, labels[:, word - 1])  # at the first step the labels are not looked at
        np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1, atol=1e-5)
        for row, length in enumerate(LENGTHS):
            if word < length:
                np.testing.assert_allclose(logs[row], expected[row][word], atol=1e-5)


@either_norm
@pytest.mark.parametrize("across", [False, True], ids=["within windows", "across windows"])
def test_steps_agree_with_whole_sequences_when_rows_change_places(norm_first: bool, across: bool) -> None:
    """Three rows a window, each going on from a row at random, as in a beam: the rows' own histories count."""
    model, words = made(norm_first=norm_first), 6
    windows = windows_of([6, 6, 6])
    random = np.random.default_rng(2)
    steps = model.steps(windows)
    of_row = np.repeat(np.arange(3), 3)
    parents, labels = of_row, np.zeros(9, dtype=np.int64)
    history = np.zeros((9, 0), dtype=np.int64)
    for word in range(words):
        logs = steps.step(parents, labels)
        if word:
            history = np.column_stack([history[parents], labels])
            of_row = of_row[parents]
        full = np.column_stack([history, np.zeros((9, words - word), dtype=np.int64)])
        expected = taught(model, [windows[window] for window in of_row], full)
        np.testing.assert_allclose(logs, [row[word] for row in expected], atol=1e-5)
        parents = random.integers(9, size=9) if across else random.integers(3, size=9) + np.repeat([0, 3, 6], 3)
        labels = random.integers(6, size=9)


def test_steps_take_windows_in_any_number_and_order() -> None:
    model = made()
    windows, labels = windows_of([4, 4]), random_labels(3, 4)
    expected = taught(model, [windows[1], windows[0], windows[1]], labels)
    steps = model.steps(windows)
    logs = [steps.step(np.array([1, 0, 1]), labels[:, 0])]
    logs += [steps.step(np.arange(3), labels[:, word]) for word in range(3)]
    np.testing.assert_allclose(np.stack(logs, axis=1), np.stack(expected), atol=1e-5)


def test_label_is_chosen_in_view_of_all_words_and_of_no_later_label() -> None:
    model = made()
    (window,) = windows_of([6])
    labels = random_labels(1, 6)
    (before,) = taught(model, [window], labels)
    (other_word,) = taught(model, [Features((*window.texts[:5], "thanks"))], labels)
    assert np.all(np.abs(other_word - before).max(axis=1) > 1e-4)  # the encoder sees the last word from everywhere
    changed = labels.copy()
    changed[0, 3] = (labels[0, 3] + 1) % 6
    (other_label,) = taught(model, [window], changed)
    np.testing.assert_array_equal(other_label[:4], before[:4])
    assert np.all(np.abs(other_label[4:] - before[4:]).max(axis=1) > 1e-5)


def test_order_of_the_words_matters() -> None:
    model = made()
    there, back = Features(("so", "how", "are")), Features(("are", "how", "so"))
    one, other = taught(model, [there, back], random_labels(1, 3).repeat(2, axis=0))
    assert np.abs(one[1] - other[1]).max() > 1e-4


@pytest.mark.parametrize("labels", [BOTH, {"mark": BOTH["mark"]}], ids=["two tasks", "one task"])
def test_scored_by_a_wide_beam_is_the_best_of_all_sequences(labels: dict[str, tuple[str, ...]]) -> None:
    model = made(labels)
    assert isinstance(model, Writer)
    size = int(np.prod([len(names) for names in labels.values()]))
    windows = windows_of([3, 2])
    for window, scores in zip(windows, scored(model, windows, beam=size**2), strict=True):
        every = np.array(list(product(range(size), repeat=len(window))))
        logs = taught(model, [window] * len(every), every)
        totals = [
            sum(rows[place, label] for place, label in enumerate(row)) for rows, row in zip(logs, every, strict=True)
        ]
        best = int(np.argmax(totals))
        chosen = np.ravel_multi_index(tuple(scores.best[task] for task in labels), [len(n) for n in labels.values()])
        assert chosen.tolist() == every[best].tolist()
        table = np.exp(logs[best]).reshape(-1, *(len(names) for names in labels.values()))
        marks = table.sum(axis=2) if table.ndim == 3 else table
        np.testing.assert_allclose(np.exp(scores.tasks["mark"]), marks, atol=1e-5)


@pytest.mark.parametrize("labels", [BOTH, {"mark": BOTH["mark"]}], ids=["two tasks", "one task"])
def test_forward_scores_what_greedy_writing_gives(labels: dict[str, tuple[str, ...]]) -> None:
    model = made(labels)
    windows = windows_of(LENGTHS)
    for one, other in zip(model.forward(windows), scored(model, windows), strict=True):
        for task in labels:
            np.testing.assert_allclose(one.tasks[task], other.tasks[task], atol=1e-5)


def batch_of(model: SelfAttention, labels: Mapping[str, Sequence[Sequence[int]]], lengths: Sequence[int]) -> Batch:
    columns = {task: torch.tensor(rows) for task, rows in labels.items()}
    shape = next(iter(columns.values())).shape
    places = torch.arange(shape[1]).expand(shape)
    beyond = places >= torch.tensor(lengths)[:, None]
    pieces = torch.from_numpy(np.random.default_rng(1).integers(2, len(model.vocabulary), size=tuple(shape)))
    columns = {task: column.masked_fill(beyond, IGNORED) for task, column in columns.items()}
    return Batch(pieces.masked_fill(beyond, 0), torch.tensor(lengths), places.masked_fill(beyond, 0), columns, {})


def loss_of(model: SelfAttention, batch: Batch) -> float:
    with torch.no_grad():
        return float(model._loss(model.network, batch))


def test_loss_is_the_smoothed_cross_entropy_of_the_tasks_one_label() -> None:
    model = made(smoothing=0.1)
    marks, cases = [[0, 2, 1, 0], [1, 2, 0, 0]], [[1, 0, 1, 1], [0, 1, 0, 0]]
    batch = batch_of(model, {"mark": marks, "case": cases}, [4, 2])
    joint = np.ravel_multi_index((np.array(marks), np.array(cases)), (3, 2))
    losses = []
    for row, length in enumerate([4, 2]):
        with torch.no_grad():
            logits = network_of(model).taught(
                batch.pieces[row : row + 1, :length],
                torch.tensor([length]),
                torch.from_numpy(joint[row : row + 1, :length]),
            )
        logs = F.log_softmax(logits[0], dim=-1).numpy()
        losses += [-0.9 * logs[w, joint[row, w]] - 0.1 * logs[w].mean() for w in range(length)]
    assert loss_of(model, batch) == pytest.approx(np.mean(losses), abs=1e-5)


def test_loss_passes_over_a_word_one_of_whose_labels_is_unknown() -> None:
    model = made()
    losses = []
    for mark in (0, 1, 2):  # what is known of the second word's labels neither teaches nor is read
        batch = batch_of(model, {"mark": [[0, mark, 1]], "case": [[1, IGNORED, 0]]}, [3])
        losses.append(loss_of(model, batch))
    assert losses[0] == losses[1] == losses[2]
    known = batch_of(model, {"mark": [[0, 1, 1]], "case": [[1, 0, 0]]}, [3])
    assert loss_of(model, known) != pytest.approx(losses[0], abs=1e-4)
    read = [
        network_of(model).taught(known.pieces, known.lengths, torch.tensor([[1, label, 0]]))[0, 2].tolist()
        for label in (IGNORED, *range(6))
    ]
    assert len({tuple(row) for row in read}) == 7  # an unknown label is read as none of the known ones
    nothing = batch_of(model, {"mark": [[0, 1, 1]], "case": [[IGNORED] * 3]}, [3])
    assert loss_of(model, nothing) == 0.0


def test_loss_mixes_a_teachers_probabilities_in() -> None:
    labels = {"mark": BOTH["mark"]}
    model, sure = made(labels, distil=1.0), made(labels, distil=0.0)
    batch = batch_of(model, {"mark": [[0, 2, 1]]}, [3])
    chances = torch.tensor([[[0.5, 0.25, 0.25], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]])
    with torch.no_grad():
        logs = F.log_softmax(network_of(model).taught(batch.pieces, batch.lengths, batch.labels["mark"]), dim=-1)
    expected = float(-(chances * logs).sum(dim=-1).mean())
    assert loss_of(model, replace(batch, targets={"mark": chances})) == pytest.approx(expected, abs=1e-5)
    assert loss_of(sure, replace(batch, targets={"mark": chances})) == pytest.approx(loss_of(sure, batch), abs=1e-6)


def vectors(folder: Path, name: str, seed: int) -> str:
    table = np.random.default_rng(seed).normal(size=(len(WORDS), 6)).astype(np.float32)
    Embeddings(tuple(WORDS), table).save(folder / name)
    return str(folder / name)


def test_word_and_speech_vectors_are_summed_behind_their_projections(tmp_path: Path) -> None:
    word, speech = vectors(tmp_path, "word.txt", 1), vectors(tmp_path, "speech.txt", 2)
    both, words_only, speech_only = made(vectors=(word, speech)), made(vectors=(word,)), made(vectors=(speech,))
    windows = windows_of(LENGTHS)

    def rows(model: SelfAttention) -> Tensor:
        return cast(Tensor, network_of(model).input(torch.arange(len(model.vocabulary))))

    def logs(model: SelfAttention) -> list[Any]:
        return taught(model, windows, random_labels(len(LENGTHS), max(LENGTHS)))

    shared = {k: v for k, v in both.network.state_dict().items() if not k.startswith("input.")}
    for place, single in enumerate((words_only, speech_only)):
        own = {f"input.{part}": both.network.state_dict()[f"input.{part.replace('.0.', f'.{place}.')}"]
               for part in ("tables.0.weight", "projections.0.weight", "projections.0.bias")}  # fmt: skip
        assert torch.equal(own["input.tables.0.weight"], single.network.state_dict()["input.tables.0.weight"])
        single.network.load_state_dict(shared | own)
    torch.testing.assert_close(rows(both), rows(words_only) + rows(speech_only))
    together = logs(both)
    with torch.no_grad():
        for parameter in network_of(both).input.projections[1].parameters():
            parameter.zero_()
    for one, without, alone in zip(together, logs(both), logs(words_only), strict=True):
        np.testing.assert_allclose(without, alone, atol=1e-6)
        assert np.abs(one - alone).max() > 1e-4


def test_vectors_as_wide_as_the_network_are_not_projected() -> None:
    assert not [name for name, _ in made(embedding=16).network.named_parameters() if "projections" in name]
    assert [name for name, _ in made(embedding=6).network.named_parameters() if "projections" in name]


def test_positions_tell_places_apart_and_go_on_as_they_began() -> None:
    table = positions(200, 16, torch.device("cpu"))
    assert torch.equal(positions(7, 16, torch.device("cpu")), table[:7])
    gaps = torch.cdist(table, table) + 10 * torch.eye(200)
    assert float(gaps.min()) > 0.1
    assert float(table[3, 0]) == pytest.approx(np.sin(3))
    assert float(table[3, 9]) == pytest.approx(np.cos(3 / 10_000 ** (2 / 16)))


@either_norm
def test_fit_learns_with_the_papers_schedule_and_keeps_the_average(norm_first: bool) -> None:
    """Part of the words have no case; the loss falls all the same, and dev is scored by what the model writes."""
    words = parse_text("So how are you? I am fine, thanks. My name is Anna. " * 8)
    words = tuple(replace(word, case=None) if place % 7 == 3 else word for place, word in enumerate(words))
    model = made(norm_first=norm_first, dropout=0.1, window=12, shortest=6, longest=12, batch=2)
    data = model.encode([Transcript(words)])
    rows: list[dict[str, float]] = []
    loop = LoopOptions(epochs=6, rate=1e-2, warmup=10, schedule="root", average=0.5, device="cpu")
    model.fit(data, data, loop=loop, log=rows.append)
    assert rows[-1]["loss"] < 0.8 * rows[0]["loss"]
    assert all(0 <= row["mark_f1"] <= 1 for row in rows)
    assert not model.network.training


def test_dev_is_scored_by_what_the_model_writes() -> None:
    model = made(window=5)
    data = model.encode([Transcript(parse_text("So how are you? I am fine, thanks. My name is Anna."))])
    texts = "so how are you i am fine thanks my name is anna".split()
    parts = [Features(tuple(texts[first : first + 5])) for first in range(0, 12, 5)]
    confusion = {task: np.zeros((len(names), len(names)), dtype=np.int64) for task, names in BOTH.items()}
    written = scored(model, parts)
    for task, counts in confusion.items():
        guesses = np.concatenate([scores.tasks[task].argmax(axis=1) for scores in written])
        known = data.labels[task] != IGNORED
        np.add.at(counts, (data.labels[task][known], guesses[known]), 1)
    found = model._score(model.network, Shown(data, model.options, torch.device("cpu")))
    assert found == pytest.approx(dev_scores(BOTH, confusion))
    assert found["mark_ser"] != 1.0  # the untrained model writes some marks


@pytest.mark.parametrize("bad", [{"width": 18}, {"width": 15, "heads": 3}, {"heads": 0}, {"shortest": 90}])
def test_options_refuse_nonsense(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(bad))):
        made(**bad)


def test_heads_begin_by_looking_at_one_place() -> None:
    width, heads, distances = 64, 4, (0, 1, -1, 2)
    queries, keys = torch.empty(width, width), torch.empty(width, width)
    look(queries, keys, heads, distances)
    waves = positions(20, width, torch.device("cpu"))
    asked, offered = (split_heads((waves @ matrix.T)[None], 1, heads)[0][0] for matrix in (queries, keys))
    for head, ahead in enumerate(distances):
        found = (asked[head] @ offered[head].T).argmax(dim=1)
        for place in range(3, 17):
            assert found[place] == place + ahead
