"""onnxruntime without its telemetry: nothing that runs here calls anybody, or writes about it into a home folder.

In: nothing. Out: an environment in which onnxruntime, as it is loaded, keeps to itself. Newer versions on Linux and
macOS make a device id and look for a server otherwise. It must be asked before onnxruntime is first imported; who
imported it before us has decided already, and so has who sets one of these variables.
"""

from __future__ import annotations

import os

_SWITCHES = ("ORT_DISABLE_TELEMETRY", "ORT_TELEMETRY_DISABLED")  # its versions differ


def keep_offline() -> None:
    """Switch telemetry off where nobody switched it on."""
    for name in _SWITCHES:
        os.environ.setdefault(name, "1")
