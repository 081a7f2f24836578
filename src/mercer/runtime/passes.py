"""One pass over a table: its blocks are folded into sums, here, on threads, or on a cluster, and kept half done.

The work is a value with three methods, and what it sums is a flat dictionary of arrays. Hence a pass can be sent to
other machines, merged in any grouping, and written to disk half done without a pickle.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any, Protocol, TypeAlias

import numpy as np

from mercer.errors import InputError, refuse_if, sentence
from mercer.runtime.container import Array, Checkpoint
from mercer.runtime.progress import Progress
from mercer.runtime.resources import promise, run, thread_count

State: TypeAlias = dict[str, Array]
Run: TypeAlias = Sequence[tuple[Any, int]]  # consecutive parts, each with how many of its rows are skipped
Backend: TypeAlias = Any  # None, "serial", "threads", "dask", an address, a distributed.Client or a cluster

_SCHEMES = ("tcp://", "tls://", "ucx://", "ws://", "wss://", "inproc://")


class PassWork(Protocol):
    """What is done with the blocks; it can be pickled, and holds settings alone."""

    def begin(self) -> State:
        """Sums of no rows: where nothing else is said, nothing."""
        return {}

    def add(self, state: State, block: Any) -> None:
        """Add a block, in place."""
        ...

    def merge(self, a: State, b: State) -> State:
        """Add the sums of later rows to those of earlier ones, in place, and return them."""
        for name, sums in b.items():
            a[name] += sums
        return a


class Readable(Protocol):
    """What a pass needs of a table; `mercer.streaming.blocks.Source` is one."""

    rows: int | None
    here_only: str

    def blocks(self, at_once: int, start: int = 0) -> Iterator[Any]:
        """All rows in order from row `start` on."""
        ...

    def rest(self, start: int) -> Run:
        """The parts with rows from row `start` on, each with how many of its rows come before."""
        ...

    def count(self, rows: int) -> None:
        """A pass has found so many rows."""
        ...


class PassCheckpoint:
    """A pass over rows, half done or finished, in a file.

    It is saved after every block of rows; where a block is done faster than `patience` times the time that saving
    took, after as many blocks as that takes. So saving costs a tenth of the time at most, and no more than a block
    or that time is lost. A finished pass stays in its file, so that it is not done again when a later one is
    interrupted.

    Parameters
    ----------
    path : str or Path
        Where.
    mark : str
        Fingerprint of data and settings: another one is refused.
    patience : float, default=10
        0 saves after every block, whatever that costs.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from mercer.runtime.passes import PassCheckpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kept = PassCheckpoint(Path(folder) / "fit", "data and settings")
    ...     kept.save({"sum": np.array([3.0])}, next_row=500)
    ...     state, next_row = kept.load({"sum": np.zeros(1)}, rows=1000)
    >>> state["sum"].tolist(), next_row
    ([3.0], 500)
    """

    def __init__(self, path: object, mark: str, patience: float = 10) -> None:
        self.file, self.patience = Checkpoint(path, mark), patience

    def load(self, like: Mapping[str, Array], rows: int | None) -> tuple[State, int] | None:
        """The sums so far and the first row that is not in them; None if nothing was saved.

        The sums must be of the names, types and shapes of those in `like`, and of at most `rows` rows where their
        number is known.
        """
        arrays = self.file.load(_named(like, 0))
        if arrays is None:
            self.file.try_folder()
            return None
        next_row = int(arrays.pop("next row"))
        if next_row < 0 or (rows is not None and next_row > rows):
            must_be = "not be negative" if rows is None else f"be from 0 to {rows}"
            problem = f"its row position must {must_be}; got {next_row}. Delete it, or use another file."
            raise InputError(f"The checkpoint {self.file.path} is invalid: {problem}")
        return {name.removeprefix("state "): array for name, array in arrays.items()}, next_row

    def save(self, state: Mapping[str, Array], next_row: int) -> None:
        """Write the sums of all rows before `next_row`."""
        self.file.save(_named(state, next_row))


def _named(state: Mapping[str, Array], next_row: int) -> State:
    return {"next row": np.array(next_row, dtype=np.int64)} | {f"state {name}": each for name, each in state.items()}


class Pass:
    """One pass: what is read, what is done with it, and who is told.

    Parameters
    ----------
    source : Readable
        The table.
    work : PassWork
        What is done.
    at_once : int
        Rows of a block.
    checkpoint : PassCheckpoint or None
        Where it is kept.
    told : tuple of str and int
        What to call it where progress is told, and how much is told.
    """

    def __init__(
        self, source: Readable, work: PassWork, at_once: int, checkpoint: PassCheckpoint | None, told: tuple[str, int]
    ) -> None:
        self.source, self.work, self.at_once, self.checkpoint = source, work, at_once, checkpoint
        fresh = work.begin()
        found = None if checkpoint is None else checkpoint.load(fresh, source.rows)
        self.state, self.start = (fresh, 0) if found is None else found
        what, verbose = told
        self.progress = Progress(what, source.rows, verbose, "rows", self.start)

    def end(self, state: State, rows: int) -> State:
        """All rows are in these sums."""
        self.source.count(rows)
        self.progress.finish()
        if self.checkpoint is not None:
            self.checkpoint.save(state, rows)
        return state


def run_pass(
    source: Readable,
    fold_rows: PassWork,
    *,
    at_once: int,
    backend: Backend = "serial",
    progress: str | None = None,
    checkpoint: PassCheckpoint | None = None,
    verbose: int = 0,
) -> State:
    """Fold all rows of a table into the sums of `fold_rows`.

    ====================================  ===============================================================
    backend                               what happens
    ====================================  ===============================================================
    None                                  "dask" for Dask collections while a client is there, else "serial"
    "serial"                              blocks in order; the work itself may use threads
    "threads"                             runs of parts, one thread and one set of sums each
    "dask"                                the current client of Dask, or a local one that is started and kept
    an address, a Client or a cluster     that one
    ====================================  ===============================================================

    Parameters
    ----------
    source : Source
        The table.
    fold_rows : PassWork
        What is done with its blocks.
    at_once : int
        Rows of a block.
    backend : object, default="serial"
        Where it is done.
    progress : str, default=None
        What to call the pass where progress is told; None tells none.
    checkpoint : PassCheckpoint, default=None
        Where the sums are kept after every block; on a cluster, after every run of parts.
    verbose : int, default=0
        0: silent. 1: progress. 2: progress with a line for every half second, also in files.

    Returns
    -------
    dict of str to ndarray
        The sums.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.runtime.passes import run_pass
    >>> from mercer.streaming.blocks import as_source
    >>> class ColumnSums:
    ...     def begin(self):
    ...         return {"sum": np.zeros(2)}
    ...     def add(self, state, block):
    ...         state["sum"] += block.X.sum(axis=0)
    ...     def merge(self, a, b):
    ...         a["sum"] += b["sum"]
    ...         return a
    >>> run_pass(as_source(np.ones((10, 2))), ColumnSums(), at_once=4)["sum"]
    array([10., 10.])
    """
    check_backend(backend)
    refuse_if(at_once < 1, "The number of rows of a block", "at least 1", at_once)
    from mercer.runtime.dask import current_client, run_on_cluster  # which needs this module

    if backend is None:
        lazy = "distributed" in sys.modules and any(part.pieces for part, _ in source.rest(0))
        backend = (current_client() if lazy else None) or "serial"
    must_be, way_out = '"serial" or Dask when checkpoint is given', 'Use backend="serial", which is also multithreaded.'
    refuse_if(backend == "threads" and checkpoint is not None, "backend", must_be, '"threads"', way_out)
    told = progress or "", 0 if progress is None else verbose
    this = Pass(source, fold_rows, at_once, checkpoint, told)
    if source.rows is not None and this.start >= source.rows:
        return this.state
    go_on = {"serial": _serial, "threads": _threads}.get(backend) if isinstance(backend, str) else None
    return run_on_cluster(this, backend) if go_on is None else go_on(this)


def check_backend(backend: Backend) -> None:
    """Refuse what is no backend."""
    cluster = backend is None or hasattr(backend, "scheduler_info") or hasattr(backend, "scheduler_address")
    named = isinstance(backend, str) and (backend in {"serial", "threads", "dask"} or backend.startswith(_SCHEMES))
    must_be = '"serial", "threads", "dask", the address of a scheduler ("tcp://..."), or a Client of Dask'
    if not (cluster or named):
        raise InputError(sentence("backend", must_be, repr(backend)))


def _serial(this: Pass) -> State:
    """Blocks in order, saved as they come."""
    saved, cost = time.monotonic(), 0.0
    for block in this.source.blocks(this.at_once, this.start):
        this.work.add(this.state, block)
        this.progress.step(len(block))
        now = time.monotonic()
        if this.checkpoint is not None and now - saved >= this.checkpoint.patience * cost:
            this.checkpoint.save(this.state, this.progress.done)
            saved = time.monotonic()
            cost = saved - now
    return this.end(this.state, this.progress.done)


def _threads(this: Pass) -> State:
    """Runs of consecutive parts, each on a thread; their sums are merged in order."""
    lanes = runs(this.source.rest(this.start), thread_count())
    size = sum(array.nbytes for array in this.state.values())
    what = f"backend='threads' with {len(lanes)} threads, each with its own copy of the sums,"
    promise(size * (len(lanes) - 1), what, 'Use backend="serial", which keeps one set of sums.')
    states = [this.state, *(this.work.begin() for _ in lanes[1:])]

    def fold(lane: int) -> None:
        for rows in fold_parts(this.work, states[lane], lanes[lane], this.at_once):
            this.progress.step(rows)

    run(fold, range(len(lanes)))
    return this.end(reduce(this.work.merge, states), this.progress.done)


def fold_parts(work: PassWork, state: State, parts: Run, at_once: int, values: Sequence[Any] = ()) -> Iterator[int]:
    """Add the rows of consecutive parts to sums, in place, block by block, and yield how many rows each block has.

    `values`: what Dask has computed the pieces of a lazy part to be, which is then alone.
    """
    for part, skip in parts:
        for block in part.blocks(at_once, skip, values):
            work.add(state, block)
            yield len(block)


def runs(parts: Run, count: int) -> list[Run]:
    """At most `count` runs of consecutive parts, as equal in number as can be."""
    count = min(count, len(parts))
    edges = [len(parts) * place // count for place in range(count + 1)]
    return [parts[first:last] for first, last in pairwise(edges)]
