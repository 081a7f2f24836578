"""A fitted model stays as it is, whatever parameters are set for the next fit."""

import numpy as np
import pytest

from mercer import KernelNeighborsRegressor, KernelRidge, KernelRidgeCV, NystroemRidge
from mercer.errors import InputError
from mercer.kernels import Gaussian, Laplacian
from oracles import log_evidence, posterior_variance, smoother

NEXT = [{"fit_intercept": False}, {"alpha": 100.0}, {"kernel": Laplacian(9.0)}, {"solver": "spectral"}]


@pytest.mark.slow
@pytest.mark.parametrize("changed", NEXT, ids=lambda each: next(iter(each)))
@pytest.mark.parametrize("n", [30, 1100])  # the factor is kept with the model, or made again
def test_setting_parameters_changes_no_number_of_a_fitted_model(changed, n, rng):
    X, new = rng.normal(size=(n, 2)), rng.normal(size=(5, 2))
    y, kernel = 3.0 + np.sin(X[:, 0]) + 0.1 * rng.normal(size=n), Gaussian(1.0)
    model = KernelRidge(0.1, kernel=kernel, fit_intercept=True).fit(X, y)
    before = model.predict(new)
    model.set_params(**changed)
    K, against = kernel(X), kernel(new, X)
    evidence, scale = log_evidence(K, y, 0.1, intercept=True)
    variance = scale * posterior_variance(K, against, np.ones(5), 0.1, intercept=True)
    mean, std = model.predict(new, return_std=True)
    np.testing.assert_array_equal(mean, before)
    np.testing.assert_allclose(std, np.sqrt(variance), rtol=1e-7)
    np.testing.assert_allclose(model.prior_variance_, scale, rtol=1e-8)
    np.testing.assert_allclose(model.log_marginal_likelihood_, evidence, rtol=1e-8)
    np.testing.assert_allclose(model.effective_dof_, np.trace(smoother(K, 0.1, intercept=True)), rtol=1e-8)
    lower, upper = model.predict_interval(new, method="gaussian")
    half = 1.6448536269514722 * np.sqrt(variance + 0.1 * scale)
    np.testing.assert_allclose([mean - lower, upper - mean], [half, half], rtol=1e-7)
    fresh = KernelRidge(0.1, kernel=kernel, fit_intercept=True).fit(X, y)
    for method in ("jackknife+", "cv+"):
        found, expected = (each.predict_interval(new, method=method) for each in (model, fresh))
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_setting_parameters_changes_no_number_of_a_fitted_search(rng):
    X = rng.normal(size=(30, 2))
    y = 3.0 + np.sin(X[:, 0])
    search = KernelRidgeCV([Gaussian(1.0)], [0.1], cv=5, fit_intercept=True).fit(X, y)
    before = search.predict(X, return_std=True), search.predict_interval(X, method="cv+")
    search.set_params(fit_intercept=False, kernels=[Laplacian(3.0)], alphas=[9.0], cv=3)
    after = search.predict(X, return_std=True), search.predict_interval(X, method="cv+")
    np.testing.assert_array_equal(before, after)


def test_setting_the_number_of_neighbours_changes_the_next_fit(rng):
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    model = KernelNeighborsRegressor(Gaussian(1.0), n_neighbors=3).fit(X, y)
    nearest = np.argsort(((X[:, None] - X) ** 2).sum(axis=2), axis=1)[:, :3]
    model.set_params(n_neighbors=7)
    np.testing.assert_allclose(model.predict(X), y[nearest].mean(axis=1), rtol=1e-12)


@pytest.mark.parametrize(
    ("changed", "got"),
    [
        ({"landmarks": 7}, "landmarks of NystroemRidge must be the same as in the first fit, 5; got 7."),
        (
            {"landmarks": np.zeros((3, 2))},
            "landmarks of NystroemRidge must be the same as in the first fit, 5; got another table of shape (3, 2).",
        ),
        (
            {"method": "uniform"},
            "method of NystroemRidge must be the same as in the first fit, 'pivoted'; got 'uniform'.",
        ),
    ],
)
def test_more_rows_on_other_landmarks_are_refused(changed, got, rng):
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    model = NystroemRidge(0.1, kernel=Gaussian(1.0), landmarks=5).partial_fit(X[:40], y[:40])
    before = model.predict(X)
    model.set_params(**changed)
    with pytest.raises(InputError) as refusal:
        model.partial_fit(X[40:], y[40:])
    assert str(refusal.value) == f"{got} Call fit to start again."
    np.testing.assert_array_equal(model.predict(X), before)
