"""Slow, obvious answers that the fast ones are held against: everything is refitted from raw rows."""

from functools import cache

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


def smoother(K, alpha, weights=None, intercept=False):
    """The matrix S with fitted values S y: one refit per unit vector."""
    a, b = kernel_ridge(K, np.eye(len(K)), alpha, weights, intercept)
    return K @ a + b


def posterior_variance(K, against, diagonal, alpha, weights=None, intercept=False):
    """Variance of f at new rows in units of the prior's: k(x, x) - q'M^-1 q, q = (k(X, x), 1), M the bordered matrix.

    `against` is k(x, X), one row per new row.
    """
    n = len(K)
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    used = np.flatnonzero(w > 0)
    M = K[np.ix_(used, used)] + alpha * np.diag(1.0 / w[used])
    q = against[:, used].T
    if intercept:
        m = len(used)
        M = np.block([[M, np.ones((m, 1))], [np.ones((1, m)), np.zeros((1, 1))]])
        q = np.vstack([q, np.ones((1, q.shape[1]))])
    return diagonal - np.einsum("ij,ij->j", q, np.linalg.solve(M, q))


def log_evidence(K, y, alpha, weights=None, intercept=False):
    """Log density of y under N(b, s^2 (K + alpha W^-1)) at the best s^2 (and b); and that s^2."""
    n = len(K)
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    used = np.flatnonzero(w > 0)
    a, b = kernel_ridge(K, y, alpha, weights, intercept)
    covariance = K[np.ix_(used, used)] + alpha * np.diag(1.0 / w[used])
    rest = np.asarray(y, dtype=float)[used] - b[0]
    scale = rest @ a[used, 0] / len(used)
    _, logdet = np.linalg.slogdet(2 * np.pi * scale * covariance)
    return -0.5 * rest @ np.linalg.solve(scale * covariance, rest) - 0.5 * logdet, scale


def with_spectrum(values, rng):
    """A symmetric matrix with these eigenvalues and random orthogonal eigenvectors."""
    values = np.asarray(values, dtype=float)
    Q = _orthogonal(len(values)) if len(values) > 100 else _orthogonal.__wrapped__(len(values), rng)
    Q = Q[rng.permutation(len(values))]
    A = (Q * values) @ Q.T
    return (A + A.T) / 2


@cache
def _orthogonal(n, rng=None):
    """A random orthogonal matrix; a large one is drawn once."""
    rng = np.random.default_rng(n) if rng is None else rng
    Q, R = np.linalg.qr(rng.normal(size=(n, n)))
    return Q * np.sign(R.diagonal())


def reflected(values, rng):
    """The same in n^2 work, for large n: eigenvectors are the columns of one Householder reflection."""
    values = np.asarray(values, dtype=float)
    v = rng.normal(size=len(values))
    v /= np.linalg.norm(v)
    dv = values * v
    A = np.diag(values) - 2 * np.outer(v, dv) - 2 * np.outer(dv, v) + 4 * (v @ dv) * np.outer(v, v)
    return (A + A.T) / 2


def backward_error(A, x, b):
    """LAPACK's test ratio: ||A x - b|| / (||A|| ||x|| n eps) in the 1-norm, the worst of all right-hand sides."""
    x, b = x.reshape(len(A), -1), b.reshape(len(A), -1)
    residual = np.abs(A @ x - b).sum(axis=0)
    return (residual / (np.abs(A).sum(axis=0).max() * np.abs(x).sum(axis=0) * len(A) * np.finfo(float).eps)).max()


def feature_distances(kernel, X, Z):
    """sqrt(k(x, x) + k(z, z) - 2 k(x, z)) for all pairs, from whole matrices."""
    squared = kernel.diag(X)[:, None] + kernel.diag(Z) - 2 * kernel(X, Z)
    return np.sqrt(np.maximum(squared, 0.0))
