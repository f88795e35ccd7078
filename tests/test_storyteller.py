"""The storyteller: what it guesses piece by piece, what it learns, and the packs of what it tells."""

from __future__ import annotations

import json
from itertools import count, pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch

import storyteller
from interpunct.cases import CASES
from interpunct.errors import InputError, ModelError
from interpunct.labels import MARKS, parse_text
from interpunct.models.llama import Llama, Network
from interpunct.models.loop_options import LoopOptions
from interpunct.models.pieces import Pieces
from interpunct.train.pack import Pack
from interpunct.transcript import Transcript
from overlap import Held
from storyteller import Speaker, Storyteller, Telling, parts_of, told
from written import read_back, written

TEXT = "One two three four five. Six, seven eight? Nine ten eleven twelve. "
CPU = torch.device("cpu")
LABELS = {"mark": MARKS, "case": CASES}


def heard(times: int = 40) -> Pack:
    return Pack.of([Transcript(parse_text(TEXT * times))], sources=("talks:train",))


def made(seed: int = 1) -> Llama:
    shape = {"width": 32, "layers": 2, "heads": 4, "kv_heads": 2, "inner": 64, "theta": 1000.0, "vocabulary": 80}
    return Llama.create(
        name="tiny", version="1", labels=LABELS, options=shape, words=list(written(heard()).words), seed=seed
    )


def teller(length: int = 12) -> Storyteller:
    model = made()
    return Storyteller(cast(Network, model.network).trunk, cast(Pieces, model.vocabulary), heard(), length=length)


@pytest.fixture(scope="module")
def learned() -> Storyteller:
    found = teller()
    rows: list[dict[str, float]] = []
    found.learn(LoopOptions(epochs=6, rate=1e-2, device="cpu"), batch=4, log=rows.append)
    assert rows[-1]["dev"] > rows[0]["dev"] > -5
    return found


@torch.no_grad()
def test_speaker_guesses_the_same_piece_by_piece() -> None:
    speaker = Speaker(cast(Network, made(seed=2).network).trunk)
    pieces = torch.randint(2, 60, (3, 9), generator=torch.Generator().manual_seed(1))
    cache, whole = speaker.cache(3, 9), speaker(pieces)
    table = speaker.trunk.embedding.weight
    for place in range(9):
        logits = speaker.step(pieces[:, place], place, cache) @ table.T
        torch.testing.assert_close(logits, whole[:, place], atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_speaker_does_not_see_what_follows() -> None:
    speaker = Speaker(cast(Network, made(seed=2).network).trunk)
    one = torch.tensor([[5, 6, 7, 8, 9]])
    other = torch.tensor([[5, 6, 7, 30, 31]])
    torch.testing.assert_close(speaker(one)[:, :3], speaker(other)[:, :3])
    assert not torch.allclose(speaker(one)[:, 3], speaker(other)[:, 3])


def test_storyteller_tells_what_it_has_learned_with_its_marks_and_capitals(learned: Storyteller) -> None:
    following = set(pairwise(TEXT.split() * 2))
    pack = read_back(learned.vocabulary, learned.sources, learned.tell(20, device=CPU, seed=1))
    told = list(written(pack).texts())
    assert set(told) <= set(TEXT.split())
    pairs = [pair for place, pair in enumerate(pairwise(told)) if place + 1 not in pack.documents]
    assert np.mean([pair in following for pair in pairs]) > 0.9


def test_storyteller_tells_the_same_by_the_same_seed_and_begins_with_the_text(learned: Storyteller) -> None:
    one, again, other = (learned.tell(5, device=CPU, seed=seed, given=4) for seed in (1, 1, 2))
    assert one == again != other
    text = learned.pieces.tolist()
    begins = {tuple(text[place : place + 4]) for place in learned.ends[:-1].tolist()}
    assert all(tuple(row[:4]) in begins for row in (*one, *other))


def test_storyteller_tells_nothing_that_is_far_less_likely(learned: Storyteller) -> None:
    """With the limit at 1 only the likeliest piece is left, whatever the seed draws."""
    for row in learned.tell(4, device=CPU, seed=3, least=1.0):
        cache = learned.speaker.cache(1, len(row))
        for place, piece in enumerate(row[:-1]):
            states = learned.speaker.step(torch.tensor([piece]), place, cache)
            if place >= 7:
                logits = states @ learned.speaker.trunk.embedding.weight.T
                assert int(logits.masked_fill(~learned.known, -np.inf).argmax()) == row[place + 1]


def test_vocabulary_writes_the_words_that_it_cut_apart(learned: Storyteller, tmp_path: Path) -> None:
    words = ["eleven", "unheard-of", "two"]
    row = [piece for word in words for piece in learned.vocabulary.ids(word)]
    assert learned.vocabulary.written([row, row[:1]])[0].split()[0] == "eleven"
    saved = tmp_path / "pieces.json"
    learned.vocabulary.save(saved)
    known = json.loads(saved.read_text())
    saved.write_text(json.dumps({**known, "decoder": None}))
    with pytest.raises(ModelError, match="how pieces are written"):
        Pieces.load(saved, longest=8).written([row])


def test_moved_speaker_keeps_its_positions(learned: Storyteller) -> None:
    paces = learned.speaker.trunk.paces.clone()
    learned.to(CPU)
    assert torch.equal(learned.speaker.trunk.paces, paces)
    assert learned.speaker.trunk.paces.dtype == torch.float32


def test_storyteller_refuses_too_few_words() -> None:
    with pytest.raises(InputError, match="too few words"):
        teller(length=500)


def test_command_writes_a_pack_to_learn_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    heard(400).save(tmp_path / "heard.pack")
    speaks = made(seed=2)
    monkeypatch.setattr(Llama, "create", lambda **_: speaks)
    held = Held.of([Transcript(parse_text("Six seven eight nine ten eleven twelve one."))])
    held.save(tmp_path / "held.npz")
    arguments = [
        str(tmp_path / "heard.pack"), "-o", str(tmp_path / "told.pack"),
        "--seconds", "1", "--words", "900", "--at-once", "3", "--batch", "2", "--device", "cpu",
        "--held", str(tmp_path / "held.npz"), "--given", "60", "--least", "0.5", "0.2",
    ]  # fmt: skip
    monkeypatch.setattr("sys.argv", ["storyteller.py", *arguments])
    shares: list[float] = []
    tell = Storyteller.tell

    def noted(self: Storyteller, *given: Any, least: float, **others: Any) -> list[list[int]]:
        shares.append(least)
        return tell(self, *given, least=least, **others)

    monkeypatch.setattr(Storyteller, "tell", noted)
    (tmp_path / "told.pack").write_bytes(b"of another time")
    assert storyteller.main() == 0
    assert shares[:3] == [0.5, 0.2, 0.5][: len(shares)]
    assert len(shares) > 1
    told = Pack.load(tmp_path / "told.pack")
    assert 300 <= len(told) < 3000
    assert held.cleared_pack(told) is told  # though every story began with what is held
    assert told.tags["mark"].max() < len(MARKS)
    assert f"{len(told):,} words" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["storyteller.py", str(tmp_path / "none.pack"), *arguments[1:]])
    assert storyteller.main() == 1
    assert "storyteller.py: error: " in capsys.readouterr().err
    for wrong in (["--words", "0"], ["--least", "3"], ["--given", "192"], ["--telling", "0"], ["--parts", "0"]):
        monkeypatch.setattr("sys.argv", ["storyteller.py", *arguments, *wrong])
        with pytest.raises(SystemExit):
            storyteller.main()


@pytest.mark.parametrize("seconds", [None, 12.0], ids=["words", "time"])
def test_stories_are_told_in_parts(seconds: float | None, learned: Storyteller, tmp_path: Path) -> None:
    held = Held.of([Transcript(parse_text("Six seven eight nine ten eleven twelve one."))])
    paths = parts_of(tmp_path / "told.pack", 3)
    assert [path.name for path in paths] == ["told-0.pack", "told-1.pack", "told-2.pack"]
    given: list[int] = []

    def tell(number: int) -> list[list[int]]:
        given.append(number)
        return learned.tell(4, device=CPU, seed=number)

    ticks = map(float, count())  # every look at the clock is a second later
    lines = list(told(learned, Telling(300, seconds, paths), held, tell, clock=lambda: next(ticks)))
    packs = [Pack.load(path) for path in paths]
    assert given == list(range(len(given)))
    assert [line.split()[0].replace(",", "") for line in lines] == [str(len(pack)) for pack in packs]
    assert min(map(len, packs)) > sum(map(len, packs)) / 6
    assert sum(map(len, packs)) >= 300 if seconds is None else len(given) == 11
    whole = [held.cleared_pack(read_back(learned.vocabulary, ("talks:train",), tell(number))) for number in given[:]]
    assert [word for pack in packs for word in pack.texts()] == [word for pack in whole for word in pack.texts()]


def test_parts_of_too_few_stories_are_refused(learned: Storyteller, tmp_path: Path) -> None:
    paths = parts_of(tmp_path / "told.pack", 4)
    with pytest.raises(InputError, match="too little was told for 4 parts"):
        list(told(learned, Telling(1, None, paths), Held.of([]), lambda _: learned.tell(2, device=CPU, seed=1)))
