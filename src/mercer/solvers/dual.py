"""The dual system, n unknowns: Cholesky for one alpha, one spectrum for many."""

from __future__ import annotations

import math

import numpy as np

from mercer.data.rows import Array
from mercer.errors import InputError, MercerError
from mercer.solvers.cholesky import Cholesky, Mixed, NotPositiveDefinite, NotRefinable
from mercer.solvers.plan import promise_spectrum
from mercer.solvers.route import EPS, Route
from mercer.solvers.solution import DualSolved, Inverse, Solution, bordered, solve_bordered


class Eigendecomposition:
    """Eigenvalues and eigenvectors of a symmetric matrix, which is overwritten.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric; taken over.
    """

    def __init__(self, K: Array) -> None:
        from scipy.linalg import eigh

        if not np.isfinite(K.diagonal()).all():
            raise InputError("The kernel matrix must be finite; got NaN or infinity. Scale X.")
        self.n = len(K)
        self.values, self.vectors = eigh(K.T, driver="evd", overwrite_a=True, check_finite=False)

    def at(self, alpha: float, reason: str) -> SpectralInverse:
        """(V K V + alpha I)^-1, pseudo-inverse where it is singular."""
        return SpectralInverse(self, alpha, reason)


class SpectralInverse:
    """G = U diag(1 / (d + alpha)) U' over the eigenvalues that are not rounding error."""

    def __init__(self, spectrum: Eigendecomposition, alpha: float, reason: str) -> None:
        self.spectrum, self.alpha, self.n, self.reason = spectrum, alpha, spectrum.n, reason
        shifted = spectrum.values + alpha
        self.largest = float(np.abs(shifted).max(initial=0.0))
        self.cutoff = self.n * EPS * self.largest
        self.kept = np.abs(shifted) > self.cutoff
        self.weights = np.divide(1.0, shifted, out=np.zeros_like(shifted), where=self.kept)
        self.shifted = shifted

    def solve(self, B: Array) -> Array:
        """G B."""
        U = self.spectrum.vectors
        return np.asarray(U @ (self.weights[:, None] * (U.T @ B)))

    def log_determinant(self) -> float:
        """log det A, -inf for a singular A."""
        if not self.kept.all():
            return -math.inf
        return float(np.log(np.abs(self.shifted)).sum())

    def diagonal(self) -> Array:
        """diag G."""
        U = self.spectrum.vectors
        return np.asarray(np.einsum("ij,j,ij->i", U, self.weights, U))

    def null_part(self, B: Array) -> Array | None:
        """What of B lies outside the range of A."""
        if self.kept.all():
            return None
        U = self.spectrum.vectors[:, ~self.kept]
        return np.asarray(U @ (U.T @ B))

    def route(self) -> Route:
        """How it was factored."""
        rank = int(self.kept.sum())
        smallest = float(np.abs(self.shifted).min(initial=math.inf))
        condition = self.largest / smallest if rank == self.n and smallest > 0 else math.inf
        negative = float(self.shifted.min(initial=0.0))
        return Route(
            "spectral",
            self.reason,
            condition if self.n else 1.0,
            rank,
            self.n,
            negative if negative < -self.cutoff else 0.0,
        )


class DualSystem:
    """V K V for sample weights V^2, ready to be solved for any alpha.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        The Gram matrix, C-contiguous; it is taken over and overwritten.
    weights : ndarray of shape (n,) or None
        Positive sample weights.
    intercept : bool
        Whether the model has an unpenalized constant.
    reason : str
        Why the dual was chosen, for the record.
    certified : bool
        Whether K is known to be positive semi-definite.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers import DualSystem
    >>> K, y = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[1.0], [0.0]])
    >>> DualSystem(K, None).at(1.0, "cholesky").solve(y).dual.round(4).tolist()
    [[0.375], [-0.125]]
    """

    def __init__(
        self,
        K: Array,
        weights: Array | None,
        *,
        intercept: bool = False,
        reason: str = "dual",
        certified: bool = False,
    ) -> None:
        self.n = len(K)
        self.intercept, self.reason, self.certified = intercept, reason, certified
        self.root = np.ones(self.n) if weights is None else np.sqrt(weights)
        self.weighted = weights is not None
        if weights is not None:
            K *= self.root[:, None]
            K *= self.root
        self._K: Array | None = K
        self._spectrum: Eigendecomposition | None = None
        self._cholesky: Cholesky | None = None

    def at(self, alpha: float, solver: str = "cholesky") -> DualSolved:
        """The system with alpha on its diagonal, factored by the named solver."""
        return DualSolved(self._inverse(alpha, solver), self.root, intercept=self.intercept)

    def solve(self, Y: Array, alpha: float, solver: str) -> Solution:
        """Coefficients alone, for which a refined single-precision factor ("mixed") is enough."""
        if solver == "mixed" and self._spectrum is None:
            try:
                G = Mixed(self._matrix(), alpha, self.reason, certified=self.certified)
                border = bordered(G, self.root[:, None]) if self.intercept else None
                return solve_bordered(G, self.root, border, Y)
            except NotRefinable:
                solver = "cholesky"
        return self.at(alpha, solver).solve(Y)

    def _inverse(self, alpha: float, solver: str) -> Inverse:
        if solver == "spectral" or self._spectrum is not None:
            return self.spectrum().at(alpha, self.reason)
        try:
            self._cholesky = Cholesky(self._matrix(), alpha, self.reason)
        except NotPositiveDefinite:
            return self.spectrum().at(alpha, f"{self.reason}; not positive definite in double precision")
        return self._cholesky

    def _matrix(self) -> Array:
        """V K V, put back together if a Cholesky factor stands in one of its triangles."""
        if self._cholesky is not None:
            self._K = self._cholesky.release()
            self._cholesky = None
        if self._K is None:
            raise MercerError("Internal error: the matrix was overwritten by its eigendecomposition.")
        return self._K

    def spectrum(self) -> Eigendecomposition:
        """Eigenvalues and eigenvectors of V K V, once; the matrix is gone afterwards."""
        if self._spectrum is None:
            K = self._matrix()
            promise_spectrum(self.n)
            self._K = None
            self._spectrum = Eigendecomposition(K)
        return self._spectrum
