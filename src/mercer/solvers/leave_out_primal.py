"""alpha P = I - smoother to leave rows out by, through explicit features."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpocon

from mercer.data.checks import sizes
from mercer.data.rows import Array
from mercer.kernels.tiles import blocks
from mercer.solvers.cholesky import potrf, potrs
from mercer.solvers.leave_out import LeaveOut, SingularError
from mercer.solvers.primal import PrimalSolved
from mercer.solvers.problem import Problem

# A pivot of I - Z Z' is a difference from one: below this, too few of its digits are left.
_CANCELLED = 1e-6
_TOGETHER = 64  # rows of a block in which each is left out by itself


class Explicit(LeaveOut):
    """alpha P = I - Z Z' through explicit features: n D^2 flops, then min(|S|, D)^2 max(|S|, D) per set.

    F C^-1 F' = Z Z' for the weighted, centred features F and C = F'F + alpha I: Z = F U^-1 from C = U'U, and from the
    singular values of F, which have only the root of its condition, where C is badly conditioned. Z of a sparse table
    is made for the rows that are asked for.

    Parameters
    ----------
    solved : PrimalSolved
        The factored system; every row must have weight.
    problem : Problem
        Targets.
    rounded : ndarray of shape (D,) or None
        Norms of the features as they were rounded, before anything was subtracted; None for exact ones.

    Raises
    ------
    SingularError
        For alpha = 0 where features and intercept reach every direction, so that I - Z Z' is zero.
    """

    def __init__(self, solved: PrimalSolved, problem: Problem, rounded: Array | None = None) -> None:
        self.solved, self.system, self.root = solved, solved.system, problem.root
        self.condition = solved.route().condition
        self.degenerate = solved.alpha == 0
        self.h = problem.root[:, None] / np.linalg.norm(problem.root) if problem.intercept else None
        self.Z: Array | None = None
        if not self.system.sparse or solved.cholesky is None:
            self.Z = np.ascontiguousarray(self._with_constant(solved.span(), slice(None)))
            if self.degenerate and self.Z.any(axis=0).sum() >= len(self.Z):
                raise SingularError
        self.y = problem.root[:, None] * problem.Y
        self.a = self._residuals(problem)
        unit = sizes(self.y)  # so that squares exist
        with np.errstate(divide="ignore", invalid="ignore"):  # digits that the difference has lost
            terms = np.linalg.norm(self.y / unit, axis=0)
            if rounded is not None:
                w = solved.solve(problem.Y / unit).primal
                terms = terms + problem.root.max() * np.linalg.norm(rounded[:, None] * w, axis=0)
            lost = terms / np.linalg.norm(self.a / unit, axis=0)
        self.condition = max(self.condition, float(np.nan_to_num(lost, nan=1.0).max(initial=1.0)))

    def _with_constant(self, Z: Array, rows: Array | slice) -> Array:
        """Z, with h / ||h|| beside it where there is an intercept."""
        return Z if self.h is None else np.column_stack([Z, self.h[rows]])

    def _residuals(self, problem: Problem) -> Array:
        """y - Z Z'y."""
        if self.Z is not None:
            return np.asarray(self.y - self.Z @ (self.Z.T @ self.y))
        found = self.solved.solve(problem.Y)
        return np.asarray(self.root[:, None] * (problem.Y - (self.system.features @ found.primal + found.intercept)))

    def _rows(self, rows: Array | slice) -> Array:
        """Z_S."""
        if self.Z is not None:
            return np.asarray(self.Z[rows])
        return self._with_constant(self.solved.span(rows), rows)

    def diagonal(self) -> Array:
        """diag (I - Z Z')."""
        pieces = (self._rows(part) for part in ([slice(None)] if self.Z is not None else blocks(len(self.y))))
        return np.concatenate([1.0 - np.einsum("ij,ij->i", Z, Z) for Z in pieces])

    def block(self, rows: Array) -> Array:
        """I - Z_S Z_S'."""
        part = self._rows(rows)
        result = -(part @ part.T)
        result.flat[:: len(rows) + 1] += 1.0
        return np.asarray(result)

    def blocks(self, table: Array) -> Array:
        """I - Z_S Z_S' of many sets."""
        part = self._rows(table.ravel()).reshape(*table.shape, -1)
        return np.asarray(np.eye(table.shape[1]) - part @ part.swapaxes(1, 2))

    def cross(self, rows: Array, columns: Array) -> Array:
        """-Z_S Z_C' of disjoint sets."""
        return np.asarray(-(self._rows(rows) @ self._rows(columns).T))

    def _one(self, rows: Array) -> Array | None:
        return self._divide(rows, self.a[rows])

    def _divide(self, rows: Array, a: Array) -> Array | None:
        """(I - Z_S Z_S')^-1 a; None where the block has lost too many digits."""
        part = self._rows(rows)
        if len(rows) <= part.shape[1]:
            block, right = np.ascontiguousarray(self.block(rows)), np.ascontiguousarray(a.T)
        else:  # (I - Z Z')^-1 = I + Z (I - Z'Z)^-1 Z': a system of D unknowns instead of |S|
            block = np.ascontiguousarray(np.eye(part.shape[1]) - part.T @ part)
            right = np.ascontiguousarray((part.T @ a).T)
        if not self._factor(block):
            return None
        potrs(block, right)
        return np.asarray(right.T if len(rows) <= part.shape[1] else a + part @ right.T)

    def predictions(self, rows: Array, E: Array) -> Array:
        """(I - Z_S Z_S')^-1 Z_S Z_T'y_T for the rows T that are not left out: E of targets that are 0 at S, and -1."""
        others = np.setdiff1d(np.arange(len(self.y)), rows)
        found = self._divide(rows, self._rows(rows) @ (self._rows(others).T @ self.y[others]))
        return self.y[rows] - E if found is None else found

    def single_predictions(self, rows: Array, E: Array, base: Array | None = None) -> Array:
        """z_i'Z_T'y_T / (1 - z_i'z_i) for T all rows but i, block by block; with `base` set by set.

        y_i has no part in it: sums over the other blocks come from both ends, and those inside the block leave i out.
        """
        if base is not None:
            sets = [np.sort(np.append(base, row)) for row in rows]
            found = self.y[rows] - E
            for i, R in enumerate(self.residuals(sets)):
                if R is not None:
                    found[i] = self.predictions(sets[i], R)[np.searchsorted(sets[i], rows[i])]
            return found
        y = self.y[:, : E.shape[1]]
        parts, found = blocks(len(y), _TOGETHER), np.empty(y.shape)
        sums = np.stack([self._rows(part).T @ y[part] for part in parts])
        none = np.zeros_like(sums[:1])
        before, after = np.concatenate([none, sums]), np.concatenate([none, sums[::-1]])
        others = np.cumsum(before, axis=0)[:-1] + np.cumsum(after, axis=0)[-2::-1]
        for part, rest in zip(parts, others, strict=True):
            Z = self._rows(part)
            own = Z @ Z.T
            np.fill_diagonal(own, 0.0)
            found[part] = Z @ rest + own @ y[part]
        return np.asarray(found[rows] / self.diagonal()[rows, None])

    def terms(self) -> Array:
        """Sizes of the terms that the prediction at each row is the sum of: ||z_i|| ||y||."""
        leverage = np.maximum(1.0 - self.diagonal(), 0.0)
        return np.asarray(np.sqrt(leverage) * np.linalg.norm(self.y, axis=0).max())

    def _factor(self, block: Array) -> bool:
        norm = float(np.abs(block).sum(axis=0).max())
        # a lower bound of the smallest eigenvalue: what cancels may be spread over several pivots
        return potrf(block) and bool(self._safe_pivots(np.array([norm * dpocon(block, norm)[0]])).all())

    def _divisible(self, P: Array) -> Array:
        return self._safe_pivots(np.linalg.eigvalsh(P)[:, 0] if P.shape[1] > 1 else P[:, 0, 0])

    def _safe_pivots(self, pivots: Array) -> Array:
        """Which pivots lost few digits; the condition tells how many the worst of them lost."""
        good = np.asarray(pivots > _CANCELLED)
        self.condition = max(self.condition, 1.0 / float(pivots[good].min(initial=1.0)))
        return good
