"""The contract of every engine, over every row of ENGINES."""

from __future__ import annotations

from pathlib import Path

import pytest

from interpunct.engines import ENGINES, run
from interpunct.errors import InputError, MissingExtraError, UnknownNameError
from interpunct.jobs import Job, JobOptions


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_engine_gives_outcomes_in_order_and_outlives_a_broken_input(engine: str, jobs: int, tmp_path: Path) -> None:
    if engine == "ray":
        pytest.importorskip("ray", reason="the extra [ray] is not installed")
    for name in ("a", "c"):
        (tmp_path / f"{name}.txt").write_text(f"hello {name}")
    work = [Job(str(tmp_path / f"{name}.txt")) for name in ("a", "b", "c")]
    outcomes = list(run(engine, work, JobOptions(), jobs=jobs))
    assert [outcome.job for outcome in outcomes] == work
    assert [outcome.data for outcome in outcomes] == [b"hello a\n", None, b"hello c\n"]
    assert isinstance(outcomes[1].error, InputError)


def test_run_lists_the_known_engines() -> None:
    with pytest.raises(UnknownNameError, match="local"):
        run("locla", [], JobOptions())


def test_ray_says_which_extra_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"interpunct\[ray\]"):
        list(run("ray", [Job("x.txt")], JobOptions()))
