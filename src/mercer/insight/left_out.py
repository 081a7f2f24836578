"""Prediction intervals of a fitted model, from the models that leave one row or one fold out of its one factor."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.data.folds import Folds
from mercer.data.rows import Array, Rows
from mercer.errors import InputError, MercerError, sentence
from mercer.insight.intervals import checked_confidence, checked_method, gaussian_bounds, held_out_bounds
from mercer.kernels.tiles import underflow_is_zero
from mercer.runtime import promise
from mercer.selection.leave_out import LeaveOut
from mercer.selection.leave_out_dual import Inverted, Spectral
from mercer.selection.leave_out_primal import Explicit
from mercer.selection.problem import Problem
from mercer.solvers import Penalized, PrimalSystem, Solution
from mercer.solvers.cholesky import Cholesky
from mercer.solvers.dual import SpectralInverse
from mercer.solvers.fitted import FittedRidge
from mercer.solvers.primal import PrimalSolved
from mercer.solvers.route import EPS, Route, digits_left
from mercer.solvers.solution import DualSolved


def fold_numbers(folds: Folds) -> Array:
    """The number of the fold that each row belongs to; an error if the folds are not a partition."""
    if len(folds.repeats) > 1 or not folds.partition:
        what = "a partition: every row in exactly one test fold, and all other rows in its training set"
        out = "Set cv to a number of folds and repeats to 1, or use method='jackknife+', which needs no folds."
        raise InputError(sentence("The folds of cv+", what, folds.label, out))
    fold = np.empty(folds.n, dtype=np.intp)
    for number, split in enumerate(folds.splits):
        fold[split.test] = number
    return fold


def leave_out_of(solved: Penalized, Y: Array) -> LeaveOut:
    """Models without sets of rows, from a fitted model's own factor.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.insight.left_out import leave_out_of
    >>> from mercer.solvers import DualSystem
    >>> K, y = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[1.0], [0.0]])
    >>> E, good = leave_out_of(DualSystem(K, None).at(1.0, "cholesky"), y).single_residuals()
    >>> E.round(4).tolist(), good.tolist()  # the first row alone predicts 1 / (2 + 1) at the second
    ([[1.0], [-0.3333]], [True, True])
    """
    if isinstance(solved, PrimalSolved):
        system = solved.system
        problem = Problem(Y, system.root**2, system.intercept).centred()
        U, s, _ = system.singular() if solved.alpha == 0 else (np.empty((0, 0)), np.empty(0), None)
        reached = s > 0
        if solved.alpha > 0 or reached.sum() + system.intercept < system.n:
            return Explicit(solved, problem)
        U = U[:, reached]  # the model goes through every point; constants are not in the span of centred features
        return Spectral(s[reached] ** 2, U, U * U, None, 0.0, replace(problem, intercept=False))
    if not isinstance(solved, DualSolved):
        raise MercerError(f"Internal error: no leave-one-out predictions for {type(solved).__name__}.")
    problem, inverse = Problem(Y, solved.root**2, solved.border is not None).centred(), solved.inverse
    if isinstance(inverse, Cholesky):
        return Inverted.of_factor(inverse, problem)
    if isinstance(inverse, SpectralInverse):
        U = inverse.spectrum.vectors
        return Spectral(inverse.spectrum.values, U, U * U, None, inverse.alpha, problem)
    raise MercerError(f"Internal error: no leave-one-out predictions for {type(inverse).__name__}.")


def relative_error(solved: Penalized, route: Route) -> float:
    """Relative error of predictions and residuals that the condition of a system allows, at most 1.

    Explicit features are rounded before they are centred, and sums of n numbers are never exact.
    """
    condition = route.condition
    if isinstance(solved, PrimalSolved):
        system = solved.system
        if solved.cholesky is None:  # what is lost to rounding counts as zero, and alpha has no part in it
            s = system.singular()[1]
            condition = max(1.0, float(s.max(initial=0.0) * (s * solved.inverse).max(initial=0.0)))
        spread, offset = float(np.trace(system.normal())), system.total * float(system.mean @ system.mean)
        # features that differ by rounding alone have no part in the model
        condition *= math.sqrt(max(1.0, offset / spread)) if spread > (16 * EPS) ** 2 * offset else 1.0
    return float(max(10.0 ** -digits_left(condition), EPS * (8.0 + math.sqrt(len(solved.root)))))


class LeftOut:
    """The models that leave one fold out, all from one factor; for the targets that share an alpha.

    Parameters
    ----------
    fitted : FittedRidge
        The model of all rows.
    targets : ndarray of int
        Those that share an alpha.
    solved : Penalized
        Their system; folds that a singular one cannot do without are refitted.
    fold : ndarray of int, shape (n,), or None
        The fold of each row that was trained on; None leaves single rows out.

    Attributes
    ----------
    residuals : ndarray of shape (n, t)
        Errors at the rows left out, y less what the model without them predicts.
    rounding : float
        Relative error of predictions; that of sums alone for a singular system, whose condition is not known.
    """

    def __init__(self, fitted: FittedRidge, targets: Array, solved: Penalized, fold: Array | None) -> None:
        Y = fitted.targets[np.ix_(fitted.numbers, targets)]
        self.fitted, self.solved, self.full = fitted, solved, solved.solve(Y)
        _, self.fold = np.unique(np.arange(len(Y)) if fold is None else fold, return_inverse=True)
        counts = np.bincount(self.fold)
        self.order = np.argsort(self.fold, kind="stable")
        self.starts = np.cumsum(counts) - counts
        self.single = fold is None
        sets = [np.sort(rows) for rows in np.split(self.order, self.starts[1:])]
        self.errors, good = self._errors(leave_out_of(solved, Y), sets)
        errors = self.errors / solved.root[:, None]
        bad = np.flatnonzero(~good)
        promise(
            8 * len(bad) * _coefficients(self.full).size,
            f"Refitting {len(bad)} times, each time without one fold or row,",
            "Use a larger alpha: the system is then not singular, and no refits are needed.",
        )
        self.refitted: list[tuple[int, Array, Array]] = []
        for i in bad:
            weights, constant = self._refit(sets[i], Y)
            self.refitted.append((int(i), weights, constant))
            new = fitted.columns(Rows(fitted.X[fitted.numbers[sets[i]]], fitted.names))
            errors[sets[i]] = Y[sets[i]] - new.T @ weights - constant
        self.residuals = errors
        route = self.full.route
        self.rounding = relative_error(solved, replace(route, condition=1.0) if route.singular else route)

    @staticmethod
    def _errors(left: LeaveOut, sets: list[Array]) -> tuple[Array, Array]:
        """E of every row in weighted coordinates, and which sets have one: not those that leave no row."""
        E, good = np.zeros_like(left.a), np.zeros(len(sets), dtype=bool)
        if len(sets) > 1:
            for i, found in enumerate(left.residuals(sets)):
                if found is not None:
                    E[sets[i]], good[i] = found, True
        return E, good

    def _refit(self, rows: Array, Y: Array) -> tuple[Array, Array]:
        """Coefficients and intercept without these rows. A model of no rows predicts zero."""
        weights, constant = np.zeros_like(_coefficients(self.full)), np.zeros(Y.shape[1])
        train = np.setdiff1d(np.arange(len(Y)), rows)
        if not len(train):
            return weights, constant
        system = self.fitted.system(self.fitted.numbers[train])
        if isinstance(system, PrimalSystem):
            found = system.at(self.solved.alpha).solve(Y[train])
            return _coefficients(found), found.intercept
        found = system.solve(Y[train], self.solved.alpha, "spectral")  # which tells what is rounding
        weights[train] = found.dual
        return weights, found.intercept

    def shares(self, new: Array) -> Array:
        """u(x0) as rows, for `predictions`."""
        return np.ascontiguousarray(self.solved.shares(new).T)

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


def left_out_of(fitted: FittedRidge, fold: Array | None = None) -> list[tuple[Array, LeftOut]]:
    """For each distinct alpha its targets, and the models without one row or without one fold.

    `fold`: the fold of each training row. The models without single rows are kept until `fitted.known` is cleared.
    """
    if fold is None and "left out" in fitted.known:
        kept: list[tuple[Array, LeftOut]] = fitted.known["left out"]
        return kept
    own = None if fold is None else fold[fitted.numbers]
    found = [(mine, LeftOut(fitted, mine, solved, own)) for mine, solved in fitted.systems]
    if fold is None:
        fitted.known["left out"] = found
    return found


@underflow_is_zero
def interval_bounds(
    fitted: FittedRidge, rows: Rows, confidence: Any, method: Any, folds: Folds | None, diagonal: Array | None
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
    confidence, method = checked_confidence(confidence), checked_method(method)
    if method == "gaussian":
        scale = fitted.evidence()[0]
        variance = scale * fitted.variance(rows, diagonal)
        return gaussian_bounds(fitted.values(rows), variance, fitted.alphas * scale, confidence)
    groups = left_out_of(fitted, None if folds is None else fold_numbers(folds))
    reach = np.empty((len(fitted.numbers), len(fitted.alphas)))
    for mine, left in groups:
        reach[:, mine] = np.abs(left.residuals)

    def values(part: slice) -> Iterator[tuple[int, Array]]:
        new = fitted.columns(rows[part])
        for mine, left in groups:
            shares = left.shares(new)
            yield from ((int(target), left.predictions(new, shares, j)) for j, target in enumerate(mine))

    lower, upper = held_out_bounds(reach, values, len(rows), confidence)
    for mine, left in groups:  # outwards by their errors, so that an end that is a target includes it
        Y = fitted.targets[np.ix_(fitted.numbers, mine)]
        centre = Y.mean(axis=0) if fitted.intercept else np.zeros(len(mine))
        for ends, sign in ((lower, -1.0), (upper, 1.0)):
            size = left.rounding * (np.abs(Y - centre).max(axis=0) + np.abs(ends[:, mine] - centre))
            ends[:, mine] += sign * np.where(np.isfinite(ends[:, mine]), size + 2 * EPS * np.abs(ends[:, mine]), 0.0)
    return lower, upper
