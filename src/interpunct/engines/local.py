"""Jobs on this machine: in this process, or in several that each load the model once.

In: jobs. Out: outcomes in order.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from interpunct.jobs import Job, JobOptions, Outcome, run_job
from interpunct.restore import Progress


def run(
    work: Sequence[Job], options: JobOptions, *, jobs: int = 1, progress: Progress | None = None
) -> Iterator[Outcome]:
    """Run jobs, `jobs` at a time; `progress` hears of the words within a job where one runs at a time."""
    if jobs == 1 or len(work) == 1:
        yield from map(partial(run_job, options=options, progress=progress), work)
        return
    task = partial(run_job, options=options)
    # A forked onnxruntime hangs on the threads it has lost: every worker starts anew.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(work)), mp_context=context) as pool:
        yield from pool.map(task, work)
