"""What several tests share."""

from __future__ import annotations

import os
from pathlib import Path

# The networks of the tests are so small that threads cost them more than they give; set before torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest

import interpunct
from interpunct.transcript import Transcript, Word

SHARED = Path(__file__).parents[2] / "shared"
SAMPLES = Path(__file__).parent / "samples"


@pytest.fixture(scope="session")
def data() -> Path:
    """The corpora beside the checkout; the test is skipped where they are not."""
    if not (SHARED / "data").is_dir():
        pytest.skip("the corpora of ../shared/data are not here")
    return SHARED / "data"


@pytest.fixture(scope="session")
def restorer() -> interpunct.Restorer:
    """The bundled model, loaded once."""
    return interpunct.load()


def timed(text: str, *, step: float = 0.3, speaker: str | None = None) -> Transcript:
    """Words of a text, each `step` seconds long, one after another."""
    return Transcript(
        tuple(
            Word(token, round(index * step, 3), round((index + 1) * step, 3), speaker=speaker)
            for index, token in enumerate(text.split())
        )
    )
