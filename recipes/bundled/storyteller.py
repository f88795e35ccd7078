"""Makes up text, so that a small network has more to learn from than people have said.

    python recipes/bundled/storyteller.py runs/packs/ted.pack runs/packs/spoken.pack -o runs/packs/told.pack \\
      --pretrained runs/pretrained/smollm2.gguf --seconds 60 --words 60000000

A language model learns for a while what packs hold, with its marks and capitals, and then tells stories: each begins
with a few words from the packs and goes on by chance, without the pieces that are unlikely. A pack of them has the
marks and cases that were told; what a teacher thinks of the words is another matter (`said.py`): it is too sure of text
that it knows by heart, and these stories it has never read. Common phrases of a document that is scored come up by
chance: where eight of its words in a row were told, they are left out, and the story parts there (see `overlap`).

With `--parts 5` there are told-0.pack to told-4.pack, each written as soon as it is told, so that a teacher can be
asked about them meanwhile (`said.py --wait`); `--telling 440` tells for so long instead of so many words.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import math
import multiprocessing
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from interpunct.cases import CASES
from interpunct.errors import InputError, told_in_a_line
from interpunct.labels import MARKS
from interpunct.models import torch_loop
from interpunct.models.llama import Llama, Rotation, Trunk, rotated, rotation
from interpunct.models.loop_options import LoopOptions
from interpunct.models.pieces import PAD, Pieces
from interpunct.models.pieces import UNKNOWN as NO_PIECE
from interpunct.train.pack import Pack
from overlap import Held, held_out
from written import read_back, written

Cache = list[tuple[Tensor, Tensor]]
"""Each layer's keys and values of the pieces so far: stories × heads of keys × pieces × numbers."""

_HELD_OUT = 16
"""Windows at the end of the text that are not learned but scored."""
_LONGEST = 64
_LENGTH = 192
"""Pieces of a story."""
_LABELS = {"mark": MARKS, "case": CASES}


class Speaker(nn.Module):
    """A trunk that reads forwards, and guesses each next piece by the vectors of all."""

    def __init__(self, trunk: Trunk) -> None:
        super().__init__()
        self.trunk = trunk

    def forward(self, pieces: Tensor) -> Tensor:
        """Return how likely each piece is behind each of these (windows × pieces), as logits."""
        count = pieces.shape[1]
        seen = torch.ones(count, count, dtype=torch.bool, device=pieces.device).tril()
        return F.linear(self.trunk(pieces, seen[None, None]), self.trunk.embedding.weight)

    def cache(self, stories: int, length: int) -> Cache:
        """Return room for so many pieces of so many stories."""
        weight = self.trunk.embedding.weight
        rooms = []
        for layer in self.trunk.layers:
            attention = cast(Any, layer).attention
            shape = (stories, attention.kv_heads, length, weight.shape[1] // attention.heads)
            rooms.append((weight.new_zeros(shape), weight.new_zeros(shape)))
        return rooms

    def step(self, pieces: Tensor, place: int, cache: Cache, *, compiled: bool = False) -> Tensor:
        """Return the last states after one more piece of each story (stories × width), which stands at `place`."""
        ask, go_on = (_compiled(_ask), _compiled(_go_on)) if compiled else (_ask, _go_on)
        states = self.trunk.embedding(pieces)
        turn = rotation(torch.tensor([place], device=pieces.device), self.trunk.paces)
        for layer, (keys, values) in zip(self.trunk.layers, cache, strict=True):
            asked, keys[:, :, place], values[:, :, place] = ask(layer, states, turn)
            found = F.scaled_dot_product_attention(asked, keys[:, :, : place + 1], values[:, :, : place + 1])
            states = go_on(layer, states, found)
        return cast(Tensor, self.trunk.norm(states))


def _ask(layer: Any, states: Tensor, turn: Rotation) -> tuple[Tensor, Tensor, Tensor]:
    """Return what a layer asks of each story's pieces, and the key and value of its last one (stories × heads × …)."""
    attention = layer.attention
    heads, shared = attention.heads, attention.kv_heads
    projected = attention.input(attention.norm(states)).unflatten(-1, (heads + 2 * shared, 1, -1))
    asked, key, value = projected.split([heads, shared, shared], dim=1)
    # Heads that share keys ask as if they were places behind one another.
    asked = rotated(asked, turn).view(len(states), shared, heads // shared, -1)
    return asked, rotated(key, turn).squeeze(2), value.squeeze(2)


def _go_on(layer: Any, states: Tensor, found: Tensor) -> Tensor:
    """Return a layer's states by what it found."""
    states = states + layer.attention.output(found.flatten(1))
    return states + cast(Tensor, layer.inner(states))


def _draw(states: Tensor, table: Tensor, noise: Tensor, least: float) -> Tensor:
    """Return which of the table's pieces follow; those less than `least` times as likely as the likeliest never do."""
    logits = F.linear(states, table).float()
    likely = logits >= logits.amax(1, keepdim=True) + math.log(least)
    # The likeliest one after noise of this kind is drawn as often as it is likely.
    return torch.where(likely, logits - noise.log(), -math.inf).argmax(1)


@functools.cache
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function as one program; layers share it, as they do in training."""
    return torch.compile(function, dynamic=False)


class Storyteller:
    """A speaker with its vocabulary, and the text it learned from."""

    def __init__(self, trunk: Trunk, vocabulary: Pieces, pack: Pack, *, length: int = _LENGTH) -> None:
        """Take what is to be learned; stories have `length` pieces."""
        encoded = written(pack).encoded(vocabulary, {})
        if len(encoded.pieces) < length * (_HELD_OUT + 1):
            raise InputError(
                f"the packs have too few words to learn from; give {length * (_HELD_OUT + 1)} pieces or more"
            )
        self.speaker, self.vocabulary, self.length, self.sources = Speaker(trunk), vocabulary, length, pack.sources
        self.pieces, self.ends = torch.from_numpy(encoded.pieces), encoded.ends
        self.known = torch.zeros(len(vocabulary), dtype=torch.bool)
        self.known[torch.from_numpy(np.unique(encoded.pieces))] = True
        self.known[[PAD, NO_PIECE]] = False

    def to(self, device: torch.device) -> None:
        """Move the speaker; on a GPU its weights become half as long. Positions stay exact, or they would drift."""
        self.speaker.to(device)
        if device.type == "cuda":
            for parameter in self.speaker.parameters():
                parameter.data = parameter.data.bfloat16()

    def learn(self, loop: LoopOptions, *, batch: int, log: Callable[[dict[str, float]], None]) -> None:
        """Learn the text, for as long as the options say."""
        device = torch_loop.choose_device(loop.device)
        pieces, last = self.pieces.to(device), len(self.pieces) - self.length * _HELD_OUT
        steps = max(1, last // (self.length * batch))
        within = torch.arange(self.length, device=device)

        def batches(epoch: int) -> Iterator[Tensor]:
            chance = torch.Generator().manual_seed(loop.seed * 1000 + epoch)
            for _ in range(steps):
                first = torch.randint(last - self.length + 1, (batch, 1), generator=chance).to(device)
                yield pieces[first + within]

        def loss(speaker: nn.Module, read: Tensor) -> Tensor:
            logits = speaker(read)[:, :-1].flatten(0, 1)
            return F.cross_entropy(logits.float(), read[:, 1:].flatten())

        def score(speaker: nn.Module) -> dict[str, float]:
            return {"dev": -float(loss(speaker, pieces[last:].view(_HELD_OUT, self.length)))}

        with torch.random.fork_rng():
            torch.manual_seed(loop.seed)
            self.speaker = cast(
                Speaker,
                torch_loop.fit(
                    self.speaker, batches=batches, steps=steps, loss=loss, score=score, options=loop, log=log
                ),
            )

    @torch.no_grad()
    def tell(
        self, stories: int, *, device: torch.device, seed: int, given: int = 8, least: float = 0.03
    ) -> list[list[int]]:
        """Return stories as pieces; the first `given` are of the text.

        A piece that is less than `least` times as likely as the likeliest one is never told.
        """
        compiled = device.type == "cuda"
        draw = _compiled(_draw) if compiled else _draw
        speaker, known = self.speaker, self.known.nonzero()[:, 0].to(device)
        table = speaker.trunk.embedding.weight[known]
        begins = np.random.default_rng(seed).choice(np.searchsorted(self.ends, self.ends[-1] - given), stories)
        starts = torch.from_numpy(self.ends[begins])[:, None]
        told = torch.empty((stories, self.length), dtype=torch.int64, device=device)
        told[:, :given] = self.pieces[starts + torch.arange(given)].to(device)
        cache, chance = speaker.cache(stories, self.length), torch.Generator(device).manual_seed(seed)
        noise = torch.empty((stories, len(known)), device=device)
        for place in range(self.length - 1):
            states = speaker.step(told[:, place], place, cache, compiled=compiled)
            if place + 1 >= given:
                told[:, place + 1] = known[draw(states, table, noise.exponential_(generator=chance), least)]
        rows: list[list[int]] = told.cpu().tolist()
        return rows


@dataclass(frozen=True)
class Telling:
    """How much is told, and into which packs."""

    words: int
    seconds: float | None
    """So long, instead of so many words; how much that is differs from run to run."""
    paths: tuple[Path, ...]
    """The packs: each has its share of the words, or of the seconds, in which the first tells least."""

    def share(self, words: int, seconds: float) -> float:
        """Say which share of it all is told by now."""
        return words / self.words if self.seconds is None else seconds / self.seconds


def parts_of(path: Path, parts: int) -> tuple[Path, ...]:
    """Return the files of so many parts: told-0.pack, told-1.pack and so on; of one, the file itself."""
    if parts == 1:
        return (path,)
    return tuple(path.with_name(f"{path.stem}-{part}{path.suffix}") for part in range(parts))


def told(
    teller: Storyteller,
    telling: Telling,
    held: Held,
    tell: Callable[[int], list[list[int]]],
    *,
    writers: int = 1,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[str]:
    """Tell stories into packs; yield a line about each pack that is written.

    While stories are told, those before them are written down by processes of their own: writing is Python's work, and
    telling waits for the interpreter between two steps. How many words there are is known of the stories before the
    last `writers` tellings alone, however quickly these are written: what is asked for by words is told in the same
    packs every time.
    """
    began, words, part, paths = clock(), 0, list[Pack](), deque(telling.paths)
    writing, saving = deque[Future[Pack]](), deque[Future[str]]()
    context = multiprocessing.get_context("spawn")
    # One process more than there are writers, for a pack that is saved meanwhile.
    with ProcessPoolExecutor(writers + 1, mp_context=context, initializer=_hold, initargs=(held,)) as pool:
        for number in itertools.count():
            share = telling.share(words, clock() - began)
            if part and len(paths) > 1 and share >= 1 - (len(paths) - 1) / len(telling.paths):
                saving.append(pool.submit(_save, part, paths.popleft()))
                part = []
            if share >= 1:
                break
            writing.append(pool.submit(_write, teller.vocabulary, teller.sources, tell(number)))
            if len(writing) > writers:
                part.append(writing.popleft().result())
                words += len(part[-1])
            while saving and saving[0].done():
                yield saving.popleft().result()
        part = [pack for pack in (*part, *(each.result() for each in writing)) if len(pack)]
        if len(part) < len(paths):
            raise InputError(f"too little was told for {len(telling.paths)} parts; ask for fewer, or for more words")
        for places, path in zip(np.array_split(np.arange(len(part)), len(paths)), paths, strict=True):
            saving.append(pool.submit(_save, [part[place] for place in places], path))
        yield from (each.result() for each in saving)


_held: list[Held] = []
"""What a process that writes stories down leaves out of them."""


def _hold(held: Held) -> None:
    _held.append(held)


def _write(vocabulary: Pieces, sources: tuple[str, ...], rows: Sequence[Sequence[int]]) -> Pack:
    return _held[0].cleared_pack(read_back(vocabulary, sources, rows))


def _save(parts: Sequence[Pack], path: Path) -> str:
    pack = Pack.joined(parts)
    pack.save(path)
    return f"{len(pack):,} words ({len(pack.words):,} different), {len(pack.documents):,} stories in {path}"


@told_in_a_line
def main() -> int:
    """Learn, tell, and write the packs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packs", nargs="+", type=Path, metavar="PACK", help="what it learns; twice counts twice")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="PACK")
    parser.add_argument("--pretrained", default="runs/pretrained/smollm2.gguf", metavar="GGUF")
    parser.add_argument("--held", type=Path, metavar="NPZ", help="of overlap.py; else what is scored is read anew")
    parser.add_argument("--seconds", type=float, default=60, help="how long it learns (60)")
    parser.add_argument("--words", type=int, default=60_000_000, help="how many words it tells (60,000,000)")
    parser.add_argument(
        "--given", type=int, default=8, metavar="N", help="pieces of the packs that a story begins with (8)"
    )
    parser.add_argument(
        "--least", type=float, nargs="+", default=[0.03], metavar="SHARE",
        help="pieces less than so many times as likely as the likeliest are not told (0.03); less gives rarer words; "
        "several are taken in turn",
    )  # fmt: skip
    parser.add_argument("--at-once", type=int, default=4096, metavar="N", help="stories told side by side (4,096)")
    parser.add_argument("--batch", type=int, default=128, metavar="N", help="windows in a batch of learning (128)")
    parser.add_argument("--telling", type=float, metavar="SECONDS", help="tell for so long, instead of --words")
    parser.add_argument("--parts", type=int, default=1, metavar="N", help="packs that it is written into (1)")
    parser.add_argument("--writers", type=int, default=1, metavar="N", help="processes that write stories down (1)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="auto")
    given = parser.parse_args()
    telling = 1 if given.telling is None else given.telling
    counts = (given.words, given.at_once, given.batch, given.given, given.parts, given.writers)
    if min(given.seconds, telling, *counts, *given.least) <= 0:
        parser.error(
            "--seconds, --words, --telling, --parts, --writers, --at-once, --batch, --given and --least must be above 0"
        )
    if max(given.least) > 1 or given.given >= _LENGTH:
        parser.error(f"--least is a share, 1 at most; --given must leave something of {_LENGTH} pieces to tell")
    paths = parts_of(given.output, given.parts)
    for path in paths:  # whoever waits for them must not find those of another time
        path.unlink(missing_ok=True)
    device = torch_loop.choose_device(given.device)
    held = Held.load(given.held) if given.held else Held.of(text for _, text in held_out())
    # Of a longer word nothing is clipped: it would be learned, and told, as it is cut.
    options = {"pretrained": given.pretrained, "longest_word": _LONGEST}
    model = Llama.create(name="storyteller", version="1", labels=_LABELS, options=options, words=())
    heard = Pack.joined([Pack.load(path) for path in given.packs])
    teller = Storyteller(cast(Any, model.network).trunk, cast(Pieces, model.vocabulary), heard)
    loop = LoopOptions(
        epochs=100, seconds=given.seconds, rate=2e-4, seed=given.seed, device=given.device,
        compile="layers" if device.type == "cuda" else "",
    )  # fmt: skip
    teller.learn(loop, batch=given.batch, log=lambda row: print(*(f"{k} {v}" for k, v in row.items()), flush=True))
    teller.to(device)

    def tell(number: int) -> list[list[int]]:
        least = given.least[number % len(given.least)]
        return teller.tell(given.at_once, device=device, given=given.given, seed=given.seed + number, least=least)

    for line in told(teller, Telling(given.words, given.telling, paths), held, tell, writers=given.writers):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
