"""Parameters that are set, cloned and tried in grids and pipelines."""

import numpy as np
import pytest
from base_cases import ESTIMATORS, rows_and_targets
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelNeighborsRegressor, KernelRidge, KernelRidgeClassifier
from mercer.kernels import Custom, Gaussian, Laplacian, Linear
from refusals import refusal, tells


@pytest.fixture
def data(rng):
    return rows_and_targets(rng)


# -- parameters, grids, pipelines -----------------------------------------------------------------


def test_setting_into_a_kernel_puts_a_new_kernel_in_its_place():
    kernel = Gaussian(1.0) + 2.0 * Linear()
    for estimator in (
        KernelRidge(kernel=kernel),
        KernelRidgeClassifier(kernel=kernel),
        KernelNeighborsRegressor(kernel),
    ):
        assert estimator.get_params()["kernel__k1__width"] == 1.0
        assert estimator.set_params(kernel__k1__width=3.0) is estimator
        assert estimator.kernel == Gaussian(3.0) + 2.0 * Linear()
        assert estimator.get_params()["kernel__k1__width"] == 3.0
        estimator.set_params(kernel=Gaussian(), kernel__width=5.0)
        assert estimator.kernel == Gaussian(5.0)
        estimator.set_params()
        assert estimator.kernel == Gaussian(5.0)
    assert kernel == Gaussian(1.0) + 2.0 * Linear()
    model = KernelRidge(kernel=Gaussian()).set_params(alpha=7.0, kernel__width=2.0, kernel__per_dimension=True)
    assert (model.alpha, model.kernel) == (7.0, Gaussian(2.0, per_dimension=True))


def test_parameters_that_do_not_exist_are_refused():
    assert tells(
        refusal(lambda: KernelRidge(kernel=Gaussian()).set_params(kernel__wdth=1.0)), "Gaussian", "'wdth'", "'width'"
    )
    with pytest.raises(ValueError, match="KernelRidge has no parameter 'wdth'"):
        KernelRidge(kernel=Gaussian()).set_params(wdth=1.0)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_clone_has_the_very_same_parameters(estimator):
    kernel = Gaussian([1.0, 2.0, 3.0]) * Linear()
    original = estimator(kernel=kernel)
    copied = clone(original)
    assert copied is not original
    for name, value in original.get_params(deep=False).items():
        assert copied.get_params(deep=False)[name] is value
    assert clone(estimator(kernel=Custom(np.dot))).kernel.function is np.dot


WIDTHS = [0.05, 0.5, 5.0]
CV = KFold(3)


def grid_scores(model, grid, X, y):
    return GridSearchCV(model, grid, cv=CV, scoring="neg_mean_squared_error").fit(X, y).cv_results_["mean_test_score"]


def one_score(model, X, y):
    return cross_val_score(model, X, y, cv=CV, scoring="neg_mean_squared_error").mean()


def test_a_grid_over_the_width_equals_separately_built_kernels(data, rng):
    X, y = data[0], rng.normal(size=24)
    scores = grid_scores(KernelRidge(0.1, kernel=Gaussian()), {"kernel__width": WIDTHS}, X, y)
    np.testing.assert_array_equal(scores, [one_score(KernelRidge(0.1, kernel=Gaussian(w)), X, y) for w in WIDTHS])
    assert len(set(scores)) == 3


def test_a_grid_into_a_sum_equals_separately_built_kernels(data, rng):
    X, y = data[0], rng.normal(size=24)
    grid = {"kernel__k1__width": WIDTHS, "kernel__k2__base__width": [1.0, 10.0]}
    scores = grid_scores(KernelRidge(0.1, kernel=Gaussian() + 0.5 * Laplacian()), grid, X, y)
    expected = [
        one_score(KernelRidge(0.1, kernel=Gaussian(w) + 0.5 * Laplacian(v)), X, y) for w in WIDTHS for v in (1.0, 10.0)
    ]
    np.testing.assert_array_equal(scores, expected)
    assert len(set(scores)) == 6


def test_a_grid_over_alpha_and_gamma_equals_separately_built_models(data, rng):
    X, y = data[0], rng.normal(size=24)
    scores = grid_scores(KernelRidge(kernel="rbf"), {"alpha": [0.01, 1.0], "gamma": WIDTHS}, X, y)
    expected = [one_score(KernelRidge(a, kernel="rbf", gamma=g), X, y) for a in (0.01, 1.0) for g in WIDTHS]
    np.testing.assert_array_equal(scores, expected)
    assert len(set(scores)) == 6


def test_a_grid_over_whole_kernels_works(data, rng):
    X, y = data[0], rng.normal(size=24)
    kernels = [Gaussian(), Linear(), "rbf", Gaussian() + Linear()]
    scores = grid_scores(KernelRidge(0.1), {"kernel": kernels}, X, y)
    np.testing.assert_array_equal(scores, [one_score(KernelRidge(0.1, kernel=k), X, y) for k in kernels])


def test_a_grid_inside_a_pipeline_reaches_the_kernel(data, rng):
    X, y = data[0], rng.normal(size=24)
    line = make_pipeline(StandardScaler(), KernelRidge(0.1, kernel=Gaussian()))
    scores = grid_scores(line, {"kernelridge__kernel__width": WIDTHS}, X, y)
    expected = [one_score(make_pipeline(StandardScaler(), KernelRidge(0.1, kernel=Gaussian(w))), X, y) for w in WIDTHS]
    np.testing.assert_array_equal(scores, expected)


def test_a_precomputed_matrix_is_split_in_both_directions(data, rng):
    X, y = data[0], rng.normal(size=24)
    by_matrix = one_score(KernelRidge(0.1, kernel="precomputed"), Gaussian()(X), y)
    assert by_matrix == pytest.approx(one_score(KernelRidge(0.1, kernel=Gaussian()), X, y), rel=1e-9)


def test_weights_are_passed_by_a_search(data, rng):
    X, y, w = data[0], rng.normal(size=24), rng.uniform(0.1, 3.0, size=24)
    search = GridSearchCV(KernelRidge(kernel="rbf"), {"alpha": [0.1, 1.0]}, cv=CV).fit(X, y, sample_weight=w)
    direct = KernelRidge(search.best_params_["alpha"], kernel="rbf").fit(X, y, w)
    np.testing.assert_array_equal(search.best_estimator_.dual_coef_, direct.dual_coef_)
