"""A teacher's states: in a few directions, kept beside what it says, and told by students while they learn."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

torch = pytest.importorskip("torch")

from interpunct.errors import ConfigError, InputError  # noqa: E402
from interpunct.features import Features  # noqa: E402
from interpunct.labels import parse_tokens  # noqa: E402
from interpunct.models import load, type_named  # noqa: E402
from interpunct.models.encoded import IGNORED, Encoded, Heard  # noqa: E402
from interpunct.models.ensemble import Ensemble  # noqa: E402
from interpunct.models.imitation import Imitation  # noqa: E402
from interpunct.models.loop_options import LoopOptions  # noqa: E402
from interpunct.models.sequence_model import SequenceOptions  # noqa: E402
from interpunct.models.shown import STATE_STEP, Batch, Shown, covering  # noqa: E402
from interpunct.models.torch_loop import fit  # noqa: E402
from interpunct.train import distil, train  # noqa: E402
from interpunct.train.pack import Pack  # noqa: E402
from interpunct.train.said import DIRECTIONS, ask, file_of, taught  # noqa: E402
from interpunct.train.states import Directions  # noqa: E402
from interpunct.transcript import Transcript  # noqa: E402
from said import main as said_main  # noqa: E402

TEXTS = (
    "Well, I own it: don't you? And here! 42 things. Nobody remembers everything, which is what makes writing useful.",
    "The second talk begins. Nothing of it was recorded; the listeners only wrote down whatever they understood.",
)
LABELS = {"mark": ("", ",", ".", "?", "!", ":", ";", "—"), "case": ("lower", "sentence", "upper", "single", "mixed")}
WIDTH, LAYERS, NUMBERS = 8, 4, 3
CPU = torch.device("cpu")
Rows = npt.NDArray[Any]


def network(kind: str, **options: Any) -> Any:
    """An untrained model of few pieces, so that most words have several."""
    common = {"vocabulary": 60, "window": 8, "overlap": 4, "batch": 2}
    return type_named(kind).create(
        name=kind, version="1", labels=LABELS, options=common | options, words=" ".join(TEXTS).lower().split()
    )


def teacher(kind: str = "transformer", *, layers: int = LAYERS, **options: Any) -> Any:
    shape = {"width": WIDTH, "heads": 2, "inner": 12, "layers": layers}
    return network(kind, **shape, **({"positions": 64} if kind == "transformer" else {"kv_heads": 1}), **options)


def student(**options: Any) -> Any:
    return network("dilated", **{"embedding": 8, "width": 32, "dilations": (1, 2), "noise": 0.0} | options)


def packed(text: str) -> Pack:
    return Pack.of([Transcript(tuple(parse_tokens(text.split())))], sources=["iwslt:train"])


@pytest.fixture
def packs(tmp_path: Path) -> dict[str, Pack]:
    """Two packs, by the names of their files."""
    made = {}
    for name, text in zip("ab", TEXTS, strict=True):
        path = tmp_path / "packs" / f"{name}.pack"
        made[str(path)] = packed(text)
        made[str(path)].save(path)
    return made


# The directions of a teacher, and its states in them.


def layer_states(model: Any, layer: int, pieces: Any) -> Rows:
    """The states of a window's pieces after so many layers, by a network that has no more of them."""
    cut = copy.deepcopy(model.network)
    trunk = getattr(cut, "trunk", cut)
    trunk.layers = trunk.layers[:layer]
    if trunk is not cut:
        trunk.norm = torch.nn.Identity()  # a llama's stands behind the last layer
    with torch.no_grad():
        states = trunk(pieces[None], None) if trunk is not cut else cut.states(pieces[None], None)
    return np.asarray(states[0].numpy())


def slow_states(model: Any, pack: Pack, layer: int) -> Rows:
    """The states at each word's last piece, each of two windows deciding up to the middle of what they share."""
    encoded, options = pack.encoded(model.vocabulary, model.labels), model.options
    count, ends = len(pack), encoded.ends
    if options.pieces:
        begin, stop = (each.tolist() for each in covering(ends, options.pieces, options.overlap))
        last = [min(int(ends[first]) + options.pieces, int(ends[-1])) for first in begin]
    else:
        begin = [*range(0, count - options.window, options.window - options.overlap), count - options.window]
        stop = [first + options.window for first in begin]
        last = [int(ends[each]) for each in stop]
    found = np.empty((count, WIDTH), dtype=np.float32)
    for number, first in enumerate(begin):
        states = layer_states(model, layer, torch.from_numpy(encoded.pieces[ends[first] : last[number]]))
        decides = (first + stop[number - 1]) // 2 if number else 0
        for word in range(decides, stop[number]):  # what the next one decides is put there by it
            found[word] = states[ends[word + 1] - 1 - ends[first]]
    return found


@pytest.mark.parametrize(("layers", "seen"), [(1, (1,)), (2, (1, 2)), (4, (2, 3, 4)), (7, (3, 5, 7)), (12, (4, 8, 12))])
def test_layers_are_evenly_spaced_up_to_the_last(layers: int, seen: tuple[int, ...]) -> None:
    found = Directions.learn(teacher(layers=layers), packed(TEXTS[0]), numbers=2)
    assert found.layers == seen
    assert found.means.shape == (len(seen), WIDTH)
    assert found.axes.shape == (len(seen), WIDTH, 2)


def test_directions_are_those_in_which_the_states_differ_most() -> None:
    model, pack = teacher(), packed(" ".join(TEXTS * 5))
    found = Directions.learn(model, pack, numbers=NUMBERS)
    for layer, mean, axes in zip(found.layers, found.means, found.axes, strict=True):
        states = slow_states(model, pack, layer)
        numbers = (states - mean) @ axes
        assert numbers.mean(axis=0) == pytest.approx(0, abs=1e-5)
        assert np.square(numbers).mean() == pytest.approx(1, abs=0.01)
        lengths = np.linalg.svd(states - states.mean(axis=0), compute_uv=False)[:NUMBERS]
        assert np.sort(np.linalg.norm(numbers, axis=0))[::-1] / lengths == pytest.approx(
            math.sqrt(len(pack) / np.square(lengths).mean()), rel=0.01
        )


def test_directions_are_read_as_they_were_written(tmp_path: Path) -> None:
    made = Directions.learn(teacher(), packed(TEXTS[0]), numbers=NUMBERS)
    made.save(tmp_path / "said" / "directions.npz")
    read = Directions.load(tmp_path / "said" / "directions.npz")
    assert read.layers == made.layers == (2, 3, 4)
    assert np.array_equal(read.means, made.means)
    assert np.array_equal(read.axes, made.axes)


@pytest.mark.parametrize("kind", ["transformer", "llama"])
@pytest.mark.parametrize("pieces", [0, 24])
def test_teachers_states_are_those_of_its_layers_at_each_words_last_piece(kind: str, pieces: int) -> None:
    model, pack = teacher(kind, pieces=pieces), packed(" ".join(TEXTS))
    found = Directions.learn(model, packed(TEXTS[0]), numbers=NUMBERS)
    said, states = found.asked(model, pack)
    assert states.dtype == np.int8
    assert states.shape == (len(pack), 3 * NUMBERS)
    exact = np.concatenate(
        [
            (slow_states(model, pack, layer) - mean) @ axes
            for layer, mean, axes in zip(found.layers, found.means, found.axes, strict=True)
        ],
        axis=1,
    )
    assert np.abs(states * STATE_STEP - exact).max() < STATE_STEP / 2 + 1e-4
    assert len(np.unique(exact.round(4), axis=0)) == len(pack)  # so that words out of order would be seen
    for task, chances in distil.asked(model, pack).items():
        assert np.array_equal(said[task], chances)


def test_states_that_are_too_far_for_a_byte_stay_at_its_end() -> None:
    model, pack = teacher(), packed(TEXTS[0])
    near = Directions.learn(model, pack, numbers=NUMBERS)
    far = replace(near, axes=near.axes * 1000)
    once, often = (each.asked(model, pack)[1] for each in (near, far))
    assert set(np.abs(often[np.abs(once) > 1]).tolist()) == {127}
    assert np.array_equal(np.sign(often[np.abs(once) > 1]), np.sign(once[np.abs(once) > 1]))


def test_nobody_listens_to_a_teacher_that_was_asked() -> None:
    model, pack = teacher(), packed(TEXTS[0])
    Directions.learn(model, pack, numbers=NUMBERS).asked(model, pack)
    assert not any(layer._forward_hooks for layer in model.network.layers)


def test_teacher_without_layers_that_read_everything_is_refused() -> None:
    pack = packed(TEXTS[0])
    some = Directions.learn(teacher(), pack, numbers=NUMBERS)
    for model in (network("bigru", embedding=8, hidden=8, layers=1), student(), teacher(glance=1)):
        with pytest.raises(InputError, match=f"the teacher {model.name} has no layers"):
            Directions.learn(model, pack, numbers=NUMBERS)
        with pytest.raises(InputError, match=f"the teacher {model.name} has no layers"):
            some.asked(model, pack)


@pytest.mark.parametrize(("numbers", "words"), [(WIDTH + 1, 16), (5, 5)])
def test_more_directions_than_there_can_be_are_refused(numbers: int, words: int) -> None:
    pack = packed(" ".join(TEXTS[0].split()[:words]))
    with pytest.raises(InputError, match=f"{numbers} directions of {WIDTH} numbers and {words} words; ask"):
        Directions.learn(teacher(), pack, numbers=numbers)


def test_file_of_directions_that_is_cut_or_another_is_told_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "directions.npz"
    Directions.learn(teacher(), packed(TEXTS[0]), numbers=NUMBERS).save(path)
    whole = path.read_bytes()
    packed(TEXTS[0]).save(tmp_path / "a.pack")
    for content in (whole[: len(whole) // 2], b"", b"no directions", (tmp_path / "a.pack").read_bytes()):
        path.write_bytes(content)
        with pytest.raises(InputError, match="not a teacher's directions"):
            Directions.load(path)


# What is kept of them, and who reads it.


def test_states_stand_beside_what_was_said_for_a_student_that_imitates(packs: dict[str, Pack], tmp_path: Path) -> None:
    (first, pack), (second, other) = packs.items()
    model = teacher()
    directions = Directions.learn(model, pack, numbers=NUMBERS)
    for name, each in packs.items():
        ask(model, each, file_of(tmp_path, name), directions)
    names = [second, first, second]
    here, there = (directions.asked(model, each)[1] for each in (pack, other))
    imitating, plain = (
        taught(student(imitate=imitate), [str(tmp_path)], names, [packs[name] for name in names])
        for imitate in (0.5, 0.0)
    )
    assert imitating.states is not None
    assert np.array_equal(imitating.states, np.concatenate([there, here, there]))
    assert plain.states is None
    for task in LABELS:
        assert np.array_equal(plain.targets[task], imitating.targets[task])
        assert np.array_equal(plain.targets[task][len(other) :][: len(pack)], distil.asked(model, pack)[task])


def test_one_teachers_states_are_read_beside_what_several_say(packs: dict[str, Pack], tmp_path: Path) -> None:
    first, pack = next(iter(packs.items()))
    model = teacher()
    directions = Directions.learn(model, pack, numbers=NUMBERS)
    ask(model, pack, file_of(tmp_path / "one", first), directions)
    ask(network("bigru", embedding=8, hidden=8, layers=1), pack, file_of(tmp_path / "two", first))
    found = taught(student(imitate=1.0), [str(tmp_path / "two"), str(tmp_path / "one")], [first], [pack])
    assert found.states is not None
    assert np.array_equal(found.states, directions.asked(model, pack)[1])


def test_states_that_nobody_kept_or_several_did_are_refused(packs: dict[str, Pack], tmp_path: Path) -> None:
    (first, pack), (second, _) = packs.items()
    folders = [str(tmp_path / name) for name in ("one", "two")]
    model = teacher()
    directions = Directions.learn(model, pack, numbers=NUMBERS)
    ask(model, pack, file_of(tmp_path / "one", first), directions)
    for name, each in packs.items():
        ask(model, each, file_of(tmp_path / "two", name))
    with pytest.raises(InputError, match=r"no teacher's states of .*b\.pack"):
        taught(student(imitate=0.5), folders, [first, second], list(packs.values()))
    ask(model, pack, file_of(tmp_path / "two", first), directions)
    with pytest.raises(InputError, match=r"the states of several teachers of .*a\.pack"):
        taught(student(imitate=0.5), folders, [first], [pack])


def test_imitating_less_than_not_at_all_is_refused() -> None:
    for imitate in (-1.0, math.nan):
        with pytest.raises(ConfigError, match=f"imitate {imitate} must not be negative"):
            student(imitate=imitate)


def test_recipe_keeps_states_in_the_directions_that_the_folder_has(
    packs: dict[str, Pack], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, (first, second) = tmp_path / "said", packs
    for made in (teacher(), student()):
        (tmp_path / made.TYPE).mkdir()
        made.save(tmp_path / made.TYPE)

    def asked(model: str, pack: str, *more: str) -> int:
        path = str(tmp_path / model)
        monkeypatch.setattr("sys.argv", ["said.py", path, pack, "-o", str(folder), "--device", "cpu", *more])
        return said_main()

    assert asked("dilated", first, "--states", "3") == 1
    assert "said.py: error: the teacher dilated 1 has no layers" in capsys.readouterr().err
    assert not folder.exists()
    assert asked("transformer", first, "--states", "3") == 0
    chosen = file_of(folder, DIRECTIONS).read_bytes()
    assert asked("transformer", second, "--states", "5") == 0
    assert file_of(folder, DIRECTIONS).read_bytes() == chosen
    directions = Directions.load(file_of(folder, DIRECTIONS))
    expected = [directions.asked(load(tmp_path / "transformer"), pack)[1] for pack in packs.values()]
    found = taught(student(imitate=0.5), [str(folder)], [first, second], list(packs.values()))
    assert found.states is not None
    assert np.array_equal(found.states, np.concatenate(expected))
    assert found.states.shape[1] == 3 * 3
    assert asked("transformer", second) == 0  # without states again
    with pytest.raises(InputError, match=r"no teacher's states of .*b\.pack"):
        taught(student(imitate=0.5), [str(folder)], [first, second], list(packs.values()))


# What a network is shown of them.


def cut(**given: Any) -> SequenceOptions:
    """How text is cut and shown: in short windows, without mistakes unless these are given."""
    return SequenceOptions(**{"window": 8, "overlap": 4, "batch": 3, "noise": 0.0} | given)


def corpus(words: int = 100) -> Encoded:
    """Word i has 1 to 3 pieces, all of them i + 1, and the states i and -i; every fifth has a mark."""
    sizes = np.array([1 + i % 3 for i in range(words)])
    places = np.arange(words)
    return Encoded(
        np.repeat(places + 1, sizes),
        np.concatenate([[0], np.cumsum(sizes)]),
        places[::5],
        {"mark": (places % 5 == 4).astype(np.int64)},
        states=np.stack([places, -places], axis=1).astype(np.int8),
    )


def word_and_states(batch: Batch) -> Iterator[tuple[int, list[float]]]:
    """Yield the word whose pieces stand at each place, and the states there."""
    assert batch.states is not None
    assert batch.states.shape == (*batch.words.shape, 2)
    known = batch.labels["mark"] != IGNORED
    words = batch.pieces.gather(1, batch.words)[known] - 1
    yield from zip(words.tolist(), (batch.states[known] / STATE_STEP).tolist(), strict=True)


@pytest.mark.parametrize(
    "options",
    [
        cut(),
        cut(shortest=5, longest=6),
        cut(pieces=16),
        cut(dropped=0.3, doubled=0.3),
        cut(pieces=16, dropped=0.2, doubled=0.2),
    ],
)
def test_shown_states_are_those_of_the_words_beside_them(options: SequenceOptions) -> None:
    shown = Shown(corpus(), options, CPU, unmarked=0)
    torch.manual_seed(1)
    seen = set()
    for batch in (batch for seed in range(5) for batch in shown.batches(seed)):
        for word, states in word_and_states(batch):
            assert states == pytest.approx([word, -word], abs=1e-4)
            seen.add(word)
    assert len(seen) > 80


def test_shown_states_of_a_word_misheard_are_its_own() -> None:
    others = np.full((100, 2), 98)  # every word is heard as one of three pieces
    heard = Heard(np.arange(100, dtype=np.uint32), others, np.ones(100, np.float32), np.zeros(100, np.float32))
    (batch,) = Shown(replace(corpus(), heard=heard), cut(window=100), CPU, unmarked=0).plain_batches()
    plain = list(word_and_states(batch))
    assert [word for word, _ in plain] == list(range(100))
    shown = Shown(replace(corpus(), heard=heard), cut(window=20), CPU, unmarked=0)
    for batch in shown.batches(1):
        heard_as, states = zip(*word_and_states(batch), strict=True)
        assert set(heard_as) == {98}
        assert len({round(state[0]) for state in states}) == len(states)


def test_shown_without_states_has_none() -> None:
    for batch in Shown(replace(corpus(), states=None), cut(), CPU).plain_batches():
        assert batch.states is None


# What a student learns of them.


@pytest.fixture(scope="module")
def lesson() -> Encoded:
    """What a student that was made by `student` learns from: labels, what a teacher says, and its states."""
    pack, model, learner = packed(" ".join(TEXTS * 4)), teacher(), student()
    targets, states = Directions.learn(model, pack, numbers=NUMBERS).asked(model, pack)
    return replace(pack.encoded(learner.vocabulary, LABELS), targets=targets, states=states)


def learned(model: Any, data: Encoded, *, epochs: int = 2, **loop: Any) -> Any:
    options = LoopOptions(epochs=epochs, rate=1e-2, device="cpu", **loop)
    return model.fit(data, replace(data, targets={}, states=None), loop=options, log=lambda _: None)


def weights(model: Any) -> dict[str, Any]:
    return dict(model.network.state_dict())


def same(one: Any, other: Any) -> bool:
    """Whether two models have the same weights."""
    ours, theirs = weights(one), weights(other)
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_student_learns_to_tell_states_and_that_counts_less_and_less(
    lesson: Encoded, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = student(imitate=2.0, dropout=0.0, window=16)
    errors: list[float] = []
    counted: list[float] = []
    state_loss = Imitation.loss

    def noted(self: Imitation, told: Any, batch: Batch) -> Any:
        assert told.shape == (*batch.words.shape, 3 * NUMBERS)
        loss = state_loss(self, told, batch)
        errors.append(loss.item())
        counted.append(float(self.counts))
        return loss

    monkeypatch.setattr(Imitation, "loss", noted)
    learned(model, lesson, epochs=20)
    tenth = len(errors) // 10
    assert np.mean(errors[:tenth]) > 0.8
    assert np.mean(errors[-tenth:]) < 0.5
    assert counted[0] == 2.0
    assert all(later <= earlier for earlier, later in pairwise(counted))
    assert 0 <= counted[-1] < 2.0 / tenth


def test_state_loss_is_the_mean_square_over_words_that_are_there(lesson: Encoded) -> None:
    model = student(imitate=1.0, window=50)
    (*_, batch) = Shown(lesson, model.options, CPU).plain_batches()
    assert batch.states is not None
    known = batch.labels["mark"] != IGNORED
    told = torch.where(known[:, :, None], batch.states + 0.5, 1e6)
    assert Imitation(model, batch.states.shape[2], CPU).loss(told, batch).item() == pytest.approx(0.25)


@pytest.mark.parametrize("loop", [{}, {"average": 0.5}, {"epochs": 0}])
def test_student_that_has_learned_tells_no_states(lesson: Encoded, tmp_path: Path, loop: dict[str, Any]) -> None:
    model = learned(student(imitate=1.0), lesson, **loop)
    assert weights(model).keys() == weights(student()).keys()
    model.save(tmp_path)
    again: Any = load(tmp_path)
    assert same(again, model)
    (scores,) = again.forward([Features(("the", "second", "talk"))])
    assert {*scores.tasks} == {*LABELS}
    assert again.options.imitate == 1.0


def test_states_teach_only_students_that_imitate(lesson: Encoded) -> None:
    without = replace(lesson, states=None)
    assert same(learned(student(), lesson), learned(student(), without))
    assert same(learned(student(imitate=1.0), without), learned(student(), without))
    assert not same(learned(student(imitate=1.0), lesson), learned(student(), without))


def test_recurrent_networks_and_encoders_can_imitate_too(lesson: Encoded) -> None:
    for model in (network("bigru", embedding=8, hidden=8, layers=1), teacher(), teacher("llama")):
        before = weights(model).keys()
        imitating = type(model)(
            replace(model.description, options={**model.description.options, "imitate": 1.0}), model.vocabulary
        )
        assert weights(learned(imitating, lesson, epochs=1)).keys() == before


def test_a_network_of_layers_tells_states_from_those_of_the_same_height(lesson: Encoded) -> None:
    for kind, begin in (("transformer", "layers."), ("llama", "trunk.layers.")):
        model = teacher(kind, imitate=1.0, window=50, dropout=0.0)
        (*_, batch) = Shown(lesson, model.options, CPU).plain_batches()
        with Imitation(model, 3 * NUMBERS, CPU) as imitation:
            logits = model.network.train()(batch.pieces, batch.lengths, batch.words)
            told = imitation.told(model.network, logits, batch)
            assert told.shape == (*batch.words.shape, 3 * NUMBERS)
            for look, last in enumerate((2, 3, 4)):
                model.network.zero_grad(set_to_none=True)
                told[:, :, look * NUMBERS : (look + 1) * NUMBERS].sum().backward(retain_graph=True)  # type: ignore[no-untyped-call]
                taught_layers = {
                    int(name.removeprefix(begin).split(".")[0]) + 1
                    for name, weight in model.network.named_parameters()
                    if name.startswith(begin) and weight.grad is not None and weight.grad.any()
                }
                assert taught_layers == set(range(1, last + 1))


def test_a_network_of_layers_learns_to_tell_states(lesson: Encoded, monkeypatch: pytest.MonkeyPatch) -> None:
    model = teacher(imitate=2.0, dropout=0.0, attention_dropout=0.0, noise=0.0, window=16)
    errors: list[float] = []
    state_loss = Imitation.loss

    def noted(self: Imitation, told: Any, batch: Batch) -> Any:
        errors.append((loss := state_loss(self, told, batch)).item())
        return loss

    monkeypatch.setattr(Imitation, "loss", noted)
    before = weights(model).keys()
    learned(model, lesson, epochs=30, average=0.9)
    assert np.mean(errors[-3:]) < 0.5 * np.mean(errors[:3])
    assert weights(model).keys() == before
    assert not any(layer._forward_hooks for layer in model.network.layers)


def test_network_without_branches_of_its_own_kind_cannot_imitate(lesson: Encoded) -> None:
    model = network("birnn", hidden=8, imitate=1.0, clitics="joined")
    before = weights(model)
    with pytest.raises(InputError, match=r"'birnn' cannot tell a teacher's states; set options\.imitate to 0"):
        learned(model, lesson)
    assert weights(model).keys() == before.keys()


def test_fit_tells_which_share_of_the_way_is_behind_each_step() -> None:
    def shares(options: LoopOptions, pause: float = 0.0) -> list[float]:
        found: list[float] = []

        def loss(module: Any, batch: Any) -> Any:
            time.sleep(pause)
            return module(batch).square().mean()

        fit(
            torch.nn.Linear(1, 1),
            batches=lambda _: [torch.ones(2, 1)] * 5,
            steps=4,  # about so many, and in truth one more
            loss=loss,
            score=lambda _: {"dev": 0.0},
            options=options,
            log=lambda _: None,
            progress=found.append,
        )
        return found

    every = [0, 1 / 8, 2 / 8, 3 / 8, 4 / 8, 4 / 8, 5 / 8, 6 / 8, 7 / 8, 1]
    assert shares(LoopOptions(epochs=2, device="cpu")) == pytest.approx(every)
    timed = shares(LoopOptions(epochs=1000, seconds=0.3, device="cpu"), pause=0.01)
    assert timed[0] < 0.5 < timed[-1] <= 1
    assert all(later >= earlier for earlier, later in pairwise(timed))


# What was not so at first.


def test_student_that_imitates_depends_on_its_seed_alone(lesson: Encoded) -> None:
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        found.append(learned(student(imitate=1.0), lesson, epochs=1))
    assert same(*found)


def test_student_whose_training_was_stopped_tells_no_states(lesson: Encoded) -> None:
    def stop(_: Any) -> None:
        raise KeyboardInterrupt

    model = student(imitate=1.0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(lesson, replace(lesson, states=None), loop=LoopOptions(epochs=1, device="cpu"), log=stop)
    assert weights(model).keys() == weights(student()).keys()


def test_student_that_glances_cannot_imitate(lesson: Encoded) -> None:
    with pytest.raises(InputError, match="cannot tell a teacher's states"):
        learned(teacher(glance=1, imitate=1.0), lesson, epochs=1)


@pytest.mark.parametrize("numbers", [0, -1])
def test_fewer_directions_than_one_are_refused(numbers: int) -> None:
    with pytest.raises(InputError, match="directions"):
        Directions.learn(teacher(), packed(TEXTS[0]), numbers=numbers)


def test_pack_of_nothing_has_no_directions_and_no_states() -> None:
    some = Directions.learn(teacher(), packed(TEXTS[0]), numbers=NUMBERS)
    with pytest.raises(InputError, match="no words"):
        Directions.learn(teacher(), Pack.of([]), numbers=NUMBERS)
    with pytest.raises(InputError, match="no words"):
        some.asked(teacher(), Pack.of([]))


def test_several_teachers_at_once_have_no_states() -> None:
    pack, both = packed(TEXTS[0]), Ensemble.of([teacher(), teacher()], name="both", version="1")
    some = Directions.learn(teacher(), pack, numbers=NUMBERS)
    with pytest.raises(InputError, match="no layers"):
        some.asked(both, pack)


@pytest.mark.parametrize("shape", [{"layers": 2}, {"layers": LAYERS, "width": 2 * WIDTH}])
def test_directions_of_a_network_of_another_shape_are_refused(shape: dict[str, int]) -> None:
    pack = packed(TEXTS[0])
    some = Directions.learn(teacher(), pack, numbers=NUMBERS)
    with pytest.raises(InputError, match="another"):
        some.asked(network("transformer", **{"width": WIDTH, "heads": 2, "inner": 12, "positions": 64} | shape), pack)


def test_states_that_are_damaged_are_told_in_a_line(packs: dict[str, Pack], tmp_path: Path) -> None:
    first, pack = next(iter(packs.items()))
    path = file_of(tmp_path, first)
    model = teacher()
    _, states = (directions := Directions.learn(model, pack, numbers=NUMBERS)).asked(model, pack)
    ask(model, pack, path, directions)
    path.write_bytes(path.read_bytes().replace(states.tobytes(), states[::-1].tobytes()))
    with pytest.raises(InputError, match="not what a teacher said"):
        taught(student(imitate=0.5), [str(tmp_path)], [first], [pack])


@pytest.mark.parametrize("each", [(2, 3), (3, 3)])
def test_states_in_other_directions_do_not_go_together(
    packs: dict[str, Pack], tmp_path: Path, each: tuple[int, int]
) -> None:
    model = teacher()
    for (name, pack), numbers in zip(packs.items(), each, strict=True):
        ask(model, pack, file_of(tmp_path, name), Directions.learn(model, pack, numbers=numbers))
    with pytest.raises(InputError, match="directions"):
        taught(student(imitate=0.5), [str(tmp_path)], list(packs), list(packs.values()))


def test_a_configuration_trains_a_student_that_imitates(
    packs: dict[str, Pack], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interpunct.train.specs.read", lambda *_: iter([Transcript(tuple(parse_tokens(["Yes", "."])))]))
    model, kept = teacher(), tmp_path / "said"
    directions = Directions.learn(model, packed(TEXTS[0]), numbers=NUMBERS)
    for name, pack in packs.items():
        ask(model, pack, file_of(kept, name), directions)
    text = f"""
        [model]
        type = "dilated"
        name = "student"
        version = "1"
        [data]
        train = {list(packs)}
        dev = ["iwslt:dev"]
        said = ["{kept}"]
        [train]
        epochs = 1
        device = "cpu"
        [options]
        vocabulary = 60
        width = 32
        imitate = 0.5
    """
    (tmp_path / "student.toml").write_text(text)
    train(tmp_path / "student.toml", tmp_path / "student")
    assert "heads.states.weight" not in weights(load(tmp_path / "student"))
    ask(model, packed(TEXTS[0]), file_of(tmp_path / "plain", first := next(iter(packs))))
    goes_on = text.replace("imitate = 0.5", "").replace(str(kept), str(tmp_path / "plain"))
    goes_on = goes_on.replace(str(list(packs)), str([first]))
    goes_on = goes_on.replace('version = "1"', f'version = "2"\n        start = "{tmp_path / "student"}"')
    (tmp_path / "next.toml").write_text(goes_on)
    train(tmp_path / "next.toml", tmp_path / "next")  # it imitates no more, and needs no states
    went_on: Any = load(tmp_path / "next")
    assert went_on.options.imitate == 0
    (tmp_path / "bad.toml").write_text(text.replace("said =", "# said ="))
    with pytest.raises(ConfigError, match=r"options\.imitate tells the states that data\.said keeps"):
        train(tmp_path / "bad.toml", tmp_path / "bad")
