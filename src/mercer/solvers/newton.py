"""Newton's method for a convex loss, and predictions of rows left out, from the factor at the optimum.

The objective is sum_i w_i l(y_i, f_i) + alpha / 2 sum_c a_c'K a_c with f = K a + H b, H = 1 or absent. With
g = -w l'(f) and V = w l''(f), a step solves (alpha I + V K) da + V H db = g - alpha a. In terms of
A = (K + alpha V^-1)^-1, which exists where V has zeros, da = (r - A K r) / alpha - A H db. Leaving rows S out of the
quadratic at the optimum gives f_S - Sigma_SS (I - V_SS Sigma_SS / alpha)^-1 g_S / alpha with
Sigma = K - K A K + (H - K A H)(H'A H)^-1 (H - K A H)': docs/derivations, section 30.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mercer.data.rows import Array
from mercer.errors import InputError, MercerError
from mercer.kernels.tiles import blocks
from mercer.solvers.cholesky import half_solve, mirror, potrf, potri, solve_columns
from mercer.solvers.problem import Loss, Softmax

_STEPS, _HALVES = 500, 40  # of Newton's method, and of its line search
_ENOUGH = 1e-13  # decrease of the objective, over its size, that is the last one
_ROUNDING = 1e-15  # decrease of the objective, over its size, that rounding hides
_CHORDS, _CLOSE = 60, 1e-9  # steps with the factor of all rows for rows that are left out, and the last change of f
_COLUMNS = 256  # sets of rows that are left out at a time
LEVERAGE = 0.5  # largest share of a set of rows in its own fit, from which on one step is not believed
_POWERS = 8  # of the iteration that finds it
_MOVED, _FLAT = 0.4, 1e-3  # change of the logarithm of a curvature that makes one step doubtful; what is added to it
_NULL = 1e-9  # eigenvalues of sums over classes below this share of the largest are zero: constants of all classes


class Curvature:
    """A = (K + alpha V^-1)^-1 for one value per row: V^1/2 (alpha I + V^1/2 K V^1/2)^-1 V^1/2.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        The kernel matrix.
    v : ndarray of shape (n, 1)
        Second derivatives times weights.
    alpha : float
        Regularization, above 0.
    """

    def __init__(self, K: Array, v: Array, alpha: float) -> None:
        self.K, self.v, self.alpha = K, v, alpha
        self.root = np.sqrt(v[:, 0])
        self.factor = self.root[:, None] * K * self.root
        self.factor.flat[:: len(K) + 1] += alpha
        if not potrf(self.factor):  # alpha is above 0, so only rounding can make it indefinite
            raise InputError(f"alpha = {alpha:.3g} is lost in rounding beside the kernel matrix. Use a larger alpha.")

    def apply(self, x: Array) -> Array:
        """A x, of columns (n, 1) or (n, m)."""
        return self.root[:, None] * solve_columns(self.factor, self.root[:, None] * x)

    @cached_property
    def matrix(self) -> Array:
        """A in full (n, n)."""
        inverse = self.factor.copy()
        potri(inverse)
        mirror(inverse)
        return np.asarray(self.root[:, None] * inverse * self.root)

    @cached_property
    def halves(self) -> Array:
        """U'^-1 V^1/2 K (n, n), the product of which with its transpose is K A K."""
        return half_solve(self.factor, self.root[:, None] * self.K)

    def explained_blocks(self, rows: Array) -> Array:
        """(K A K)_SS of many sets of one size (sets, size, 1, size, 1)."""
        return squares(self.halves.T[rows])[:, :, None, :, None]

    def weigh(self, rows: Array, x: Array) -> Array:
        """V_SS x for sets of rows and blocks x (sets, size, 1, m)."""
        return np.asarray(self.v[rows][..., None] * x)


class ClassCurvature:
    """A for classes: V_i = w_i (diag(p_i) - p_i p_i'), by one factor for each class and one for their sum.

    With E_c = (K + alpha / (w p_c))^-1, A = diag(E_c) - E_c (sum of all E)^-1 E_c'.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        The kernel matrix.
    p : ndarray of shape (n, classes)
        Probabilities.
    weights : ndarray of shape (n,)
        Sample weights.
    alpha : float
        Regularization, above 0.
    """

    def __init__(self, K: Array, p: Array, weights: Array, alpha: float) -> None:
        self.K, self.p, self.weights, self.alpha = K, p, weights, alpha
        self.members = [Curvature(K, (weights * share)[:, None], alpha) for share in p.T]
        total = np.sum([member.matrix for member in self.members], axis=0)
        total.flat[:: len(total) + 1] += weights == 0  # rows without weight have no part in it
        if not potrf(total):
            raise MercerError("Internal error: the sum of the factors of all classes is singular.")
        self.total = total

    def apply(self, x: Array) -> Array:
        """A x, of one column per class (n, classes)."""
        own = np.hstack([member.matrix @ x[:, [c]] for c, member in enumerate(self.members)])
        shared = solve_columns(self.total, own.sum(axis=1, keepdims=True))
        return np.asarray(own - np.hstack([member.matrix @ shared for member in self.members]))

    @cached_property
    def halves(self) -> list[tuple[Array, Array]]:
        """For each class, what K E_c K and K E_c total^-1 E K are products of."""
        return [(member.halves, half_solve(self.total, member.matrix @ self.K)) for member in self.members]

    def explained_blocks(self, rows: Array) -> Array:
        """(K A K)_SS of many sets of one size (sets, size, classes, size, classes)."""
        count, size = len(self.members), rows.shape[1]
        shared = np.stack([both.T[rows] for _, both in self.halves], axis=2)
        found = -squares(shared.reshape(len(rows), size * count, -1)).reshape(len(rows), size, count, size, count)
        for c, (own, _) in enumerate(self.halves):
            found[:, :, c, :, c] += squares(own.T[rows])
        return found

    def weigh(self, rows: Array, x: Array) -> Array:
        """V_SS x for sets of rows and blocks x (sets, size, classes, m)."""
        p, w = self.p[rows][..., None], self.weights[rows][..., None, None]
        return np.asarray(w * (p * x - p * (p * x).sum(axis=2, keepdims=True)))


def squares(parts: Array) -> Array:
    """B B' of each block B (sets, m, n)."""
    return np.asarray(np.matmul(parts, parts.transpose(0, 2, 1)))


def largest_eigenvalues(tables: Array) -> Array:
    """The largest eigenvalue of each table (sets, m, m), which has none below zero, nearly."""
    v = np.ones((len(tables), tables.shape[2], 1)) + 0.1 * np.arange(tables.shape[2])[:, None] / tables.shape[2]
    size = np.zeros(len(tables))
    for _ in range(_POWERS):
        v = tables @ v
        size = np.linalg.norm(v, axis=(1, 2))
        v = v / np.where(size > 0, size, 1.0)[:, None, None]
    return size


@dataclass(frozen=True, eq=False)
class Task:
    """What is minimized: a kernel matrix, targets, weights and a loss.

    Attributes
    ----------
    K : ndarray of shape (n, n)
        The kernel matrix.
    y, weights : ndarray of shape (n,)
        Targets or class numbers, and sample weights.
    loss : Loss
        The loss.
    intercept : bool
        Whether there is an unpenalized constant.
    """

    K: Array
    y: Array
    weights: Array
    loss: Loss
    intercept: bool

    def part(self, rows: Array) -> Task:
        """Some of the rows."""
        return replace(self, K=self.K[np.ix_(rows, rows)], y=self.y[rows], weights=self.weights[rows])

    def curvature(self, f: Array, alpha: float) -> Curvature | ClassCurvature:
        """The second derivatives at f, factored with K."""
        found = self.loss.curvature(self.y, f)
        if isinstance(self.loss, Softmax):
            return ClassCurvature(self.K, found, self.weights, alpha)
        return Curvature(self.K, self.weights[:, None] * found, alpha)

    def times_ones(self, system: Curvature | ClassCurvature, outputs: int) -> Array:
        """A H (n, outputs, outputs), H one column of ones for each output."""
        units = np.broadcast_to(np.eye(outputs)[:, None], (outputs, len(self.y), outputs))
        return np.stack([system.apply(unit) for unit in units], axis=2)

    def pull(self, f: Array) -> Array:
        """g = -w l'(f)."""
        return -self.weights[:, None] * self.loss.slope(self.y, f)

    def objective(self, f: Array, a: Array, Ka: Array, alpha: float) -> float:
        """The sum of losses and the penalty."""
        with np.errstate(over="ignore", invalid="ignore"):
            return float(self.weights @ self.loss.rows(self.y, f) + 0.5 * alpha * np.sum(a * Ka))

    def minimize(self, alpha: float, start: Array | None = None, enough: float = _ENOUGH) -> Optimum:
        """Newton's method with a line search, from the best constant or, if they are better, values f (n, outputs).

        `enough`: the decrease of the objective, over its size, that is the last one.
        """
        a, Ka, b, value = self._start(alpha, start)
        f, steps, done = Ka + b, 0, False
        while steps < _STEPS and not done:
            steps += 1
            g = self.pull(f)
            r = g - alpha * a
            da, db, Kda = self._solve(self.curvature(f, alpha), r, a.sum(axis=0))
            gain = float(np.sum(r * Kda) + g.sum(axis=0) @ db)  # how much the objective falls at first
            unit = max(abs(value), 1e-300)
            size, done = 1.0, gain <= enough * unit
            for _ in range(_HALVES):
                trial = a + size * da, Ka + size * Kda, b + size * db
                new = self.objective(trial[1] + trial[2], trial[0], trial[1], alpha)
                if done or new <= value - 1e-4 * size * gain:
                    break
                size /= 2
                if size * gain <= _ROUNDING * unit:
                    size = 0.0
                    break
            if not size:
                break  # no decrease that rounding would show
            if not done or new <= value:
                (a, Ka, b), value = trial, new
                f = Ka + b
        b = b - b.mean() if len(b) > 1 else b  # values of classes that differ by a constant have the same probabilities
        f = Ka + b
        g = self.pull(f)
        slope, scale = (float(np.abs(each).max(initial=0.0)) for each in (g - alpha * a, g))
        done = done or slope <= 1e-6 * max(scale, 1e-300)
        return Optimum(self, alpha, a, b, f, value, steps, done)

    def _start(self, alpha: float, start: Array | None) -> tuple[Array, Array, Array, float]:
        """a, K a, b and the objective where Newton's method begins."""
        constant = self.loss.constant(self.y, self.weights if self.weights.any() else np.ones_like(self.weights))
        zero = np.zeros((len(self.y), len(constant)))
        b = constant if self.intercept else 0.0 * constant
        found = zero, zero, b, self.objective(zero + b, zero, zero, alpha)
        if start is None:
            return found
        system = self.curvature(start, alpha)
        everything = np.arange(len(self.y))[None]
        r = system.weigh(everything, start[None, :, :, None])[0, :, :, 0] + self.pull(start)
        a, b, Ka = self._solve(system, r, 0.0 * constant)
        value = self.objective(Ka + b, a, Ka, alpha)
        return (a, Ka, b, value) if value < found[3] else found

    def _solve(self, system: Curvature | ClassCurvature, r: Array, surplus: Array) -> tuple[Array, Array, Array]:
        """da, db and K da of (alpha I + V K) da + V H db = r with the sums of da minus `surplus`."""
        da, db = (r - system.apply(self.K @ r)) / system.alpha, np.zeros(r.shape[1])
        if self.intercept:
            left = self.times_ones(system, r.shape[1])
            total = left.sum(axis=0)
            if np.abs(total).max() > 0:
                db = np.linalg.lstsq(total, da.sum(axis=0) + surplus, rcond=_NULL)[0]
                da = da - left @ db
        return da, db, self.K @ da


@dataclass(frozen=True, eq=False)
class Optimum:
    """The minimum of a task for one alpha.

    Attributes
    ----------
    task, alpha : Task, float
        What was minimized.
    a, b : ndarray of shape (n, outputs) and (outputs,)
        f(x) = k(x, X) a + b.
    f : ndarray of shape (n, outputs)
        Values at the training rows.
    objective, steps, converged : float, int, bool
        The minimum, steps of Newton's method, and whether they ended where the gradient vanishes.
    """

    task: Task
    alpha: float
    a: Array
    b: Array
    f: Array
    objective: float
    steps: int
    converged: bool

    @cached_property
    def system(self) -> Curvature | ClassCurvature:
        """Second derivatives at the optimum."""
        return self.task.curvature(self.f, self.alpha)

    def leave_out(self, sets: Sequence[Array]) -> tuple[list[Array], Array]:
        """Values at each set of rows without the set, by one Newton step from the optimum; and its leverage.

        The leverage is the largest eigenvalue of the share that the set has in its own fit.

        Exact for the squared loss, and for Huber's as long as no row changes from one piece to another.
        """
        system, g, f = self.system, self.task.pull(self.f), self.f
        found: list[Array] = [f[:0]] * len(sets)
        leverage = np.zeros(len(sets))
        sizes, outputs = np.array([len(rows) for rows in sets]), f.shape[1]
        if self.task.intercept:
            left = self.task.times_ones(system, outputs)
            beyond = np.eye(outputs) - np.tensordot(self.task.K, left, axes=1)
            inverse = np.linalg.pinv(left.sum(axis=0), hermitian=True, rcond=_NULL)
        for size in np.unique(sizes[sizes > 0]).tolist():
            members = np.flatnonzero(sizes == size)
            for part in blocks(len(members), max(1, 2**22 // (size * outputs) ** 2 // 8 + 1)):
                own = members[part]
                rows = np.array([sets[i] for i in own])
                Sigma = -system.explained_blocks(rows)
                own_K = self.task.K[rows[:, :, None], rows[:, None, :]]
                for c in range(outputs):
                    Sigma[:, :, c, :, c] += own_K
                if self.task.intercept:
                    U = beyond[rows]
                    V = (U @ inverse).reshape(len(own), size * outputs, -1)
                    Sigma += (V @ U.reshape(V.shape).transpose(0, 2, 1)).reshape(Sigma.shape)
                flat = Sigma.reshape(len(own), size * outputs, size * outputs)
                share = system.weigh(rows, Sigma.reshape(len(own), size, outputs, -1)).reshape(flat.shape) / self.alpha
                leverage[own] = largest_eigenvalues(share)
                right = (g[rows] / self.alpha).reshape(len(own), -1, 1)
                with np.errstate(all="ignore"):
                    solution = np.linalg.solve(np.eye(size * outputs) - share, right)
                moved = (flat @ solution).reshape(len(own), size, outputs)
                for i, values in zip(own, f[rows] - moved, strict=True):
                    found[i] = values
        return found, leverage

    def refit(self, rows: Array) -> Array:
        """Values at a set of rows of the model that is fitted without them."""
        rest = np.setdiff1d(np.arange(len(self.f)), rows)
        other = self.task.part(rest).minimize(self.alpha, self.f[rest])
        return np.asarray(self.task.K[np.ix_(rows, rest)] @ other.a + other.b)

    def go_far(self, sets: Sequence[Array], values: Sequence[Array]) -> Array:
        """For each set of rows, whether one step to these values changes the curvature of a row by more than a third.

        A row that takes its neighbours along when it is left out, such as the only one of its class, does so at any
        leverage.
        """

        def logs(rows: Array, f: Array) -> Array:
            found = self.task.loss.curvature(self.task.y[rows], f)
            return np.log(_FLAT + (found * (1.0 - found) if isinstance(self.task.loss, Softmax) else found))

        moves = (logs(rows, new) - logs(rows, self.f[rows]) for rows, new in zip(sets, values, strict=True))
        return np.array([float(np.abs(move).max(initial=0.0)) > _MOVED for move in moves], dtype=bool)

    def leave_out_exactly(self, sets: Sequence[Array]) -> list[Array]:
        """Values at each set of rows of the model that is fitted without the set.

        Steps of Newton's method with the second derivatives at the optimum of all rows, less those of the set, for many
        sets at a time; sets for which these do not settle, and those of several classes, are refitted.
        """
        parts = [] if isinstance(self.task.loss, Softmax) else blocks(len(sets), _COLUMNS)
        found = itertools.chain.from_iterable(self._chords(sets[part]) for part in parts)
        both = itertools.zip_longest(sets, found)
        return [self.refit(rows) if values is None else values for rows, values in both]

    def _chords(self, sets: Sequence[Array]) -> list[Array | None]:
        """Values at the rows of sets that are left out; None where the steps do not settle."""
        task, alpha, system = self.task, self.alpha, self.system
        if not isinstance(system, Curvature):
            raise MercerError("Internal error: chords are for one value per row.")
        K, A, n, m = task.K, system.matrix, len(self.f), len(sets)
        inside = np.zeros((n, m), dtype=bool)
        for column, rows in enumerate(sets):
            inside[rows, column] = True
        a, b = np.where(inside, 0.0, self.a), np.full(m, self.b[0])
        inverses = [np.linalg.pinv(A[np.ix_(rows, rows)], hermitian=True, rcond=1e-13) for rows in sets]

        def apply_to_others(x: Array) -> Array:
            """A of the other rows times columns that vanish at the sets."""
            values = A @ x
            for column, rows in enumerate(sets):
                values[:, column] -= A[:, rows] @ (inverses[column] @ values[rows, column])
                values[rows, column] = 0.0
            return values

        ones = apply_to_others(np.where(inside, 0.0, 1.0)) if task.intercept else None
        f = K @ a + b
        scale, settled, last = max(float(np.abs(self.f).max()), 1e-300), np.zeros(m, dtype=bool), np.full(m, np.inf)
        for _ in range(_CHORDS):
            with np.errstate(over="ignore", invalid="ignore"):
                slopes = task.loss.slope(task.y, f)
                r = np.where(inside, 0.0, -task.weights[:, None] * slopes - alpha * a)
                da = (r - apply_to_others(np.where(inside, 0.0, K @ r))) / alpha
                if ones is not None:
                    db = (da.sum(axis=0) + a.sum(axis=0)) / ones.sum(axis=0)
                    da, b = da - ones * db, b + db
                a = a + da
                new = K @ a + b
                change = np.abs(new - f).max(axis=0)
            f = new
            settled = change <= _CLOSE * scale
            if settled.all() or not np.isfinite(change).any() or (change > 2.0 * last).all():
                break
            last = change
        return [f[rows, [j]][:, None] if settled[j] else None for j, rows in enumerate(sets)]
