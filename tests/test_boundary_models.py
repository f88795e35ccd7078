"""The models of paper 004 and the way prosody reaches them. The contract of every type is in test_models."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from conftest import SAMPLES
from interpunct import models
from interpunct.decode import DecodeOptions
from interpunct.decode.reading import Reading, score_tokens
from interpunct.decode.windows import scored
from interpunct.errors import ConfigError, InputError, MissingExtraError, ModelError
from interpunct.features import Features
from interpunct.features.embeddings import read_embeddings
from interpunct.features.prosody import Prosody, measure_prosody
from interpunct.features.prosody_table import NAMES
from interpunct.labels import parse_text
from interpunct.models.boundary_crf import BoundaryCRF, binned
from interpunct.models.encoded import IGNORED, Tagged, encode, joined
from interpunct.models.loop_options import LoopOptions
from interpunct.models.pieces import Pieces
from interpunct.models.place_inputs import PlaceInputs, Scale
from interpunct.models.place_model import Rows
from interpunct.models.place_network import ShownRows
from interpunct.models.prosody_tree import Tree
from interpunct.models.svm import Machine, platt
from interpunct.models.tag_crf import CHUNK, POS, TagCRF, tag_features
from interpunct.models.window_lstm import WindowLSTM
from interpunct.restore import Restorer
from interpunct.transcript import Transcript, Word

VECTORS = str(SAMPLES / "vectors.txt")
LABELS = {"mark": ("", ".")}
TEXT = "So how are you. I am fine thanks. My name is Anna and I live in New York. I don't know Bob."
PAUSE = NAMES.index("pause_after_s")


def prosody(rows: int, seed: int = 1, *, missing: float = 0.3) -> Prosody:
    """Random prosody, some of it missing."""
    rng = np.random.default_rng(seed)
    known = rng.random((rows, len(NAMES))) >= missing
    return Prosody(np.where(known, rng.normal(0, 1, known.shape), 0).astype(np.float32), known)


def spoken(text: str = TEXT, seed: int = 1) -> Tagged:
    """A text whose pause is long behind sentences, and whose words tell nothing."""
    words = parse_text(text)
    found = prosody(len(words), seed)
    values, known = found.values.copy(), found.known.copy()
    known[:, 3:] = False  # so few texts must not drown in noise
    values[~known] = 0.0
    values[:, PAUSE] = [0.8 if word.mark == "." else 0.05 for word in words]
    known[:, PAUSE] = True
    return Tagged(Transcript(words), prosody=replace(found, values=values, known=known))


def made(kind: str, *, labels: dict[str, tuple[str, ...]] | None = None, seed: int = 1, **options: Any) -> Any:
    texts = Features.of(TEXT.split()).texts * 5
    return models.type_named(kind).create(
        name="tiny", version="1", labels=labels or LABELS, options=options, words=texts, seed=seed
    )


def fitted(model: Any, documents: list[Tagged], *, epochs: int = 30, rate: float = 1e-2) -> Any:
    data = model.encode(documents)
    return model.fit(data, data, loop=LoopOptions(epochs=epochs, rate=rate, device="cpu"), log=lambda _: None)


def taught_tagger(folder: Path) -> Path:
    """A tagger of some tags that need not make sense."""
    words = parse_text(TEXT)
    pos = ["V" if len(word.text) == 2 else "N" for word in words]
    tags = {POS: pos, CHUNK: ["O" if tag == "V" else "S-NP" for tag in pos]}
    model = TagCRF.create(
        name="tags", version="1", labels={POS: ("N", "V"), CHUNK: ("O", "S-NP")}, options={"least": 1}, words=()
    )
    data = model.encode([Tagged(Transcript(words), tags)])
    model.fit(data, data, loop=LoopOptions(epochs=20), log=lambda _: None).save(folder)
    return folder


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(taught_tagger(tmp_path_factory.mktemp("taggers") / "tags"))


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A trained network of section 5.2, in its folder."""
    folder = tmp_path_factory.mktemp("networks") / "window"
    model = made("window_lstm", least=1, embedding=6, units=8, hidden=5, window=16, batch=2)
    fitted(model, [Tagged(Transcript(parse_text(TEXT)))], epochs=3).save(folder)
    return str(folder)


# The way of prosody


def test_features_are_cut_together_with_their_prosody() -> None:
    features = Features.of(["So", "how", "are"], prosody(3))
    assert features.prosody is not None
    part = features[1:3]
    assert part.texts == ("how", "are")
    assert part.prosody is not None
    assert np.array_equal(part.prosody.values, features.prosody.values[1:])
    assert Features.of(["so"])[:1].prosody is None
    with pytest.raises(InputError, match="prosody of 2 words for 1 words"):
        Features.of(["so"], prosody(2))


def test_encode_gives_each_unit_its_words_row() -> None:
    (so, dont, go) = parse_text("So don't go.")
    words = (so, Word("♪"), dont, go)
    texts = [word.text for word in words]
    rows = prosody(len(words))
    vocabulary = Pieces.learn(["so", "do", "n't", "go"] * 3, size=60)
    encoded = encode([Tagged(Transcript(words), prosody=rows)], vocabulary, LABELS, clitics="split")
    wanted = [place for place, text in enumerate(texts) for _ in range({"don't": 2, "♪": 0}.get(text, 1))]
    assert encoded.prosody is not None
    assert np.array_equal(encoded.prosody.values, rows.values[wanted])
    assert np.array_equal(encoded.prosody.known, rows.known[wanted])
    assert encoded.labels["mark"].tolist() == [0, 0, 0, 1]  # prosody alone is no reason not to teach marks
    assert encode([Transcript(words)], vocabulary, LABELS).prosody is None


def test_encoded_corpora_are_joined_with_prosody_missing_where_there_was_none() -> None:
    vocabulary = Pieces.learn(["so", "go"] * 3, size=60)
    words = parse_text("So go.")
    with_rows = encode([Tagged(Transcript(words), prosody=prosody(2))], vocabulary, LABELS)
    without = encode([Transcript(words)], vocabulary, LABELS)
    both = joined([without, with_rows])
    mixed = encode([Transcript(words), Tagged(Transcript(words), prosody=prosody(2))], vocabulary, LABELS)
    for found in (both, mixed):
        assert found.prosody is not None
        assert not found.prosody.known[:2].any()
        assert np.array_equal(found.prosody.values[2:], prosody(2).values)
    assert joined([without, without]).prosody is None
    with pytest.raises(InputError, match="prosody of 1 words for 2 words"):
        Tagged(Transcript(words), prosody=prosody(1))


class Hearing:
    """A model that says of each unit what its pause is."""

    name = "hearing 1"
    labels = LABELS
    context = models.Context(2, 1)

    def __init__(self, clitics: Any) -> None:
        self.clitics = clitics

    def forward(self, windows: Any) -> list[models.Scores]:
        found = []
        for window in windows:
            rows = np.zeros(len(window)) if window.prosody is None else window.prosody.values[:, PAUSE]
            chances = np.maximum(np.stack([1 - rows, rows], axis=1), 1e-9)
            found.append(models.Scores({"mark": np.log(chances).astype(np.float32)}))
        return found


@pytest.mark.parametrize("clitics", ["joined", "split"])
def test_reading_hands_out_the_row_of_the_last_token(clitics: str) -> None:
    tokens = ["So", "♪", "do", "n't", "we'll"]
    rows = prosody(5)
    pauses = np.array([0.1, 0.2, 0.3, 0.4, 0.6], dtype=np.float32)
    rows.values[:, PAUSE] = pauses
    reading = Reading(tokens, Hearing(clitics), rows)
    assert reading.features.prosody is not None
    wanted = [0.1, 0.4, 0.6] if clitics == "joined" else [0.1, 0.3, 0.4, 0.6, 0.6]
    np.testing.assert_allclose(reading.features.prosody.values[:, PAUSE], wanted)
    found, silent = score_tokens(Hearing(clitics), [tokens, ["so"]], prosody=[rows, None])
    heard = np.exp(found.tasks["mark"][:, 1])
    np.testing.assert_allclose(heard[[0, 3, 4]], [0.1, 0.4, 0.6], atol=1e-5)
    assert heard[1] < 1e-6
    assert np.exp(silent.tasks["mark"][0, 1]) < 1e-6
    with pytest.raises(InputError, match="prosody of 5 words for 4 words"):
        Reading(tokens[:4], Hearing(clitics), rows)
    with pytest.raises(ValueError, match="shorter"):
        list(score_tokens(Hearing(clitics), [tokens, ["so"]], prosody=[rows]))


# Rows of numbers


def test_scale_is_that_of_the_known_numbers() -> None:
    rng = np.random.default_rng(1)
    table = rng.normal(3, 2, (50, 4)).astype(np.float32)
    table[:, 2] = 7.0
    table[rng.random((50, 4)) < 0.2] = np.nan
    table[:, 3] = np.nan
    scale = Scale.learn([table[:20], table[20:]], 4)
    np.testing.assert_allclose(scale.mean[:3], np.nanmean(table[:, :3], axis=0), rtol=1e-5)
    np.testing.assert_allclose(scale.deviation[:2], np.nanstd(table[:, :2], axis=0), rtol=1e-4)
    assert scale.deviation[2:].tolist() == [1.0, 1.0]
    found = scale.scaled(table)
    assert found.dtype == np.float32
    assert (found[np.isnan(table)] == 0).all()
    assert np.abs(scale.scaled(np.full((1, 4), 1e9, dtype=np.float32))).max() == 10


def test_inputs_stand_beside_one_another_in_their_order(tagger: str, network: str) -> None:
    inputs = PlaceInputs(
        [read_embeddings(VECTORS)],
        [WindowLSTM.load(Path(network))],
        [TagCRF.load(Path(tagger))],
        prosody=True,
    )
    rows = prosody(3)
    features = Features.of(["so", "xyzzy", "how"], rows)
    found = inputs.rows(features)
    vectors = read_embeddings(VECTORS)
    assert found.shape == (3, inputs.width) == (3, 12 + 5 + 2 * len(NAMES) + 4)
    np.testing.assert_allclose(found[0, :12], vectors.vectors[vectors.words.index("so")])
    np.testing.assert_allclose(found[1, :12], vectors.unknown, rtol=1e-5)
    np.testing.assert_allclose(found[:, 12:17], WindowLSTM.load(Path(network)).hidden([features])[0])
    np.testing.assert_allclose(found[:, 17 : 17 + len(NAMES)], rows.values)
    assert np.array_equal(found[:, 17 + len(NAMES) : -4], rows.known)
    assert found[:, -4:].sum(axis=1).tolist() == [2, 2, 2]
    names = inputs.tags(features)
    assert [("N", "V").index(tag) for tag in names[POS]] == found[:, -4:-2].argmax(axis=1).tolist()
    silent = inputs.rows(Features.of(["so"]))
    assert not silent[:, 17:-4].any()


@pytest.mark.parametrize("kind", ["dblstm", "svm", "prosody_dnn", "prosody_tree"])
def test_model_with_all_inputs_is_whole_in_its_folder(kind: str, tagger: str, network: str, tmp_path: Path) -> None:
    """What options name is not needed once the model is saved."""
    vectors = tmp_path / "vectors.txt"
    vectors.write_bytes(Path(VECTORS).read_bytes())
    options: dict[str, Any] = {"vectors": (str(vectors),), "contextual": (network,), "tags": (tagger,)}
    model = fitted(made(kind, prosody=True, clitics="split", **options), [spoken()], epochs=2)
    vectors.unlink()
    model.save(tmp_path / "m")
    again = models.load(tmp_path / "m")
    document = spoken("Thanks Bob. I know.", 2)
    for rows in (document.prosody, None):
        given = [Features.of([word.text for word in document.transcript.words], rows), Features.of(["ж"])]
        for one, other in zip(scored(model, given), scored(again, given), strict=True):
            assert np.array_equal(one.tasks["mark"], other.tasks["mark"])


def test_model_says_what_is_wrong_with_its_inputs(network: str, tagger: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nothing to read"):
        made("dblstm")
    with pytest.raises(ConfigError, match="layers is empty"):
        made("dblstm", prosody=True, layers=())
    with pytest.raises(InputError, match=r"options\.vectors"):
        made("svm", vectors=("nowhere.txt",))
    with pytest.raises(ModelError, match="no hidden layer"):
        made("dblstm", contextual=(tagger,))
    with pytest.raises(ModelError, match="reads clitics split"):
        made("dblstm", tags=(tagger,), clitics="joined")
    fitted(made("svm", vectors=(VECTORS,)), [spoken()]).save(tmp_path / "m")
    for name in ("arrays.npz", "scale.npz"):
        data = (tmp_path / "m" / name).read_bytes()
        (tmp_path / "m" / name).write_bytes(data[:50])
        with pytest.raises(ModelError, match=name):
            models.load(tmp_path / "m")
        np.savez(tmp_path / "m" / name, other=np.zeros(3))
        with pytest.raises(ModelError, match=name):
            models.load(tmp_path / "m")
        (tmp_path / "m" / name).write_bytes(data)
    models.load(tmp_path / "m")


# What each model learns


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("dblstm", {"layers": (16, 8), "prosody": True, "window": 12, "batch": 8, "dropout": 0.0}),
        ("prosody_dnn", {"layers": (16,), "batch": 32, "dropout": 0.0}),
        ("prosody_tree", {"leaf": 1}),
        ("svm", {"prosody": True, "c": 0.1}),
    ],
)
def test_model_learns_where_the_pause_is_long(kind: str, options: dict[str, Any]) -> None:
    train = [spoken(seed=seed) for seed in range(12)]
    model = fitted(made(kind, **options), train)
    document = spoken("Live in York. Thanks. How are you and Bob. I know.", 99)
    (scores,) = score_tokens(model, [[word.text for word in document.transcript.words]], prosody=[document.prosody])
    wanted = [int(word.mark == ".") for word in document.transcript.words]
    assert scores.chosen("mark").tolist() == wanted
    np.testing.assert_allclose(np.exp(scores.tasks["mark"]).sum(axis=1), 1, atol=1e-5)


def test_restorer_lets_a_model_hear_what_times_tell() -> None:
    def said(words: int) -> Transcript:
        starts = np.cumsum([0.0] + [0.3 + 0.6 * (place % 5 == 4) for place in range(words - 1)])
        marks = ("." if place % 5 == 4 else "" for place in range(words))
        return Transcript(
            tuple(Word("so", float(at), float(at) + 0.3, mark=mark) for at, mark in zip(starts, marks, strict=True))
        )

    document = said(100)
    model = fitted(made("prosody_tree", leaf=1), [Tagged(document, prosody=measure_prosody(document))])
    restorer = Restorer(model)
    assert [word.mark for word in restorer.restore(said(60)).words] == [word.mark for word in said(60).words]
    deaf = restorer.restore(said(60), DecodeOptions(prosody=False)).words
    assert len({word.mark for word in deaf[:-1]}) == 1  # without it one place is like another


def test_dblstm_on_prosody_does_not_look_at_words() -> None:
    model = fitted(made("dblstm", layers=(6,), prosody=True), [spoken()], epochs=2)
    rows = prosody(4)
    one, other = model.forward([Features.of("so how are you".split(), rows), Features.of("a b c d".split(), rows)])
    assert np.array_equal(one.tasks["mark"], other.tasks["mark"])


def test_rows_are_shown_once_an_epoch_and_never_across_documents() -> None:
    documents = [np.arange(first, first + size, dtype=np.float32)[:, None] for first, size in ((0, 7), (7, 1), (8, 12))]
    labels = [{"mark": document[:, 0].astype(np.int64)} for document in documents]
    shown = ShownRows(Rows(documents, labels), torch.device("cpu"))
    cuts = set()
    for seed in range(6):
        seen: list[int] = []
        for batch in shown.batches(5, 2, seed=seed):
            for rows, length, right in zip(batch.rows[:, :, 0], batch.lengths, batch.labels["mark"], strict=True):
                size = int(length)
                assert 1 <= size <= 5
                assert rows[:size].tolist() == right[:size].tolist()
                assert (right[size:] == IGNORED).all()
                assert (rows[size:] == 0).all()
                assert len({(place >= 7) + (place >= 8) for place in rows[:size].tolist()}) == 1
                seen += map(int, rows[:size].tolist())
                cuts.add(int(rows[0]))
        assert sorted(seen) == list(range(20))
    assert len(cuts) > 6
    plain: list[int] = []
    for batch in shown.plain_batches(5, 2):
        for rows, length in zip(batch.rows[:, :, 0], batch.lengths, strict=True):
            plain += map(int, rows[: int(length)].tolist())
    assert plain == list(range(20))


@pytest.mark.parametrize("seed", range(4))
def test_tree_finds_the_leaves_that_its_library_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(0, 1, (300, 6)).astype(np.float32)
    labels = (np.nan_to_num(rows[:, 0]) + rows[:, 1] > 0).astype(int) + 2 * (rows[:, 2] > 1)
    rows[rng.random(rows.shape) < 0.2] = np.nan
    rows[:, 3], rows[:, 4] = np.nan, np.where(np.isnan(rows[:, 4]), 0, rows[:, 4])
    learned = DecisionTreeClassifier(min_samples_leaf=3, ccp_alpha=0.001, random_state=seed).fit(rows, labels)
    tree = Tree.of(learned, 5)
    fresh = rng.normal(0, 1, (200, 6)).astype(np.float32)
    fresh[rng.random(fresh.shape) < 0.3] = np.nan
    for table in (rows, fresh):
        assert np.array_equal(tree.leaves(table), learned.apply(table))
    leaves = learned.apply(rows)
    place = int(leaves[0])
    inside = labels[leaves == place]
    wanted = [(np.sum(inside == label) + 1) / (len(inside) + 5) for label in range(5)]
    np.testing.assert_allclose(np.exp(tree.logs[place]), wanted, rtol=1e-5)


def test_tree_is_smaller_when_it_is_pruned() -> None:
    train = [spoken(seed=seed) for seed in range(4)]
    labels: dict[str, tuple[str, ...]] = {"case": ("lower", "sentence")}
    pruned: list[dict[str, Any]] = [{"prune": (0.0,)}, {"prune": (0.2,)}, {"prune": (0.0,), "depth": 1}]
    models_made = [fitted(made("prosody_tree", labels=labels, leaf=1, **options), train) for options in pruned]
    sizes = [len(model.trees["case"].feature) for model in models_made]
    assert sizes[0] > sizes[1] > 0
    assert sizes[2] == 3


def test_tree_is_pruned_as_is_best_on_dev() -> None:
    """A tree that knows its training text by heart is worse on other text than one that knows the pause."""
    grown = made("prosody_tree", leaf=1, prune=(0.0, 0.05))
    train, dev = (grown.encode([noisy(seed) for seed in seeds]) for seeds in (range(10), range(10, 20)))
    sizes = []
    for prune, held_out in (((0.0,), dev), ((0.05,), dev), ((0.0, 0.05), dev), ((0.0, 0.05), train)):
        model = made("prosody_tree", leaf=1, prune=prune)
        model.fit(train, held_out, loop=LoopOptions(), log=lambda _: None)
        sizes.append(len(model.trees["mark"].feature))
    by_heart, pruned, chosen, chosen_on_train = sizes
    assert pruned < by_heart
    assert (chosen, chosen_on_train) == (pruned, by_heart)


def noisy(seed: int) -> Tagged:
    """A spoken text of which a sixth of the pauses mislead."""
    document = spoken(seed=seed)
    rows = prosody(len(document.transcript.words), seed + 100, missing=0.0)
    rng = np.random.default_rng(seed)
    ends = np.array([word.mark == "." for word in document.transcript.words])
    rows.values[:, PAUSE] = (ends ^ (rng.random(len(ends)) < 1 / 6)) + rng.normal(0, 0.01, len(ends))
    return Tagged(document.transcript, prosody=rows)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_svm_has_the_margins_of_its_library(kernel: str) -> None:
    model = made("svm", kernel=kernel, vectors=(VECTORS,), c=0.5)
    train = model.encode([spoken()])
    model.fit(train, train, loop=LoopOptions(device="cpu"), log=lambda _: None)
    rows = np.concatenate([model.inputs.rows(window) for window, _ in train.windows()])
    labels = np.concatenate([by["mark"] for _, by in train.windows()])
    oracle = LinearSVC(C=0.5, random_state=1) if kernel == "linear" else SVC(C=0.5, gamma=1 / rows.shape[1])
    wanted = oracle.fit(rows, labels == 1).decision_function(rows)
    np.testing.assert_allclose(model.machines["mark"][1].margins(rows), wanted, atol=1e-4)
    np.testing.assert_allclose(model.machines["mark"][0].margins(rows), -wanted, atol=1e-4)
    chances = model.machines["mark"][0].chances(rows) + model.machines["mark"][1].chances(rows)
    np.testing.assert_allclose(chances, 1)


def test_svm_looks_at_no_neighbour_and_learns_from_as_many_places_as_it_may() -> None:
    model = fitted(made("svm", vectors=(VECTORS,)), [spoken()])
    (together,) = model.forward([Features.of("so how are you".split())])
    alone = np.concatenate([model.forward([Features.of([word])])[0].tasks["mark"] for word in "so how are you".split()])
    np.testing.assert_allclose(together.tasks["mark"], alone, atol=1e-6)
    few = fitted(made("svm", vectors=(VECTORS,), kernel="rbf", most=9), [spoken()])
    assert len(few.machines["mark"][1].support) <= 9


@pytest.mark.parametrize("seed", range(3))
def test_platt_finds_the_likeliest_sigmoid(seed: int) -> None:
    """Against logistic regression without regularisation, where each place counts once for and once against."""
    rng = np.random.default_rng(seed)
    margins = rng.normal(0, 3, 200)
    right = rng.random(200) < 1 / (1 + np.exp(-0.7 * margins + 1))
    slope, shift = platt(margins, right)
    positive, negative = right.sum(), (~right).sum()
    target = np.where(right, (positive + 1) / (positive + 2), 1 / (negative + 2))
    oracle = LogisticRegression(C=1e12, tol=1e-10, max_iter=1000)
    oracle.fit(np.tile(margins, 2)[:, None], np.repeat([1, 0], 200), np.concatenate([target, 1 - target]))
    np.testing.assert_allclose([-slope, -shift], [oracle.coef_[0, 0], oracle.intercept_[0]], rtol=1e-3, atol=1e-4)


def test_platt_stays_finite_when_nothing_is_wrong_or_nothing_is_there() -> None:
    margins = np.array([-2.0, -1.0, 1.0, 2.0])
    for right in (margins > 0, np.zeros(4, dtype=np.bool_), np.ones(4, dtype=np.bool_)):
        machine = Machine(np.ones((1, 1), dtype=np.float32), np.ones(1), 0.0, 0.0, *platt(margins, right))
        chances = machine.chances(margins[:, None].astype(np.float32))
        assert np.isfinite(chances).all()
        assert ((chances > 0.5) == right).all()


@pytest.mark.parametrize(("kind", "module"), [("prosody_tree", "sklearn.tree"), ("svm", "sklearn.svm")])
def test_model_needs_its_library_to_learn_and_not_to_score(
    kind: str, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted(made(kind, prosody=True), [spoken()]).save(tmp_path / "m")
    monkeypatch.setitem(sys.modules, module, None)
    assert len(scored(models.load(tmp_path / "m"), [Features.of(["so", "how"])])[0]) == 2
    with pytest.raises(MissingExtraError, match="papers"):
        fitted(made(kind, prosody=True), [spoken()])


# Vectors from a network


def test_window_lstm_writes_its_projection_as_vectors(network: str, tmp_path: Path) -> None:
    model = WindowLSTM.load(Path(network))
    model.projection().save(tmp_path / "projected.txt")
    found = read_embeddings(tmp_path / "projected.txt")
    assert found.dimension == 6
    table = dict(model.network.named_parameters())["input.tables.0.weight"]
    for word in ("so", "anna", "york"):
        wanted = table[model.vocabulary.ids(word)[0]].tolist()
        assert found.vectors[found.words.index(word)].tolist() == wanted


def test_window_lstm_hidden_layer_is_what_its_scores_are_made_of(network: str) -> None:
    model = WindowLSTM.load(Path(network))
    windows = [Features.of("so how are you fine".split()), Features.of(["bob"])]
    weights = {name: values.detach().numpy() for name, values in model.network.named_parameters()}
    for hidden, scores in zip(model.hidden(windows), model.forward(windows), strict=True):
        assert hidden.shape == (len(scores), model.hidden_size)
        logits = 1 / (1 + np.exp(-hidden)) @ weights["branches.mark.weight"].T + weights["branches.mark.bias"]
        logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        np.testing.assert_allclose(scores.tasks["mark"], logs, atol=1e-5)
    assert model.hidden([]) == []


def test_window_lstm_sees_two_words_ahead_and_all_before(network: str) -> None:
    model = WindowLSTM.load(Path(network))
    texts = "so how are you i am fine".split()
    (plain,) = model.hidden([Features.of(texts)])
    for changed in range(len(texts)):
        (other,) = model.hidden([Features.of([*texts[:changed], "york", *texts[changed + 1 :]])])
        differs = np.abs(other - plain).max(axis=1) > 1e-7
        assert not differs[: max(0, changed - 2)].any()
        assert differs[max(0, changed - 2)]


def test_window_lstm_knows_words_that_are_common_enough() -> None:
    words = ["so"] * 5 + ["it"] * 4 + ["go"] * 6
    model = WindowLSTM.create(name="x", version="1", labels=LABELS, options={}, words=words)
    assert model.projection().words == ("go", "so")


# The CRF


def crf_items(model: BoundaryCRF, features: Features) -> list[Any]:
    return list(model.features("mark", features, {}))


def test_crf_sees_ngrams_of_words_and_tags(tagger: str) -> None:
    texts = "so how are you".split()
    plain = crf_items(made("ngram_crf"), Features.of(texts))
    assert crf_items(made("boundary_crf"), Features.of(texts)) == plain
    found = crf_items(made("boundary_crf", tags=(tagger,)), Features.of(texts))
    model = TagCRF.load(Path(tagger))
    _, best = model.chains[POS].read(tag_features(texts, options=model.options), 4)
    pos = [model.labels[POS][label] for label in best]
    assert [row[: len(plain[0])] for row in found] == plain
    assert f"{POS}:0=" + pos[1] in found[1]
    assert f"{POS}:-1,0=" + " ".join(pos[:2]) in found[1]
    assert f"{POS}:3=" + pos[3] in found[0]
    assert f"{POS}:1=</s>" in found[3]
    assert sum(one.startswith(f"{CHUNK}:") for one in found[1]) == len(plain[0])
    only = crf_items(made("boundary_crf", tags=(tagger,), words=False), Features.of(texts))
    assert [row[len(plain[0]) :] for row in found] == only
    with pytest.raises(ConfigError, match="nothing to look at"):
        made("boundary_crf", words=False)


def test_crf_sees_the_numbers_of_vectors_around_a_place() -> None:
    model = made("boundary_crf", words=False, vectors=(VECTORS,), vector_words=3)
    vectors = read_embeddings(VECTORS)
    texts = ["so", "how", "xyzzy"]
    items = crf_items(model, Features.of(texts))
    for place, item in enumerate(items):
        wanted = {}
        for offset in (-1, 0, 1):
            if 0 <= place + offset < 3:
                row = vectors.table[vectors.rows([texts[place + offset]])[0]]
                for column, value in enumerate(row.tolist()):
                    wanted[f"{offset}v{column}{'+' if value > 0 else '-'}"] = abs(value)
        assert item == pytest.approx(wanted)


def test_crf_learns_from_vectors_though_their_numbers_are_negative() -> None:
    """CRFsuite drops features whose values add up to less than nothing."""
    model = fitted(
        made("boundary_crf", words=False, vectors=(VECTORS,), vector_words=3, least=1, c2=0.01), [spoken()], epochs=60
    )
    words = parse_text(TEXT)
    (scores,) = score_tokens(model, [[word.text for word in words]])
    assert scores.chosen("mark").tolist() == [int(word.mark == ".") for word in words]


@pytest.mark.parametrize("kind", ["prosody_tree", "prosody_dnn"])
def test_crf_sees_in_which_bin_a_prosodic_model_puts_a_place(kind: str, tmp_path: Path) -> None:
    options = {"leaf": 1} if kind == "prosody_tree" else {"layers": (16,), "dropout": 0.0, "batch": 16}
    train = [spoken(seed=seed) for seed in range(8)]
    fitted(made(kind, **options), train).save(tmp_path / "posterior")
    model = made("boundary_crf", posterior=str(tmp_path / "posterior"), words=False, least=1, posterior_words=3)
    document = spoken("Xyzzy foo. Bar baz.", 50)
    features = Features.of([word.text for word in document.transcript.words], document.prosody)
    bins = [one[-1] for row in crf_items(model, features) for one in row if one.startswith("bin:0=")]
    (said,) = scored(models.load(tmp_path / "posterior"), [features])
    assert bins == [str(sum(p > edge for edge in (0.1, 0.3, 0.5, 0.7, 0.9))) for p in np.exp(said.tasks["mark"][:, 1])]
    assert max(bins[0], bins[2]) < min(bins[1], bins[3])
    assert f"bin:-1,0={bins[0]} {bins[1]}" in crf_items(model, features)[1]
    model = fitted(model, train)
    model.save(tmp_path / "m")
    again = models.load(tmp_path / "m")
    (scores,), (same,) = scored(model, [features]), scored(again, [features])
    assert scores.chosen("mark").tolist() == [0, 1, 0, 1]
    assert np.array_equal(scores.tasks["mark"], same.tasks["mark"])
    assert len(scored(again, [Features(features.texts)])[0]) == 4


def test_bins_are_the_papers() -> None:
    edges = np.array([0, 0.1, 0.1001, 0.3, 0.3001, 0.5, 0.5001, 0.7, 0.7001, 0.9, 0.9001, 1], dtype=np.float32)
    assert binned(edges).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
