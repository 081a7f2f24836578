"""What is chosen by held-out predictions: alpha for a kernel, and the weights of the members of a committee."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from operator import itemgetter
from typing import TypeAlias

import numpy as np

from mercer.data.rows import Array, Rows
from mercer.kernels.base import Kernel
from mercer.kernels.products import Linear
from mercer.kernels.tiles import gram
from mercer.selection.candidate import Candidate, weigh
from mercer.selection.ladders import resolve_alphas
from mercer.selection.removals import Removals, label_numbers
from mercer.solvers import DualSystem, PrimalSystem, choose
from mercer.solvers.gram import times, training_matrix
from mercer.solvers.leave_out import Gram, Inverted, SingularError
from mercer.solvers.problem import Loss, Problem, take_rows

_LADDER_ROWS = 500  # a first alpha needs no more
_HALVES = 8  # half decades: no search goes further in one direction
Weigh: TypeAlias = Callable[[Array, Array, Array | None], Array]  # of held-out predictions, targets, sample weights
Reading: TypeAlias = Callable[[Array], tuple[Loss, Array]]
"""From the targets of a committee (n, t) to a loss and its own targets (n,)."""
_LEAST = 0.02  # members of less weight are dropped in the end


def leave_one_out(rows: Rows, problem: Problem, kernel: Kernel, alphas: Array) -> Array:
    """Mean squared leave-one-out error for every alpha, from one eigendecomposition."""
    system = Candidate(kernel, rows, problem, Removals.singles(len(rows)), "spectral")
    return np.array([float(np.mean((system.at(float(alpha)).values - problem.Y) ** 2)) for alpha in alphas])


def start_alpha(kernel: Kernel, rows: Rows, problem: Problem) -> float:
    """The best alpha of a ladder, on at most 500 rows."""
    part = np.linspace(0, len(rows) - 1, min(len(rows), _LADDER_ROWS)).astype(int)
    some_rows, some = take_rows(rows, problem, part)
    alphas = resolve_alphas(None, [kernel], some_rows)
    return float(alphas[int(np.argmin(leave_one_out(some_rows, some, kernel, alphas)))])


def downhill(error: Callable[[float], float], start: float, ends: tuple[float, float] = (0.0, math.inf)) -> float:
    """The alpha with the least error near `start`, by half a decade as long as the error falls.

    Smaller ones are tried first, for what is best for a part of the rows is too large for all.

    Examples
    --------
    >>> import math
    >>> from mercer.tuning.held_out import downhill
    >>> round(downhill(lambda alpha: math.log10(alpha / 0.003) ** 2, 0.1), 5)
    0.00316
    >>> downhill(lambda alpha: -alpha, 0.1, ends=(0.01, 0.2))
    0.2
    """
    known = cache(error)

    def alpha_at(place: int) -> float:
        return float(min(max(start * 10.0 ** (place / 2), ends[0]), ends[1]))

    place = 0
    for step in (-1, 1):
        while abs(place + step) <= _HALVES and known(alpha_at(place + step)) < known(alpha_at(place)):
            place += step
    return alpha_at(place)


class Predictor:
    """The model of some rows at others, for one alpha after the other: one matrix serves them all.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    rows, problem : Rows, Problem
        What is fitted to.
    new : Rows
        What is predicted.
    """

    def __init__(self, kernel: Kernel, rows: Rows, problem: Problem, new: Rows) -> None:
        self.kernel, self.rows, self.problem, self.new = kernel, rows, problem, new
        weights, intercept = problem.weights, problem.intercept
        self.system: PrimalSystem | DualSystem
        if isinstance(kernel, Linear) and rows.width < len(rows):
            self.system, self.solver = PrimalSystem(rows.values, weights, intercept=intercept), "primal"
        else:
            certified, K = kernel.verdict()[0] is True, training_matrix(kernel, rows)
            self.system = DualSystem(K, weights, intercept=intercept, certified=certified)
            self.solver = choose("auto", len(rows), None, iterable=False).name

    def __call__(self, alpha: float) -> Array:
        """Predictions at the new rows (m x t)."""
        solution = self.system.solve(self.problem.Y, alpha, self.solver)
        if solution.primal is not None:
            return np.asarray(self.new.values @ solution.primal + solution.intercept)
        return np.asarray(times(self.kernel, self.new, self.rows, solution.dual) + solution.intercept)

    def best_alpha(self, truth: Problem, start: float, least: float) -> float:
        """The alpha near `start` with the least weighted squared error at the new rows."""

        def error(alpha: float) -> float:
            return float(np.mean(truth.root[:, None] ** 2 * (self(alpha) - truth.Y) ** 2))

        return downhill(error, start, (least, math.inf))


def predict_new(kernel: Kernel, alpha: float, rows: Rows, problem: Problem, new: Rows) -> Array:
    """Predictions at new rows of the model fitted to these."""
    return Predictor(kernel, rows, problem, new)(alpha)


class LeaveOutErrors:
    """Leave-one-out errors of one kernel, or those of leaving out one group; the inverse of the best alpha is kept.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    rows, problem : Rows, Problem
        What is fitted to; every row has weight.
    groups : ndarray of shape (n,), default=None
        Rows that are left out together.
    """

    def __init__(self, kernel: Kernel, rows: Rows, problem: Problem, groups: Array | None = None) -> None:
        self.K, self.problem = weigh(gram(kernel, rows), problem), problem
        self.sets = None if groups is None else [np.flatnonzero(groups == group) for group in np.unique(groups)]
        self.best: tuple[float, float, Inverted | None] = (math.inf, math.nan, None)

    def error(self, alpha: float) -> float:
        """Weighted mean squared error; infinite where the system is singular."""
        left = self._invert(alpha)
        found = math.inf if left is None else float(np.mean(self._residuals_without(left, self.sets) ** 2))
        self.best = min(self.best, (found, alpha, left), key=itemgetter(0))
        return found if math.isfinite(found) else math.inf

    def residuals(self, alpha: float, folds: Sequence[Array]) -> tuple[Array, Array]:
        """Predictions less y, with each row or group left out in turn, and with each fold; NaN where singular."""
        left = self.best[2] if self.best[1] == alpha else self._invert(alpha)
        root = self.problem.root[:, None]
        return -self._residuals_without(left, self.sets) / root, -self._residuals_without(left, folds) / root

    def _invert(self, alpha: float) -> Inverted | None:
        with suppress(SingularError):
            return Inverted.of_matrix(Gram(self.problem, self.K), alpha, mirrored=True)
        return None

    def _residuals_without(self, left: Inverted | None, sets: Sequence[Array] | None) -> Array:
        """y less predictions, in weighted coordinates; NaN where the system is singular."""
        if sets is None and left is not None:
            return left.single_residuals()[0]
        values = np.full(self.problem.Y.shape, np.nan)
        for rows, found in [] if left is None or sets is None else zip(sets, left.residuals(sets), strict=True):
            values[rows] = np.nan if found is None else found
        return values


def convex_weights(held_out: Array, Y: Array, rows: Array | None = None) -> Array:
    """Non-negative weights of sum one for which the weighted predictions have the least squared error.

    Parameters
    ----------
    held_out : ndarray of shape (members, n, t)
        Predictions.
    Y : ndarray of shape (n, t)
        Targets.
    rows : ndarray of shape (n,), default=None
        Sample weights.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.tuning.held_out import convex_weights
    >>> y = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> convex_weights(np.stack([y + 1.0, y - 1.0, y + 9.0]), y).round(3).tolist()
    [0.5, 0.5, 0.0]
    """
    from scipy.optimize import nnls

    errors = held_out - Y if rows is None else (held_out - Y) * np.sqrt(rows)[:, None]
    A = errors.reshape(len(held_out), -1).T
    size = max(float(np.abs(A).max(initial=0.0)), 1e-300)
    heavy = 1e4 * math.sqrt(len(A))
    weights, _ = nnls(np.vstack([A / size, np.full(len(held_out), heavy)]), np.append(np.zeros(len(A)), heavy))
    return _shares(weights)


def _shares(weights: Array) -> Array:
    """Weights over their sum; equal ones where all are zero."""
    total = float(weights.sum())
    return np.asarray(weights / total) if total > 0 else np.full(len(weights), 1.0 / len(weights))


def log_loss_weights(held_out: Array, Y: Array, rows: Array | None = None) -> Array:
    """Non-negative weights of sum one for which the weighted votes, scaled and shifted, have the least log loss.

    With votes V_i (n x classes), logits are sum_i v_i V_i + b: a convex problem in v >= 0 and b; weights are v / sum v.
    A vote of one column is half of itself for the second class, and minus half for the first.

    Parameters
    ----------
    held_out : ndarray of shape (members, n, t)
        Votes.
    Y : ndarray of shape (n, t)
        Targets: one column of -1 and 1, or a column per class, largest at the label.
    rows : ndarray of shape (n,), default=None
        Sample weights.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.tuning.held_out import log_loss_weights
    >>> y = np.array([[-1.0], [1.0], [-1.0], [1.0]] * 5)
    >>> noisy = 0.4 * y + np.linspace(-1.0, 1.0, 20)[:, None]
    >>> log_loss_weights(np.stack([noisy, -y]), y).round(3).tolist()
    [1.0, 0.0]
    """
    from scipy.optimize import minimize
    from scipy.special import logsumexp

    labels = label_numbers(Y)
    if Y.shape[1] == 1:
        held_out = np.concatenate([-held_out / 2, held_out / 2], axis=2)
    count, n, classes = held_out.shape
    size = max(float(np.abs(held_out).max(initial=0.0)), 1e-300)
    votes, each = held_out / size, np.full(n, 1.0 / n) if rows is None else rows / rows.sum()
    right, own = np.arange(n), np.eye(classes)[labels]

    def loss(v: Array) -> tuple[float, Array]:
        logits = np.tensordot(v[:count], votes, axes=1) + v[count:]
        total = logsumexp(logits, axis=1)
        slope = each[:, None] * (np.exp(logits - total[:, None]) - own)
        gradient = np.concatenate([np.tensordot(votes, slope, axes=2), slope.sum(axis=0)])
        return float(each @ (total - logits[right, labels])), gradient

    start = np.concatenate([np.full(count, 3.0 / count), np.zeros(classes)])
    bounds = [(0.0, 1e3)] * count + [(-1e3, 1e3)] * classes
    return _shares(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x[:count])


def loss_weights(read: Reading, held_out: Array, Y: Array, rows: Array | None = None) -> Array:
    """Non-negative weights of sum one for which the weighted values have the least mean loss.

    Parameters
    ----------
    read : callable
        The loss and its targets, from targets Y.
    held_out : ndarray of shape (members, n, outputs)
        Values of the members.
    Y : ndarray of shape (n, t)
        Targets.
    rows : ndarray of shape (n,), default=None
        Sample weights.
    """
    from scipy.optimize import minimize
    from scipy.special import softmax

    loss, y = read(Y)
    each = np.full(len(y), 1.0 / len(y)) if rows is None else rows / rows.sum()

    def mean_loss(u: Array) -> tuple[float, Array]:
        shares = softmax(u)
        values = np.tensordot(shares, held_out, axes=1)
        gradient = np.tensordot(held_out, each[:, None] * loss.slope(y, values), axes=2)
        return float(each @ loss.rows(y, values)), shares * (gradient - shares @ gradient)

    return np.asarray(softmax(minimize(mean_loss, np.zeros(len(held_out)), jac=True, method="L-BFGS-B").x))


def weigh_members(
    weigh: Weigh, held_out: Array, Y: Array, of_rows: Array | None, folds: Array, weights: Array | None = None
) -> tuple[Array, Array, Array]:
    """Weights of members from held-out predictions (members x n x t); their mean, and the weights without each fold.

    A row is predicted with weights that it has no part in. `weights`: those of all rows, if they are known.
    """
    weights = weights_of(weigh, held_out, Y, of_rows) if weights is None else weights
    voted, by_fold = np.empty_like(Y), np.empty((int(folds.max()) + 1, len(held_out)))
    for fold in range(len(by_fold)):
        rest, own = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        some = held_out[:, rest], Y[rest], None if of_rows is None else of_rows[rest]
        by_fold[fold] = weights_of(weigh, *some) if len(rest) else weights
        voted[own] = np.tensordot(by_fold[fold], held_out[:, own], axes=1)
    return weights, voted, by_fold


def weights_of(weigh: Weigh, held_out: Array, Y: Array, of: Array | None) -> Array:
    """Weights of members from out-of-fold predictions; small ones are zero."""
    found = weigh(held_out, Y, of)
    found = np.where(found >= _LEAST, found, 0.0)
    return np.asarray(found / found.sum())
