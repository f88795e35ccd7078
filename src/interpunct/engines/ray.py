"""Jobs on a Ray cluster, or on this machine where none is named in RAY_ADDRESS.

In: jobs whose paths every node can read. Out: outcomes in order. Needs the extra [ray].
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from interpunct.errors import MissingExtraError
from interpunct.jobs import Job, JobOptions, Outcome, run_job
from interpunct.restore import Progress


def run(
    work: Sequence[Job],
    options: JobOptions,
    *,
    jobs: int = 1,
    progress: Progress | None = None,  # noqa: ARG001
) -> Iterator[Outcome]:
    """Run jobs, `jobs` at a time. Words within a job are counted on other machines: `progress` hears of none."""
    try:
        import ray
    except ModuleNotFoundError:
        raise MissingExtraError("the engine ray", "ray") from None
    if not ray.is_initialized():
        ray.init(log_to_driver=False, logging_level="error", configure_logging=False)
    task = ray.remote(run_job)
    running: deque[Any] = deque()
    for job in work:
        running.append(task.remote(job, options))
        if len(running) >= jobs:
            yield ray.get(running.popleft())
    while running:
        yield ray.get(running.popleft())
