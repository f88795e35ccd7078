"""Paper 004's data: spoken documents whose words say only where sentences end, with their prosody.

    python recipes/boundaries.py [--runs DIR] [CORPUS ...]

In: a corpus with times (icsi, earnings22 where at least 80 % of a call's words are timed, debater) or with sound (esic,
ljspeech), or the words that a recogniser heard (debater-asr, esic-asr; see `recognised.py`). Out: documents whose marks
are "." where a sentence ends, "" where none does, and None behind the last word, which no other follows. Prosody is
measured once and kept in `runs/prosody/`, one Parquet file a corpus and split; a second call reads it.

ICSI knows only the closing mark of half of its segments. A segment is one dialogue act: where all marks are known, one
place in 150 inside a segment ends a sentence, so the unknown ones count as none.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from interpunct import corpora
from interpunct.corpora.recordings import AUDIO, with_times
from interpunct.errors import InputError, MissingExtraError, UnknownNameError, told_in_a_line
from interpunct.features.prosody import Prosody, measure_prosody, prosody_of
from interpunct.features.prosody_parquet import write_prosody
from interpunct.features.prosody_table import NAMES
from interpunct.metrics.boundaries import Mask, boundaries
from interpunct.transcript import Transcript, Word
from recognised import RECOGNISED, heard

TRACKS = {"icsi": "ref", "earnings22": "timed", "debater": "ref", "esic": "ref", "ljspeech": "ref"}
"""The corpora, and the track of each that is read."""
SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class Spoken:
    """A document: its words and sentence ends, and how it was said."""

    transcript: Transcript
    prosody: Prosody

    def __len__(self) -> int:
        return len(self.transcript)

    def __getitem__(self, rows: slice) -> Spoken:
        return Spoken(replace(self.transcript, words=self.transcript.words[rows]), self.prosody[rows])


@told_in_a_line
def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = [*TRACKS, *RECOGNISED]
    parser.add_argument("corpora", nargs="*", metavar="CORPUS", help=f"of {', '.join(known)} (all)")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where the features go (runs)")
    given = parser.parse_args(arguments)
    for name in given.corpora:
        if name not in known:
            raise UnknownNameError("corpus", name, known)
    for name in given.corpora or known:
        for split in SPLITS if name in TRACKS else SPLITS[1:]:
            _show(name, split, given.runs)
    return 0


def _show(corpus: str, split: str, runs: Path) -> None:
    started = time.monotonic()
    found = spoken(corpus, split, runs=runs)
    ends = sum(mark == "." for each in found for mark in each.transcript.marks)
    there = np.concatenate([each.prosody.known for each in found]).mean()
    print(
        f"{corpus} {split}: {len(found)} documents, {sum(map(len, found))} words, {ends} ends, "
        f"{100 * there:.0f} % known, {time.monotonic() - started:.0f} s",
        flush=True,
    )


def spoken(
    corpus: str, split: str, *, runs: Path, names: Sequence[str] = NAMES, words: int | None = None
) -> list[Spoken]:
    """Return documents of a split; prosodic features but those of these names are missing.

    Of a split of more than `words` words only so many are returned.
    """
    path = kept(corpus, split, runs)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_prosody(path, _measured(corpus, split, runs))
    timed = {transcript.source: (transcript, prosody) for transcript, prosody in read_prosody(path, names, words=words)}
    sizes = {source: len(transcript) for source, (transcript, _) in timed.items()}
    ended = {each.source: each for each in _documents(corpus, split, runs, sizes)}
    found = []
    for source, (transcript, prosody) in timed.items():
        texts = [word.text for word in transcript.words]
        if source not in ended or texts != [word.text for word in ended[source].words]:
            raise InputError(f"{source} has other words now; remove the file, to measure again", path=str(path))
        pairs = zip(ended[source].words, transcript.words, strict=True)
        placed = tuple(replace(word, start=its.start, end=its.end) for word, its in pairs)
        found.append(Spoken(replace(ended[source], words=placed), prosody))
    return found


def kept(corpus: str, split: str, runs: Path) -> Path:
    """Return where the prosody of a split is kept."""
    return runs / "prosody" / f"{corpus}-{split}.parquet"


def capped(documents: Sequence[Spoken], words: int) -> list[Spoken]:
    """Return the beginning of each document, the same share of all: so many words, and all speakers."""
    sizes = shares([len(document) for document in documents], words)
    return [document[:size] for document, size in zip(documents, sizes, strict=True) if size]


def shares(lengths: Sequence[int], words: int) -> list[int]:
    """Return how much of each document there is where there are so many words at most.

    >>> shares([10, 30, 20], 12), shares([10, 30, 20], 100)
    ([2, 6, 4], [10, 30, 20])
    """
    edges = np.cumsum([0, *lengths])
    found: list[int] = np.diff(edges * min(words, int(edges[-1])) // max(1, int(edges[-1]))).tolist()
    return found


def sentence_ends(transcript: Transcript, ends: Mask | None = None) -> Transcript:
    """Return a transcript that says only where sentences end; nobody asks that of the last word.

    >>> from interpunct.labels import parse_text
    >>> sentence_ends(Transcript(parse_text("So, is it far? No. Not very."))).marks
    ('', '', '', '.', '.', '', None)
    """
    found = boundaries(transcript.marks) if ends is None else ends
    words = [
        replace(word, raw=None, mark="." if end else "", case=None)
        for word, end in zip(transcript.words, found.tolist(), strict=True)
    ]
    words[-1:] = [replace(word, mark=None) for word in words[-1:]]
    return replace(transcript, words=tuple(words))


def read_prosody(
    path: Path, names: Sequence[str] = NAMES, *, words: int | None = None
) -> Iterator[tuple[Transcript, Prosody]]:
    """Read what `write_prosody` wrote, document by document, or as much of each as `shares` says.

    Features that are not among these names are missing.
    """
    try:
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("reading Parquet", "tables") from None
    file = parquet.ParquetFile(path)
    sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
    for group, size in enumerate(sizes if words is None else shares(sizes, words)):
        if not size:
            continue
        table = file.read_row_group(group, columns=["document", "word", "start", "end", *names]).slice(0, size)
        matrix = np.full((table.num_rows, len(NAMES)), np.nan, dtype=np.float32)
        for name in names:
            matrix[:, NAMES.index(name)] = table.column(name).to_numpy()  # a null is NaN, and no NaN is ever written
        known = np.isfinite(matrix)
        rows = zip(*(table.column(name).to_pylist() for name in ("word", "start", "end")), strict=True)
        timed = tuple(Word(text, start, end) for text, start, end in rows)
        prosody = Prosody(np.where(known, matrix, np.float32(0.0)), known)
        yield Transcript(timed, table.column("document")[0].as_py()), prosody


def _documents(corpus: str, split: str, runs: Path, sizes: Mapping[str, int] | None = None) -> Iterator[Transcript]:
    """Yield a split's documents with their sentence ends, without times where the corpus has none.

    With `sizes` those that it names, and of each so many words.
    """
    pairs: Iterable[tuple[Transcript, Mask | None]]
    if corpus in RECOGNISED:
        pairs = ((each.transcript, each.ends) for each in heard(corpus, split, runs))
    else:
        pairs = ((each, None) for each in corpora.read(corpus, split, track=TRACKS[corpus]))
    for transcript, ends in pairs:
        size = len(transcript) if sizes is None else sizes.get(transcript.source, 0)
        if size:
            # One word more than is kept: behind the last word nobody asks, behind the last one kept somebody may.
            first = replace(transcript, words=transcript.words[: size + 1])
            ended = sentence_ends(first, None if ends is None else ends[: size + 1])
            yield replace(ended, words=ended.words[:size])


def _measured(corpus: str, split: str, runs: Path) -> Iterator[tuple[Transcript, Prosody]]:
    """Measure each document; one whose words are not heard in its recording is left out."""
    root = corpora.data_root()
    reference = RECOGNISED.get(corpus, corpus)
    # The times that `speech2vec.py` kept are taken, where it did, rather than found again.
    aligned = runs / "speech2vec" / "aligned" / corpus
    for transcript in _documents(corpus, split, runs):
        if reference not in AUDIO:
            yield transcript, measure_prosody(transcript)
            continue
        try:
            timed = with_times(transcript, aligned / f"{transcript.source}.json")
            yield prosody_of(timed, AUDIO[reference](root, transcript.source))
        except InputError as error:
            print(f"{corpus}: left out: {error}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
