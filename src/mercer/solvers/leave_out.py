"""Leave any set of rows out, exactly: E_S = P_SS^-1 a_S.

P is the matrix of docs/derivations (6), a = P V Y, all in weighted coordinates; any multiple of P gives
the same residuals E. Each kind of `LeaveOut` knows P for one kernel and one alpha in its own way: all of it
(`Inverted`), through the spectrum (`Spectral`), or through explicit features (`Explicit`).

A held-out prediction is y - E. Where it is far smaller than y that difference has no digits left, and the prediction
is computed by itself: `predictions` and `single_predictions` use the model without S, not y_S.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from mercer.data.rows import Array
from mercer.kernels.tiles import blocks
from mercer.runtime import promise
from mercer.solvers.cholesky import (
    FEW,
    Cholesky,
    Map,
    add_outer,
    equilibrium,
    estimated_condition,
    exact_condition,
    half_solve,
    mirror,
    posv,
    potrf,
    potri,
    solve_columns,
)
from mercer.solvers.dual import Border
from mercer.solvers.plan import EPS, SINGULAR
from mercer.solvers.problem import Problem

# Blocks of I - smoother with an eigenvalue below this are not to be divided by.
_DEGENERATE = 1e-7
# A condition number that is not worth estimating, and a share of a prediction that is not worth computing.
_HARMLESS, _NOTHING = 1e10, 1e-13
# Sets up to this size are gathered and solved many at a time, in so many bytes.
_SMALL, _BATCH_BYTES = 32, 32_000_000
_RUNS = 4  # of consecutive rows, up to which a block is copied run by run


class SingularError(ArithmeticError):
    """A is not positive definite: another route must be taken."""


@dataclass(frozen=True, eq=False)
class Gram:
    """The matrix V K V of the rows with weight, and the regression that it belongs to.

    Attributes
    ----------
    problem : Problem
        Targets, weights and intercept.
    K : ndarray of shape (n, n)
        V K V; without it no prediction can be computed by itself.
    new : ndarray of shape (n, m) or None
        V k(X, x0) of rows of weight zero.
    certified : bool
        Whether K is known to have no negative eigenvalue, so that alpha bounds the smallest one.
    """

    problem: Problem
    K: Array = field(default_factory=lambda: np.empty((0, 0)))
    new: Array | None = None
    certified: bool = False


class LeaveOut:
    """P of one kernel and alpha, over the rows that have weight.

    Attributes
    ----------
    a : ndarray of shape (n, t)
        P V Y, up to the same multiple as P.
    condition : float
        Estimated condition number of the system.
    degenerate : bool
        Whether the system is singular, so that some blocks must not be divided by.
    multiple : float
        What P is multiplied by to give I - smoother: alpha, or 1 where that is what P stands for.
    new_a, new_u : ndarray or None
        For rows of weight zero: f(x0) of the full model, and u(x0), so that
        f_{-S}(x0) = f(x0) - u_S(x0)'E_S.
    """

    a: Array
    condition: float = 1.0
    degenerate: bool = False
    multiple: float = 1.0
    new_a: Array | None = None
    new_u: Array | None = None

    def diagonal(self) -> Array:
        """diag P."""
        raise NotImplementedError

    def cross(self, rows: Array, columns: Array) -> Array:
        """P at these rows and columns, or at those of many sets of one size, stacked."""
        raise NotImplementedError

    def block(self, rows: Array) -> Array:
        """P_SS in a new array, of which the upper triangle counts."""
        return self.cross(rows, rows)

    def blocks(self, table: Array) -> Array:
        """P_SS of many small sets of one size, whole."""
        return self.cross(table, table)

    def intercept_shares(self) -> Array:
        """g: the intercept is g'V Y."""
        raise NotImplementedError

    def matrix(self) -> Array:
        """All of P, in a new array."""
        P = np.ascontiguousarray(self.block(np.arange(len(self.a))))
        mirror(P)
        return P

    def residuals(self, sets: Sequence[Array]) -> list[Array | None]:
        """E_S in weighted coordinates for each set; None where P_SS cannot be divided by."""
        found: list[Array | None] = [self.a[:0]] * len(sets)  # as an empty set has it
        sizes = np.array([len(rows) for rows in sets])
        for size in np.unique(sizes[sizes > 0]):
            members = np.flatnonzero(sizes == size)
            if size <= _SMALL and len(members) > 1:
                self._many(sets, members, found)
            else:
                for i in members.tolist():
                    found[i] = self._one(sets[i])
        return found

    def one_more(self, base: Array, rows: Array) -> tuple[Array, Array] | None:
        """E at each of `rows` when it is left out together with `base`, and whether it may be read from P.

        With P_BB = U'U and W = U'^-1 P_B,rows: the Schur complements P_ii - w_i'w_i divide a_i - w_i'z. None where
        P_BB itself cannot be divided by.
        """
        B = np.ascontiguousarray(self.block(base))
        right = np.ascontiguousarray(np.column_stack([self.cross(base, rows), self.a[base]]))
        if self.degenerate or not self._factor(B):
            return None
        W = half_solve(B, right)
        z, W = W[:, len(rows) :], W[:, : len(rows)]
        pivots = self.diagonal()[rows] - np.einsum("ij,ij->j", W, W)
        good = self._safe_pivots(pivots)
        return np.asarray((self.a[rows] - W.T @ z) / np.where(good, pivots, 1.0)[:, None]), good

    def _factor(self, block: Array) -> bool:
        """Put the Cholesky factor in place of P_SS; whether P_SS is not singular."""
        return potrf(block)

    def _safe_pivots(self, pivots: Array) -> Array:
        """Which pivots have digits enough to be divided by."""
        return pivots > 0

    def single_residuals(self) -> tuple[Array, Array]:
        """a_i / P_ii of every row, and whether P_ii is not zero."""
        diagonal = self.diagonal()
        good = self._divisible(diagonal[:, None, None]) & (diagonal != 0)
        return self.a / np.where(good, diagonal, 1.0)[:, None], good

    def _many(self, sets: Sequence[Array], members: Array, found: list[Array | None]) -> None:
        table = np.array([sets[i] for i in members])
        size = table.shape[1]
        for part in blocks(len(members), max(1, _BATCH_BYTES // (8 * size * size))):
            if size == 1:
                e, good = (of_all[table[part]] for of_all in self.single_residuals())
            else:
                P = self.blocks(table[part])
                good = self._divisible(P)
                P[~good] = np.eye(size)
                e = solve_blocks(P, self.a[table[part]])
            for place, i in enumerate(members[part]):
                found[i] = e[place] if good[place] else None

    def _one(self, rows: Array) -> Array | None:
        P = np.ascontiguousarray(self.block(rows))
        e = np.ascontiguousarray(self.a[rows].T)
        if (self.degenerate and not self._divisible(P[None])[0]) or not posv(P, e):
            return None
        return e.T

    def predictions(self, rows: Array, E: Array) -> Array:
        """V f at the rows of S of the model without S, however small beside y; E are its residuals there."""
        raise NotImplementedError

    def single_predictions(self, rows: Array, E: Array, base: Array | None = None) -> Array:
        """V f at each of `rows` of the model without that row, and without `base` if given."""
        raise NotImplementedError

    def _divisible(self, P: Array) -> Array:
        """Whether each of these blocks is not singular."""
        return np.ones(len(P), dtype=bool)


def solve_blocks(P: Array, right: Array) -> Array:
    """P^-1 times columns, of many symmetric blocks; scaled to a diagonal of ones, so that no far row loses digits."""
    size = np.sqrt(np.abs(np.diagonal(P, axis1=-2, axis2=-1)))[..., None]
    size = np.where(size > 0, size, 1.0)
    return np.asarray(np.linalg.solve(P / size / size.swapaxes(-2, -1), right / size) / size)


class Dual(LeaveOut):
    """What the two forms share: dual coefficients and intercept, of all rows and of the model without S.

    Attributes
    ----------
    K : ndarray of shape (n, n)
        V K V, a reference; `predictions` need it.
    root : ndarray of shape (n,)
        V.
    b : ndarray of shape (t,)
        Intercept of the full model.
    b_terms : ndarray of shape (t,)
        Sums of the sizes of the terms that it is the sum of.
    border : Border or None
        G V 1 and its scale: P = G - unit signed'. None without an intercept.
    reach : float
        At least the largest eigenvalue of G, infinite where nobody asked.
    """

    K: Array
    root: Array
    b: Array
    b_terms: Array
    border: Border | None = None
    reach: float = math.inf

    def set_solution(self, system: Gram, solve: Map, least: float = 0.0) -> None:
        """a and b from G = `solve`; f and u at rows of weight zero, u = P V k(X, x0) + G h / h'G h.

        An intercept whose scale is not above `least` has no part in P.
        """
        problem, new, self.K = system.problem, system.new, system.K
        t, root = problem.Y.shape[1], problem.root
        y = root[:, None] * problem.Y[problem.used_rows]
        self.root, self.b, self.b_terms, g = root, np.zeros(t), np.zeros(t), np.zeros(len(root))
        if problem.intercept:
            left = solve(root[:, None])
            if abs(scale := float(root @ left[:, 0])) > least:
                self.border, g = Border(left, scale, outside=False), left[:, 0] / scale
                self.b, self.b_terms = g @ y, np.abs(g) @ np.abs(y)
        # y less its intercept before it is solved for: G y less that of the intercept may be a small difference
        y = y - root[:, None] * self.b
        solved = solve(y if new is None else np.column_stack([y, new]))
        self.a = solved[:, :t]
        if new is not None:
            u = solved[:, t:]
            self.new_a = new.T @ self.a + self.b
            self.new_u = u if self.border is None else u + np.outer(g, 1.0 - self.border.left[:, 0] @ new)

    def without(self, rows: Array, E: Array) -> tuple[Array, Array]:
        """Dual coefficients, zero at S, and intercept of the model without S: a - P_.S E_S and b - g_S'E_S.

        Of the first targets, as many as E has columns.
        """
        t = E.shape[1]
        a, b = self.a[:, :t] - self.times(rows, E), self.b[:t]
        a[rows] = 0.0
        return a, b - self.intercept_shares()[rows] @ E

    def intercept_shares(self) -> Array:
        """g: the intercept is g'V Y."""
        return np.zeros(len(self.root)) if self.border is None else self.border.left[:, 0] / self.border.scale

    def rounding(self) -> Array:
        """diag P and of what was subtracted for it: P_ij is rounded in units of the root of two of these."""
        sizes = np.abs(self.diagonal())
        return sizes if self.border is None else sizes + self.border.unit[:, 0] ** 2

    def times(self, rows: Array, E: Array) -> Array:
        """P_.S E."""
        raise NotImplementedError

    def predictions(self, rows: Array, E: Array) -> Array:
        """(V K V)_S. times the coefficients without S, plus V times its intercept."""
        a, b = self.without(rows, E)
        return np.asarray(self.K[rows] @ a + self.root[rows, None] * b)

    def single_predictions(self, rows: Array, E: Array, base: Array | None = None) -> Array:
        """Predictions for many sets of one row each, beside `base`: P of the model without `base` serves all."""
        everything, t = np.arange(len(self.a)), E.shape[1]
        a, b, base = self.a[:, :t], self.b[:t], everything[:0] if base is None else base
        g = self.intercept_shares()
        reach = self.cross(base, everything)
        solved = solve_blocks(self.blocks(base[None])[0], np.column_stack([reach, a[base]]))
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
            found[np.r_[part][needed]] -= np.einsum("ij,ij->i", K, P)[:, None] * e[needed]
        return found


class Inverted(Dual):
    """P in full: n^3 flops for factor and inverse, then |S|^3 / 3 per set.

    Parameters
    ----------
    P : ndarray of shape (n, n)
        G, of which the upper triangle counts; taken over.
    mirrored : bool
        Whether sets will be scattered over the rows, so that both triangles are needed.

    Attributes
    ----------
    log_determinant : float
        log det (V K V + alpha I), where P was made from the matrix.
    """

    log_determinant: float = math.nan

    def __init__(self, P: Array, *, mirrored: bool) -> None:
        self.P, self.mirrored = P, mirrored

    def finish(self) -> None:
        """P from G, once the border is known."""
        if self.border is not None:
            add_outer(self.P, -1.0, self.border.unit[:, 0])
        if self.mirrored:
            mirror(self.P)

    @staticmethod
    def of_matrix(
        system: Gram, alpha: float, *, mirrored: bool = False, largest: float | None = None, overwrite: bool = False
    ) -> Inverted:
        """From V K V, which is left as it is unless it may be overwritten.

        Parameters
        ----------
        system : Gram
            The matrix and its regression.
        alpha : float
            Added to the diagonal.
        mirrored : bool, default=False
            Whether both triangles are needed.
        largest : float or None
            The largest eigenvalue of K, for the condition number; None leaves that at 1.
        overwrite : bool, default=False
            Whether P takes the place of K; predictions of the rows left out need K.

        Raises
        ------
        SingularError
            Where K + alpha I is not positive definite.
        """
        K = system.K
        n, P = len(K), K if overwrite else K.copy()
        P.flat[:: n + 1] += alpha
        exact, scale = exact_condition(P) if largest is not None and n <= FEW else None, equilibrium(P.diagonal())
        if not potrf(P):
            raise SingularError
        left = Inverted(P, mirrored=mirrored)
        left.log_determinant, solve = 2.0 * float(np.log(np.diagonal(P)).sum()), partial(solve_columns, P)
        left.set_solution(replace(system, K=K[:0]) if overwrite else system, solve)
        if largest is not None:
            if exact is None and system.certified and largest < _HARMLESS * alpha:
                exact = (largest + alpha) / alpha
            left.condition = exact or estimated_condition(lambda v: K @ v + alpha * v, solve, scale)
            # Without a penalty to speak of, what is left of K may be rounding error long before that.
            if left.condition > (1.0 / (20 * n * EPS) if alpha <= n * EPS * largest else SINGULAR):
                raise SingularError
        potri(P)
        left.finish()
        return left

    @staticmethod
    def of_factor(inverse: Cholesky, problem: Problem) -> Inverted:
        """From a fitted model's factor, which is left as it is."""
        n = inverse.n
        promise(8 * n * n, f"Leaving rows out of a model of {n} rows", "Use fewer rows.")
        left = Inverted(inverse.inverse(), mirrored=False)
        left.condition, left.multiple = inverse.condition(), inverse.alpha
        left.set_solution(Gram(problem), inverse.solve)
        left.finish()
        return left

    def diagonal(self) -> Array:
        """diag P."""
        return np.asarray(np.diagonal(self.P))

    def block(self, rows: Array) -> Array:
        """P_SS: a few runs of consecutive rows are copied from the upper triangle as they are, others are gathered."""
        edges = [0, *(np.flatnonzero(rows[1:] - rows[:-1] != 1) + 1).tolist(), len(rows)]
        if len(edges) > _RUNS + 1 or not len(rows):
            return np.asarray(self.P[np.ix_(rows, rows)]) if self.mirrored else self.cross(rows, rows)
        result, places = np.empty((len(rows), len(rows))), list(itertools.pairwise(edges))
        for i, (top, bottom) in enumerate(places):
            first = slice(rows[top], rows[top] + bottom - top)
            for left, right in places[i:]:
                result[top:bottom, left:right] = self.P[first, rows[left] : rows[left] + right - left]
        return result

    def cross(self, rows: Array, columns: Array) -> Array:
        """P at these rows and columns, gathered from the upper triangle."""
        rows, columns = rows[..., None], columns[..., None, :]
        return np.asarray(self.P[np.minimum(rows, columns), np.maximum(rows, columns)])

    def times(self, rows: Array, E: Array) -> Array:
        """P_.S E, by blocks of rows where one triangle is all there is."""
        if self.mirrored:
            return np.asarray(self.P[:, rows] @ E)
        return np.concatenate([self.cross(np.r_[part], rows) @ E for part in blocks(len(self.P))])


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
    system, alpha
        As for `Inverted.of_matrix`.
    whole : bool, default=False
        Whether all of P is formed at once, for sets that together cover more than the matrix.
    """

    def __init__(self, d: Array, U: Array, U2: Array, system: Gram, alpha: float, *, whole: bool = False) -> None:
        n = len(d)
        shifted = d + alpha
        sizes = np.abs(shifted)
        largest, smallest = float(sizes.max(initial=0.0)), float(sizes.min(initial=math.inf))
        self.degenerate = not smallest > n * EPS * largest
        self.multiple = 1.0 if self.degenerate else alpha
        self.w = (sizes <= n * EPS * largest).astype(float) if self.degenerate else 1.0 / shifted
        self.U, self.U2, self.reach = U, U2, 1.0 if self.degenerate else 1.0 / smallest
        if system.new is not None and self.degenerate:
            raise SingularError
        least = 1e-12 * float(system.problem.root @ system.problem.root) * self.degenerate
        self.set_solution(system, lambda B: U @ (self.w[:, None] * (U.T @ B)), least)
        self.largest = float(np.abs(d).max(initial=0.0))
        self.condition = math.inf if self.degenerate else largest / smallest
        self.P: Array | None = None
        if whole:
            half = U * np.sqrt(np.abs(self.w))  # one table times itself takes half as long
            self.P = half @ half.T if self.w.min() >= 0 else (U * self.w) @ U.T
            if self.border is not None:
                self.P -= self.border.unit @ self.border.signed_unit.T

    def diagonal(self) -> Array:
        """diag P, from the squares of U."""
        return self._pivots

    @cached_property
    def _pivots(self) -> Array:
        result = np.asarray(self.U2 @ self.w)
        return result if self.border is None else result - (self.border.unit * self.border.signed_unit)[:, 0]

    def cross(self, rows: Array, columns: Array) -> Array:
        """U_S W U_C', less the intercept's part."""
        if self.P is not None:
            return np.asarray(self.P[rows[..., None], columns[..., None, :]])
        if rows.ndim > 1:
            return np.stack([self.cross(*both) for both in zip(rows, columns, strict=True)])
        result = (self.U[rows] * self.w) @ self.U[columns].T
        if self.border is not None:
            result -= self.border.unit[rows] @ self.border.signed_unit[columns].T
        return np.asarray(result)

    def times(self, rows: Array, E: Array) -> Array:
        """U (W (U_S'E)), less the intercept's part."""
        result = self.U @ (self.w[:, None] * (self.U[rows].T @ E))
        if self.border is not None:
            result -= self.border.unit @ (self.border.signed_unit[rows].T @ E)
        return np.asarray(result)

    def _divisible(self, P: Array) -> Array:
        if not self.degenerate:
            return np.ones(len(P), dtype=bool)
        return np.asarray(np.linalg.eigvalsh(np.triu(P) + np.triu(P, 1).swapaxes(1, 2))[:, 0] > _DEGENERATE)
