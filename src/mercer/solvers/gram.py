"""The Gram matrix by tiles: in full, times something, and the rows nearest to others; it is never held twice.

`training_matrix` is what is factored; `times` is what predictions are made of; `KeptTiles` are for products
again and again; `nearest_rows` ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from mercer.data.rows import Array, Rows
from mercer.errors import InputError, MercerWarning, sentence, warn
from mercer.kernels.algebra import Product, Scaled, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.pair import Scratch
from mercer.kernels.products import Constant, Linear
from mercer.kernels.stationary import Stationary
from mercer.kernels.tiles import (
    TILE,
    between,
    blocks,
    column_numbers,
    gram,
    log_tile,
    tile,
    underflow_is_zero,
    upper_tiles,
)
from mercer.runtime import run, thread_count

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


def training_matrix(kernel: Kernel, rows: Rows) -> Array:
    """k(X, X) in a fresh array; a given matrix is copied.

    Examples
    --------
    >>> from mercer.data import as_rows
    >>> from mercer.solvers.gram import training_matrix
    >>> from mercer.kernels import Linear
    >>> training_matrix(Linear(), as_rows([[1.0], [2.0]]))
    array([[1., 2.],
           [2., 4.]])
    """
    K = between(kernel, rows, column_numbers(rows)) if kernel.kind == "gram" else gram(kernel, rows)
    refuse_infinite(kernel, K.diagonal())
    return K


def refuse_infinite(kernel: Kernel, diagonal: Array) -> None:
    """Raise an InputError if k(x, x) of some row is not finite."""
    finite = np.isfinite(diagonal)
    if not finite.all():
        row = int(finite.argmin())
        got = f"{diagonal[row]} in row {row}"
        raise InputError(sentence(f"k(x, x) of {kernel!r}", "finite", got, "Scale the columns of X."))


def centre_of(kernel: Kernel, rows: Rows, *, intercept: bool) -> Array | None:
    """The mean of dense rows if it may be taken off them: the model stays the same, and differences keep their digits.

    Functions of differences allow it, and linear kernels with an intercept.
    """
    return np.asarray(rows.values.mean(axis=0)) if _may_move(kernel, intercept) and not rows.sparse else None


def _may_move(kernel: Kernel, intercept: bool) -> bool:
    """Whether a model stays the same when all rows are moved."""
    if isinstance(kernel, Sum | Product):
        return all(_may_move(part, intercept and isinstance(kernel, Sum)) for part in kernel.parts())
    if isinstance(kernel, Scaled):
        return _may_move(kernel.base, intercept)
    return isinstance(kernel, Stationary) or (isinstance(kernel, Linear) and intercept)


# Sums that a symmetric product is gathered in; a fixed number, so that threads do not change the order of additions.
SUMS = 8


@underflow_is_zero
def times(kernel: Kernel, x: Rows, z: Rows, V: Array) -> Array:
    """k(X, Z) V; no more than one tile per thread is held.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import as_rows
    >>> from mercer.solvers.gram import times
    >>> from mercer.kernels import Linear
    >>> times(Linear(), as_rows([[1.0], [2.0]]), as_rows([[3.0], [4.0]]), np.array([[1.0], [1.0]]))
    array([[ 7.],
           [14.]])
    """
    result = np.zeros((len(x), V.shape[1]))
    scratch = Scratch()

    def add(rows: slice) -> None:
        wide = TILE**2 // max(rows.stop - rows.start, z.width)  # few rows of few columns have wide tiles
        for columns in blocks(len(z), max(TILE, wide)):
            values = tile(kernel, x[rows], z[columns], scratch=scratch)
            result[rows] += values @ V[columns]
            scratch.give(values)

    run(add, blocks(len(x)))
    return result


def symmetric_times(
    kernel: Kernel, x: Rows, V: Array, *, dtype: DTypeLike = np.float64, kept: Sequence[Array] = ()
) -> Array:
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
    kept : sequence of ndarray, default=()
        The first of the tiles, where they are there already; the others are computed.

    Returns
    -------
    ndarray of shape (n, t)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import as_rows
    >>> from mercer.solvers.gram import symmetric_times
    >>> from mercer.kernels import Linear
    >>> symmetric_times(Linear(), as_rows([[1.0], [2.0]]), np.array([[1.0], [1.0]]))
    array([[3.],
           [6.]])
    """
    places, V = upper_tiles(len(x)), V.astype(dtype, copy=False)
    count = min(max(SUMS, thread_count()), len(places))
    sums = np.zeros((count, *V.shape))
    scratch = Scratch()

    def add(which: int) -> None:
        total = sums[which]
        for number in range(which, len(places), count):
            rows, columns = places[number]
            if number < len(kept):
                block = kept[number]
            else:
                block = tile(kernel, x[rows], x[columns], same=rows == columns, dtype=dtype, scratch=scratch)
            total[rows] += block @ V[columns]
            if rows != columns:
                total[columns] += block.T @ V[rows]
            scratch.give(block)

    run(add, range(count))
    return np.asarray(sums.sum(axis=0))


# Kernel values that single precision can hold and multiply; beyond, products are made in double precision.
_LEAST, _MOST = 1e-25, 1e25


def tile_bytes(n: int) -> int:
    """Bytes of all tiles on and above the diagonal in single precision, about 2 n^2."""
    return 2 * n * (n + min(n, TILE))


class KeptTiles:
    """V -> k(X, X) V to single precision, from tiles that are computed once.

    Only tiles on and above the diagonal are kept, each as one piece of memory: half of what the matrix takes, and
    filled several times faster than it. Tiles for which there is no room are computed anew in every product.

    Parameters
    ----------
    kernel : Kernel
        Of rows, not of a given matrix.
    rows : Rows
        The rows.
    room : int
        Bytes that may be taken; `tile_bytes` are enough for all tiles.

    Attributes
    ----------
    share : float
        Share of the tiles that are kept.
    single : bool
        Whether products are made in single precision; not where values are too large or too small for it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import as_rows
    >>> from mercer.solvers.gram import KeptTiles
    >>> from mercer.kernels import Gaussian
    >>> X, V = np.linspace(0.0, 1.0, 700)[:, None], np.ones((700, 1))
    >>> tiles = KeptTiles(Gaussian(1.0), as_rows(X), room=10**7)
    >>> bool(np.abs(tiles(V) - Gaussian(1.0)(X) @ V).max() < 1e-3), tiles.share
    (True, 1.0)
    """

    def __init__(self, kernel: Kernel, rows: Rows, room: int) -> None:
        self.kernel, self.rows = kernel, rows
        largest = float(np.abs(kernel.diagonal(rows)).max(initial=0.0))
        self.single = largest == 0 or _LEAST < largest < _MOST
        places = upper_tiles(len(rows))
        shapes = [(left.stop - left.start, right.stop - right.start) for left, right in places]
        ends = np.cumsum([height * width for height, width in shapes], dtype=np.int64)
        count = int(np.searchsorted(4 * ends, max(0, room), side="right")) if self.single else 0
        self.share = count / len(places)
        store = np.split(np.empty(int(ends[count - 1]) if count else 0, dtype=np.float32), ends[:count])
        self._tiles = [part.reshape(shape) for part, shape in zip(store, shapes[:count], strict=False)]
        scratch = Scratch()

        def fill(number: int) -> None:
            """In single precision from the start: measured as close as rounded values, in a third of the time."""
            left, right = places[number]
            values = tile(kernel, rows[left], rows[right], same=left == right, dtype=np.float32, scratch=scratch)
            self._tiles[number][...] = values
            scratch.give(values)

        run(fill, range(count))

    def __call__(self, V: Array) -> Array:
        """k(X, X) V, as good as single precision is."""
        dtype = np.float32 if self.single else np.float64
        scale = np.maximum(np.abs(V).max(axis=0, initial=0.0), 1e-300)  # so that nothing leaves the range of float32
        return np.asarray(symmetric_times(self.kernel, self.rows, V / scale, dtype=dtype, kept=self._tiles) * scale)


def nearest_rows(kernel: Kernel, x: Rows, z: Rows, diagonal: Array, count: int) -> tuple[Array, Array]:
    """For each row of X the `count` rows of Z with the smallest k(z, z) - 2 k(x, z), nearest first.

    That is the squared distance in feature space less k(x, x), which is the same for all z. Where k(z, z) is the same
    for all z as well, rows are ordered by log k(x, z), or by k(x, z) where the kernel has no logarithm of its own: the
    difference is the same number for all rows with k(x, z) below the precision of k(z, z). Ties go to the row that
    comes first.

    Parameters
    ----------
    kernel : Kernel
        The similarity.
    x, z : Rows
        New rows and training rows.
    diagonal : ndarray of shape (n rows of Z,)
        k(z, z).
    count : int
        How many to find.

    Returns
    -------
    numbers : ndarray of int, shape (n rows of X, count)
        Rows of Z.
    gaps : ndarray of shape (n rows of X, count)
        k(z, z) - 2 k(x, z) of each.
    """
    numbers, gaps = np.empty((len(x), count), dtype=np.intp), np.empty((len(x), count))
    scratch = Scratch()
    alike = bool((diagonal == diagonal[0]).all())
    kernel, constant = _varying(kernel) if alike else (kernel, 0.0)
    undecided, underflows = np.zeros(len(x), dtype=bool), kernel.kind == "vectors" and not kernel.finite

    def search(rows: slice) -> None:
        best, where = (np.empty((rows.stop - rows.start, 0), dtype=kind) for kind in (np.float64, np.intp))
        for columns in blocks(len(z)):
            logs = log_tile(kernel, x[rows], z[columns], scratch) if alike else None
            values = tile(kernel, x[rows], z[columns], scratch=scratch) if logs is None else logs
            values *= -1.0 if alike else -2.0
            if not alike:
                values += diagonal[columns]
            here = np.broadcast_to(np.arange(columns.start, columns.stop), values.shape)
            best, where = _keep(np.hstack([best, values]), np.hstack([where, here]), count)
            scratch.give(values)
        if alike:
            undecided[rows] = (best[:, -1] == 0.0) if logs is None and underflows else False
            best = diagonal[0] - 2.0 * (constant + (-best if logs is None else np.exp(-best)))
        numbers[rows], gaps[rows] = where, best

    run(search, blocks(len(x)))
    if undecided.any():
        warn(
            f"For {int(undecided.sum())} of {len(x)} rows, {kernel!r} underflows to 0 for some of the nearest "
            "neighbours, so these neighbours cannot be ranked; the first of them in the training rows were used. Use a "
            "larger width.",
            MercerWarning,
        )
    return numbers, gaps


def _varying(kernel: Kernel) -> tuple[Kernel, float]:
    """The kernel without constants that are added to it, which no order depends on, and their sum."""
    if not isinstance(kernel, Sum):
        return kernel, 0.0
    rest = [part for part in kernel.parts() if not isinstance(part, Constant)]
    constant = sum(float(part.value) for part in kernel.parts() if isinstance(part, Constant))
    return (reduce(Sum, rest), constant) if rest else (kernel, 0.0)


def _keep(values: Array, where: Array, count: int) -> tuple[Array, Array]:
    """The `count` smallest of each row in order; earlier columns win ties."""
    if values.shape[1] > count:
        limit = np.partition(values, count - 1, axis=1)[:, count - 1 : count]
        below = values < limit
        # of those at the limit, the first few that are still wanted
        ties = values == limit
        wanted = count - below.sum(axis=1, keepdims=True)
        chosen = below | (ties & (np.cumsum(ties, axis=1) <= wanted))
        values, where = values[chosen].reshape(-1, count), where[chosen].reshape(-1, count)
    order = np.argsort(values, axis=1, kind="stable")
    return np.take_along_axis(values, order, axis=1), np.take_along_axis(where, order, axis=1)
