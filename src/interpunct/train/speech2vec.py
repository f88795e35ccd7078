"""Speech2Vec: word vectors learned from sound alone (Chung and Glass 2018; the speech embeddings of paper 002).

In: recordings and their transcripts with times (`interpunct.audio.align_audio`). Out: `Embeddings`, one vector a word.
Each word is cut out of its recording as MFCCs. An LSTM that reads them both ways ends in a vector; from that vector
another LSTM must write the MFCCs of the words around it, and what it gets wrong, squared, is the loss. A word's vector
is the mean over its occurrences. The texts only name the vectors: training never sees them.

One decoder writes all neighbours. It reads the vector at each step and never the neighbour's own sound, so that what it
knows of them it knows from the vector; it then writes the same for every neighbour, and is run once a word. It begins
from the mean neighbour, and learns how those of a word differ. All sounds are in memory (4 kB an occurrence): tens of
hours of speech, not thousands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from interpunct.audio.sound import read_sound
from interpunct.clitics import split_clitics
from interpunct.errors import InputError
from interpunct.features import normalise
from interpunct.features.embeddings import Embeddings
from interpunct.features.mfcc import COEFFICIENTS, Frames, frames_between, mfcc
from interpunct.models.loop_options import LoopOptions
from interpunct.models.torch_loop import choose_device, fit, shuffled
from interpunct.train.vectors import Log
from interpunct.transcript import Transcript

_HELD_OUT = 20  # one recording in so many is not learned from; its loss chooses the epoch
_QUIET = 1e-3  # a coefficient that varies less is constant: dividing by its spread would blow up noise


@dataclass(frozen=True, slots=True)
class SpokenWord:
    """A word as it was said once: its normalised text, and its MFCCs (frames × 13)."""

    text: str
    frames: Frames


Recording = Sequence[SpokenWord]


@dataclass(frozen=True)
class Speech2VecOptions:
    """The network's sizes."""

    dimension: int = 50
    """Numbers of a vector, half of them from either direction."""
    units: int = 50
    """The decoder's."""
    window: int = 3
    """How many words on either side are to be written."""
    longest: int = 80
    """Frames of 10 ms: what a word has more is not looked at."""
    batch: int = 128

    def __post_init__(self) -> None:
        if self.dimension < 2 or self.dimension % 2:
            raise ValueError(f"dimension {self.dimension} must be even: half of it comes from either direction")
        if min(self.units, self.window, self.longest, self.batch) < 1:
            raise ValueError("units, window, longest and batch must be above 0")


def cut_words(audio: str | Path, transcript: Transcript) -> list[SpokenWord]:
    """Cut the words that have times out of their recording; one of less than a frame is left out.

    Each coefficient has mean 0 and deviation 1 over the words of the recording: neighbours have the speaker and the
    microphone in common, and these are not to be what is learned.
    """
    frames = mfcc(read_sound(audio))
    cut = []
    for word in transcript.words:
        text = normalise(word.text)
        # A blank would end the word in a file of vectors.
        if word.start is None or word.end is None or not text or len(text.split()) != 1:
            continue
        sound = frames[frames_between(word.start, word.end)]
        if len(sound):
            cut.append(SpokenWord(text, sound))
    if not cut:
        return []
    said = np.concatenate([word.frames for word in cut])
    mean, spread = said.mean(axis=0), np.maximum(said.std(axis=0), _QUIET)
    return [SpokenWord(word.text, (word.frames - mean) / spread) for word in cut]


class Speech2Vec(nn.Module):
    """Reads a word's sound into a vector, and writes a neighbour's from it: how that differs from the usual one."""

    usual: Tensor  # (longest, 13)

    def __init__(self, options: Speech2VecOptions) -> None:
        super().__init__()
        self.register_buffer("usual", torch.zeros(options.longest, COEFFICIENTS))
        self.encoder = nn.LSTM(COEFFICIENTS, options.dimension // 2, batch_first=True, bidirectional=True)
        self.decoder = nn.LSTM(options.dimension, options.units, batch_first=True)
        self.out = nn.Linear(options.units, COEFFICIENTS)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def encode(self, sounds: Tensor, lengths: Tensor) -> Tensor:
        """Return the vectors of words (B, dimension); sounds are (B, T, 13), padded."""
        packed = nn.utils.rnn.pack_padded_sequence(sounds, lengths.cpu(), batch_first=True, enforce_sorted=False)
        _, (last, _) = self.encoder(packed)  # last: (2, B, dimension / 2)
        return torch.cat([last[0], last[1]], dim=1)

    def forward(self, sounds: Tensor, lengths: Tensor, steps: int) -> Tensor:
        """Return what may stand beside each word, as MFCCs (B, steps, 13)."""
        vectors = self.encode(sounds, lengths)
        states, _ = self.decoder(vectors[:, None].expand(-1, steps, -1))
        return self.usual[:steps] + cast(Tensor, self.out(states))


@dataclass(frozen=True)
class SpeechModel:
    """What training leaves: vectors by word, how often each was said, and losses on recordings held out."""

    embeddings: Embeddings
    counts: Mapping[str, int]
    loss: float
    """The mean squared error on words held out; 1 is about the variance of a coefficient."""
    plain_loss: float
    """The same for one sequence that is written beside every word: the mean over all words learned from."""


def train_speech2vec(
    recordings: Sequence[Recording], *, options: Speech2VecOptions, loop: LoopOptions, log: Log
) -> SpeechModel:
    """Learn the vectors of all words of recordings; with no epochs those of a network that learned nothing.

    The log gets a row an epoch: the loss, and minus the loss on the recordings held out as "dev".
    """
    words = _Words.of(recordings, options)
    learned, held = words.centres(held=False), words.centres(held=True)
    if not len(learned):
        raise InputError("no two words stand in one recording; give recordings of running speech")
    torch.manual_seed(loop.seed)
    device = choose_device(loop.device)
    network, there = Speech2Vec(options), words.to(device)
    network.usual.copy_(there.mean_neighbour(learned, options.batch))

    def loss(module: nn.Module, centres: Tensor) -> Tensor:
        return _error(module(*there.heard(centres), there.steps(centres)), *there.around(centres))

    def score(module: nn.Module) -> dict[str, float]:
        parts = [(len(part), float(loss(module, part))) for part in _parts(held, options.batch)]
        return {"dev": -sum(count * value for count, value in parts) / len(held)}

    def batches(epoch: int) -> Iterator[Tensor]:
        for order in shuffled(len(learned), options.batch, seed=loop.seed * 100_003 + epoch):
            yield learned[order]

    steps = -(-len(learned) // options.batch)
    network.to(device)
    with torch.no_grad():
        plain = -score(network)["dev"]  # nothing but the mean neighbour is written yet
    network = fit(network, batches=batches, steps=steps, loss=loss, score=score, options=loop, log=log)  # type: ignore[assignment]
    network.to(device)
    with torch.no_grad():
        found = -score(network)["dev"]
        order = torch.argsort(words.lengths, stable=True)  # words of one length need no padding
        vectors = torch.empty(len(order), options.dimension)
        for part in _parts(order, 1024):
            vectors[part] = network.encode(*there.heard(part)).cpu()
    texts = [word.text for recording in recordings for word in recording]
    return SpeechModel(_means(texts, vectors.numpy()), Counter(texts), found, plain)


def with_clitics(embeddings: Embeddings, counts: Mapping[str, int]) -> Embeddings:
    """Add a vector for each clitic: the mean of the words that end with it, by how often they occur.

    Speech has "don't" where models that follow the papers read "do" and "n't".

    >>> spoken = Embeddings(("don't", "can't"), np.array([[1.0], [4.0]], dtype=np.float32))
    >>> found = with_clitics(spoken, {"don't": 2, "can't": 1})
    >>> found.words[2:], found.vectors[2:].tolist()
    (("n't",), [[2.0]])
    """
    known = frozenset(embeddings.words)
    sums: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]] = {}
    ended: Counter[str] = Counter()
    for word, vector in zip(embeddings.words, embeddings.vectors, strict=True):
        _, *clitic = split_clitics(word)
        for part in clitic:
            if part not in known:
                sums[part] = sums.get(part, np.zeros(embeddings.dimension)) + counts[word] * vector.astype(np.float64)
                ended[part] += counts[word]
    if not sums:
        return embeddings
    added = np.stack([total / ended[part] for part, total in sums.items()]).astype(np.float32)
    return Embeddings((*embeddings.words, *sums), np.vstack([embeddings.vectors, added]))


@dataclass(frozen=True)
class _Words:
    """All occurrences, in order, as arrays."""

    sounds: Tensor  # (words, longest, 13), zeros behind a word's end
    lengths: Tensor  # (words,)
    neighbours: Tensor  # (words, 2 × window), -1 where there is none
    held: Tensor  # (words,): whether it belongs to a recording that is held out

    @classmethod
    def of(cls, recordings: Sequence[Recording], options: Speech2VecOptions) -> _Words:
        total = sum(map(len, recordings))
        sounds = torch.zeros(total, options.longest, COEFFICIENTS)
        lengths = torch.zeros(total, dtype=torch.long)
        neighbours = torch.full((total, 2 * options.window), -1)
        held = torch.zeros(total, dtype=torch.bool)
        offsets = [offset for offset in range(-options.window, options.window + 1) if offset]
        begin = 0
        for number, recording in enumerate(recordings):
            for place, word in enumerate(recording):
                sound = torch.from_numpy(word.frames[: options.longest])
                sounds[begin + place, : len(sound)] = sound
                lengths[begin + place] = len(sound)
                for column, offset in enumerate(offsets):
                    if 0 <= place + offset < len(recording):
                        neighbours[begin + place, column] = begin + place + offset
            held[begin : begin + len(recording)] = number % _HELD_OUT == _HELD_OUT // 2
            begin += len(recording)
        return cls(sounds, lengths, neighbours, held)

    def centres(self, *, held: bool) -> Tensor:
        """Return the words that have a neighbour, learned from or held out; where nothing is held out, all."""
        usable = (self.neighbours >= 0).any(dim=1)
        if (usable & self.held).any():
            usable &= self.held == held
        return torch.nonzero(usable).flatten()

    def to(self, device: torch.device) -> _Words:
        """Return the same with the sounds on a device; indices stay where batches are made."""
        return replace(self, sounds=self.sounds.to(device))

    def heard(self, centres: Tensor) -> tuple[Tensor, Tensor]:
        """Return words' sounds and their lengths."""
        lengths = self.lengths[centres]
        return self.sounds[centres.to(self.sounds.device), : int(lengths.max())], lengths

    def steps(self, centres: Tensor) -> int:
        """Return the length of the longest neighbour."""
        return int(self._reach(centres).max())

    def around(self, centres: Tensor) -> tuple[Tensor, Tensor]:
        """Return the neighbours' sounds (B, 2 × window, steps, 13), and which of their frames there are."""
        reach, device = self._reach(centres), self.sounds.device
        steps = int(reach.max())
        there = torch.arange(steps) < reach[:, :, None]  # (B, 2 × window, steps)
        return self.sounds[self.neighbours[centres].clamp(min=0).to(device), :steps], there.to(device)

    def mean_neighbour(self, centres: Tensor, batch: int) -> Tensor:
        """Return the mean over all neighbours, frame by frame (longest, 13)."""
        sums = torch.zeros(self.sounds.shape[1:], device=self.sounds.device)
        counts = torch.zeros(len(sums), device=self.sounds.device)
        for part in _parts(centres, batch):
            sounds, there = self.around(part)
            steps = there.shape[2]
            sums[:steps] += (sounds * there[..., None]).sum(dim=(0, 1))
            counts[:steps] += there.sum(dim=(0, 1))
        return sums / counts.clamp(min=1)[:, None]

    def _reach(self, centres: Tensor) -> Tensor:
        near = self.neighbours[centres]
        return torch.where(near < 0, 0, self.lengths[near.clamp(min=0)])


def _parts(numbers: Tensor, size: int) -> Iterator[Tensor]:
    for first in range(0, len(numbers), size):
        yield numbers[first : first + size]


def _error(written: Tensor, sounds: Tensor, there: Tensor) -> Tensor:
    """Return the mean squared error over neighbours' frames; written is (B, steps, 13)."""
    squares = ((written[:, None].float() - sounds) ** 2).mean(dim=3)
    return (squares * there).sum() / there.sum()


def _means(texts: Sequence[str], vectors: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> Embeddings:
    """Return the mean vector of each text, the commonest first, as files of vectors have them."""
    counts = Counter(texts)
    words = tuple(sorted(counts, key=lambda word: (-counts[word], word)))
    row = {word: number for number, word in enumerate(words)}
    sums = np.zeros((len(words), vectors.shape[1]))
    np.add.at(sums, [row[text] for text in texts], vectors)
    return Embeddings(words, (sums / np.array([[counts[word]] for word in words])).astype(np.float32))
