"""A few rows that stand for all: randomly pivoted Cholesky factors of the Gram matrix (Chen, Epperly, Tropp, Webber).

K is approached by F F', a block of columns at a time; the rows of a block are drawn in proportion to what the
diagonal still lacks. Only n x rank kernel values are ever computed.
"""

from __future__ import annotations

import numpy as np

from mercer.data.rows import Array, Rows
from mercer.kernels.base import Kernel
from mercer.kernels.tiles import between

_BLOCK = 100
_EXHAUSTED = 1e-13  # share of the trace below which nothing but rounding is left


def pivoted_cholesky(kernel: Kernel, rows: Rows, rank: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """F of shape (n, at most rank) with F F' close to K, and the rows that were its pivots.

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
    from scipy.linalg.lapack import dpstrf

    n = len(rows)
    rank = min(rank, n)
    left = np.maximum(kernel.diagonal(rows), 0.0)
    trace, filled = float(left.sum()), 0
    F = np.empty((n, rank))
    pivots: list[Array] = []
    while filled < rank and float(left.sum()) > _EXHAUSTED * trace:
        wanted = min(_BLOCK, rank - filled, int((left > 0).sum()))
        drawn = np.unique(rng.choice(n, size=wanted, p=left / left.sum()))
        columns = between(kernel, rows, Rows(rows.values[drawn], rows.names))
        columns -= F[:, :filled] @ F[drawn, :filled].T
        core = np.asfortranarray(columns[drawn])
        factor, order, good, _ = dpstrf(core, lower=1, tol=_EXHAUSTED * trace / n)
        if not good:
            break
        chosen = order[:good] - 1
        lower = np.tril(factor[:good, :good])
        new = solve_triangular(lower, columns[:, chosen].T, lower=True, check_finite=False).T
        F[:, filled : filled + good] = new
        filled += int(good)
        left = np.maximum(left - np.einsum("ij,ij->i", new, new), 0.0)
        left[drawn] = 0.0
        pivots.append(drawn[chosen])
    return np.ascontiguousarray(F[:, :filled]), np.concatenate(pivots or [np.empty(0, dtype=np.intp)])
