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

from mercer.errors import InputError, MemoryRefusal, MercerError
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
    if this.source.here_only:
        raise InputError(
            "With a Dask backend, X must be file paths, arrays or Dask collections; got "
            f'{this.source.here_only}. Use backend="serial".'
        )
    with _client(backend) as client, _explain_lost_cluster(client), client.as_current(), _no_warning_of_large_tasks():
        flow = _Flow(this, client)  # a first task: a cluster that grows with its work begins to
        threads = _threads(client)
        _promise(client, this.state)
        this.progress.begin()
        lanes = runs(this.rest(), max(_LANES, _PER_THREAD * threads))
        merge = _by_pairs if this.checkpoint is None else _one_by_one
        state, rows = merge(flow, flow.run_lanes(lanes, threads))
        return this.end(state, this.start + rows)


class _Flow:
    """Tasks of one pass on one cluster."""

    def __init__(self, this: Pass, client: Client) -> None:
        self.this, self.client = this, client
        self.work = self._task(_same, this.work)

    def run_lanes(self, lanes: Sequence[Run], threads: int) -> Iterator[Future]:
        """The sums of every run in the order of the table, at most `threads` of them under way at a time."""
        from distributed import wait

        under_way: dict[Future, tuple[int, Iterator[Future]]] = {}
        done: dict[int, Future] = {}
        begun = turn = 0
        while turn < len(lanes):
            while begun < len(lanes) and len(under_way) < threads and begun - turn < 2 * threads:
                folds = self._folds(lanes[begun])
                under_way[next(folds)] = begun, folds
                begun += 1
            for future in wait(list(under_way), return_when="FIRST_COMPLETED").done:
                number, folds = under_way.pop(future)
                if future.status != "finished":
                    future.result()  # the first error ends the pass
                following = next(folds, None)
                if following is None:
                    done[number] = future
                else:
                    under_way[following] = number, folds
            while turn in done:
                yield done.pop(turn)
                turn += 1

    def _folds(self, lane: Run) -> Iterator[Future]:
        """The tasks of a run, each submitted when the one before is done: one, or one for each lazy partition."""
        future = None
        lazy = any(hasattr(part, "pieces") for part, _ in lane)
        for step in [[each] for each in lane] if lazy else [lane]:
            part, skip = step[0]
            if lazy:
                values = self.client.compute(list(part.pieces), retries=_RETRIES)
                bare = replace(part, pieces=())
                future = self._task(_fold_values, future, self.work, bare, skip, self.this.at_once, *values)
            else:
                future = self._task(_fold, future, self.work, list(step), self.this.at_once)
            yield future
            self.this.progress.step(sum((part.rows or 0) - skip for part, skip in step))

    def merge(self, a: Future, b: Future) -> Future:
        """The sums of two neighbours."""
        return self._task(_merge, self.work, a, b)

    def _task(self, function: Callable[..., object], *arguments: object) -> Future:
        return self.client.submit(function, *arguments, pure=False, retries=_RETRIES)


def _by_pairs(flow: _Flow, finished: Iterator[Future]) -> tuple[State, int]:
    """Merge neighbours on the cluster, by a counter in base two: the order is that of the runs."""
    waiting: list[tuple[int, Future]] = []  # how many runs are in it, the sums

    def merge_last() -> None:
        count, later = waiting.pop()
        before, earlier = waiting.pop()
        waiting.append((before + count, flow.merge(earlier, later)))

    for lane in finished:
        waiting.append((1, lane))
        while len(waiting) > 1 and waiting[-2][0] == waiting[-1][0]:
            merge_last()
    while len(waiting) > 1:
        merge_last()
    state, rows = waiting[0][1].result()
    return {name: np.require(array, requirements="W") for name, array in state.items()}, rows  # messages are read-only


def _one_by_one(flow: _Flow, finished: Iterator[Future]) -> tuple[State, int]:
    """Fetch the sums of runs in order, merge them here and save."""
    this, rows = flow.this, 0
    state = this.state
    for lane in finished:
        later, count = lane.result()
        state, rows = this.work.merge(state, later), rows + count
        if this.checkpoint is not None:
            this.checkpoint.save(state, this.start + rows)
    return state, rows


def _same(work: PassWork) -> PassWork:
    """The work as a task of its own: sent once, fetched by workers from each other, made again if it is lost."""
    return work


def _begin(work: PassWork, begun: tuple[State, int] | None) -> tuple[State, int]:
    """Fresh sums, or a copy of what came before: results of tasks must not change, they may be used again."""
    if begun is None:
        return work.begin(), 0
    return {name: array.copy(order="K") for name, array in begun[0].items()}, begun[1]


def _fold(begun: tuple[State, int] | None, work: PassWork, parts: Run, at_once: int) -> tuple[State, int]:
    state, rows = _begin(work, begun)
    return state, rows + fold_parts(work, state, parts, at_once)


def _fold_values(
    begun: tuple[State, int] | None, work: PassWork, part: Any, skip: int, at_once: int, *values: object
) -> tuple[State, int]:
    return _fold(begun, work, [(part.fill(values), skip)], at_once)


def _merge(work: PassWork, a: tuple[State, int], b: tuple[State, int]) -> tuple[State, int]:
    state, rows = _begin(work, a)
    return work.merge(state, b[0]), rows + b[1]


def current_client() -> Client | None:
    """The client that is in use in this process; None if there is none."""
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None


@contextmanager
def _client(backend: Backend) -> Iterator[Client]:
    """The client that was meant; one that is made for an address is closed at the end."""
    try:
        from distributed import Client
    except ImportError:  # pragma: no cover - the extra is there in tests
        raise InputError("Dask is not installed: pip install 'mercer[dask]'") from None
    if isinstance(backend, Client):
        yield backend
    elif backend == "dask":
        yield current_client() or _local_client()
    else:
        try:
            client = Client(backend, set_as_default=False)
        except (OSError, ValueError) as problem:
            raise InputError(f"The scheduler at {backend!r} cannot be reached: {problem}.") from None
        with _without_log(), client:
            yield client


def _local_client() -> Client:
    """Start a cluster on this machine and a client that stays the current one until the process ends."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(dashboard_address=":0")
    client = Client(cluster)
    atexit.register(close_local, cluster, client)
    return client


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
def _without_log() -> Iterator[None]:
    """Keep Dask from writing tracebacks to stderr when a connection ends: what was lost is told by an error."""
    log = logging.getLogger("distributed.client")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


@contextmanager
def _explain_lost_cluster(client: Client) -> Iterator[None]:
    """Say in one sentence that the scheduler went away, or that workers died; other errors are those of the tasks."""
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    address = client.scheduler.address if client.scheduler else "an unknown address"
    try:
        yield
    except MercerError:
        raise
    except KilledWorker:
        raise InputError(
            f"The Dask workers of the scheduler at {address} were killed repeatedly, often because of too little "
            "memory. See the worker logs; use fewer landmarks, or workers with more memory."
        ) from None
    except Exception as problem:
        if isinstance(problem, CommClosedError | futures.CancelledError) or client.status != "running":
            raise InputError(
                f"The connection to the scheduler at {address} was lost, or the work was cancelled there. Start the "
                "scheduler and this fit again; with a checkpoint, finished work is kept."
            ) from None
        raise


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
        limit = worker.get("memory_limit") or 0
        if limit and worker["nthreads"] * size > limit:
            raise MemoryRefusal(
                f"A Dask worker with {worker['nthreads']} threads needs {readable(worker['nthreads'] * size)} of "
                f"memory; the worker has {readable(limit)}. Use fewer landmarks, or workers with fewer threads or more "
                "memory."
            )


def compute(pieces: Sequence[Delayed]) -> tuple[Any, ...]:
    """What some Delayed objects stand for, by the scheduler that Dask would use."""
    import dask

    return tuple(dask.compute(*pieces))


def delayed(function: Callable[..., object]) -> Delayed:
    """A function whose calls are tasks, done by `compute`."""
    import dask

    return dask.delayed(function)
