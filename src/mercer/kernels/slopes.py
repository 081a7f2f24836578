"""Derivatives of whole kernel matrices: by parameters, tile by tile, and by columns where a kernel has no formula."""

from __future__ import annotations

import numpy as np

from mercer.data.rows import Array, Rows
from mercer.kernels.base import Kernel, Slopes
from mercer.kernels.pair import Pair
from mercer.kernels.tiles import between, blocks, per_thread
from mercer.runtime import run

# Steps of differences of fourth order by one column and by two, in spreads of the column or widths of the kernel there,
# whichever are smaller.
_STEPS = {1: 1e-3, 2: 3e-3}
_STENCIL = ((8.0, 1.0), (-8.0, -1.0), (-1.0, 2.0), (1.0, -2.0))  # weights times 12 h, and steps in units of h


def gradient(kernel: Kernel, rows: Rows, weights: Array) -> Slopes:
    """sum_ab M_ab dk(x_a, x_b) / d log t of every tunable parameter t, for symmetric M, by tiles on all threads.

    All that the gradient of a function of the kernel matrix needs; no array of rows x rows x columns is formed.

    Parameters
    ----------
    kernel : Kernel
        What is differentiated.
    rows : Rows
        x.
    weights : ndarray of shape (n, n)
        M, of which the upper triangle counts.
    """
    cuts = blocks(len(rows))
    jobs = [(left, right) for i, left in enumerate(cuts) for right in cuts[i:]]
    tiles: list[Slopes] = [{} for _ in jobs]
    scratch = per_thread()

    def add(number: int) -> None:
        left, right = jobs[number]
        same = left == right
        pair = Pair(rows[left], rows[right], same=same, shared=kernel.leaves() > 1, scratch=scratch())
        M = weights[left, right]
        M = np.triu(M) + np.triu(M, 1).T if same else 2.0 * M
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            tiles[number] = kernel.slopes(pair, M)
        pair.close()

    run(add, range(len(jobs)))
    return {name: sum((part[name] for part in tiles[1:]), tiles[0][name]) for name in kernel.tunable()}


def difference_quotient(kernel: Kernel, x: Rows, z: Rows, columns: tuple[int, ...]) -> Array:
    """The derivative of k(x, z) by columns of x, from differences of kernel values."""
    moved = moved_rows([kernel], x, z, columns)
    return np.asarray(sum(c * between(kernel, Rows(rows, x.names), z) for c, rows in moved))


def moved_rows(kernels: list[Kernel], x: Rows, z: Rows, columns: tuple[int, ...]) -> list[tuple[float, Array]]:
    """Rows and weights such that the weighted sum of any function of these kernels there is its derivative at x."""
    found = [(1.0, np.asarray(x.values, dtype=np.float64))]
    for column in columns:
        widths = [width for kernel in kernels for width in _widths(kernel, column)]
        h = _STEPS[len(columns)] * min([_spread(np.asarray(z.values[:, column], dtype=np.float64)), *widths])
        largest = float(np.abs(x.values[:, column]).max(initial=0.0))
        h = (largest + h) - largest or h  # as much as rows of this size really move
        steps = []
        for share, rows in found:
            for c, step in _STENCIL:
                moved = rows.copy()
                moved[:, column] += step * h
                steps.append((share * c / (12.0 * h), moved))
        found = steps
    return found


def _spread(column: Array) -> float:
    """The standard deviation, or what the middle half of the column says of it if that is less."""
    half = float(np.subtract(*np.quantile(column, [0.75, 0.25]))) / 1.35
    whole = float(column.std())
    return min(half, whole) if half > 0 else whole or float(np.abs(column).max(initial=0.0)) or 1.0


def _widths(kernel: Kernel, column: int) -> list[float]:
    """The widths and periods that a kernel and its parts have for a column."""
    params = kernel.get_params(deep=False)
    own = [np.ravel(params[name]) for name in ("width", "period") if name in params]
    found = [float(each[column] if column < len(each) else each.min()) for each in own]
    return found + [w for each in vars(kernel).values() if isinstance(each, Kernel) for w in _widths(each, column)]
