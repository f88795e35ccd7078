"""The table of model types, and loading any model from its folder.

In: a folder. Out: a `Model`. A new type is one file and one row of `MODELS`; `model.json` in a folder says
which row made it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from interpunct.errors import MissingExtraError
from interpunct.models.folder import Description
from interpunct.models.model import Context, Listener, Model, Scorer, Writer
from interpunct.models.scores import Scores
from interpunct.tables import resolve

__all__ = ["MODELS", "Context", "Description", "Listener", "Model", "Scorer", "Scores", "Writer", "load", "type_named"]

MODELS: dict[str, str] = {
    "bigru": "interpunct.models.bigru:BiGRU",
    "birnn": "interpunct.models.birnn:BiRNN",
    "dnn": "interpunct.models.dnn:DNN",
    "cnn1": "interpunct.models.cnn1:CNN1",
    "cnn2": "interpunct.models.cnn2:CNN2",
    "tlstm": "interpunct.models.tlstm:TLSTM",
    "tbrnn": "interpunct.models.tbrnn:TBRNN",
    "blstm_crf": "interpunct.models.blstm_crf:BLSTMCRF",
    "self_attention": "interpunct.models.self_attention:SelfAttention",
    "llama": "interpunct.models.llama:Llama",
    "dilated": "interpunct.models.dilated:Dilated",
    "transformer": "interpunct.models.transformer:Transformer",
    "ngram_crf": "interpunct.models.ngram_crf:NgramCRF",
    "tag_crf": "interpunct.models.tag_crf:TagCRF",
    "boundary_crf": "interpunct.models.boundary_crf:BoundaryCRF",
    "svm": "interpunct.models.svm:SVM",
    "prosody_tree": "interpunct.models.prosody_tree:ProsodyTree",
    "prosody_dnn": "interpunct.models.prosody_dnn:ProsodyDNN",
    "dblstm": "interpunct.models.dblstm:DBLSTM",
    "window_lstm": "interpunct.models.window_lstm:WindowLSTM",
    "ensemble": "interpunct.models.ensemble:Ensemble",
    "onnx": "interpunct.models.onnx:OnnxModel",
}

_EXTRAS: dict[str | None, str] = {"torch": "train", "pycrfsuite": "papers"}


def type_named(name: str) -> Any:
    """Return the class of a model type."""
    try:
        return resolve(MODELS, "model type", name)
    except ModuleNotFoundError as error:
        if error.name not in _EXTRAS:
            raise
        raise MissingExtraError(f"a model of type {name}", _EXTRAS[error.name]) from None


def load(folder: str | Path, *, threads: int | None = None) -> Model:
    """Load a model of any type from its folder; `threads` is for exported ones."""
    folder = Path(folder)
    kind = Description.load(folder).type
    options = {"threads": threads} if kind == "onnx" else {}
    model: Model = type_named(kind).load(folder, **options)
    return model
