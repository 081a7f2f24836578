"""The models that leave one row or one fold out, all from one factor: what intervals are made of."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np

from mercer.backends import promise
from mercer.data.folds import Folds
from mercer.data.rows import Array
from mercer.errors import InputError, MercerError, sentence
from mercer.selection.leave_out import LeaveOut
from mercer.selection.leave_out_dual import Inverted, Spectral
from mercer.selection.leave_out_primal import Explicit
from mercer.selection.problem import Problem
from mercer.solvers import Penalised, Solution
from mercer.solvers.cholesky import Cholesky
from mercer.solvers.primal import PrimalSolved
from mercer.solvers.solution import DualSolved
from mercer.solvers.spectral import SpectralInverse


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


def leave_out_of(solved: Penalised, Y: Array) -> LeaveOut:
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
        raise MercerError(f"Rows cannot be left out of {type(solved).__name__}.")
    problem, inverse = Problem(Y, solved.root**2, solved.border is not None).centred(), solved.inverse
    if isinstance(inverse, Cholesky):
        return Inverted.of_factor(inverse, problem)
    if isinstance(inverse, SpectralInverse):
        U = inverse.spectrum.vectors
        return Spectral(inverse.spectrum.values, U, U * U, None, inverse.alpha, problem)
    raise MercerError(f"Rows cannot be left out of {type(inverse).__name__}.")


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
    residuals : ndarray of shape (n, t)
        Errors at the rows left out, y less what the model without them predicts.
    """

    def __init__(self, solved: Penalised, Y: Array, fold: Array | None, training: Training) -> None:
        self.solved, self.full = solved, solved.solve(Y)
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
            f"Refitting without each of {len(bad)} sets of rows",
            "A larger alpha makes the system regular, and needs no refits.",
        )
        self.refitted: list[tuple[int, Array, Array]] = []
        for i in bad:
            weights, constant = self._refit(sets[i], solved.alpha, Y, training)
            self.refitted.append((int(i), weights, constant))
            errors[sets[i]] = Y[sets[i]] - training.columns(sets[i]).T @ weights - constant
        self.residuals = errors

    @staticmethod
    def _errors(left: LeaveOut, sets: list[Array]) -> tuple[Array, Array]:
        """E of every row in weighted coordinates, and which sets have one: not those that leave no row."""
        E, good = np.zeros_like(left.a), np.zeros(len(sets), dtype=bool)
        if len(sets) > 1:
            for i, found in enumerate(left.residuals(sets)):
                if found is not None:
                    E[sets[i]], good[i] = found, True
        return E, good

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
