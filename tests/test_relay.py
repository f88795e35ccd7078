"""Stages one after the other: each as soon as it can begin, and none longer than another that failed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import relay as relay_module
from interpunct import config
from interpunct.errors import InputError
from interpunct.train import TrainConfig
from relay import LEFT, STAGES, Stage, relay, written


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def test_stages_begin_when_what_they_need_is_there(tmp_path: Path) -> None:
    made, told = tmp_path / "made", list[str]()
    stages = [
        Stage("last", python(f"print({LEFT!r})".replace("'", "")), after=("first",), needs=(str(made),)),
        Stage("maker", python(f"import time; time.sleep(1); open({str(made)!r}, 'w')")),
        Stage("first", python("print('one')")),
    ]
    relay(stages, tmp_path / "logs", seconds=60, reserve=20, told=told.append)
    assert told[:2] == ["maker begins", "first begins"]
    assert told.index("first has ended") < told.index("last begins") < told.index("last has ended")
    assert made.exists()
    assert 30 < int((tmp_path / "logs" / "last").read_text()) < 40


def test_failure_ends_the_others_and_shows_the_log(tmp_path: Path) -> None:
    begin = time.monotonic()
    stages = [
        Stage("long", python("import time; time.sleep(60)")),
        Stage("wrong", python("raise SystemExit('no such text')")),
        Stage("never", python("print('begun')"), after=("wrong",)),
    ]
    with pytest.raises(InputError, match=r"(?s)wrong failed:.*no such text"):
        relay(stages, tmp_path, seconds=60, reserve=0, told=lambda _: None)
    assert time.monotonic() - begin < 30
    assert not (tmp_path / "never").exists()


def test_time_ends_what_still_works(tmp_path: Path) -> None:
    stages = [Stage("long", python("import time; time.sleep(60)")), Stage("never", python(""), needs=("nowhere",))]
    with pytest.raises(InputError, match="long still at work after 1 s"):
        relay(stages, tmp_path, seconds=1, reserve=0, told=lambda _: None)


def test_command_begins_anew_and_leaves_nothing_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    code = f"import time; open({str(begun)!r}, 'w'); time.sleep(5); open({str(ended)!r}, 'w')"
    (tmp_path / "alone.py").write_text(
        f"import relay\nrelay.STAGES = (relay.Stage('long', {(*python(code), '-o', 'made')!r}),)\n"
        "raise SystemExit(relay.main())\n"
    )
    here = str(Path(relay_module.__file__).parent)
    command = [sys.executable, "alone.py", "--seconds", "60"]
    running = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": here})
    while not begun.exists():
        time.sleep(0.1)
    running.terminate()
    assert running.wait(30) == 1
    time.sleep(5)
    assert not ended.exists()
    (tmp_path / "runs" / "cut").mkdir(parents=True)
    monkeypatch.setattr("sys.argv", ["relay.py", "--seconds", "60"])
    assert relay_module.main() == 1
    assert "runs/cut: of an earlier run" in capsys.readouterr().err


def test_stages_of_default_read_what_those_before_write() -> None:
    names = [stage.name for stage in STAGES]
    assert all(name in names[:place] for place, stage in enumerate(STAGES) for name in stage.after)
    made = {str(path) for stage in STAGES for path in written(stage)}
    recipes = {stage.name: word for stage in STAGES for word in stage.command if word.endswith(".toml")}
    assert sorted(recipes) == ["default-10", "teacher-12"]
    for path in recipes.values():
        settings = config.load(TrainConfig, Path(__file__).parents[1] / path)
        assert made.issuperset(settings.data.said)
        assert settings.model.start is None or settings.model.start in made
        told = {word for stage in STAGES for word in stage.command if stage.name.startswith("said")}
        assert told.issuperset(settings.data.train)
