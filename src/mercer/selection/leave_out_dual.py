"""P = (K + alpha I)^-1 to leave rows out by: in full, or through the spectrum of K."""

from __future__ import annotations

import math

import numpy as np

from mercer.data.rows import Array
from mercer.selection.leave_out import LeaveOut, Runs, SingularError, as_runs, solved_with
from mercer.selection.problem import Problem
from mercer.solvers.cholesky import FEW, exact_condition, largest_eigenvalue, rich_start
from mercer.solvers.lapack import add_outer, potrf, potri, potrs
from mercer.solvers.route import EPS, SINGULAR
from mercer.solvers.symmetric import mirror

# Blocks of I - smoother with an eigenvalue below this are not to be divided by.
_DEGENERATE = 1e-7
# A condition number bounded by this is not worth estimating.
_HARMLESS = 1e10


class Inverted(LeaveOut):
    """P in full, by Cholesky and inversion: n^3 flops, then |S|^3 / 3 per set.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        V K V; left as it is.
    largest : float
        Its largest eigenvalue, for the condition number.
    alpha : float
        Added to the diagonal.
    problem : Problem
        Targets.
    new : ndarray of shape (n, m) or None
        V k(X, x0) of rows of weight zero.
    mirrored : bool
        Whether sets will be scattered over the rows, so that both triangles are needed.
    certified : bool, default=False
        Whether K is known to have no negative eigenvalue, so that alpha bounds the smallest one.

    Raises
    ------
    SingularError
        Where K + alpha I is not positive definite.
    """

    def __init__(
        self,
        K: Array,
        largest: float,
        alpha: float,
        problem: Problem,
        new: Array | None,
        *,
        mirrored: bool,
        certified: bool = False,
    ) -> None:
        n, t = len(K), problem.Y.shape[1]
        P = K.copy()
        P.flat[:: n + 1] += alpha
        right = _right_sides(problem, new)
        exact = exact_condition(P, np.ones(n)) if n <= FEW else None
        if not potrf(P):
            raise SingularError
        solved = right.copy()
        potrs(P, solved)
        if exact is not None:
            self.condition = exact
        elif certified and largest < _HARMLESS * alpha:
            self.condition = (largest + alpha) / alpha
        else:
            self.condition = (largest + alpha) * largest_eigenvalue(lambda v: solved_with(P, v), rich_start(n))
        # Without a penalty to speak of, what is left of K may be rounding error long before that.
        bare = alpha <= n * EPS * largest
        if self.condition > (1.0 / (20 * n * EPS) if bare else SINGULAR):
            raise SingularError
        potri(P)
        self.a = solved[:t].T
        h = solved[t] if problem.intercept else None
        if h is not None:
            scale = float(problem.root @ h)
            self.a = self.a - np.outer(h, h @ right[:t].T) / scale
            add_outer(P, -1.0 / scale, h)
        if new is not None:
            self._at_new_rows(problem, solved, right, h)
        self.P, self.mirrored = P, mirrored
        if mirrored:
            mirror(P)

    def diagonal(self) -> Array:
        """diag P."""
        return np.asarray(np.diagonal(self.P))

    def block(self, rows: Array, runs: Runs | None = None) -> Array:
        """Whole runs of rows are copied from the upper triangle as they are; scattered rows are gathered."""
        runs = as_runs(rows) if runs is None else runs
        if len(runs) > 4 and self.mirrored:
            return np.asarray(self.P[np.ix_(rows, rows)])
        result = np.empty((len(rows), len(rows)))
        top = 0
        for i, first in enumerate(runs):
            left = top
            for second in runs[i:]:
                width = second.stop - second.start
                result[top : top + first.stop - first.start, left : left + width] = self.P[first, second]
                left += width
            top += first.stop - first.start
        return result

    def blocks(self, table: Array) -> Array:
        """Gathered from the upper triangle."""
        return self._upper(table[:, :, None], table[:, None, :])

    def cross(self, rows: Array, columns: Array) -> Array:
        """The same."""
        return self._upper(rows[:, None], columns)

    def _upper(self, rows: Array, columns: Array) -> Array:
        return np.asarray(self.P[np.minimum(rows, columns), np.maximum(rows, columns)])


class Spectral(LeaveOut):
    """P through V K V = U diag(d) U': n^2 flops for leave-one-out, n |S|^2 per set otherwise.

    Where the system is singular (alpha = 0 and eigenvalues that are rounding error) the multiple alpha P = I -
    smoother is taken in the limit: the projector on the null space.

    Parameters
    ----------
    d, U : ndarray
        Eigenvalues and eigenvectors of V K V.
    U2 : ndarray
        U * U, shared between alphas.
    alpha, problem, new
        As for `Inverted`.
    whole : bool
        Whether all of P is formed at once, for sets that together cover more than the matrix.
    """

    def __init__(
        self, d: Array, U: Array, U2: Array, alpha: float, problem: Problem, new: Array | None, *, whole: bool
    ) -> None:
        n, t = len(d), problem.Y.shape[1]
        shifted = d + alpha
        largest = float(np.abs(shifted).max(initial=0.0))
        kept = np.abs(shifted) > n * EPS * largest
        self.degenerate = not kept.all()
        self.w = (~kept).astype(float) if self.degenerate else 1.0 / shifted
        self.U, self.U2 = U, U2
        right = _right_sides(problem, new)
        solved = self._apply(right)
        self.a, self.h, self.scale = solved[:t].T, None, 1.0
        if problem.intercept:
            h_solved = solved[t]
            scale = float(problem.root @ h_solved)
            if not self.degenerate or scale > 1e-12 * float(problem.root @ problem.root):
                self.h, self.scale = h_solved, scale
                self.a = self.a - np.outer(h_solved, h_solved @ right[:t].T) / scale
        if new is not None:
            if self.degenerate:
                raise SingularError
            self._at_new_rows(problem, solved, right, self.h)
        smallest = float(np.abs(shifted).min(initial=math.inf))
        self.condition = math.inf if self.degenerate else largest / smallest
        self.P: Array | None = None
        if whole:
            if self.w.min() >= 0:
                half = U * np.sqrt(self.w)
                self.P = half @ half.T
            else:
                self.P = (U * self.w) @ U.T
            if self.h is not None:
                self.P -= np.outer(self.h, self.h / self.scale)

    def _apply(self, rows: Array) -> Array:
        return np.asarray(((rows @ self.U) * self.w) @ self.U.T)

    def diagonal(self) -> Array:
        """diag P, from the squares of U."""
        result = self.U2 @ self.w
        return np.asarray(result if self.h is None else result - self.h**2 / self.scale)

    def block(self, rows: Array, runs: Runs | None = None) -> Array:
        """U_S W U_S', less the intercept's part."""
        if self.P is not None:
            return np.asarray(self.P[np.ix_(rows, rows)])
        part = self.U[rows]
        result = (part * self.w) @ part.T
        if self.h is not None:
            result -= np.outer(self.h[rows], self.h[rows] / self.scale)
        return np.asarray(result)

    def blocks(self, table: Array) -> Array:
        """The same for many sets."""
        if self.P is not None:
            return np.asarray(self.P[table[:, :, None], table[:, None, :]])
        return np.stack([self.block(rows) for rows in table])

    def cross(self, rows: Array, columns: Array) -> Array:
        """U_S W U_C', less the intercept's part."""
        if self.P is not None:
            return np.asarray(self.P[np.ix_(rows, columns)])
        result = (self.U[rows] * self.w) @ self.U[columns].T
        if self.h is not None:
            result -= np.outer(self.h[rows], self.h[columns] / self.scale)
        return np.asarray(result)

    def _divisible(self, P: Array) -> Array:
        if not self.degenerate:
            return np.ones(len(P), dtype=bool)
        return np.asarray(np.linalg.eigvalsh(np.triu(P) + np.triu(P, 1).swapaxes(1, 2))[:, 0] > _DEGENERATE)


def _right_sides(problem: Problem, new: Array | None) -> Array:
    """V Y, h = V 1 and V k(X, x0) as rows."""
    used = problem.used
    parts = [(problem.root[:, None] * problem.Y[used]).T]
    if problem.intercept:
        parts.append(problem.root[None])
    if new is not None:
        parts.append(new.T)
    return np.ascontiguousarray(np.concatenate(parts))
