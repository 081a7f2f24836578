"""Cases drawn at random, with kernels written out in numpy, and models that are refitted from raw rows."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels import Gaussian, Linear, Matern, Polynomial, RationalQuadratic

SOAK = int(os.environ.get("MERCER_SOAK", "0"))  # the seed of `make soak`; 0 for the cases of `make test`
CASES = 400 if SOAK else 40  # of each property
WORST = 1e8  # condition number of the systems that are drawn
FINE = 2.0**20  # rows and targets that are moved are multiples of its inverse, so that moving them is exact


@dataclass(frozen=True)
class Written:
    """A kernel of the library, and the same in numpy: k(X, Z), and its derivative by column j of X.

    `moves`: whether models stay the same, to the last digit, when all rows are moved: "with" an intercept, or "always".
    """

    kernel: Any
    value: Callable
    slope: Callable
    moves: str = ""


@dataclass(frozen=True)
class Case:
    """Rows, targets (n x t), new rows, candidates, and the tolerance that their condition allows.

    Rows are `origin` away from where kernels written out are computed, targets `level` from zero.
    """

    rng: Any
    X: np.ndarray
    Y: np.ndarray
    new: np.ndarray
    written: list
    alphas: np.ndarray
    intercept: bool
    tolerance: float
    origin: float = 0.0
    level: float = 0.0

    @property
    def size(self):
        """The largest target, wherever they are."""
        return np.abs(self.Y - self.level).max()

    @property
    def kernels(self):
        return [each.kernel for each in self.written]

    @property
    def grams(self):
        """K of the rows and the new ones, for each kernel."""
        both = np.vstack([self.X, self.new]) - self.origin
        return [each.value(both, both) for each in self.written]

    def close(self, found, expected, scale=None):
        """Fail if the largest difference is beyond the tolerance, relative to the scale or the largest expected."""
        found, expected = np.asarray(found), np.asarray(expected)
        assert found.shape == expected.shape
        scale = np.abs(expected).max() if scale is None else scale
        # targets are as large as the level, and so is what is subtracted from them
        rounding = 10 * self.tolerance * scale + 1e-15 * np.abs(expected).max() if self.level else 0.0
        assert np.abs(found - expected).max() <= self.tolerance * scale + rounding


def cases(seed, count=CASES, *, targets=1, kernels=1, alphas=1, rows=(6, 14), moved=False):
    """Cases with up to so many targets, kernels and alphas; `moved`: some far from the origin."""
    rng, made = np.random.default_rng([SOAK, seed]), 0
    while made < count:
        n, d, t = rng.integers(*rows), rng.integers(1, 4), rng.integers(1, targets + 1)
        scale, offset = rng.choice([0.2, 1.0, 1.0, 1.0, 5.0]), rng.choice([0.0, 0.0, 0.0, 3.0])
        X, new = scale * (rng.normal(size=(n, d)) + offset), scale * (rng.normal(size=(3, d)) + offset)
        if d > 1 and rng.random() < 0.2:  # a column of two values
            X[:, 0] = scale * np.where(X[:, 0] > np.median(X[:, 0]), 1.0, -0.5)
        Y = np.sin(2 * X[:, :1] / scale) + rng.choice([0.1, 1.0]) * rng.standard_t(3, size=(n, t))
        Y = rng.choice([1e-3, 1.0, 1.0, 1e3]) * (Y + rng.choice([0.0, 0.0, 0.0, 50.0]))
        if rng.random() < 0.25:  # rows that are there twice, with the same target or another
            X[-1] = X[0]
            Y[-1] = Y[0] if rng.random() < 0.5 else Y[-1]
        if rng.random() < 0.2:  # few different rows and targets, so that most are there again, and new ones are, too
            unit = np.ptp(Y, axis=0) / 4
            X, new, Y = scale * np.round(X / scale), scale * np.round(new / scale), unit * np.round(Y / unit)
            new[0] = X[0]
        written = [_kernel(rng, d, scale) for _ in range(rng.integers(1, kernels + 1))]
        chosen = np.sort(10 ** rng.uniform(-3, 2, size=rng.integers(1, alphas + 1)))
        intercept = bool(rng.integers(2))
        origin, level = _moves(rng, written, intercept) if moved else (0.0, 0.0)
        if origin or level:
            X, new, Y = (np.round(FINE * each) / FINE for each in (X, new, Y))
        worst = max(np.linalg.cond(each.value(X, X) + chosen[0] * np.eye(n)) for each in written)
        if worst <= WORST:
            made += 1
            tolerance = max(1e-8, 100 * worst * np.finfo(float).eps)
            place = X + origin, Y + level, new + origin
            yield Case(rng, *place, written, chosen, intercept, tolerance, origin, level)


def _moves(rng, written, intercept):
    """How far rows and targets are moved, in powers of two: where no digit is lost by it."""
    same = all(each.moves == "always" or (each.moves == "with" and intercept) for each in written)
    return rng.choice([0.0, 2.0**17, 2.0**23]) * same, rng.choice([0.0, 2.0**30]) * intercept


def _kernel(rng, d, scale, composed=True):
    kind = rng.integers(8 if composed else 6)
    width = scale * (rng.uniform(0.5, 3.0) if rng.random() < 0.7 else rng.uniform(0.5, 3.0, size=d))
    if kind == 0:
        return _radial(Gaussian(width), width, lambda s: np.exp(-s / 2), lambda s: -np.exp(-s / 2))
    if kind == 1:
        a = np.sqrt(3.0)
        value, slope = lambda s: (1 + a * s**0.5) * np.exp(-a * s**0.5), lambda s: -3 * np.exp(-a * s**0.5)
        return _radial(Matern(width, nu=1.5), width, value, slope)
    if kind == 2:
        b = np.sqrt(5.0)
        value = lambda s: (1 + b * s**0.5 + 5 / 3 * s) * np.exp(-b * s**0.5)  # noqa: E731
        slope = lambda s: -5 / 3 * (1 + b * s**0.5) * np.exp(-b * s**0.5)  # noqa: E731
        return _radial(Matern(width, nu=2.5), width, value, slope)
    if kind == 3:
        c = rng.uniform(0.5, 3.0)
        value, slope = lambda s: (1 + s / (2 * c)) ** -c, lambda s: -((1 + s / (2 * c)) ** (-c - 1))
        return _radial(RationalQuadratic(width, shape=c), width, value, slope)
    if kind == 4:
        return Written(Linear(), lambda X, Z: X @ Z.T, lambda X, Z, j: np.tile(Z[:, j], (len(X), 1)), "with")
    if kind == 5:
        p, q, s = int(rng.integers(2, 4)), rng.uniform(0.5, 2.0), rng.uniform(0.5, 1.0) / scale**2
        return Written(
            Polynomial(p, offset=q, scale=s),
            lambda X, Z: (s * X @ Z.T + q) ** p,
            lambda X, Z, j: p * s * (s * X @ Z.T + q) ** (p - 1) * Z[:, j],
        )
    f, g, c = _kernel(rng, d, scale, False), _kernel(rng, d, scale, False), rng.uniform(0.3, 2.0)
    moves = "always" if f.moves == g.moves == "always" else ""
    if kind == 6:
        return Written(
            f.kernel + c * g.kernel,
            lambda X, Z: f.value(X, Z) + c * g.value(X, Z),
            lambda X, Z, j: f.slope(X, Z, j) + c * g.slope(X, Z, j),
            moves,
        )
    return Written(
        f.kernel * g.kernel,
        lambda X, Z: f.value(X, Z) * g.value(X, Z),
        lambda X, Z, j: f.slope(X, Z, j) * g.value(X, Z) + f.value(X, Z) * g.slope(X, Z, j),
        moves,
    )


def _radial(kernel, width, value, slope):
    """A function of s = |(x - z) / width|^2; `slope` is its derivative by s / 2."""
    w = np.asarray(width)

    def squares(X, Z):
        return (((X[:, None] - Z[None]) / w) ** 2).sum(axis=2)

    def derivative(X, Z, j):
        return slope(squares(X, Z)) * (X[:, None, j] - Z[None, :, j]) / np.broadcast_to(w, X.shape[1:])[j] ** 2

    return Written(kernel, lambda X, Z: value(squares(X, Z)), derivative, "always")


def changes(case, at, j):
    """D (m x n): derivatives of k(x, X) by column j of x, or differences between the two values of the column."""
    X, at, written = case.X - case.origin, at - case.origin, case.written[0]
    ends = np.unique(X[:, j])
    if len(ends) != 2:
        return written.slope(at, X, j)
    low, high = (np.where(np.arange(at.shape[1]) == j, end, at) for end in ends)
    return written.value(high, X) - written.value(low, X)


def cancelled(D, dual):
    """What effects may lose: parts that are a thousand times as large as their sum cost three digits."""
    return 1e-3 * (np.abs(D) @ np.abs(dual)).max()


def others(n):
    """For each of n rows the numbers of the other ones."""
    return np.array([np.delete(np.arange(n), i) for i in range(n)])


def refits(K, Y, alpha, intercept, kept, weights=None):
    """Coefficients (b x m x t) and constants (b x t) of the models of some rows, `kept` (b x m), each solved anew."""
    (b, m), t = kept.shape, Y.shape[1]
    A = np.zeros((b, m + intercept, m + intercept))
    w = np.ones(kept.shape) if weights is None else weights[kept]
    A[:, :m, :m] = K[kept[:, :, None], kept[:, None, :]] + alpha * np.eye(m) / w[:, None, :]
    A[:, m:, :m] = A[:, :m, m:] = 1.0 if intercept else 0.0
    centre = Y.mean(axis=0) if intercept else np.zeros(t)  # which the constant takes up
    right = np.concatenate([Y[kept] - centre, np.zeros((b, int(intercept), t))], axis=1)
    found = np.linalg.solve(A, right)
    return found[:, :m], found[:, m] + centre if intercept else np.zeros((b, t))


def refit(K, Y, alpha, intercept, kept=None, weights=None):
    """The same of one model: all rows, or those kept."""
    kept = np.arange(len(Y)) if kept is None else kept
    dual, constant = refits(K, Y, alpha, intercept, kept[None], weights)
    return dual[0], constant[0]


def left_out(K, Y, alpha, intercept):
    """Y less the predictions (n x t) of the models without each row."""
    kept, Y = others(len(Y)), Y - Y.mean(axis=0) if intercept else Y
    dual, constant = refits(K, Y, alpha, intercept, kept)
    return Y - np.einsum("ij,ijt->it", np.take_along_axis(K, kept, axis=1), dual) - constant


def errors(Ks, alphas, Y, intercept, splits=None, power=2):
    """Mean error of every candidate, kernel by kernel, for every target; leave-one-out or given splits."""
    found = []
    for K in Ks:
        for alpha in alphas:
            if splits is None:
                found.append((np.abs(left_out(K, Y, alpha, intercept)) ** power).mean(axis=0))
                continue
            parts = []
            for train, test in splits:
                dual, constant = refit(K, Y, alpha, intercept, train)
                parts.append((np.abs(Y[test] - K[np.ix_(test, train)] @ dual - constant) ** power).mean(axis=0))
            found.append(np.mean(parts, axis=0))
    return np.array(found)


def decided(table, tolerance):
    """For each column of errors (candidates x columns): is the smallest one ahead by more than the tolerance?"""
    if len(table) == 1:
        return np.ones(table.shape[1], dtype=bool)
    first, second = np.sort(table, axis=0)[:2]
    return second - first > tolerance * second
