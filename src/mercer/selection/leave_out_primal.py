"""alpha P = I - smoother to leave rows out by, through explicit features."""

from __future__ import annotations

import numpy as np

from mercer.data.rows import Array
from mercer.selection.leave_out import LeaveOut, Runs, SingularError, solved_with
from mercer.selection.problem import Problem
from mercer.solvers.cholesky import largest_eigenvalue, rich_start
from mercer.solvers.lapack import potrf, potrs

# A pivot of I - Z Z' is a difference from one: below this, too few of its digits are left.
_CANCELLED = 1e-6


class Explicit(LeaveOut):
    """alpha P = I - Z Z' through explicit features: n D^2 flops, then min(|S|, D)^2 max(|S|, D) per set.

    Parameters
    ----------
    F : ndarray of shape (n, D)
        Weighted features, centred where there is an intercept.
    normal : ndarray of shape (D, D)
        F'F, shared between alphas.
    largest, alpha, problem
        As for `Inverted`; every row must have weight.

    Raises
    ------
    SingularError
        Where F'F + alpha I is not positive definite.
    """

    def __init__(self, F: Array, normal: Array, largest: float, alpha: float, problem: Problem) -> None:
        factor = normal.copy()
        factor.flat[:: len(factor) + 1] += alpha
        if alpha <= 0 or not potrf(factor):
            raise SingularError
        from scipy.linalg import solve_triangular

        # F C^-1 F' = Z Z' with Z = F U^-1, C = U'U
        Z = solve_triangular(factor, F.T, lower=False, trans=1, check_finite=False).T
        if problem.intercept:
            h = problem.root / np.linalg.norm(problem.root)
            Z = np.column_stack([Z, h])
        self.Z = np.ascontiguousarray(Z)
        y = problem.root[:, None] * problem.Y
        self.a = y - self.Z @ (self.Z.T @ y)
        start = rich_start(len(factor))
        self.condition = (largest + alpha) * largest_eigenvalue(lambda v: solved_with(factor, v), start)

    def diagonal(self) -> Array:
        """diag (I - Z Z')."""
        return np.asarray(1.0 - np.einsum("ij,ij->i", self.Z, self.Z))

    def block(self, rows: Array, runs: Runs | None = None) -> Array:
        """I - Z_S Z_S'."""
        part = self.Z[rows]
        result = -(part @ part.T)
        result.flat[:: len(rows) + 1] += 1.0
        return np.asarray(result)

    def blocks(self, table: Array) -> Array:
        """The same for many sets."""
        part = self.Z[table]
        return np.asarray(np.eye(table.shape[1]) - part @ part.swapaxes(1, 2))

    def cross(self, rows: Array, columns: Array) -> Array:
        """-Z_S Z_C' of disjoint sets."""
        return np.asarray(-(self.Z[rows] @ self.Z[columns].T))

    def _one(self, rows: Array, runs: Runs) -> Array | None:
        part = self.Z[rows]
        if len(rows) <= part.shape[1]:
            block, right = np.ascontiguousarray(self.block(rows)), np.ascontiguousarray(self.a[rows].T)
        else:  # (I - Z Z')^-1 = I + Z (I - Z'Z)^-1 Z': a system of D unknowns instead of |S|
            block = np.ascontiguousarray(np.eye(part.shape[1]) - part.T @ part)
            right = np.ascontiguousarray((part.T @ self.a[rows]).T)
        if not self._factor(block):
            return None
        potrs(block, right)
        return np.asarray(right.T if len(rows) <= part.shape[1] else self.a[rows] + part @ right.T)

    def _factor(self, block: Array) -> bool:
        from scipy.linalg.lapack import dpocon

        norm = float(np.abs(block).sum(axis=0).max())
        if not potrf(block):
            return False
        # a lower bound of the smallest eigenvalue: what cancels may be spread over several pivots
        return bool(self._trusted(np.array([norm * dpocon(block, norm)[0]])).all())

    def _divisible(self, P: Array) -> Array:
        return self._trusted(np.linalg.eigvalsh(P)[:, 0] if P.shape[1] > 1 else P[:, 0, 0])

    def _trusted(self, pivots: Array) -> Array:
        """Those that lost few digits; the condition tells how many the worst of them lost."""
        good = np.asarray(pivots > _CANCELLED)
        self.condition = max(self.condition, 1.0 / float(pivots[good].min(initial=1.0)))
        return good
