"""A narrower network cut out of a trained one: of its heads and inner numbers those stay that do most for its answers.

In: a trained transformer, and windows of text. Out: one as deep, whose states are as wide, with fewer heads and
narrower feed-forward layers. Layer by layer, what attention and the feed-forward part add is fitted anew by least
squares to what the whole network has there, with the heads or inner numbers that are left, and the one goes next whose
loss costs least (the optimal brain surgeon, Hassibi and Stork 1993; of whole structures, Kurtic et al. 2023, arXiv
2302.04089). An error counts as much as the answers change with it: by the covariance of the gradients of the network's
own answers. Each part is fitted to what the whole network has, given what the parts before it have become, so that
errors do not add up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from interpunct.errors import InputError, ModelError
from interpunct.models.transformer import Layer, Network, Transformer, TransformerOptions

_RIDGE = 3e-3
"""What is added to the squares of features, as a share of their mean."""
_EVENLY = 0.1
"""What an error counts in every direction, beside what it counts for the answers."""
_AT_ONCE = 16
"""Inner numbers that go at once."""

Told = Callable[[str], None]


@dataclass(frozen=True)
class Sizes:
    """What is left of each layer."""

    heads: int
    inner: int


def cut(model: Transformer, windows: Tensor, sizes: Sizes, *, graded: int, told: Told = lambda _: None) -> Transformer:
    """Return a model with so many heads and inner numbers in each layer, chosen by windows (windows × pieces).

    The first `graded` of the windows say what errors count. The work is done on the device of the windows.
    """
    options = model.options
    if min(sizes.heads, sizes.inner, graded) < 1:
        raise InputError(
            f"{sizes.heads} heads, {sizes.inner} inner numbers, {graded} graded windows: one at least of each"
        )
    if options.glance or sizes.heads > options.heads or sizes.inner > options.inner:
        what = f"{options.heads} heads, {options.inner} inner numbers and a glance of {options.glance}"
        raise ModelError(f"{model.name} has {what}: it cannot be cut to {sizes.heads} heads and {sizes.inner}")
    described = replace(model.description, options={**model.description.options, **_narrower(options, sizes)})
    student = Transformer(described, model.vocabulary)
    whole, part = (_network(each).to(windows.device) for each in (model, student))
    sums = [norm for number in range(len(whole.layers)) for norm in _norms(_layer(whole, number))]
    counts = gradients(whole, windows[:graded], before=sums, told=told)
    with torch.no_grad():
        _copy_shared(whole, part)
        _Surgeon(whole, part, sizes, told).cut(windows, counts)
    student.to("cpu")
    return student


def _narrower(options: TransformerOptions, sizes: Sizes) -> dict[str, Any]:
    head = options.attended // options.heads
    return {"heads": sizes.heads, "head": head, "inner": sizes.inner, "own_distances": bool(options.distances)}


def _network(model: Transformer) -> Network:
    return cast(Network, model.network.eval())


def _copy_shared(whole: Network, part: Network) -> None:
    """Copy what all layers share, and the norms and branches, which stay as they are."""
    needed = part.state_dict()
    stay = {name: value for name, value in whole.state_dict().items() if value.shape == needed[name].shape}
    part.load_state_dict(stay, strict=False)


def gradients(
    network: Network, windows: Tensor, *, before: Sequence[nn.Module], at_once: int = 8, told: Told = lambda _: None
) -> list[Tensor]:
    """Return for each of some parts of a network how the gradients of what it reads vary together.

    They are those of answers drawn as the network itself gives them (width × width, the mean of whose diagonal is 1).
    """
    sums: list[Tensor] = []
    hooks = [part.register_forward_pre_hook(lambda _, given: _keep(given[0], sums)) for part in before]
    found: list[Tensor] = []
    generator = torch.Generator(windows.device).manual_seed(1)
    for number, batch in enumerate(_parts(windows, at_once)):
        sums.clear()
        loss = torch.zeros((), device=windows.device)
        for answers in network(batch, None, every_piece(batch)).values():
            logits = answers.flatten(0, 1)
            drawn = torch.multinomial(logits.detach().softmax(dim=-1), 1, generator=generator)[:, 0]
            loss = loss + F.cross_entropy(logits, drawn, reduction="sum")
        loss.backward()  # type: ignore[no-untyped-call]
        rows = [cast(Tensor, each.grad).flatten(0, 1) for each in sums]
        products = [each.T @ each for each in rows]
        found = products if not found else [before + now for before, now in zip(found, products, strict=True)]
        network.zero_grad(set_to_none=True)
        told(f"gradients of {(number + 1) * at_once} windows")
    for hook in hooks:
        hook.remove()
    return [each / each.diagonal().mean() for each in found]


def every_piece(windows: Tensor) -> Tensor:
    """Return the places of all pieces, as if each were a word's last (windows × pieces)."""
    return torch.arange(windows.shape[1], device=windows.device).expand(len(windows), -1)


def _norms(layer: Layer) -> tuple[nn.Module, nn.Module]:
    """Return what reads a layer's two sums: attention's and the feed-forward part's."""
    return layer.output_norm, layer.down_norm


def _keep(states: Tensor, kept: list[Tensor]) -> None:
    states.retain_grad()
    kept.append(states)


class _Surgeon:
    """Both networks, and how far each has read the windows."""

    def __init__(self, whole: Network, part: Network, sizes: Sizes, told: Told) -> None:
        self.whole, self.part, self.sizes, self.told = whole, part, sizes, told
        self.head = _layer(whole, 0).attended // _layer(whole, 0).heads

    def cut(self, windows: Tensor, counts: list[Tensor]) -> None:
        """Fit the part's layers to the whole's, one after the other."""
        right = mine = self.whole.embedded(windows)
        for number, mask in enumerate(self.whole.masks(windows.shape[1], None)):
            of, to = _layer(self.whole, number), _layer(self.part, number)
            right, mine = self._attention(number, of, to, right, mine, mask, counts[2 * number])
            right, mine = self._inner(number, of, to, right, mine, counts[2 * number + 1])

    def _attention(
        self, number: int, of: Layer, to: Layer, right: Tensor, mine: Tensor, mask: Tensor | None, counts: Tensor
    ) -> tuple[Tensor, Tensor]:
        found = torch.cat([of.attend(each, mask) for each in _parts(mine)])
        wanted = torch.cat([each + of.output(of.attend(each, mask)) for each in _parts(right)])
        kept, matrix, bias, error = fitted(
            found.flatten(0, 1), (wanted - mine).flatten(0, 1), counts, left=self.sizes.heads, group=self.head
        )
        rows = torch.cat([kept + part * of.attended for part in range(3)])
        to.projections.weight.copy_(of.projections.weight[rows])
        to.projections.bias.copy_(of.projections.bias[rows])
        to.output.weight.copy_(matrix.T)
        to.output.bias.copy_(bias)
        heads = kept[:: self.head] // self.head
        if self.whole.distances is not None and self.part.distances is not None:
            first = number * self.sizes.heads
            whole = self.whole.distances.weight
            begin = number * of.heads if whole.shape[1] > of.heads else 0
            self.part.distances.weight[:, first : first + self.sizes.heads] = whole[:, begin + heads]
        self.told(f"layer {number + 1}: heads {heads.tolist()}, error {error:.3f}")
        return of.output_norm(wanted), to.output_norm(mine + to.output(found[:, :, kept]))

    def _inner(
        self, number: int, of: Layer, to: Layer, right: Tensor, mine: Tensor, counts: Tensor
    ) -> tuple[Tensor, Tensor]:
        found = F.gelu(of.up(mine))
        wanted = torch.cat([each + of.down(F.gelu(of.up(each))) for each in _parts(right)])
        kept, matrix, bias, error = fitted(
            found.flatten(0, 1), (wanted - mine).flatten(0, 1), counts, left=self.sizes.inner, group=1
        )
        to.up.weight.copy_(of.up.weight[kept])
        to.up.bias.copy_(of.up.bias[kept])
        to.down.weight.copy_(matrix.T)
        to.down.bias.copy_(bias)
        self.told(f"layer {number + 1}: {len(kept)} inner numbers, error {error:.3f}")
        return of.down_norm(wanted), to.down_norm(mine + to.down(found[:, :, kept]))


def _layer(network: Network, number: int) -> Layer:
    return cast(Layer, network.layers[number])


def _parts(windows: Tensor, at_once: int = 8) -> tuple[Tensor, ...]:
    """Return windows a few at a time."""
    return windows.chunk(-(-len(windows) // at_once))


def fitted(
    features: Tensor, wanted: Tensor, counts: Tensor, *, left: int, group: int
) -> tuple[Tensor, Tensor, Tensor, float]:
    """Fit `left` groups of features to what is wanted.

    Return which stay, their matrix, a bias, and the error as a share of what is wanted.
    """
    middle, mean = features.mean(dim=0), wanted.mean(dim=0)
    centred = features - middle
    squares = (centred.T @ centred).double()
    products = (centred.T @ (wanted - mean)).double()
    squares.diagonal().add_(_RIDGE * squares.diagonal().mean())
    weighed = counts.double() + _EVENLY * torch.eye(len(counts), dtype=torch.float64, device=counts.device)
    kept, matrix = eliminated(squares, products, weighed, left=left, group=group)
    matrix = matrix.float()
    off = wanted - mean - centred[:, kept] @ matrix
    whole, lost = ((each @ weighed.float()) * each for each in (wanted - mean, off))
    return kept, matrix, mean - middle[kept] @ matrix, float(lost.sum() / whole.sum())


def eliminated(squares: Tensor, products: Tensor, counts: Tensor, *, left: int, group: int) -> tuple[Tensor, Tensor]:
    """Take groups of features away, those first whose loss costs least; return which stay and their matrix.

    `squares` are features × features, `products` features × wanted numbers.
    """
    inverse = torch.linalg.inv(squares)
    matrix = inverse @ products
    kept = torch.arange(len(squares), device=squares.device)
    while (rest := len(kept) // group - left) > 0:
        going = min(rest, _AT_ONCE) if group == 1 else 1
        costs = _costs(inverse, matrix, counts, group)
        out = costs.topk(going, largest=False).indices
        goes = (out[:, None] * group + torch.arange(group, device=out.device)).flatten()
        stays = torch.ones(len(kept), dtype=torch.bool, device=out.device)
        stays[goes] = False
        across = inverse[stays][:, goes]
        share = torch.linalg.solve(inverse[goes][:, goes], torch.cat([across.T, matrix[goes]], dim=1))
        inverse = inverse[stays][:, stays] - across @ share[:, : len(across)]
        matrix = matrix[stays] - across @ share[:, len(across) :]
        kept = kept[stays]
    return kept, matrix


def _costs(inverse: Tensor, matrix: Tensor, counts: Tensor, group: int) -> Tensor:
    """Return what the loss of each group costs."""
    if group == 1:
        return ((matrix @ counts) * matrix).sum(dim=1) / inverse.diagonal()
    return torch.stack(list(_group_costs(inverse, matrix, counts, group)))


def _group_costs(inverse: Tensor, matrix: Tensor, counts: Tensor, group: int) -> Iterator[Tensor]:
    for first in range(0, len(matrix), group):
        rows = slice(first, first + group)
        yield ((torch.linalg.solve(inverse[rows, rows], matrix[rows]) @ counts) * matrix[rows]).sum()
