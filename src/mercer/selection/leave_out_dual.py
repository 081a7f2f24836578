"""P = (K + alpha I)^-1 to leave rows out by: in full, or through the spectrum of K."""

from __future__ import annotations

import math

import numpy as np

from mercer.data.rows import Array
from mercer.kernels.tiles import blocks
from mercer.selection.leave_out import LeaveOut, Runs, SingularError, as_runs, solved_with
from mercer.selection.problem import Problem
from mercer.solvers.cholesky import FEW, equilibrium, estimated_condition, exact_condition
from mercer.solvers.lapack import add_outer, potrf, potri, potrs
from mercer.solvers.route import EPS, SINGULAR
from mercer.solvers.symmetric import mirror

# Blocks of I - smoother with an eigenvalue below this are not to be divided by.
_DEGENERATE = 1e-7
# A condition number bounded by this is not worth estimating.
_HARMLESS = 1e10
# A share of a prediction that is not worth computing.
_NOTHING = 1e-13


class Dual(LeaveOut):
    """What the two forms share: dual coefficients and intercept, of all rows and of the model without S.

    Attributes
    ----------
    K : ndarray of shape (n, n)
        V K V, a reference.
    root : ndarray of shape (n,)
        V.
    b : ndarray of shape (t,)
        Intercept of the full model.
    b_terms : ndarray of shape (t,)
        Sums of the sizes of the terms that it is the sum of.
    h : ndarray of shape (n,) or None
        G V 1; None without an intercept.
    scale : float
        1'V G V 1, negative only where K has negative eigenvalues.
    unit : ndarray of shape (n,) or None
        h divided by the root of |scale|: P = G - sign(scale) unit unit', in which nothing vanishes or overflows.
    reach : float
        At least the largest eigenvalue of G, infinite where nobody asked.
    """

    K: Array
    root: Array
    b: Array
    b_terms: Array
    h: Array | None = None
    unit: Array | None = None
    scale: float = 1.0
    reach: float = math.inf

    def _solved(self, problem: Problem, right: Array, solved: Array, *, least: float = 0.0) -> None:
        """a and b from G times the right sides; an intercept whose scale is not above `least` has no part in P."""
        t = problem.Y.shape[1]
        self.root, self.a, self.b, self.b_terms = problem.root, solved[:t].T, np.zeros(t), np.zeros(t)
        if not problem.intercept:
            return
        h = solved[t]
        scale = float(self.root @ h)
        if abs(scale) > least:
            self.h, self.scale, self.unit = h, scale, h / math.sqrt(abs(scale))
            self.b = (h / scale) @ right[:t].T
            self.b_terms = np.abs(h / scale) @ np.abs(right[:t].T)
            self.a = self.a - np.outer(self.unit, self._signed() @ right[:t].T)

    def _signed(self) -> Array:
        return np.zeros(0) if self.unit is None else math.copysign(1.0, self.scale) * self.unit

    def _at_new_rows(self, problem: Problem, right: Array, solved: Array) -> None:
        """f and u at rows of weight zero: u = P V k(X, x0) + G h / h'G h."""
        skip = problem.Y.shape[1] + problem.intercept
        k0, u = right[skip:], solved[skip:]
        f = k0 @ self.a + self.b
        if self.h is not None:
            u = u + np.outer(1.0 - k0 @ self.h, self.h / self.scale)
        self.new_a, self.new_u = f, u.T

    def without(self, rows: Array, E: Array) -> tuple[Array, Array]:
        """Dual coefficients, zero at S, and intercept of the model without S: a - P_.S E_S and b - g_S'E_S.

        Of the first targets, as many as E has columns.
        """
        t = E.shape[1]
        a, b = self.a[:, :t] - self.times(rows, E), self.b[:t]
        a[rows] = 0.0
        return a, b if self.h is None else b - (self.h[rows] / self.scale) @ E

    def times(self, rows: Array, E: Array) -> Array:
        """P_.S E."""
        raise NotImplementedError

    def predictions(self, rows: Array, E: Array) -> Array:
        """(V K V)_S. times the coefficients without S, plus V times its intercept."""
        a, b = self.without(rows, E)
        return np.asarray(self.K[rows] @ a + self.root[rows, None] * b)

    def single_predictions(self, rows: Array, E: Array, base: Array | None = None) -> Array:
        """The same for many sets of one row each, beside `base`: P of the model without `base` serves all of them."""
        everything, t = np.arange(len(self.a)), E.shape[1]
        a, b, base = self.a[:, :t], self.b[:t], everything[:0] if base is None else base
        g = np.zeros(len(a)) if self.h is None else self.h / self.scale
        reach = self.cross(base, everything)
        solved = np.linalg.solve(self.blocks(base[None])[0], np.column_stack([reach, a[base]]))
        a, b = a - reach.T @ solved[:, len(a) :], b - g[base] @ solved[:, len(a) :]
        g = g - solved[:, : len(a)].T @ g[base]
        found = np.empty(E.shape)
        for part in blocks(len(rows)):
            some, e = rows[part], E[part]
            K = self.K[some]
            own = np.abs(K[np.arange(len(some)), some])
            K[:, base] = 0.0
            K[np.arange(len(some)), some] = 0.0
            found[part] = K @ a + self.root[some, None] * (b - g[some, None] * e)
            # k_i'P_.i of a row that has little in common with others is that little squared
            size = np.abs(K)
            with np.errstate(over="ignore", invalid="ignore"):
                most = self.reach * size.sum(axis=1) * np.linalg.norm(K, axis=1) / np.maximum(own, 1e-300)
                needed = ~(most[:, None] * np.abs(e) <= _NOTHING * (size @ np.abs(a))).all(axis=1)
            some, K = some[needed], K[needed]
            P = self.cross(some, everything) - self.cross(some, base) @ solved[:, : len(a)]
            found[np.arange(part.start, part.stop)[needed]] -= np.einsum("ij,ij->i", K, P)[:, None] * e[needed]
        return found


class Inverted(Dual):
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
        n = len(K)
        P = K.copy()
        P.flat[:: n + 1] += alpha
        right = _right_sides(problem, new)
        exact, scale = exact_condition(P) if n <= FEW else None, equilibrium(P)
        if not potrf(P):
            raise SingularError
        solved = right.copy()
        potrs(P, solved)
        if exact is not None:
            self.condition = exact
        elif certified and largest < _HARMLESS * alpha:
            self.condition = (largest + alpha) / alpha
        else:
            self.condition = estimated_condition(lambda v: K @ v + alpha * v, lambda v: solved_with(P, v), scale)
        # Without a penalty to speak of, what is left of K may be rounding error long before that.
        bare = alpha <= n * EPS * largest
        if self.condition > (1.0 / (20 * n * EPS) if bare else SINGULAR):
            raise SingularError
        potri(P)
        self._solved(problem, right, solved)
        if self.unit is not None:
            add_outer(P, -1.0, self.unit)
        if new is not None:
            self._at_new_rows(problem, right, solved)
        self.K, self.P, self.mirrored = K, P, mirrored
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
        """P_SS gathered from the upper triangle."""
        return self._upper(table[:, :, None], table[:, None, :])

    def cross(self, rows: Array, columns: Array) -> Array:
        """P at these rows and columns, gathered from the upper triangle."""
        return self._upper(rows[:, None], columns)

    def times(self, rows: Array, E: Array) -> Array:
        """P_.S E, by blocks of rows where one triangle is all there is."""
        if self.mirrored:
            return np.asarray(self.P[:, rows] @ E)
        parts = [self.cross(np.arange(part.start, part.stop), rows) @ E for part in blocks(len(self.P))]
        return np.concatenate(parts)

    def _upper(self, rows: Array, columns: Array) -> Array:
        return np.asarray(self.P[np.minimum(rows, columns), np.maximum(rows, columns)])


class Spectral(Dual):
    """P through V K V = U diag(d) U': n^2 flops for leave-one-out, n |S|^2 per set otherwise.

    Where the system is singular (alpha = 0 and eigenvalues that are rounding error) the multiple alpha P = I -
    smoother is taken in the limit: the projector on the null space.

    Parameters
    ----------
    d, U : ndarray
        Eigenvalues and eigenvectors of V K V.
    U2 : ndarray
        U * U, shared between alphas.
    K : ndarray of shape (n, n)
        V K V.
    alpha, problem, new
        As for `Inverted`.
    whole : bool
        Whether all of P is formed at once, for sets that together cover more than the matrix.
    """

    def __init__(
        self, d: Array, U: Array, U2: Array, K: Array, alpha: float, problem: Problem, new: Array | None, *, whole: bool
    ) -> None:
        n = len(d)
        shifted = d + alpha
        largest = float(np.abs(shifted).max(initial=0.0))
        kept = np.abs(shifted) > n * EPS * largest
        self.degenerate = not kept.all()
        self.w = (~kept).astype(float) if self.degenerate else 1.0 / shifted
        self.U, self.U2, self.K, self.reach = U, U2, K, float(np.abs(self.w).max(initial=0.0))
        right = _right_sides(problem, new)
        solved = self._apply(right)
        self._solved(problem, right, solved, least=1e-12 * float(problem.root @ problem.root) * self.degenerate)
        if new is not None:
            if self.degenerate:
                raise SingularError
            self._at_new_rows(problem, right, solved)
        smallest = float(np.abs(shifted).min(initial=math.inf))
        self.condition = math.inf if self.degenerate else largest / smallest
        self.P: Array | None = None
        if whole:
            if self.w.min() >= 0:
                half = U * np.sqrt(self.w)
                self.P = half @ half.T
            else:
                self.P = (U * self.w) @ U.T
            if self.unit is not None:
                self.P -= np.outer(self.unit, self._signed())

    def _apply(self, rows: Array) -> Array:
        return np.asarray(((rows @ self.U) * self.w) @ self.U.T)

    def diagonal(self) -> Array:
        """diag P, from the squares of U."""
        result = self.U2 @ self.w
        return np.asarray(result if self.unit is None else result - self.unit * self._signed())

    def block(self, rows: Array, runs: Runs | None = None) -> Array:
        """U_S W U_S', less the intercept's part."""
        if self.P is not None:
            return np.asarray(self.P[np.ix_(rows, rows)])
        return self.cross(rows, rows)

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
        if self.unit is not None:
            result -= np.outer(self.unit[rows], self._signed()[columns])
        return np.asarray(result)

    def times(self, rows: Array, E: Array) -> Array:
        """U (W (U_S'E)), less the intercept's part."""
        result = self.U @ (self.w[:, None] * (self.U[rows].T @ E))
        if self.unit is not None:
            result -= np.outer(self.unit, self._signed()[rows] @ E)
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
