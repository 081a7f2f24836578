"""The dual system without its matrix: rows and a kernel, solved by preconditioned conjugate gradients."""

from __future__ import annotations

import numpy as np

from mercer.backends import available_bytes
from mercer.data.rows import Array, Rows
from mercer.errors import InputError
from mercer.gram.landmarks import pivoted_cholesky
from mercer.gram.product import symmetric_times
from mercer.kernels.base import Kernel
from mercer.kernels.tiles import gram
from mercer.solvers.cholesky import largest_eigenvalue, rich_start
from mercer.solvers.conjugate import Conjugate, solved_by_gradients
from mercer.solvers.plan import Choice, pivots
from mercer.solvers.solution import DualSolved, Solution


class StreamedSystem:
    """V K V for sample weights V^2, known by its products alone.

    Parameters
    ----------
    kernel : Kernel
        Of rows, not of a given matrix.
    rows : Rows
        Training rows.
    weights : ndarray of shape (n,) or None
        Positive sample weights.
    intercept : bool
        Whether the model has an unpenalised constant.
    choice : Choice
        Why, for the record.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import as_rows
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers.plan import Choice
    >>> from mercer.solvers.streamed import StreamedSystem
    >>> X = np.linspace(0.0, 9.0, 200)[:, None]
    >>> system = StreamedSystem(Gaussian(1.0), as_rows(X), None, intercept=False, choice=Choice("cg", "an example", 0))
    >>> solution = system.solve(np.sin(X), 0.1, "cg")
    >>> exact = np.linalg.solve(Gaussian(1.0)(X) + 0.1 * np.eye(200), np.sin(X))
    >>> bool(np.abs(solution.dual - exact).max() < 1e-6 * np.abs(exact).max())
    True
    """

    def __init__(self, kernel: Kernel, rows: Rows, weights: Array | None, *, intercept: bool, choice: Choice) -> None:
        self.kernel, self.rows, self.intercept, self.choice = kernel, rows, intercept, choice
        self.n = len(rows)
        self.root = np.ones(self.n) if weights is None else np.sqrt(weights)
        factor, _ = pivoted_cholesky(kernel, rows, pivots(self.n), np.random.default_rng(0))
        self.F = factor * self.root[:, None]
        self._single: Array | None = None
        if 4 * self.n * self.n <= 0.8 * available_bytes():
            self._single = gram(kernel, rows, dtype=np.float32)
        inner = self.F.T @ self.F
        self.largest = largest_eigenvalue(inner.__matmul__, rich_start(len(inner))) if len(inner) else 1.0

    def _exact(self, B: Array) -> Array:
        return self.root[:, None] * symmetric_times(self.kernel, self.rows, self.root[:, None] * B)

    def _quick(self, B: Array) -> Array:
        if self._single is None:
            return self._exact(B)
        scale = np.maximum(np.abs(B).max(axis=0), 1e-300)  # so that nothing leaves single precision's range
        product = self._single @ (self.root[:, None] * (B / scale)).astype(np.float32)
        return np.asarray(self.root[:, None] * (product.astype(np.float64) * scale))

    def solve(self, Y: Array, alpha: float, solver: str = "cg") -> Solution:
        """Coefficients for targets Y (n x t)."""
        if alpha <= 0:
            raise InputError("solver='cg' needs alpha above 0; got 0. Use a small one, or solver='spectral'.")
        G = Conjugate(self._quick, self._exact, self.F, alpha, self.choice.reason, self.largest + alpha)
        return solved_by_gradients(G, self.root, Y, intercept=self.intercept)

    def at(self, alpha: float, solver: str = "cg") -> DualSolved:
        """Refused: variances, evidence and degrees of freedom need a factor."""
        raise InputError(
            f"Standard deviations, evidence and degrees of freedom need a factor of all {self.n} rows; this model was "
            "fitted by conjugate gradients. Fit with solver='cholesky', or to fewer rows."
        )
