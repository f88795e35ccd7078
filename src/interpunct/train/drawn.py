"""Windows of packs, drawn by chance, for a model to be looked at while it reads them.

In: a model and packs. Out: windows of as many pieces as the model learned from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from interpunct.errors import InputError
from interpunct.train.pack import Pack


def drawn(model: Any, packs: Sequence[Pack], count: int, *, seed: int = 1) -> torch.Tensor:
    """Draw windows, as many from each pack (windows × pieces)."""
    long, generator = model.options.pieces or model.options.window, np.random.default_rng(seed)
    if count < 1:
        raise InputError(f"{count} windows are none; ask for one at least")
    found = []
    for number, pack in enumerate(packs):
        encoded = pack.encoded(model.vocabulary, model.labels)
        if len(encoded) <= long:
            raise InputError(f"a pack of {len(encoded)} words is too short for windows of {long} pieces; name others")
        share = (count * (number + 1)) // len(packs) - (count * number) // len(packs)
        for first in encoded.ends[generator.integers(0, len(encoded) - long, share)]:
            found.append(encoded.pieces[first : first + long])
    generator.shuffle(found)
    return torch.from_numpy(np.stack(found).astype(np.int64))
