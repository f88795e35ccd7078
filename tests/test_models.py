"""The contract of every model type, over every row of MODELS."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from interpunct import models
from interpunct.cases import CASES
from interpunct.clitics import split_clitics
from interpunct.decode.windows import scored
from interpunct.errors import ConfigError, InputError, ModelError, UnknownNameError
from interpunct.export import export
from interpunct.features import Features
from interpunct.labels import MARKS, parse_text
from interpunct.models import MODELS, Model
from interpunct.models.ensemble import Ensemble
from interpunct.models.folder import Description, load_lexicon, save_lexicon
from interpunct.models.loop_options import LoopOptions
from interpunct.models.word_vocabulary import WordVocabulary
from interpunct.restore import Restorer
from interpunct.transcript import Transcript

SENTENCES = (
    "So how are you? I am fine, thanks. My name is Anna, and I live in New York. "
    "Have you met Bob? No, but I know NATO's boss."
)
SHOWN = {"vocabulary": 150, "embedding": 24, "noise": 0.0, "batch": 4}
VECTORS = (str(Path(__file__).parent / "samples" / "vectors.txt"),)
TINY: dict[str, dict[str, Any]] = {
    "boundary_crf": {"c2": 0.01},
    "dblstm": {"vectors": VECTORS, "layers": (32, 32), "dropout": 0.0, "window": 32, "batch": 4},
    "prosody_dnn": {"layers": (16,), "batch": 16},
    "prosody_tree": {"leaf": 1},
    "svm": {"vectors": VECTORS},
    "window_lstm": {**SHOWN, "least": 1, "units": 32, "hidden": 32, "shortest": 20, "longest": 30},
    "bigru": {**SHOWN, "hidden": 32, "layers": 2, "dropout": 0.0},
    "blstm_crf": {**SHOWN, "units": 32, "dropout": 0.0, "shortest": 12, "longest": 24, "batch": 16},
    "cnn1": {**SHOWN, "static": False, "window": 16, "batch": 1, "filters": 16, "layers": (64,), "dropout": 0.0},
    "cnn2": {**SHOWN, "static": False, "window": 16, "batch": 1, "filters": (16, 16), "layers": (64,), "dropout": 0.0},
    "dilated": {**SHOWN, "width": 32, "pairs": 64, "dropout": 0.0},
    "dnn": {**SHOWN, "static": False, "window": 16, "batch": 1, "layers": (64, 32), "dropout": 0.0},
    "llama": {
        "vocabulary": 150,
        "noise": 0.0,
        "batch": 4,
        "width": 32,
        "layers": 2,
        "heads": 4,
        "kv_heads": 2,
        "inner": 64,
        "dropout": 0.0,
    },
    "ngram_crf": {"c2": 0.01},
    "tag_crf": {"c2": 0.01, "algorithm": "lbfgs"},
    "self_attention": {
        **SHOWN,
        "width": 32,
        "heads": 2,
        "layers": 1,
        "inner": 64,
        "dropout": 0.0,
        "smoothing": 0.0,
        "batch": 2,
        "shortest": 29,
        "longest": 29,
        "window": 29,
    },
    "tbrnn": {**SHOWN, "units": 16, "shortest": 20, "longest": 30},
    "tlstm": {**SHOWN, "units": 32, "shortest": 20, "longest": 30},
    "birnn": {**SHOWN, "units": 32, "hidden": 24, "cell": "lstm", "rnn_dropout": 0.0, "output_dropout": 0.0},
    "transformer": {
        "vocabulary": 150,
        "noise": 0.0,
        "batch": 4,
        "width": 32,
        "heads": 2,
        "layers": 2,
        "inner": 64,
        "positions": 128,
        "dropout": 0.0,
        "attention_dropout": 0.0,
    },
}
SEEDLESS = {"boundary_crf", "ngram_crf", "prosody_tree", "svm", "tag_crf"}
"""Types that learn the same whatever the seed."""
WORDLESS = {"prosody_dnn", "prosody_tree", "svm"}
"""Types that cannot know five sentences by heart: they see no words, or one without its neighbours."""
EPOCHS = {"birnn": 120, "self_attention": 40, "window_lstm": 120}
"""How often a tiny model reads its five sentences until it knows them."""


def fitted(seed: int = 1, epochs: int = 60, kind: str = "bigru", **options: Any) -> Any:
    transcript = Transcript(parse_text(SENTENCES))
    parts = [part for word in transcript.words for part in split_clitics(word.text)]
    model = models.type_named(kind).create(
        name="tiny",
        version="1",
        labels={"mark": MARKS, "case": CASES},
        options=TINY[kind] | options,
        words=Features.of(parts).texts,
        seed=seed,
    )
    data = model.encode([transcript] * 4)
    loop = LoopOptions(epochs=epochs, rate=1e-2, seed=seed, device="cpu")
    return model.fit(data, data, loop=loop, log=lambda _: None)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Model]:
    """One small trained model of each type."""
    folder = tmp_path_factory.mktemp("models")
    made = {kind: fitted(kind=kind, epochs=EPOCHS.get(kind, 60)) for kind in TINY}
    made["bigru"].save(folder / "bigru")
    export(folder / "bigru", folder / "onnx")
    made["ensemble"] = Ensemble.of([made["birnn"], made["blstm_crf"]], name="tiny", version="1")
    return made | {"onnx": models.load(folder / "onnx")}


def windows(*texts: str) -> list[Features]:
    return [Features.of(text.split()) for text in texts]


def same(one: list[Any], other: list[Any], tolerance: float = 1e-5) -> bool:
    return len(one) == len(other) and all(
        np.allclose(a.tasks[task], b.tasks[task], atol=tolerance) and np.array_equal(a.chosen(task), b.chosen(task))
        for a, b in zip(one, other, strict=True)
        for task in a.tasks
    )


every_type = pytest.mark.parametrize("kind", sorted(MODELS))


@every_type
def test_model_saved_and_loaded_gives_the_same_scores(kind: str, trained: dict[str, Model], tmp_path: Path) -> None:
    model: Any = trained[kind]
    model.save(tmp_path / "copy")
    again = models.load(tmp_path / "copy")
    given = windows("so how are you", "fine")
    assert same(scored(model, given), scored(again, given), 0.0)
    assert again.name == model.name == "tiny 1"
    assert again.labels == model.labels


@every_type
def test_model_scores_do_not_depend_on_the_batch(kind: str, trained: dict[str, Model]) -> None:
    model = trained[kind]
    given = windows("so how are you i am fine", "bob", "my name is anna and i live in new york")
    alone = [scored(model, [window])[0] for window in given]
    assert same(scored(model, given), alone)
    assert same(scored(model, given[::-1]), alone[::-1])


@every_type
def test_model_takes_one_word_no_window_and_unknown_words(kind: str, trained: dict[str, Model]) -> None:
    model = trained[kind]
    assert scored(model, []) == []
    for text in ("yes", "ж", "x" * 5000):
        (scores,) = scored(model, windows(text))
        assert len(scores) == 1
        np.testing.assert_allclose(np.exp(scores.tasks["mark"]).sum(axis=1), 1, atol=1e-5)
    (scores,) = scored(model, [Features(("",))])
    assert len(scores) == 1


@every_type
def test_model_leaves_its_input_untouched(kind: str, trained: dict[str, Model]) -> None:
    given = windows("so how are you")
    before = [window.texts for window in given]
    scored(trained[kind], given)
    assert [window.texts for window in given] == before


@every_type
def test_model_overfits_five_sentences(kind: str, trained: dict[str, Model]) -> None:
    if kind in WORDLESS:
        pytest.skip("it looks at no word, or at one alone")
    lower = SENTENCES.lower().replace(",", "").replace(".", "").replace("?", "")
    assert Restorer(trained[kind]).restore(lower).text == SENTENCES


@pytest.mark.parametrize("kind", sorted(TINY))
def test_model_of_the_same_seed_has_the_same_weights(kind: str) -> None:
    one, two, other = fitted(1, 2, kind), fitted(1, 2, kind), fitted(2, 2, kind)
    given = windows("so how are you")
    assert same(scored(one, given), scored(two, given), 0.0)
    if kind not in SEEDLESS:
        assert not same(scored(one, given), scored(other, given), 1e-4)


@pytest.mark.parametrize("cell", ["simple", "lstm", "gru"])
@pytest.mark.parametrize("activation", ["sigmoid", "tanh", "relu", "linear"])
def test_birnn_learns_with_every_cell_and_activation(cell: str, activation: str) -> None:
    losses: list[float] = []
    model = fitted(1, 0, "birnn", cell=cell, activation=activation, layers=2)
    data = model.encode([Transcript(parse_text(SENTENCES))] * 2)
    loop = LoopOptions(epochs=6, rate=1e-2, device="cpu")
    model.fit(data, data, loop=loop, log=lambda row: losses.append(row["loss"]))
    assert losses[-1] < 0.9 * losses[0]


def test_word_vocabulary_is_saved_and_gives_unknown_words_one_id(tmp_path: Path) -> None:
    vocabulary = WordVocabulary.learn("so so it".split(), size=10)
    vocabulary.save(tmp_path / "v.json")
    again = WordVocabulary.load(tmp_path / "v.json")
    assert [again.ids(word) for word in ("so", "it", "xyzzy", "")] == [(2,), (3,), (1,), (1,)]
    assert len(again) == 4
    (tmp_path / "v.json").write_text("[]")
    with pytest.raises(ModelError, match="no word vocabulary"):
        WordVocabulary.load(tmp_path / "v.json")


def test_export_refuses_types_it_cannot_write(trained: dict[str, Model], tmp_path: Path) -> None:
    model: Any = trained["birnn"]
    model.save(tmp_path / "m")
    with pytest.raises(ModelError, match="cannot be exported"):
        export(tmp_path / "m", tmp_path / "x")


def test_export_to_int8_is_smaller_and_nearly_the_same(trained: dict[str, Model], tmp_path: Path) -> None:
    model: Any = trained["bigru"]
    model.save(tmp_path / "m")
    export(tmp_path / "m", tmp_path / "whole")
    export(tmp_path / "m", tmp_path / "small", int8=True)
    sizes = [(tmp_path / name / "model.onnx").stat().st_size for name in ("small", "whole")]
    assert sizes[0] < 0.5 * sizes[1]
    given = windows("so how are you i am fine thanks")
    assert same(scored(models.load(tmp_path / "small"), given), scored(model, given), 0.03)


def test_lexicon_survives_its_folder(tmp_path: Path) -> None:
    lexicon = {"iphone": "iPhone", "mcdonald": "McDonald"}
    save_lexicon(lexicon, tmp_path)
    assert load_lexicon(tmp_path) == lexicon
    assert load_lexicon(tmp_path / "nowhere") == {}


def _no_description(folder: Path) -> None:
    (folder / "model.json").unlink()


def _broken_description(folder: Path) -> None:
    (folder / "model.json").write_text("{")


def _other_version(folder: Path) -> None:
    (folder / "model.json").write_text('{"interpunct_model": 99}')


def _broken_pieces(folder: Path) -> None:
    (folder / "pieces.json").write_text("{}")


def _no_option(folder: Path) -> None:
    text = (folder / "model.json").read_text()
    (folder / "model.json").write_text(text.replace("longest_word", "longest_wrod"))


def _no_graph(folder: Path) -> None:
    (folder / "model.onnx").unlink()


def _broken_graph(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(b"nothing")


@pytest.mark.parametrize(
    "harm",
    [_no_description, _broken_description, _other_version, _no_graph, _broken_graph, _broken_pieces, _no_option],
)
def test_load_says_what_is_wrong_with_a_folder(
    harm: Callable[[Path], None], trained: dict[str, Model], tmp_path: Path
) -> None:
    model: Any = trained["onnx"]
    model.save(tmp_path / "m")
    harm(tmp_path / "m")
    with pytest.raises(ModelError, match=f"{tmp_path / 'm'}|model tiny 1"):
        models.load(tmp_path / "m")


def test_load_says_what_is_wrong_with_a_trained_folder(trained: dict[str, Model], tmp_path: Path) -> None:
    model: Any = trained["bigru"]
    model.save(tmp_path / "m")
    (tmp_path / "m" / "weights.pt").write_bytes(b"nothing")
    with pytest.raises(ModelError, match=r"weights\.pt"):
        models.load(tmp_path / "m")


@pytest.mark.parametrize("factor", ["a", math.nan, -3, 0, None])
def test_load_refuses_factors_that_are_none(trained: dict[str, Model], tmp_path: Path, factor: Any) -> None:
    model: Any = trained["bigru"]
    model.save(tmp_path / "m")
    path = tmp_path / "m" / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"scales": {",": factor}}))
    with pytest.raises(ModelError, match=r"model\.json: .*for ',' is no factor above 0"):
        models.load(tmp_path / "m")


def test_export_refuses_to_write_onto_the_model_itself(trained: dict[str, Model], tmp_path: Path) -> None:
    model: Any = trained["bigru"]
    model.save(tmp_path / "m")
    with pytest.raises(ModelError, match="onto itself"):
        export(tmp_path / "m", tmp_path / "m")
    assert models.load(tmp_path / "m").name == "tiny 1"


def test_fit_takes_any_size_of_corpus_and_unknown_labels() -> None:
    """A corpus a little longer than a window, no case known: the loss stays a number, the average is kept."""
    words = tuple(dataclasses.replace(word, case=None) for word in parse_text(SENTENCES) * 6)[:170]
    model = fitted(1, 0)
    data = model.encode([Transcript(words)])
    losses: list[float] = []
    loop = LoopOptions(epochs=5, rate=1e-2, device="cpu", average=0.9)
    model.fit(data, data, loop=loop, log=lambda row: losses.append(row["loss"]))
    assert losses[-1] < losses[0]
    nothing = model.encode([])
    with pytest.raises(InputError, match="no words in the dev corpora"):
        model.fit(data, nothing, loop=loop, log=lambda _: None)


@pytest.mark.parametrize("bad", [{"warmup": 1.0}, {"device": "cud"}, {"rate": 0.0}, {"epochs": -1}, {"average": 1.0}])
def test_loop_options_refuse_nonsense(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        LoopOptions(**bad)


@pytest.mark.parametrize(
    "bad",
    [
        {"units": 0}, {"embedding": 0}, {"batch": 0}, {"window": 0}, {"output_dropout": 1.5}, {"smoothing": -0.1},
        {"shortest": 5, "longest": 4}, {"context": "overlap", "window": 8, "overlap": 8},
    ],
    ids=str,
)  # fmt: skip
def test_options_refuse_nonsense(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(bad)).replace("context", "overlap")):
        fitted(1, 0, "birnn", **bad)


def test_type_named_lists_the_known_types() -> None:
    with pytest.raises(UnknownNameError, match="bigru"):
        models.type_named("bigrue")


def test_description_survives_its_file(tmp_path: Path, trained: dict[str, Model]) -> None:
    description: Description = trained["bigru"].description  # type: ignore[attr-defined]
    description.save(tmp_path)
    assert Description.load(tmp_path) == description
