"""Slow, obvious model selection: every split of every candidate is refitted from raw rows."""

import numpy as np

from oracles import kernel_ridge


def held_out(K, Y, alpha, train, test, weights=None, intercept=False):
    """Predictions at `test` of the model fitted to `train` alone: K[T, T] and nothing else is looked at."""
    Y = np.asarray(Y, dtype=float).reshape(len(K), -1)
    own = None if weights is None else np.asarray(weights)[train]
    dual, constant = kernel_ridge(K[np.ix_(train, train)], Y[train], alpha, own, intercept)
    return K[np.ix_(test, train)] @ dual + constant


def held_out_shortest(K, Y, train, test):
    """The same with alpha = 0: the shortest coefficients that fit best."""
    Y = np.asarray(Y, dtype=float).reshape(len(K), -1)
    own = K[np.ix_(train, train)]
    cut = len(train) * np.finfo(float).eps
    return K[np.ix_(test, train)] @ np.linalg.lstsq(own, Y[train], rcond=cut)[0]


def all_held_out(K, Y, alpha, splits, weights=None, intercept=False):
    """Held-out predictions of every split, one test set after the other."""
    return np.vstack([held_out(K, Y, alpha, s.train, s.test, weights, intercept) for s in splits])


def condition(K, alpha, weights=None):
    """The larger condition number of K + alpha W^-1 and V K V + alpha I, over rows with weight."""
    w = np.ones(len(K)) if weights is None else np.asarray(weights, dtype=float)
    used = np.flatnonzero(w > 0)
    own, root = K[np.ix_(used, used)], np.sqrt(w[used])
    plain = np.linalg.cond(own + alpha * np.diag(1.0 / w[used]))
    return max(plain, np.linalg.cond(root[:, None] * own * root + alpha * np.eye(len(used))))


def by_repeat(values, folds, n):
    """One test set after the other -> repeats x n x t, NaN where a row is never tested."""
    result = np.full((len(folds.repeats), n, values.shape[1]), np.nan)
    start = 0
    for r, repeat in enumerate(folds.repeats):
        for split in repeat:
            result[r, split.test] = values[start : start + len(split.test)]
            start += len(split.test)
    return result


def grid(kernels, alphas):
    """GridSearchCV's grid in the order of our tables: kernel by kernel."""
    return [{"kernel": [kernel], "alpha": [float(alpha) for alpha in alphas]} for kernel in kernels]
