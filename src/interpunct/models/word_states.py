"""The states of words among those of their pieces: a word's are its last piece's.

In: states of pieces, or recurrent layers that make them; where each word ends. Out: states of words.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

_LONGEST_OF_CUDNN = 65_535


def at_words(states: Tensor, words: Tensor) -> Tensor:
    """Return of states (windows × pieces × width) those at each word's last piece (windows × words × width)."""
    return torch.gather(states, 1, words[:, :, None].expand(-1, -1, states.shape[2]))


def states_at_words(rnn: nn.RNNBase, embedded: Tensor, lengths: Tensor, words: Tensor) -> Tensor:
    """Run recurrent layers over padded windows and return their states at each word's last piece."""
    rnn.flatten_parameters()  # a copied module's weights lie apart, which cuDNN would mend at every call
    packed = nn.utils.rnn.pack_padded_sequence(embedded, lengths.cpu(), batch_first=True, enforce_sorted=False)
    # A whole corpus read in one shot is longer than cuDNN takes; torch's own kernels are slower, but take it.
    with torch.backends.cudnn.flags(enabled=embedded.shape[1] <= _LONGEST_OF_CUDNN):
        states, _ = nn.utils.rnn.pad_packed_sequence(rnn(packed)[0], batch_first=True)
    return at_words(states, words)
