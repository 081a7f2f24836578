"""A regression: targets, weights and an unpenalized constant, the same for every kernel and alpha; and its loss.

Losses l(y, f) are convex, with two derivatives by f: what Newton's method, and leaving rows out, need to know of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import expit, softmax

from mercer.data.rows import Array, Rows

_ROUNDED = 8 * np.finfo(float).eps  # relative size below which what is left of a constant target is rounding
_LARGEST = 700.0  # exponents up to which exp is finite


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


@dataclass(frozen=True)
class Loss:
    """A loss of one value f per row, as functions of arrays of targets y (n,) and values f (n, 1).

    A subclass is its `rows` and two derivatives; `mean` turns f into a prediction on the scale of y.
    """

    name: ClassVar[str]
    needs: ClassVar[str] = ""  # what targets must be; empty if every number will do

    def rows(self, y: Array, f: Array) -> Array:
        """l(y, f) of each row (n,)."""
        raise NotImplementedError

    def slope(self, y: Array, f: Array) -> Array:
        """dl/df (n, 1)."""
        raise NotImplementedError

    def curvature(self, y: Array, f: Array) -> Array:
        """d2l/df2, not negative (n, 1)."""
        raise NotImplementedError

    def mean(self, f: Array) -> Array:
        """Predictions on the scale of y."""
        return f

    def fits(self, y: Array) -> bool:
        """Whether all targets are as `needs` says."""
        return True

    def constant(self, y: Array, weights: Array) -> Array:
        """The best constant value (1,), or one near it: where Newton's method begins."""
        return np.array([np.average(y, weights=weights)])


@dataclass(frozen=True)
class Squared(Loss):
    """Half of the squared error."""

    name: ClassVar[str] = "squared"

    def rows(self, y: Array, f: Array) -> Array:
        """(y - f)^2 / 2."""
        return np.asarray(0.5 * (y - f[:, 0]) ** 2)

    def slope(self, y: Array, f: Array) -> Array:
        """f - y."""
        return f - y[:, None]

    def curvature(self, y: Array, f: Array) -> Array:
        """1."""
        return np.ones_like(f)


@dataclass(frozen=True)
class Huber(Loss):
    """Half of the squared error up to `delta`, and linear beyond.

    Attributes
    ----------
    delta : float
        In units of y.
    """

    delta: float = 1.0
    name: ClassVar[str] = "huber"

    def rows(self, y: Array, f: Array) -> Array:
        """r^2 / 2 for |r| <= delta, and delta |r| - delta^2 / 2 beyond."""
        size = np.abs(y - f[:, 0])
        return np.asarray(np.where(size <= self.delta, 0.5 * size**2, self.delta * (size - 0.5 * self.delta)))

    def slope(self, y: Array, f: Array) -> Array:
        """f - y, clipped to delta."""
        return np.asarray(np.clip(f - y[:, None], -self.delta, self.delta))

    def curvature(self, y: Array, f: Array) -> Array:
        """1 up to delta, and 0 beyond."""
        return np.asarray(np.abs(f - y[:, None]) <= self.delta, dtype=np.float64)

    def constant(self, y: Array, weights: Array) -> Array:
        """The median."""
        return np.array([weighted_quantile(y, weights, 0.5)])


@dataclass(frozen=True)
class Expectile(Loss):
    """|level - [y < f]| (y - f)^2: half of the squared error at level 0.5.

    Attributes
    ----------
    level : float
        Between 0 and 1.
    """

    level: float = 0.5
    name: ClassVar[str] = "expectile"

    def _weights(self, y: Array, f: Array) -> Array:
        return np.where(f < y[:, None], self.level, 1.0 - self.level)

    def rows(self, y: Array, f: Array) -> Array:
        """Weighted squared errors."""
        return np.asarray(self._weights(y, f)[:, 0] * (y - f[:, 0]) ** 2)

    def slope(self, y: Array, f: Array) -> Array:
        """Twice the weighted residual."""
        return np.asarray(2.0 * self._weights(y, f) * (f - y[:, None]))

    def curvature(self, y: Array, f: Array) -> Array:
        """Twice the weight."""
        return np.asarray(2.0 * self._weights(y, f))


@dataclass(frozen=True)
class Pinball(Loss):
    """level (y - f) above f and (level - 1)(y - f) below, quadratic within `smoothing` of 0.

    Attributes
    ----------
    level : float
        Between 0 and 1.
    smoothing : float
        In units of y. It changes the loss by at most a quarter of itself.
    """

    level: float = 0.5
    smoothing: float = 1e-3
    name: ClassVar[str] = "quantile"

    def rows(self, y: Array, f: Array) -> Array:
        """The smoothed pinball loss."""
        r, h = y - f[:, 0], self.smoothing
        inside = r**2 / (4.0 * h) + (self.level - 0.5) * r + 0.25 * h
        return np.where(np.abs(r) < h, inside, np.maximum(self.level * r, (self.level - 1.0) * r))

    def slope(self, y: Array, f: Array) -> Array:
        """Minus the level above f, one minus the level below, linear in between."""
        return np.asarray(0.5 - self.level - np.clip((y[:, None] - f) / (2.0 * self.smoothing), -0.5, 0.5))

    def curvature(self, y: Array, f: Array) -> Array:
        """1 / (2 smoothing) within it."""
        return np.where(np.abs(y[:, None] - f) < self.smoothing, 0.5 / self.smoothing, 0.0)

    def constant(self, y: Array, weights: Array) -> Array:
        """The quantile of the targets."""
        return np.array([weighted_quantile(y, weights, self.level)])


@dataclass(frozen=True)
class Poisson(Loss):
    """Half of the Poisson deviance of counts with mean exp(f)."""

    name: ClassVar[str] = "poisson"
    needs: ClassVar[str] = "non-negative numbers, not all of them 0"

    def rows(self, y: Array, f: Array) -> Array:
        """exp(f) - y f + y log y - y."""
        logs = np.log(np.where(y > 0, y, 1.0))
        return np.asarray(self.mean(f[:, 0]) - y * f[:, 0] + y * logs - y)

    def slope(self, y: Array, f: Array) -> Array:
        """exp(f) - y."""
        return self.mean(f) - y[:, None]

    def curvature(self, y: Array, f: Array) -> Array:
        """exp(f)."""
        return self.mean(f)

    def mean(self, f: Array) -> Array:
        """exp(f)."""
        return np.exp(np.minimum(f, _LARGEST))

    def fits(self, y: Array) -> bool:
        """Whether the targets are counts or rates."""
        return bool((y >= 0).all() and (y > 0).any())

    def constant(self, y: Array, weights: Array) -> Array:
        """Logarithm of the mean."""
        return np.log([np.average(y, weights=weights)])


@dataclass(frozen=True)
class Gamma(Poisson):
    """Half of the gamma deviance of positive targets with mean exp(f)."""

    name: ClassVar[str] = "gamma"
    needs: ClassVar[str] = "positive numbers"

    def rows(self, y: Array, f: Array) -> Array:
        """y exp(-f) + f - log y - 1."""
        return np.asarray(self._ratio(y, f)[:, 0] + f[:, 0] - np.log(y) - 1.0)

    def slope(self, y: Array, f: Array) -> Array:
        """1 - y exp(-f)."""
        return 1.0 - self._ratio(y, f)

    def curvature(self, y: Array, f: Array) -> Array:
        """y exp(-f)."""
        return self._ratio(y, f)

    def fits(self, y: Array) -> bool:
        """Whether all targets are positive."""
        return bool((y > 0).all())

    @staticmethod
    def _ratio(y: Array, f: Array) -> Array:
        return np.asarray(y[:, None] * np.exp(np.minimum(-f, _LARGEST)))


@dataclass(frozen=True)
class Logistic(Loss):
    """Minus the log probability of labels 0 and 1, of which 1 has probability 1 / (1 + exp(-f))."""

    name: ClassVar[str] = "logistic"

    def rows(self, y: Array, f: Array) -> Array:
        """log(1 + exp(f)) - y f."""
        return np.asarray(np.logaddexp(0.0, f[:, 0]) - y * f[:, 0])

    def slope(self, y: Array, f: Array) -> Array:
        """The probability less y."""
        return np.asarray(expit(f) - y[:, None])

    def curvature(self, y: Array, f: Array) -> Array:
        """p (1 - p)."""
        return np.asarray(expit(f) * expit(-f))

    def mean(self, f: Array) -> Array:
        """The probability of label 1."""
        return np.asarray(expit(f))

    def constant(self, y: Array, weights: Array) -> Array:
        """The logarithm of the odds."""
        share = np.average(y, weights=weights)
        return np.log([share / (1.0 - share)]) if 0 < share < 1 else np.array([0.0])


@dataclass(frozen=True)
class Softmax(Loss):
    """Minus the log probability of class numbers y, with probabilities softmax(f) of values f (n, classes).

    `curvature` are the probabilities: the matrix of second derivatives of a row is diag(p) - p p'.

    Attributes
    ----------
    classes : int
        How many classes there are.
    """

    classes: int = 3
    name: ClassVar[str] = "softmax"

    def rows(self, y: Array, f: Array) -> Array:
        """log sum exp(f) - f_y."""
        largest = f.max(axis=1, keepdims=True)
        return np.asarray(np.log(np.exp(f - largest).sum(axis=1)) + largest[:, 0] - f[np.arange(len(y)), y])

    def slope(self, y: Array, f: Array) -> Array:
        """Probabilities less the one-hot labels."""
        found = softmax(f, axis=1)
        found[np.arange(len(y)), y] -= 1.0
        return np.asarray(found)

    def curvature(self, y: Array, f: Array) -> Array:
        """The probabilities."""
        return np.asarray(softmax(f, axis=1))

    def mean(self, f: Array) -> Array:
        """The probabilities."""
        return np.asarray(softmax(f, axis=-1))

    def constant(self, y: Array, weights: Array) -> Array:
        """Logarithms of the shares, less their mean."""
        logs = np.log(np.bincount(y, weights, self.classes) + 1e-3 * weights.sum())
        return np.asarray(logs - logs.mean())


def label_loss(classes: int, numbers: Array) -> tuple[Loss, Array]:
    """The loss of so many classes, and class numbers as it takes them."""
    return (Logistic(), numbers.astype(np.float64)) if classes == 2 else (Softmax(classes), numbers)


def weighted_quantile(y: Array, weights: Array, level: float) -> float:
    """The least y with at least this share of the weight at or below it."""
    order = np.argsort(y, kind="stable")
    shares = np.cumsum(weights[order])
    return float(y[order][min(int(np.searchsorted(shares, level * shares[-1])), len(y) - 1)])


LOSSES: dict[str, type[Loss]] = {loss.name: loss for loss in (Squared, Huber, Poisson, Gamma, Expectile, Pinball)}
