"""A pass on a cluster of Dask: parts are read and summed where the workers are. The only module that imports Dask."""

from __future__ import annotations

import atexit
import logging
import multiprocessing
from asyncio import CancelledError
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.errors import InputError, MemoryRefusal, MercerError, refuse_if
from mercer.runtime.passes import Backend, Pass, PassWork, Run, State, fold_parts, runs
from mercer.runtime.resources import readable

if TYPE_CHECKING:
    from dask.delayed import Delayed
    from distributed import Client, Future, LocalCluster

_LANES = 16  # runs of parts at least, so that the order of sums is the same on few workers and on fewer
_PER_THREAD = 4  # runs of parts for each thread of the cluster, so that no worker waits long for the last one
_RETRIES = 3  # of a task that fails, as reading from a far disk may
_PATIENCE = 30  # seconds in which a first worker must be there


def run_on_cluster(this: Pass, backend: Backend) -> State:
    """Fold all rows of a table on the workers of a cluster.

    The parts are cut into runs: four for each thread of the cluster, at least 16. A run is folded into one set of sums,
    by one task, or by one for each partition of a Dask collection. The sums of runs are merged by pairs, in the order
    of the table: which worker does what, and when, changes nothing. Not more runs are under way than the cluster
    has threads, and not more wait for an earlier one. So there are never more than four sets of sums for each thread
    and log2(runs) others, and one part or partition for each thread.

    Tasks hold what they need to be done again, so a worker that dies takes nothing with it. Files are sent by
    name; parts of arrays in memory are sent by content, through the scheduler, which keeps them until the end.

    With a checkpoint the sums of each run come to this process, are merged here in order, and saved.
    """
    must_be, got = "file paths, arrays or Dask collections", this.source.here_only
    refuse_if(got, "With a Dask backend, X", must_be, got, 'Use backend="serial".')
    with _client(backend) as client, _explain_lost_cluster(client), client.as_current(), _no_warning_of_large_tasks():
        work = _submit(client, _same, this.work)  # a first task: a cluster that grows with its work begins to
        threads = _threads(client)
        _promise(client, this.state)
        this.progress.begin()
        lanes = runs(this.source.rest(this.start), max(_LANES, _PER_THREAD * threads))
        sums = _fold_runs([_fold_run(this, client, work, lane) for lane in lanes], threads)
        if this.checkpoint is None:
            merged, rows = _merge_by_pairs(client, work, sums).result()
            state = {name: np.require(array, requirements="W") for name, array in merged.items()}  # it came read-only
        else:
            state, rows = this.state, 0
            for later, count in (future.result() for future in sums):
                state, rows = this.work.merge(state, later), rows + count
                this.checkpoint.save(state, this.start + rows)
        return this.end(state, this.start + rows)


def _submit(client: Client, function: Callable[..., object], *arguments: object) -> Future:
    return client.submit(function, *arguments, pure=False, retries=_RETRIES)


def _fold_runs(tasks: Sequence[Iterator[Future]], threads: int) -> Iterator[Future]:
    """The sums of every run in the order of the table, at most `threads` of them under way at a time."""
    from distributed import wait

    under_way: dict[Future, int] = {}
    done: dict[int, Future] = {}
    begun = 0
    for turn in range(len(tasks)):
        while turn not in done:
            while begun < len(tasks) and len(under_way) < threads and begun - turn < 2 * threads:
                under_way[next(tasks[begun])] = begun
                begun += 1
            for future in wait(list(under_way), return_when="FIRST_COMPLETED").done:
                number = under_way.pop(future)
                if future.status != "finished":
                    future.result()  # the first error ends the pass
                following = next(tasks[number], None)
                if following is None:
                    done[number] = future
                else:
                    under_way[following] = number
        yield done.pop(turn)


def _fold_run(this: Pass, client: Client, work: Future, lane: Run) -> Iterator[Future]:
    """The tasks of a run, each submitted when the one before is done: one, or one for each lazy partition."""
    future = None
    for step in [[each] for each in lane] if any(part.pieces for part, _ in lane) else [lane]:
        pieces = [piece for part, _ in step for piece in part.pieces]
        parts = [(replace(part, pieces=()), skip) for part, skip in step]
        values = client.compute(pieces, retries=_RETRIES)
        future = _submit(client, _fold, work, future, parts, this.at_once, *values)
        yield future
        this.progress.step(sum((part.rows or 0) - skip for part, skip in step))


def _merge_by_pairs(client: Client, work: Future, sums: Iterator[Future]) -> Future:
    """Merge neighbours on the cluster as a counter in base two does: the order is that of the runs."""
    waiting: list[Future] = []

    def merge_last() -> None:
        later, earlier = waiting.pop(), waiting.pop()
        waiting.append(_submit(client, _merge, work, earlier, later))

    for number, future in enumerate(sums, 1):
        waiting.append(future)
        for _ in range((number & -number).bit_length() - 1):  # how often two divides the number
            merge_last()
    while len(waiting) > 1:
        merge_last()
    return waiting[0]


def _same(work: PassWork) -> PassWork:
    """The work as a task of its own: sent once, fetched by workers from each other, made again if it is lost."""
    return work


def _begin(work: PassWork, begun: tuple[State, int] | None) -> tuple[State, int]:
    """Fresh sums, or a copy of what came before: results of tasks must not change, they may be used again."""
    if begun is None:
        return work.begin(), 0
    return {name: array.copy(order="K") for name, array in begun[0].items()}, begun[1]


def _fold(
    work: PassWork, begun: tuple[State, int] | None, parts: Run, at_once: int, *values: object
) -> tuple[State, int]:
    state, rows = _begin(work, begun)
    return state, rows + sum(fold_parts(work, state, parts, at_once, values))


def _merge(work: PassWork, a: tuple[State, int], b: tuple[State, int]) -> tuple[State, int]:
    state, rows = _begin(work, a)
    return work.merge(state, b[0]), rows + b[1]


def current_client() -> Client | None:
    """The client that is in use in this process; None if there is none."""
    from distributed import default_client

    with suppress(ValueError):
        return default_client()
    return None


@contextmanager
def _client(backend: Backend) -> Iterator[Client]:
    """The client that was meant; one that is made for an address is closed at the end."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:  # pragma: no cover - the extra is there in tests
        raise InputError("Dask is not installed: pip install 'mercer[dask]'") from None
    if isinstance(backend, Client):
        yield backend
    elif backend == "dask":
        current = current_client()
        if current is None:  # one on this machine, which stays the current one until the process ends
            cluster = LocalCluster(dashboard_address=":0")
            current = Client(cluster)
            atexit.register(close_local, cluster, current)
        yield current
    else:
        try:
            client = Client(backend, set_as_default=False)
        except (OSError, ValueError) as problem:
            raise InputError(f"The scheduler at {backend!r} cannot be reached: {problem}.") from None
        log = logging.getLogger("distributed.client")  # it would write tracebacks when a connection ends
        before, log.disabled = log.disabled, True
        try:
            with client:
                yield client
        finally:
            log.disabled = before


def close_local(cluster: LocalCluster, *clients: Client) -> None:
    """Close a cluster on this machine and its clients, and end the worker processes even if Dask's own close fails.

    Closing races with workers that start or die at the same time. Dask then raises KeyError, TimeoutError or
    AssertionError, leaves the cluster in the state "closing" for ever, and gives a ResourceWarning much later.
    """
    from distributed import Status

    workers = list(cluster.workers.values())
    for each in (*clients, cluster):
        with suppress(Exception, CancelledError):
            each.close(timeout=_PATIENCE)
    if cluster.status is Status.closed:
        return
    for worker in workers:
        worker.auto_restart = False  # else it replaces the process that is ended below
    remaining = {getattr(worker, "pid", None) for worker in workers}
    for process in multiprocessing.active_children():
        if process.pid in remaining:
            process.kill()
    cluster.status = Status.closed
    with suppress(Exception, CancelledError):
        cluster.close()  # a closed cluster stops its event loop


@contextmanager
def _explain_lost_cluster(client: Client) -> Iterator[None]:
    """Say in one sentence that the scheduler went away, or that workers died; other errors are those of the tasks."""
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    address = client.scheduler.address if client.scheduler else "an unknown address"
    try:
        yield
    except KilledWorker:
        words = f"The Dask workers of the scheduler at {address} were killed repeatedly"
        way_out = "See the worker logs; use fewer landmarks, or workers with more memory."
        raise InputError(f"{words}, often because of too little memory. {way_out}") from None
    except Exception as problem:
        lost = isinstance(problem, CommClosedError | futures.CancelledError) or client.status != "running"
        if isinstance(problem, MercerError) or not lost:
            raise
        words = f"The connection to the scheduler at {address} was lost, or the work was cancelled there."
        way_out = "Start the scheduler and this fit again; with a checkpoint, finished work is kept."
        raise InputError(f"{words} {way_out}") from None


@contextmanager
def _no_warning_of_large_tasks() -> Iterator[None]:
    """Work and parts of arrays are sent by content on purpose."""
    from dask import config

    with config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
        yield


def _threads(client: Client) -> int:
    """How many threads the cluster has; waits for the first worker."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError:
        raise InputError(f"The Dask cluster has no workers (waited {_PATIENCE} s).") from None
    return max(1, sum(int(count) for count in client.nthreads().values()))


def _promise(client: Client, state: State) -> None:
    """Refuse sums of which a worker could not hold four sets for each of its threads."""
    size = 4 * sum(array.nbytes for array in state.values())
    for worker in client.scheduler_info(n_workers=-1)["workers"].values():
        threads, limit = worker["nthreads"], worker.get("memory_limit") or 0
        if 0 < limit < threads * size:
            words = f"A Dask worker with {worker['nthreads']} threads needs {readable(threads * size)} of memory;"
            way_out = "Use fewer landmarks, or workers with fewer threads or more memory."
            raise MemoryRefusal(f"{words} the worker has {readable(limit)}. {way_out}")


def compute(pieces: Sequence[Delayed]) -> tuple[Any, ...]:
    """What some Delayed objects stand for, by the scheduler that Dask would use."""
    import dask

    return tuple(dask.compute(*pieces))


def delayed(function: Callable[..., object]) -> Delayed:
    """A function whose calls are tasks, done by `compute`."""
    import dask

    return dask.delayed(function)
