"""k(X, Z) times something, without k(X, Z): what predictions are made of."""

from __future__ import annotations

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


def columns_against(kernel: Kernel, x: Rows, z: Rows) -> Iterator[tuple[slice, Array]]:
    """k(Z, X) for one block of rows of X after the other, as columns."""
    for rows in blocks(len(x)):
        yield rows, between(kernel, x[rows], z).T
