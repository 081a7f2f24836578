"""A pool of threads for tiles, with BLAS held to one thread inside it.

NumPy releases the interpreter lock inside its loops, so plain threads scale; BLAS would otherwise
start threads of its own in every one of ours.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

from mercer.errors import InputError, sentence

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Job = TypeVar("Job")
Result = TypeVar("Result")

_asked: ContextVar[int | None] = ContextVar("mercer_threads", default=None)
_inside_pool = threading.local()


def thread_count() -> int:
    """How many threads mercer uses now.

    In this order: what `threads` was given, the variable MERCER_THREADS, and otherwise the
    processors this process may run on, held down by OMP_NUM_THREADS (which joblib sets in its
    workers so that nested work does not crowd the machine).
    """
    asked = _asked.get()
    if asked is not None:
        return asked
    by_name = os.environ.get("MERCER_THREADS")
    if by_name:
        return _positive("MERCER_THREADS", by_name)
    mine = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    shared = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(mine, int(shared))) if shared.isdigit() and int(shared) else mine


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Use `count` threads inside the with block.

    Examples
    --------
    >>> from mercer.runtime import thread_count, threads
    >>> with threads(1):
    ...     thread_count()
    1
    """
    token = _asked.set(_positive("The number of threads", count))
    try:
        yield
    finally:
        _asked.reset(token)


def _positive(what: str, value: object) -> int:
    try:
        count = int(str(value))
    except ValueError:
        count = 0
    if count < 1:
        raise InputError(sentence(what, "an integer of at least 1", repr(value)))
    return count


class _Limit:
    """BLAS at one thread while anyone is inside; the previous setting once the last one has left.

    Counting matters: two callers that each saved and restored the setting could leave it at one.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = 0
        self.known = 0
        self.controller: ThreadpoolController | None = None

    def __enter__(self) -> None:
        with self.lock:
            self.inside += 1
            if self.inside == 1:
                self.held = self._current().limit(limits=1, user_api="blas")

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                self.held.restore_original_limits()

    def _current(self) -> ThreadpoolController:
        """The BLAS libraries loaded now; SciPy brings its own when it is first imported."""
        loaded = 1 + ("scipy.linalg" in sys.modules)
        if self.controller is None or self.known != loaded:
            from threadpoolctl import ThreadpoolController

            self.controller, self.known = ThreadpoolController(), loaded
        return self.controller


_limit = _Limit()


def single_threaded_blas() -> _Limit:
    """Context in which BLAS runs on one thread; contexts may overlap."""
    return _limit


def each(work: Callable[[Job], Result], jobs: Sequence[Job]) -> Iterator[Result]:
    """`work` of every job, in their order; on the pool when there is more than one job and one thread.

    One job more than there are threads is begun before a result is asked for, so that few results wait. The first
    error stops the rest and is raised here. Called from inside the pool it runs in line.

    Examples
    --------
    >>> from mercer.runtime import each
    >>> list(each(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    allowed = thread_count()
    workers = min(allowed, len(jobs))
    if workers <= 1 or getattr(_inside_pool, "yes", False):
        with single_threaded_blas() if allowed == 1 else nullcontext():
            yield from map(work, jobs)
        return

    def guarded(job: Job) -> Result:
        _inside_pool.yes = True
        try:
            return work(job)
        finally:
            _inside_pool.yes = False

    pool, waiting = ThreadPoolExecutor(workers, thread_name_prefix="mercer"), deque[Future[Result]]()
    with single_threaded_blas():
        try:
            for job in jobs:
                waiting.append(pool.submit(guarded, job))
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def run(work: Callable[[Job], object], jobs: Sequence[Job]) -> None:
    """Do `work` for every job, as `each` does."""
    for _ in each(work, jobs):
        pass
