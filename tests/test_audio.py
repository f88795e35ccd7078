from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from interpunct.audio.sound import RATE, Samples, read_sound, sound_blocks, sound_info
from interpunct.audio.speech import cut_place, loudness_db, pauses
from interpunct.audio.spelling import number_words, pronounce, spell
from interpunct.audio.window import Reel, shortened
from interpunct.errors import InputError

soundfile = pytest.importorskip("soundfile")
pytest.importorskip("soxr")


def tone(seconds: float, *, hz: float = 440.0, rate: int = RATE, level: float = 0.3) -> Samples:
    return (level * np.sin(2 * np.pi * hz * np.arange(round(seconds * rate)) / rate)).astype(np.float32)


def silence(seconds: float) -> Samples:
    return np.zeros(round(seconds * RATE), dtype=np.float32)


@pytest.mark.parametrize("rate", [8000, 16000, 22050, 44100, 48000])
def test_sound_of_any_rate_keeps_duration_and_pitch(tmp_path: Path, rate: int) -> None:
    path = tmp_path / "tone.wav"
    soundfile.write(path, tone(2.0, rate=rate), rate)
    samples = read_sound(path)
    assert samples.dtype == np.float32
    assert abs(len(samples) / RATE - 2.0) < 0.005
    peak_hz = np.abs(np.fft.rfft(samples)).argmax() * RATE / len(samples)
    assert abs(peak_hz - 440) < 2
    assert sound_info(path).rate_hz == rate


def test_sound_above_the_new_rate_does_not_fold_back(tmp_path: Path) -> None:
    path = tmp_path / "high.wav"
    soundfile.write(path, tone(1.0, hz=12_000, rate=48_000), 48_000)  # would appear at 4 kHz without a low-pass
    inner = read_sound(path)[1600:-1600]
    assert np.abs(inner).max() < 0.001


def test_sound_blocks_join_to_the_whole(tmp_path: Path) -> None:
    path = tmp_path / "tone.flac"
    soundfile.write(path, tone(3.0, rate=44_100), 44_100)
    blocks = list(sound_blocks(path, block_s=0.25))
    assert max(map(len, blocks)) < RATE
    assert np.allclose(np.concatenate(blocks), read_sound(path), atol=1e-4)


def test_sound_leaves_a_dead_channel_out(tmp_path: Path) -> None:
    path = tmp_path / "dead.wav"
    left = tone(1.0)
    soundfile.write(path, np.stack([left, np.full_like(left, 0.001)], axis=1), RATE, subtype="FLOAT")
    assert np.allclose(read_sound(path), left, atol=1e-6)


def test_sound_of_opposite_channels_does_not_vanish(tmp_path: Path) -> None:
    path = tmp_path / "opposite.wav"
    left = tone(1.0)
    soundfile.write(path, np.stack([left, -left], axis=1), RATE, subtype="FLOAT")
    assert np.abs(read_sound(path)).max() == pytest.approx(0.3, abs=0.01)


def test_sound_of_two_live_channels_is_their_mean(tmp_path: Path) -> None:
    path = tmp_path / "stereo.wav"
    left, right = tone(1.0), tone(1.0, hz=700)
    soundfile.write(path, np.stack([left, right], axis=1), RATE, subtype="FLOAT")
    assert np.allclose(read_sound(path), (left + right) / 2, atol=1e-6)


def test_sound_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    empty, text, hollow = tmp_path / "empty.wav", tmp_path / "text.wav", tmp_path / "hollow.wav"
    empty.touch()
    text.write_text("this is no audio\n" * 100)
    soundfile.write(hollow, np.zeros(0, dtype=np.float32), RATE)
    for path, what in [
        (tmp_path / "none.wav", "no such"), (empty, "empty"), (text, "not audio"), (hollow, "no samples"),
    ]:  # fmt: skip
        with pytest.raises(InputError, match=what) as caught:
            read_sound(path)
        assert caught.value.path == str(path)


def test_sound_with_nan_stays_finite(tmp_path: Path) -> None:
    path = tmp_path / "nan.wav"
    samples = tone(0.5)
    samples[100] = np.nan
    soundfile.write(path, samples, RATE, subtype="FLOAT")
    assert np.isfinite(read_sound(path)).all()


@pytest.mark.parametrize("noise", [0.0, 0.002])
def test_pauses_stand_where_the_silences_are(noise: float) -> None:
    samples = np.concatenate([tone(1.0), silence(0.5), tone(0.7), silence(0.1), tone(0.7), silence(1.2), tone(0.4)])
    samples += np.random.default_rng(1).normal(0, noise, len(samples)).astype(np.float32)
    found = pauses(samples)
    edges = [edge for pause in found for edge in (pause.start_s, pause.end_s)]
    assert edges == pytest.approx([1.0, 1.5, 3.0, 4.2], abs=0.02)


def test_pauses_of_silence_are_all_of_it_and_of_steady_sound_none() -> None:
    (only,) = pauses(silence(2.0))
    assert (only.start_s, only.end_s) == (0.0, 2.0)
    assert pauses(tone(2.0)) == []
    assert pauses(silence(0.0)) == []


def test_pauses_are_the_same_however_loud_the_recording_is() -> None:
    samples = np.concatenate([tone(1.0), silence(0.5), tone(0.7)])
    samples += np.random.default_rng(2).normal(0, 0.001, len(samples)).astype(np.float32)
    assert len(pauses(samples)) == 1
    assert pauses(samples * np.float32(0.01)) == pauses(samples)


def test_cut_place_is_inside_the_longest_pause_of_the_range() -> None:
    samples = np.concatenate([tone(1.0), silence(0.8), tone(1.0), silence(0.4), tone(1.0)])
    assert 2.8 < cut_place(samples, 2.0, 4.0) < 3.2
    assert 1.0 <= cut_place(tone(3.0), 1.0, 2.0) <= 2.0


def test_loudness_of_a_tone_is_its_power() -> None:
    assert np.allclose(loudness_db(tone(0.5, hz=1000, level=1.0)), -3.01, atol=0.1)


def test_reel_gives_any_stretch_that_lies_ahead(tmp_path: Path) -> None:
    path = tmp_path / "noise.wav"
    whole = np.random.default_rng(3).uniform(-0.5, 0.5, 45 * RATE).astype(np.float32)
    soundfile.write(path, whole, RATE, subtype="FLOAT")
    reel = Reel(path)
    for start_s, length_s in ((0, 30), (0, 5), (3.7, 10), (33.25, 5), (40, 30), (44.99, 30), (60, 1)):
        expected = whole[round(start_s * RATE) : round((start_s + length_s) * RATE)]
        assert np.array_equal(reel.window(start_s, length_s), expected)


def test_shortened_drops_only_the_inside_of_long_pauses_and_its_clock_finds_every_sample() -> None:
    pieces = [tone(1.0, hz=300), silence(3.0), tone(0.5, hz=600), silence(0.6), tone(0.7, hz=900), silence(2.0)]
    samples = np.concatenate(pieces) + np.random.default_rng(4).normal(0, 1e-3, 78 * RATE // 10).astype(np.float32)
    piece, clock = shortened(samples, 100.0)
    assert len(piece) / RATE == pytest.approx(7.8 - 2.5 - 1.5, abs=0.05)
    places = np.arange(0, len(piece), 37)
    there = [round((clock.time(place / RATE) - 100) * RATE) for place in places]
    assert np.array_equal(piece[places], samples[there])


def test_clock_gives_what_lies_across_a_shortened_pause_its_longer_side() -> None:
    samples = np.concatenate([tone(1.0), silence(3.0), tone(1.0)])
    _, clock = shortened(samples, 10.0)
    assert clock.span(0.2, 0.9) == (10.2, 10.9)
    assert clock.span(1.6, 2.0) == pytest.approx((14.1, 14.5), abs=0.03)  # 2.5 s of the pause are gone
    start, end = clock.span(0.4, 1.6)
    assert (start, end) == pytest.approx((10.4, 11.25), abs=0.03)
    start, end = clock.span(1.2, 2.2)
    assert (start, end) == pytest.approx((13.75, 14.7), abs=0.03)


SMALL = {
    "nineteen": "N AY N T IY N", "ninety": "N AY N T IY", "five": "F AY V", "one": "W AH N", "house": "HH AW S",
    "boat": "B OW T", "percent": "P ER S EH N T", "third": "TH ER D", "and": "AE N D",
}.get  # fmt: skip


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("Boat!", "B OW T"), ("boat's", "B OW T S"), ("house’s", "HH AW S AH Z"), ("houseboat", "HH AW S B OW T"),
        ("houseboats", "HH AW S B OW T S"),
        ("5%", "F AY V P ER S EH N T"), ("3rd", "TH ER D"), ("1995", "N AY N T IY N N AY N T IY F AY V"),
        ("BBC", "B IY B IY S IY"), ("house-boat", "HH AW S B OW T"),
    ],
)  # fmt: skip
def test_pronounce_reads_tokens_of_every_kind(token: str, expected: str) -> None:
    assert pronounce(token, SMALL)[0] == expected


def test_pronounce_says_initials_both_ways() -> None:
    assert pronounce("BOAT,", SMALL) == ["B OW T", "B IY OW EY T IY"]
    assert pronounce("Boat", SMALL) == ["B OW T"]


def test_pronounce_is_silent_where_nothing_is_spoken() -> None:
    assert [pronounce(token, SMALL) for token in ("—", "...", "", "♪", "日本")] == [[]] * 5


def test_number_words_of_every_small_number_are_distinct() -> None:
    assert len({" ".join(number_words(number)) for number in range(3000)}) == 3000


def test_spell_gives_sounds_for_any_letters() -> None:
    phones = {phone for letter in "abcdefghijklmnopqrstuvwxyz" for phone in spell(f"b{letter}ba").split()}
    assert phones <= set(
        "AA AE AH AO AW AY B CH D EH ER EY F G HH IH IY JH K L M N NG OW OY P R S SH T TH UH UW V W Y Z ZH".split()
    )
    assert spell("zagreb") == "Z AE G R EH B"
