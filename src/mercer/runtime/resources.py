"""What the machine has and how much of it is used: memory that is promised before it is taken, and threads for tiles.

NumPy releases the interpreter lock inside its loops, so plain threads scale; BLAS would otherwise start threads of its
own in every one of ours, and is held to one inside the pool.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from mercer.errors import MemoryRefusal, refuse_if

if TYPE_CHECKING:
    from threadpoolctl import LibController

_GROUPS = Path("/sys/fs/cgroup")  # where control groups are mounted
_MEMBERSHIP = Path("/proc/self/cgroup")  # which ones this process is in
# Files of a group: its limit, what it uses, and the line of memory.stat that says how much of that is cached files
# which the system drops as soon as memory is asked for.
_VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_VERSION_2 = ("memory.max", "memory.current", "inactive_file")
_KEPT = 0.1  # seconds for which a reading counts: it takes as long as a small fit
_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")
Job = TypeVar("Job")
Result = TypeVar("Result")
_asked: ContextVar[int | None] = ContextVar("mercer_threads", default=None)
_inside_pool = threading.local()
_SMALL = 500  # rows up to which a factor takes a few milliseconds on one thread
_PROCESS = 0  # stands for all threads where thread identifiers, which are never 0, are keys


def available_bytes() -> int:
    """Bytes this process can still take: the least of the machine, its control groups and its limit.

    `MERCER_MEMORY_LIMIT` (bytes) lowers it. Where nothing can be read, half of the physical memory.
    """
    asked = os.environ.get("MERCER_MEMORY_LIMIT", "")
    unclear = asked and not (asked.isascii() and asked.isdigit())
    refuse_if(unclear, "MERCER_MEMORY_LIMIT", "an integer number of bytes", repr(asked))
    around = _around(int(time.monotonic() / _KEPT), _GROUPS, _MEMBERSHIP)
    known = [*around, *_process_limit(), *([int(asked)] if asked else [])]
    if known:
        return max(0, min(known))
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2  # pragma: no cover


@lru_cache(maxsize=1)
def _around(_moment: int, *_places: Path) -> list[int]:
    """What the machine and the control groups leave, read again for another moment or other places."""
    return [1024 * kib for kib in _fields(Path("/proc/meminfo"), "MemAvailable:")] + _control_groups()


def _control_groups() -> list[int]:
    """What each group that this process is in leaves, and each group around it: any of them may have the least.

    Version 1 is mounted under memory, version 2 at the top or under unified. A container may see its own group as the
    top and yet be told a path from outside, of which nothing is there; then the top is all there is.
    """
    inside = {"memory": "/", "": "/"}  # the path of the process's group, by controller; version 2 has no name
    for line in _lines(_MEMBERSHIP):
        _, controllers, path = line.split(":", 2)
        inside |= {name: path for name in controllers.split(",") if name in inside}
    left = []
    for top, path, files in (
        (_GROUPS / "memory", inside["memory"], _VERSION_1),
        (_GROUPS, inside[""], _VERSION_2),
        (_GROUPS / "unified", inside[""], _VERSION_2),
    ):
        parts = [part for part in path.split("/") if part not in {"", ".."}]
        for depth in range(len(parts) + 1):
            left += _left_in(top.joinpath(*parts[:depth]), *files)
    return left


def _left_in(group: Path, limit: str, usage: str, cached: str) -> list[int]:
    """What a group leaves, if it is there and has a limit."""
    cached_bytes = sum(_fields(group / "memory.stat", f"{cached} "))
    pairs = zip(_fields(group / limit, ""), _fields(group / usage, ""), strict=False)
    return [most - max(0, used - cached_bytes) for most, used in pairs]


def _process_limit() -> list[int]:
    with suppress(ImportError):  # not on every system
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        if soft != resource.RLIM_INFINITY:
            return [soft - 1024 * kib for kib in _fields(Path("/proc/self/status"), "VmSize:")]
    return []


def _fields(path: Path, label: str) -> list[int]:
    """The numbers that follow a label in a file of the system, each at the beginning of its line."""
    lines = [line.removeprefix(label).split() for line in _lines(path) if line.startswith(label)]
    return [int(words[0]) for words in lines if words and words[0].isdigit()]


def _lines(path: Path) -> list[str]:
    """The lines of a file of the system; none where it is not there."""
    with suppress(OSError):
        return path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    return []


def readable(count: float) -> str:
    """A number of bytes as a person would say it.

    >>> readable(3_200_000_000)
    '3.2 GB'
    """
    for unit in _UNITS[:-1]:
        if count < (1000 if unit == "bytes" else 999.95):
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} {_UNITS[-1]}"


def promise(needed: int, what: str, way_out: str) -> None:
    """Refuse work that needs more bytes than there are, before anything is allocated.

    Examples
    --------
    >>> from mercer.runtime import promise
    >>> promise(10**18, "A Gram matrix of 353 553 391 rows", "Use fewer rows.")
    Traceback (most recent call last):
        ...
    mercer.errors.MemoryRefusal: A Gram matrix of 353 553 391 rows needs 1000.0 PB of memory; ...
    """
    there = available_bytes()
    if needed > there:
        raise MemoryRefusal(f"{what} needs {readable(needed)} of memory; {readable(there)} is available. {way_out}")


def thread_count() -> int:
    """How many threads mercer uses now.

    In this order: what `threads` was given, the variable MERCER_THREADS, and otherwise the
    processors this process may run on, held down by OMP_NUM_THREADS (which joblib sets in its
    workers so that nested work does not crowd the machine).
    """
    if (asked := _asked.get()) is not None:
        return asked
    if by_name := os.environ.get("MERCER_THREADS"):
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
    count = 0
    with suppress(ValueError):
        count = int(str(value))
    refuse_if(count < 1, what, "an integer of at least 1", repr(value))
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
        self.inside: Counter[int] = Counter()  # entries by thread
        self.before: dict[int, dict[str, tuple[LibController, int]]] = {}  # by thread, or of the process, and library

    def enter(self, thread: int) -> None:
        """Hold the libraries to one thread; those that were loaded since another thread entered are included."""
        with self.lock:
            self._find_libraries()
            self.inside[thread] += 1
            for scope, libraries in ((_PROCESS, self.of_process), (thread, self.of_thread)):
                before = self.before.setdefault(scope, {})
                if new := [library for library in libraries if library.filepath not in before]:
                    before.update({library.filepath: (library, library.get_num_threads()) for library in new})
                    _set_blas_threads((library, 1) for library in new)

    def leave(self, thread: int) -> None:
        """Set back the libraries that nobody holds any more."""
        with self.lock:
            self.inside[thread] -= 1
            self._set_back()

    def leave_for_lost_threads(self) -> None:
        """Leave for all threads but this one, which alone goes on in the child of a fork."""
        thread = threading.get_ident()
        self.inside = Counter({thread: self.inside[thread]})
        self.before = {scope: before for scope, before in self.before.items() if scope in (_PROCESS, thread)}
        self._set_back()
        self.lock.release()

    def _set_back(self) -> None:
        """Set back the libraries of threads that are no longer inside, and of the process where none is."""
        self.inside = +self.inside  # without counts of zero
        for scope in [scope for scope in self.before if not (self.inside if scope == _PROCESS else self.inside[scope])]:
            _set_blas_threads(self.before.pop(scope).values())

    def _find_libraries(self) -> None:
        """Look for the BLAS libraries loaded now; SciPy brings its own when it is first imported."""
        known = 1 + ("scipy.linalg" in sys.modules)
        if self.known == known:
            return
        from threadpoolctl import ThreadpoolController

        loaded = ThreadpoolController().select(user_api="blas").lib_controllers
        libraries = [library for library in loaded if library.get_num_threads()]
        before = [library.get_num_threads() for library in libraries]
        _set_blas_threads((library, 1) for library in libraries)
        with ThreadPoolExecutor(1) as other:  # sees the number of the process, or one of its own
            seen = list(other.map(lambda library: library.get_num_threads(), libraries))
        _set_blas_threads(zip(libraries, before, strict=True))
        self.of_process = [library for library, count in zip(libraries, seen, strict=True) if count == 1]
        self.of_thread = [library for library, count in zip(libraries, seen, strict=True) if count != 1]
        self.known = known


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
        before=_limit.lock.acquire, after_in_parent=_limit.lock.release, after_in_child=_limit.leave_for_lost_threads
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
        with single_threaded_blas():
            return work(job)

    begin, waiting = partial(setattr, _inside_pool, "yes", True), deque[Future[Result]]()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="mercer", initializer=begin)
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


def run(work: Callable[[Job], Result], jobs: Sequence[Job]) -> list[Result]:
    """`work` of every job, as `each` has it, all done and with BLAS at one thread even for a single job."""
    with single_threaded_blas():
        return list(each(work, jobs))
