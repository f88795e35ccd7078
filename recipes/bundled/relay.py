"""Trains default 0.9.0, or what fast 0.9.0 learns on a GPU, in one go.

    python recipes/bundled/fetch.py mpnet smollm2
    python recipes/bundled/pack.py spoken court ted books --spelled 0.3 --unapostrophed 0.04
    python recipes/bundled/halves.py books
    python recipes/bundled/overlap.py -o runs/held.npz
    python recipes/bundled/relay.py default --seconds 1550     # or, in another checkout:
    python recipes/bundled/relay.py fast --seconds 1550

Of default, from a commit that has 0.8.0: its teacher, what that says, the cut, and default itself in the time that is
left. Of fast: stories, what default says of them and of all text, and fast in the time that is left. A stage begins as
soon as what it needs is there, and reads its text while those before it still work (`data.wait`). Each writes a log of
its own; where one fails, all stop. Files that are not there yet are waited for; they must appear whole.
"""

from __future__ import annotations

import argparse
import math
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from interpunct import config, corpora
from interpunct.errors import InputError, told_in_a_line
from interpunct.models.folder import Description
from interpunct.restore import PRETRAINED
from interpunct.train import TrainConfig, misheard, specs
from storyteller import parts_of

PYTHON = sys.executable
INTERPUNCT = (PYTHON, "-m", "interpunct")
SAID = (PYTHON, "recipes/bundled/said.py", "--compile")
UNTIL = "{until}"
"""Stands in a command for the moment, in seconds since 1970, at which it should be at its end."""
_RESERVE = 40
"""Seconds that the last stage has left then, in which it is scored and writes its weights."""
_PAUSE = 0.2
_PATIENCE = 10
"""Seconds in which a stage that is told to end has to."""


@dataclass(frozen=True)
class Stage:
    """A command, when it can begin, and what its log is called."""

    name: str
    command: tuple[str, ...]
    after: tuple[str, ...] = ()
    """Stages that must have ended."""
    needs: tuple[str, ...] = ()
    """Files that must be there."""
    bundled: tuple[str, str] | None = None
    """The name and the version of the bundled model that it takes."""

    def until(self, moment: int) -> list[str]:
        """Return its command with the moment at which it should be at its end."""
        return [word.replace(UNTIL, str(moment)) for word in self.command]


def packs(*names: str) -> tuple[str, ...]:
    """Return the files of packs."""
    return tuple(f"runs/packs/{name}.pack" for name in names)


def trained(name: str, *overrides: str, after: tuple[str, ...] = (), needs: tuple[str, ...] = ()) -> Stage:
    """Return the stage that trains what the recipe of this name says, and waits for its teachers."""
    settings = (word for override in ("data.wait=600", *overrides) for word in ("--set", override))
    command = (*INTERPUNCT, "train", f"recipes/bundled/{name}.toml", "-o", f"runs/{name}", *settings)
    return Stage(name, command, after, needs)


def recovered(name: str, version: str, folder: str) -> Stage:
    """Return the stage that takes the weights of a bundled model, which must be of this version."""
    command = (*INTERPUNCT, "recover", name, "-o", folder)
    return Stage(f"recover-{name}", command, bundled=(name, version))


TALKS, OTHERS = packs("ted", "court"), packs("spoken", "books-a")
TOLD = packs(*(f"told-{part}" for part in range(6)))
DEFAULT = (
    recovered("default", "0.8.0", "runs/default-8"),
    Stage(
        "said-default-8",
        (*SAID, "runs/default-8", *TALKS, *OTHERS, "--wait", "600", "-o", "runs/said/default-8"),
        after=("recover-default",),
    ),
    trained("teacher-12", needs=(*TALKS, *OTHERS, "runs/pretrained/mpnet.npz")),
    Stage(
        "said-teacher-12",
        (*SAID, "runs/teacher-12", *TALKS, *OTHERS, "-o", "runs/said/teacher-12"),
        after=("teacher-12",),
    ),
    Stage(
        "cut",
        (PYTHON, "recipes/bundled/cut.py", "runs/teacher-12", "-o", "runs/cut", "--heads", "6", "--inner", "896",
         "--windows", "512", "--graded", "160"),
        after=("teacher-12",),
    ),
    trained("default-10", f"train.until={UNTIL}", after=("cut", "said-default-8")),
)  # fmt: skip
FAST = (
    recovered("default", "0.9.0", "runs/default-10"),
    recovered("fast", "0.8.0", "runs/fast-9"),
    Stage(
        "storyteller",
        (PYTHON, "recipes/bundled/storyteller.py", *(4 * packs("ted")), *packs("spoken", "court"),
         "--held", "runs/held.npz", "--seconds", "60", "--telling", "800", "--given", "16",
         "--least", "0.003", "0.01", "0.001", "--at-once", "8192", "--batch", "160", "--parts", str(len(TOLD)),
         "--writers", "9", "--seed", "101", "-o", *packs("told")),
        needs=(*packs("ted", "spoken", "court"), "runs/pretrained/smollm2.gguf", "runs/held.npz"),
    ),
    Stage(
        "said-default-10",
        (*SAID, "runs/default-10", *TALKS, *OTHERS, *packs("books-b"), *TOLD, "--wait", "1100",
         "-o", "runs/said/default-10"),
        after=("recover-default",),
    ),
    trained(
        "fast-10", f"train.until={UNTIL}", after=("recover-fast", "storyteller"), needs=(*OTHERS, *packs("books-b"))
    ),
)  # fmt: skip
RELAYS = {"default": DEFAULT, "fast": FAST}


@told_in_a_line
def main() -> int:
    """Run all stages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=RELAYS, help="which is trained")
    parser.add_argument("--seconds", type=float, required=True, help="how long all of it may take")
    parser.add_argument("--logs", type=Path, default=Path("runs/log"), metavar="DIR", help="(%(default)s)")
    given = parser.parse_args()
    if not (math.isfinite(given.seconds) and given.seconds > _RESERVE):
        parser.error(f"in {given.seconds:g} s nothing can be trained")
    stages = RELAYS[given.model]
    check(stages)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # as an error, it ends the stages
    begin = time.monotonic()

    def told(what: str) -> None:
        print(f"{time.monotonic() - begin:6.0f} s  {what}", flush=True)

    relay(stages, given.logs, seconds=given.seconds, reserve=_RESERVE, told=told)
    return 0


def check(stages: Sequence[Stage]) -> None:
    """Refuse what would stop a later stage, before hours are spent on those before it."""
    if there := [path for stage in stages for path in written(stage) if path.exists()]:
        raise InputError(f"{', '.join(map(str, there))}: of an earlier run, and would be read; move them away")
    for name, version in (stage.bundled for stage in stages if stage.bundled):
        if (found := Description.load(PRETRAINED / name).version) != version:
            raise InputError(f"{name} {version} is gone on from, and {found} is bundled; check out a commit with it")
    for stage in stages:
        command = stage.until(round(time.time()))
        overrides = [value for option, value in pairwise(command) if option == "--set"]
        for path in (word for word in command if word.endswith(".toml")):
            data = config.load(TrainConfig, path, overrides).data
            specs.check(data.dev)
            for spec in data.dev:
                next(specs.read(spec), None)
            for spec in data.misheard:
                name, split, track = misheard.check(spec)
                next(corpora.read(name, split), None)
                next(corpora.read(name, split, track=track), None)


def relay(stages: Sequence[Stage], logs: Path, *, seconds: float, reserve: float, told: Callable[[str], None]) -> None:
    """Run stages, each as soon as it can begin; where one fails, or time is over, end the others."""
    logs.mkdir(parents=True, exist_ok=True)
    last, until = time.monotonic() + seconds, round(time.time() + seconds - reserve)
    waiting, ended = list(stages), set[str]()
    working: dict[Stage, subprocess.Popen[bytes]] = {}
    with ExitStack() as opened:
        opened.callback(lambda: _end(working.values()))
        while waiting or working:
            for stage in [stage for stage, process in working.items() if process.poll() is not None]:
                if code := working.pop(stage).returncode:
                    failed = f"{stage.name} failed with {code}:\n{_last_lines(logs / stage.name)}"
                    raise InputError(failed, path=str(logs / stage.name))
                told(f"{stage.name} has ended")
                ended.add(stage.name)
            for stage in [each for each in waiting if ended.issuperset(each.after) and not _missing(each)]:
                waiting.remove(stage)
                log = opened.enter_context((logs / stage.name).open("wb"))
                working[stage] = subprocess.Popen(stage.until(until), stdout=log, stderr=log)
                told(f"{stage.name} begins")
            if (waiting or working) and time.monotonic() > last:
                left = [*(f"{stage.name} still at work" for stage in working), *map(_idle, waiting)]
                raise InputError(f"after {seconds:g} s {', '.join(left)}")
            time.sleep(_PAUSE)


def written(stage: Stage) -> list[Path]:
    """Return where a stage writes: what follows -o, or the parts of it."""
    options = dict(pairwise(stage.command))
    path = options.get("-o")
    return [] if path is None else list(parts_of(Path(path), int(options.get("--parts", 1))))


def _missing(stage: Stage) -> list[str]:
    return [path for path in stage.needs if not Path(path).exists()]


def _idle(stage: Stage) -> str:
    missing = _missing(stage)
    return f"{stage.name} not begun" + (f" for want of {' and '.join(missing)}" if missing else "")


def _end(working: Collection[subprocess.Popen[bytes]]) -> None:
    """End programs, and do not return before they have ended."""
    for process in working:
        process.terminate()
    for process in working:
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _last_lines(log: Path) -> str:
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-5:])


if __name__ == "__main__":
    sys.exit(main())
