"""The 162 prosodic features: their names, their arithmetic, and what is missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpunct import corpora
from interpunct.audio import Phone
from interpunct.audio.sound import RATE
from interpunct.corpora.recordings import audio_path
from interpunct.errors import InputError, UnknownNameError
from interpunct.features import phone_durations, prosody_table
from interpunct.features.phone_durations import PHONES_MS
from interpunct.features.pitch import HOP_S, Pitch, Values
from interpunct.features.prosody import Prosody, measure_prosody, prosody_of
from interpunct.features.prosody_table import FAMILIES, FROM_TIMES, NAMES
from interpunct.features.register import learn_register
from interpunct.features.spans import Spans
from interpunct.features.track import Track, track_blocks
from interpunct.transcript import Transcript, Word


def made(semitones: Values, level_db: Values | None = None) -> Track:
    """A track whose frames are known; 0 is unvoiced."""
    return Track(Pitch(semitones, semitones > 0), np.full(len(semitones), -20.0) if level_db is None else level_db)


def frames(seconds: float) -> int:
    return round(seconds / HOP_S)


def value(prosody: Prosody, name: str, row: int) -> float:
    found = prosody.column(name)[row]
    assert found is not None, f"{name} of word {row} is missing"
    return found


# The inventory.


def test_inventory_has_162_different_names() -> None:
    assert len(NAMES) == len(set(NAMES)) == 162
    assert {family: len(names) for family, names in FAMILIES.items()} == {
        "pause": 8, "duration": 23, "turn": 4, "f0": 48, "energy": 32, "f0 across": 22, "energy across": 22,
        "boundary": 3,
    }  # fmt: skip
    assert set(FROM_TIMES) < set(NAMES)


def test_inventory_docstring_counts_what_the_names_count() -> None:
    rows = [line.split("|") for line in (prosody_table.__doc__ or "").splitlines() if line.startswith("| ")]
    assert sum(int(row[4]) for row in rows[1:]) == 162


def test_inventory_is_measured_completely_in_the_middle_of_speech() -> None:
    words, phones = speech(["A"] * 20 + ["B"] * 20)
    wave = 85 + 4 * np.sin(np.arange(frames(20)) / 7)
    track = made(wave, -30 + 5 * np.cos(np.arange(frames(20)) / 5))
    found = measure_prosody(Transcript(words), track=track, phones=phones)
    assert [NAMES[place] for place in np.flatnonzero(~found.known[10])] == []


def speech(speakers: list[str]) -> tuple[tuple[Word, ...], list[tuple[Phone, ...]]]:
    """Words of two syllables and various lengths, 50 ms between them."""
    words, phones, at = [], [], 0.1
    for place, speaker in enumerate(speakers):
        step = 0.05 + 0.01 * (place % 5)
        of_word = tuple(Phone(name, at + n * step, at + (n + 1) * step) for n, name in enumerate("T AH P IY".split()))
        words.append(Word("tuppy", at, at + 4 * step, speaker=speaker))
        phones.append(of_word)
        at += 4 * step + 0.05
    return tuple(words), phones


# Pause, duration, turn: from times alone.


def test_prosody_from_times_alone_is_what_needs_no_audio() -> None:
    words, _ = speech(["A"] * 10 + ["B"] * 10)
    found = measure_prosody(Transcript(words))
    assert {NAMES[place] for place in np.flatnonzero(found.known[5])} == set(FROM_TIMES)


def test_prosody_pauses_are_the_gaps_between_words() -> None:
    words = Word("so", 0.0, 0.5), Word("it", 1.5, 1.75), Word("goes", 1.5, 2.0), Word("on"), Word("now", 3.0, 3.5)
    found = measure_prosody(Transcript(words))
    assert found.column("pause_after_s") == [1.0, 0.0, None, None, None]
    assert found.column("pause_before_s") == [None, 1.0, 0.0, None, None]
    assert found.column("pause_overlap_s") == [0.0, 0.25, None, None, None]
    assert value(found, "pause_after_log", 0) == pytest.approx(np.log(101))
    assert value(found, "pause_change", 1) == pytest.approx(-np.log(101))


def test_prosody_speaker_scale_counts_that_speakers_deviations() -> None:
    slow = [Word("word", 2.0 * n, 2.0 * n + 1 + 0.05 * (n % 4), speaker="slow") for n in range(12)]
    fast = [Word("word", 30 + 0.5 * n, 30.2 + 0.5 * n + 0.01 * (n % 4), speaker="fast") for n in range(12)]
    found = measure_prosody(Transcript((*slow, *fast)))
    column = np.array(found.column("duration_before_word_speaker"), dtype=np.float64)
    for rows, words in ((slice(0, 12), slow), (slice(12, 24), fast)):
        logs = np.log([word.duration_s or 0.0 for word in words])
        expected = (logs - logs.mean()) / max(logs.std(), 0.1)
        assert np.allclose(column[rows], expected, atol=1e-4)


def test_prosody_of_a_speaker_with_few_words_uses_everybody() -> None:
    many = [Word("word", n, n + 0.3 + 0.02 * (n % 3), speaker="A") for n in range(12)]
    found = measure_prosody(Transcript((*many, Word("word", 20.0, 20.3, speaker="B"))))
    logs = np.log([*(word.duration_s or 0.0 for word in many), 0.3])
    expected = (logs[12] - logs.mean()) / max(logs.std(), 0.1)
    assert value(found, "duration_before_word_speaker", 12) == pytest.approx(expected, abs=1e-4)
    alone = measure_prosody(Transcript((Word("word", 0.0, 1.0),)))
    assert alone.column("duration_before_word_speaker") == [None]


def test_prosody_turns_change_with_the_speaker() -> None:
    speakers = ["A", "A", "B", "B", None, "B"]
    words = tuple(Word("so", n, n + 0.5, speaker=speaker) for n, speaker in enumerate(speakers))
    found = measure_prosody(Transcript(words))
    assert found.column("turn_after") == [0.0, 1.0, 0.0, None, None, None]
    assert found.column("turn_before") == [None, 0.0, 1.0, 0.0, None, None]
    assert found.column("turn_time_s") == [0.5, 1.5, 0.5, 1.5, None, 0.5]
    assert found.column("turn_words") == [1.0, 2.0, 1.0, 2.0, None, 1.0]


def test_prosody_turns_go_on_over_words_without_times() -> None:
    words = Word("so", speaker="A"), Word("it", 1.0, 1.5, speaker="A"), Word("goes", 2.0, speaker="A")
    found = measure_prosody(Transcript((*words, Word("on", 2.5, 3.0, speaker="A"))))
    assert found.column("turn_time_s") == [None, 0.5, None, 2.0]
    assert found.column("turn_words") == [1.0, 2.0, 3.0, 4.0]


def test_prosody_durations_of_units_come_from_the_phones() -> None:
    phones = (
        Phone("T", 0.0, 0.1),
        Phone("AH", 0.1, 0.15),
        Phone("P", 0.15, 0.25),
        Phone("IY", 0.25, 0.55),
        Phone("Z", 0.55, 0.65),
    )
    found = measure_prosody(Transcript((Word("tuppies", 0.0, 0.65),)), phones=[phones])
    assert value(found, "duration_before_syllable_s", 0) == pytest.approx(0.5)
    assert value(found, "duration_before_rhyme_s", 0) == pytest.approx(0.4)
    assert value(found, "duration_before_vowel_s", 0) == pytest.approx(0.3)
    mean, deviation = PHONES_MS["IY"]
    assert value(found, "duration_before_vowel_phone", 0) == pytest.approx(np.log(300 / mean))
    assert value(found, "duration_before_longest_phone", 0) == pytest.approx((300 - mean) / deviation)
    expected = sum(PHONES_MS[phone.name][0] for phone in phones)
    assert value(found, "duration_before_word_phone", 0) == pytest.approx(np.log(650 / expected))


def test_prosody_leaves_out_phones_that_disagree_with_the_words_times() -> None:
    phones = (Phone("AH", 0.0, 0.1), Phone("P", 0.1, 0.3))
    words = Word("up", 0.0, 0.3), Word("up", 1.0, 1.3), Word("up")
    found = measure_prosody(Transcript(words), phones=[phones] * 3)
    assert found.column("duration_before_vowel_s") == [pytest.approx(0.1), None, None]


@pytest.mark.parametrize(
    ("sounds", "syllable"),
    [
        ("T UW", "T UW"), ("AY", "AY"), ("HH AE P IY", "P IY"), ("S IH NG IH NG", "IH NG"), ("K AO S T", "K AO S T"),
        ("IH N S T R AH M AH N T", "M AH N T"), ("M IH N AH S T R IY", "S T R IY"), ("AE K T ER", "T ER"),
        ("D IH S K L OW Z", "S K L OW Z"), ("HH M", ""),
    ],
)  # fmt: skip
def test_last_syllable_begins_as_english_words_begin(sounds: str, syllable: str) -> None:
    phones = [Phone(name, 0.0, 0.0) for name in sounds.split()]
    begin = phone_durations.last_syllable(phones)
    assert ("" if begin is None else " ".join(phone.name for phone in phones[begin:])) == syllable


# F0 and energy: from tracks whose truth is known.


def test_prosody_of_a_fall_and_a_reset() -> None:
    """Two words of one second: the first falls by 6 semitones, the second starts 8 higher and rises by 3."""
    second = frames(1.0)
    line = np.concatenate([np.linspace(90, 84, second), np.zeros(frames(0.5)), np.linspace(92, 95, second)])
    level = np.concatenate([np.linspace(-20, -30, second), np.full(frames(0.5), -70.0), np.full(second, -24.0)])
    words = Word("falls", 0.0, second * HOP_S), Word("again", (second + frames(0.5)) * HOP_S, len(line) * HOP_S)
    found = measure_prosody(Transcript(words), track=made(line, level))
    centre = np.concatenate([line[:second], line[-second:]]).mean()
    deviation = np.concatenate([line[:second], line[-second:]]).std()
    floor = np.percentile(np.concatenate([line[:second], line[-second:]]), 5)
    expected = {
        "f0_word_before_mean": 87 - centre,
        "f0_word_before_first": 90 - centre,
        "f0_word_before_last": 84 - centre,
        "f0_word_before_range": 6,
        "f0_word_before_slope": -6 / ((second - 1) * HOP_S),
        "f0_word_before_edge_slope": -6 / ((second - 1) * HOP_S),
        "f0_word_before_voiced": 1,
        "f0_word_before_mean_z": (87 - centre) / deviation,
        "f0_word_before_edge_floor": 84 - floor,
        "f0_word_after_slope": 3 / ((second - 1) * HOP_S),
        "f0_word_after_edge_slope": 3 / ((second - 1) * HOP_S),
        "f0_word_after_edge_floor": 92 - floor,
        "f0_words_reset_ratio": 8,
        "f0_words_reset_z": 8 / deviation,
        "f0_words_mean_ratio": 6.5,
        "f0_words_range_ratio": -3,
        "f0_words_range_z": -3 / deviation,
        "f0_windows_reset_ratio": 8,
        "f0_windows_slope": 9 / ((second - 1) * HOP_S),
        "energy_word_before_range": 10,
        "energy_words_mean_ratio": 1,
        "energy_window_after_slope": 0,
        "boundary_voiced": 0,
        "boundary_unvoiced_s": frames(0.5) * HOP_S,
        "boundary_level": -70 - np.concatenate([level[:second], level[-second:]]).mean(),
    }
    assert {name: value(found, name, 0) for name in expected} == pytest.approx(expected, abs=2e-3)
    missing_at_the_end = [name for name in NAMES if found.column(name)[1] is None]
    assert "f0_word_after_mean" in missing_at_the_end
    assert "f0_word_before_mean" not in missing_at_the_end


def test_prosody_windows_are_the_200_ms_on_either_side() -> None:
    line = np.concatenate([np.full(frames(0.8), 80.0), np.full(frames(0.2), 83.0), np.full(frames(1.0), 86.0)])
    line[frames(1.2) + 1 :] = 89.0
    words = Word("before", 0.0, 1.0), Word("after", 1.0, 2.0)
    found = measure_prosody(Transcript(words), track=made(line, line.copy()))
    ours = {name: value(found, f"energy_{name}", 0) for name in ("window_before_lowest", "window_after_highest")}
    centre = line.mean()
    assert ours == pytest.approx({"window_before_lowest": 83 - centre, "window_after_highest": 86 - centre}, abs=0.05)


def test_prosody_f0_is_relative_to_each_speaker() -> None:
    """Two speakers an octave apart who do the same get the same relative features."""
    tune = 4 * np.sin(np.arange(120) / 9)
    line = np.concatenate([82 + tune, np.zeros(20), 94 + tune])
    firsts = [*range(0, 120, 12), *range(140, 260, 12)]
    words = tuple(
        Word("so", first * HOP_S, (first + 12) * HOP_S, speaker="low" if first < 120 else "high") for first in firsts
    )
    found = measure_prosody(Transcript(words), track=made(line))
    names = [NAMES.index(name) for name in FAMILIES["f0"] if "word_before" in name]
    assert np.allclose(found.values[:10, names], found.values[10:, names], atol=1e-3)
    # Where the speaker changes, the ratio is that of the voices; deviations are each speaker's own.
    ratio, deviations = value(found, "f0_words_mean_ratio", 9), value(found, "f0_words_mean_z", 9)
    tune_change = found.values[10, names[0]] - found.values[9, names[0]]
    assert ratio == pytest.approx(12 + tune_change, abs=1e-3)
    assert abs(deviations) < 3


def test_prosody_of_halved_frames_is_that_of_the_voice() -> None:
    truth = 85 + 3 * np.sin(np.arange(frames(4.0)) / 15)
    heard = truth.copy()
    for first in range(20, len(heard), 40):
        heard[first : first + 4] -= 12
    words = tuple(Word("so", n * 0.4, n * 0.4 + 0.35) for n in range(10))
    assert np.array_equal(
        measure_prosody(Transcript(words), track=made(heard)).values,
        measure_prosody(Transcript(words), track=made(truth)).values,
    )


def test_prosody_beyond_the_end_of_the_recording_is_missing() -> None:
    words = Word("in", 0.0, 0.5), Word("out", 5.0, 6.0)
    found = measure_prosody(Transcript(words), track=made(np.full(frames(1.0), 80.0)))
    assert found.column("energy_word_before_mean")[1] is None
    assert found.column("pause_after_s")[0] == 4.5


# Nothing that is not a number ever leaves.

TIMES = st.floats(0, 8, allow_subnormal=False) | st.sampled_from([0.0, 1.0, 1.008, 4.0]) | st.just(1e300)


@st.composite
def words_of_any_kind(draw: st.DrawFn) -> Word:
    times = sorted(draw(st.tuples(TIMES, TIMES)))
    kind = draw(st.sampled_from(["both", "none", "start", "end", "instant"]))
    start = None if kind in ("none", "end") else times[0]
    end = None if kind in ("none", "start") else times[0] if kind == "instant" else times[1]
    return Word(
        draw(st.sampled_from(["so", "", "—", "naïve"])), start, end, speaker=draw(st.sampled_from(["A", "B", None]))
    )


def phone(name: str, start: float, size: float) -> Phone:
    return Phone(name, start, start + size)


PHONES = st.lists(
    st.builds(phone, st.sampled_from(["AH", "T", "IY1", "SPN"]), st.floats(0, 8), st.floats(0, 1)), max_size=4
)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), words=st.lists(words_of_any_kind(), max_size=14), seed=st.integers(0, 99))
def test_prosody_is_always_finite_and_says_what_is_missing(data: st.DataObject, words: list[Word], seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = data.draw(st.sampled_from([0, 1, 3, 400]))
    semitones = np.where(
        rng.random(count) < data.draw(st.sampled_from([0.0, 0.7, 1.0])), rng.uniform(70, 105, count), 0
    )
    track = data.draw(st.sampled_from([None, made(semitones, rng.uniform(-90, 0, count))]))
    phones = data.draw(st.none() | st.lists(PHONES, min_size=len(words), max_size=len(words)))
    found = measure_prosody(Transcript(tuple(words)), track=track, phones=phones)
    assert found.values.shape == found.known.shape == (len(words), 162)
    assert found.values.dtype == np.float32
    assert np.isfinite(found.values).all()
    assert (found.values[~found.known] == 0).all()
    if track is None and phones is None:
        assert {NAMES[place] for place in np.flatnonzero(found.known.any(axis=0))} <= set(FROM_TIMES)


@pytest.mark.parametrize("level", [0.0, 1e-6, 1.0])
def test_prosody_of_steady_sound_is_finite(level: float) -> None:
    pytest.importorskip("swift_f0")
    track = track_blocks([np.full(2 * RATE, level, dtype=np.float32)])
    found = measure_prosody(Transcript((Word("so", 0.0, 1.0), Word("on", 1.0, 2.0))), track=track)
    assert np.isfinite(found.values).all()
    assert found.column("f0_word_before_mean") == [None, None]
    assert found.column("f0_word_before_voiced") == [0.0, 0.0]


def test_prosody_of_the_same_words_later_is_the_same() -> None:
    """Frames are found by time: the same words later in a recording have the same features."""
    line = 85 + 3 * np.sin(np.arange(frames(4.0)) / 11)
    words = [Word("so", round(n * 0.32, 3), round(n * 0.32 + 0.256, 3)) for n in range(10)]
    shift = 125 * HOP_S
    later = [Word("so", (word.start or 0.0) + shift, (word.end or 0.0) + shift) for word in words]
    once = measure_prosody(Transcript(tuple(words)), track=made(line))
    moved = measure_prosody(Transcript(tuple(later)), track=made(np.concatenate([np.zeros(125), line])))
    assert (once.known[:-1] == moved.known[:-1]).mean() > 0.999
    both = once.known & moved.known
    assert np.allclose(once.values[both], moved.values[both], atol=1e-3)


# What surrounds the measuring.


def test_prosody_refuses_phones_of_another_transcript() -> None:
    with pytest.raises(InputError, match="phones of 2 words for a transcript of 1"):
        measure_prosody(Transcript((Word("so", 0.0, 1.0),)), phones=[(), ()])


def test_prosody_refuses_a_mask_of_another_shape() -> None:
    with pytest.raises(InputError, match="162 features"):
        Prosody(np.zeros((2, 162), dtype=np.float32), np.zeros((3, 162), dtype=np.bool_))


def test_prosody_names_the_nearest_feature() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'pause_after_s'"):
        measure_prosody(Transcript(())).column("pause_after_sec")


def test_prosody_slices_by_words() -> None:
    words, _ = speech(["A"] * 12)
    found = measure_prosody(Transcript(words))
    assert len(found[2:5]) == 3
    assert found[2:5].column("pause_after_s") == found.column("pause_after_s")[2:5]


def test_register_falls_back_to_everybody_and_then_to_nobody() -> None:
    values, owners = np.array([1.0, 2.0, 3.0, 10.0, np.nan]), np.array([0, 0, 0, 1, 1])
    register = learn_register(values, owners, 3, least=3, smallest=0.1)
    assert register.mean.tolist() == [2.0, 4.0, 4.0]
    none = learn_register(values, owners, 3, least=9, smallest=0.1)
    assert np.isnan(none.mean).all()
    assert np.isnan(register.of(np.array([-1])).mean).all()
    assert register.of(np.array([0])).z(np.array([99.0])).tolist() == [10.0]


def test_spans_frames_are_those_whose_centres_lie_within() -> None:
    spans = Spans.of(
        [Word("a", 0.0, 0.032), Word("b", 0.01, 0.02), Word("c", 0.001, 0.015), Word("d"), Word("e", 0.0, 1e300)]
    )
    for (first, last), start, end in zip(spans.frames(10), spans.starts, spans.ends, strict=True):
        centres = np.arange(10) * HOP_S
        assert list(range(first, last)) == np.flatnonzero((centres >= start) & (centres < end)).tolist()


def test_prosody_of_a_clip_shows_its_end(data: Path) -> None:
    """A real clip: times and phones are found, and the sentence's end is long and low."""
    for needed in ("soundfile", "soxr", "pocketsphinx", "swift_f0"):
        pytest.importorskip(needed)
    transcript = next(corpora.read("ljspeech", "dev", root=data))
    audio = audio_path("ljspeech", data, transcript.source)
    timed, found = prosody_of(transcript, audio)
    assert [word.text for word in timed.words] == [word.text for word in transcript.words]
    last = len(timed) - 1
    assert value(found, "duration_before_rhyme_phone", last) > 0.2
    assert value(found, "f0_word_before_mean", last) < -2 < value(found, "f0_word_before_mean", 0)
    assert value(found, "f0_word_before_lowest_floor", last) < 1
    kept, without = prosody_of(timed, audio, with_phones=False)
    assert kept == timed
    assert without.column("duration_before_vowel_s") == [None] * len(timed)
    assert without.column("f0_word_before_mean") == found.column("f0_word_before_mean")


def test_prosody_without_audio_keeps_the_transcript() -> None:
    words, _ = speech(["A"] * 3)
    transcript = Transcript(words)
    kept, found = prosody_of(transcript)
    assert kept is transcript
    assert len(found) == 3


def test_prosody_knows_no_pauses_where_every_word_lasts_until_the_next() -> None:
    def said(gap_s: float, *, every: int) -> Transcript:
        starts = np.cumsum([0.0] + [0.3 + gap_s * (place % every == 0) for place in range(79)])
        return Transcript(tuple(Word("so", float(start), float(start) + 0.3) for start in starts))

    for timed, known in ((said(0.0, every=1), False), (said(0.4, every=20), True), (said(0.01, every=1), False)):
        prosody = measure_prosody(timed)
        assert [value is not None for value in prosody.column("pause_after_s")[:-1]] == [known] * 79
        assert prosody.column("duration_before_word_s")[5] == pytest.approx(0.3)
    few = measure_prosody(Transcript(said(0.0, every=1).words[:20]))  # twenty words may well come in one breath
    assert few.column("pause_after_s")[:-1] == pytest.approx([0.0] * 19)
