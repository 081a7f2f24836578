"""Prediction intervals of a fitted model from its one factor: jackknife+ and CV+ without a refit, and Gaussian ones.

Equation (12) of docs/derivations gives the prediction at x0 of the model without any set of rows; section 19 says
what is made of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.data.folds import Folds
from mercer.data.rows import Array, Rows
from mercer.errors import refuse_if
from mercer.kernels.tiles import TILE, blocks, underflow_is_zero
from mercer.kernels.value import is_real
from mercer.runtime import promise, run
from mercer.solvers import Penalized, PrimalSystem, Solution
from mercer.solvers.fitted import FittedRidge
from mercer.solvers.plan import EPS, Route, digits_left
from mercer.solvers.primal import PrimalSolved
from mercer.text import Shown

METHODS = ("jackknife+", "cv+", "gaussian")


@dataclass(frozen=True, eq=False, repr=False)
class Coverage(Shown):
    """How many new targets lie inside their intervals; `float` gives the share.

    Attributes
    ----------
    share : float or ndarray of shape (n_targets,)
        Share of the rows whose target lies inside, ends included.
    width : float or ndarray of shape (n_targets,)
        Mean width of the intervals.
    confidence : float
        The nominal confidence.
    method : str
        How the intervals were made.
    rows : int
        Number of rows.

    Examples
    --------
    >>> from mercer.insight.intervals import Coverage
    >>> found = Coverage(share=0.92, width=3.1, confidence=0.9, method="jackknife+", rows=50)
    >>> print(found)
    coverage 92.0 % on 50 rows (nominal 90 %, method jackknife+); mean width 3.1
    >>> float(found)
    0.92
    """

    share: Any
    width: Any
    confidence: float
    method: str
    rows: int

    def __float__(self) -> float:
        """The share; its mean where there are several targets."""
        return float(np.mean(self.share))

    def _columns(self) -> dict[str, list[object]]:
        """Share, mean width and nominal confidence, one row per target."""
        shares, widths = (np.atleast_1d(each).astype(float).tolist() for each in (self.share, self.width))
        nominal = [self.confidence] * len(shares)
        return {"share": shares, "width": widths, "confidence": nominal, "rows": [self.rows] * len(shares)}

    def __str__(self) -> str:
        shares = ", ".join(f"{100 * share:.1f} %" for share in np.atleast_1d(self.share))
        widths = ", ".join(f"{width:.3g}" for width in np.atleast_1d(self.width))
        nominal = f"{100 * self.confidence:.4g} %, method {self.method}"
        return f"coverage {shares} on {self.rows} rows (nominal {nominal}); mean width {widths}"


def check_confidence(value: float) -> float:
    """Validate `confidence`: a number above 0 and below 1.

    Examples
    --------
    >>> from mercer.insight.intervals import check_confidence
    >>> check_confidence(90)
    Traceback (most recent call last):
        ...
    mercer.errors.InputError: confidence must be a number above 0 and below 1; got 90. Use 0.9 for ...
    """
    invalid, way_out = not is_real(value) or not 0.0 < float(value) < 1.0, "Use 0.9 for 90 % prediction intervals."
    refuse_if(invalid, "confidence", "a number above 0 and below 1", repr(value), way_out)
    return float(value)


def ranks(n: int, confidence: float) -> tuple[int, int]:
    """Which of n sorted values are the ends: floor(q (n + 1)) and ceil((1 - q) (n + 1)), with q = 1 - confidence.

    0 and n + 1 do not exist: the interval has no end there. q (n + 1) is rounded to 1e-9 first, for in floating point
    (1 - 0.9) 100 is less than 10.

    Examples
    --------
    >>> from mercer.insight.intervals import ranks
    >>> ranks(99, 0.9), ranks(98, 0.9), ranks(8, 0.9)
    ((10, 90), (9, 90), (0, 9))
    """
    low = math.floor(round((1.0 - confidence) * (n + 1), 9))
    return low, n + 1 - low


def held_out_bounds(
    reach: Array, values: Callable[[slice], Iterable[tuple[int, Array]]], count: int, confidence: float
) -> tuple[Array, Array]:
    """Ends of the intervals: of all f_-S(x0) - R_i and f_-S(x0) + R_i those with the right ranks.

    Parameters
    ----------
    reach : ndarray of shape (n, t)
        R, the absolute errors at the rows left out.
    values : callable
        For a slice of the new rows each target, and its f_-S(x0) with a column for each training row; overwritten.
    count : int
        How many new rows there are.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    lower, upper : ndarray of shape (count, t)
        Infinite where the rank does not exist.
    """
    n, targets = reach.shape
    low, high = ranks(n, confidence)
    lower, upper = np.full((count, targets), -np.inf), np.full((count, targets), np.inf)
    if low == 0:
        return lower, upper

    def fill(part: slice) -> None:
        for target, found in values(part):
            lower[part, target] = _take_rank(found - reach[:, target], low)
            upper[part, target] = _take_rank(np.add(found, reach[:, target], out=found), high)

    # no array of new rows against training rows is larger than a tile
    run(fill, blocks(count, max(1, TILE * TILE // n)))
    return lower, upper


def _take_rank(values: Array, rank: int) -> Array:
    """The rank-th smallest of each row; the values are rearranged."""
    values.partition(rank - 1, axis=1)
    return values[:, rank - 1].copy()


def gaussian_bounds(mean: Array, variance: Array, noise: Array, confidence: float) -> tuple[Array, Array]:
    """mean -+ z sqrt(variance of f + noise variance).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.insight.intervals import gaussian_bounds
    >>> lower, upper = gaussian_bounds(np.zeros((1, 1)), np.array([[0.75]]), np.array([0.25]), 0.95)
    >>> lower.round(2).tolist(), upper.round(2).tolist()
    ([[-1.96]], [[1.96]])
    """
    from scipy.special import ndtri

    reach = ndtri(0.5 + 0.5 * confidence) * np.sqrt(variance + noise)
    return mean - reach, mean + reach


def count_covered(lower: Array, upper: Array, y: Array, confidence: float, method: str) -> Coverage:
    """Share of targets inside, and mean width; an interval whose ends have crossed is empty, its width zero.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.insight.intervals import count_covered
    >>> print(count_covered(np.zeros(4), np.full(4, 2.0), np.array([0.0, 1.0, 2.0, 3.0]), 0.8, "gaussian"))
    coverage 75.0 % on 4 rows (nominal 80 %, method gaussian); mean width 2
    """
    parts = ((lower <= y) & (y <= upper)).mean(axis=0), np.maximum(upper - lower, 0.0).mean(axis=0)
    share, width = (float(part) if y.ndim == 1 else part for part in parts)
    return Coverage(share, width, confidence, method, len(y))


def fold_numbers(folds: Folds) -> Array:
    """The number of the fold that each row belongs to; an error if the folds are not a partition."""
    must_be = "a partition: every row in exactly one test fold, and all other rows in its training set"
    way_out = "Set cv to a number of folds and repeats to 1, or use method='jackknife+', which needs no folds."
    refuse_if(len(folds.repeats) > 1 or not folds.partition, "The folds of cv+", must_be, folds.label, way_out)
    fold = np.empty(folds.n, dtype=np.intp)
    for number, split in enumerate(folds.splits):
        fold[split.test] = number
    return fold


def relative_error(solved: Penalized, route: Route) -> float:
    """Relative error of predictions and residuals that the condition of a system allows, at most 1.

    Explicit features are rounded before they are centred, and sums of n numbers are never exact.
    """
    condition = route.condition
    if isinstance(solved, PrimalSolved):
        system = solved.system
        if solved.cholesky is None:  # what is lost to rounding counts as zero, and alpha has no part in it
            s = system.singular[1]
            condition = max(1.0, float(s.max(initial=0.0) * (s * solved.inverse).max(initial=0.0)))
        spread, offset = float(np.trace(system.normal)), system.total * float(system.mean @ system.mean)
        # features that differ by rounding alone have no part in the model
        condition *= math.sqrt(max(1.0, offset / spread)) if spread > (16 * EPS) ** 2 * offset else 1.0
    return float(max(10.0 ** -digits_left(condition), EPS * (8.0 + math.sqrt(len(solved.root)))))


class HeldOutModels:
    """The models without one row or one fold, all from one factor; for the targets that share an alpha.

    Parameters
    ----------
    fitted : FittedRidge
        The model of all rows.
    group : int
        Which of its distinct alphas; folds that a singular system cannot do without are refitted.
    fold : ndarray of int, shape (n,), or None
        The fold of each row that was trained on; None leaves single rows out.

    Attributes
    ----------
    residuals : ndarray of shape (n, t)
        Errors at the rows left out, y less what the model without them predicts.
    rounding : float
        Relative error of predictions; that of sums alone for a singular system, whose condition is not known.
    """

    def __init__(self, fitted: FittedRidge, group: int, fold: Array | None) -> None:
        targets, solved = fitted.systems[group]
        Y = fitted.targets[np.ix_(fitted.numbers, targets)]
        self.fitted, self.solved, self.full = fitted, solved, solved.solve(Y)
        _, self.fold = np.unique(np.arange(len(Y)) if fold is None else fold, return_inverse=True)
        counts, self.single = np.bincount(self.fold), fold is None
        self.order, self.starts = np.argsort(self.fold, kind="stable"), np.cumsum(counts) - counts
        sets, left = np.split(self.order, self.starts[1:]), fitted.leave_outs[group][1]
        self.errors = np.zeros_like(left.a)  # E of every row in weighted coordinates
        found = left.residuals(sets) if len(sets) > 1 else [None]  # one set leaves no row
        bad = [i for i, E in enumerate(found) if E is None]
        for rows, E in zip(sets, found, strict=True):
            self.errors[rows] = 0.0 if E is None else E
        what = f"Refitting {len(bad)} times, each time without one fold or row,"
        way_out = "Use a larger alpha: the system is then not singular, and no refits are needed."
        promise(8 * len(bad) * _coefficients(self.full).size, what, way_out)
        self.residuals = self.errors / solved.root[:, None]
        self.refitted = [(i, *self._refit(sets[i], Y)) for i in bad]
        for i, weights, constant in self.refitted:
            new = fitted.columns(Rows(fitted.X[fitted.numbers[sets[i]]], fitted.names))
            self.residuals[sets[i]] = Y[sets[i]] - new.T @ weights - constant
        route = self.full.route
        self.rounding = relative_error(solved, replace(route, condition=1.0) if route.singular else route)

    def _refit(self, rows: Array, Y: Array) -> tuple[Array, Array]:
        """Coefficients and intercept without these rows. A model of no rows predicts zero."""
        weights, train = np.zeros_like(_coefficients(self.full)), np.setdiff1d(np.arange(len(Y)), rows)
        if not len(train):
            return weights, np.zeros(Y.shape[1])
        system = self.fitted.system(self.fitted.numbers[train])
        if isinstance(system, PrimalSystem):
            found = system.at(self.solved.alpha).solve(Y[train])
            return _coefficients(found), found.intercept
        found = system.solve(Y[train], self.solved.alpha, "spectral")  # which tells what is rounding
        weights[train] = found.dual
        return weights, found.intercept

    def predictions(self, new: Array) -> Iterator[Array]:
        """For each target f_-S(x0) with a column for each training row, S being the fold it is in (12)."""
        shares = np.ascontiguousarray(self.solved.shares(new).T)  # u(x0) as rows
        for target in range(self.errors.shape[1]):
            change = shares * self.errors[:, target]
            if not self.single:
                change = np.add.reduceat(change[:, self.order], self.starts, axis=1)
            centre = new.T @ _coefficients(self.full)[:, target] + self.full.intercept[target]
            values = np.subtract(centre[:, None], change, out=change)
            for i, weights, constant in self.refitted:
                values[:, i] = new.T @ weights[:, target] + constant[target]
            yield values if self.single else values[:, self.fold]


def _coefficients(solution: Solution) -> Array:
    return solution.dual if solution.primal is None else solution.primal


def held_out_models(fitted: FittedRidge, fold: Array | None = None) -> list[tuple[Array, HeldOutModels]]:
    """For each distinct alpha its targets, and the models without one row or without one fold.

    `fold`: the fold of each training row. The models without single rows are kept with the fitted model.
    """
    known, own = (vars(fitted), None) if fold is None else ({}, fold[fitted.numbers])
    if "held-out models" not in known:
        groups = enumerate(fitted.systems)
        known["held-out models"] = [(mine, HeldOutModels(fitted, group, own)) for group, (mine, _) in groups]
    found: list[tuple[Array, HeldOutModels]] = known["held-out models"]
    return found


@underflow_is_zero
def interval_bounds(
    fitted: FittedRidge, rows: Rows, confidence: float, method: str, folds: Folds | None, diagonal: Array | None
) -> tuple[Array, Array]:
    """Lower and upper ends of the intervals of new rows, m x t.

    Parameters
    ----------
    fitted : FittedRidge
        The model.
    rows : Rows
        New rows.
    confidence, method
        As for `KernelRidge.predict_interval`.
    folds : Folds or None
        For method="cv+".
    diagonal : ndarray of shape (m,) or None
        k(x, x), for method="gaussian" unless the primal was solved.
    """
    confidence, known = check_confidence(confidence), isinstance(method, str) and method in METHODS
    refuse_if(not known, "method", "'jackknife+', 'cv+', 'gaussian' or 'full'", repr(method))
    if method == "gaussian":
        scale = fitted.evidence()[0]
        variance = scale * fitted.variance(rows, diagonal)
        return gaussian_bounds(fitted.values(rows), variance, fitted.alphas * scale, confidence)
    groups = held_out_models(fitted, None if folds is None else fold_numbers(folds))
    reach = np.empty((len(fitted.numbers), len(fitted.alphas)))
    for mine, left in groups:
        reach[:, mine] = np.abs(left.residuals)

    def values(part: slice) -> Iterator[tuple[int, Array]]:
        new = fitted.columns(rows[part])
        for mine, left in groups:
            yield from zip(mine.tolist(), left.predictions(new), strict=True)

    lower, upper = held_out_bounds(reach, values, len(rows), confidence)
    for mine, left in groups:  # outwards by their errors, so that an end that is a target includes it
        Y = fitted.targets[np.ix_(fitted.numbers, mine)]
        centre = Y.mean(axis=0) if fitted.intercept else np.zeros(len(mine))
        for ends, sign in ((lower, -1.0), (upper, 1.0)):
            size = left.rounding * (np.abs(Y - centre).max(axis=0) + np.abs(ends[:, mine] - centre))
            ends[:, mine] += sign * np.where(np.isfinite(ends[:, mine]), size + 2 * EPS * np.abs(ends[:, mine]), 0.0)
    return lower, upper
