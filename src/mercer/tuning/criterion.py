"""What tuning minimizes, with gradients: the leave-one-out error, the evidence, and the error on held-out folds.

**Leave-one-out and evidence**, for `tune`. In weighted coordinates, with P of docs/derivations (6), a = P V Y,
p = diag P and E = a / p:

    L = sum_i c_i E_i^2,  c_i = 1 / w_i;     r = c E / p,  s = P r
    dL = sum (dA) o M,    M = 2 P diag(r E) P - s a' - a s'

since dP = -P (dA) P. One product of n^3 size serves every parameter. The evidence, at the best prior variance
s2 = y'P y / (n - 1) (n without intercept), needs no product at all: M = (P - a a' / s2) / 2. With intercept it is the
density of y integrated over all constants (restricted maximum likelihood).

**Held-out folds**, for committees. Fold S is predicted from the other rows T. With A = K_TT + alpha W_T^-1, the
unpenalized constant as a border, residuals e = y_S - K_ST a - b and v = W_S e,

    L = sum over folds of e'v;     [A 1; 1' 0] [q; c] = [K_TS v; 1'v]
    dL = 2 q'(dK_TT) a - 2 v'(dK_ST) a + 2 (d alpha) q'W_T^-1 a

so the weights of dK are a few outer products and one Cholesky factor for each fold is all that is needed: for three
folds 0.3 n^3 operations, where the leave-one-out error takes 2 n^3. Distances by column are kept for all pairs of rows;
columns that share a width are added up once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TypeAlias

import numpy as np

from mercer.data.rows import Array, Rows
from mercer.errors import MercerError
from mercer.kernels.algebra import Scaled, Sum
from mercer.kernels.base import Kernel, Slopes
from mercer.kernels.products import Linear
from mercer.kernels.stationary import Periodic, Stationary
from mercer.kernels.tiles import gradient, gram
from mercer.selection.candidate import weigh
from mercer.solvers.cholesky import add_outer_pair, potrf, potrs
from mercer.solvers.leave_out import Gram, Inverted, SingularError
from mercer.solvers.problem import Problem, take_rows

OBJECTIVES = ("loo", "evidence")
Bounds: TypeAlias = dict[str, tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Point:
    """A criterion at one kernel and alpha.

    Attributes
    ----------
    value : float
        Log of the mean squared leave-one-out error, or minus the log evidence per row and target; infinite where
        K + alpha I is not positive definite, minus infinity where no error (no variance) is left.
    slopes : dict
        Its derivatives by the logarithms of the kernel's parameters; empty where they were not asked for.
    by_alpha : float
        Its derivative by log alpha.
    """

    value: float
    slopes: Slopes = field(default_factory=dict)
    by_alpha: float = 0.0


_NOWHERE = Point(math.inf)


class Objective:
    """A criterion of some rows; `shift` is what the size of the targets adds to every value.

    Attributes
    ----------
    share : sequence of int or None
        Columns of one number share a width.
    bounds : dict or None
        Lowest and highest value by parameter name ("alpha" is one).
    """

    rows: Rows
    shift: float
    share: Sequence[int] | None = None
    bounds: Bounds | None = None

    def at(self, kernel: Kernel, alpha: float, *, slopes: bool = True) -> Point:
        """The criterion, and how it changes; infinite, without a warning, where a factor fails or numbers overflow."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            point = self._at(kernel, alpha, slopes=slopes)
        numbers = [point.value if point.value > -math.inf else 0.0, point.by_alpha]
        return point if np.isfinite([*numbers, *map(np.sum, point.slopes.values())]).all() else _NOWHERE

    def _at(self, kernel: Kernel, alpha: float, *, slopes: bool) -> Point:
        raise NotImplementedError


class Criterion(Objective):
    """What tuning minimizes.

    Parameters
    ----------
    rows : Rows
        All rows; every one has weight.
    problem : Problem
        Targets, weights, intercept.
    objective : {"loo", "evidence"}
        Which criterion.
    bounds : dict, default=None
        Lowest and highest value by parameter name.

    Attributes
    ----------
    shift : float
        What the size of the targets adds to every value.
    """

    def __init__(self, rows: Rows, problem: Problem, objective: str, bounds: Bounds | None = None) -> None:
        self.rows, self.problem, self.objective, self.bounds = rows, problem, objective, bounds
        # targets in units of their size: what that adds to the criterion must not count in rules for stopping
        unit = float(np.abs(problem.Y).max(initial=0.0)) or 1.0
        free = 1.0 - problem.intercept / max(len(problem.Y), 1)
        self.shift = math.log(unit) * (2.0 if objective == "loo" else free)
        self.scaled = replace(problem, Y=problem.Y / unit)
        self.right = np.ascontiguousarray((problem.root[:, None] * self.scaled.Y).T)

    def _at(self, kernel: Kernel, alpha: float, *, slopes: bool) -> Point:
        K = weigh(gram(kernel, self.rows), self.problem)
        if not np.isfinite(K).all():
            return _NOWHERE
        try:
            left = Inverted.of_matrix(Gram(self.scaled, K), alpha, mirrored=True, overwrite=True)
        except SingularError:
            return _NOWHERE
        a = np.ascontiguousarray(left.a.T)
        if self.objective == "loo":
            value, M = self._leave_one_out(left.P, a, slopes=slopes)
        else:
            border = 0.0 if left.border is None else float(np.log(left.border.scale))
            value, M = self._evidence(left.P, a, left.log_determinant + border, slopes=slopes)
        if M is None or not math.isfinite(value):
            return Point(value)
        by_alpha = alpha * float(np.trace(M))
        return Point(value, gradient(kernel, self.rows, weigh(M, self.problem)), by_alpha)

    def _leave_one_out(self, P: Array, a: Array, *, slopes: bool) -> tuple[float, Array | None]:
        p = np.diagonal(P).copy()
        if not (p > 0).all():
            return math.inf, None
        E = a / p
        scaled = E / self.problem.root**2
        total = float(np.vdot(scaled, E))
        value = math.log(total / E.size) + self.shift if total > 0 else -math.inf
        if not slopes or total == 0:
            return value, None
        r = scaled / p
        half = P * np.sqrt(2.0 / total * np.einsum("ti,ti->i", r, E))
        M = half @ half.T
        for s, a_t in zip(r @ P, a, strict=True):
            add_outer_pair(M, -1.0 / total, s, a_t)
        return value, M

    def _evidence(self, P: Array, a: Array, log_determinant: float, *, slopes: bool) -> tuple[float, Array | None]:
        t, n = self.right.shape
        free = n - self.problem.intercept
        variance = np.einsum("ti,ti->t", self.right, a) / max(free, 1)
        if not (variance > 0).all():
            return -math.inf, None
        log_determinant -= 2.0 * float(np.log(self.problem.root).sum())
        value = 0.5 * float(free * (1.0 + np.log(2.0 * np.pi * variance)).sum() + t * log_determinant) / (n * t)
        if not slopes:
            return value + self.shift, None
        M = t * P
        M -= (a.T / variance) @ a
        M *= 0.5 / (n * t)
        return value + self.shift, M


_BYTES = 4e8  # what the distances of one kind may take
_CHUNK = 1 << 15  # pairs that are worked on at a time: they stay in the cache


def most_rows(share: Sequence[int]) -> int:
    """How many rows the distances of this many groups of columns may be kept for."""
    return max(100, int(math.sqrt(_BYTES / (4 * max(len(set(share)), 1)))))


class Distances:
    """Differences of all pairs of rows i < j, by group of columns: absolute ones, or their squares.

    Parameters
    ----------
    Z : ndarray of shape (n, d)
        Rows.
    share : sequence of int
        Columns of one number share a width.
    squared : bool
        Squares, for kernels of the Euclidean distance.
    """

    def __init__(self, Z: Array, share: Sequence[int], *, squared: bool) -> None:
        from scipy.spatial.distance import cdist, pdist, squareform

        n = len(Z)
        self.first, self.group = np.unique(np.asarray(share), return_index=True, return_inverse=True)[1:]
        self.starts = np.concatenate([[0], np.cumsum(np.arange(n - 1, -1, -1))])  # pairs of row i begin at starts[i]
        kind = "sqeuclidean" if squared else "cityblock"
        self.values = np.empty((len(self.first), self.starts[-1]))
        for group, values in enumerate(self.values):
            columns = Z[:, self.group == group]
            if columns.shape[1] == 1:
                values[:] = pdist(columns, kind)
                continue
            # of the distinct rows: a category has few, however many its columns
            distinct, codes = np.unique(columns, axis=0, return_inverse=True)
            values[:] = squareform(cdist(distinct, distinct, kind)[np.ix_(codes.ravel(), codes.ravel())], checks=False)
        self.total = self.values.sum(axis=0)[None] if len(self.first) > 1 else self.values
        # rows cut so that each part has about _CHUNK pairs
        ends = np.searchsorted(self.starts, np.arange(_CHUNK, self.starts[-1] + _CHUNK, _CHUNK))
        cuts = np.unique(np.concatenate([[0], np.minimum(ends, n)]))
        self.parts = list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))


class HeldOutCriterion(Objective):
    """Log of the mean squared error over held-out folds; a criterion for `descend`.

    Parameters
    ----------
    rows : Rows
        Rows of numbers.
    problem : Problem
        Targets and weights; every row has weight, and there is an intercept.
    folds : ndarray of int, shape (n,)
        The fold that holds out each row.
    share : sequence of int, default=None
        Columns of one number share a width.

    Attributes
    ----------
    baseline : float
        Log of the variance of the targets, on the scale of the criterion.
    """

    def __init__(self, rows: Rows, problem: Problem, folds: Array, share: Sequence[int] | None = None) -> None:
        order = np.argsort(folds, kind="stable")
        self.rows, self.problem = take_rows(rows, problem, order)
        ends = np.flatnonzero(np.diff(folds[order])) + 1
        self.folds = list(zip([0, *ends.tolist()], [*ends.tolist(), len(order)], strict=True))
        self.unit = float(np.abs(self.problem.Y).max(initial=0.0)) or 1.0
        self.shift = 2.0 * math.log(self.unit)
        self.Y = np.ascontiguousarray(self.problem.Y.T / self.unit)  # t x n
        self.w = self.problem.root**2
        mean = self.Y @ self.w / self.w.sum()
        spread = float(np.mean((self.Y - mean[:, None]) ** 2 @ self.w) / len(self.w))
        self.baseline = (math.log(spread) if spread > 0 else -math.inf) + self.shift
        self.share: Sequence[int] = list(range(rows.width)) if share is None else list(share)
        self.known: dict[bool, Distances] = {}

    def _pairs(self, kernel: Stationary) -> tuple[Distances, Array, Array]:
        """Distances, those that the widths are of, and what they are multiplied by: one number, or one per group."""
        squared, width = kernel.power == 2, np.asarray(kernel.width, dtype=np.float64)
        if squared not in self.known:
            self.known[squared] = Distances(self.rows.dense(), self.share, squared=squared)
        held = self.known[squared]
        pairs, width = (held.total, width.reshape(1)) if width.ndim == 0 else (held.values, width[held.first])
        return held, pairs, np.asarray(width ** -float(kernel.power))

    def best_alpha(self, kernel: Kernel, alphas: Sequence[float]) -> tuple[float, float]:
        """The alpha with the lowest criterion, by a local search from the middle of ascending alphas, and its value."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            K = self._gram(kernel)

            @cache
            def at(place: int) -> float:
                return self._value(self._folds(K, alphas[place], slopes=False))

            place = len(alphas) // 2
            for step in (-1, 1):
                while 0 <= place + step < len(alphas) and (at(place + step) < at(place) or at(place) == math.inf):
                    place += step
            return alphas[place], at(place)

    def _gram(self, kernel: Kernel) -> Array:
        """The upper triangle of K."""
        if isinstance(kernel, Sum):
            return np.add(*map(self._gram, kernel.members().values()))
        if isinstance(kernel, Scaled):
            return kernel.factor * self._gram(kernel.base)
        if isinstance(kernel, Linear):
            return self.rows.dense() @ self.rows.dense().T
        if not isinstance(kernel, Stationary) or isinstance(kernel, Periodic):
            raise MercerError(f"Internal error: the held-out criterion does not know {kernel!r}.")
        return self._matrix(kernel)[0]

    def _matrix(self, kernel: Stationary) -> tuple[Array, Array]:
        """The upper triangle of K, and minus p times the slope of the profile by pair of rows."""
        (held, pairs, by), n = self._pairs(kernel), len(self.w)
        K, B = np.empty((n, n)), np.empty(pairs.shape[1])
        for begin, end in held.parts:
            part = slice(held.starts[begin], held.starts[end])
            k, slope = kernel.profile_and_slope(by @ pairs[:, part])
            np.multiply(slope, -kernel.power, out=B[part])
            at = 0
            for i in range(begin, end):
                K[i, i + 1 :] = k[at : at + n - 1 - i]
                at += n - 1 - i
        np.fill_diagonal(K, 1.0)
        return K, B

    def _value(self, found: tuple[float, Array, Array, float] | None) -> float:
        """The criterion of a sum of squares; infinite where a factor failed."""
        if found is None or not found[0] > 0:
            return -math.inf if found is not None and found[0] == 0 else math.inf
        return math.log(found[0] / self.Y.size) + self.shift

    def _at(self, kernel: Kernel, alpha: float, *, slopes: bool) -> Point:
        if not isinstance(kernel, Stationary):  # of which only alpha is chosen
            return Point(self._value(self._folds(self._gram(kernel), alpha, slopes=False)))
        (held, pairs, by), n = self._pairs(kernel), len(self.w)
        K, B = self._matrix(kernel)
        found = self._folds(K, alpha, slopes=slopes)
        value = self._value(found)
        if found is None or not slopes or not math.isfinite(value):
            return Point(value)
        (total, left, right, by_alpha), slope = found, np.zeros(len(pairs))
        for begin, end in held.parts:
            M, at = left[:, begin:end].T @ right[:, begin:], 0
            each = B[held.starts[begin] : held.starts[end]]
            for i in range(begin, end):
                each[at : at + n - 1 - i] *= M[i - begin, i - begin + 1 :]
                at += n - 1 - i
            slope += pairs[:, held.starts[begin] : held.starts[end]] @ each
        slope *= 2.0 / total * by
        widths = np.zeros(len(held.group))
        widths[held.first] = slope
        return Point(value, {"width": widths if np.ndim(kernel.width) else slope[0]}, alpha * by_alpha / total)

    def _folds(self, K: Array, alpha: float, *, slopes: bool) -> tuple[float, Array, Array, float] | None:
        """L, the two factors whose product has the weights of dK, and dL / d alpha, from the upper triangle of K."""
        t, n = self.Y.shape
        size = t * len(self.folds)
        left, right = np.zeros((2 * size, n)), np.zeros((2 * size, n))
        total, by_alpha = 0.0, 0.0
        for f, (lo, hi) in enumerate(self.folds):
            rest = np.r_[0:lo, hi:n]
            m = len(rest)
            A = np.empty((m, m))
            A[:lo, :lo], A[:lo, lo:], A[lo:, lo:] = K[:lo, :lo], K[:lo, hi:], K[hi:, hi:]
            inverse = 1.0 / self.w[rest]
            A.flat[:: m + 1] += alpha * inverse
            if not potrf(A):
                return None
            solved = np.ascontiguousarray(np.vstack([self.Y[:, rest], np.ones(m)]))
            potrs(A, solved)
            g = solved[t]
            b = solved[:t].sum(axis=1) / g.sum()
            a = solved[:t] - b[:, None] * g
            e = self.Y[:, lo:hi] - a[:, :lo] @ K[:lo, lo:hi] - a[:, lo:] @ K[lo:hi, hi:].T - b[:, None]
            v = e * self.w[lo:hi]
            total += float(np.vdot(e, v))
            if not slopes:
                continue
            q = np.ascontiguousarray(np.hstack([v @ K[:lo, lo:hi].T, v @ K[lo:hi, hi:]]))
            potrs(A, q)
            q -= ((q.sum(axis=1) - v.sum(axis=1)) / g.sum())[:, None] * g
            mine = slice(f * t, (f + 1) * t)
            left[mine, rest], left[mine, lo:hi], right[mine, rest] = q, -v, a
            by_alpha += 2.0 * float(np.vdot(q * inverse, a))
        left[size:], right[size:] = right[:size], left[:size]
        return total, left, right, by_alpha
