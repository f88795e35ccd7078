"""The alignment benchmark on small data: its figures are measured elsewhere, but its arithmetic must be right."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import alignment
from interpunct import corpora
from interpunct.audio.sound import RATE, Samples
from interpunct.transcript import Transcript, Word

for needed in ("soundfile", "soxr", "pocketsphinx"):
    pytest.importorskip(needed)


def test_differences_are_in_milliseconds_and_keep_their_sign_in_the_bias() -> None:
    found = alignment.differences("start", [(1.0, 1.01), (2.0, 2.03), (3.0, 2.9), (None, 4.0)])
    assert found == {"start median": 30.0, "start p90": 86.0, "start bias": -10.0}
    assert set(alignment.differences("end", []).values()) == {None}


def test_common_words_are_those_that_both_have() -> None:
    ours = Transcript((Word("So", 0.0, 0.2), Word("we"), Word("went", 0.5, 0.8), Word("home", 0.8, 1.0)))
    theirs = [Word("so", 0.1, 0.2), Word("we", 0.3, 0.4), Word("want", 0.5, 0.8), Word("home", 0.9, 1.0)]
    found = alignment.common(ours, theirs)
    assert [(mine.text, other.start) for mine, other in found] == [("So", 0.1), ("home", 0.9)]


def test_benchmark_measures_prints_and_draws(data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    clips = alignment.recordings("ljspeech", "dev")[:2]
    monkeypatch.setattr(corpora, "data_root", lambda: data)
    monkeypatch.setattr(alignment, "recordings", lambda _corpus, split: clips if split == "train" else clips[:1])

    def recogniser(_model: Path) -> alignment.Recognise:
        def recognise(samples: Samples) -> list[Word]:
            return [Word("modern", len(samples) / RATE - 0.5, len(samples) / RATE)]

        return recognise

    monkeypatch.setattr(alignment, "vosk_words", recogniser)
    figures, picture = tmp_path / "figures.json", tmp_path / "words.png"
    given = [
        "--corpora",
        "ljspeech",
        "--vosk",
        "any",
        "--minutes",
        "0.1",
        "--json",
        str(figures),
        "--plot",
        str(picture),
    ]
    monkeypatch.setattr(sys, "argv", ["alignment.py", *given])
    alignment.main()
    vosk, silence, joined = json.loads(figures.read_text())["rows"]
    assert (vosk["against"], vosk["compared"], vosk["placed %"], vosk["phones %"]) == ("vosk", 1, 100, 100)
    assert (silence["compared"], silence["start median"]) == (vosk["words"], 0)
    assert joined["recordings"] == 2
    assert joined["start p90"] < 50
    assert (joined["peak MB"] or 11) > 10
    assert picture.read_bytes().startswith(b"\x89PNG")
