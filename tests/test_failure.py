"""Recipes that fail on purpose say so in one line; any other error is not hidden."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("pycrfsuite")

import speech2vec
import syntax
from interpunct.errors import InputError, told_in_a_line


def test_failure_keeps_what_the_command_returns_and_what_it_is_given() -> None:
    @told_in_a_line
    def add(one: int, *, other: int) -> int:
        """Add."""
        return one + other

    assert add(2, other=3) == 5
    assert (add.__name__, add.__doc__) == ("add", "Add.")


def test_failure_is_told_with_the_command_of_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    @told_in_a_line
    def fail() -> int:
        raise InputError("nothing here", path="talk.ctm", line=7)

    assert fail() == 1
    assert capsys.readouterr() == ("", "test_failure.py: error: talk.ctm:7: nothing here\n")


def test_failure_hides_no_mistake_of_ours() -> None:
    @told_in_a_line
    def fail() -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()


@pytest.mark.parametrize(("name", "main"), [("speech2vec", speech2vec.main), ("syntax", syntax.main)])
def test_failure_of_a_recipe_without_corpora_is_one_line(
    name: str,
    main: Callable[[Sequence[str]], int],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("INTERPUNCT_DATA", str(tmp_path))
    assert main(["--runs", str(tmp_path / "runs")]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{name}.py: error: {tmp_path}")
