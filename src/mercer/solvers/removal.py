"""Leave rows out of a system that is factored: what is needed from it, in the dual and in the primal.

Letters as in docs/derivations, all in weighted coordinates: E_S = Q_SS^-1 (Q V Y)_S are the errors at the rows
of S of the model fitted without them, and f_-S(x0) = f(x0) - u_S(x0)'E_S. Q is P or any multiple of it; where
the system is singular it is the limit of alpha P = I - smoother.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from mercer.backends import promise
from mercer.data.rows import Array
from mercer.errors import MercerError
from mercer.kernels.tiles import TILE, blocks
from mercer.solvers.primal import PrimalSolved, PrimalSystem
from mercer.solvers.solution import DualSolved, Penalised
from mercer.solvers.spectral import SpectralInverse

# Blocks of I - smoother with an eigenvalue below this are not to be divided by.
_DEGENERATE = 1e-7


class Removal(Protocol):
    """Q and u of one system with its alpha in place.

    Attributes
    ----------
    root : ndarray of shape (n,)
        V, the square roots of the weights.
    degenerate : bool
        Whether some blocks of Q may be singular, so that they must not be divided by.
    intercept : bool
        Whether Q removes constants from Y.
    """

    root: Array
    degenerate: bool
    intercept: bool

    def residuals(self, Y: Array) -> Array:
        """Q V Y."""

    def pivots(self) -> Array:
        """diag Q."""

    def divided(self, sets: Sequence[Array], residuals: Array) -> Iterator[Array | None]:
        """Q_SS^-1 times the residuals at S, for one set after the other; None where Q_SS is singular."""

    def shares(self, new: Array) -> Array:
        """u(x0), the shares of the weighted targets in f(x0): k(X, x0) or phi(x0) as columns."""


def removal_of(solved: Penalised) -> Removal:
    """What leaves rows out of this system.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers import DualSystem
    >>> from mercer.solvers.removal import held_out_errors, removal_of
    >>> K, y = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[1.0], [0.0]])
    >>> left = removal_of(DualSystem(K, None).at(1.0, "cholesky"))
    >>> errors, good = held_out_errors(left, y, [np.array([0]), np.array([1])])
    >>> errors.round(4).tolist(), good.tolist()  # the first row alone predicts 1 / (2 + 1) at the second
    ([[1.0], [-0.3333]], [True, True])
    """
    if isinstance(solved, DualSolved):
        return DualRemoval(solved)
    if isinstance(solved, PrimalSolved):
        return SpannedRemoval(solved) if solved.cholesky is None else PrimalRemoval(solved)
    raise MercerError(f"Rows cannot be left out of {type(solved).__name__}.")


def held_out_errors(removal: Removal, Y: Array, sets: Sequence[Array]) -> tuple[Array, Array]:
    """Errors of the model without S at the rows of S, for sets that are a partition.

    Parameters
    ----------
    removal : Removal
        The factored system.
    Y : ndarray of shape (n, t)
        Targets.
    sets : sequence of ndarray of int
        Each row in one of them.

    Returns
    -------
    E : ndarray of shape (n, t)
        In weighted coordinates: divide by V for those of y. Zero where they cannot be had.
    good : ndarray of bool, one per set
        Whether they can: False where no row is left, or leaving S out changes the rank of a singular system.
    """
    # constants, which an intercept takes up, would only cost digits
    residuals = removal.residuals(Y - Y.mean(axis=0) if removal.intercept else Y)
    n = len(residuals)
    if n > 1 and all(len(rows) == 1 for rows in sets):
        order = np.concatenate(sets)
        pivots = removal.pivots()
        good = pivots > _DEGENERATE if removal.degenerate else pivots != 0
        divided = np.divide(residuals, pivots[:, None], out=np.zeros_like(residuals), where=good[:, None])
        return divided, good[order]
    E, good = np.zeros_like(residuals), np.zeros(len(sets), dtype=bool)
    if len(sets) == 1:  # of which no row is left
        return E, good
    for i, found in enumerate(removal.divided(sets, residuals)):
        if found is not None:
            E[sets[i]], good[i] = found, True
    return E, good


def _solved(Q: Array, right: Array) -> Array | None:
    """Q^-1 right, for a Q between 0 and 1; None where it must not be divided by."""
    return np.linalg.solve(Q, right) if np.linalg.eigvalsh(Q)[0] > _DEGENERATE else None


def _spanned(Z: Array, right: Array) -> Array | None:
    """(I - Z Z')^-1 right; by Woodbury, I + Z (I - Z'Z)^-1 Z', where that is the smaller system."""
    if len(Z) <= Z.shape[1]:
        return _solved(np.eye(len(Z)) - Z @ Z.T, right)
    inner = _solved(np.eye(Z.shape[1]) - Z.T @ Z, Z.T @ right)
    return None if inner is None else np.asarray(right + Z @ inner)


class DualRemoval:
    """Q = P from the factor of A; from the null space of A where that is singular.

    Parameters
    ----------
    solved : DualSolved
        The factored system.
    """

    def __init__(self, solved: DualSolved) -> None:
        self.solved, self.root, self.intercept = solved, solved.root, solved.border is not None
        inverse = solved.inverse
        self.null: Array | None = None
        if isinstance(inverse, SpectralInverse) and not inverse.kept.all():
            self.null = inverse.spectrum.vectors[:, ~inverse.kept]
        self.degenerate = self.null is not None
        border = solved.border
        # A border whose column lies in the range of a singular A has no part in its null space.
        self.border = None if border is None or (self.degenerate and not border.outside) else border

    def _apply(self, B: Array) -> Array:
        return self.solved.inverse.solve(B) if self.null is None else self.null @ (self.null.T @ B)

    def residuals(self, Y: Array) -> Array:
        """P V Y, or its null part."""
        y = self.root[:, None] * Y
        result = self._apply(y)
        if self.border is not None:
            result = result - self.border.unit @ (self.border.signed.T @ y)
        return np.asarray(result)

    def pivots(self) -> Array:
        """diag Q."""
        n = self.solved.inverse.n
        if self.null is None:
            promise(8 * n * n, f"Leaving each of {n} rows out", "Use method='cv+' with few folds, or fewer rows.")
            result = self.solved.inverse.diagonal()
        else:
            result = np.einsum("ij,ij->i", self.null, self.null)
        if self.border is not None:
            result = result - (self.border.unit * self.border.signed)[:, 0]
        return np.asarray(result)

    def divided(self, sets: Sequence[Array], residuals: Array) -> Iterator[Array | None]:
        """Blocks are read from columns of Q: those of a set, or of several small ones at a time."""
        for batch in _batches(sets):
            Q = self._block(np.concatenate(batch))
            start = 0
            for rows in batch:
                own = slice(start, start + len(rows))
                one, right = Q[own, own], residuals[rows]
                yield _solved((one + one.T) / 2, right) if self.degenerate else np.linalg.solve(one, right)
                start = own.stop

    def _block(self, rows: Array) -> Array:
        """Q at these rows and columns."""
        Q = np.empty((len(rows), len(rows)))
        for part in blocks(len(rows)):
            unit = np.zeros((self.solved.inverse.n, part.stop - part.start))
            unit[rows[part], np.arange(unit.shape[1])] = 1.0
            Q[:, part] = self._apply(unit)[rows]
        if self.border is not None:
            Q -= self.border.unit[rows] @ self.border.signed[rows].T
        return Q

    def shares(self, new: Array) -> Array:
        """G V k0 + left (1 - h'G V k0) / scale."""
        u = self.solved.inverse.solve(self.root[:, None] * new)
        border = self.solved.border
        if border is not None:
            u += border.left * ((1.0 - self.root @ u) / border.scale)
        return u


def _batches(sets: Sequence[Array]) -> Iterator[list[Array]]:
    """Sets of together at most a tile's rows; a larger one alone."""
    batch: list[Array] = []
    for rows in sets:
        if batch and sum(map(len, batch)) + len(rows) > TILE:
            yield batch
            batch = []
        batch.append(rows)
    if batch:
        yield batch


class PrimalRemoval:
    """Q = alpha P = I - F C^-1 F' - h h' / h'h, from the factor of C.

    Parameters
    ----------
    solved : PrimalSolved
        The factored system.
    """

    degenerate = True  # a row that alone has its feature hardly leaves a trace of alpha in one less its leverage

    def __init__(self, solved: PrimalSolved) -> None:
        self.solved, self.system, self.root = solved, solved.system, solved.system.root
        self.intercept = self.system.intercept
        self.F: Array | None = None if self.system.sparse else self.system.weighted()
        self.L = np.linalg.cholesky(self.system.normal() + solved.alpha * np.eye(self.system.count))

    def _whitened(self, phi: Array) -> Array:
        """L^-1 phi, so that F C^-1 F' = Z Z' for the whitened rows Z of F."""
        from scipy.linalg import solve_triangular

        return np.asarray(solve_triangular(self.L, phi, lower=True, check_finite=False))

    def _parts(self) -> Iterator[tuple[slice, Array]]:
        """F; that of a sparse table a few thousand rows at a time."""
        return iter([(slice(0, self.system.n), self.F)]) if self.F is not None else self.system.blocks()

    def _rows(self, rows: Array) -> Array:
        if self.F is not None:
            return np.asarray(self.F[rows])
        return self.system.centred(self.system.features[rows].toarray()) * self.root[rows, None]

    def residuals(self, Y: Array) -> Array:
        """V (Y - f(X))."""
        solution = self.solved.solve(Y)
        fitted = np.asarray(self.system.features @ solution.primal) + solution.intercept
        return np.asarray(self.root[:, None] * (Y - fitted))

    def pivots(self) -> Array:
        """One less the leverages."""
        result = np.ones(self.system.n)
        for rows, F in self._parts():
            Z = self._whitened(F.T)
            result[rows] -= np.einsum("ij,ij->j", Z, Z)
        if self.system.intercept:
            result -= self.root**2 / self.system.total
        return result

    def divided(self, sets: Sequence[Array], residuals: Array) -> Iterator[Array | None]:
        """Q_SS = I - Z_S Z_S', h / ||h|| beside Z for the intercept."""
        for rows in sets:
            Z = self._whitened(self._rows(rows).T).T
            yield _spanned(_with_constant(Z, self.system, rows), residuals[rows])

    def shares(self, new: Array) -> Array:
        """F C^-1 phi0 for centred phi0, and h / h'h for the intercept."""
        from scipy.linalg import solve_triangular

        along = self._whitened(new - self.system.mean[:, None])
        along = solve_triangular(self.L, along, lower=True, trans=1, check_finite=False)
        u = np.empty((self.system.n, new.shape[1]))
        for rows, F in self._parts():
            u[rows] = F @ along
        if self.system.intercept:
            u += self.root[:, None] / self.system.total
        return u


def _with_constant(Z: Array, system: PrimalSystem, rows: Array) -> Array:
    """Z, with h / ||h|| beside it where there is an intercept."""
    return np.column_stack([Z, system.root[rows] / math.sqrt(system.total)]) if system.intercept else Z


class SpannedRemoval:
    """Q = U diag(weights) U' + complement, from the singular values of F.

    The complement projects on what neither features nor intercept reach. Where they reach everything it is
    zero, and at alpha = 0, where the model goes through every point, Q = P = U diag(1 / s^2) U'.

    Parameters
    ----------
    solved : PrimalSolved
        The system, solved by singular values.
    """

    def __init__(self, solved: PrimalSolved) -> None:
        self.solved, self.system, self.root = solved, solved.system, solved.system.root
        self.intercept = self.system.intercept
        U, s, Vt = self.system.singular()
        there = s > 0
        self.U, self.Vt = U[:, there], Vt[there]
        self.slope = (s * solved.inverse)[there]
        full = int(there.sum()) + self.system.intercept >= self.system.n
        self.degenerate = not full
        self.weights = solved.inverse[there] * (1.0 if full and solved.alpha == 0 else solved.alpha)

    def _outside(self, B: Array) -> Any:
        """What neither features nor intercept reach of B."""
        if not self.degenerate:
            return 0.0
        rest = B - self.U @ (self.U.T @ B)
        if self.system.intercept:
            rest -= self.root[:, None] * (self.root @ B / self.system.total)
        return rest

    def residuals(self, Y: Array) -> Array:
        """Q V Y."""
        y = self.root[:, None] * Y
        return np.asarray(self.U @ (self.weights[:, None] * (self.U.T @ y)) + self._outside(y))

    def pivots(self) -> Array:
        """diag Q."""
        squared = self.U**2
        result = squared @ self.weights
        if self.degenerate:
            result += 1.0 - squared.sum(axis=1)
            if self.system.intercept:
                result -= self.root**2 / self.system.total
        return np.asarray(result)

    def divided(self, sets: Sequence[Array], residuals: Array) -> Iterator[Array | None]:
        """Q_SS = I - Z_S Z_S' with Z = U (1 - weights)^1/2, or U_S diag(weights) U_S' where nothing is outside."""
        for rows in sets:
            U = self.U[rows]
            if self.degenerate:
                Z = U * np.sqrt(1.0 - self.weights)
                yield _spanned(_with_constant(Z, self.system, rows), residuals[rows])
            else:
                yield np.linalg.solve((U * self.weights) @ U.T, residuals[rows])

    def shares(self, new: Array) -> Array:
        """U diag(s / (s^2 + alpha)) V'phi0 for centred phi0, and h / h'h for the intercept."""
        u = self.U @ (self.slope[:, None] * (self.Vt @ (new - self.system.mean[:, None])))
        if self.system.intercept:
            u += self.root[:, None] / self.system.total
        return np.asarray(u)
