"""The deep bidirectional LSTM of Xu et al. 2017 (section 3.2, eq. 4-9): lexical and prosodic rows, read both ways.

In: windows of words, as rows of what the options name: word vectors, hidden layers of other models, tags, prosody, all
beside one another. Out: log-probabilities per task, a softmax at each place. With prosody alone no word is looked at.
The paper's cells have peepholes, torch's have none. Labels that are best together: `decode.viterbi`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from interpunct.models.place_network import NetworkOptions, PlaceNetwork
from interpunct.models.word_states import states_at_words


@dataclass(frozen=True)
class DBLSTMOptions(NetworkOptions):
    """The layers' sizes: the paper's best for CBOW vectors; (128, 128, 128) for prosody and for projected vectors."""

    layers: tuple[int, ...] = (256, 256)
    """Units of each layer, in each direction."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.layers:
            raise ValueError("layers is empty; give the units of one layer at least")


class Network(nn.Module):
    """LSTM layers both ways, a linear branch per task."""

    def __init__(self, options: DBLSTMOptions, width: int, sizes: Mapping[str, int]) -> None:
        super().__init__()
        widths = [width, *(2 * units for units in options.layers)]
        self.layers = nn.ModuleList(
            nn.LSTM(wide, units, batch_first=True, bidirectional=True)
            for wide, units in zip(widths[:-1], options.layers, strict=True)
        )
        self.dropout = nn.Dropout(options.dropout)
        self.branches = nn.ModuleDict({task: nn.Linear(widths[-1], size) for task, size in sizes.items()})

    def forward(self, rows: Tensor, lengths: Tensor) -> dict[str, Tensor]:
        """Return each task's logits at each place."""
        places = torch.arange(rows.shape[1], device=rows.device)
        # Behind a sequence's end nobody reads: the last place there is stands for it.
        places = torch.minimum(places, lengths[:, None] - 1).clamp(min=0)  # (sequences, places)
        states = rows
        for layer in self.layers:
            states = self.dropout(states_at_words(layer, states, lengths, places))  # type: ignore[arg-type]
        return {task: branch(states) for task, branch in self.branches.items()}


class DBLSTM(PlaceNetwork[DBLSTMOptions]):
    """LSTM layers both ways over rows."""

    TYPE = "dblstm"
    OPTIONS = DBLSTMOptions

    @staticmethod
    def build(options: DBLSTMOptions, width: int, sizes: Mapping[str, int]) -> nn.Module:
        """Return the network."""
        return Network(options, width, sizes)
