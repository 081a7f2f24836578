"""A pool of threads for tiles, with BLAS held to one thread inside it.

NumPy releases the interpreter lock inside its loops, so plain threads scale; BLAS would otherwise
start threads of its own in every one of ours.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

from mercer.errors import InputError, sentence

if TYPE_CHECKING:
    from threadpoolctl import LibController

Job = TypeVar("Job")
Result = TypeVar("Result")

_asked: ContextVar[int | None] = ContextVar("mercer_threads", default=None)
_inside_pool = threading.local()
_SMALL = 500  # rows up to which a factor takes a few milliseconds on one thread
_PROCESS = 0  # stands for all threads where thread identifiers, which are never 0, are keys


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

    With one thread BLAS runs on one thread too in all of the block. Two fits at once, each in such a block, have the
    same bits as one after the other; so have fits of up to 500 rows, and automatic models of up to 3000, in any case.
    Larger factors use all threads of BLAS, unless another fit at the same time holds BLAS to one.

    Examples
    --------
    >>> from mercer.runtime import thread_count, threads
    >>> with threads(1):
    ...     thread_count()
    1
    """
    asked = _positive("The number of threads", count)
    token = _asked.set(asked)
    try:
        with single_threaded_blas() if asked == 1 else nullcontext():
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
    """BLAS at one thread for every thread inside; the previous setting once they have left.

    Some libraries have one setting for the process: the first thread to enter saves it and the last one to leave sets
    it back, because two threads that both saved and restored it could leave it at one. Other libraries have one setting
    for each thread, which every thread saves and sets back for itself.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.known = 0
        self.of_process: list[LibController] = []
        self.of_thread: list[LibController] = []
        self.inside: Counter[int] = Counter()  # entries by thread, and of all threads together
        self.before: dict[int, dict[str, tuple[LibController, int]]] = {}  # by the same keys and by library

    def enter(self, thread: int) -> None:
        """Hold the libraries to one thread; those that were loaded since another thread entered are included."""
        with self.lock:
            if self.inside[thread] and self._is_known():  # everything is held for this thread already
                self.inside[_PROCESS] += 1
                self.inside[thread] += 1
                return
            self._find_libraries()
            for scope, libraries in ((_PROCESS, self.of_process), (thread, self.of_thread)):
                self.inside[scope] += 1
                before = self.before.setdefault(scope, {})
                new = [library for library in libraries if library.filepath not in before]
                before.update({library.filepath: (library, library.get_num_threads()) for library in new})
                _set_blas_threads((library, 1) for library in new)

    def leave(self, thread: int) -> None:
        """Set back the libraries that nobody holds any more."""
        with self.lock:
            for scope in (_PROCESS, thread):
                self._count_out(scope, 1)

    def leave_for_lost_threads(self) -> None:
        """Leave for all threads but this one, which alone goes on in the child of a fork."""
        thread = threading.get_ident()
        lost = self.inside[_PROCESS] - self.inside[thread]
        for scope in set(self.inside) - {_PROCESS, thread}:
            del self.inside[scope], self.before[scope]
        if lost:
            self._count_out(_PROCESS, lost)
        self.lock.release()

    def _count_out(self, scope: int, entries: int) -> None:
        self.inside[scope] -= entries
        if not self.inside[scope]:
            del self.inside[scope]
            _set_blas_threads(self.before.pop(scope).values())

    def _find_libraries(self) -> None:
        """Look for the BLAS libraries loaded now; SciPy brings its own when it is first imported."""
        if self._is_known():
            return
        from threadpoolctl import ThreadpoolController

        libraries = [
            library
            for library in ThreadpoolController().select(user_api="blas").lib_controllers
            if library.get_num_threads()
        ]
        before = [library.get_num_threads() for library in libraries]
        _set_blas_threads((library, 1) for library in libraries)
        with ThreadPoolExecutor(1) as other:  # sees the number of the process, or one of its own
            seen = list(other.map(lambda library: library.get_num_threads(), libraries))
        _set_blas_threads(zip(libraries, before, strict=True))
        self.of_process = [library for library, count in zip(libraries, seen, strict=True) if count == 1]
        self.of_thread = [library for library, count in zip(libraries, seen, strict=True) if count != 1]
        self.known = 1 + ("scipy.linalg" in sys.modules)

    def _is_known(self) -> bool:
        return self.known == 1 + ("scipy.linalg" in sys.modules)


def _set_blas_threads(counts: Iterable[tuple[LibController, int]]) -> None:
    """Set the number of threads of every library, from whichever thread.

    threadpoolctl 3.8 lets one thread alone set OpenBLAS until it gives control back, and ignores the others.
    """
    from threadpoolctl import OpenBLASController

    give_control_back = getattr(OpenBLASController, "clear_controlling_thread", lambda **_: None)
    for library, count in counts:
        give_control_back(force=True)
        library.set_num_threads(count)
    give_control_back(force=True)


_limit = _Limit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_limit.lock.acquire,
        after_in_parent=_limit.lock.release,
        after_in_child=_limit.leave_for_lost_threads,
    )


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Hold BLAS to one thread inside the with block; blocks of all threads may overlap."""
    thread = threading.get_ident()
    _limit.enter(thread)
    try:
        yield
    finally:
        _limit.leave(thread)


def blas_for(rows: int) -> AbstractContextManager[None]:
    """Hold BLAS to one thread for systems of up to 500 rows, which more threads hardly make faster.

    Sums are taken in another order with more threads. Two fits at once share the setting of BLAS, so that either would
    find one thread or several by chance.
    """
    return single_threaded_blas() if rows <= _SMALL else nullcontext()


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

    def work_in_pool(job: Job) -> Result:
        _inside_pool.yes = True
        try:
            with single_threaded_blas():
                return work(job)
        finally:
            _inside_pool.yes = False

    pool, waiting = ThreadPoolExecutor(workers, thread_name_prefix="mercer"), deque[Future[Result]]()
    with single_threaded_blas():
        try:
            for job in jobs:
                waiting.append(pool.submit(work_in_pool, job))
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def run(work: Callable[[Job], object], jobs: Sequence[Job]) -> None:
    """Do `work` for every job, as `each` does, with BLAS at one thread even for a single job."""
    with single_threaded_blas():
        for _ in each(work, jobs):
            pass
