"""The CRF's loss against all label sequences, and the network that learns by it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from interpunct import models
from interpunct.cases import CASES
from interpunct.clitics import split_clitics
from interpunct.decode.windows import scored
from interpunct.errors import ConfigError
from interpunct.features import Features
from interpunct.labels import MARKS, parse_text
from interpunct.models import blstm_crf
from interpunct.models.blstm_crf import BLSTMCRF, negative_log_likelihood, total_as_tree, total_in_turn
from interpunct.models.encoded import IGNORED
from interpunct.models.lattice import marginals, viterbi
from interpunct.models.loop_options import LoopOptions
from interpunct.models.model import Context
from interpunct.models.shown import Batch
from interpunct.restore import Restorer
from interpunct.transcript import Transcript

SENTENCES = "So how are you? I am fine, thanks. My name is Anna, and I live in New York. Have you met Bob?"


def slow_loss(emissions: Tensor, transitions: Tensor, labels: Sequence[int]) -> Tensor:
    """Return -log of the share of the sequences that agree with what is known, among all of them; in double."""
    every = torch.tensor(list(product(range(emissions.shape[1]), repeat=len(labels))))  # (sequences, words)
    sums = emissions.double()[torch.arange(len(labels)), every].sum(dim=1)
    sums = sums + transitions.double()[every[:, :-1], every[:, 1:]].sum(dim=1)
    right = torch.tensor(labels)
    agreeing = ((every == right) | (right == IGNORED)).all(dim=1)
    return torch.logsumexp(sums, 0) - torch.logsumexp(sums[agreeing], 0)


@st.composite
def batches(draw: st.DrawFn) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sequences of mixed lengths (emissions, transitions, labels, lengths); what is behind their end is nonsense."""
    lengths = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    count, words = draw(st.integers(1, 3)), max(lengths)
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32)))
    emissions = 3 * torch.randn(len(lengths), words, count, generator=generator)
    transitions = 3 * torch.randn(count, count, generator=generator)
    labels = torch.full((len(lengths), words), IGNORED)
    for row, length in enumerate(lengths):
        known = draw(st.lists(st.sampled_from([IGNORED, *range(count)]), min_size=length, max_size=length))
        labels[row, :length] = torch.tensor(known)
        emissions[row, length:] = 1e3
    return emissions, transitions, labels, torch.tensor(lengths)


Way = Callable[[Tensor, Tensor, Tensor], Tensor]
both_ways = pytest.mark.parametrize("way", [total_in_turn, total_as_tree])


def loss_by(way: Way, emissions: Tensor, transitions: Tensor, labels: Tensor, lengths: Tensor) -> Tensor:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blstm_crf, "log_total", way)
        return negative_log_likelihood(emissions, transitions, labels, lengths)


@both_ways
@settings(deadline=None)
@given(batches())
def test_loss_is_that_of_all_sequences_enumerated(way: Way, given_batch: tuple[Tensor, Tensor, Tensor, Tensor]) -> None:
    emissions, transitions, labels, lengths = given_batch
    found = loss_by(way, emissions, transitions, labels, lengths)
    for row, length in enumerate(lengths.tolist()):
        right = slow_loss(emissions[row, :length], transitions, labels[row, :length].tolist())
        assert float(found[row]) == pytest.approx(float(right), abs=2e-4)


@both_ways
@settings(deadline=None, max_examples=30)
@given(batches())
def test_loss_has_the_gradient_of_all_sequences_enumerated(
    way: Way, given_batch: tuple[Tensor, Tensor, Tensor, Tensor]
) -> None:
    emissions, transitions, labels, lengths = given_batch
    gradients = []
    for slow in (False, True):
        leaves = emissions.clone().requires_grad_(), transitions.clone().requires_grad_()
        if slow:
            losses = [
                slow_loss(leaves[0][row, :length], leaves[1], labels[row, :length].tolist())
                for row, length in enumerate(lengths.tolist())
            ]
            loss = torch.stack(losses).sum()
        else:
            loss = loss_by(way, *leaves, labels, lengths).sum()
        gradients.append(torch.autograd.grad(loss, leaves, materialize_grads=True))
    for fast, right in zip(*gradients, strict=True):
        torch.testing.assert_close(fast, right, atol=1e-3, rtol=1e-3)


@both_ways
def test_loss_of_long_sequences_loses_nothing_that_matters(way: Way) -> None:
    """70 and 200 words, against the forward algorithm in double."""
    generator = torch.Generator().manual_seed(1)
    emissions = 10 * torch.randn(3, 200, 8, generator=generator)
    transitions = 10 * torch.randn(8, 8, generator=generator)
    lengths = torch.tensor([200, 70, 1])
    found = way(emissions, transitions, lengths)
    for row, length in enumerate(lengths.tolist()):
        ways = emissions[row, 0].double()
        for word in range(1, length):
            ways = torch.logsumexp(ways[:, None] + transitions.double(), dim=0) + emissions[row, word].double()
        assert float(found[row]) == pytest.approx(float(torch.logsumexp(ways, 0)), rel=1e-5)


def test_loss_of_nothing_known_is_nothing() -> None:
    unknown = torch.full((2, 3), IGNORED)
    losses = negative_log_likelihood(torch.randn(2, 3, 4), torch.randn(4, 4), unknown, torch.tensor([3, 2]))
    torch.testing.assert_close(losses, torch.zeros(2), atol=1e-5, rtol=0)


def untrained(labels: tuple[str, ...] = MARKS, **options: Any) -> BLSTMCRF:
    words = [part for word in parse_text(SENTENCES) for part in split_clitics(word.text)]
    tiny = {"vocabulary": 100, "embedding": 16, "units": 24, "dropout": 0.0, "batch": 4}
    tiny |= {"shortest": 12, "longest": 24}
    return BLSTMCRF.create(
        name="tiny", version="1", labels={"mark": labels, "case": CASES}, options=tiny | options,
        words=Features.of(words).texts,
    )  # fmt: skip


@pytest.fixture(scope="module")
def trained() -> BLSTMCRF:
    model = untrained()
    data = model.encode([Transcript(parse_text(SENTENCES))] * 4)
    loop = LoopOptions(epochs=60, rate=2e-2, device="cpu", average=0.5)
    return model.fit(data, data, loop=loop, log=lambda _: None)


def some_batch(model: BLSTMCRF, *, targets: bool = False) -> Batch:
    """Three sequences of 6, 4 and 1 words; a label of each task is unknown."""
    lengths = torch.tensor([6, 4, 1])
    pieces = torch.arange(18).reshape(3, 6) % 11 + 1
    beyond = torch.arange(6) >= lengths[:, None]
    labels, teacher = {}, {}
    for task, names in model.labels.items():
        labels[task] = (torch.arange(18).reshape(3, 6) % len(names)).masked_fill(beyond, IGNORED)
        labels[task][0, 2] = IGNORED
        teacher[task] = torch.softmax(torch.randn(3, 6, len(names)), dim=-1)
    words = torch.arange(6).expand(3, 6).masked_fill(beyond, 0)
    return Batch(pieces.masked_fill(beyond, 0), lengths, words, labels, teacher if targets else {})


def test_blstm_crf_loss_is_the_mean_over_known_words_weighted_by_task() -> None:
    model = untrained(weights={"case": 0.25}, labels=("", "."))
    batch = some_batch(model)
    with torch.no_grad():
        for table in model.network.get_submodule("transitions").parameters():
            table.normal_()
        emissions = model.network(batch.pieces, batch.lengths, batch.words)
        loss = float(model._loss(model.network, batch))
    right = 0.0
    for task, weight in (("mark", 1.0), ("case", 0.25)):
        transitions = model.network.get_parameter(f"transitions.{task}").detach()
        for row, length in enumerate((6, 4, 1)):
            labels = batch.labels[task][row, :length].tolist()
            right += weight * float(slow_loss(emissions[task][row, :length], transitions, labels)) / 10
    assert loss == pytest.approx(right, rel=1e-4)


def test_blstm_crf_gradients_reach_every_parameter() -> None:
    model = untrained(layers=2)
    model._loss(model.network, some_batch(model)).backward()  # type: ignore[no-untyped-call]
    for name, parameter in model.network.named_parameters():
        assert parameter.grad is not None, name
        assert float(parameter.grad.abs().max()) > 0, name


def test_blstm_crf_begins_without_transitions_and_learns_them(trained: BLSTMCRF) -> None:
    for task in trained.labels:
        assert not untrained().network.get_parameter(f"transitions.{task}").any()
        assert trained.network.get_parameter(f"transitions.{task}").abs().max() > 0.1


def test_blstm_crf_loss_is_computed_in_float32_under_autocast() -> None:
    model = untrained()
    batch = some_batch(model)
    with torch.no_grad():
        plain = float(model._loss(model.network, batch))
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        emissions = model.network(batch.pieces, batch.lengths, batch.words)["mark"]
        loss = model._loss(model.network, batch)
        halves = model.task_loss("mark", emissions.float(), batch)
    assert emissions.dtype == torch.bfloat16  # or this test would show nothing
    assert loss.dtype == halves.dtype == torch.float32
    assert float(loss) == pytest.approx(plain, rel=0.02)
    with torch.no_grad():
        assert float(halves) == float(model.task_loss("mark", emissions.float(), batch))


def test_blstm_crf_is_taught_on_its_emissions() -> None:
    model = untrained(distil=0.25)
    batch = some_batch(model, targets=True)
    emissions = model.network(batch.pieces, batch.lengths, batch.words)["mark"].detach()
    alone = Batch(batch.pieces, batch.lengths, batch.words, batch.labels, {})
    logs = torch.log_softmax(emissions, dim=-1)
    cross = -(batch.targets["mark"] * logs).sum(dim=-1)[batch.labels["mark"] != IGNORED].mean()
    right = 0.75 * model.task_loss("mark", emissions, alone) + 0.25 * cross
    torch.testing.assert_close(model.task_loss("mark", emissions, batch), right)


def test_blstm_crf_gives_emissions_and_transitions(trained: BLSTMCRF) -> None:
    window = Features.of("so how are you".split())
    (raw,) = trained.forward([window])
    (found,) = scored(trained, [window])
    for task in trained.labels:
        assert raw.transitions[task].shape == (len(trained.labels[task]),) * 2
        np.testing.assert_allclose(found.tasks[task], marginals(raw.tasks[task], raw.transitions[task]), rtol=1e-5)
        assert found.best[task].tolist() == viterbi(raw.tasks[task], raw.transitions[task]).tolist()


def test_blstm_crf_overfits_and_survives_its_folder(trained: BLSTMCRF, tmp_path: Path) -> None:
    lower = SENTENCES.lower().replace(",", "").replace(".", "").replace("?", "")
    trained.save(tmp_path)
    for model in (trained, models.load(tmp_path)):
        assert Restorer(model).restore(lower).text == SENTENCES
    assert trained.context == Context(None)


def test_blstm_crf_on_dev_is_scored_with_the_transitions_of_the_network_it_is_given() -> None:
    """The averaged network's, not those of the one that learns beside it."""
    model = untrained(labels=("", "."))
    averaged = copy.deepcopy(model.network)
    logits = torch.tensor([[[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]])
    assert model.chosen(averaged, "mark", logits).tolist() == [[1, 0, 1]]
    with torch.no_grad():
        averaged.get_parameter("transitions.mark").copy_(torch.tensor([[0.0, -9.0], [-9.0, 0.0]]))
    assert model.chosen(averaged, "mark", logits).tolist() == [[1, 1, 1]]
    assert model.chosen(model.network, "mark", logits).tolist() == [[1, 0, 1]]


def test_blstm_crf_refuses_label_smoothing() -> None:
    with pytest.raises(ConfigError, match=r"smoothing 0\.1"):
        untrained(smoothing=0.1)
