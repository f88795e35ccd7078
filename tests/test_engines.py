"""The contract of every engine, over every row of ENGINES."""

from __future__ import annotations

import io
import os
from pathlib import Path
from threading import Thread

import pytest

from interpunct.engines import ENGINES, local, run
from interpunct.errors import InputError, MissingExtraError, UnknownNameError
from interpunct.jobs import Job, JobOptions, Outcome, plan, run_job


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


def dying(job: Job, options: JobOptions) -> Outcome:
    """Run a job; one of them is the end of its process."""
    if job.path.endswith("b.txt"):
        os._exit(9)
    return run_job(job, options)


def test_killed_process_costs_its_own_job_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "run_job", dying)
    for name in "abcd":
        (tmp_path / f"{name}.txt").write_text(f"hello {name}")
    work = [Job(str(tmp_path / f"{name}.txt")) for name in "abcd"]
    outcomes = list(run("local", work, JobOptions(), jobs=2))
    assert [outcome.job for outcome in outcomes] == work
    assert [outcome.data for outcome in outcomes] == [b"hello a\n", None, b"hello c\n", b"hello d\n"]
    assert "b.txt: its process was killed" in str(outcomes[1].error)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_engine_reads_a_pipe_into_a_folder(engine: str, jobs: int, tmp_path: Path) -> None:
    """What can be read only once is read once, and not by a process that does not have it."""
    if engine == "ray":
        pytest.importorskip("ray", reason="the extra [ray] is not installed")
    pipe, file = tmp_path / "said.txt", tmp_path / "b.txt"
    os.mkfifo(pipe)
    file.write_text("hello b")
    writing = Thread(target=pipe.write_text, args=("hello a",), daemon=True)
    writing.start()
    work = plan([str(pipe), str(file)], f"{tmp_path}/out/", JobOptions())
    assert [outcome.error for outcome in run(engine, work, JobOptions(), jobs=jobs)] == [None, None]
    writing.join()
    assert (tmp_path / "out" / "said.txt").read_text() == "hello a\n"
    assert (tmp_path / "out" / "b.txt").read_text() == "hello b\n"


@pytest.mark.parametrize("jobs", [1, 2])
def test_standard_input_goes_into_a_folder(jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"hello a")))
    (tmp_path / "b.txt").write_text("hello b")
    work = plan(["-", str(tmp_path / "b.txt")], f"{tmp_path}/out/", JobOptions())
    assert [outcome.error for outcome in run("local", work, JobOptions(), jobs=jobs)] == [None, None]
    assert (tmp_path / "out" / "stdin.txt").read_text() == "hello a\n"


def test_run_lists_the_known_engines() -> None:
    with pytest.raises(UnknownNameError, match="local"):
        run("locla", [], JobOptions())


def test_ray_says_which_extra_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"interpunct\[ray\]"):
        list(run("ray", [Job("x.txt")], JobOptions()))
