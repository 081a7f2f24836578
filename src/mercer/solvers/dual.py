"""The dual system, n unknowns: Cholesky for one alpha, one spectrum for many."""

from __future__ import annotations

import numpy as np

from mercer.data.rows import Array
from mercer.errors import MercerError
from mercer.solvers.cholesky import Cholesky, NotPositiveDefinite
from mercer.solvers.mixed import Mixed, NotRefinable
from mercer.solvers.plan import promise_spectrum
from mercer.solvers.solution import DualSolved, Inverse, Solution, bordered, solve_bordered
from mercer.solvers.spectral import Eigendecomposition


class DualSystem:
    """V K V for sample weights V^2, ready to be solved for any alpha.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        The Gram matrix, C-contiguous; it is taken over and overwritten.
    weights : ndarray of shape (n,) or None
        Positive sample weights.
    intercept : bool
        Whether the model has an unpenalised constant.
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
            raise MercerError("The matrix has been given to its spectrum; ask for solver='spectral'.")
        return self._K

    def spectrum(self) -> Eigendecomposition:
        """Eigenvalues and eigenvectors of V K V, once; the matrix is gone afterwards."""
        if self._spectrum is None:
            K = self._matrix()
            promise_spectrum(self.n)
            self._K = None
            self._spectrum = Eigendecomposition(K)
        return self._spectrum
