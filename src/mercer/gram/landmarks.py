"""A few rows that stand for all: drawn by chance, by distance, or as pivots of a Cholesky factor.

Randomly pivoted Cholesky (Chen, Epperly, Tropp, Webber) approaches K by F F', a block of columns at a time; the rows
of a block are drawn in proportion to what the diagonal still lacks, and refused where those before them in the block
already say the same. Only n x rank kernel values are ever computed.
"""

from __future__ import annotations

import numpy as np

from mercer.data.rows import Array, Rows
from mercer.errors import InputError, nearest, sentence
from mercer.kernels.base import Kernel
from mercer.kernels.tiles import between, gram

_BLOCK = 100
_EXHAUSTED = 1e-13  # share of the trace below which nothing but rounding is left
METHODS = ("pivoted", "kmeans", "uniform")
_CROWD = 300  # rows, by chance, on which columns are looked at
_MILD = 0.25  # power of a column's squared length in the chance of its row; less than 1 is kinder to the crowd


def draw_landmarks(kernel: Kernel, rows: Rows, count: int, method: str, rng: np.random.Generator) -> Array:
    """Numbers of at most `count` rows that stand for all, the most telling first.

    ======== ==================================================================== =============
    method   how a row is drawn                                                   kernel values
    ======== ==================================================================== =============
    pivoted  by what those drawn leave open of its column k(X, x), the fourth     n x count
             root of the squares (a mild randomly pivoted Cholesky)
    kmeans   in proportion to its squared distance, in feature space, to them     n x count
    uniform  every row with the same chance                                       none
    ======== ==================================================================== =============

    The first two stop early where nothing is left to be told: rows that are there twice are drawn once.

    Parameters
    ----------
    kernel : Kernel
        The similarity.
    rows : Rows
        What to draw from.
    count : int
        How many, at most.
    method : {"pivoted", "kmeans", "uniform"}
        How.
    rng : numpy.random.Generator
        The chance.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import as_rows
    >>> from mercer.gram.landmarks import draw_landmarks
    >>> from mercer.kernels import Gaussian
    >>> rows = as_rows([[0.0], [0.0], [5.0], [5.0], [9.0]])
    >>> drawn = draw_landmarks(Gaussian(1.0), rows, 5, "pivoted", np.random.default_rng(0))
    >>> sorted(rows.values[drawn, 0].tolist())
    [0.0, 5.0, 9.0]
    """
    match method:
        case "pivoted":
            return pivoted_cholesky(kernel, rows, count, rng, crowd=_CROWD)[1]
        case "kmeans":
            return _far_apart(kernel, rows, count, rng)
        case "uniform":
            return rng.choice(len(rows), min(count, len(rows)), replace=False)
    way_out = nearest(method, METHODS)
    raise InputError(sentence("The method of drawing landmarks", "a known name", repr(method), way_out))


def _far_apart(kernel: Kernel, rows: Rows, count: int, rng: np.random.Generator) -> Array:
    """The seeding of k-means++: each row drawn in proportion to its squared distance to the nearest one drawn."""
    diagonal = kernel.diagonal(rows)
    slack = _EXHAUSTED * float(np.abs(diagonal).max(initial=0.0))
    drawn = [int(rng.integers(len(rows)))]
    gap = np.full(len(rows), np.inf)
    while True:
        last = drawn[-1]
        against = between(kernel, rows, Rows(rows.values[[last]], rows.names))[:, 0]
        gap = np.minimum(gap, diagonal + diagonal[last] - 2.0 * against)
        gap[gap < slack] = 0.0  # rounding, and no distance
        total = float(gap.sum())
        if len(drawn) >= count or not total > 0:
            return np.array(drawn, dtype=np.intp)
        drawn.append(int(rng.choice(len(rows), p=gap / total)))


def pivoted_cholesky(
    kernel: Kernel, rows: Rows, rank: int, rng: np.random.Generator, *, crowd: int = 0
) -> tuple[Array, Array]:
    """F of shape (n, at most rank) with F F' close to K, and the rows that were its pivots.

    A row is drawn in proportion to what k(x, x) still lacks, which is best for the trace of K - F F'. Rows far from all
    others lack most and say least of the rest; with a `crowd` of so many rows the chance is the fourth root of what
    is still open of the column k(X, x), squared and summed, as the crowd shows it. Held-out errors are smaller so.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import as_rows
    >>> from mercer.gram.landmarks import pivoted_cholesky
    >>> from mercer.kernels import Gaussian
    >>> rows = as_rows(np.linspace(0.0, 1.0, 300)[:, None])
    >>> F, pivots = pivoted_cholesky(Gaussian(1.0), rows, 12, np.random.default_rng(0))
    >>> bool(np.abs(F @ F.T - Gaussian(1.0)(rows)).max() < 1e-8)
    True
    """
    from scipy.linalg import solve_triangular

    n = len(rows)
    rank = min(rank, n)
    left = np.maximum(kernel.diagonal(rows), 0.0)
    trace, filled = float(left.sum()), 0
    F = np.empty((n, rank))
    pivots: list[Array] = []
    seen = rng.choice(n, min(crowd, n), replace=False)
    open_part = between(kernel, Rows(rows.values[seen], rows.names), rows) if crowd else np.empty((0, n))
    while filled < rank and float(left.sum()) > _EXHAUSTED * trace:
        chance = _chances(left, open_part, _EXHAUSTED * trace / n)
        drawn = rng.choice(n, size=min(_BLOCK, rank - filled), p=chance)
        core = gram(kernel, Rows(rows.values[drawn], rows.names)) - F[drawn, :filled] @ F[drawn, :filled].T
        accepted, lower = _accepted(core, left[drawn], _EXHAUSTED * trace / n, rng)
        if not len(accepted):
            break
        chosen = drawn[accepted]
        columns = between(kernel, rows, Rows(rows.values[chosen], rows.names))
        columns -= F[:, :filled] @ F[chosen, :filled].T
        new = solve_triangular(lower, columns.T, lower=True, check_finite=False).T
        F[:, filled : filled + len(chosen)] = new
        filled += len(chosen)
        left = np.maximum(left - np.einsum("ij,ij->i", new, new), 0.0)
        left[chosen] = 0.0
        open_part -= new[seen] @ new.T
        pivots.append(chosen)
    return np.ascontiguousarray(F[:, :filled]), np.concatenate(pivots or [np.empty(0, dtype=np.intp)])


def _chances(left: Array, open_part: Array, least: float) -> Array:
    """The chance of each row to be drawn: by its diagonal, or by its column where a crowd shows it."""
    chance = left
    if len(open_part):
        columns = len(left) / len(open_part) * np.einsum("ij,ij->j", open_part, open_part) + left**2
        chance = np.where(left > least, columns**_MILD, 0.0)
    return np.asarray(chance / chance.sum() if chance.any() else left / left.sum())


def _accepted(core: Array, before: Array, least: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Which rows of a block are taken, and the Cholesky factor of their part of `core`.

    A row was drawn in proportion to what it lacked before the block. It is taken with the share of this that the rows
    taken before it leave open, so that all are drawn as if one at a time.
    """
    open_part, chance = core.copy(), rng.random(len(core))
    factor = np.zeros_like(core)
    taken: list[int] = []
    for i in range(len(core)):
        lacks = float(open_part[i, i])
        if lacks > least and chance[i] * before[i] < lacks:
            factor[i:, len(taken)] = open_part[i:, i] / np.sqrt(lacks)
            open_part[i:, i:] -= np.outer(factor[i:, len(taken)], factor[i:, len(taken)])
            taken.append(i)
    return np.array(taken, dtype=np.intp), factor[taken, : len(taken)]
