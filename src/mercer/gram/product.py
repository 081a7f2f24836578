"""k(X, Z) times something, without k(X, Z): what predictions are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from mercer.backends import run, thread_count
from mercer.data.rows import Array, Rows
from mercer.kernels.base import Kernel
from mercer.kernels.pair import Scratch
from mercer.kernels.tiles import between, blocks, per_thread, tile

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

Tile: TypeAlias = tuple[slice, slice]

# Sums that a symmetric product is gathered in; a fixed number, so that threads do not change the order of additions.
SUMS = 8


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


def symmetric_times(kernel: Kernel, x: Rows, V: Array, *, dtype: DTypeLike = np.float64) -> Array:
    """k(X, X) V, each tile above the diagonal computed once and used for both of its sides.

    Parameters
    ----------
    kernel : Kernel
        The similarity.
    x : Rows
        The rows.
    V : ndarray of shape (n, t)
        What is multiplied.
    dtype : dtype, default=float64
        Precision of the tiles and of their products; sums are always of float64.

    Returns
    -------
    ndarray of shape (n, t)

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

    def values(_: int, place: Tile, buffers: Scratch) -> Array:
        rows, columns = place
        return tile(kernel, x[rows], x[columns], same=rows == columns, dtype=dtype, scratch=buffers)

    return gathered(upper_tiles(len(x)), values, V.astype(dtype, copy=False))


def upper_tiles(n: int) -> list[Tile]:
    """The tiles on and above the diagonal of an n x n matrix."""
    cuts = blocks(n)
    return [(rows, columns) for i, rows in enumerate(cuts) for columns in cuts[i:]]


def gathered(places: Sequence[Tile], values: Callable[[int, Tile, Scratch], Array], V: Array) -> Array:
    """A V in float64 for a symmetric A whose upper tiles are given, one at a time, by `values`."""
    count = min(max(SUMS, thread_count()), len(places))
    sums = np.zeros((count, *V.shape))
    scratch = per_thread()

    def add(which: int) -> None:
        total, buffers = sums[which], scratch()
        for number in range(which, len(places), count):
            rows, columns = places[number]
            block = values(number, places[number], buffers)
            total[rows] += block @ V[columns]
            if rows != columns:
                total[columns] += block.T @ V[rows]
            buffers.give(block)

    run(add, range(count))
    return np.asarray(sums.sum(axis=0))


def columns_against(kernel: Kernel, x: Rows, z: Rows) -> Iterator[tuple[slice, Array]]:
    """k(Z, X) for one block of rows of X after the other, as columns."""
    for rows in blocks(len(x)):
        yield rows, between(kernel, x[rows], z).T
