"""Leave any set of rows out, exactly: E_S = P_SS^-1 a_S.

P is the matrix of docs/derivations (4), a = P V Y, all in weighted coordinates; any multiple of P gives
the same residuals E. Each class below knows P for one kernel and one alpha in its own way: all of it
(`Inverted`), through the spectrum (`Spectral`), or through explicit features (`Explicit`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from mercer.data.rows import Array
from mercer.selection.problem import Problem
from mercer.solvers.cholesky import FEW, exact_condition, largest_eigenvalue, rich_start
from mercer.solvers.lapack import add_outer, potrf, potri, potrs
from mercer.solvers.route import EPS, SINGULAR

# Sets up to this size are gathered and solved many at a time.
_SMALL = 48
_BATCH_BYTES = 32_000_000
# Blocks of I - smoother with an eigenvalue below this are not to be divided by.
_DEGENERATE = 1e-7
# A pivot of I - Z Z' is a difference from one: below this, too few of its digits are left.
_CANCELLED = 1e-6
# A condition number bounded by this is not worth estimating.
_HARMLESS = 1e10


Runs: TypeAlias = tuple[slice, ...]


class SingularError(ArithmeticError):
    """A is not positive definite: another route must be taken."""


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
    new_a, new_u : ndarray or None
        For rows of weight zero: f(x0) of the full model, and u(x0), so that
        f_{-S}(x0) = f(x0) - u_S(x0)'E_S.
    """

    a: Array
    condition: float
    degenerate: bool = False
    new_a: Array | None = None
    new_u: Array | None = None

    def _at_new_rows(self, problem: Problem, solved: Array, right: Array, h: Array | None) -> None:
        """f and u at rows of weight zero: u = P V k(X, x0) + G h / h'G h."""
        t, skip = problem.Y.shape[1], problem.Y.shape[1] + problem.intercept
        k0, u = right[skip:], solved[skip:]
        f = k0 @ self.a
        if h is not None:
            scale = float(problem.root @ h)
            f = f + (h @ right[:t].T) / scale
            u = u + np.outer(1.0 - k0 @ h, h) / scale
        self.new_a, self.new_u = f, u.T

    def diagonal(self) -> Array:
        """diag P."""
        raise NotImplementedError

    def block(self, rows: Array, runs: Runs | None = None) -> Array:
        """P_SS, of which the upper triangle counts."""
        raise NotImplementedError

    def blocks(self, table: Array) -> Array:
        """P_SS of many small sets of one size, whole."""
        raise NotImplementedError

    def cross(self, rows: Array, columns: Array) -> Array:
        """P at these rows and columns."""
        raise NotImplementedError

    def residuals(self, sets: Sequence[Array], runs: Sequence[Runs] | None = None) -> list[Array | None]:
        """E_S in weighted coordinates for each set; None where P_SS cannot be divided by.

        `runs`: the sets as slices (`as_runs`), where the caller has them ready.
        """
        found: list[Array | None] = [None] * len(sets)
        sizes = np.array([len(rows) for rows in sets])
        for size in np.unique(sizes):
            members = np.flatnonzero(sizes == size)
            if size == 0:
                for member in members:
                    found[int(member)] = self.a[:0]
            elif size <= _SMALL and len(members) > 1:
                self._many(sets, members, found)
            else:
                for member in members:
                    i = int(member)
                    found[i] = self._one(sets[i], as_runs(sets[i]) if runs is None else runs[i])
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
        from scipy.linalg import solve_triangular

        W = solve_triangular(B, right, lower=False, trans=1, check_finite=False)
        z, W = W[:, len(rows) :], W[:, : len(rows)]
        pivots = self.diagonal()[rows] - np.einsum("ij,ij->j", W, W)
        good = self._trusted(pivots)
        return np.asarray((self.a[rows] - W.T @ z) / np.where(good, pivots, 1.0)[:, None]), good

    def _factor(self, block: Array) -> bool:
        """Put the Cholesky factor in place of P_SS; whether it may be divided by."""
        return potrf(block)

    def _trusted(self, pivots: Array) -> Array:
        """Which pivots have digits enough to be divided by."""
        return pivots > 0

    def single_residuals(self) -> tuple[Array, Array]:
        """a_i / P_ii of every row, and whether it may be divided by."""
        diagonal = self.diagonal()
        good = self._divisible(diagonal[:, None, None])
        return self.a / np.where(good, diagonal, 1.0)[:, None], good

    def _many(self, sets: Sequence[Array], members: Array, found: list[Array | None]) -> None:
        table = np.array([sets[i] for i in members])
        size = table.shape[1]
        if size == 1:
            e, good = self.single_residuals()
            for row, i in zip(table[:, 0], members, strict=True):
                found[i] = e[row : row + 1] if good[row] else None
            return
        step = max(1, _BATCH_BYTES // (8 * size * size))
        for start in range(0, len(members), step):
            part = slice(start, start + step)
            P = self.blocks(table[part])
            good = self._divisible(P)
            P[~good] = np.eye(size)
            e = np.linalg.solve(P, self.a[table[part]])
            for place, i in enumerate(members[part]):
                found[i] = e[place] if good[place] else None

    def _one(self, rows: Array, runs: Runs) -> Array | None:
        P = np.ascontiguousarray(self.block(rows, runs))
        e = np.ascontiguousarray(self.a[rows].T)
        if (self.degenerate and not self._divisible(P[None])[0]) or not potrf(P):
            return None
        potrs(P, e)
        return e.T

    def _divisible(self, P: Array) -> Array:
        """Whether each of these blocks may be divided by."""
        return np.ones(len(P), dtype=bool)


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
            self.condition = (largest + alpha) * largest_eigenvalue(lambda v: _solved(P, v), rich_start(n))
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
        self.condition = (largest + alpha) * largest_eigenvalue(lambda v: _solved(factor, v), start)

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


def _right_sides(problem: Problem, new: Array | None) -> Array:
    """V Y, h = V 1 and V k(X, x0) as rows."""
    used = problem.used
    parts = [(problem.root[:, None] * problem.Y[used]).T]
    if problem.intercept:
        parts.append(problem.root[None])
    if new is not None:
        parts.append(new.T)
    return np.ascontiguousarray(np.concatenate(parts))


def mirror(P: Array) -> None:
    """Copy the upper triangle to the lower one."""
    n = len(P)
    for start in range(0, n, 256):
        stop = min(start + 256, n)
        P[stop:, start:stop] = P[start:stop, stop:].T
        block = P[start:stop, start:stop]
        lower = np.tril_indices(stop - start, -1)
        block[lower] = block.T[lower]


def as_runs(rows: Array) -> Runs:
    """Ascending row numbers as slices of consecutive ones."""
    breaks = np.flatnonzero(np.diff(rows) != 1) + 1
    return tuple(slice(int(part[0]), int(part[-1]) + 1) for part in np.split(rows, breaks) if len(part))


def _solved(factor: Array, v: Array) -> Array:
    right = np.ascontiguousarray(v.T)
    potrs(factor, right)
    return right.T
