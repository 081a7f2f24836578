"""Candidates, rows and labels for the tests of searches."""

import numpy as np
from sklearn import metrics

from mercer.errors import EdgeOfGridWarning
from mercer.kernels import Gaussian, Laplacian, Polynomial

KERNELS = [Gaussian(0.5), Gaussian(1.5), Laplacian(2.0), Polynomial(2)]
ALPHAS = [1e-3, 3e-2, 0.5, 20.0]
PINNED = {"kernels": [Gaussian(1.5)], "alphas": [0.1, 1.0]}  # too few to have an edge


def plain_mse(estimator, X, y, sample_weight=None):
    """GridSearchCV hands sample weights to scorers as well; here weights train and do not score."""
    return -metrics.mean_squared_error(y, estimator.predict(X))


def regression(rng):
    X = rng.normal(size=(47, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=47)


def classification(rng):
    X = rng.normal(size=(60, 2))
    return X, np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=60) > 0, "same", "odd")


def quietly(search, *args, **how):
    """Fit a search whose winner may stand on the edge of its grid."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EdgeOfGridWarning)
        return search.fit(*args, **how)


def assert_same_search(ours, theirs, splits, rtol=1e-9):
    found, expected = ours.cv_results_, theirs.cv_results_
    for i in range(splits):
        name = f"split{i}_test_score"
        np.testing.assert_allclose(found[name], expected[name], rtol=rtol, atol=1e-12, err_msg=name)
    assert f"split{splits}_test_score" not in found
    for name in ("mean_test_score", "std_test_score"):
        np.testing.assert_allclose(found[name], expected[name], rtol=rtol, atol=1e-12, err_msg=name)
    np.testing.assert_array_equal(found["rank_test_score"], expected["rank_test_score"])
    assert ours.best_index_ == theirs.best_index_
    assert {"kernel": ours.best_kernel_, "alpha": ours.alpha_} == {
        name: theirs.best_params_[name] for name in ("kernel", "alpha")
    }
    np.testing.assert_allclose(ours.best_score_, theirs.best_score_, rtol=rtol)
    assert [set(row) for row in found["params"]] == [{"kernel", "alpha"}] * len(expected["params"])


def untouchable(X, Z):
    raise AssertionError("a kernel was evaluated")
