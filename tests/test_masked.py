"""Guessing hidden pieces: what is hidden, what is learned from both sides, the folder that a teacher goes on from."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
import torch

import masked
from interpunct.cases import CASES
from interpunct.errors import InputError
from interpunct.labels import MARKS, parse_text
from interpunct.models.llama import Llama, Network, Trunk
from interpunct.models.loop_options import LoopOptions
from interpunct.models.pieces import UNKNOWN as HIDDEN
from interpunct.train.pack import Pack
from interpunct.transcript import Transcript
from masked import Guesser, hidden_places, hide, learn, loss

TEXT = "One two three four five. Six, seven eight? Nine ten eleven twelve. "
SHAPE = {"width": 32, "layers": 2, "heads": 4, "kv_heads": 2, "inner": 64, "theta": 1000.0, "vocabulary": 80}


def made(seed: int = 1) -> Llama:
    labels = {"mark": MARKS, "case": CASES}
    words = TEXT.lower().split()
    return Llama.create(name="tiny", version="1", labels=labels, options=SHAPE, words=words, seed=seed)


def trunk() -> Trunk:
    return cast(Network, made().network).trunk


def chance(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_as_many_places_of_each_window_are_hidden_and_never_the_first() -> None:
    hidden = hidden_places(50, 21, 0.2, chance())
    assert hidden.shape == (50, 4)
    assert (int(hidden.min()), int(hidden.max())) == (1, 20)
    assert all(len(set(row)) == 4 for row in hidden.tolist())
    assert hidden_places(2, 5, 0.01, chance()).shape == (2, 1)


def test_hidden_places_show_nothing_or_another_piece_and_all_others_what_they_have() -> None:
    pieces = torch.arange(2, 2 + 40 * 25).view(40, 25)
    hidden = hidden_places(40, 25, 0.4, chance())
    torch.manual_seed(1)
    shown = hide(pieces, hidden)
    there = torch.ones_like(pieces, dtype=torch.bool).scatter(1, hidden, value=False)
    assert torch.equal(shown[there], pieces[there])
    empty = (shown.gather(1, hidden) == HIDDEN).float().mean()
    assert 0.7 < float(empty) < 0.9


@torch.no_grad()
def test_guesser_reads_both_ways() -> None:
    guesser = Guesser(trunk()).eval()
    hidden = torch.tensor([[2]])
    one, before, behind = ([5, 6, HIDDEN, 8, 9], [30, 6, HIDDEN, 8, 9], [5, 6, HIDDEN, 8, 30])
    first, *others = (guesser(torch.tensor([pieces]), hidden) for pieces in (one, before, behind))
    assert first.shape[:2] == (1, 1)
    assert not any(torch.allclose(first, other, atol=1e-6) for other in others)


def test_a_piece_that_what_follows_tells_is_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each even place is drawn by chance, and told by the place behind it alone."""
    monkeypatch.setattr(masked, "_STEPS", 150)
    monkeypatch.setattr(masked, "_LENGTH", 12)
    drawn = torch.randint(2, 12, (3000,), generator=chance())
    text = torch.stack([drawn, drawn + 20], dim=1).flatten()
    learned, rows = trunk(), list[dict[str, float]]()
    learn(learned, text, LoopOptions(epochs=4, rate=1e-2, device="cpu"), batch=16, share=0.1, log=rows.append)
    assert rows[-1]["dev"] > rows[0]["dev"]
    guesser = Guesser(learned).eval()
    pieces = text[-12 * 32 :].view(32, 12)
    with torch.no_grad():
        logits = guesser(pieces.index_fill(1, torch.tensor([4]), HIDDEN), torch.full((32, 1), 4))
        guessed = (logits[:, 0].argmax(1) == pieces[:, 4]).float().mean()
    assert float(guessed) > 0.9  # by chance, or by what is before, .1


def test_nats_are_those_of_the_pieces_that_were_hidden() -> None:
    guesser = Guesser(trunk()).eval()
    pieces, hidden = torch.randint(2, 60, (4, 9), generator=chance()), hidden_places(4, 9, 0.3, chance())
    torch.manual_seed(3)
    nats = loss(guesser, (pieces, hidden))
    torch.manual_seed(3)
    logits = guesser(hide(pieces, hidden), hidden).log_softmax(-1)
    torch.testing.assert_close(nats, -logits.gather(2, pieces.gather(1, hidden)[:, :, None]).mean())


def test_too_few_words_are_refused() -> None:
    with pytest.raises(InputError, match="too few words"):
        learn(trunk(), torch.ones(500, dtype=torch.int64), LoopOptions(device="cpu"), batch=2, share=0.2, log=print)


def test_command_writes_a_folder_to_go_on_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Pack.of([Transcript(parse_text(TEXT * 400))], sources=("iwslt:train",)).save(tmp_path / "heard.pack")
    reads, before = made(seed=2), made(seed=2)
    asked: dict[str, object] = {}
    monkeypatch.setattr(Llama, "create", lambda **given: asked.update(given) or reads)
    arguments = [str(tmp_path / "heard.pack"), "-o", str(tmp_path / "masked"), "--seconds", "1", "--batch", "2",
                 "--device", "cpu"]  # fmt: skip
    monkeypatch.setattr("sys.argv", ["masked.py", *arguments])
    assert masked.main() == 0
    assert asked["trained_on"] == ("iwslt:train",)
    assert asked["licence"] == "CC BY-NC-ND"
    assert "4,800 words" in capsys.readouterr().out
    on = Llama.go_on(tmp_path / "masked", name="teacher", version="1", options={"layer_dropout": 0.1})
    table = on.network.state_dict()["trunk.embedding.weight"]
    assert not torch.equal(table, before.network.state_dict()["trunk.embedding.weight"])
    monkeypatch.setattr("sys.argv", ["masked.py", str(tmp_path / "none.pack"), *arguments[1:]])
    assert masked.main() == 1
    assert "masked.py: error: " in capsys.readouterr().err
    for wrong in (["--seconds", "0"], ["--share", "1"], ["--share", "0"], ["--rate", "0"], ["--batch", "0"]):
        monkeypatch.setattr("sys.argv", ["masked.py", *arguments, *wrong])
        with pytest.raises(SystemExit):
            masked.main()
