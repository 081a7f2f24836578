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

    A subclass is its `terms`; `mean` turns f into a prediction on the scale of y.
    """

    name: ClassVar[str]
    needs: ClassVar[str] = ""  # what targets must be; empty if every number will do

    def terms(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """l(y, f) of each row, dl/df, and d2l/df2, which is not negative (each n, 1)."""
        raise NotImplementedError

    def _term(self, number: int, y: Array, f: Array) -> Array:
        with np.errstate(all="ignore"):  # losses of values far off may be infinite
            return np.asarray(self.terms(y, f)[number])

    def rows(self, y: Array, f: Array) -> Array:
        """l(y, f) of each row (n,)."""
        return self._term(0, y, f)[:, 0]

    def slope(self, y: Array, f: Array) -> Array:
        """dl/df (n, 1)."""
        return self._term(1, y, f)

    def curvature(self, y: Array, f: Array) -> Array:
        """d2l/df2, not negative (n, 1)."""
        return self._term(2, y, f)

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

    def terms(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """r^2 / 2 for r = f - y, r, and 1."""
        r = f - y[:, None]
        return 0.5 * r**2, r, np.ones_like(f)


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

    def terms(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """r^2 / 2 for |r| <= delta, and delta |r| - delta^2 / 2 beyond; r, clipped to delta; 1, and 0 beyond."""
        r, d = f - y[:, None], self.delta
        size = np.abs(r)
        loss = np.where(size <= d, 0.5 * size**2, d * (size - 0.5 * d))
        return loss, np.clip(r, -d, d), (size <= d).astype(np.float64)

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

    def terms(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """The weighted squared error, twice the weighted residual, and twice the weight."""
        r, w = f - y[:, None], np.where(f < y[:, None], self.level, 1.0 - self.level)
        return w * r**2, 2.0 * w * r, 2.0 * w


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

    def terms(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """The smoothed loss; minus the level above f and one minus it below; 1 / (2 smoothing) in between."""
        r, h, level = y[:, None] - f, self.smoothing, self.level
        inside, near = r**2 / (4.0 * h) + (level - 0.5) * r + 0.25 * h, np.abs(r) < h
        loss = np.where(near, inside, np.maximum(level * r, (level - 1.0) * r))
        return loss, 0.5 - level - np.clip(r / (2.0 * h), -0.5, 0.5), np.where(near, 0.5 / h, 0.0)

    def constant(self, y: Array, weights: Array) -> Array:
        """The quantile of the targets."""
        return np.array([weighted_quantile(y, weights, self.level)])


@dataclass(frozen=True)
class Poisson(Loss):
    """Half of the Poisson deviance of counts with mean exp(f)."""

    name: ClassVar[str] = "poisson"
    needs: ClassVar[str] = "non-negative numbers, not all of them 0"

    def terms(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """exp(f) - y f + y log y - y, exp(f) - y, and exp(f)."""
        y, mean = y[:, None], self.mean(f)
        return mean - y * f + y * np.log(np.where(y > 0, y, 1.0)) - y, mean - y, mean

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

    def terms(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """y exp(-f) + f - log y - 1, 1 - y exp(-f), and y exp(-f)."""
        ratio = y[:, None] * np.exp(np.minimum(-f, _LARGEST))
        return ratio + f - np.log(y[:, None]) - 1.0, 1.0 - ratio, ratio

    def fits(self, y: Array) -> bool:
        """Whether all targets are positive."""
        return bool((y > 0).all())


@dataclass(frozen=True)
class Logistic(Loss):
    """Minus the log probability of labels 0 and 1, of which 1 has probability 1 / (1 + exp(-f))."""

    name: ClassVar[str] = "logistic"

    def terms(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """log(1 + exp(f)) - y f, the probability p less y, and p (1 - p)."""
        y, p = y[:, None], self.mean(f)
        return np.logaddexp(0.0, f) - y * f, p - y, p * expit(-f)

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

    def terms(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """log sum exp(f) - f_y, the probabilities less the one-hot labels, and the probabilities."""
        largest, p, own = f.max(axis=1, keepdims=True), self.mean(f), (np.arange(len(y)), y)
        slope = p.copy()
        slope[own] -= 1.0
        loss = np.log(np.exp(f - largest).sum(axis=1)) + largest[:, 0] - f[own]
        return loss[:, None], slope, p

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
