"""How near the times of `interpunct.audio` are: to another recogniser's, and to themselves where the truth is known.

    python benchmarks/alignment.py --vosk FOLDER [--corpora esic ljspeech] [--recordings N] [--minutes M] [--plot FILE]

Each recording is aligned to its transcript, and then

- *vosk* recognises the same sound, and words that both have are compared. FOLDER is an English model of vosk; it is
  another system, not the truth, and its times are multiples of 30 ms;
- *silence*: two seconds are inserted in the longest gap between two words. The words behind it must move by
  two seconds, the others not at all;
- *joined* (with --minutes): recordings are joined to one of M minutes and aligned in one go, in a process of its own
  whose peak of memory is shown. Each word must come out where it is when its recording is aligned alone.

Differences are in milliseconds. The bias is the median of the differences with their sign: ours are earlier where it
is below zero. The real-time factor is seconds of CPU for a second of sound, phones included.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from interpunct import corpora
from interpunct.align import align
from interpunct.audio import AudioAlignment, align_phones
from interpunct.audio.sound import RATE, Samples, read_sound
from interpunct.corpora.recordings import AUDIO
from interpunct.metrics import plot
from interpunct.transcript import Transcript, Word
from report import report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SILENCE_S = 2.0
SHOWN_S = 6.0


@dataclass(frozen=True)
class Aligned:
    """A recording, what was found in it, and the seconds of CPU that took."""

    path: Path
    duration_s: float
    found: AudioAlignment
    cpu_s: float


Pair = tuple[Word, Word]
Recognise = Callable[[Samples], list[Word]]


def main() -> None:
    """Compare the times of words."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vosk", type=Path, help="the folder of an English vosk model; without it nothing is compared")
    parser.add_argument("--corpora", nargs="+", choices=sorted(AUDIO), default=sorted(AUDIO))
    parser.add_argument("--split", default="test", help="of each corpus (%(default)s)")
    parser.add_argument("--recordings", type=int, default=12, help="of each corpus (%(default)s)")
    parser.add_argument("--minutes", type=float, help="join recordings of the first corpus to so many minutes")
    parser.add_argument("--plot", type=Path, help="draw some seconds of the first recording, with the words of both")
    parser.add_argument("--json", type=Path, help="where to write the figures (benchmarks/results/alignment.json)")
    given = parser.parse_args()
    if given.plot and (given.plot.suffix.lower() not in plot.EXTENSIONS or not given.vosk):
        parser.error(f"--plot {given.plot}: use {', '.join(plot.EXTENSIONS)}, and --vosk")
    recognise = vosk_words(given.vosk) if given.vosk else None
    rows: list[dict[str, Any]] = []
    for corpus in given.corpora:
        done = [aligned(*each) for each in recordings(corpus, given.split)[: given.recordings]]
        if recognise:
            pairs = [pair for each in done for pair in common(each.found.transcript, recognise(read_sound(each.path)))]
            rows.append(row(corpus, "vosk", done, pairs))
        rows.append(row(corpus, "silence", done, [pair for each in done for pair in with_silence(each)]))
        if given.plot and recognise and corpus == given.corpora[0]:
            draw(done[0], recognise(read_sound(done[0].path)), given.plot)
    if given.minutes:
        every = [each for split in ("train", "dev", "test") for each in recordings(given.corpora[0], split)]
        rows.append(joined(given.corpora[0], every, given.minutes))
    report("alignment", rows, given.json)


def recordings(corpus: str, split: str) -> list[tuple[Path, Transcript]]:
    """Return the audio files of a split with their transcripts."""
    root = corpora.data_root()
    return [(AUDIO[corpus](root, each.source), each) for each in corpora.read(corpus, split, root=root)]


def aligned(path: Path, transcript: Transcript) -> Aligned:
    """Align a recording and measure it."""
    started = time.process_time()
    found = align_phones(path, transcript)
    cpu_s = time.process_time() - started
    return Aligned(path, len(read_sound(path)) / RATE, found, cpu_s)


def row(corpus: str, against: str, done: Sequence[Aligned], pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return the figures of recordings whose words stand beside others'."""
    words = [word for each in done for word in each.found.transcript.words]
    phones = [phones for each in done for phones in each.found.phones]
    seconds = sum(each.duration_s for each in done)
    return {
        "corpus": corpus,
        "against": against,
        "recordings": len(done),
        "minutes": seconds / 60,
        "words": len(words),
        "placed %": 100 * sum(word.start is not None for word in words) / len(words),
        "phones %": 100 * sum(map(bool, phones)) / len(words),
        "compared": sum(None not in (ours.start, theirs.start) for ours, theirs in pairs),
        **differences("start", [(ours.start, theirs.start) for ours, theirs in pairs]),
        **differences("end", [(ours.end, theirs.end) for ours, theirs in pairs]),
        "real-time factor": sum(each.cpu_s for each in done) / seconds,
    }


def differences(edge: str, pairs: Iterable[tuple[float | None, float | None]]) -> dict[str, float | None]:
    """Return median and 90th percentile of the distance, and the median of the difference, in milliseconds."""
    apart = [1000 * (ours - theirs) for ours, theirs in pairs if ours is not None and theirs is not None]
    found = [np.median(np.abs(apart)), np.percentile(np.abs(apart), 90), np.median(apart)] if apart else [None] * 3
    names = (f"{edge} median", f"{edge} p90", f"{edge} bias")
    return {name: None if value is None else round(float(value), 1) for name, value in zip(names, found, strict=True)}


def common(transcript: Transcript, recognised: Sequence[Word]) -> list[Pair]:
    """Return the words that were placed and that a recogniser heard, too."""
    found = align([word.text for word in transcript.words], [word.text for word in recognised])
    pairs = [
        (transcript.words[int(place)], word)
        for place, equal, word in zip(found.places, found.equal, recognised, strict=True)
        if equal
    ]
    return [pair for pair in pairs if pair[0].start is not None]


def with_silence(alone: Aligned) -> list[Pair]:
    """Insert silence in the longest gap, align again, and return each word beside where it must be."""
    words = alone.found.transcript.words
    gaps = [(before.end, after.start, place) for place, (before, after) in enumerate(pairwise(words), 1)]
    known = [
        (start - end, (start + end) / 2, place) for end, start, place in gaps if start is not None and end is not None
    ]
    if not known:
        return []
    _, at_s, place = max(known)
    samples, cut = read_sound(alone.path), round(at_s * RATE)
    silence = np.zeros(round(SILENCE_S * RATE), dtype=np.float32)
    moved = _align_samples(np.concatenate([samples[:cut], silence, samples[cut:]]), alone.found.transcript)
    expected = (*words[:place], *(_later(word, SILENCE_S) for word in words[place:]))
    return list(zip(moved.words, expected, strict=True))


def joined(corpus: str, given: Sequence[tuple[Path, Transcript]], minutes: float) -> dict[str, Any]:
    """Join recordings, align them in one go, and compare with each of them alone."""
    alone: list[Aligned] = []
    while sum(each.duration_s for each in alone) < 60 * minutes and len(alone) < len(given):
        alone.append(aligned(*given[len(alone)]))
    expected: list[Word] = []
    with tempfile.TemporaryDirectory() as folder:
        path, at_s = Path(folder) / "joined.flac", 0.0
        with _writer(path) as file:
            for each in alone:
                file.write(read_sound(each.path))
                expected += [_later(word, at_s) for word in each.found.transcript.words]
                at_s += each.duration_s
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            whole, peak_mb = pool.submit(_aligned_apart, path, Transcript(tuple(expected))).result()
    pairs = list(zip(whole.found.transcript.words, expected, strict=True))
    return row(corpus, "joined", [whole], pairs) | {"recordings": len(alone), "peak MB": peak_mb}


def vosk_words(model: Path) -> Recognise:
    """Return what recognises words with their times."""
    import vosk

    vosk.SetLogLevel(-1)
    loaded = vosk.Model(str(model))

    def recognise(samples: Samples) -> list[Word]:
        recogniser = vosk.KaldiRecognizer(loaded, RATE)
        recogniser.SetWords(True)
        heard: list[dict[str, Any]] = []
        for block in np.array_split(
            np.rint(np.clip(samples, -1, 1) * 32767).astype(np.int16), len(samples) // 4000 + 1
        ):
            if recogniser.AcceptWaveform(block.tobytes()):
                heard += json.loads(recogniser.Result()).get("result", [])
        heard += json.loads(recogniser.FinalResult()).get("result", [])
        return [Word(each["word"], each["start"], each["end"]) for each in heard]

    return recognise


def draw(done: Aligned, theirs: Sequence[Word], path: Path) -> None:
    """Draw some seconds of a recording, our words above the wave and those of the recogniser below."""
    plot.save_picture(figure(done, theirs), path)


def figure(done: Aligned, theirs: Sequence[Word]) -> Figure:
    """Return the matplotlib figure: three rows of `SHOWN_S` seconds each."""
    import matplotlib
    from matplotlib.figure import Figure

    samples = read_sound(done.path)
    rows = max(1, min(3, int(done.duration_s / SHOWN_S)))
    with matplotlib.rc_context(plot.STYLE):
        drawn = Figure(figsize=(13, 2.4 * rows), layout="constrained")
        for number, axes in enumerate(np.ravel(drawn.subplots(rows, 1))):
            _draw_stretch(axes, samples, done.found.transcript.words, theirs, number * SHOWN_S)
        drawn.suptitle(f"{done.found.transcript.source}: words as aligned (above) and as vosk heard them (below)")
    return drawn


def _draw_stretch(axes: Axes, samples: Samples, ours: Sequence[Word], theirs: Sequence[Word], first_s: float) -> None:
    last_s = first_s + SHOWN_S
    shown = samples[round(first_s * RATE) : round(last_s * RATE)]
    axes.plot(first_s + np.arange(len(shown)) / RATE, shown / np.abs(samples).max(), color=plot.FAINT, linewidth=0.4)
    for words, sign, colour in ((ours, 1, plot.COLOURS[0]), (theirs, -1, plot.COLOURS[1])):
        for word in words:
            if word.start is None or word.end is None or word.end < first_s or word.start > last_s:
                continue
            axes.vlines([word.start, word.end], 0, sign * 1.1, color=colour, linewidth=0.9)
            axes.hlines(sign * 1.1, word.start, word.end, color=colour, linewidth=2)
            middle = (word.start + word.end) / 2
            if first_s < middle < last_s:
                axes.text(
                    middle, 1.3 * sign, word.text, ha="center", va="center", fontsize=7.5, color=colour, clip_on=True
                )
    axes.set_xlim(first_s, last_s)
    axes.set_ylim(-1.6, 1.6)
    axes.set_yticks([])
    axes.set_xlabel("seconds")


def _aligned_apart(path: Path, transcript: Transcript) -> tuple[Aligned, int | None]:
    bare = Transcript(tuple(Word(word.text, raw=word.raw) for word in transcript.words))
    started = time.process_time()
    found = align_phones(path, bare)
    cpu_s = time.process_time() - started
    peak_mb = _peak_mb()  # before the whole is read below
    return Aligned(path, len(read_sound(path)) / RATE, found, cpu_s), peak_mb


def _peak_mb() -> int | None:
    """Return this process's peak of memory, None where there is no /proc: `ru_maxrss` begins with the parent's."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((round(int(line.split()[1]) / 1024) for line in lines if line.startswith("VmHWM")), None)


def _align_samples(samples: Samples, transcript: Transcript) -> Transcript:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "changed.flac"
        with _writer(path) as file:
            file.write(samples)
        return align_phones(path, transcript).transcript


def _writer(path: Path) -> Any:
    import soundfile

    return soundfile.SoundFile(str(path), "w", samplerate=RATE, channels=1)


def _later(word: Word, seconds: float) -> Word:
    if word.start is None or word.end is None:
        return word
    return Word(word.text, word.start + seconds, word.end + seconds, raw=word.raw)


if __name__ == "__main__":
    main()
