"""The table of engines: what runs many jobs.

In: jobs and options. Out: outcomes, in the order of the jobs, each as soon as it and those before it are done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from interpunct.jobs import Job, JobOptions, Outcome
from interpunct.restore import Progress
from interpunct.tables import resolve

ENGINES: dict[str, str] = {
    "local": "interpunct.engines.local:run",
    "ray": "interpunct.engines.ray:run",
}


def run(
    engine: str, work: Sequence[Job], options: JobOptions, *, jobs: int = 1, progress: Progress | None = None
) -> Iterator[Outcome]:
    """Run jobs on an engine, `jobs` at a time."""
    outcomes: Iterator[Outcome] = resolve(ENGINES, "engine", engine)(work, options, jobs=jobs, progress=progress)
    return outcomes
