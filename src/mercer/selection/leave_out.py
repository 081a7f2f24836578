"""Leave any set of rows out, exactly: E_S = P_SS^-1 a_S.

P is the matrix of docs/derivations (6), a = P V Y, all in weighted coordinates; any multiple of P gives
the same residuals E. Each kind of `LeaveOut` knows P for one kernel and one alpha in its own way: all of it
(`Inverted`), through the spectrum (`Spectral`), or through explicit features (`Explicit`).

A held-out prediction is y - E. Where it is far smaller than y that difference has no digits left, and the prediction
is computed by itself: `predictions` and `single_predictions` use the model without S, not y_S.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer.data.rows import Array
from mercer.selection.problem import Runs, as_runs
from mercer.solvers.lapack import potrf, potrs

# Sets up to this size are gathered and solved many at a time.
_SMALL = 48
_BATCH_BYTES = 32_000_000


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
    condition: float = 1.0
    degenerate: bool = False
    new_a: Array | None = None
    new_u: Array | None = None

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
        """Put the Cholesky factor in place of P_SS; whether P_SS is not singular."""
        return potrf(block)

    def _trusted(self, pivots: Array) -> Array:
        """Which pivots have digits enough to be divided by."""
        return pivots > 0

    def single_residuals(self) -> tuple[Array, Array]:
        """a_i / P_ii of every row, and whether P_ii is not zero."""
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
            e = solve_blocks(P, self.a[table[part]])
            for place, i in enumerate(members[part]):
                found[i] = e[place] if good[place] else None

    def _one(self, rows: Array, runs: Runs) -> Array | None:
        P = np.ascontiguousarray(self.block(rows, runs))
        e = np.ascontiguousarray(self.a[rows].T)
        if (self.degenerate and not self._divisible(P[None])[0]) or not potrf(P):
            return None
        potrs(P, e)
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


def solved_with(factor: Array, v: Array) -> Array:
    """The system's inverse times columns, from its Cholesky factor."""
    right = np.array(v.T, order="C")  # a copy, which is overwritten
    potrs(factor, right)
    return right.T
