"""alpha for a given kernel: from a ladder or downhill, by leave-one-out or on held-out rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from mercer.data.rows import Array, Rows
from mercer.kernels.base import Kernel
from mercer.kernels.products import Linear
from mercer.kernels.tiles import gram
from mercer.selection.candidate import Candidate, weigh
from mercer.selection.ladders import resolve_alphas
from mercer.selection.removals import Removals
from mercer.solvers import DualSystem, PrimalSystem, choose
from mercer.solvers.gram import times, training_matrix
from mercer.solvers.leave_out import Inverted, SingularError
from mercer.solvers.problem import Problem, take_rows

_LADDER_ROWS = 500  # a first alpha needs no more
_HALVES = 8  # half decades: no search goes further in one direction


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
    >>> from mercer.tuning.alphas import downhill
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
        if found < self.best[0]:
            self.best = found, alpha, left
        return found if math.isfinite(found) else math.inf

    def residuals(self, alpha: float, folds: Sequence[Array]) -> tuple[Array, Array]:
        """Predictions less y, with each row or group left out in turn, and with each fold; NaN where singular."""
        left = self.best[2] if self.best[1] == alpha else self._invert(alpha)
        if left is None:
            return np.full(self.problem.Y.shape, np.nan), np.full(self.problem.Y.shape, np.nan)
        root = self.problem.root[:, None]
        return -self._residuals_without(left, self.sets) / root, -self._residuals_without(left, folds) / root

    def _invert(self, alpha: float) -> Inverted | None:
        try:
            return Inverted.of_matrix(self.K, alpha, self.problem, mirrored=True)
        except SingularError:
            return None

    def _residuals_without(self, left: Inverted, sets: Sequence[Array] | None) -> Array:
        """y less predictions, in weighted coordinates."""
        if sets is None:
            return left.single_residuals()[0]
        values = np.full(self.problem.Y.shape, np.nan)
        for rows, found in zip(sets, left.residuals(sets), strict=True):
            if found is not None:
                values[rows] = found
        return values
