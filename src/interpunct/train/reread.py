"""A trained stack of dilated convolutions learns to read other pieces: a transformer's, with what it knows of them.

In: the stack, the transformer, and a pack. Out: the same stack behind new tables of pieces and pairs and a new first
convolution, which give words the states that they had. A stack that learned its pieces from its own text alone knows
little of rare words, most of which it reads in parts; a published encoder has met them in much more text.
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
from interpunct.models.transformer import Transformer
from interpunct.train.pack import Pack

_FIRST = ("embedding.", "pairs.", "stem.")
"""What is new of the network; all else stays as it is."""
_TOLD = 200
"""Steps between two lines of progress."""


@dataclass(frozen=True)
class Course:
    """How the new first part learns."""

    rate: float = 3e-3
    batch: int = 2048
    """Words of a step."""
    seed: int = 1


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
    sizes: Mapping[str, Any],
    course: Course = Course(),
    *,
    device: torch.device | None = None,
    told: Callable[[str], None] = lambda _: None,
) -> Dilated:
    """Return the model as it reads a transformer's pieces, with options of these sizes; the pack is read once."""
    device = device or torch.device("cpu")
    if model.options.piece_dilations:
        raise ModelError(f"{model.name} has blocks over pieces, which know nothing of others; take one without")
    options = {**model.description.options, **sizes, "vocabulary": len(knowing.vocabulary)}
    with torch.random.fork_rng():
        torch.manual_seed(course.seed)
        made = Dilated(replace(model.description, options=options), knowing.vocabulary)
        own = made.network.state_dict()
        kept = {name: value for name, value in model.network.state_dict().items() if not name.startswith(_FIRST)}
        vectors = strongest(knowing.network.get_parameter("embedding.weight").detach().float(), made.options.embedding)
        made.network.load_state_dict({**own, **kept, "embedding.weight": vectors})
        _fit(made, model, pack, course, device, told)
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
        lost, spread = lost + loss.detach(), spread + right.var(dim=0).mean()
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
