"""A trained stack of dilated convolutions learns to read other pieces: a transformer's, with what it knows of them.

In: the stack, the transformer, and a pack. Out: the same stack behind new tables of pieces and pairs and a new first
convolution, which give words the states that they had. Its vectors of pieces are what the transformer's first layers
hold of each while they read. A stack that learned its pieces from its own text alone knows little of rare words, most
of which it reads in parts; a published encoder has met them in much more text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import functional as F

from interpunct.errors import ModelError
from interpunct.models.dilated import Dilated, Network
from interpunct.models.torch_loop import shuffled
from interpunct.models.transformer import Network as TransformerNetwork
from interpunct.models.transformer import Transformer
from interpunct.train.pack import Pack

_FIRST = ("embedding.", "pairs.", "stem.")
"""What is new of the network; all else stays as it is."""
_TOLD = 200
"""Steps between two lines of progress."""
_DEPTHS = (1 / 6, 1 / 3, 7 / 12)
"""How deep the layers lie whose states say what a piece is."""
_WINDOWS = 16
"""Windows that are read at a time."""
_ENOUGH, _LUCK, _DRAWN_IN = 200, 10, 5.0
"""Places that say all of a piece; places of average luck that are added to its own; what keeps a sum from nothing."""


@dataclass(frozen=True)
class Course:
    """How the new first part learns."""

    rate: float = 3e-3
    batch: int = 2048
    """Words of a step."""
    seed: int = 1


@torch.no_grad()
def used(knowing: Transformer, windows: Tensor) -> Tensor:
    """Return what pieces are to a transformer as it reads these windows: means of their states after some layers.

    Of a piece that hardly stands there, what its own vector lets expect (pieces × numbers of all these layers).
    """
    if knowing.options.glance:
        raise ModelError(f"{knowing.name} glances, so that some layers do not read everything; take one that does not")
    network = cast(TransformerNetwork, knowing.network)
    own = network.embedding.weight.float()
    heard: list[Tensor] = []
    depths = sorted({max(1, round(share * len(network.layers))) for share in _DEPTHS})
    hooks = [
        network.layers[depth - 1].register_forward_hook(lambda _, __, state: heard.append(state)) for depth in depths
    ]
    sums = torch.zeros(len(own), own.shape[1] * len(depths), device=own.device)
    counts = torch.zeros(len(own), 1, device=own.device)
    try:
        for batch in torch.split(windows, _WINDOWS):
            heard.clear()
            network.states(batch, None)
            sums.index_add_(0, batch.flatten(), torch.cat(heard, dim=-1).flatten(0, 1).float())
            counts.index_add_(0, batch.flatten(), torch.ones(batch.numel(), 1, device=own.device))
    finally:
        for hook in hooks:
            hook.remove()
    means = sums / counts.clamp(min=1)
    known = torch.cat([own, torch.ones_like(counts)], dim=1)
    weighed = (known * counts.clamp(max=_ENOUGH)).T
    drawn_in = _DRAWN_IN * torch.eye(known.shape[1], device=own.device)
    expected = known @ torch.linalg.solve(weighed @ known + drawn_in, weighed @ means)
    return cast(Tensor, (sums + _LUCK * expected) / (counts + _LUCK))


def strongest(table: Tensor, numbers: int) -> Tensor:
    """Return vectors (pieces × width) in the directions in which they differ most, as large as 1 in the mean."""
    if numbers > table.shape[1]:
        raise ModelError(f"vectors of {table.shape[1]} numbers have no {numbers} directions; ask for fewer")
    even = table - table.mean(dim=0)
    found = even @ torch.linalg.svd(even, full_matrices=False)[2][:numbers].T
    return cast(Tensor, found / found.square().mean().sqrt())


def with_pieces_of(
    model: Dilated,
    knowing: Transformer,
    pack: Pack,
    vectors: Tensor,
    sizes: Mapping[str, Any],
    course: Course = Course(),
    *,
    device: torch.device | None = None,
    told: Callable[[str], None] = lambda _: None,
) -> Dilated:
    """Return the model as it reads a transformer's pieces, with options of these sizes; the pack is read once.

    Of the pieces' vectors the strongest directions are taken.
    """
    device = device or torch.device("cpu")
    if model.options.piece_dilations:
        raise ModelError(f"{model.name} has blocks over pieces, which know nothing of others; take one without")
    if model.clitics != knowing.clitics:
        raise ModelError(f"of {model.name} and {knowing.name} one splits clitics and the other does not; take others")
    pieces = {"vocabulary": len(knowing.vocabulary), "longest_word": knowing.options.longest_word}
    options = {**model.description.options, **sizes, **pieces}
    with torch.random.fork_rng():
        torch.manual_seed(course.seed)
        made = Dilated(replace(model.description, options=options), knowing.vocabulary)
        own = made.network.state_dict()
        kept = {name: value for name, value in model.network.state_dict().items() if not name.startswith(_FIRST)}
        made.network.load_state_dict({**own, **kept, "embedding.weight": strongest(vectors, made.options.embedding)})
        _fit(made, model, pack, course, device, told)
    model.network.cpu()
    made.network.eval().cpu()
    return made


def _fit(
    made: Dilated, model: Dilated, pack: Pack, course: Course, device: torch.device, told: Callable[[str], None]
) -> None:
    """Let the new first part learn what the old one says of each word of a pack."""
    new, old = (_First(each, pack, device) for each in (made, model))
    side = max(new.side, old.side) + 1  # words at either end have too few beside them
    words = len(pack) - 2 * side
    if words < course.batch:
        raise ModelError(f"a pack of {len(pack)} words is too short to learn from; give more")
    made.network.train()
    learning = [value for name, value in made.network.named_parameters() if name.startswith(_FIRST)]
    optimizer = torch.optim.Adam(learning, lr=course.rate)
    steps = -(-words // course.batch)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    lost = spread = torch.zeros((), device=device)
    for step, drawn in enumerate(shuffled(words, course.batch, seed=course.seed), start=1):
        chosen = drawn.to(device) + side
        with torch.no_grad():
            right = old.says(chosen)
        loss = F.mse_loss(new.says(chosen), right)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
        lost, spread = lost + loss.detach(), spread + right.var(dim=0, correction=0).mean()
        if step % _TOLD == 0 or step == steps:
            told(f"{step * course.batch:,} words, {float(lost / spread):.3f} of what the states differ by is lost")
            lost = spread = torch.zeros((), device=device)


class _First:
    """What the first part of a stack says of a pack's words."""

    def __init__(self, model: Dilated, pack: Pack, device: torch.device) -> None:
        encoded = pack.encoded(model.vocabulary, {})
        self.network = cast(Network, model.network.to(device))
        self.side = model.options.kernel // 2
        self._pieces, self._ends = (torch.from_numpy(array).to(device) for array in (encoded.pieces, encoded.ends))
        self._around = torch.arange(-self.side - 1, self.side + 1, device=device)

    def says(self, words: Tensor) -> Tensor:
        """Return the first convolution's states at these words' last pieces (words × width)."""
        pieces = self._pieces[self._ends[words + 1][:, None] - 1 + self._around]
        return cast(Tensor, self.network.stem(self.network.looked_up(pieces[:, 1:], pieces[:, :-1]).flatten(1)))
