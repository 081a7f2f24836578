"""Kernel ridge regression in hundreds of decimal digits, from the float64 rows: what `digits` is held against.

Kernel values come from their definitions, models from one solve per training set: nothing is shared with mercer.
A column of mpf stands for each target.
"""

import numpy as np
from mpmath import mp, mpf

from mercer.kernels import Gaussian, Laplacian, Linear, Polynomial

TINY = mpf(10) ** -290  # below this double precision has few digits, or none


class TooFewDigits(ArithmeticError):
    """A system is singular as far as so many digits can tell."""


def exact_kernel(kernel, X, Z):
    """k(X, Z) for the kernels that cases are drawn from."""
    if isinstance(kernel, Linear):
        return [[mp.fdot(x, z) for z in Z] for x in X]
    if isinstance(kernel, Polynomial):
        scale, offset, degree = mpf(kernel.scale), mpf(kernel.offset), int(kernel.degree)
        return [[(scale * mp.fdot(x, z) + offset) ** degree for z in Z] for x in X]
    gaps = [[[(a - b) / mpf(kernel.width) for a, b in zip(x, z, strict=True)] for z in Z] for x in X]
    if isinstance(kernel, Laplacian):
        return [[mp.exp(-mp.fsum(map(abs, gap))) for gap in row] for row in gaps]
    squares = [[mp.fdot(gap, gap) for gap in row] for row in gaps]
    if isinstance(kernel, Gaussian):
        return [[mp.exp(-r2 / 2) for r2 in row] for row in squares]
    return [[(1 + r) * mp.exp(-r) for r in (mp.sqrt(3 * r2) for r2 in row)] for row in squares]  # Matern(nu=1.5)


def factored(A):
    """L without its diagonal and D of A = L D L', and the rows that are no combinations of those before them."""
    L, D, kept = [], [], []
    for i, row in enumerate(A):
        scaled = []
        for j, below in enumerate(L):
            scaled.append(row[kept[j]] - mp.fdot(scaled, below))
        below = [s / d for s, d in zip(scaled, D, strict=True)]
        left = row[i] - mp.fdot(scaled, below)
        if left > abs(row[i]) * mpf(10) ** -(mp.dps // 2):
            L.append(below), D.append(left), kept.append(i)
    return L, D, kept


def solved(A, B):
    """A^-1 b for each of the columns B of a positive definite A."""
    L, D, kept = factored(A)
    if len(kept) < len(A):
        raise TooFewDigits(mp.dps)
    found = []
    for b in B:
        x = []
        for i, below in enumerate(L):
            x.append(b[i] - mp.fdot(below, x))
        x = [v / d for v, d in zip(x, D, strict=True)]
        for i in range(len(x) - 1, -1, -1):
            x[i] -= mp.fdot([L[k][i] for k in range(i + 1, len(x))], x[i + 1 :])
        found.append(x)
    return found


class ExactRidge:
    """Models of rows X (and new rows), targets Y (n x t) and weights, with an intercept or without."""

    def __init__(self, X, Y, new, weights, *, intercept):
        self.n, self.intercept, self._kernels = len(X), intercept, {}
        self.rows = [[mpf(float(v)) for v in row] for row in np.vstack([X, new])]
        self.Y = [[mpf(float(v)) for v in column] for column in np.transpose(Y)]
        self.weights = [mpf(float(w)) for w in (np.ones(self.n) if weights is None else weights)]

    def K(self, kernel):
        """k of all rows, new ones included."""
        if kernel not in self._kernels:
            self._kernels[kernel] = exact_kernel(kernel, self.rows, self.rows)
        return self._kernels[kernel]

    def fit(self, kernel, alpha, train):
        """Dual coefficients (zero outside `train`) and intercepts: (K + alpha W^-1) a + b 1 = y, 1'a = 0."""
        K, dual, intercept = self.K(kernel), [], []
        train = [i for i in train if self.weights[i] > 0]
        for y, own in zip(self.Y, np.broadcast_to(alpha, (len(self.Y),)), strict=True):
            A = [[K[i][j] + (mpf(float(own)) / self.weights[i] if i == j else 0) for j in train] for i in train]
            a, h = solved(A, [[y[i] for i in train], [mpf(1)] * len(train)])
            intercept.append(mp.fsum(a) / mp.fsum(h) if self.intercept else mpf(0))
            dual.append([mpf(0)] * self.n)
            for i, v, u in zip(train, a, h, strict=True):
                dual[-1][i] = v - intercept[-1] * u
        return dual, intercept

    def values(self, kernel, fitted, rows):
        """Predictions of a fit."""
        K = self.K(kernel)
        return [[mp.fdot(K[i][: self.n], a) + b for i in rows] for a, b in zip(*fitted, strict=True)]

    def held_out(self, kernel, alpha, splits):
        """Predictions of every split, by refitting."""
        return [self.values(kernel, self.fit(kernel, alpha, train), test) for train, test in splits]

    def on_landmarks(self, kernel, alpha, landmarks, train, rows):
        """Predictions of the model on these rows as landmarks: (K_ZX W K_XZ + alpha K_ZZ) c + K_ZX w b = K_ZX W y."""
        K = self.K(kernel)
        kept = [landmarks[i] for i in factored([[K[i][j] for j in landmarks] for i in landmarks])[2]]
        w, k = [self.weights[i] for i in train], [[K[i][z] for i in train] for z in kept]
        kw = [[a * b for a, b in zip(row, w, strict=True)] for row in k]
        S = [[mp.fdot(u, v) + mpf(float(alpha)) * K[z][x] for v, x in zip(k, kept, strict=True)]
             for u, z in zip(kw, kept, strict=True)]  # fmt: skip
        beside, total, found = [mp.fsum(row) for row in kw], mp.fsum(w), []
        for column in self.Y:
            y = [column[i] for i in train]
            c, h = solved(S, [[mp.fdot(row, y) for row in kw], beside])
            above, below = mp.fdot(w, y) - mp.fdot(beside, c), total - mp.fdot(beside, h)
            b = above / below if self.intercept else mpf(0)
            c = [u - b * v for u, v in zip(c, h, strict=True)]
            found.append([mp.fdot([K[i][z] for z in kept], c) + b for i in rows])
        return found

    def errors(self, found, splits):
        """Minus the mean squared error of every split."""
        scores = []
        for values, (_, test) in zip(found, splits, strict=True):
            gaps = [[y[i] - v for i, v in zip(test, f, strict=True)] for y, f in zip(self.Y, values, strict=True)]
            scores.append(-mp.fsum(mp.fdot(gap, gap) for gap in gaps) / (len(test) * len(gaps)))
        return scores


def accuracies(found, splits, labels, least=0):
    """Share of right labels in every split; None where a class was not trained on or decisions are tied.

    Tied as far as double precision can tell: of models from sums, whose rounding is relative to the targets, decisions
    closer than `least`.
    """
    scores = []
    for values, (train, test) in zip(found, splits, strict=True):
        if len(set(labels[train])) < len(set(labels)):
            return None
        right = 0
        for i, each in zip(test, zip(*values, strict=True), strict=True):
            each = each if len(each) > 1 else (-each[0], each[0])  # noqa: PLW2901
            low, high = sorted(each)[-2:]
            lowest = max(TINY, least, mpf(10) ** -(2 * mp.dps // 3))  # targets are of size 1
            if high - low <= max(lowest, mpf(2) ** -52 * max(abs(high), abs(low))):
                return None
            right += each.index(high) == labels[i]
        scores.append(mpf(right) / len(test))
    return scores


def true_digits(found, truth, beside=None):
    """-log10 of the relative error of the worst column in the 2-norm, from 0 to 16.

    `beside`: columns that the error may be relative to, where they are larger.
    """
    found, worst = np.asarray(found, dtype=float).reshape(-1, len(truth)).T, 16.0
    for t, (column, exact) in enumerate(zip(found, truth, strict=True)):
        if not np.isfinite(column).all():
            return 0.0
        size = max(mp.norm(exact), 0 if beside is None else mp.norm(beside[t]))
        error = mp.norm([mpf(float(f)) - v for f, v in zip(column, exact, strict=True)])
        if error > TINY:
            worst = min(worst, max(0.0, -float(mp.log10(error / size))) if size else 0.0)
    return worst
