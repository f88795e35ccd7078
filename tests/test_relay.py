"""Stages one after the other: each as soon as it can begin, and none longer than another that failed."""

from __future__ import annotations

import json
import lzma
import os
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

import relay as relay_module
from interpunct import config
from interpunct.errors import ConfigError, InputError, UnknownNameError
from interpunct.models.folder import Description
from interpunct.restore import PRETRAINED
from interpunct.train import TrainConfig
from relay import RELAYS, UNTIL, Stage, check, recovered, relay, written


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def late(path: Path) -> tuple[str, ...]:
    """Return a command that writes a file, if nobody ends it in two seconds."""
    return python(f"import time; time.sleep(2); open({str(path)!r}, 'w')")


def test_stages_begin_when_what_they_need_is_there(tmp_path: Path) -> None:
    made, told = tmp_path / "made", list[str]()
    stages = [
        Stage("last", python(f"print({UNTIL})"), after=("first",), needs=(str(made),)),
        Stage("maker", python(f"import time; time.sleep(1); open({str(made)!r}, 'w')")),
        Stage("first", python("print('one')")),
    ]
    moment = time.time() + 600 - 200
    relay(stages, tmp_path / "logs", seconds=600, reserve=200, told=told.append)
    assert told[:2] == ["maker begins", "first begins"]
    assert told.index("first has ended") < told.index("last begins") < told.index("last has ended")
    assert made.exists()
    assert abs(int((tmp_path / "logs" / "last").read_text()) - moment) <= 2


def test_failure_ends_the_others_and_shows_the_log(tmp_path: Path) -> None:
    stages = [
        Stage("long", late(tmp_path / "written")),
        Stage("wrong", python("raise SystemExit('no such text')")),
        Stage("never", python("print('begun')"), after=("wrong",)),
    ]
    with pytest.raises(InputError, match=r"(?s)wrong failed with 1:.*no such text"):
        relay(stages, tmp_path, seconds=60, reserve=0, told=lambda _: None)
    time.sleep(2.5)
    assert not (tmp_path / "written").exists()
    assert not (tmp_path / "never").exists()


def test_time_ends_what_still_works_and_tells_what_has_not_begun(tmp_path: Path) -> None:
    stages = [Stage("long", late(tmp_path / "written")), Stage("never", python(""), needs=("nowhere",))]
    with pytest.raises(InputError, match=r"after 0\.5 s long still at work, never not begun for want of nowhere"):
        relay(stages, tmp_path, seconds=0.5, reserve=0, told=lambda _: None)
    time.sleep(2.5)
    assert not (tmp_path / "written").exists()


def test_command_that_is_ended_leaves_nothing_at_work(tmp_path: Path) -> None:
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    code = f"import time; open({str(begun)!r}, 'w'); time.sleep(4); open({str(ended)!r}, 'w')"
    (tmp_path / "alone.py").write_text(
        "import relay\nrelay.check = lambda _: None\n"
        f"relay.RELAYS['fast'] = (relay.Stage('long', {python(code)!r}),)\nraise SystemExit(relay.main())\n"
    )
    there = [str(Path(relay_module.__file__).parent), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, there))}
    command = [sys.executable, "alone.py", "fast", "--seconds", "60"]
    running = subprocess.Popen(command, cwd=tmp_path, env=environment)
    try:
        for _ in range(600):
            if begun.exists():
                break
            assert running.poll() is None
            time.sleep(0.1)
    finally:
        running.terminate()
    assert running.wait(30) == 1
    time.sleep(4)
    assert begun.exists()
    assert not ended.exists()


def test_what_would_stop_a_later_stage_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = tmp_path / "made"
    made.mkdir()
    with pytest.raises(InputError, match="made: of an earlier run"):
        check([Stage("writes", ("x", "-o", str(made)))])
    (tmp_path / "told-1.pack").touch()
    with pytest.raises(InputError, match=r"told-1\.pack: of an earlier run"):
        check([Stage("tells", ("x", "--parts", "2", "-o", str(tmp_path / "told.pack")))])
    with pytest.raises(InputError, match=r"fast 0\.0\.1 is gone on from, and .* is bundled"):
        check([recovered("fast", "0.0.1", "elsewhere")])
    check([recovered("default", Description.load(PRETRAINED / "default").version, "elsewhere")])
    recipe = tmp_path / "wrong.toml"
    named = '[model]\ntype = "bigru"\nname = "a"\nversion = "1"\n[data]\ntrain = ["a.pack"]\ndev = ["iwslt:dev"]\n'
    recipe.write_text(named)
    data = tmp_path / "data"
    (data / "iwslt").mkdir(parents=True)
    monkeypatch.setenv("INTERPUNCT_DATA", str(data))
    with pytest.raises(InputError, match=r"dev\.jsonl\.xz: "):
        check([Stage("trains", ("train", str(recipe)))])
    talk = {"id": "1", "title": "", "published": None, "start_ms": None, "paragraphs": ["So it is."]}
    (data / "iwslt" / "dev.jsonl.xz").write_bytes(lzma.compress(json.dumps(talk).encode()))
    check([Stage("trains", ("train", str(recipe)))])
    timed = (str(recipe), "--set", "train.seconds=5", "--set", f"train.until={UNTIL}")
    with pytest.raises(ConfigError, match="both say when to stop"):
        check([Stage("trains", timed)])
    recipe.write_text(named + 'misheard = ["nobody:train:asr"]\n')
    with pytest.raises(UnknownNameError, match="nobody"):
        check([Stage("trains", ("train", str(recipe)))])
    recipe.write_text(named + 'misheard = ["debater:train:asr"]\n')
    with pytest.raises(InputError, match=r"debater\.jsonl\.xz: "):
        check([Stage("trains", ("train", str(recipe)))])
    monkeypatch.setattr("sys.argv", ["relay.py", "default", "--seconds", "10"])
    with pytest.raises(SystemExit):
        relay_module.main()
    assert "in 10 s nothing can be trained" in capsys.readouterr().err


@pytest.mark.parametrize(("model", "trained"), [("default", ["default-10", "teacher-12"]), ("fast", ["fast-10"])])
def test_stages_read_what_those_before_write(model: str, trained: list[str]) -> None:
    stages = RELAYS[model]
    names = [stage.name for stage in stages]
    assert all(name in names[:place] for place, stage in enumerate(stages) for name in stage.after)
    made = {str(path) for stage in stages for path in written(stage)}
    recipes = {stage.name: word for stage in stages for word in stage.command if word.endswith(".toml")}
    assert sorted(recipes) == trained
    for name, path in recipes.items():
        (stage,) = [stage for stage in stages if stage.name == name]
        overrides = [value for option, value in pairwise(stage.until(1_800_000_000)) if option == "--set"]
        settings = config.load(TrainConfig, Path(__file__).parents[1] / path, overrides)
        assert (settings.train.seconds is None) == (settings.train.until is not None) == (name == names[-1])
        assert made.issuperset(settings.data.said)
        assert settings.model.start is None or settings.model.start in made
        spoken_of = {word for stage in stages for word in stage.command if stage.name.startswith("said")}
        assert spoken_of.issuperset(settings.data.train)
        before = {name for name in made if "told" in name}
        needed = {path for each in stages for path in each.needs} | before
        assert needed.issuperset(settings.data.train)
        assert before == {path for path in settings.data.train if "told" in path}
