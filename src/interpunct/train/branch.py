"""The prosody branch: a small network that learns what times and sound add to a text model's marks.

In: `Places` to learn from and to stop by. Out: the trained `BranchNetwork`, which `export.branch` writes into the text
model's folder, and a row of figures an epoch. Two hidden layers read the text model's log-probabilities at a place and
the prosody of it and its neighbours; a change of the log-probabilities and a gate come out (see `models.branch`). In
training, all that is heard, all but times, single families and neighbours are left out at random, so that one network
serves words with times alone and words with sound. A place with no prosody is never changed: text alone cannot lose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from interpunct.errors import InputError
from interpunct.features.prosody_table import FAMILIES, FROM_TIMES, NAMES
from interpunct.models.branch import ROWS
from interpunct.models.encoded import IGNORED
from interpunct.models.scores import Array, Ints
from interpunct.train.places import Places

Log = Callable[[dict[str, Any]], None]
Flags = NDArray[np.bool_]

LIMIT = 4.0
"""How many deviations from its mean an input may be."""
_SMALLEST = 1e-3  # of deviations
_TIMES = np.array([name in FROM_TIMES for name in NAMES])
_FAMILY = np.array([place for place, names in enumerate(FAMILIES.values()) for _ in names])


@dataclass(frozen=True)
class BranchOptions:
    """How the branch is built and trained."""

    hidden: int = 64
    epochs: int = 10
    draws: int = 250_000
    """Places an epoch; of each corpus as many as the square root of its size says."""
    batch: int = 1024
    rate: float = 1e-3
    decay: float = 1e-2
    patience: int = 4
    """Epochs without a better dev loss before training ends."""
    dropout: float = 0.1
    """Of hidden numbers."""
    without_sound: float = 0.5
    """How often all that is not told by times is left out."""
    without_family: float = 0.1
    without_neighbour: float = 0.1
    without_branch: float = 0.1
    """How often the whole branch is left out, so that the text model's scores stand."""
    pull: float = 0.2
    """How much it costs, beside the loss, to be of another opinion than the text model (Kullback-Leibler)."""
    seed: int = 1


class Statistics(NamedTuple):
    """Mean and deviation of the prosodic features and of the log-probabilities."""

    mean: Array
    deviation: Array
    log_mean: Array
    log_deviation: Array


class Batch(NamedTuple):
    """Some places: what the text model says, what is heard, what is right."""

    logs: Tensor
    values: Tensor
    known: Tensor
    right: Tensor


class BranchNetwork(nn.Module):
    """Text model's log-probabilities and prosody to log-probabilities."""

    mean: Tensor
    deviation: Tensor
    log_mean: Tensor
    log_deviation: Tensor

    def __init__(self, statistics: Statistics, *, hidden: int, dropout: float) -> None:
        super().__init__()
        for name, value in statistics._asdict().items():
            self.register_buffer(name, torch.from_numpy(np.ascontiguousarray(value, dtype=np.float32)))
        marks, features = len(statistics.log_mean), len(statistics.mean) * len(ROWS)
        self.first = nn.Linear(marks + 2 * features, hidden)
        self.second = nn.Linear(hidden, hidden)
        self.change = nn.Linear(hidden, marks)
        self.gate = nn.Linear(hidden, 1)
        self.dropout = nn.Dropout(dropout)
        # In the beginning the text model's opinion stands.
        nn.init.zeros_(self.change.weight)
        nn.init.zeros_(self.change.bias)

    def forward(self, logs: Tensor, values: Tensor, known: Tensor) -> Tensor:
        """Places × marks, places × 3 rows of features (twice) to places × marks."""
        told = ((logs - self.log_mean) / self.log_deviation).clamp(-LIMIT, LIMIT)
        mean, deviation = self.mean.repeat(len(ROWS)), self.deviation.repeat(len(ROWS))
        heard = ((values - mean) / deviation).clamp(-LIMIT, LIMIT) * known
        state = torch.relu(self.first(torch.cat([told, heard, known], dim=1)))
        state = torch.relu(self.second(self.dropout(state)))
        state = self.dropout(state)
        here = len(self.mean) * ROWS.index(0)
        any_known = known[:, here : here + len(self.mean)].amax(dim=1, keepdim=True)
        gate = torch.sigmoid(self.gate(state)) * any_known
        return torch.log_softmax(logs + gate * self.change(state), dim=1)


def train_branch(
    train: Mapping[str, Places],
    dev: Mapping[str, Places],
    options: BranchOptions | None = None,
    *,
    log: Log | None = None,
) -> BranchNetwork:
    """Train on some corpora until the mean loss over the dev corpora, with sound and without, falls no more."""
    options = options or BranchOptions()
    for use, corpora in (("train on", train), ("stop by", dev)):
        if not corpora:
            raise InputError(f"no corpora to {use}; name some")
        for name, places in corpora.items():
            if not (places.right != IGNORED).any():
                raise InputError(f"{name}, to {use}, has no places whose marks are known; name other corpora")
    known = {name: np.flatnonzero(places.right != IGNORED) for name, places in train.items()}
    torch.manual_seed(options.seed)
    chance = np.random.default_rng(options.seed)
    network = BranchNetwork(statistics([*train.values()]), hidden=options.hidden, dropout=options.dropout)
    optimiser = torch.optim.AdamW(network.parameters(), lr=options.rate, weight_decay=options.decay)
    held = {name: _held(places) for name, places in dev.items()}
    around = {name: places.around for name, places in train.items()}
    best, kept, waited = math.inf, _copied(network), 0
    for epoch in range(1, options.epochs + 1):
        network.train()
        losses = []
        for name, chosen in _draws(known, options, chance):
            batch = _batch(train[name], around[name], chosen)
            batch = batch._replace(known=batch.known * _keeps(len(chosen), options, chance))
            loss = _loss(network, batch, options.pull)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            losses.append(float(loss.detach()))
        row = {name: evaluate(network, batches) for name, batches in held.items()}
        mean = float(np.mean([value for name, value in row.items()]))
        if log is not None:
            log({"epoch": epoch, "train": float(np.mean(losses)), "dev": mean, **row})
        if mean < best:
            best, kept, waited = mean, _copied(network), 0
        else:
            waited += 1
            if waited >= options.patience:
                break
        for group in optimiser.param_groups:  # cosine, to a hundredth
            group["lr"] = options.rate * (0.01 + 0.99 * (1 + math.cos(math.pi * epoch / options.epochs)) / 2)
    network.load_state_dict(kept)
    return network.eval()


def statistics(corpora: Sequence[Places]) -> Statistics:
    """Return mean and deviation of each feature over the places that have it, and of the log-probabilities."""
    count, total, square = (np.zeros(len(NAMES)) for _ in range(3))
    for places in corpora:
        values = places.values.astype(np.float64)
        count[places.columns] += places.known.sum(axis=0)
        total[places.columns] += values.sum(axis=0)
        square[places.columns] += (values**2).sum(axis=0)
    there = np.maximum(count, 1)
    mean = total / there
    deviation = np.sqrt(np.maximum(square / there - mean**2, 0))
    logs = np.concatenate([places.logs for places in corpora]).astype(np.float64)
    return Statistics(
        mean.astype(np.float32),
        np.where(deviation > _SMALLEST, deviation, 1.0).astype(np.float32),
        logs.mean(axis=0).astype(np.float32),
        np.maximum(logs.std(axis=0), _SMALLEST).astype(np.float32),
    )


def evaluate(network: BranchNetwork, batches: Sequence[Batch]) -> float:
    """Return the mean loss."""
    network.eval()
    with torch.no_grad():
        losses = [float(_loss(network, batch)) * len(batch.right) for batch in batches]
    return sum(losses) / sum(len(batch.right) for batch in batches)


def _held(places: Places, size: int = 4096) -> list[Batch]:
    """Return a dev corpus in batches: as it is, and, where it has sound, also without."""
    known = np.flatnonzero(places.right != IGNORED)
    around = places.around
    batches = [_batch(places, around, known[first : first + size]) for first in range(0, len(known), size)]
    if _TIMES[places.columns].all():
        return batches
    times = torch.from_numpy(np.tile(_TIMES, len(ROWS)).astype(np.float32))
    return [*batches, *(batch._replace(known=batch.known * times) for batch in batches)]


def _draws(known: Mapping[str, Ints], options: BranchOptions, chance: np.random.Generator) -> list[tuple[str, Ints]]:
    """Draw an epoch's batches, each of one corpus."""
    sizes = {name: math.sqrt(len(there)) for name, there in known.items()}
    batches: list[tuple[str, Ints]] = []
    for name, there in known.items():
        share = max(1, round(options.draws * sizes[name] / sum(sizes.values()) / options.batch))
        for _ in range(share):
            batches.append((name, there[chance.integers(0, len(there), options.batch)]))
    return [batches[place] for place in chance.permutation(len(batches))]


def _batch(places: Places, around: Ints, chosen: Ints) -> Batch:
    """Put places' features where all features have their column."""
    rows = around[chosen]  # (places, 3)
    inside = (rows >= 0)[:, :, None]
    shape = (len(chosen), len(ROWS), len(NAMES))
    values, known = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    there = places.known[rows] & inside
    known[:, :, places.columns] = there
    values[:, :, places.columns] = np.where(there, places.values[rows], np.float32(0.0))
    return Batch(
        torch.from_numpy(places.logs[chosen]),
        torch.from_numpy(values.reshape(len(chosen), -1)),
        torch.from_numpy(known.reshape(len(chosen), -1)),
        torch.from_numpy(places.right[chosen]),
    )


def _keeps(count: int, options: BranchOptions, chance: np.random.Generator) -> Tensor:
    """Draw what of each place is heard: 1 where it is, 0 where it is left out."""
    sound = chance.random((count, 1)) >= options.without_sound
    families = chance.random((count, len(FAMILIES))) >= options.without_family
    features = (sound | _TIMES) & families[:, _FAMILY]  # (places, features)
    rows = chance.random((count, len(ROWS))) >= options.without_neighbour
    rows[:, ROWS.index(0)] = True
    rows &= chance.random((count, 1)) >= options.without_branch
    kept: Flags = rows[:, :, None] & features[:, None, :]
    return torch.from_numpy(kept.reshape(count, -1).astype(np.float32))


def _loss(network: BranchNetwork, batch: Batch, pull: float = 0.0) -> Tensor:
    found = network(batch.logs, batch.values, batch.known)
    loss = nn.functional.nll_loss(found, batch.right)
    if not pull:
        return loss
    return loss + pull * nn.functional.kl_div(found, batch.logs, reduction="batchmean", log_target=True)


def _copied(network: BranchNetwork) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}
