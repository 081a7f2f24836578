"""Intervals by refitting without every row or fold, for the tests of intervals."""

import numpy as np
import pytest

QUIET = pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")


def table(rng, n=25, m=7, d=3, targets=None):
    X, new = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    shape = (n,) if targets is None else (n, targets)
    return X, np.sin(X[:, 0]).reshape(-1, *[1] * (len(shape) - 1)) + 2.0 + 0.3 * rng.normal(size=shape), new


def quantiles(without, errors, confidence):
    """Ends from all predictions f_-i(x0) (rows x n) and errors (n) by sorting: no partition, no blocks."""
    n = len(errors)
    q = 1.0 - confidence
    low, high = int(np.floor(round(q * (n + 1), 9))), int(np.ceil(round((1.0 - q) * (n + 1), 9)))
    below, above = np.sort(without - np.abs(errors), axis=1), np.sort(without + np.abs(errors), axis=1)
    lower = below[:, low - 1] if low >= 1 else np.full(len(without), -np.inf)
    upper = above[:, high - 1] if high <= n else np.full(len(without), np.inf)
    return lower, upper


def refitted(make, X, y, new, confidence, weights=None, folds=None, gram=False):
    """Jackknife+ or CV+ by fitting every model from raw rows; one target."""
    used = np.arange(len(y)) if weights is None else np.flatnonzero(weights > 0)
    sets = [np.array([i]) for i in used] if folds is None else [np.intersect1d(test, used) for test in folds]
    without, errors = np.empty((len(new), len(y))), np.empty(len(y))
    for rows in sets:
        train = np.setdiff1d(used, rows)
        own = {} if weights is None else {"sample_weight": weights[train]}
        if gram:
            model = make().fit(X[np.ix_(train, train)], y[train], **own)
            at_new, at_rows = new[:, train], X[np.ix_(rows, train)]
        else:
            model = make().fit(X[train], y[train], **own)
            at_new, at_rows = new, X[rows]
        without[:, rows] = model.predict(at_new)[:, None]
        errors[rows] = y[rows] - model.predict(at_rows)
    return quantiles(without[:, used], errors[used], confidence)


def assert_same(found, expected, tolerance=1e-9):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
