"""What recognisers heard, and where the reference's sentences end among their words.

    python recipes/recognised.py --vosk FOLDER [--runs DIR] [--splits dev test]

In: the recordings of esic, and FOLDER, an English model of vosk (`pip install vosk`; the figures here are of
vosk-model-small-en-us-0.15). Out: `runs/recognised/esic/NAME.json`, our JSON, one file a recording, written once;
words, times and confidences as they were heard. Debater comes with a recogniser's track of its own, which is only read.
Sentence ends are carried from the reference's words to the recognised ones by `interpunct.align`: that of a word nobody
heard goes to the word before it, so two ends may become one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from interpunct import corpora, formats
from interpunct.align import align
from interpunct.audio.sound import RATE, Samples, read_sound
from interpunct.corpora.recordings import audio_path
from interpunct.errors import InputError, told_in_a_line
from interpunct.metrics.boundaries import Mask, boundaries
from interpunct.metrics.pair import WordErrors, carry_ends
from interpunct.transcript import Transcript, Word

RECOGNISED = {"debater-asr": "debater", "esic-asr": "esic"}
"""What was recognised, and the corpus whose reference it has."""
Recognise = Callable[[Samples], Sequence[Word]]


@dataclass(frozen=True)
class Heard:
    """A document as it was recognised, where the reference's sentences end in it, and how well it was heard."""

    transcript: Transcript
    ends: Mask
    errors: WordErrors
    lost: int
    """Ends that fell together with others, or had no word to go to."""


@told_in_a_line
def main(arguments: Sequence[str] | None = None) -> int:
    """Recognise what is missing, and say how well."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vosk", type=Path, required=True, help="the folder of an English vosk model")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where the words go (runs)")
    parser.add_argument("--splits", nargs="+", choices=("train", "dev", "test"), default=["dev", "test"])
    given = parser.parse_args(arguments)
    recognise = vosk_words(given.vosk)
    for split in given.splits:
        write_heard(split, given.runs, recognise)
    for name in RECOGNISED:
        for split in given.splits:
            _show(name, split, given.runs)
    return 0


def _show(name: str, split: str, runs: Path) -> None:
    found = list(heard(name, split, runs))
    errors = sum((each.errors for each in found), WordErrors())
    ends, lost = sum(int(each.ends.sum()) for each in found), sum(each.lost for each in found)
    words = sum(len(each.transcript) for each in found)
    print(f"{name} {split}: {words} words, WER {100 * errors.wer:.1f} %, {ends} ends, {lost} lost")


def heard(name: str, split: str, runs: Path) -> Iterator[Heard]:
    """Yield the recognised documents of a split, in the reference's order."""
    corpus = RECOGNISED[name]
    if corpus == "debater":
        recognised = {each.source: each for each in corpora.read(corpus, split, track="asr")}
    else:
        recognised = {}
        for each in corpora.read(corpus, split):
            path = kept(each.source, runs)
            if not path.exists():
                raise InputError("not recognised yet; run recipes/recognised.py with a vosk model", path=str(path))
            recognised[each.source] = replace(formats.read(path), source=each.source)
    for reference in corpora.read(corpus, split):
        yield mapped(reference, recognised[reference.source])


def mapped(reference: Transcript, recognised: Transcript) -> Heard:
    """Carry a reference's sentence ends over to recognised words.

    >>> from interpunct.labels import parse_text
    >>> said = Transcript(parse_text("We left early. Nobody came. So what?"))
    >>> found = mapped(said, Transcript(tuple(map(Word, "we left nobody game so what".split()))))
    >>> found.ends.tolist(), found.lost, found.errors.wer
    ([False, True, False, True, False, True], 0, 0.2857142857142857)
    """
    ends = boundaries(reference.marks)
    found = align([word.text for word in reference.words], [word.text for word in recognised.words])
    carried = carry_ends(ends, found)
    errors = WordErrors(found.correct, found.substituted, found.deleted, found.inserted)
    return Heard(recognised, carried, errors, int(ends.sum() - carried.sum()))


def kept(source: str, runs: Path) -> Path:
    """Return where the recognised words of a recording of esic are kept."""
    return runs / "recognised" / "esic" / f"{source}.json"


def write_heard(split: str, runs: Path, recognise: Recognise) -> None:
    """Recognise the recordings of a split that were not recognised yet."""
    root = corpora.data_root()
    for reference in corpora.read("esic", split, root=root):
        path = kept(reference.source, runs)
        if path.exists():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        words = tuple(recognise(read_sound(audio_path("esic", root, reference.source))))
        formats.write(Transcript(words, reference.source), path)
        print(f"{reference.source}: {len(words)} words", file=sys.stderr, flush=True)


def vosk_words(model: Path) -> Recognise:
    """Return what recognises words with their times."""
    if not model.is_dir():
        raise InputError("no such folder; unpack a model of vosk and name its folder", path=str(model))
    try:
        import vosk
    except ImportError:
        raise InputError("vosk is not installed; pip install vosk") from None
    vosk.SetLogLevel(-1)
    loaded = vosk.Model(str(model))

    def recognise(samples: Samples) -> list[Word]:
        recogniser = vosk.KaldiRecognizer(loaded, RATE)
        recogniser.SetWords(True)
        found: list[dict[str, Any]] = []
        whole = np.rint(np.clip(samples, -1, 1) * 32767).astype(np.int16)
        for block in np.array_split(whole, len(whole) // 4000 + 1):
            if recogniser.AcceptWaveform(block.tobytes()):
                found += json.loads(recogniser.Result()).get("result", [])
        found += json.loads(recogniser.FinalResult()).get("result", [])
        return [Word(each["word"], each["start"], each["end"], each.get("conf")) for each in found]

    return recognise


if __name__ == "__main__":
    sys.exit(main())
