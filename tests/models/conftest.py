"""Rows and files that the tests of model files share."""

import numpy as np
import pytest

import mercer
from mercer import (
    KernelRidge,
)
from mercer.kernels import (
    Gaussian,
)
from views import read_only


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(40, 2))
    y = X[:, 0] ** 2 + X[:, 1] + 0.1 * rng.normal(size=40)
    return read_only(X), read_only(y), np.where(y > 0.5, "much", "little")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.mercer"


@pytest.fixture
def small(path):
    """A small model, and its file."""
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    mercer.save(KernelRidge(0.1, kernel=Gaussian(1.0)).fit(X, [1.0, 2.0, 3.0]), path)
    return path
