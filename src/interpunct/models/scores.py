"""`Scores`: what every model says, and the only thing that decoding sees.

In: nothing. Out: for each task a words × labels array of log-probabilities, normalised per word.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Scores:
    """Log-probabilities per task, one row per word."""

    tasks: Mapping[str, Array]

    def __len__(self) -> int:
        return len(next(iter(self.tasks.values())))
