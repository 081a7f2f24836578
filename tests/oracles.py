"""Slow, obvious answers that the fast ones are held against: everything is refitted from raw rows."""

import numpy as np


def kernel_ridge(K, Y, alpha, weights=None, intercept=False):
    """Dual coefficients and intercept from the normal equations of the bordered system, by brute force.

    (K + alpha W^-1) a + 1 b = Y and 1'a = 0; rows of weight zero are dropped and get a = 0.
    """
    n = len(K)
    Y = np.asarray(Y, dtype=float).reshape(n, -1)
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    used = np.flatnonzero(w > 0)
    A = K[np.ix_(used, used)] + alpha * np.diag(1.0 / w[used])
    a = np.zeros_like(Y)
    if not intercept:
        a[used] = np.linalg.solve(A, Y[used])
        return a, np.zeros(Y.shape[1])
    m = len(used)
    bordered = np.block([[A, np.ones((m, 1))], [np.ones((1, m)), np.zeros((1, 1))]])
    solved = np.linalg.solve(bordered, np.vstack([Y[used], np.zeros((1, Y.shape[1]))]))
    a[used] = solved[:-1]
    return a, solved[-1]
