"""Jobs on this machine: in this process, or in several that each load the model once.

In: jobs. Out: outcomes in order. A process that is killed, for want of memory above all, costs its own job alone.
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import islice

from interpunct.errors import InputError
from interpunct.jobs import Job, JobOptions, Outcome, run_job
from interpunct.restore import Progress

_AHEAD = 256
"""Jobs in the pool at most: enough to go on behind a long one. A pool that breaks with thousands queued can hang."""


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
    waiting, workers = deque(work), min(jobs, len(work))
    while waiting:
        running: deque[Future[Outcome]] = deque()
        following = iter(tuple(waiting))
        with ProcessPoolExecutor(workers, mp_context=context) as pool:
            try:
                while waiting:
                    running.extend(pool.submit(task, job) for job in islice(following, _AHEAD - len(running)))
                    outcome = running.popleft().result()
                    waiting.popleft()
                    yield outcome
            except BrokenProcessPool:
                # Of several that ran side by side nobody knows whose process died; of one it is the next in turn.
                if workers == 1:
                    lost = waiting.popleft()
                    yield Outcome(lost, error=InputError("its process was killed; is memory short?", path=lost.path))
                workers = 1
            finally:
                for future in running:
                    future.cancel()
