"""A = L L', in place: the factor takes one triangle and the diagonal, the matrix keeps the other."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.linalg.blas import dsymm
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri

from mercer.data.rows import Array
from mercer.errors import MercerError
from mercer.solvers.route import SINGULAR, Route

_STEPS = 3  # of power iteration; each is worth about a factor of two


class NotPositiveDefinite(MercerError):
    """The factorisation met a pivot that is not positive, or only so by rounding."""


class Cholesky:
    """G = (K + alpha I)^-1 by Cholesky factorisation.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric, C-contiguous; taken over. `release` gives it back.
    alpha : float
        Added to the diagonal.
    reason : str
        For the record.

    Raises
    ------
    NotPositiveDefinite
        Where A is not, as far as double precision can tell; K is then as it was.
    """

    def __init__(self, K: Array, alpha: float, reason: str) -> None:
        self.n, self.alpha, self.reason = len(K), alpha, reason
        self._held: Array = K.T  # Fortran order, as LAPACK wants it: no copy is made
        self._diagonal = K.diagonal().copy()
        K.flat[:: self.n + 1] += alpha
        self._shifted = K.diagonal().copy()
        held, failed = dpotrf(self._held, lower=1, clean=0, overwrite_a=1)
        self._condition: float | None = None
        if failed or not np.isfinite(held.diagonal()).all() or self.condition() > SINGULAR:
            self.release()
            raise NotPositiveDefinite("not positive definite")

    def release(self) -> Array:
        """K as it was given: the lower triangle still holds it, and its diagonal was kept."""
        K = self._held.T
        for rows in blocks(self.n):
            K[rows, rows.stop :] = K[rows.stop :, rows].T
            lower = np.tril(K[rows, rows], -1)
            K[rows, rows] = lower + lower.T
        K.flat[:: self.n + 1] = self._diagonal
        return K

    def solve(self, B: Array) -> Array:
        """G B."""
        if self.n == 0 or B.shape[1] == 0:
            return np.zeros_like(B)
        solved, _ = dpotrs(self._held, B, lower=1)
        return np.asarray(solved)

    def times(self, B: Array) -> Array:
        """A B, from the triangle that still holds A."""
        product = dsymm(1.0, self._held, B, lower=0)
        product += (self._shifted - self._held.diagonal())[:, None] * B
        return np.asarray(product)

    def log_determinant(self) -> float:
        """log det A."""
        return 2.0 * float(np.log(self._held.diagonal()).sum())

    def diagonal(self) -> Array:
        """diag G: squared column lengths of L^-1."""
        inverse, _ = dtrtri(self._held, lower=1)
        result = np.empty(self.n)
        for columns in blocks(self.n):
            below = inverse[columns.start :, columns]
            below[: columns.stop - columns.start] = np.tril(below[: columns.stop - columns.start])
            result[columns] = np.einsum("ij,ij->j", below, below)
        return result

    def null_part(self, B: Array) -> Array | None:
        """A is regular."""
        return None

    def condition(self) -> float:
        """Estimate of the 2-norm condition number, by power iteration on A and on G."""
        if self._condition is None:
            start = rich_start(self.n)
            self._condition = largest_eigenvalue(self.times, start) * largest_eigenvalue(self.solve, start)
        return self._condition

    def route(self) -> Route:
        """How it was factored."""
        return Route("cholesky", self.reason, max(1.0, self.condition()), self.n, self.n)


def blocks(n: int) -> list[slice]:
    """The rows 0..n-1 in slices that fit a core's cache."""
    return [slice(start, min(start + 500, n)) for start in range(0, n, 500)]


def rich_start(n: int) -> Array:
    """A fixed vector rich in every direction: a constant, and signs in no pattern."""
    signs = np.where(np.sin(np.arange(1, n + 1) ** 2 * 0.7071) > 0, 1.0, -1.0)
    return np.asarray((1.0 + signs * math.sqrt(2.0))[:, None] / math.sqrt(3.0 * max(n, 1)))


def largest_eigenvalue(apply: Callable[[Array], Array], start: Array) -> float:
    """The largest eigenvalue of a positive definite map, from below."""
    best, vectors = 0.0, start
    for _ in range(_STEPS):
        vectors = apply(vectors)
        lengths = np.sqrt(np.einsum("ij,ij->j", vectors, vectors))
        if not np.isfinite(lengths).all():
            return math.inf
        best = max(best, float(lengths.max(initial=0.0)))
        vectors = vectors / np.where(lengths > 0, lengths, 1.0)
    return best
