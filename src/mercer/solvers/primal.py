"""The primal system, D unknowns: ridge regression on explicit features, D <= n.

With the unpenalized column projected out (centring features and targets is exact here), C = F'F + alpha I
for the centred, weighted features F. Badly conditioned systems are solved by the singular values of F,
which have only the square root of C's condition. `Explicit` leaves rows out of such a system.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy.linalg import svd, svdvals
from scipy.linalg.lapack import dpocon

from mercer.data.checks import sizes
from mercer.data.rows import Array, XLike
from mercer.errors import refuse_if
from mercer.kernels.tiles import blocks
from mercer.solvers.cholesky import Cholesky, NotPositiveDefinite, potrf, potrs
from mercer.solvers.dual import DualSolved, Solution
from mercer.solvers.leave_out import LeaveOut, SingularError
from mercer.solvers.plan import EPS, Route
from mercer.solvers.problem import Problem

# Past this condition the normal equations lose digits that the singular values still have.
_NORMAL_EQUATIONS = 1e7
_MODERATE = 256_000_000  # bytes
_BLOCK = 1_000_000  # numbers of a sparse table made dense at a time
_LARGEST = 1e150
# A pivot of I - Z Z' is a difference from one: below this, too few of its digits are left.
_CANCELLED = 1e-6
_TOGETHER = 64  # rows of a block in which each is left out by itself


class PrimalSystem:
    """Weighted, centred features, ready to be solved for any alpha.

    Parameters
    ----------
    features : ndarray or sparse matrix of shape (n, D)
        phi of every training row.
    weights : ndarray of shape (n,) or None
        Positive sample weights.
    intercept : bool
        Whether the model has an unpenalized constant.
    reason : str
        Why the primal was chosen, for the record.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers import PrimalSystem
    >>> line, y = np.array([[0.0], [1.0], [2.0]]), np.array([[1.0], [3.0], [5.0]])
    >>> fit = PrimalSystem(line, None, intercept=True).at(0.0).solve(y)
    >>> fit.primal.round(6).tolist(), fit.intercept.round(6).tolist()
    ([[2.0]], [1.0])
    """

    def __init__(
        self, features: XLike, weights: Array | None, *, intercept: bool = False, reason: str = "primal"
    ) -> None:
        self.n, self.count = features.shape
        self.intercept, self.reason = intercept, reason
        self.root = np.ones(self.n) if weights is None else np.sqrt(weights)
        self.total = float(self.root @ self.root)
        dense = isinstance(features, np.ndarray)
        # Centring a sparse table by formula cancels digits; one of moderate size is centred in full.
        if not dense and intercept and 8 * self.n * self.count <= _MODERATE:
            features, dense = features.toarray(), True
        self.features, self.sparse = features, not dense
        with np.errstate(over="ignore", invalid="ignore"):  # features that large are refused when they are weighted
            self.mean, self.constant = self._mean(), self._constant()

    def _mean(self) -> Array:
        if not self.intercept:
            return np.zeros(self.count)
        w = self.root**2
        mean = np.asarray(self.features.T @ w).ravel() / self.total
        rest = sum(w[rows] @ (self.dense(rows) - mean) for rows in self._cuts())  # what rounding left
        return np.asarray(mean + rest / self.total)

    def _cuts(self) -> list[slice]:
        """All rows, in parts that a sparse table can be made dense by."""
        return blocks(self.n, max(1, _BLOCK // max(self.count, 1))) if self.sparse else [slice(None)]

    def dense(self, rows: slice | Array = slice(None)) -> Array:
        """Features of these rows as a dense array."""
        features = self.features[rows]
        return np.asarray(features.toarray() if self.sparse else features)

    def _constant(self) -> Array:
        """Which columns never change: an intercept takes them up, and rounding must not be taken for a feature."""
        if not self.intercept or not self.n:
            return np.zeros(self.count, dtype=bool)
        highest, lowest = self.features.max(axis=0), self.features.min(axis=0)
        if self.sparse:
            highest, lowest = highest.toarray().ravel(), lowest.toarray().ravel()
        return np.asarray(highest == lowest)

    def subtract_mean(self, rows: slice | Array = slice(None)) -> Array:
        """Features of these rows less their mean, in a new array; constant columns are 0."""
        F = np.asarray(self.dense(rows) - self.mean)
        F[:, self.constant] = 0.0
        return F

    def weighted_features(self) -> Array:
        """F: features less their mean, times the square roots of the weights."""
        with np.errstate(over="ignore", invalid="ignore"):
            F = self.subtract_mean()
            if self.intercept:  # far from the origin the mean itself is rounded; what is left of it is taken off here
                F -= (self.root**2 @ F) / self.total
        largest = np.maximum(F.max(axis=0, initial=0.0), -F.min(axis=0, initial=0.0))
        must_be, got = "smaller than 1e150, so that their squares are finite", f"{largest.max(initial=0.0):.3g}"
        refuse_if(not (largest < _LARGEST).all(), "Features", must_be, got, "Scale the columns of X.")
        F *= self.root[:, None]
        return np.asarray(F)

    @cached_property
    def normal(self) -> Array:
        """F'F."""
        total: XLike = sum(F.T @ F for _, F in self.blocks())
        return np.ascontiguousarray(total if isinstance(total, np.ndarray) else total.toarray())

    def blocks(self) -> Iterator[tuple[slice, XLike]]:
        """F in parts: sparse if nothing is subtracted, a few thousand rows of a sparse table otherwise."""
        if self.sparse and not self.intercept:
            yield slice(None), self._sparse_features
            return
        for rows in self._cuts():
            yield rows, self.weighted_rows(rows) if self.sparse else self.weighted_features()

    @cached_property
    def _sparse_features(self) -> XLike:
        """F of a sparse table from which nothing is subtracted."""
        return self.features.multiply(self.root[:, None]).tocsr()

    def weighted_rows(self, rows: slice | Array) -> Array:
        """These rows of F, of a sparse table."""
        return self.subtract_mean(rows) * self.root[rows, None]

    @cached_property
    def singular(self) -> tuple[Array, Array, Array]:
        """U, s, V' of F."""
        U, s, Vt = svd(self.weighted_features(), full_matrices=False, overwrite_a=True, check_finite=False)
        s[s <= EPS * max(self.n, self.count) * s.max(initial=0.0)] = 0.0  # rounding error
        return U, s, Vt

    def at(self, alpha: float, solver: str = "primal") -> PrimalSolved:
        """The system with penalty alpha."""
        return PrimalSolved(self, alpha)

    def solve(self, Y: Array, alpha: float, solver: str = "primal") -> Solution:
        """Weights, intercept and dual coefficients for targets Y (n x t)."""
        return self.at(alpha).solve(Y)


class PrimalSolved:
    """C = F'F + alpha I factored: by Cholesky where it is well conditioned, by singular values otherwise."""

    def __init__(self, system: PrimalSystem, alpha: float) -> None:
        self.system, self.alpha, self.root = system, alpha, system.root
        self.cholesky: Cholesky | None = None
        if alpha > 0:
            with suppress(NotPositiveDefinite):
                factor = Cholesky(system.normal.copy(), alpha, system.reason)
                self.cholesky = None if factor.condition() > _NORMAL_EQUATIONS else factor
        s = system.singular[1] if self.cholesky is None else np.empty(0)
        self.kept = s * s + alpha > 0
        self.inverse = np.divide(1.0, s * s + alpha, out=np.zeros_like(s), where=self.kept)

    def solve(self, Y: Array) -> Solution:
        """Weights, intercept and the dual coefficients that belong to them."""
        system = self.system
        root = system.root[:, None]
        centre = self._centre(Y)
        y = Y - centre
        rest = self._centre(y)  # what rounding left of the mean
        y = root * (y - rest)
        if self.cholesky is not None:
            w = self.cholesky.solve(np.asarray(sum(F.T @ y[rows] for rows, F in system.blocks())))
            dual = (y - self._fitted_values(w)) / self.alpha
        else:
            U, s, Vt = system.singular
            along = U.T @ y
            w = Vt.T @ ((s * self.inverse)[:, None] * along)
            dual = U @ (self.inverse[:, None] * along)
            if self.alpha > 0:
                dual += (y - U @ along) / self.alpha
        b = centre + (rest - system.mean @ w)
        return Solution(root * dual, b, w, replace(self.route(), cancelled=self._cancellation(Y, y, w, dual)))

    def _centre(self, Y: Array) -> Array:
        """What the intercept takes up: the weighted mean of each target."""
        system = self.system
        return (system.root**2 @ Y) / system.total if system.intercept else np.zeros(Y.shape[1])

    def _fitted_values(self, w: Array) -> Array:
        """F w."""
        return np.concatenate([F @ w for _, F in self.system.blocks()])

    def _cancellation(self, Y: Array, y: Array, w: Array, dual: Array) -> float:
        """What is lost in (y - F w) / alpha, and where features far from zero meet their intercept."""
        unit = max(float(np.abs(Y).max(initial=0.0)), 1e-300)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            rest, fit = np.linalg.norm(self.alpha * (dual / unit), axis=0), np.linalg.norm(y / unit, axis=0)
            offset = np.abs(self.system.mean) @ np.abs(w / unit) * math.sqrt(self.system.n)
            if self.cholesky is not None:  # F'y and F'F are rounded before they are divided
                fit = fit * max(1.0, math.sqrt(self.cholesky.condition()) / 4)
            else:  # directions of small singular values are turned a little, and those beside them with these
                s = self.system.singular[1]
                fit = fit * max(1.0, float((s.max(initial=0.0) * s * self.inverse).max(initial=0.0)) / 4)
            lost = [(fit + offset) / rest if self.alpha > 0 else 0.0 * fit, offset / np.linalg.norm(Y / unit, axis=0)]
        return float(np.nan_to_num(lost, nan=1.0, posinf=math.inf).max(initial=1.0))

    def span(self, rows: Array | slice | None = None) -> Array:
        """Z with F C^-1 F' = Z Z'; of a sparse table that was solved by Cholesky, these rows of it."""
        if self.cholesky is None:
            U, s, _ = self.system.singular
            return np.asarray(U * (s * np.sqrt(self.inverse)))
        F = self.system.weighted_features() if rows is None else self.system.weighted_rows(rows)
        return self.cholesky.whiten(F.T).T

    def route(self) -> Route:
        """How it was solved."""
        system = self.system
        if self.cholesky is not None:
            condition = max(1.0, self.cholesky.condition())
            return Route("primal", f"{system.reason}; normal equations", condition, system.count, system.count)
        _, s, _ = system.singular
        rank = int(self.kept.sum())
        squared = s * s + self.alpha
        # constant columns are exactly 0; what else is 0 was lost to rounding, and alpha stands in its place
        counted = squared[: len(s) - int(system.constant.sum())]
        lowest = float(counted[counted > 0].min(initial=math.inf))
        condition = math.sqrt(float(squared.max(initial=0.0)) / lowest) if s.any() else 1.0
        # At alpha = 0 weights are unique if rows are as many; an intercept takes constant features up.
        short = self.alpha == 0 and rank + system.intercept < system.n
        size = system.count - int(system.constant.sum()) if short else rank
        return Route("primal", f"{system.reason}; singular values", condition, rank, size)

    def log_determinant(self) -> float:
        """log det (K + alpha W^-1), of the n x n matrix without centring of features; -inf if it is singular."""
        system = self.system
        if self.alpha == 0:
            s = svdvals(system.dense()) if system.count >= system.n else np.zeros(1)  # of the features as they are
            return float(2.0 * np.log(s).sum()) if s[-1] > EPS * system.count * s[0] else -math.inf
        outside = (system.n - system.count) * math.log(self.alpha) - 2.0 * float(np.log(system.root).sum())
        m = system.mean[:, None]
        if self.cholesky is not None:
            inner, shift = self.cholesky.log_determinant(), float(np.vdot(m, self.cholesky.solve(m)))
        else:
            _, s, Vt = system.singular
            inner = float(np.log(s * s + self.alpha).sum()) + (system.count - len(s)) * math.log(self.alpha)
            along = Vt @ system.mean
            shift = float(np.vdot(self.inverse, along**2))
            shift += max(0.0, float(system.mean @ system.mean - along @ along)) / self.alpha
        return float(outside + inner + math.log1p(system.total * shift))

    def degrees_of_freedom(self) -> float:
        """tr F'F C^-1, plus one for the intercept."""
        system = self.system
        if self.cholesky is not None:
            return float(system.count - self.alpha * float(self.cholesky.diagonal().sum()) + system.intercept)
        s = system.singular[1]
        return float((s * s * self.inverse).sum()) + system.intercept

    def shares(self, new: Array) -> Array:
        """F C^-1 phi0 for centred phi0, and h / h'h for the intercept."""
        system = self.system
        phi = new - system.mean[:, None]
        if self.cholesky is None:
            U, s, Vt = system.singular
            u = U @ ((s * self.inverse)[:, None] * (Vt @ phi))
        else:
            u = self._fitted_values(self.cholesky.solve(phi))
        if system.intercept:
            u = u + system.root[:, None] / system.total
        return np.asarray(u)

    def variance(self, diagonal: Array, new: Array) -> Array:
        """alpha phi'C^-1 phi for centred phi, plus alpha / sum of weights for the intercept."""
        system = self.system
        phi = new - system.mean[:, None]
        if self.cholesky is not None:
            result = self.alpha * np.einsum("ij,ij->j", phi, self.cholesky.solve(phi))
        else:
            _, _, Vt = system.singular
            along = Vt @ phi
            weights = np.where(self.kept, self.alpha * self.inverse, 1.0)
            result = weights @ along**2
            if len(Vt) < system.count:  # features may point where no training row does
                result += np.maximum(np.einsum("ij,ij->j", phi, phi) - np.einsum("ij,ij->j", along, along), 0.0)
        if system.intercept:
            result = result + self.alpha / system.total
        return np.asarray(np.maximum(result, 0.0))


# A system with its alpha in place.
Penalized: TypeAlias = DualSolved | PrimalSolved


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
        if self.Z is not None:
            self.a = np.asarray(self.y - self.Z @ (self.Z.T @ self.y))
        else:
            found = solved.solve(problem.Y)
            self.a = self.root[:, None] * (problem.Y - (self.system.features @ found.primal + found.intercept))
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

    def _rows(self, rows: Array | slice) -> Array:
        """Z_S."""
        return self._with_constant(self.solved.span(rows), rows) if self.Z is None else np.asarray(self.Z[rows])

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
