"""Rows, targets and refusals for the tests of every estimator."""

from mercer import KernelNeighborsClassifier, KernelNeighborsRegressor, KernelRidge, KernelRidgeClassifier

ESTIMATORS = [KernelRidge, KernelRidgeClassifier, KernelNeighborsClassifier, KernelNeighborsRegressor]


def rows_and_targets(rng):
    X = rng.normal(size=(24, 3))
    return X, (X.sum(axis=1) > 0).astype(float)
