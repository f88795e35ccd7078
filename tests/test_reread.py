"""A stack that is to read other pieces: it says nearly what it said, and knows of words what the transformer knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import reread as command  # noqa: E402
from interpunct.errors import ModelError  # noqa: E402
from interpunct.labels import parse_tokens  # noqa: E402
from interpunct.models import load, type_named  # noqa: E402
from interpunct.train import distil  # noqa: E402
from interpunct.train.pack import Pack  # noqa: E402
from interpunct.train.reread import Course, strongest, used, with_pieces_of  # noqa: E402
from interpunct.transcript import Transcript  # noqa: E402

LABELS = {"mark": ("", ",", "."), "case": ("lower", "sentence", "upper", "single", "mixed")}
WORDS = "We went home and slept well. They came late, though nobody had asked them.".split()


def pack_of(words: int, seed: int = 1) -> Pack:
    chosen = np.random.default_rng(seed).choice(WORDS, words)
    return Pack.of([Transcript(tuple(parse_tokens(chosen.tolist())))], sources=["iwslt:train"])


def made(kind: str, vocabulary: int, **options: Any) -> Any:
    return type_named(kind).create(
        name=kind,
        version="1",
        labels=LABELS,
        options={"vocabulary": vocabulary, **options},
        words=pack_of(2000).texts(),
    )


@pytest.fixture(scope="module")
def stack() -> Any:
    """One whose words are mostly in parts."""
    shape = {"width": 16, "dilations": (1, 2), "inner": 8, "inner_kernel": 3, "shifted": True, "signed": True}
    return made("dilated", 40, embedding=8, pairs=64, pair_embedding=4, rounded=True, **shape)


@pytest.fixture(scope="module")
def knowing() -> Any:
    """A transformer that has each word whole."""
    return made("transformer", 200, width=16, heads=2, layers=4, inner=8)


def table(knowing: Any) -> Any:
    return knowing.network.embedding.weight.detach()


def test_strongest_directions_tell_most_of_vectors() -> None:
    chance = torch.Generator().manual_seed(1)
    table = torch.randn(50, 3, generator=chance) @ torch.randn(3, 12, generator=chance) + 5
    found = strongest(table, 3)
    assert found.shape == (50, 3)
    assert float(found.square().mean()) == pytest.approx(1)
    even = table - table.mean(dim=0)
    exact = torch.linalg.lstsq(found, even).solution
    torch.testing.assert_close(found @ exact, even, atol=1e-3, rtol=0)
    with pytest.raises(ModelError, match="no 13 directions"):
        strongest(table, 13)


def test_pieces_are_what_layers_hold_of_them(knowing: Any) -> None:
    windows = torch.from_numpy(np.random.default_rng(1).integers(2, 12, (40, 30)))
    found = used(knowing, windows)
    assert found.shape == (len(knowing.vocabulary), 16 * 2)  # the first layer, and the second
    with torch.no_grad():
        first = knowing.network.layers[0](knowing.network.embedded(windows), None)
    torch.testing.assert_close(found[5, :16], first[windows == 5].mean(dim=0), atol=0.15, rtol=0)
    assert float((found[5] - found[6]).abs().max()) > 0.3
    seen = torch.zeros(len(found), dtype=torch.bool)
    seen[2:12] = True
    assert torch.isfinite(found).all()
    assert float(found[~seen].std()) > 0
    assert not knowing.network.layers[0]._forward_hooks


@pytest.mark.parametrize(("bits", "share"), [(4, 0.4), (8, 0.3)])
def test_stack_says_nearly_what_it_said(stack: Any, knowing: Any, bits: int, share: float) -> None:
    sizes, lines = {"embedding": 12, "pairs": 100, "table_bits": bits}, list[str]()
    new = with_pieces_of(
        stack, knowing, pack_of(20_000), table(knowing), sizes, Course(rate=2e-2, batch=64), told=lines.append
    )
    assert "of what the states differ by is lost" in lines[-1]
    held = pack_of(300, seed=9)
    before, after = (distil.asked(model, held)["mark"].astype(np.float32) for model in (stack, new))
    other = distil.asked(made("dilated", 60, embedding=8, pairs=0, width=16, dilations=(1, 2), inner=8), held)["mark"]
    near = np.abs(before - after).mean()
    assert near < share * np.abs(before - before.mean(axis=0)).mean()
    assert near < 0.2 * np.abs(before - other.astype(np.float32)).mean()
    assert new.options.vocabulary == len(knowing.vocabulary) == len(new.vocabulary)
    assert (new.options.embedding, new.options.pairs, new.options.width) == (12, 100, 16)
    for name, value in stack.network.state_dict().items():
        same = name in new.network.state_dict() and torch.equal(value, new.network.state_dict()[name])
        assert same == (not name.startswith(("embedding.", "pairs.", "stem.")))


def test_what_cannot_be_is_told(stack: Any, knowing: Any) -> None:
    with pytest.raises(ModelError, match="too short"):
        with_pieces_of(stack, knowing, pack_of(20), table(knowing), {})
    split = made("dilated", 40, embedding=8, pairs=0, width=16, dilations=(1,), clitics="split")
    with pytest.raises(ModelError, match="splits clitics"):
        with_pieces_of(split, knowing, pack_of(20), table(knowing), {})
    glancing = made("transformer", 200, width=16, heads=2, layers=4, inner=8, glance=2)
    with pytest.raises(ModelError, match="glances"):
        used(glancing, torch.ones(1, 4, dtype=torch.int64))
    deep = made("dilated", 40, embedding=8, pairs=0, width=16, dilations=(1,), piece_dilations=(1,))
    with pytest.raises(ModelError, match="blocks over pieces"):
        with_pieces_of(deep, knowing, pack_of(20), table(knowing), {})


def test_command_writes_a_model_that_goes_on(
    stack: Any, knowing: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, model in (("stack", stack), ("knowing", knowing)):
        (tmp_path / name).mkdir()
        model.save(tmp_path / name)
    (tmp_path / "stack" / "lexicon.txt").write_text("iPhone\n")
    pack_of(5000).save(tmp_path / "a.pack")

    def run(model: str, of: str, output: str) -> int:
        given = [str(tmp_path / model), "--of", str(tmp_path / of), "-o", str(tmp_path / output)]
        sizes = [
            "--embedding",
            "8",
            "--pairs",
            "50",
            "--packs",
            str(tmp_path / "a.pack"),
            "--words",
            "1000000",
            "--windows",
            "9",
        ]
        monkeypatch.setattr("sys.argv", ["reread.py", *given, *sizes])
        return command.main()

    assert run("stack", "knowing", "new") == 0
    assert (tmp_path / "new" / "lexicon.txt").read_text() == "iPhone\n"
    assert len(load(tmp_path / "new").vocabulary) == len(knowing.vocabulary)  # type: ignore[attr-defined]
    for given, what in (
        (("knowing", "stack", "new"), "not of the type dilated"), (("stack", "knowing", "stack"), "written over")
    ):  # fmt: skip
        assert run(*given) == 1
        assert what in capsys.readouterr().err
