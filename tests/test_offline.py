"""Nothing that restores calls anybody or leaves anything behind in a home folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from interpunct.offline import keep_offline

RESTORE = "import interpunct; print(interpunct.load('fast').restore('so how are you').text)"
LISTEN = """
from interpunct.features.pitch import track_pitch
import numpy as np
print(len(track_pitch([np.zeros(16000, dtype=np.float32)]).f0_hz))
"""


@pytest.mark.parametrize("program", [RESTORE, LISTEN], ids=["restore", "pitch"])
def test_home_stays_as_it_was(program: str, tmp_path: Path) -> None:
    if program == LISTEN:
        pytest.importorskip("swift_f0")
    # onnxruntime is quiet where it is tested, too: this must look like a user's machine.
    quiet = ("CI", "GITHUB_ACTIONS", "TF_BUILD", "ORT_DISABLE_TELEMETRY", "ORT_TELEMETRY_DISABLED")
    environment = {name: value for name, value in os.environ.items() if name not in quiet}
    environment |= {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout
    assert not done.stderr
    assert not list(tmp_path.rglob("*"))


def test_who_decided_before_us_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORT_DISABLE_TELEMETRY", "0")
    monkeypatch.delenv("ORT_TELEMETRY_DISABLED", raising=False)
    keep_offline()
    assert (os.environ["ORT_DISABLE_TELEMETRY"], os.environ["ORT_TELEMETRY_DISABLED"]) == ("0", "1")
