"""The dual system without its matrix: rows and a kernel, solved by preconditioned conjugate gradients."""

from __future__ import annotations

import math

import numpy as np

from mercer.data.rows import Array, Rows
from mercer.errors import InputError, sentence
from mercer.kernels.base import Kernel
from mercer.runtime import available_bytes, promise
from mercer.solvers.cholesky import largest_eigenvalue, rich_start
from mercer.solvers.conjugate import MOST, TOLERANCE, Conjugate, LowRank, NotSolved, solved_by_gradients, warn_if_short
from mercer.solvers.dual import DualSystem
from mercer.solvers.gram import SUMS, KeptTiles, symmetric_times, training_matrix
from mercer.solvers.landmarks import pivoted_cholesky
from mercer.solvers.plan import SolverChoice, pivots, room_for_tiles, worth_products
from mercer.solvers.solution import DualSolved, Solution

# Tables of the size of the right-hand sides that an iteration holds at once, beside the sums of a product.
_TABLES = 14


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
        Whether the model has an unpenalized constant.
    choice : SolverChoice
        Why, for the record.

    Attributes
    ----------
    tiles : KeptTiles
        Products in single precision.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import as_rows
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers.plan import SolverChoice
    >>> from mercer.solvers.streamed import StreamedSystem
    >>> X = np.linspace(0.0, 9.0, 200)[:, None]
    >>> choice = SolverChoice("cg", "an example", 0)
    >>> system = StreamedSystem(Gaussian(1.0), as_rows(X), None, intercept=False, choice=choice)
    >>> solution = system.solve(np.sin(X), 0.1, "cg")
    >>> exact = np.linalg.solve(Gaussian(1.0)(X) + 0.1 * np.eye(200), np.sin(X))
    >>> bool(np.abs(solution.dual - exact).max() < 1e-6 * np.abs(exact).max())
    True
    """

    def __init__(
        self, kernel: Kernel, rows: Rows, weights: Array | None, *, intercept: bool, choice: SolverChoice
    ) -> None:
        self.kernel, self.rows, self.intercept, self.choice = kernel, rows, intercept, choice
        self.n = len(rows)
        _refuse_infinite(kernel, rows)
        self.root = np.ones(self.n) if weights is None else np.sqrt(weights)
        self.weighted = weights is not None
        self._factored: DualSystem | None = None
        room = room_for_tiles(self.n, available_bytes())
        self.F, _ = pivoted_cholesky(kernel, rows, pivots(self.n), np.random.default_rng(0))
        self.F *= self.root[:, None]
        self.inner = self.F.T @ self.F
        r = len(self.inner)
        self.largest = largest_eigenvalue(self.inner.__matmul__, rich_start(r)) if r else 1.0
        self.tiles = KeptTiles(kernel, rows, room)

    def exact(self, B: Array) -> Array:
        """V K V B in double precision, from tiles made anew."""
        return self.root[:, None] * symmetric_times(self.kernel, self.rows, self.root[:, None] * B)

    def quick(self, B: Array) -> Array:
        """V K V B in single precision, from the tiles that are kept."""
        return self.root[:, None] * self.tiles(self.root[:, None] * B)

    def inverse(self, alpha: float, targets: int, tolerance: float = TOLERANCE, most: int = MOST) -> Conjugate:
        """G for this alpha and so many right-hand sides at once, as good as asked for or after so many products."""
        if alpha <= 0:
            raise InputError(
                "solver='cg' needs alpha above 0; got 0. Use a small positive alpha, or solver='spectral'."
            )
        needed = 8 * self.n * targets * (SUMS + _TABLES)
        promise(
            needed,
            f"The conjugate gradient method on {self.n} rows and {targets} targets",
            "Fit fewer targets at a time.",
        )
        quick = self.quick if self.tiles.single else self.exact
        nearby = LowRank(self.F, self.inner, alpha)
        return Conjugate(quick, self.exact, nearby, self.choice.reason, self.largest + alpha, tolerance, most)

    def solve(self, Y: Array, alpha: float, solver: str = "cg") -> Solution:
        """Coefficients for targets Y (n x t); by a factor where that was allowed and the iteration took too long."""
        if self._factored is None:
            G = self.inverse(alpha, Y.shape[1], most=worth_products(self.n) if self.choice.replaceable else MOST)
            try:
                solution = solved_by_gradients(G, self.root, Y, intercept=self.intercept)
            except NotSolved:
                if not self.choice.replaceable or int(8.8 * self.n * self.n) > available_bytes():
                    raise
                G.tally.residual = math.inf
            if not G.converged and self.choice.replaceable:
                self._factored = self._replaced(G)
            if self._factored is None:
                warn_if_short(G)
                return solution
        return self._factored.solve(Y, alpha, "cholesky")

    def _replaced(self, G: Conjugate) -> DualSystem | None:
        """The system with its matrix, for a factor, if there is room for one once the tiles are gone."""
        self.tiles = KeptTiles(self.kernel, self.rows, 0)
        if int(8.8 * self.n * self.n) > available_bytes():
            return None
        reason = f"{self.choice.reason}; conjugate gradients were too slow: {G.tally}"
        K, weights = training_matrix(self.kernel, self.rows), self.root**2 if self.weighted else None
        return DualSystem(K, weights, intercept=self.intercept, reason=reason)

    def at(self, alpha: float, solver: str = "cg") -> DualSolved:
        """Raise an error: variances, evidence and degrees of freedom need a factorization."""
        raise InputError(
            "Standard deviations, evidence and degrees of freedom need a factorization of the "
            f"{self.n} x {self.n} kernel matrix; this model was fitted with solver='cg'. Use solver='cholesky', or "
            "fewer rows."
        )


def _refuse_infinite(kernel: Kernel, rows: Rows) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        diagonal = kernel.diagonal(rows)
    bad = np.flatnonzero(~np.isfinite(diagonal))
    if len(bad):
        row = int(bad[0])
        raise InputError(
            sentence(f"k(x, x) of {kernel!r}", "finite", f"{diagonal[row]} in row {row}", "Scale the columns of X.")
        )
