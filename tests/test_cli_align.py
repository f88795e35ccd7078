from __future__ import annotations

import json
from pathlib import Path

import pytest

from interpunct.audio.sound import RATE
from interpunct.corpora import ljspeech
from interpunct.corpora.recordings import audio_path
from test_cli import Command

pytest.importorskip("soundfile")
pytest.importorskip("soxr")
pytest.importorskip("pocketsphinx")


@pytest.fixture
def interpunct(capfdbinary: pytest.CaptureFixture[bytes]) -> Command:
    return Command(capfdbinary)


def test_cli_align_times_every_word_and_keeps_the_text(interpunct: Command, data: Path, tmp_path: Path) -> None:
    clip = next(iter(ljspeech.LJSPEECH.read(data, "dev", "")))
    words = [word.token for word in clip.words]
    (tmp_path / "said.txt").write_text(" ".join(words))
    audio = audio_path("ljspeech", data, clip.source)
    found = interpunct("align", audio, tmp_path / "said.txt")
    document = json.loads(found.out)
    assert (found.code, found.err) == (0, "")
    assert [word["raw"] for word in document["words"]] == words
    times = [time for word in document["words"] for time in (word["start"], word["end"])]
    assert times == sorted(times)
    assert 0 < times[-1] < 20
    # A name says the format, as it does everywhere.
    assert interpunct("align", audio, tmp_path / "said.txt", "-o", tmp_path / "said.srt").code == 0
    assert (tmp_path / "said.srt").read_text().startswith("1\n00:00:0")


def test_cli_align_refuses_what_cannot_be_aligned(interpunct: Command, tmp_path: Path) -> None:
    import numpy as np
    import soundfile

    (tmp_path / "said.txt").write_text("and so it was")
    (tmp_path / "two.jsonl").write_text('{"id": "a", "text": "One."}\n{"id": "b", "text": "Two."}\n')
    (tmp_path / "empty.txt").write_text("")
    soundfile.write(tmp_path / "silent.wav", np.zeros(3 * RATE), RATE)
    for arguments, what in (  # wrong calls are told before anything is listened to
        (("said.txt", "silent.wav"), "give AUDIO first"),
        (("silent.wav", "said.txt", "-o", tmp_path / "no" / "x.json"), "its folder is not there"),
        (("silent.wav", "said.txt", "-o", tmp_path), "a folder"),
        (("silent.wav", "said.txt", "-o", tmp_path / "x.txt"), "cannot be written with times"),
        (("silent.wav", "said.txt", "--to", "iwslt"), "cannot be written with times"),
    ):
        found = interpunct("align", *(tmp_path / name for name in arguments[:2]), *arguments[2:])
        assert (found.code, what in found.err) == (2, True)
    for audio, transcript, what in (
        ("silent.wav", "said.txt", "nobody speaks in this recording"),
        ("none.wav", "said.txt", "none.wav"),
        (".", "said.txt", "a folder"),
        ("said.txt", "said.txt", "said.txt"),
        ("silent.wav", "two.jsonl", "holds 2 documents"),
        ("silent.wav", "none.txt", "none.txt"),
        ("silent.wav", "empty.txt", "empty.txt: holds no words"),
    ):
        found = interpunct("align", tmp_path / audio, tmp_path / transcript)
        assert found.code == 1
        assert found.out == ""
        assert what in found.err
        assert found.err.count("\n") == 1


def test_cli_features_writes_a_row_a_word(interpunct: Command, data: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("swift_f0")
    clip = next(iter(ljspeech.LJSPEECH.read(data, "dev", "")))
    (tmp_path / "said.txt").write_text(" ".join(word.token for word in clip.words))
    audio, timed = audio_path("ljspeech", data, clip.source), tmp_path / "said.json"
    assert interpunct("features", audio, tmp_path / "said.txt", "-o", tmp_path / "heard.parquet").code == 0
    heard = parquet.read_table(tmp_path / "heard.parquet")
    assert (heard.num_rows, heard.num_columns) == (len(clip.words), 5 + 162)
    assert heard["f0_word_before_mean"].null_count < heard.num_rows / 2
    assert interpunct("align", audio, tmp_path / "said.txt", "-o", timed).code == 0
    assert interpunct("features", timed, "-o", tmp_path / "timed.parquet").code == 0
    alone = parquet.read_table(tmp_path / "timed.parquet")
    assert alone["f0_word_before_mean"].null_count == alone.num_rows
    # The aligner's times are the same, and so is what they tell.
    assert alone["pause_after_s"].to_pylist() == pytest.approx(heard["pause_after_s"].to_pylist(), abs=1e-3)
    assert "3 files" in interpunct("features", "a", "b", "c", "-o", "d").err
    assert "ends with .parquet" in interpunct("features", timed, "-o", tmp_path / "x.csv").err
    untimed = interpunct("features", tmp_path / "said.txt", "-o", tmp_path / "x.parquet")
    assert (untimed.code, "no word has times" in untimed.err) == (1, True)
    shifted = json.loads(timed.read_text())
    behind = [{"text": "so", "start": second, "end": second + 0.5} for second in (90, 91)]
    (tmp_path / "later.json").write_text(json.dumps(shifted | {"words": shifted["words"] + behind}))
    (tmp_path / "more.txt").write_text((tmp_path / "said.txt").read_text() + " gentlemen remember")
    for name, what in (
        ("later.json", f"before 2 of {len(clip.words) + 2} words"),
        ("more.txt", f"2 of {len(clip.words) + 2} words could not be placed"),
    ):
        early = interpunct("features", audio, tmp_path / name, "-o", tmp_path / "x.parquet")
        assert (early.code, what in early.err) == (0, True), early.err
    for word in shifted["words"]:
        word["start"], word["end"] = word["start"] + 5, word["end"] + 5
    timed.write_text(json.dumps(shifted))
    off = interpunct("features", audio, timed, "-o", tmp_path / "x.parquet")
    assert (off.code, "not heard at their times" in off.err) == (1, True)


def test_cli_align_keeps_what_a_format_cannot_hold(interpunct: Command, data: Path, tmp_path: Path) -> None:
    clip = next(iter(ljspeech.LJSPEECH.read(data, "dev", "")))
    (tmp_path / "said.txt").write_text(" ".join(word.token for word in clip.words) + " ♪")
    found = interpunct(
        "align", audio_path("ljspeech", data, clip.source), tmp_path / "said.txt", "-o", tmp_path / "x.ctm"
    )
    assert found.code == 1
    assert "x.json" in found.err
    assert not (tmp_path / "x.ctm").exists()
    assert json.loads((tmp_path / "x.json").read_text())["words"][0]["start"] is not None
