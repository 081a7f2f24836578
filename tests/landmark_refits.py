"""Ridge regression on the features of given landmarks, refitted from raw rows: the slow, obvious answer."""

import numpy as np

from mercer.data.hashing import fold_of


def whitened(kernel, Z, X):
    """Features by the eigenvectors of K_ZZ, in their own way: any factor of K_ZZ gives the same model."""
    values, vectors = np.linalg.eigh(kernel(Z))
    kept = values > 1e-12 * values[-1]
    return kernel(X, Z) @ (vectors[:, kept] / np.sqrt(values[kept]))


def fitted(phi, Y, alpha, weights=None, intercept=False):
    """Weights of least squares with rows sqrt(alpha) I below; the last one is the constant, if there is one."""
    n, r = phi.shape
    A = np.hstack([phi, np.ones((n, 1))]) if intercept else phi
    root = np.ones(n) if weights is None else np.sqrt(weights)
    penalty = np.sqrt(alpha) * np.eye(r, A.shape[1])
    below = np.zeros((r, Y.shape[1]))
    return np.linalg.lstsq(np.vstack([root[:, None] * A, penalty]), np.vstack([root[:, None] * Y, below]), rcond=None)[
        0
    ]


def predicted(phi, w):
    return phi @ w[: phi.shape[1]] + (w[phi.shape[1]] if len(w) > phi.shape[1] else 0.0)


def held_out(phi, Y, alpha, folds, left_out=(), weights=None, intercept=False):
    """For each fold the predictions of the model that saw neither it nor `left_out`: a list of (rows, values)."""
    found = []
    for f in np.unique(folds):
        train = ~np.isin(folds, [f, *left_out])
        w = fitted(phi[train], Y[train], alpha, None if weights is None else weights[train], intercept)
        rows = np.flatnonzero(folds == f)
        found.append((rows, predicted(phi[rows], w)))
    return found


def scores(loss, phi, Y, alphas, folds, **how):
    """Minus the mean loss of every fold: (alphas, folds)."""
    return np.array([[-loss(Y[rows], p) for rows, p in held_out(phi, Y, alpha, folds, **how)] for alpha in alphas])


def squared(Y, P):
    return float(np.mean((Y - P) ** 2))


def absolute(Y, P):
    return float(np.mean(np.abs(Y - P)))


def folds_of(n, count, seed=0, keys=None):
    return fold_of(0, n, count, seed, keys)
