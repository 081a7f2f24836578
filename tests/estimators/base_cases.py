"""Rows, targets and refusals for the tests of every estimator."""

import pytest

from mercer import KernelNeighborsClassifier, KernelNeighborsRegressor, KernelRidge, KernelRidgeClassifier
from mercer.errors import InputError, MercerError

ESTIMATORS = [KernelRidge, KernelRidgeClassifier, KernelNeighborsClassifier, KernelNeighborsRegressor]


def rows_and_targets(rng):
    X = rng.normal(size=(24, 3))
    return X, (X.sum(axis=1) > 0).astype(float)


def refusal(work):
    with pytest.raises(InputError) as caught:
        work()
    assert isinstance(caught.value, MercerError)
    assert isinstance(caught.value, ValueError)
    return str(caught.value)
