"""How fast the prosodic features are, how the pitch compares with that of others, and what the phones last.

    python benchmarks/prosody.py [--corpora esic ljspeech] [--split dev] [--recordings N] [--minutes M] [--plot FILE]
    python benchmarks/prosody.py --compare | --ends | --phones

- Without a choice, speed: seconds of sound per second of one core, for reading the sound, for the pitch alone, for all
  162 features of words and phones that are already timed, for these where words have times and phones are found at
  them, and for these and the aligner that times words. With --minutes also of a recording of M minutes (the others,
  repeated), in a process of its own whose peak of memory is shown. With --plot some seconds of the first recording:
  wave, pitch as heard and as stylised, level, words.
- --compare: the pitch beside pyworld's (dio and stonemask), librosa's pyin and Praat's (praat-parselmouth, which is GPL
  and no dependency: install it by hand), where these are installed: how many frames both call voiced or both not, and,
  of those that both call voiced, how many differ by more than 20 % (gross) and how many of these by an octave; the
  median difference of the others in cents.
- --ends: the one feature of each family that tells sentence ends best: the chance that an end has more of it than
  another place, where both have it. 0.5 is guessing; below 0.5 ends have less of it.
- --phones: the table of `features/phone_durations.py`, from the train splits.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from interpunct import corpora
from interpunct.audio import AudioAlignment, align_phones
from interpunct.audio.sound import RATE, Samples, read_sound, sound_blocks
from interpunct.corpora.recordings import AUDIO
from interpunct.features.octaves import mended
from interpunct.features.pitch import HIGHEST_HZ, HOP, HOP_S, LOWEST_HZ, Pitch, Values, track_pitch
from interpunct.features.prosody import measure_prosody, prosody_of
from interpunct.features.prosody_table import FAMILIES, NAMES
from interpunct.features.register import Owners
from interpunct.features.track import Track, read_track, track_blocks
from interpunct.features.voice import speaker_contour
from interpunct.labels import SENTENCE_MARKS
from interpunct.metrics import plot
from interpunct.transcript import Transcript, Word
from report import report

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN_S = 6.0
GROSS = 0.2  # of the frequency: the usual limit of a gross error
PHONE_RECORDINGS = {"esic": 14, "ljspeech": 96}

Tracker = Callable[[Samples], Values]
"""Samples to F0 in Hz, every 16 ms, 0 where there is no voice."""


@dataclass(frozen=True)
class Heard:
    """A recording, its words with their times and phones, and the seconds of CPU that took."""

    path: Path
    duration_s: float
    found: AudioAlignment
    cpu_s: float


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", nargs="+", choices=sorted(AUDIO), default=sorted(AUDIO))
    parser.add_argument("--split", default="dev", help="of each corpus (%(default)s)")
    parser.add_argument("--recordings", type=int, default=4, help="of each corpus (%(default)s)")
    parser.add_argument("--minutes", type=float, help="measure a recording of so many minutes, too")
    parser.add_argument("--plot", type=Path, help="draw some seconds of the first recording")
    parser.add_argument("--json", type=Path, help="where to write the figures (benchmarks/results/prosody*.json)")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--compare", action="store_true", help="compare the pitch with pyworld and librosa")
    choice.add_argument("--ends", action="store_true", help="say what tells sentence ends")
    choice.add_argument("--phones", action="store_true", help="print how long phones last")
    given = parser.parse_args()
    if given.plot and given.plot.suffix.lower() not in plot.EXTENSIONS:
        parser.error(f"--plot {given.plot}: use {', '.join(plot.EXTENSIONS)}")
    if given.phones:
        report("prosody-phones", phone_rows(), given.json)
        return
    chosen = {corpus: recordings(corpus, given.split, given.recordings) for corpus in given.corpora}
    if given.compare:
        rows = [
            row for corpus, each in chosen.items() for row in compared(corpus, [read_sound(path) for path, _ in each])
        ]
        report("prosody-pitch", rows, given.json)
        return
    heard = {corpus: [listened(*each) for each in of_corpus] for corpus, of_corpus in chosen.items()}
    if given.ends:
        report("prosody-ends", [row for corpus, each in heard.items() for row in telling(corpus, each)], given.json)
        return
    rows = [speed(corpus, each) for corpus, each in heard.items()]
    first = given.corpora[0]
    if given.minutes:
        rows.append(long_recording(first, heard[first], given.minutes))
    if given.plot:
        draw(heard[first][0], given.plot)
    report("prosody", rows, given.json)


def recordings(corpus: str, split: str, count: int) -> list[tuple[Path, Transcript]]:
    """Return audio files of a split with their transcripts, spread over it."""
    root = corpora.data_root()
    every = list(corpora.read(corpus, split, root=root))
    chosen = every[:: max(1, len(every) // count)][:count]
    return [(AUDIO[corpus](root, each.source), each) for each in chosen]


def listened(path: Path, transcript: Transcript) -> Heard:
    """Read and align a recording."""
    started = time.process_time()
    found = align_phones(path, transcript)
    cpu_s = time.process_time() - started
    return Heard(path, len(read_sound(path)) / RATE, found, cpu_s)


def speed(corpus: str, heard: Sequence[Heard]) -> dict[str, Any]:
    """Return times real time of each step; each step once before it is measured, so that nothing is loaded in it."""
    samples = [read_sound(each.path) for each in heard]
    track_pitch([samples[0][: 2 * RATE]])
    seconds = sum(each.duration_s for each in heard)
    known = [features(each).known for each in heard]
    return {
        "corpus": corpus,
        "recordings": len(heard),
        "minutes": round(seconds / 60, 2),
        "words": sum(map(len, known)),
        "read": seconds / _timed(read_sound, [each.path for each in heard]),
        "pitch": seconds / _timed(lambda each: track_pitch([each]), samples),
        "all features": seconds / _timed(features, heard),
        "with phones": seconds / _timed(lambda each: prosody_of(each.found.transcript, each.path), heard),
        "with aligner": seconds / (_timed(features, heard) + sum(each.cpu_s for each in heard)),
        "known %": 100 * float(np.concatenate(known).mean()),
    }


def features(heard: Heard) -> Any:
    """Measure all features of a recording, its sound read anew."""
    track = read_track(heard.path)
    return measure_prosody(heard.found.transcript, track=track, phones=heard.found.phones)


def long_recording(corpus: str, heard: Sequence[Heard], minutes: float) -> dict[str, Any]:
    """Return speed and memory over a long recording, made of others that are repeated."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        cpu_s, words, peak_mb = pool.submit(_long, list(heard), 60 * minutes).result()
    return {
        "corpus": f"{corpus}, repeated",
        "recordings": 1,
        "minutes": minutes,
        "words": words,
        "all features": 60 * minutes / cpu_s,
        "peak MB": peak_mb,
    }


def compared(corpus: str, clips: Sequence[Samples]) -> list[dict[str, Any]]:
    """Return how each other tracker agrees with swift-f0, octaves as they were heard and mended."""
    ours = [track_pitch([clip]) for clip in clips]
    rows = []
    for name, tracker in trackers().items():
        tracker(clips[0][:RATE])  # what is compiled is compiled now
        started = time.process_time()
        theirs = [tracker(clip) for clip in clips]
        real_time = sum(map(len, clips)) / RATE / (time.process_time() - started)
        for state, mend in (("as heard", _plain), ("mended", _mended)):
            figures = agreement([mend(pitch).f0_hz for pitch in ours], theirs)
            rows.append(
                {"corpus": corpus, "against": name, "octaves": state, **figures, "its times real time": real_time}
            )
    return rows


def trackers() -> dict[str, Tracker]:
    """Return the others that are installed."""
    found: dict[str, Tracker] = {}
    try:
        import pyworld

        def world(samples: Samples) -> Values:
            wide = samples.astype(np.float64)
            rough, times = pyworld.dio(wide, RATE, f0_floor=LOWEST_HZ, f0_ceil=HIGHEST_HZ, frame_period=1000 * HOP_S)
            return np.asarray(pyworld.stonemask(wide, rough, times, RATE))

        found["pyworld"] = world
    except ImportError:
        pass
    try:
        import librosa

        def pyin(samples: Samples) -> Values:
            f0_hz, _, _ = librosa.pyin(
                samples, fmin=LOWEST_HZ, fmax=HIGHEST_HZ, sr=RATE, frame_length=1024, hop_length=HOP
            )
            return np.asarray(np.nan_to_num(f0_hz))

        found["pyin"] = pyin
    except ImportError:
        pass
    try:
        import parselmouth

        def praat(samples: Samples) -> Values:
            pitch = parselmouth.Sound(samples.astype(np.float64), RATE).to_pitch(HOP_S, LOWEST_HZ, HIGHEST_HZ)
            # Its first frame stands where its window fits in; ours begin at 0.
            frames = np.rint((np.arange(len(samples) // HOP + 1) * HOP_S - pitch.x1) / pitch.dx).astype(np.int64)
            inside = (frames >= 0) & (frames < pitch.nx)
            found_hz = np.asarray(pitch.selected_array["frequency"])[np.clip(frames, 0, pitch.nx - 1)]
            return np.where(inside, found_hz, 0.0)

        found["Praat"] = praat
    except ImportError:
        pass
    return found


def agreement(ours: Iterable[Values], theirs: Iterable[Values]) -> dict[str, float | None]:
    """Return how two trackers agree, over all frames that both have."""
    pairs = [(one[: len(two)], two[: len(one)]) for one, two in zip(ours, theirs, strict=True)]
    first, second = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    both = (first > 0) & (second > 0)
    octaves = np.log2(first[both] / second[both])
    gross = np.abs(first[both] / second[both] - 1) > GROSS
    whole = gross & (np.abs(np.abs(octaves) - 1) < 0.1)
    return {
        "frames": len(first),
        "voiced %": 100 * float((first > 0).mean()),
        "its voiced %": 100 * float((second > 0).mean()),
        "voicing agrees %": 100 * float(((first > 0) == (second > 0)).mean()),
        "gross %": 100 * float(gross.mean()) if both.any() else None,
        "octave %": 100 * float(whole.mean()) if both.any() else None,
        "median cents": 1200 * float(np.median(np.abs(octaves[~gross]))) if (~gross).any() else None,
    }


def telling(corpus: str, heard: Sequence[Heard]) -> list[dict[str, Any]]:
    """Return the most telling feature of each family; a recording's last word is no place between two words."""
    measured = [(each.found.transcript, features(each)) for each in heard]
    values = np.concatenate([found.values[:-1] for _, found in measured])
    known = np.concatenate([found.known[:-1] for _, found in measured])
    ends = np.concatenate([[word.mark in SENTENCE_MARKS for word in of.words[:-1]] for of, _ in measured]).astype(
        np.bool_
    )
    rows = []
    for family, names in FAMILIES.items():
        chances: dict[str, float | None] = {}
        for name in names:
            column, there = values[:, NAMES.index(name)], known[:, NAMES.index(name)]
            chances[name] = chance(column[there & ends], column[there & ~ends])
        if not any(chances.values()):
            continue
        best = max(chances, key=lambda name: abs((chances[name] or 0.5) - 0.5))
        rows.append(
            {
                "corpus": corpus,
                "places": len(ends),
                "ends": int(ends.sum()),
                "family": family,
                "feature": best,
                "known %": 100 * float(known[:, NAMES.index(best)].mean()),
                "chance": chances[best],
            }
        )
    return rows


def chance(ends: Values, others: Values) -> float | None:
    """Return the chance that an end has more than another place; half where both have the same."""
    if not len(ends) or not len(others):
        return None
    ranked = np.sort(others)
    below, upto = (np.searchsorted(ranked, ends, side=side) for side in ("left", "right"))
    return float((below + upto).mean() / (2 * len(ranked)))


def phone_rows() -> list[dict[str, Any]]:
    """Return mean and deviation of each phone in the train splits."""
    found: dict[str, list[float]] = defaultdict(list)
    for corpus, count in PHONE_RECORDINGS.items():
        for path, transcript in recordings(corpus, "train", count):
            for phone in (phone for of_word in align_phones(path, transcript).phones for phone in of_word):
                found[phone.name].append(1000 * (phone.end - phone.start))
    return [
        {"phone": name, "count": len(lasts), "mean ms": float(np.mean(lasts)), "deviation ms": float(np.std(lasts))}
        for name, lasts in sorted(found.items())
    ]


def draw(heard: Heard, path: Path) -> None:
    """Draw two stretches of a recording."""
    import matplotlib
    from matplotlib.figure import Figure

    track, samples = read_track(heard.path), read_sound(heard.path)
    rows = max(1, min(2, int(heard.duration_s / SHOWN_S)))
    with matplotlib.rc_context(plot.STYLE):
        drawn = Figure(figsize=(13, 3.6 * rows), layout="constrained")
        for number, axes in enumerate(np.ravel(drawn.subplots(rows, 1))):
            _draw_stretch(axes, heard.found.transcript.words, samples, track, number * SHOWN_S)
        drawn.suptitle(f"{heard.found.transcript.source}: wave and level (grey), pitch (dots) and its contour (line)")
    plot.save_picture(drawn, path)


def _draw_stretch(axes: Axes, words: Sequence[Word], samples: Samples, track: Track, first_s: float) -> None:
    last_s = first_s + SHOWN_S
    lowest, highest = 60.0, 400.0
    shown = samples[round(first_s * RATE) : round(last_s * RATE)]
    middle = (lowest + highest) / 2
    wave = middle + shown / np.abs(samples).max() * (highest - lowest) / 2
    axes.plot(first_s + np.arange(len(shown)) / RATE, wave, color=plot.FAINT, linewidth=0.3)
    time_s = np.arange(len(track)) * HOP_S
    axes.plot(time_s, lowest + (track.level_db + 90) * (highest - lowest) / 180, color=plot.FAINT, linewidth=0.8)
    contour = speaker_contour(track.pitch, _one_speaker(len(track)), 1)
    voiced = track.pitch.voiced
    axes.plot(time_s[voiced], track.pitch.f0_hz[voiced], ".", markersize=3, color=plot.COLOURS[1])
    line = np.where(contour.voiced, 2.0 ** (contour.semitones / 12), np.nan)
    axes.plot(time_s, line, color=plot.COLOURS[0], linewidth=1.4)
    for word in words:
        if word.start is None or word.end is None or word.end < first_s or word.start > last_s:
            continue
        axes.axvspan(word.start, word.end, ymin=0.94, alpha=0.2)
        axes.vlines([word.start, word.end], lowest, highest, linewidth=0.4, color=plot.FAINT)
        if first_s < (word.start + word.end) / 2 < last_s:
            axes.text((word.start + word.end) / 2, highest * 0.975, word.token, ha="center", va="center", fontsize=7)
    axes.set_xlim(first_s, last_s)
    axes.set_ylim(lowest, highest)
    axes.set_xlabel("seconds")
    axes.set_ylabel("Hz")


def _one_speaker(count: int) -> Owners:
    return np.zeros(count, dtype=np.int64)


def _plain(pitch: Pitch) -> Pitch:
    return pitch


def _mended(pitch: Pitch) -> Pitch:
    middle = float(np.median(pitch.semitones[pitch.voiced])) if pitch.voiced.any() else 0.0
    return Pitch(mended(pitch.semitones, pitch.voiced, middle), pitch.voiced)


def _timed(work: Callable[[Any], Any], given: Iterable[Any]) -> float:
    started = time.process_time()
    for each in given:
        work(each)
    return time.process_time() - started


def _long(heard: Sequence[Heard], seconds: float) -> tuple[float, int, int | None]:
    turns = list(islice(cycle(heard), int(seconds / sum(each.duration_s for each in heard) * len(heard)) + 1))
    words, phones, at_s = [], [], 0.0
    for each in turns:
        words += [_later(word, at_s) for word in each.found.transcript.words]
        phones += [tuple(_later(phone, at_s) for phone in of_word) for of_word in each.found.phones]
        at_s += each.duration_s
    started = time.process_time()
    track = track_blocks(_until(seconds, (block for each in turns for block in sound_blocks(each.path))))
    measure_prosody(Transcript(tuple(words)), track=track, phones=phones)
    return time.process_time() - started, len(words), _peak_mb()


def _until(seconds: float, blocks: Iterable[Samples]) -> Iterator[Samples]:
    left = round(seconds * RATE)
    for block in blocks:
        yield block[:left]
        left -= len(block)
        if left <= 0:
            return


def _later(timed: Any, seconds: float) -> Any:
    if timed.start is None or timed.end is None:
        return timed
    return replace(timed, start=timed.start + seconds, end=timed.end + seconds)


def _peak_mb() -> int | None:
    """Return this process's peak of memory, None where there is no /proc."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((round(int(line.split()[1]) / 1024) for line in lines if line.startswith("VmHWM")), None)


if __name__ == "__main__":
    main()
