"""The prosody benchmark on small data: its figures are measured elsewhere, but its arithmetic must be right."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import prosody as benchmark
from interpunct import corpora
from interpunct.audio.sound import Samples
from interpunct.features.phone_durations import PHONES_MS
from interpunct.features.pitch import HOP, Values
from interpunct.features.prosody_table import FAMILIES


def test_agreement_counts_voicing_gross_errors_and_octaves() -> None:
    ours = np.array([100.0, 100.0, 100.0, 100.0, 0.0, 0.0, 100.0, 100.0])
    theirs = np.array([100.0, 101.0, 200.0, 130.0, 0.0, 90.0, 0.0, 100.0, 100.0])
    found = benchmark.agreement([ours], [theirs])
    assert found["frames"] == 8
    assert found["voicing agrees %"] == 75.0
    assert found["gross %"] == 40.0
    assert found["octave %"] == 20.0
    assert found["median cents"] == 0.0
    assert benchmark.agreement([np.zeros(3)], [np.zeros(3)])["gross %"] is None


def test_chance_is_that_of_all_pairs() -> None:
    rng = np.random.default_rng(5)
    ends, others = rng.integers(0, 6, 30).astype(float), rng.integers(0, 5, 40).astype(float)
    pairs = [(end > other) + 0.5 * (end == other) for end in ends for other in others]
    assert benchmark.chance(ends, others) == pytest.approx(np.mean(pairs))
    assert benchmark.chance(ends, np.zeros(0)) is None


@pytest.mark.parametrize("choice", ["", "--compare", "--ends", "--phones"])
def test_benchmark_measures_what_was_chosen(
    data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, choice: str
) -> None:
    for needed in ("soundfile", "soxr", "pocketsphinx", "swift_f0", "matplotlib"):
        pytest.importorskip(needed)
    monkeypatch.setattr(corpora, "data_root", lambda: data)
    monkeypatch.setattr(benchmark, "PHONE_RECORDINGS", {"ljspeech": 1})

    def silent(samples: Samples) -> Values:
        return np.zeros(len(samples) // HOP)

    monkeypatch.setattr(benchmark, "trackers", lambda: {"silent": silent})
    figures, picture = tmp_path / "figures.json", tmp_path / "voice.png"
    given = ["--corpora", "ljspeech", "--recordings", "2", "--split", "train", "--json", str(figures)]
    given += [choice] if choice else ["--plot", str(picture)]
    monkeypatch.setattr(sys, "argv", ["prosody.py", *given])
    benchmark.main()
    rows = json.loads(figures.read_text())["rows"]
    if choice == "--compare":
        heard, mended = rows
        assert heard["its voiced %"] == 0
        assert mended["voiced %"] == heard["voiced %"] > 20
    elif choice == "--ends":
        assert {row["family"] for row in rows} < set(FAMILIES)
        assert all(0 <= row["chance"] <= 1 for row in rows)
    elif choice == "--phones":
        assert all(30 <= row["mean ms"] < 500 and row["phone"] in PHONES_MS for row in rows)
    else:
        assert rows[0]["all features"] > rows[0]["with aligner"] > 1
        assert picture.stat().st_size > 10_000


def test_long_recording_repeats_sound_words_and_phones_together(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for needed in ("soundfile", "soxr", "pocketsphinx", "swift_f0"):
        pytest.importorskip(needed)
    monkeypatch.setattr(corpora, "data_root", lambda: data)
    clip = benchmark.listened(*benchmark.recordings("ljspeech", "dev", 1)[0])
    measured = []
    monkeypatch.setattr(benchmark, "measure_prosody", lambda *given, **options: measured.append((given, options)))
    _, words, peak_mb = benchmark._long([clip], 2.5 * clip.duration_s)
    ((transcript,), options) = measured[0]
    assert words == len(transcript) == len(options["phones"]) == 3 * len(clip.found.transcript)
    assert options["track"].duration_s == pytest.approx(2.5 * clip.duration_s, abs=0.05)
    again = len(clip.found.transcript)
    first_s = clip.found.transcript.words[0].start or 0.0
    assert transcript.words[again].start == pytest.approx(first_s + clip.duration_s)
    assert options["phones"][again][0].start == pytest.approx(transcript.words[again].start)
    assert peak_mb is None or peak_mb > 20
