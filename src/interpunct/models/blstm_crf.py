"""The BLSTM-CRF of Yi et al. 2017, the best single peer in paper 002's tables.

In: windows of words. Out: emissions and transitions per task: a linear-chain CRF over the states of forward and
backward LSTM layers. It learns the likelihood of whole label sequences; a word whose label nobody knows is summed over.
Labels are chosen together, by Viterbi. The tables do not print the network's sizes: the defaults are ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from interpunct.errors import InputError
from interpunct.features import Features
from interpunct.models.batch import window_scores
from interpunct.models.encoded import IGNORED, Encoded
from interpunct.models.lattice import viterbi
from interpunct.models.scores import Chances, Scores
from interpunct.models.shown import Batch
from interpunct.models.word_model import WordModel, WordOptions
from interpunct.models.word_states import states_at_words

_FORBIDDEN = -1e4  # as good as impossible, and unlike -inf it has a gradient
_FEW_LABELS = 12


@dataclass(frozen=True)
class BLSTMCRFOptions(WordOptions):
    """The layers' sizes."""

    context: Literal["overlap", "restart", "whole"] = "whole"
    shortest: int = 40
    longest: int = 70
    layers: int = 1
    units: int = 256
    dropout: float = 0.2
    """On the word vectors and on each layer's states."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.smoothing:
            raise ValueError(f"smoothing {self.smoothing}: a CRF learns whole sequences, whose labels have none; use 0")


class Network(nn.Module):
    """Embedding, LSTM layers both ways, a linear branch and a table of transitions per task."""

    def __init__(self, options: BLSTMCRFOptions, sizes: Mapping[str, int], vocabulary: int) -> None:
        super().__init__()
        self.input = options.word_input(vocabulary)
        self.dropout = nn.Dropout(options.dropout)
        self.rnn = nn.LSTM(
            self.input.width, options.units, options.layers,
            batch_first=True, bidirectional=True, dropout=options.dropout if options.layers > 1 else 0.0,
        )  # fmt: skip
        self.branches = nn.ModuleDict({task: nn.Linear(2 * options.units, size) for task, size in sizes.items()})
        self.transitions = nn.ParameterDict({task: torch.zeros(size, size) for task, size in sizes.items()})

    def forward(self, pieces: Tensor, lengths: Tensor, words: Tensor) -> dict[str, Tensor]:
        """Return each task's emissions at each word."""
        embedded = self.dropout(self.input(pieces))  # (windows, words, embedding)
        at_words = self.dropout(states_at_words(self.rnn, embedded, lengths, words))  # (windows, words, 2 * units)
        return {task: branch(at_words) for task, branch in self.branches.items()}


class BLSTMCRF(WordModel[BLSTMCRFOptions]):
    """LSTM layers both ways under a CRF."""

    TYPE = "blstm_crf"
    OPTIONS = BLSTMCRFOptions

    @staticmethod
    def build(options: BLSTMCRFOptions, sizes: Mapping[str, int], vocabulary: int) -> nn.Module:
        """Return the network."""
        return Network(options, sizes, vocabulary)

    def forward(self, windows: Sequence[Features]) -> list[Scores]:
        """Score windows: emissions, and the transitions with them."""
        if not windows:
            return []
        emissions = {task: values.float().cpu().numpy() for task, values in self.logits(windows).items()}
        transitions = {task: _transitions(self.network, task).detach().cpu().numpy() for task in self.labels}
        return [replace(scores, transitions=transitions) for scores in window_scores(emissions, windows)]

    def chances(self, _encoded: Encoded, *, batch: int = 128, watch: Any = None) -> dict[str, Chances]:  # noqa: ARG002
        """Refuse: what emissions say of a word is not what the whole sequence says of it."""
        raise InputError(f"{self.name} chooses labels together and cannot read packs; name corpora in data.train")

    def label_loss(self, task: str, logits: Tensor, batch: Batch) -> Tensor:
        """Return the sequences' negative log-likelihood, averaged over the words whose label is known.

        A teacher's probabilities are of single words, so they teach the emissions alone (`teacher_loss`), as if there
        were no transitions.
        """
        labels = batch.labels[task]
        # `fit` trains this very network; what it averages beside it is only scored.
        losses = negative_log_likelihood(logits, _transitions(self.network, task), labels, batch.lengths)
        return losses.sum() / (labels != IGNORED).sum().clamp(min=1)

    def chosen(self, network: nn.Module, task: str, logits: Tensor) -> Tensor:
        """Return the best label sequences (of one length) under the network's own transitions."""
        transitions = _transitions(network, task).detach().cpu().numpy()
        return torch.from_numpy(viterbi(logits.float().cpu().numpy(), transitions)).to(logits.device)


def negative_log_likelihood(emissions: Tensor, transitions: Tensor, labels: Tensor, lengths: Tensor) -> Tensor:
    """Return for each sequence -log p(labels), summed over the labels that its `IGNORED` words may have.

    `emissions` are sequences × words × labels, in float32; what stands behind a sequence's length does not count.
    """
    known = labels != IGNORED
    wrong = F.one_hot(labels.masked_fill(~known, 0), emissions.shape[2]) == 0  # (sequences, words, labels)
    right = emissions.masked_fill(wrong & known[:, :, None], _FORBIDDEN)
    # Both sums go the same way: one pass over a batch of double size costs as many kernels as one of the two.
    totals = log_total(torch.cat([emissions, right]), transitions, torch.cat([lengths, lengths]))
    everything, allowed = totals.chunk(2)
    return everything - allowed


def log_total(emissions: Tensor, transitions: Tensor, lengths: Tensor) -> Tensor:
    """Return for each sequence the log of the summed exponentials of all label sequences' scores."""
    # A GPU waits for each of many small steps, so it takes few large ones, as long as they fit into its memory.
    few_steps = emissions.is_cuda and emissions.shape[2] <= _FEW_LABELS
    return (total_as_tree if few_steps else total_in_turn)(emissions, transitions, lengths)


def total_in_turn(emissions: Tensor, transitions: Tensor, lengths: Tensor) -> Tensor:
    """Go from word to word: the forward algorithm."""
    ways = emissions[:, 0]  # (sequences, labels)
    for word in range(1, emissions.shape[1]):
        reached = torch.logsumexp(ways[:, :, None] + transitions, dim=1) + emissions[:, word]
        ways = torch.where((word < lengths)[:, None], reached, ways)
    return torch.logsumexp(ways, dim=1)


def total_as_tree(emissions: Tensor, transitions: Tensor, lengths: Tensor) -> Tensor:
    """Multiply the steps from word to word, matrices from × to, pair by pair: 70 words take 7 rounds.

    It computes as many times more as there are labels, and holds that in memory.
    """
    count = emissions.shape[2]
    nothing = emissions.new_full((count, count), _FORBIDDEN).fill_diagonal_(0.0)  # a step that changes nothing
    steps = transitions + emissions[:, 1:, None, :]  # (sequences, words - 1, from, to)
    beyond = torch.arange(1, emissions.shape[1], device=lengths.device) >= lengths[:, None]
    steps = torch.where(beyond[:, :, None, None], nothing, steps)
    while steps.shape[1] > 1:
        if steps.shape[1] % 2:
            steps = torch.cat([steps, nothing.expand(len(steps), 1, -1, -1)], dim=1)
        first, second = steps[:, 0::2, :, :, None], steps[:, 1::2, None, :, :]
        steps = torch.logsumexp(first + second, dim=3)  # the sum over the label between the two
    ways = emissions[:, 0]
    if steps.shape[1]:
        ways = ways[:, :, None] + steps[:, 0]
    return torch.logsumexp(ways.flatten(1), dim=1)


def _transitions(network: nn.Module, task: str) -> Tensor:
    return cast(Tensor, cast(Network, network).transitions[task])
