"""k(X, Z) times something, without k(X, Z): what predictions are made of."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np

from mercer.backends import run
from mercer.data.rows import Array, Rows
from mercer.kernels.base import Kernel
from mercer.kernels.tiles import between, blocks, per_thread, tile


def times(kernel: Kernel, x: Rows, z: Rows, V: Array) -> Array:
    """k(X, Z) V; no more than one tile per thread is held.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import as_rows
    >>> from mercer.gram import times
    >>> from mercer.kernels import Linear
    >>> times(Linear(), as_rows([[1.0], [2.0]]), as_rows([[3.0], [4.0]]), np.array([[1.0], [1.0]]))
    array([[ 7.],
           [14.]])
    """
    result = np.zeros((len(x), V.shape[1]))
    scratch = per_thread()

    def add(rows: slice) -> None:
        buffers = scratch()
        for columns in blocks(len(z)):
            values = tile(kernel, x[rows], z[columns], scratch=buffers)
            result[rows] += values @ V[columns]
            buffers.give(values)

    run(add, blocks(len(x)))
    return result


def symmetric_times(kernel: Kernel, x: Rows, V: Array) -> Array:
    """k(X, X) V, each tile above the diagonal computed once and used for both of its sides.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import as_rows
    >>> from mercer.gram.product import symmetric_times
    >>> from mercer.kernels import Linear
    >>> symmetric_times(Linear(), as_rows([[1.0], [2.0]]), np.array([[1.0], [1.0]]))
    array([[3.],
           [6.]])
    """
    cuts = blocks(len(x))
    jobs = [(rows, columns) for i, rows in enumerate(cuts) for columns in cuts[i:]]
    parts: list[Array] = []
    local, scratch, lock = threading.local(), per_thread(), threading.Lock()

    def add(job: tuple[slice, slice]) -> None:
        if not hasattr(local, "sum"):
            local.sum = np.zeros((len(x), V.shape[1]))
            with lock:
                parts.append(local.sum)
        rows, columns = job
        buffers = scratch()
        values = tile(kernel, x[rows], x[columns], same=rows == columns, scratch=buffers)
        local.sum[rows] += values @ V[columns]
        if rows != columns:
            local.sum[columns] += values.T @ V[rows]
        buffers.give(values)

    run(add, jobs)
    return np.asarray(sum(parts))


def columns_against(kernel: Kernel, x: Rows, z: Rows) -> Iterator[tuple[slice, Array]]:
    """k(Z, X) for one block of rows of X after the other, as columns."""
    for rows in blocks(len(x)):
        yield rows, between(kernel, x[rows], z).T
