"""Prediction intervals from one factor: jackknife+ and CV+ without a refit, and the Gaussian ones.

Equation (12) of docs/derivations gives the prediction at x0 of the model without any set of rows; section 19 says
what is made of it.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mercer.backends import promise, run
from mercer.data.folds import Folds
from mercer.data.rows import Array
from mercer.errors import InputError, sentence
from mercer.kernels.tiles import TILE, blocks
from mercer.solvers import Penalised, Solution
from mercer.solvers.removal import held_out_errors, removal_of

METHODS = ("jackknife+", "cv+", "gaussian")


@dataclass(frozen=True, eq=False)
class Coverage:
    """How many new targets lie inside their intervals; `float` gives the share.

    Attributes
    ----------
    share : float or ndarray of shape (n_targets,)
        Share of the rows whose target lies inside, ends included.
    width : float or ndarray of shape (n_targets,)
        Mean width of the intervals.
    confidence : float
        The share that was asked for.
    method : str
        How the intervals were made.
    rows : int
        How many rows were asked about.

    Examples
    --------
    >>> from mercer.insight.intervals import Coverage
    >>> found = Coverage(share=0.92, width=3.1, confidence=0.9, method="jackknife+", rows=50)
    >>> print(found)
    92.0 % of 50 rows inside (asked: 90 %, jackknife+); mean width 3.1
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

    def __str__(self) -> str:
        shares = ", ".join(f"{100 * share:.1f} %" for share in np.atleast_1d(self.share))
        widths = ", ".join(f"{width:.3g}" for width in np.atleast_1d(self.width))
        asked = f"{100 * self.confidence:.4g} %, {self.method}"
        return f"{shares} of {self.rows} rows inside (asked: {asked}); mean width {widths}"


def checked_confidence(value: Any) -> float:
    """Confidence as a number between 0 and 1, both excluded.

    Examples
    --------
    >>> from mercer.insight.intervals import checked_confidence
    >>> checked_confidence(90)
    Traceback (most recent call last):
        ...
    mercer.errors.InputError: confidence must be a number between 0 and 1, both excluded; got 90. ...
    """
    real = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    if not real or not 0.0 < float(value) < 1.0:
        what = "a number between 0 and 1, both excluded"
        raise InputError(sentence("confidence", what, repr(value), "Use 0.9 for intervals that miss one in ten."))
    return float(value)


def checked_method(value: Any) -> str:
    """A method there is."""
    if not isinstance(value, str) or value not in METHODS:
        raise InputError(sentence("method", "'jackknife+', 'cv+' or 'gaussian'", repr(value)))
    return value


def upper_rank(n: int, confidence: float) -> int:
    """ceil((1 - q) (n + 1)), q = 1 - confidence: which of n sorted values holds a further one with this confidence.

    n + 1 means that none of them does. q (n + 1) is rounded to 1e-9 first, for in floating point (1 - 0.9) 100 is
    less than 10.

    Examples
    --------
    >>> from mercer.insight.intervals import upper_rank
    >>> upper_rank(99, 0.9), upper_rank(98, 0.9), upper_rank(8, 0.9)
    (90, 90, 9)
    """
    return n + 1 - math.floor(round((1.0 - confidence) * (n + 1), 9))


def ranks(n: int, confidence: float) -> tuple[int, int]:
    """Which of n sorted values are the ends: floor(q (n + 1)) and ceil((1 - q) (n + 1)), which add up to n + 1.

    0 and n + 1 do not exist: the interval has no end there.

    Examples
    --------
    >>> from mercer.insight.intervals import ranks
    >>> ranks(99, 0.9), ranks(98, 0.9), ranks(8, 0.9)
    ((10, 90), (9, 90), (0, 9))
    """
    high = upper_rank(n, confidence)
    return n + 1 - high, high


def fold_numbers(folds: Folds) -> Array:
    """The number of the fold that each row belongs to; folds that are no partition are refused."""
    if len(folds.repeats) > 1 or not folds.partition:
        what = "a partition: every row tested once, by a model of all rows outside its own fold"
        out = "Give cv a number of folds, or use method='jackknife+', which needs none."
        raise InputError(sentence("The folds of cv+", what, folds.label, out))
    fold = np.empty(folds.n, dtype=np.intp)
    for number, split in enumerate(folds.splits):
        fold[split.test] = number
    return fold


class Training(Protocol):
    """The training rows with weight, as far as refits need them."""

    def columns(self, rows: Array) -> Array:
        """k(X, x), or phi(x) in the primal, of these training rows as columns."""

    def fit(self, rows: Array, alpha: float, Y: Array) -> Solution:
        """Coefficients from these rows alone."""


class LeftOut:
    """The models that leave one fold out, all from one factor; for the targets that share an alpha.

    Parameters
    ----------
    solved : Penalised
        The system of all rows.
    Y : ndarray of shape (n, t)
        Targets.
    fold : ndarray of int, shape (n,), or None
        The fold of each row; None leaves single rows out.
    training : Training
        For the folds that a singular system cannot do without; those are refitted.

    Attributes
    ----------
    reach : ndarray of shape (n, t)
        R, the absolute errors at the rows left out.
    """

    def __init__(self, solved: Penalised, Y: Array, fold: Array | None, training: Training) -> None:
        self.removal, self.full = removal_of(solved), solved.solve(Y)
        _, self.fold = np.unique(np.arange(len(Y)) if fold is None else fold, return_inverse=True)
        counts = np.bincount(self.fold)
        self.order = np.argsort(self.fold, kind="stable")
        self.starts = np.cumsum(counts) - counts
        self.single = fold is None
        sets = np.split(self.order, self.starts[1:])
        self.errors, good = held_out_errors(self.removal, Y, sets)
        errors = self.errors / self.removal.root[:, None]
        bad = np.flatnonzero(~good)
        promise(
            8 * len(bad) * _coefficients(self.full).size,
            f"Refitting without each of {len(bad)} sets of rows",
            "A larger alpha makes the system regular, and needs no refits.",
        )
        self.refitted: list[tuple[int, Array, Array]] = []
        for i in bad:
            weights, constant = self._refit(sets[i], solved.alpha, Y, training)
            self.refitted.append((int(i), weights, constant))
            errors[sets[i]] = Y[sets[i]] - training.columns(sets[i]).T @ weights - constant
        self.reach = np.abs(errors)

    def _refit(self, rows: Array, alpha: float, Y: Array, training: Training) -> tuple[Array, Array]:
        """Coefficients and intercept without these rows. A model of no rows predicts zero."""
        weights, constant = np.zeros_like(_coefficients(self.full)), np.zeros(Y.shape[1])
        train = np.setdiff1d(np.arange(len(Y)), rows)
        if not len(train):
            return weights, constant
        found = training.fit(train, alpha, Y[train])
        if found.primal is not None:
            return found.primal, found.intercept
        weights[train] = found.dual
        return weights, found.intercept

    def shares(self, new: Array) -> Array:
        """u(x0) as rows, for `predictions`."""
        return np.ascontiguousarray(self.removal.shares(new).T)

    def predictions(self, new: Array, shares: Array, target: int) -> Array:
        """f_-S(x0) for each training row as a column, S being the fold it is in (12)."""
        change = shares * self.errors[:, target]
        if not self.single:
            change = np.add.reduceat(change[:, self.order], self.starts, axis=1)
        centre = new.T @ _coefficients(self.full)[:, target] + self.full.intercept[target]
        values = np.subtract(centre[:, None], change, out=change)
        for i, weights, constant in self.refitted:
            values[:, i] = new.T @ weights[:, target] + constant[target]
        return values if self.single else np.asarray(values[:, self.fold])


def _coefficients(solution: Solution) -> Array:
    return solution.dual if solution.primal is None else solution.primal


def held_out_bounds(
    groups: Sequence[tuple[Array, LeftOut]], columns: Callable[[slice], Array], count: int, confidence: float
) -> tuple[Array, Array]:
    """Ends of the intervals: of all f_-S(x0) - R_i and f_-S(x0) + R_i those with the right ranks.

    Parameters
    ----------
    groups : sequence of (targets, LeftOut)
        The models that leave rows out, for the targets with each alpha.
    columns : callable
        k(X, x0), or phi(x0) in the primal, as columns for a slice of the new rows.
    count : int
        How many new rows there are.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    lower, upper : ndarray of shape (count, t)
        Infinite where the rank does not exist.
    """
    n = len(groups[0][1].reach)
    low, high = ranks(n, confidence)
    targets = sum(len(mine) for mine, _ in groups)
    lower, upper = np.full((count, targets), -np.inf), np.full((count, targets), np.inf)
    if low == 0:
        return lower, upper

    def fill(part: slice) -> None:
        new = columns(part)
        for mine, left in groups:
            shares = left.shares(new)
            for j, target in enumerate(mine):
                values, reach = left.predictions(new, shares, j), left.reach[:, j]
                lower[part, target] = _ranked(values - reach, low)
                values += reach
                upper[part, target] = _ranked(values, high)

    # no array of new rows against training rows is larger than a tile
    run(fill, blocks(count, max(1, TILE * TILE // n)))
    return lower, upper


def _ranked(values: Array, rank: int) -> Array:
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


def covered(lower: Array, upper: Array, y: Array, confidence: float, method: str) -> Coverage:
    """Share of targets inside, and mean width; an interval whose ends have crossed is empty, its width zero.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.insight.intervals import covered
    >>> print(covered(np.zeros(4), np.full(4, 2.0), np.array([0.0, 1.0, 2.0, 3.0]), 0.8, "gaussian"))
    75.0 % of 4 rows inside (asked: 80 %, gaussian); mean width 2
    """
    share = ((lower <= y) & (y <= upper)).mean(axis=0)
    width = np.maximum(upper - lower, 0.0).mean(axis=0)
    if y.ndim == 1:
        return Coverage(float(share), float(width), confidence, method, len(y))
    return Coverage(share, width, confidence, method, len(y))
