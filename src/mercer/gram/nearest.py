"""The training rows nearest to each new row in feature space, by tiles."""

from __future__ import annotations

import warnings
from functools import reduce

import numpy as np

from mercer.backends import run
from mercer.data.rows import Array, Rows
from mercer.errors import MercerWarning
from mercer.kernels.algebra import Sum
from mercer.kernels.base import Kernel
from mercer.kernels.products import Constant
from mercer.kernels.tiles import blocks, log_tile, per_thread, tile


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
    numbers = np.empty((len(x), count), dtype=np.intp)
    gaps = np.empty((len(x), count))
    scratch = per_thread()

    alike = bool((diagonal == diagonal[0]).all())
    kernel, constant = _varying(kernel) if alike else (kernel, 0.0)
    undecided, underflows = np.zeros(len(x), dtype=bool), kernel.kind == "vectors" and not kernel.finite

    def search(rows: slice) -> None:
        buffers = scratch()
        best = np.empty((rows.stop - rows.start, 0))
        where = np.empty(best.shape, dtype=np.intp)
        for columns in blocks(len(z)):
            logs = log_tile(kernel, x[rows], z[columns], buffers) if alike else None
            values = tile(kernel, x[rows], z[columns], scratch=buffers) if logs is None else logs
            values *= -1.0 if alike else -2.0
            if not alike:
                values += diagonal[columns]
            here = np.broadcast_to(np.arange(columns.start, columns.stop), values.shape)
            best, where = _keep(np.hstack([best, values]), np.hstack([where, here]), count)
            buffers.give(values)
        if alike:
            undecided[rows] = (best[:, -1] == 0.0) if logs is None and underflows else False
            best = diagonal[0] - 2.0 * (constant + (-best if logs is None else np.exp(-best)))
        numbers[rows], gaps[rows] = where, best

    run(search, blocks(len(x)))
    if undecided.any():
        warnings.warn(
            f"{kernel!r} is 0 between {int(undecided.sum())} of {len(x)} rows and some of their neighbours. Rows with "
            "k(x, z) = 0 cannot be told apart; the first of them are taken. Use a wider kernel.",
            MercerWarning,
            stacklevel=4,
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
