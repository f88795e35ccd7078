from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from interpunct.cases import CASES
from interpunct.errors import ConfigError, InputError, ModelError
from interpunct.features import Features
from interpunct.labels import MARKS, parse_text
from interpunct.models.depth import evenly_spaced
from interpunct.models.loop_options import LoopOptions
from interpunct.models.pretrained_encoder import (
    PretrainedEncoder,
    WordPieces,
    convert,
)
from interpunct.models.shown import Shown
from interpunct.models.transformer import Network, Transformer, TransformerOptions
from interpunct.train import DataConfig, ModelConfig, TrainConfig, _check
from interpunct.transcript import Transcript
from published_encoders import (
    HEADS,
    INNER,
    LAYERS,
    POSITIONS,
    PUBLISHED,
    WIDTH,
    Rows,
    bert_weights,
    write_beside,
    write_safetensors,
)


def options(**changes: Any) -> TransformerOptions:
    shape = {"width": WIDTH, "heads": HEADS, "inner": INNER, "layers": LAYERS, "positions": POSITIONS, "window": 16}
    return TransformerOptions(**(shape | {"overlap": 4} | changes))


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A converted encoder of random weights."""
    folder = tmp_path_factory.mktemp("published")
    write_beside(folder)
    target = folder / "encoder.npz"
    convert(write_safetensors(bert_weights(), folder / "model.safetensors"), target)
    return target


def made(pretrained: Path | str = "", words: str = "the going don't", seed: int = 1, **changes: Any) -> Transformer:
    given = {
        "width": WIDTH, "heads": HEADS, "inner": INNER, "layers": 2, "positions": POSITIONS, "window": 16, "overlap": 4,
        "pretrained": str(pretrained),
    }  # fmt: skip
    return Transformer.create(
        name="t", version="1", labels={"mark": MARKS, "case": CASES}, options=given | changes, words=words.split(),
        seed=seed,
    )  # fmt: skip


def network_of(model: Transformer) -> Network:
    return cast(Network, model.network)


@pytest.fixture(scope="module")
def model() -> Transformer:
    """A model whose weights are larger than a new network's, so that what must not leak would be seen."""
    found = made(vocabulary=60, seed=3)
    with torch.no_grad():
        for weight in found.network.parameters():
            weight.mul_(8)
    return found


@given(st.integers(1, 30), st.data())
def test_evenly_spaced_layers_rise_and_end_with_the_last(layers: int, data: st.DataObject) -> None:
    kept = data.draw(st.integers(1, layers))
    found = evenly_spaced(kept, layers)
    steps = np.diff([0, *found])
    assert len(found) == kept
    assert found[-1] == layers
    assert steps.min() >= 1
    assert steps.max() - steps.min() <= 1


def test_transformer_takes_pretrained_rows_positions_and_layers(published: Path) -> None:
    model = made(published, vocabulary=70, positions=16)
    pretrained = PretrainedEncoder.load(published)
    weights = network_of(model).state_dict()
    for piece, row in zip(cast(WordPieces, model.vocabulary).names(), weights["embedding.weight"], strict=True):
        right = pretrained.weights["embedding.weight"][PUBLISHED.index(piece)]
        np.testing.assert_array_equal(row, np.zeros(WIDTH) if piece == "[PAD]" else right)
    np.testing.assert_array_equal(weights["positions.weight"], pretrained.weights["positions.weight"][:16])
    for ours, theirs in ((0, 1), (1, 3)):  # every second layer
        np.testing.assert_array_equal(
            weights[f"layers.{ours}.up.weight"], pretrained.weights[f"layers.{theirs}.up.weight"]
        )
    chosen = network_of(made(published, keep_layers=[1, 3])).state_dict()
    np.testing.assert_array_equal(chosen["layers.1.down.bias"], pretrained.weights["layers.2.down.bias"])


def test_transformer_refuses_an_encoder_of_another_shape(published: Path) -> None:
    with pytest.raises(InputError, match=r"heads is 4 but the encoder's is 2.*inner is 16"):
        made(published, heads=4, inner=16)
    with pytest.raises(InputError, match="the encoder has 4"):
        made(published, layers=5)
    with pytest.raises(InputError, match="the encoder has 4"):
        made(published, keep_layers=[4, 5])
    with pytest.raises(InputError, match="the encoder has 20"):
        made(published, positions=21)


@pytest.mark.parametrize(
    "bad",
    [
        {"heads": 3}, {"positions": 15}, {"context": "whole", "overlap": 0}, {"keep_layers": [1]}, {"dropout": 1.5},
        {"keep_layers": [1, 2]}, {"attention_dropout": -0.1}, {"keep_layers": [0, 1]}, {"keep_layers": [2, 1]},
        {"glance": 2}, {"glance": -1}, {"doubted": 0}, {"doubted": 101},
    ],
    ids=str,
)  # fmt: skip
def test_transformer_options_refuse_nonsense(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(bad)).replace("context", "positions")):
        made(**bad)


def test_transformer_loads_without_the_pretrained_file(published: Path, tmp_path: Path) -> None:
    copy = tmp_path / "encoder.npz"
    copy.write_bytes(published.read_bytes())
    model = made(copy)
    model.save(tmp_path / "model")
    copy.unlink()
    again = Transformer.load(tmp_path / "model")
    window = Features.of("The going, don't e-mail.".split())
    before, after = model.forward([window])[0], again.forward([window])[0]
    for task in before.tasks:
        np.testing.assert_array_equal(before.tasks[task], after.tasks[task])


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 16), min_size=1, max_size=5), st.integers(0, 100))
def test_transformer_scores_do_not_depend_on_padding(model: Transformer, sizes: list[int], seed: int) -> None:
    generator = np.random.default_rng(seed)
    words = ["the", "going", "don't", "mail", "zzz"]
    windows = [Features(tuple(generator.choice(words, size=size))) for size in sizes]
    for window, scores in zip(windows, model.forward(windows), strict=True):
        alone = model.forward([window])[0]
        for task, logs in scores.tasks.items():
            assert logs.shape == (len(window), len(model.labels[task]))
            np.testing.assert_allclose(logs, alone.tasks[task], atol=1e-5)


def test_transformer_reads_the_whole_window_and_each_words_own_place(model: Transformer) -> None:
    """Another last word changes the first word's scores; the same word twice has not the same scores."""
    texts = "the going the going mail".split()
    one = model.forward([Features(tuple(texts))])[0].tasks["mark"]
    other = model.forward([Features((*texts[:-1], "don't"))])[0].tasks["mark"]
    assert np.abs(one[0] - other[0]).max() > 1e-4
    assert np.abs(one[0] - one[2]).max() > 1e-4


def test_transformer_reads_windows_of_more_pieces_than_positions(model: Transformer) -> None:
    texts = tuple(["zzzzzzzz"] * 16)  # 16 words, at most 8 pieces each, 20 positions
    (scores,) = model.forward([Features(texts)])
    assert len(scores) == 16
    assert np.isfinite(scores.tasks["mark"]).all()


@pytest.mark.parametrize("distances", [0, 8])
def test_transformer_learns_under_autocast(distances: int) -> None:
    model = made(vocabulary=60, distances=distances)
    network = network_of(model).train()
    pieces, lengths, words = torch.randint(2, 10, (3, 9)), torch.tensor([9, 4, 1]), torch.zeros(3, 2, dtype=torch.int64)
    with torch.autocast("cpu", torch.bfloat16):
        loss = sum(logits.float().square().mean() for logits in network(pieces, lengths, words).values())
    cast(torch.Tensor, loss).backward()  # type: ignore[no-untyped-call]
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name


def test_transformer_that_goes_on_with_more_layers_says_nearly_the_same(tmp_path: Path) -> None:
    model = made(vocabulary=60, layers=4, seed=3)
    chance = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, weight in network_of(model).named_parameters():
            if "norm" in name:  # as a trained one's: numbers of each its own length, and a mean that is not zero
                spread = torch.rand(weight.shape, generator=chance)
                weight.copy_(0.5 + spread if name.endswith("weight") else 0.4 + 0.3 * spread)
            else:
                weight.mul_(2)
    model.save(tmp_path / "shallow")
    window = Features.of("the going mail don't the mail".split())

    def distance(*layers: int) -> float:
        one, other = (
            Transformer.go_on(tmp_path / "shallow", name="t", version="2", options={"layers": count})
            for count in layers
        )
        assert (len(network_of(one).layers), len(network_of(other).layers)) == layers
        said = [np.exp(each.forward([window])[0].tasks["mark"]) for each in (one, other)]
        return float(np.abs(said[0] - said[1]).max())

    said = np.exp(model.forward([window])[0].tasks["mark"])
    assert distance(4, 4) == 0
    assert 0 < distance(4, 6) < 0.1 * float(np.ptp(said, axis=0).max())
    with pytest.raises(ModelError, match="layers can be 8 at most"):
        Transformer.go_on(tmp_path / "shallow", name="t", version="2", options={"layers": 9})


def test_transformer_goes_on_with_some_of_its_layers(published: Path, tmp_path: Path) -> None:
    model = made(published, keep_layers=[1, 2, 4], layers=3)
    model.save(tmp_path / "deep")

    def gone_on(folder: str, **options: Any) -> Transformer:
        return Transformer.go_on(tmp_path / folder, name="t", version="2", options=options)

    old = network_of(model).state_dict()
    for options, places in (({"layers": 2}, (1, 2)), ({"layers": 2, "keep_layers": [1, 3]}, (0, 2))):
        shallow = gone_on("deep", **options)
        state = network_of(shallow).state_dict()
        assert len(network_of(shallow).layers) == 2
        for name, value in state.items():
            part, _, rest = name.partition(".")
            number, _, inside = rest.partition(".")
            source = f"layers.{places[int(number)]}.{inside}" if part == "layers" else name
            assert torch.equal(value, old[source]), name
    shallow.save(tmp_path / "shallow")
    assert gone_on("shallow").options.keep_layers == ()  # what it began with is not what the next one keeps
    assert len(network_of(gone_on("shallow", layers=3)).layers) == 3
    with pytest.raises(ModelError, match=r"\(1, 3\) are asked for, and there are 2"):
        gone_on("shallow", layers=2, keep_layers=[1, 3])


def test_configuration_may_ask_for_other_layers_than_those_that_its_start_kept(published: Path, tmp_path: Path) -> None:
    made(published, keep_layers=[1, 3]).save(tmp_path / "kept")

    def checked(start: Path | None, **options: Any) -> None:
        model = ModelConfig("transformer", "t", "1", start=None if start is None else str(start))
        _check(TrainConfig(model, DataConfig(("iwslt:train",), ("iwslt:dev",)), options=options))

    checked(tmp_path / "kept", layers=1)
    checked(tmp_path / "kept", layers=4)
    with pytest.raises(ConfigError, match=r"name it in pretrained or model\.start"):
        checked(None, layers=1, keep_layers=[1])


def test_deepened_layers_stand_between_the_old_ones_and_learn(tmp_path: Path) -> None:
    model = made(vocabulary=60, layers=4)
    model.save(tmp_path / "shallow")
    on = Transformer.go_on(tmp_path / "shallow", name="t", version="2", options={"layers": 6, "dropout": 0.0})
    layers, old = network_of(on).layers, network_of(model).layers
    places = {0: 0, 1: 1, 3: 2, 4: 3}  # new ones are behind the second and the last
    for place, layer in enumerate(layers):
        same = all(
            torch.equal(one, other)
            for one, other in zip(layer.parameters(), old[places.get(place, 0)].parameters(), strict=True)
        )
        assert same is (place in places), place
    data = on.encode([Transcript(parse_text("The mail is going. The mail, the mail?"))] * 4)
    on.fit(data, data, loop=LoopOptions(epochs=2, rate=1e-2, device="cpu"), log=lambda _: None)
    for place, layer in enumerate(network_of(on).layers):
        assert layer.get_parameter("down.weight").abs().max() > 0, place


def doubting(**changes: Any) -> Transformer:
    """Return a model with layers above a glance, whose weights are larger than a new network's."""
    model = made(vocabulary=60, layers=4, glance=2, seed=3, **changes)
    with torch.no_grad():
        for name, weight in model.network.named_parameters():
            weight.mul_(1 if "norm" in name else 6)
    return model


def slow_looks(network: Network, pieces: list[int], words: list[int], share: int) -> tuple[Rows, list[int]]:
    """Look at one window twice, place by place; return the logits of marks, and which places were looked at again."""
    states = network.norm(network.embedding(torch.tensor([pieces])) + network.positions.weight[: len(pieces)])
    masks = network.masks(len(pieces), None)
    for layer, mask in zip(network.layers[: network.glance], masks, strict=False):
        states = layer(states, mask)
    glanced = {task: head(states)[0] for task, head in network.glances.items()}
    sure = [min(float(rows[word].softmax(0).max()) for rows in glanced.values()) for word in words]
    again = [words[rank] for rank in np.argsort(sure, kind="stable")[: -(-len(pieces) * share // 100)]]
    for layer, mask in zip(network.layers[network.glance :], masks[network.glance :], strict=True):
        new = layer(states, mask)
        states = states.clone()
        for place in again:
            states[0, place] = new[0, place]
    rows = [network.heads["mark"](states[0, word]) if word in again else glanced["mark"][word] for word in words]
    return np.array([row.tolist() for row in rows]), again


WEIGHING = pytest.mark.parametrize(
    "weighing", [{}, {"distances": 8}, {"distances": 8, "own_distances": True}], ids=["plain", "distances", "own"]
)


@torch.no_grad()
@WEIGHING
def test_layers_above_a_glance_look_at_doubted_words_alone(weighing: dict[str, Any]) -> None:
    network = network_of(doubting(doubted=30, **weighing)).eval()
    pieces, words = [5, 9, 9, 10, 7, 3, 4, 8, 2, 6], [0, 2, 3, 4, 6, 7, 8, 9]
    right, again = slow_looks(network, pieces, words, 30)
    assert len(again) == 3
    found = network(torch.tensor([pieces]), None, torch.tensor([words]))["mark"][0]
    np.testing.assert_allclose(found, right, atol=1e-4)


@torch.no_grad()
@pytest.mark.parametrize("first", [0, 1, 2], ids="first-word-ends-at-{}".format)
@pytest.mark.parametrize("doubted", [30, 60, 100])
@WEIGHING
def test_padding_changes_nothing_of_a_second_look(first: int, doubted: int, weighing: dict[str, Any]) -> None:
    """Neither how many places are looked at again, nor that a padded word points at the first piece."""
    for seed in range(5):
        network = network_of(doubting(doubted=doubted, **weighing)).eval()
        pieces = torch.randint(2, 11, (1, 10), generator=torch.Generator().manual_seed(seed))
        words = list(range(first, 10, 2))
        right, _ = slow_looks(network, pieces[0].tolist(), words, doubted)
        padded = torch.nn.functional.pad(pieces, (0, 4))
        found = network(padded, torch.tensor([10]), torch.tensor([[*words, 0, 0]]))["mark"][0, : len(words)]
        np.testing.assert_allclose(found, right, atol=1e-4)


@torch.no_grad()
@WEIGHING
def test_a_second_look_at_all_words_is_what_all_layers_see(weighing: dict[str, Any]) -> None:
    looks = network_of(doubting(doubted=100, **weighing)).eval()
    whole = network_of(made(vocabulary=60, layers=4, **weighing)).eval()
    whole.load_state_dict({name: value for name, value in looks.state_dict().items() if "glances" not in name})
    pieces = torch.randint(2, 11, (3, 12), generator=torch.Generator().manual_seed(1))
    words = torch.arange(12).expand(3, -1)
    for task, logits in whole(pieces, None, words).items():
        torch.testing.assert_close(looks(pieces, None, words)[task], logits, atol=1e-4, rtol=1e-4)
    lengths = torch.tensor([12, 5, 1])
    words = words.where(words < lengths[:, None], 0)  # as batches have it
    for task, logits in whole(pieces, lengths, words).items():
        found = looks(pieces, lengths, words)[task]
        for row, length in enumerate(lengths.tolist()):
            torch.testing.assert_close(found[row, :length], logits[row, :length], atol=1e-4, rtol=1e-4)


def test_a_model_goes_on_with_a_glance_and_its_loss_is_of_both_looks(tmp_path: Path) -> None:
    model = made(vocabulary=60, layers=4)
    model.save(tmp_path / "whole")
    on = Transformer.go_on(tmp_path / "whole", name="t", version="2", options={"glance": 2, "dropout": 0.0})
    network, before = network_of(on), network_of(model).heads["mark"].get_parameter("weight")
    assert torch.equal(network.glances["mark"].get_parameter("weight"), before)
    data = on.encode([Transcript(parse_text("The mail is going. The mail, the mail?"))] * 4)
    rows: list[dict[str, float]] = []
    on.fit(data, data, loop=LoopOptions(epochs=8, rate=1e-2, device="cpu"), log=rows.append)
    assert rows[-1]["loss"] < rows[0]["loss"]
    trained = network_of(on).glances["mark"].get_parameter("weight")
    assert not torch.equal(trained, before)
    batch = next(iter(Shown(data, on.options, on.device).plain_batches()))
    looks = network_of(on).looks(batch.pieces, batch.lengths, batch.words)
    assert len(looks) == 2
    glanced, last = (float(on._sum_of_losses(each, batch).detach()) for each in looks)
    assert float(on._loss(on.network, batch).detach()) == pytest.approx(last + 0.5 * glanced)
    assert glanced > 0
    on.save(tmp_path / "looks")

    def gone_on(**options: Any) -> Network:
        return network_of(Transformer.go_on(tmp_path / "looks", name="t", version="3", options=options))

    assert not gone_on(glance=0, layers=6).glances
    for glance in (1, 2):
        assert torch.equal(gone_on(glance=glance).glances["mark"].get_parameter("weight"), trained)
    with pytest.raises(ModelError, match="glances with 2 of its 4 layers"):
        gone_on(layers=6)
