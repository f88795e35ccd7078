from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from interpunct.audio import AlignOptions, align_audio, align_phones, aligner, timed_phones
from interpunct.audio.listener import Heard, Listener
from interpunct.audio.sound import RATE, Samples, read_sound
from interpunct.audio.timed_phones import stretches
from interpunct.corpora import esic, ljspeech
from interpunct.corpora.recordings import audio_path
from interpunct.errors import InputError, MissingExtraError
from interpunct.transcript import Transcript, Word

soundfile = pytest.importorskip("soundfile")
soxr = pytest.importorskip("soxr")
pytest.importorskip("pocketsphinx")

Clip = tuple[Samples, Transcript]
Floats = NDArray[np.float64]


def clip(data: Path, place: int) -> Clip:
    transcript = list(ljspeech.LJSPEECH.read(data, "train", ""))[place]
    return read_sound(audio_path("ljspeech", data, transcript.source)), transcript


def written(path: Path, *parts: Samples) -> Path:
    soundfile.write(path, np.concatenate(parts), RATE)
    return path


def starts(transcript: Transcript) -> Floats:
    return np.array([np.nan if word.start is None else word.start for word in transcript.words])


def said(text: str) -> Transcript:
    return Transcript(tuple(map(Word, text.split())))


# What the windows do, with a listener that hears beeps: the words are pitches, so the truth is known to the sample.

BEEP_S, GAP_S, LATE_S = 0.3, 0.1, 2.0
PITCHES = [250 + 80 * number for number in range(24)]


class BeepListener:
    """Hears tones instead of words: a key is a pitch; a wrong one scores -6 a frame, a right one 0.

    Near the end of a piece it hears words begin too late, as a listener does who does not know what follows.
    """

    def __init__(self, *, with_phones: bool) -> None:
        self.with_phones = with_phones

    def key(self, token: str) -> str | None:
        return token if token.isdigit() else None

    def listen(self, samples: Samples, keys: Sequence[str], *, anywhere: bool = False) -> list[Heard]:
        edges = np.flatnonzero(np.diff(np.r_[0, _envelope(samples) > 0.05, 0]))
        beeps = [
            (first, last) for first, last in zip(edges[::2], edges[1::2], strict=True) if last - first > 0.1 * RATE
        ]
        pitches = [_pitch(samples[first:last]) for first, last in beeps]
        begins = range(len(keys)) if anywhere else range(1)
        right = {at: sum(a == b for a, b in zip(pitches, keys[at:], strict=False)) for at in begins}
        begin = max(right, key=lambda at: right[at])
        late = (len(samples) - LATE_S * RATE, 0.15 * RATE)
        return [
            Heard(
                place,
                (first + (late[1] if first > late[0] else 0)) / RATE,
                last / RATE,
                0.0 if pitch == key else -6.0 * (last - first) / RATE * 100,
                (),
            )
            for place, (key, pitch, (first, last)) in enumerate(zip(keys[begin:], pitches, beeps, strict=False), begin)
        ]


def _envelope(samples: Samples) -> Floats:
    return np.convolve(np.abs(samples), np.ones(160) / 160, mode="same")


def _pitch(samples: Samples) -> str:
    crossings = np.count_nonzero(np.diff(np.signbit(samples)))
    hz = crossings / 2 / (len(samples) / RATE)
    return str(min(PITCHES, key=lambda pitch: abs(pitch - hz)))


def beeps(pitches: NDArray[np.int64], pauses_s: Floats) -> tuple[Samples, list[float]]:
    """Return a recording of beeps, and when each begins."""
    parts, times, at = [], [], 0
    for pitch, pause_s in zip(pitches, pauses_s, strict=True):
        times.append(at / RATE)
        tone = 0.3 * np.sin(2 * np.pi * pitch * np.arange(round(BEEP_S * RATE)) / RATE)
        parts += [tone, np.zeros(round((GAP_S + pause_s) * RATE))]
        at += len(parts[-1]) + len(tone)
    return np.concatenate(parts).astype(np.float32), times


@pytest.fixture
def beeping(monkeypatch: pytest.MonkeyPatch) -> np.random.Generator:
    monkeypatch.setattr(aligner, "Listener", BeepListener)
    return np.random.default_rng(7)


def test_windows_place_every_word_of_a_long_recording(beeping: np.random.Generator, tmp_path: Path) -> None:
    pitches = beeping.choice(PITCHES, 600)
    pauses_s = np.where(beeping.random(600) < 0.1, beeping.uniform(0.2, 4.0, 600), 0.0)
    pauses_s[[200, 400]] = 45.0  # longer than a window
    samples, times = beeps(pitches, pauses_s)
    found = align_audio(written(tmp_path / "beeps.wav", samples), Transcript(tuple(Word(str(hz)) for hz in pitches)))
    apart = np.abs(starts(found) - times)
    assert apart.max() < 0.2
    assert (
        np.mean(apart < 0.03) > 0.97
    )  # the last words before a pause longer than a window and before the end are late


def test_windows_leave_unsaid_words_without_times(beeping: np.random.Generator, tmp_path: Path) -> None:
    pitches = beeping.choice(PITCHES, 300)
    samples, times = beeps(pitches, np.where(np.arange(300) % 12 == 11, 0.5, 0.0))
    unsaid = [str(hz) for hz in beeping.choice(PITCHES, 40)]
    tokens = [str(hz) for hz in pitches]
    transcript = said(" ".join([*tokens[:150], *unsaid, *tokens[150:]]))
    found = starts(align_audio(written(tmp_path / "beeps.wav", samples), transcript))
    right = np.r_[times[:150], [np.nan] * 40, times[150:]]
    assert np.nanmax(np.abs(found - right)) < 0.2  # nothing is placed wrongly
    assert np.isnan(found[150:190]).mean() > 0.8
    assert np.isfinite(np.r_[found[:150], found[190:]]).mean() > 0.85


def test_windows_pass_over_what_is_not_in_the_transcript(beeping: np.random.Generator, tmp_path: Path) -> None:
    pitches = beeping.choice(PITCHES, 300)
    samples, times = beeps(pitches, np.where(np.arange(300) % 12 == 11, 0.5, 0.0))
    kept = [place for place in range(300) if not 120 <= place < 180]
    transcript = said(" ".join(str(pitches[place]) for place in kept))
    found = starts(align_audio(written(tmp_path / "beeps.wav", samples), transcript))
    assert np.nanmax(np.abs(found - np.array(times)[kept])) < 0.2
    assert np.isfinite(found).mean() > 0.8


# The real listener.


@pytest.mark.parametrize("place", [0, 2])
def test_align_moves_words_behind_an_inserted_silence_by_its_length(data: Path, tmp_path: Path, place: int) -> None:
    samples, transcript = clip(data, place)
    before = align_audio(written(tmp_path / "whole.wav", samples), transcript)
    gaps = [(after.start or 0) - (word.end or 0) for word, after in pairwise(before.words)]
    cut = int(np.argmax(gaps))
    at = round(((before.words[cut].end or 0) + (before.words[cut + 1].start or 0)) / 2 * RATE)
    moved = written(tmp_path / "moved.wav", samples[:at], np.zeros(2 * RATE, np.float32), samples[at:])
    expected = starts(before) + 2.0 * (np.arange(len(before)) > cut)
    apart = np.abs(starts(align_audio(moved, transcript)) - expected)
    assert np.median(apart) <= 0.02
    assert np.mean(apart <= 0.05) >= 0.9


@pytest.mark.parametrize("place", [1, 4, 30, 60])
def test_align_places_a_speech_in_order_within_the_recording(data: Path, place: int) -> None:
    transcript = list(esic.ESIC.read(data, "train", ""))[place]
    path = audio_path("esic", data, transcript.source)
    found = align_audio(path, transcript)
    assert [replace(word, start=None, end=None) for word in found.words] == list(transcript.words)
    times = [time for word in found.words if word.start is not None for time in (word.start, word.end or 0)]
    assert len(times) / 2 >= 0.95 * len(transcript)
    assert times == sorted(times)
    assert times[-1] <= len(read_sound(path)) / RATE


def test_align_begins_a_word_where_the_speaker_begins(data: Path, tmp_path: Path) -> None:
    # Cut to digital silence before the first word and behind the last: the edges of speech are then known.
    samples, transcript = clip(data, 5)
    words = align_audio(written(tmp_path / "whole.wav", samples), transcript).words
    inside = samples[round((words[0].start or 0) * RATE) : round((words[-1].end or 0) * RATE)]
    quiet = np.zeros(round(0.8 * RATE), np.float32)
    again = align_audio(written(tmp_path / "cut.wav", quiet, inside, quiet), transcript).words
    assert again[0].start == pytest.approx(0.8, abs=0.03)
    assert again[-1].end == pytest.approx(0.8 + len(inside) / RATE, abs=0.03)


def test_phones_tile_their_words_as_the_dictionary_says(data: Path, tmp_path: Path) -> None:
    samples, transcript = clip(data, 2)
    found = align_phones(written(tmp_path / "clip.wav", samples), transcript)
    listener = Listener(with_phones=False)
    assert found.placed == len(transcript)
    for word, phones in zip(found.transcript.words, found.phones, strict=True):
        assert (phones[0].start, phones[-1].end) == (word.start, word.end)
        assert all(phone.end == following.start for phone, following in pairwise(phones))
        assert all(phone.end - phone.start >= 0.03 - 1e-6 for phone in phones)
        assert " ".join(phone.name for phone in phones) in listener._dictionary(word.text.lower())


def test_phones_lie_where_they_sound(data: Path, tmp_path: Path) -> None:
    # A hiss has its power above 3 kHz and a vowel below: the phones' times are right only if the sound says so, too.
    hisses, vowels, moved = [], [], []
    for place in (1, 3, 4):
        samples, transcript = clip(data, place)
        for phones in align_phones(written(tmp_path / "clip.wav", samples), transcript).phones:
            for phone in phones:
                if phone.name in ("S", "SH"):
                    hisses.append(_hiss(samples, phone.start, phone.end))
                    moved.append(_hiss(samples, phone.start + 0.12, phone.end + 0.12))
                elif phone.name in ("AA", "AE", "AH", "AO", "EH", "EY", "IH", "IY", "OW", "UW"):
                    vowels.append(_hiss(samples, phone.start, phone.end))
    assert np.mean(np.array(hisses) > 0.5) > 0.9
    assert np.mean(np.array(vowels) < 0.5) > 0.9
    assert np.mean(np.array(moved) > 0.5) < 0.5  # the check can fail


def _hiss(samples: Samples, start_s: float, end_s: float) -> float:
    """Return the share of power above 3 kHz."""
    power = np.abs(np.fft.rfft(samples[round(start_s * RATE) : round(end_s * RATE)])) ** 2
    return float(power[round(3000 / RATE * 2 * len(power)) :].sum() / power[1:].sum())


def _resampled(path: Path, samples: Samples) -> Path:
    soundfile.write(path, soxr.resample(samples, RATE, 8000), 8000)
    return path


def _clipped(path: Path, samples: Samples) -> Path:
    return written(path, np.clip(samples * np.float32(5 / np.abs(samples).max()), -1, 1))


def _dead_channel(path: Path, samples: Samples) -> Path:
    soundfile.write(path, np.stack([np.zeros_like(samples), samples], axis=1), RATE)
    return path


def _quiet(path: Path, samples: Samples) -> Path:
    return written(path, samples * np.float32(0.01))


def _mp3(path: Path, samples: Samples) -> Path:
    soundfile.write(path.with_suffix(".mp3"), soxr.resample(samples, RATE, 44_100), 44_100, format="MP3")
    return path.with_suffix(".mp3")


def _opus(path: Path, samples: Samples) -> Path:
    soundfile.write(
        path.with_suffix(".opus"), soxr.resample(samples, RATE, 48_000), 48_000, format="OGG", subtype="OPUS"
    )
    return path.with_suffix(".opus")


@pytest.mark.parametrize("spoil", [_resampled, _clipped, _dead_channel, _quiet, _mp3, _opus])
def test_align_of_poor_sound_is_near_that_of_good(
    data: Path, tmp_path: Path, spoil: Callable[[Path, Samples], Path]
) -> None:
    samples, transcript = clip(data, 9)
    good = starts(align_audio(written(tmp_path / "good.wav", samples), transcript))
    poor = starts(align_audio(spoil(tmp_path / "poor.wav", samples), transcript))
    assert np.median(np.abs(poor - good)) <= 0.03
    assert np.mean(np.abs(poor - good) <= 0.15) >= 0.9


def test_listener_takes_any_token() -> None:
    listener = Listener(with_phones=True)
    odd = [
        "a" * 300,
        "9" * 50,
        "1,000.50",
        "'",
        "--",
        "<sil>",
        "</s>",
        "[NOISE]",
        "(NULL)",
        "the(2)",
        "~1",
        "x²",
        "日本",
    ]
    keys = [key for token in odd if (key := listener.key(token))]
    assert len(set(keys)) == len(keys) >= 8
    assert not {"<sil>", "</s>", "[noise]"} & set(keys)
    noise = np.random.default_rng(6).normal(0, 0.05, RATE).astype(np.float32)
    for anywhere in (False, True):
        assert all(word.place < len(keys) for word in listener.listen(noise, keys, anywhere=anywhere))


def test_align_knows_words_that_are_in_no_dictionary(data: Path, tmp_path: Path) -> None:
    samples, transcript = clip(data, 2)
    path = written(tmp_path / "clip.wav", samples)
    # "movable" written as nobody does: its place must hardly change.
    place = next(place for place, word in enumerate(transcript.words) if word.text == "movable")
    odd = replace(transcript, words=tuple(
        replace(word, text="moovabbel", raw=None) if index == place else word
        for index, word in enumerate(transcript.words)
    ))  # fmt: skip
    assert np.abs(starts(align_audio(path, odd)) - starts(align_audio(path, transcript))).max() < 0.1


def test_align_places_only_what_a_cut_recording_holds(data: Path, tmp_path: Path) -> None:
    samples, transcript = clip(data, 2)
    whole = starts(align_audio(written(tmp_path / "whole.wav", samples), transcript))
    half = starts(align_audio(written(tmp_path / "half.wav", samples[: len(samples) * 6 // 10]), transcript))
    placed = int(np.isfinite(half).sum())
    assert abs(placed - np.sum(whole < 0.6 * len(samples) / RATE)) <= 1
    assert np.isfinite(half[:placed]).all()
    assert np.median(np.abs(half - whole)[:placed]) <= 0.02
    with pytest.raises(InputError, match=r"of 25 words could be placed.*the audio is whole"):
        align_audio(written(tmp_path / "little.wav", samples[: len(samples) // 4]), transcript)


def test_align_forgets_times_that_it_cannot_find(data: Path, tmp_path: Path) -> None:
    samples, transcript = clip(data, 2)
    timed = replace(transcript, words=tuple(replace(word, start=90.0, end=91.0) for word in transcript.words))
    half = align_audio(written(tmp_path / "half.wav", samples[: len(samples) * 6 // 10]), timed)
    assert half.words[-1].start is half.words[-1].end is None


@pytest.mark.parametrize(("place", "other"), [(0, 30), (3, 12), (7, 90)])
def test_align_refuses_the_transcript_of_another_recording(data: Path, tmp_path: Path, place: int, other: int) -> None:
    samples, _ = clip(data, place)
    with pytest.raises(InputError, match="does not fit"):
        align_audio(written(tmp_path / "clip.wav", samples), clip(data, other)[1])


def test_align_finds_speech_behind_a_long_silence(data: Path, tmp_path: Path) -> None:
    samples, transcript = clip(data, 2)
    alone = starts(align_audio(written(tmp_path / "alone.wav", samples), transcript))
    behind = written(tmp_path / "behind.wav", np.zeros(70 * RATE, np.float32), samples)
    assert np.abs(starts(align_audio(behind, transcript)) - alone - 70.0).max() <= 0.1


def test_align_asks_more_of_few_words(data: Path) -> None:
    """Five words of another clip, which fit by chance as badly as a long transcript may and a short one may not."""
    path = audio_path("ljspeech", data, "LJ001-0170")
    with pytest.raises(InputError, match="0 of 5 words could be placed"):
        align_audio(path, said("and that laterally the page"))
    assert align_audio(path, said("and that laterally the page"), options=AlignOptions(least_fit_few=-3.5)).words


@pytest.mark.parametrize("level", [0.0, 1e-4, 0.05])
def test_align_refuses_silence_and_noise(tmp_path: Path, level: float) -> None:
    noise = np.random.default_rng(5).normal(0, level, 40 * RATE).astype(np.float32)
    what = "does not fit this recording: 0 of 7" if level else "nobody speaks in this recording"
    with pytest.raises(InputError, match=what):
        align_audio(written(tmp_path / "noise.wav", noise), said("nobody says any of these words here"))


def test_align_of_a_wrong_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "talk.wav"
    path.write_text("1\n00:00:01,000 --> 00:00:02,000\nHello.\n")
    with pytest.raises(InputError, match="not audio") as caught:
        align_audio(path, said("hello"))
    assert caught.value.path == str(path)


def test_align_without_words_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no word"):
        align_audio(written(tmp_path / "silence.wav", np.zeros(RATE, np.float32)), said("— ♪"))


def test_align_without_the_extra_names_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pocketsphinx", None)
    with pytest.raises(MissingExtraError, match=r"interpunct\[audio\]"):
        align_audio(tmp_path / "any.wav", said("hello"))


def test_align_of_other_windows_gives_the_same_times(data: Path) -> None:
    transcript = list(esic.ESIC.read(data, "train", ""))[1]
    path = audio_path("esic", data, transcript.source)
    usual, shorter = (starts(align_audio(path, transcript, options=AlignOptions(window_s=s))) for s in (30.0, 18.0))
    apart = np.abs(usual - shorter)
    assert np.median(apart) <= 0.01
    assert np.mean(apart <= 0.1) >= 0.9


def test_align_gives_no_times_to_what_was_only_noted(data: Path, tmp_path: Path) -> None:
    samples, transcript = clip(data, 2)
    path = written(tmp_path / "clip.wav", samples)
    words = [word.token for word in transcript.words]
    mixed = align_audio(path, said(" ".join([*words[:3], "[door slams]", *words[3:], "(Applause)"])))
    assert [word.start is None for word in mixed.words] == [
        *[False] * 3, True, True, *[False] * (len(words) - 3), True
    ]  # fmt: skip
    plain = align_audio(path, said(" ".join(words)))
    assert [word.start for word in mixed.words if word.start is not None] == [word.start for word in plain.words]


def test_timed_phones_are_those_of_the_aligner(data: Path) -> None:
    (transcript,) = list(esic.ESIC.read(data, "dev", ""))[:1]
    path = audio_path("esic", data, transcript.source)
    found = align_phones(path, transcript)
    phones = timed_phones(path, found.transcript)
    pairs = [(one, other) for one, other in zip(phones, found.phones, strict=True) if one and other]
    assert len(pairs) > 0.97 * len(transcript.words)
    off = np.array([abs(one[0].start - other[0].start) for one, other in pairs])
    assert np.quantile(off, 0.9) < 0.03
    assert np.mean([[p.name for p in one] == [p.name for p in other] for one, other in pairs]) > 0.9


def test_timed_phones_refuse_times_of_another_recording(data: Path, tmp_path: Path) -> None:
    samples, transcript = clip(data, 5)
    path = written(tmp_path / "clip.wav", samples)
    timed = align_audio(path, transcript)
    late = [replace(word, start=(word.start or 0) + 3, end=(word.end or 0) + 3) for word in timed.words]
    with pytest.raises(InputError, match="not heard at their times"):
        timed_phones(path, Transcript(tuple(late)))
    assert timed_phones(path, said("no times here")) == ((), (), ())


def test_stretches_end_in_pauses_at_speakers_and_before_they_are_long() -> None:
    spans = [(0, 1, "a"), (1, 2, "a"), (2.5, 3, "a"), (3, 3.5, "b"), (3.2, 4, "b"), (4, 9, "b"), (9, 13, "b")]
    words = [Word("x", start, end, speaker=speaker) for start, end, speaker in spans]
    found = [stretch.places for stretch in stretches(words, range(len(words)))]
    assert found == [(0, 1), (2,), (3,), (4, 5), (6,)]
