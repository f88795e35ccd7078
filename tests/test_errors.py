from __future__ import annotations

import pickle

import pytest

from interpunct.errors import (
    ConfigError,
    InputError,
    InterpunctError,
    MissingExtraError,
    ModelError,
    UnknownNameError,
)

EVERY = [
    InterpunctError("something"),
    InputError("what", path="a.txt", line=3),
    UnknownNameError("format", "strt", ["srt", "vtt"]),
    MissingExtraError("plots", "plot"),
    ConfigError(["one", "two"], path="c.toml"),
    ModelError("no model"),
]


@pytest.mark.parametrize("error", EVERY, ids=[type(error).__name__ for error in EVERY])
def test_error_survives_the_way_to_another_process(error: InterpunctError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert isinstance(again, InterpunctError)


def test_errors_cover_the_whole_tree() -> None:
    assert {type(error) for error in EVERY} == {InterpunctError, *InterpunctError.__subclasses__()}


def test_input_error_keeps_the_place_it_knows() -> None:
    error = InputError("what", line=3).at(path="a.txt", line=9)
    assert (error.path, error.line) == ("a.txt", 3)
    assert str(error) == "a.txt:3: what"
