"""Teaches a language model to read both ways before it learns a task: to guess the pieces that are hidden from it.

    python recipes/bundled/masked.py runs/packs/ted.pack runs/packs/spoken.pack -o runs/masked \\
      --pretrained runs/pretrained/smollm2.gguf --seconds 300

A teacher is a language model without the mask that hid what follows, and its layers have never seen what follows. Here
they learn to use it, on words as a recogniser writes them: some pieces of a window are hidden, and the place before
each guesses it, as it did when it guessed the next one (BehnamGhader et al. 2024, arXiv 2404.05961). A configuration
goes on from the folder by `model.start`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from interpunct.cases import CASES
from interpunct.errors import InputError, told_in_a_line
from interpunct.labels import MARKS
from interpunct.models import torch_loop
from interpunct.models.llama import Llama, Trunk
from interpunct.models.loop_options import LoopOptions
from interpunct.models.pieces import UNKNOWN as HIDDEN
from interpunct.train.pack import Pack
from interpunct.train.specs import licences

_LENGTH = 208
"""Pieces of a window, as a teacher reads them."""
_HELD_OUT = 32
"""Windows at the end of the text that are not learned but scored."""
_STEPS = 400
"""Steps between two scores."""

Hiding = tuple[Tensor, Tensor]
"""Windows of pieces, and which places of each are hidden (windows × hidden, from 1 on)."""


class Guesser(nn.Module):
    """A trunk that reads both ways, and guesses a hidden piece at the place before it, by the vectors of all."""

    def __init__(self, trunk: Trunk) -> None:
        super().__init__()
        self.trunk = trunk

    def forward(self, shown: Tensor, hidden: Tensor) -> Tensor:
        """Return how likely each piece is at each hidden place, as logits (windows × hidden × pieces)."""
        states = self.trunk(shown, None)
        before = (hidden - 1)[:, :, None].expand(-1, -1, states.shape[2])
        return F.linear(states.gather(1, before), self.trunk.embedding.weight)


def hidden_places(windows: int, length: int, share: float, chance: torch.Generator) -> Tensor:
    """Return which places of each window are hidden: the same number of each, in no order, never the first."""
    count = max(1, round(share * (length - 1)))
    return 1 + torch.rand((windows, length - 1), generator=chance).topk(count, dim=1).indices


def hide(pieces: Tensor, hidden: Tensor) -> Tensor:
    """Return windows whose hidden places have no piece, or in every fifth case some piece of another place."""
    others = pieces.flatten()[torch.randint(pieces.numel(), hidden.shape, device=pieces.device)]
    wrong = torch.rand(hidden.shape, device=pieces.device) < 0.2
    return pieces.scatter(1, hidden, torch.where(wrong, others, HIDDEN))


def loss(guesser: nn.Module, hiding: Hiding) -> Tensor:
    """Return nats for a hidden piece, in the mean."""
    pieces, hidden = hiding
    logits = guesser(hide(pieces, hidden), hidden)
    return F.cross_entropy(logits.flatten(0, 1).float(), pieces.gather(1, hidden).flatten())


def learn(
    trunk: Trunk, text: Tensor, loop: LoopOptions, *, batch: int, share: float, log: Callable[[dict[str, float]], None]
) -> None:
    """Let a trunk guess what is hidden of a text, which is one long row of pieces, as long as the options say."""
    last = len(text) - _LENGTH * _HELD_OUT
    if last < _LENGTH:
        raise InputError(f"the packs have too few words to learn from; give {_LENGTH * (_HELD_OUT + 1)} pieces or more")
    device = torch_loop.choose_device(loop.device)
    text = text.to(device)
    within = torch.arange(_LENGTH, device=device)
    scored = text[last:].view(_HELD_OUT, _LENGTH)
    asked = hidden_places(_HELD_OUT, _LENGTH, share, torch.Generator().manual_seed(0)).to(device)

    def batches(epoch: int) -> Iterator[Hiding]:
        chance = torch.Generator().manual_seed(loop.seed * 1000 + epoch)
        for _ in range(_STEPS):
            first = torch.randint(last - _LENGTH + 1, (batch, 1), generator=chance)
            yield text[first.to(device) + within], hidden_places(batch, _LENGTH, share, chance).to(device)

    def score(guesser: nn.Module) -> dict[str, float]:
        with torch.random.fork_rng([device] if device.type == "cuda" else []):
            torch.manual_seed(0)
            return {"dev": -float(loss(guesser, (scored, asked)))}

    with torch.random.fork_rng():
        torch.manual_seed(loop.seed)
        torch_loop.fit(Guesser(trunk), batches=batches, steps=_STEPS, loss=loss, score=score, options=loop, log=log)


@told_in_a_line
def main() -> int:
    """Learn, and write the model's folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packs", nargs="+", type=Path, metavar="PACK", help="what it learns; twice counts twice")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="FOLDER")
    parser.add_argument("--pretrained", default="runs/pretrained/smollm2.gguf", metavar="GGUF")
    parser.add_argument("--seconds", type=float, default=300, help="how long it learns (300)")
    parser.add_argument("--share", type=float, default=0.2, help="of a window's pieces that are hidden (0.2)")
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--batch", type=int, default=160, metavar="N", help="windows in a batch (160)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="auto")
    given = parser.parse_args()
    if min(given.seconds, given.rate, given.batch, given.share) <= 0 or given.share >= 1:
        parser.error("--seconds, --rate and --batch must be above 0, and --share between 0 and 1")
    pack = Pack.joined([Pack.load(path) for path in given.packs])
    model = Llama.create(
        name="masked", version="1", labels={"mark": MARKS, "case": CASES},
        options={"pretrained": given.pretrained}, words=(), trained_on=pack.sources,
        licence=licences(pack.sources),
    )  # fmt: skip
    text = torch.from_numpy(pack.encoded(model.vocabulary, {}).pieces)
    loop = LoopOptions(
        epochs=1000, seconds=given.seconds, rate=given.rate, seed=given.seed, device=given.device,
        compile="layers" if torch_loop.choose_device(given.device).type == "cuda" else "",
    )  # fmt: skip
    trunk = cast(Any, model.network).trunk
    learn(trunk, text, loop, batch=given.batch, share=given.share,
          log=lambda row: print(*(f"{k} {v}" for k, v in row.items()), flush=True))  # fmt: skip
    given.output.mkdir(parents=True, exist_ok=True)
    model.save(given.output)
    print(f"{len(pack):,} words read; a folder to go on from in {given.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
