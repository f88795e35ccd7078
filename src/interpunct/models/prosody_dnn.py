"""The feed-forward network on prosody (the DNN of Xu et al. 2017, section 6.2, and of Xu et al. 2014).

In: windows of words with prosody. Out: log-probabilities per task, each place decided from its own row, which is scaled
to zero mean and unit variance. The paper prints minibatches of 256 samples and not the layers: their sizes are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from torch import Tensor, nn

from interpunct.models.model import Clitics
from interpunct.models.place_network import NetworkOptions, PlaceNetwork


@dataclass(frozen=True)
class ProsodyDNNOptions(NetworkOptions):
    """The layers' sizes."""

    clitics: Clitics = "joined"
    prosody: bool = True
    window: int = 1
    """Places of a training sequence, of which `batch` are a minibatch; each place is decided by itself."""
    batch: int = 256
    layers: tuple[int, ...] = (256, 256, 256)
    """Units of each hidden layer."""


class Network(nn.Module):
    """Fully connected layers with ReLU, a linear branch per task."""

    def __init__(self, options: ProsodyDNNOptions, width: int, sizes: Mapping[str, int]) -> None:
        super().__init__()
        widths = (width, *options.layers)
        steps: list[nn.Module] = []
        for wide, units in pairwise(widths):
            steps += [nn.Linear(wide, units), nn.ReLU(), nn.Dropout(options.dropout)]
        self.hidden = nn.Sequential(*steps)
        self.branches = nn.ModuleDict({task: nn.Linear(widths[-1], size) for task, size in sizes.items()})

    def forward(self, rows: Tensor, _lengths: Tensor) -> dict[str, Tensor]:
        """Return each task's logits at each place."""
        shared = self.hidden(rows)  # (sequences, places, units)
        return {task: branch(shared) for task, branch in self.branches.items()}


class ProsodyDNN(PlaceNetwork[ProsodyDNNOptions]):
    """Fully connected layers over a place's row."""

    TYPE = "prosody_dnn"
    OPTIONS = ProsodyDNNOptions

    @staticmethod
    def build(options: ProsodyDNNOptions, width: int, sizes: Mapping[str, int]) -> nn.Module:
        """Return the network."""
        return Network(options, width, sizes)
