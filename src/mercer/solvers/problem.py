"""A regression: targets, weights and an unpenalized constant, the same for every kernel and alpha."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mercer.data.rows import Array, Rows

_ROUNDED = 8 * np.finfo(float).eps  # relative size below which what is left of a constant target is rounding


@dataclass(frozen=True, eq=False)
class Problem:
    """Targets, weights and intercept of one regression.

    Attributes
    ----------
    Y : ndarray of shape (n, t)
        Targets.
    weights : ndarray of shape (n,) or None
        Sample weights; rows of weight zero are predicted and never trained on.
    intercept : bool
        Whether the model has an unpenalized constant.
    balance : ndarray of shape (n,) or None
        Labels whose classes are to weigh the same in every training set.
    gram : bool
        Whether the rows are those of a Gram matrix given in place of X.
    labels : bool
        Whether Y stands for labels, so that the signs of predictions count and not their distance from Y.
    centre : ndarray of shape (t,) or float
        What was subtracted from the targets given to make Y; predictions of Y plus this are those of the targets.
    """

    Y: Array
    weights: Array | None
    intercept: bool
    balance: Array | None = None
    gram: bool = False
    labels: bool = False
    centre: Array | float = 0.0

    def subtract_mean(self) -> Problem:
        """The problem with Y less its weighted mean, where the model has an intercept to add it again.

        Every residual is the same, and targets far from zero lose no digits.
        """
        if not self.intercept:
            return self
        w = self.root**2
        centre = (w / w.sum()) @ self.Y[self.used_rows]
        Y = self.Y - centre
        constant = np.abs(Y).max(axis=0) <= _ROUNDED * np.abs(centre)  # what is left of a constant is rounding
        return replace(self, Y=np.where(constant, 0.0, Y), centre=self.centre + centre)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.Y)

    @cached_property
    def used_rows(self) -> Array:
        """Rows with weight."""
        return np.arange(self.n) if self.weights is None else np.flatnonzero(self.weights > 0)

    @cached_property
    def unused_rows(self) -> Array:
        """Rows of weight zero."""
        return np.flatnonzero(self.place < 0)

    @cached_property
    def root(self) -> Array:
        """V: square roots of the weights of the used rows."""
        return np.ones(self.n) if self.weights is None else np.sqrt(self.weights[self.used_rows])

    @cached_property
    def place(self) -> Array:
        """Where each row stands among the used ones; -1 for the others."""
        place = np.full(self.n, -1, dtype=np.intp)
        place[self.used_rows] = np.arange(len(self.used_rows))
        return place


def take_rows(rows: Rows, problem: Problem, part: Array) -> tuple[Rows, Problem]:
    """Some of the rows and their targets, in the order of `part`."""
    values = rows.values[part][:, part] if problem.gram else rows.values[part]
    weights, balance = (None if given is None else given[part] for given in (problem.weights, problem.balance))
    return Rows(values, rows.names), replace(problem, Y=problem.Y[part], weights=weights, balance=balance)


def take_used(rows: Rows, problem: Problem) -> tuple[Rows, Problem]:
    """The rows with weight and their targets."""
    return take_rows(rows, problem, problem.used_rows) if len(problem.unused_rows) else (rows, problem)
