"""Rows, labels and scores for the tests of cross-validation."""

import numpy as np


def regression(rng):
    X = rng.normal(size=(41, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=41)


def classification(rng):
    X = rng.normal(size=(48, 2))
    return X, np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=48) > 0, "same", "odd")
