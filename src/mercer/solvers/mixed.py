"""Half the work: factor in single precision, then refine to what double precision can hold.

A float32 Cholesky factor costs half a float64 one. Used as the preconditioner of conjugate gradients on
the float64 matrix it reaches the same backward error in three to six steps of n^2 work each, as long
as the condition is below about 1e6; where that is not known beforehand the route is not taken.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import spotrf, spotrs

from mercer.data.rows import Array
from mercer.errors import MercerError
from mercer.kernels.tiles import blocks
from mercer.runtime import run
from mercer.solvers.cholesky import largest_eigenvalue, rich_start
from mercer.solvers.route import EPS, Route

_CONDITION = 2e6
_STEPS = 12


class NotRefinable(MercerError):
    """Too badly conditioned for a single-precision factor."""


class Mixed:
    """G = (K + alpha I)^-1 by a float32 factor and conjugate gradients in float64.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric; it is shifted by alpha while this object lives and is not otherwise changed.
    alpha : float
        Added to the diagonal.
    reason : str
        For the record.
    certified : bool, default=False
        Whether K is known to be positive semi-definite, so that the condition need not be estimated.

    Raises
    ------
    NotRefinable
        Where the condition may be too large; K is then as it was.
    """

    def __init__(self, K: Array, alpha: float, reason: str, *, certified: bool = False) -> None:
        self.n, self.alpha, self.reason = len(K), alpha, reason
        self._K = K
        self.largest = largest_eigenvalue(K.__matmul__, rich_start(self.n)) + alpha
        if alpha <= 0 or self.largest / alpha > _CONDITION:
            raise NotRefinable("condition not known to be small")
        if not 1e-25 < self.largest < 1e30:
            raise NotRefinable("values that single precision cannot hold")
        single = np.empty(K.shape, dtype=np.float32)
        run(lambda rows: np.copyto(single[rows], K[rows], casting="same_kind"), blocks(self.n))
        single.flat[:: self.n + 1] += np.float32(alpha)
        self._factor, failed = spotrf(single.T, lower=1, clean=0, overwrite_a=1)
        if failed:
            raise NotRefinable("not positive definite in single precision")
        # No eigenvalue of a positive semi-definite K lies below 0, so alpha bounds those of A from below.
        smallest = alpha if certified else 1.0 / largest_eigenvalue(self._precondition, rich_start(self.n))
        self.condition = max(1.0, self.largest / smallest)

    def _precondition(self, R: Array) -> Array:
        lengths = np.sqrt(np.einsum("ij,ij->j", R, R))
        scale = np.where(lengths > 0, lengths, 1.0)
        solved, _ = spotrs(self._factor, np.asfortranarray(R / scale, dtype=np.float32), lower=1)
        return np.asarray(solved, dtype=np.float64) * scale

    def solve(self, B: Array) -> Array:
        """G B, to double-precision backward error: ||b - A x|| at most sqrt(n) eps ||A|| ||x||."""
        X = np.zeros_like(B)
        R = B.copy()
        Z = self._precondition(R)
        D = Z.copy()
        rz = np.einsum("ij,ij->j", R, Z)
        for _ in range(_STEPS):
            AD = self._K @ D + self.alpha * D
            curvature = np.einsum("ij,ij->j", D, AD)
            step = np.divide(rz, curvature, out=np.zeros_like(rz), where=curvature > 0)
            X += step * D
            R -= step * AD
            if (_lengths(R) <= np.sqrt(self.n) * EPS * self.largest * _lengths(X)).all():
                return X
            Z = self._precondition(R)
            before, rz = rz, np.einsum("ij,ij->j", R, Z)
            D = Z + np.divide(rz, before, out=np.zeros_like(rz), where=before > 0) * D
        raise NotRefinable("conjugate gradients did not reach double precision")

    def route(self) -> Route:
        """How it was factored."""
        return Route("mixed", self.reason, self.condition, self.n, self.n)

    def null_part(self, B: Array) -> Array | None:
        """A is regular."""
        return None


def _lengths(B: Array) -> Array:
    return np.asarray(np.sqrt(np.einsum("ij,ij->j", B, B)))
