"""(K + alpha I)^-1 without a factor of K: conjugate gradients, preconditioned by a few columns of it.

With F F' close to K, (F F' + alpha I)^-1 is cheap to apply and leaves a system whose eigenvalues lie close
together. Products with K come from a single-precision copy where there is room for one, and otherwise from tiles
made anew; what is still missing is computed in double precision, from tiles, before the answer is believed.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np

from mercer.data.rows import Array
from mercer.errors import ConvergenceWarning
from mercer.solvers.route import Route
from mercer.solvers.solution import Solution, bordered, solve_bordered

# What the residual is brought down to, relative to the right-hand side, and by how much at a time in single precision.
TOLERANCE = 1e-8
_AT_A_TIME = 1e-5
_STEPS, _ROUNDS = 300, 8


class Conjugate:
    """G = (V K V + alpha I)^-1 by preconditioned conjugate gradients on many right-hand sides at once.

    Parameters
    ----------
    quick : callable
        B -> V K V B, possibly in single precision.
    exact : callable
        The same in double precision.
    F : ndarray of shape (n, r)
        V times a factor with F F' close to K.
    alpha : float
        Added to the diagonal; positive.
    reason : str
        For the record.
    largest : float
        Largest eigenvalue of V K V, about.

    Attributes
    ----------
    residual : float
        The largest relative residual ||b - A x|| / ||b|| that was reached.
    steps : int
        How many products with K it took.
    """

    def __init__(
        self, quick: Callable[[Array], Array], exact: Callable[[Array], Array], F: Array, alpha: float, reason: str,
        largest: float,
    ) -> None:  # fmt: skip
        self.quick, self.exact, self.F, self.alpha, self.reason = quick, exact, F, alpha, reason
        self.n, self.largest = len(F), largest
        inner = F.T @ F
        inner.flat[:: len(inner) + 1] += alpha
        self._factor = np.linalg.cholesky(inner) if len(inner) else inner
        self.residual, self.steps = 0.0, 0

    def _precondition(self, R: Array) -> Array:
        """(F F' + alpha I)^-1 R."""
        if not self.F.shape[1]:
            return R / self.alpha
        from scipy.linalg import cho_solve

        return np.asarray((R - self.F @ cho_solve((self._factor, True), self.F.T @ R, check_finite=False)) / self.alpha)

    def solve(self, B: Array) -> Array:
        """G B; each round corrects the last by what double precision says is missing."""
        X, R = np.zeros_like(B), B.copy()
        goal = TOLERANCE * np.maximum(_lengths(B), 1e-300)
        before = math.inf
        for _ in range(_ROUNDS):
            missing = float((_lengths(R) / goal).max(initial=0.0))
            if missing <= 1.0 or missing > 0.5 * before:
                break
            before = missing
            X += self._descend(R, max(_AT_A_TIME, 0.3 / missing))
            R = B - self.exact(X) - self.alpha * X
        self.residual = max(self.residual, TOLERANCE * float((_lengths(R) / goal).max(initial=0.0)))
        return X

    def _descend(self, B: Array, share: float) -> Array:
        """Conjugate gradients until every residual is this share of its beginning, or no more is to be had."""
        X, R = np.zeros_like(B), B.copy()
        Z = self._precondition(R)
        D = Z.copy()
        rz = np.einsum("ij,ij->j", R, Z)
        goal = share * _lengths(B)
        for _ in range(_STEPS):
            AD = self.quick(D) + self.alpha * D
            self.steps += 1
            curvature = np.einsum("ij,ij->j", D, AD)
            step = np.divide(rz, curvature, out=np.zeros_like(rz), where=curvature > 0)
            X += step * D
            R -= step * AD
            if (_lengths(R) <= goal).all() or not step.any():
                break
            Z = self._precondition(R)
            last, rz = rz, np.einsum("ij,ij->j", R, Z)
            D = Z + np.divide(rz, last, out=np.zeros_like(rz), where=last > 0) * D
        return X

    @property
    def converged(self) -> bool:
        """Whether the residual is what was asked for."""
        return self.residual <= 1.001 * TOLERANCE

    def null_part(self, B: Array) -> Array | None:
        """A is regular."""
        return None

    def route(self) -> Route:
        """How it was solved, with the residual that was reached."""
        reason = f"{self.reason}, {self.F.shape[1]} pivots, {self.steps} products, residual {self.residual:.0e}"
        return Route("cg", reason, max(1.0, self.largest / self.alpha), self.n, self.n, residual=self.residual)


def solved_by_gradients(G: Conjugate, root: Array, Y: Array, *, intercept: bool) -> Solution:
    """Coefficients, and a sentence where they are not as good as asked for."""
    border = bordered(G, root[:, None]) if intercept else None
    solution = solve_bordered(G, root, border, Y)
    if not G.converged:
        warnings.warn(
            f"Conjugate gradients stopped at a relative residual of {G.residual:.1e} (wanted {TOLERANCE:.0e}) after "
            f"{G.steps} products. A larger alpha, more memory, or solver='cholesky' gives more digits.",
            ConvergenceWarning,
            stacklevel=5,
        )
    return solution


def _lengths(B: Array) -> Array:
    return np.asarray(np.sqrt(np.einsum("ij,ij->j", B, B)))
