"""KernelRidge equals the bordered system by brute force, scikit-learn's, and a Gaussian process."""

import itertools
import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.kernel_ridge import KernelRidge as Peer
from sklearn.linear_model import Ridge

from mercer import KernelRidge
from mercer.errors import IllConditionedWarning
from mercer.kernels import (
    Chi2,
    Constant,
    Cosine,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
)
from oracles import kernel_ridge, log_evidence, posterior_variance, smoother
from views import read_only

KERNELS = [
    Linear(),
    Polynomial(2),
    Polynomial(3, offset=0.0, scale=0.5),
    Gaussian(0.8),
    Gaussian([0.5, 1.0, 2.0]),
    Laplacian(1.3),
    Matern(nu=0.5),
    Matern(nu=2.5),
    RationalQuadratic(shape=0.7),
    Periodic(period=3.0),
    Cosine(),
    Chi2(0.5),
    Gaussian() + 0.5 * Linear(),
    Gaussian() * Polynomial(2),
    (0.05 * Linear()).exp(),
    Matern() ** 2 + Constant(0.1),
    Gaussian().on([0, 2]) + Laplacian().on(1),
    Polynomial(2).normalized(),
]
N = 30


def table(rng, n=N, d=3):
    """Non-negative, so that every kernel takes it."""
    return read_only(rng.exponential(size=(n, d)))


def some_weights(kind, rng, n=N):
    if kind == "none":
        return None
    w = rng.uniform(0.2, 3.0, size=n)
    if kind == "some zero":
        w[[0, 7, n - 1]] = 0.0
    return read_only(w)


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["none", "positive", "some zero"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_it_equals_the_bordered_system_by_brute_force(kernel, intercept, weights, rng):
    X, new = table(rng), table(rng, 7)
    Y, w = read_only(rng.normal(size=(N, 3)) + 2.0), some_weights(weights, rng)
    alphas = read_only(np.array([0.5, 0.05, 0.5]))
    K, against = kernel(X), kernel(new, X)
    expected = [kernel_ridge(K, Y[:, j], alphas[j], w, intercept) for j in range(3)]
    dual, b = np.hstack([a for a, _ in expected]), np.array([b[0] for _, b in expected])
    solvers = ["auto", "cholesky", "spectral"] + ["primal"] * (kernel.feature_count(3) is not None)
    for solver in solvers:
        model = KernelRidge(alphas, kernel=kernel, fit_intercept=intercept, solver=solver).fit(X, Y, w)
        np.testing.assert_allclose(model.dual_coef_, dual, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(model.intercept_, b, rtol=1e-8, atol=1e-9)
        mean, std = model.predict(new, return_std=True)
        np.testing.assert_allclose(mean, against @ dual + b, rtol=1e-8, atol=1e-8)
        for j in range(3):
            evidence, scale = log_evidence(K, Y[:, j], alphas[j], w, intercept)
            variance = posterior_variance(K, against, kernel.diag(new), alphas[j], w, intercept)
            np.testing.assert_allclose(model.log_marginal_likelihood_[j], evidence, rtol=1e-7, atol=1e-7)
            np.testing.assert_allclose(model.prior_variance_[j], scale, rtol=1e-7)
            np.testing.assert_allclose(std[:, j] ** 2, np.maximum(variance, 0) * scale, rtol=1e-5, atol=1e-8)
            dof = np.trace(smoother(K, alphas[j], w, intercept))
            np.testing.assert_allclose(model.effective_dof_[j], dof, rtol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["none", "positive"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian", "cosine", "chi2"])
def test_it_equals_scikit_learns_in_every_container(kernel, weights, rng):
    X, new, Y = table(rng), table(rng, 6), rng.normal(size=(N, 2))
    w = some_weights(weights, rng)
    # its chi2 takes neither read-only arrays nor its own default gamma
    peer = Peer([0.3, 2.0], kernel=kernel, gamma=1.0 if kernel == "chi2" else None).fit(np.array(X), Y, w)
    expected = peer.predict(np.array(new))
    names = ["a", "b", "c"]
    makers = {
        "numpy": np.asarray,
        "list": lambda A: A.tolist(),
        "Fortran order": np.asfortranarray,
        "pandas": lambda A: pd.DataFrame(A, columns=names),
        "polars": lambda A: pl.DataFrame(A, schema=names),
        "csr": sp.csr_array,
        "csc": sp.csc_matrix,
        "coo": sp.coo_array,
    }
    for name, make in makers.items():
        model = KernelRidge([0.3, 2.0], kernel=kernel).fit(make(X), Y, w)
        np.testing.assert_allclose(model.dual_coef_, peer.dual_coef_, rtol=1e-8, atol=1e-10, err_msg=name)
        np.testing.assert_allclose(model.predict(make(new)), expected, rtol=1e-8, atol=1e-10, err_msg=name)
        assert model.n_features_in_ == 3
        assert hasattr(model, "feature_names_in_") == (name in {"pandas", "polars"})


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weights", ["none", "some zero"])
def test_a_precomputed_matrix_gives_what_its_kernel_does(container, intercept, weights, rng):
    X, new, y = table(rng), table(rng, 6), rng.normal(size=N)
    w, kernel = some_weights(weights, rng), Gaussian(0.9)
    K, against = read_only(kernel(X)), read_only(kernel(new, X))
    given_matrix = KernelRidge(0.2, kernel="precomputed", fit_intercept=intercept).fit(container(K), y, w)
    model = KernelRidge(0.2, kernel=kernel, fit_intercept=intercept).fit(X, y, w)
    np.testing.assert_allclose(given_matrix.dual_coef_, model.dual_coef_, rtol=1e-9, atol=1e-11)
    mean, std = given_matrix.predict(container(against), return_std=True, diag=kernel.diag(new))
    expected_mean, expected_std = model.predict(new, return_std=True)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-9)
    np.testing.assert_allclose(std, expected_std, rtol=1e-7)
    np.testing.assert_allclose(given_matrix.effective_dof_, model.effective_dof_, rtol=1e-9)
    np.testing.assert_allclose(given_matrix.log_marginal_likelihood_, model.log_marginal_likelihood_, rtol=1e-9)


def test_a_composed_precomputed_matrix_is_used_as_composed(rng):
    from mercer.kernels import Precomputed

    X, y = table(rng), rng.normal(size=N)
    K = Gaussian()(X)
    model = KernelRidge(0.2, kernel=2.0 * Precomputed() + Constant(0.5)).fit(K, y)
    dual, _ = kernel_ridge(2.0 * K + 0.5, y, 0.2)
    np.testing.assert_allclose(model.dual_coef_, dual[:, 0], rtol=1e-9)
    np.testing.assert_allclose(model.predict(K), (2.0 * K + 0.5) @ dual[:, 0], rtol=1e-9)


# -- the Gaussian view ----------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.5, 1e-2])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_gaussian_view_equals_scikit_learns_gaussian_process(alpha, weighted, rng):
    X, y, new = rng.normal(size=(25, 2)), rng.normal(size=25), rng.normal(size=(9, 2))
    w = rng.uniform(0.5, 2, size=25) if weighted else None
    model = KernelRidge(alpha, kernel=Gaussian(0.8)).fit(X, y, w)
    s2 = model.prior_variance_
    noise = alpha * s2 / (np.ones(25) if w is None else w)
    process = GaussianProcessRegressor(ConstantKernel(s2, "fixed") * RBF(0.8, "fixed"), alpha=noise, optimizer=None)
    process.fit(X, y)
    mean, std = model.predict(new, return_std=True)
    expected_mean, expected_std = process.predict(new, return_std=True)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(std, expected_std, rtol=1e-8)
    assert model.log_marginal_likelihood_ == pytest.approx(process.log_marginal_likelihood_value_, rel=1e-9)


def test_the_prior_variance_is_the_most_likely_one(rng):
    X, y = rng.normal(size=(25, 2)), rng.normal(size=25)
    model = KernelRidge(0.3, kernel=Gaussian(0.8)).fit(X, y)
    s2 = model.prior_variance_
    at = [
        GaussianProcessRegressor(ConstantKernel(v, "fixed") * RBF(0.8, "fixed"), alpha=0.3 * v, optimizer=None)
        .fit(X, y)
        .log_marginal_likelihood_value_
        for v in (0.9 * s2, s2, 1.1 * s2)
    ]
    assert at[1] > max(at[0], at[2])


def test_an_intercept_is_a_constant_kernel_of_infinite_variance(rng):
    X, y, new = rng.normal(size=(25, 2)), rng.normal(size=25) + 3.0, rng.normal(size=(9, 2))
    flat = KernelRidge(0.5, kernel=Gaussian(0.8), fit_intercept=True).fit(X, y)
    s2 = flat.prior_variance_
    kernel = ConstantKernel(s2, "fixed") * RBF(0.8, "fixed") + ConstantKernel(1e6 * s2, "fixed")
    wide = GaussianProcessRegressor(kernel, alpha=0.5 * s2, optimizer=None).fit(X, y)
    mean, std = flat.predict(new, return_std=True)
    expected_mean, expected_std = wide.predict(new, return_std=True)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-4)
    np.testing.assert_allclose(std, expected_std, rtol=1e-4)


def test_the_intercept_is_ridge_regressions(rng):
    X, y, w = rng.normal(size=(40, 3)), rng.normal(size=40) + 5.0, rng.uniform(0.5, 2, size=40)
    peer = Ridge(0.7).fit(X, y, w)
    for solver in ("primal", "cholesky", "spectral"):
        model = KernelRidge(0.7, fit_intercept=True, solver=solver).fit(X, y, w)
        assert model.intercept_ == pytest.approx(peer.intercept_, rel=1e-9)
        np.testing.assert_allclose(X.T @ model.dual_coef_, peer.coef_, rtol=1e-8)


def test_far_from_the_data_the_std_is_that_of_the_prior(rng):
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    model = KernelRidge(0.1, kernel=Gaussian()).fit(X, y)
    mean, std = model.predict([[100.0, 100.0]], return_std=True)
    assert mean == pytest.approx(0.0, abs=1e-12)
    assert std**2 == pytest.approx(model.prior_variance_)


def test_the_std_of_many_rows_equals_that_of_a_few(rng):
    X, Y, new = rng.normal(size=(60, 2)), rng.normal(size=(60, 2)), rng.normal(size=(1203, 2))
    for kernel in (Gaussian(), Linear()):
        model = KernelRidge([0.1, 1.0], kernel=kernel, fit_intercept=True).fit(X, Y)
        whole = model.predict(new, return_std=True)[1]
        for part in (slice(0, 3), slice(498, 503), slice(1200, 1203)):
            np.testing.assert_allclose(whole[part], model.predict(new[part], return_std=True)[1], rtol=1e-9)


# -- shapes ---------------------------------------------------------------------------------------


@pytest.mark.slow
@given(st.integers(1, 7), st.integers(1, 4), st.integers(0, 3), st.booleans(), st.booleans(), st.integers(0, 2**16))
def test_shapes_follow_y_and_small_tables_equal_brute_force(n, d, targets, intercept, linear, seed):
    rng = np.random.default_rng(seed)
    X, new = rng.normal(size=(n, d)), rng.normal(size=(4, d))
    y = rng.normal(size=n) if targets == 0 else rng.normal(size=(n, targets))
    kernel = Linear() if linear else Gaussian(0.7)
    model = KernelRidge(0.2, kernel=kernel, fit_intercept=intercept).fit(X, y)
    tail = () if targets == 0 else (targets,)
    assert model.dual_coef_.shape == (n, *tail)
    assert np.shape(model.intercept_) == tail
    assert np.shape(model.prior_variance_) == tail
    assert np.shape(model.log_marginal_likelihood_) == tail
    assert np.ndim(model.effective_dof_) == 0
    mean, std = model.predict(new, return_std=True)
    assert mean.shape == std.shape == (4, *tail)
    assert hasattr(model, "primal_coef_") == linear
    if linear:
        assert model.primal_coef_.shape == (*tail, d)
    dual, b = kernel_ridge(kernel(X), y, 0.2, intercept=intercept)
    np.testing.assert_allclose(model.dual_coef_.reshape(n, -1), dual, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(mean.reshape(4, -1), kernel(new, X) @ dual + b, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("intercept", [False, True])
def test_more_targets_than_rows_are_solved_one_by_one(kernel, intercept, rng):
    X, Y = rng.normal(size=(5, 2)), rng.normal(size=(5, 40))
    alphas = np.resize([0.1, 1.0, 10.0], 40)  # three values, many times each
    model = KernelRidge(alphas, kernel=kernel, fit_intercept=intercept).fit(X, Y)
    for j in (0, 1, 2, 17, 39):
        one = KernelRidge(alphas[j], kernel=kernel, fit_intercept=intercept).fit(X, Y[:, j])
        np.testing.assert_allclose(model.dual_coef_[:, j], one.dual_coef_, rtol=1e-10, atol=1e-12)
        assert model.intercept_[j] == pytest.approx(one.intercept_)
        assert model.effective_dof_[j] == pytest.approx(one.effective_dof_)
        assert model.log_marginal_likelihood_[j] == pytest.approx(one.log_marginal_likelihood_)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_column_of_targets_stays_a_column(kernel, rng):
    X, y = rng.normal(size=(8, 2)), rng.normal(size=8)
    flat, column = (KernelRidge(kernel=kernel).fit(X, target) for target in (y, y[:, None]))
    assert column.predict(X).shape == (8, 1)
    np.testing.assert_array_equal(column.predict(X)[:, 0], flat.predict(X))
    assert column.dual_coef_.shape == (8, 1)


def test_an_alpha_of_one_number_in_a_list_is_that_number(rng):
    X, Y = rng.normal(size=(8, 2)), rng.normal(size=(8, 2))
    np.testing.assert_array_equal(
        KernelRidge([0.5], kernel="rbf").fit(X, Y).dual_coef_, KernelRidge(0.5, kernel="rbf").fit(X, Y).dual_coef_
    )
    model = KernelRidge([0.5], kernel="rbf").fit(X, Y[:, 0])
    assert np.ndim(model.effective_dof_) == 0


# -- adversaries ----------------------------------------------------------------------------------


def as_objects(A):
    return A.astype(object)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian"])
@pytest.mark.parametrize("make", [np.float32, np.int64, np.int8, bool, np.float16, as_objects, np.uint8])
def test_numbers_of_any_make_mean_what_they_are(kernel, make, rng):
    X = rng.integers(0, 2, size=(12, 3))
    y = rng.integers(0, 2, size=12)
    convert = make if make is as_objects else lambda A: A.astype(make)
    model = KernelRidge(0.1, kernel=kernel).fit(convert(X), convert(y))
    plain = KernelRidge(0.1, kernel=kernel).fit(X.astype(float), y.astype(float))
    np.testing.assert_allclose(model.dual_coef_, plain.dual_coef_, rtol=1e-12)
    np.testing.assert_allclose(model.predict(convert(X)), plain.predict(X.astype(float)), rtol=1e-12)
    assert model.predict(convert(X)).dtype == np.float64


@pytest.mark.parametrize("solver", ["primal", "cholesky", "spectral"])
@pytest.mark.parametrize("scale", [1e-100, 1e-12, 1e-6, 1e6, 1e12, 1e100])
def test_scaling_x_and_alpha_alike_changes_nothing(scale, solver, rng):
    X, y, new = rng.normal(size=(20, 3)), rng.normal(size=20), rng.normal(size=(4, 3))
    one = KernelRidge(1.0, solver=solver, fit_intercept=True).fit(X, y)
    other = KernelRidge(scale**2, solver=solver, fit_intercept=True).fit(X * scale, y)
    np.testing.assert_allclose(other.predict(new * scale), one.predict(new), rtol=1e-9)
    assert other.effective_dof_ == pytest.approx(one.effective_dof_)
    assert other.route_.name == one.route_.name
    assert 0.5 <= other.route_.condition / one.route_.condition <= 2


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scaling_x_and_the_width_alike_changes_nothing(scale, rng):
    X, y, new = rng.normal(size=(20, 3)), rng.normal(size=20), rng.normal(size=(4, 3))
    for make in (Gaussian, Laplacian, Matern):
        one, other = (KernelRidge(0.1, kernel=make(s)).fit(X * s, y) for s in (1.0, scale))
        np.testing.assert_allclose(other.predict(new * scale), one.predict(new), rtol=1e-9)


@pytest.mark.parametrize("solver", ["primal", "cholesky", "spectral"])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_huge_alpha_gives_the_mean_or_nothing(solver, intercept, rng):
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20) + 1.0
    for alpha in (1e12, 1e100, 1e200):
        model = KernelRidge(alpha, solver=solver, fit_intercept=intercept).fit(X, y)
        np.testing.assert_allclose(model.predict(X), y.mean() if intercept else 0.0, atol=1e-8)
        centred = y - y.mean() if intercept else y
        np.testing.assert_allclose(model.dual_coef_ * alpha, centred, rtol=1e-6, atol=1e-9)
        assert model.effective_dof_ == pytest.approx(float(intercept), abs=1e-8)
        assert math.isfinite(model.log_marginal_likelihood_)


@pytest.mark.parametrize("alpha", [1e-12, 1e-100, 1e-300])
def test_a_tiny_alpha_interpolates_where_the_rows_differ(alpha, rng):
    X, y = rng.normal(size=(15, 3)), rng.normal(size=15)
    model = KernelRidge(alpha, kernel=Gaussian(0.3)).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-8)
    np.testing.assert_allclose(model.predict(X, return_std=True)[1], 0.0, atol=1e-5)


def test_weights_of_any_common_size_only_divide_alpha(rng):
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    for weight in (1e-12, 1e-3, 1e12):
        for kernel in ("linear", "rbf"):
            weighted = KernelRidge(weight, kernel=kernel, fit_intercept=True).fit(X, y, np.full(20, weight))
            plain = KernelRidge(1.0, kernel=kernel, fit_intercept=True).fit(X, y)
            np.testing.assert_allclose(weighted.dual_coef_, plain.dual_coef_, rtol=1e-9)
            assert weighted.effective_dof_ == pytest.approx(plain.effective_dof_)
            assert weighted.log_marginal_likelihood_ == pytest.approx(plain.log_marginal_likelihood_)


def test_a_weight_of_two_is_a_row_twice(rng):
    X, Y = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    counts = rng.integers(0, 3, size=20)
    again = np.repeat(np.arange(20), counts)
    for kernel, intercept in itertools.product(["linear", "rbf"], [False, True]):
        weighted = KernelRidge(0.5, kernel=kernel, fit_intercept=intercept).fit(X, Y, counts)
        repeated = KernelRidge(0.5, kernel=kernel, fit_intercept=intercept).fit(X[again], Y[again])
        np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-8, atol=1e-10)


def test_one_number_as_weight_is_that_of_every_row(rng):
    X, y = rng.normal(size=(10, 2)), rng.normal(size=10)
    np.testing.assert_allclose(
        KernelRidge(1.0, kernel="rbf").fit(X, y, 2.0).dual_coef_, KernelRidge(0.5, kernel="rbf").fit(X, y).dual_coef_
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "cosine", "laplacian"])
@pytest.mark.parametrize("intercept", [False, True])
def test_two_rows_one_row_and_one_column_are_enough(kernel, intercept, rng):
    for n, d in ((2, 1), (2, 3), (1, 1), (1, 3), (9, 1)):
        X, y, new = rng.normal(size=(n, d)), rng.normal(size=n), rng.normal(size=(3, d))
        model = KernelRidge(0.4, kernel=kernel, fit_intercept=intercept).fit(X, y)
        dual, b = kernel_ridge(model.kernel_(X), y, 0.4, intercept=intercept)
        expected = model.kernel_(new, X) @ dual[:, 0] + b[0]
        np.testing.assert_allclose(model.predict(new), expected, rtol=1e-9, atol=1e-12)
        assert np.isfinite(model.predict(new, return_std=True)[1]).all()


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_constant_targets_are_met_by_the_intercept_alone(kernel, rng):
    X = rng.normal(size=(12, 3))
    for value in (0.0, 7.0, -1e9):
        model = KernelRidge(0.1, kernel=kernel, fit_intercept=True).fit(X, np.full(12, value))
        np.testing.assert_allclose(model.predict(X), value, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(model.dual_coef_ / max(1.0, abs(value)), 0.0, atol=1e-12)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian", "cosine"])
def test_constant_columns_do_no_harm(kernel, rng):
    X, y = np.tile(rng.normal(size=3), (12, 1)), rng.normal(size=12)
    model = KernelRidge(0.1, kernel=kernel, fit_intercept=True).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y.mean(), rtol=1e-9)
    assert model.effective_dof_ == pytest.approx(1.0)


def test_data_far_from_the_origin_keep_their_digits(rng):
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    far = (X + 1e6) - 1e6
    for kernel in (Gaussian(), Laplacian(), Matern()):
        here = KernelRidge(0.1, kernel=kernel).fit(far, y)
        there = KernelRidge(0.1, kernel=kernel).fit(far + 1e6, y)
        np.testing.assert_allclose(there.predict(far + 1e6), here.predict(far), rtol=1e-7)


# -- state ----------------------------------------------------------------------------------------


def test_a_refit_forgets_the_old_data(rng):
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    Z, z = rng.normal(size=(15, 2)), rng.normal(size=(15, 2))
    model = KernelRidge(0.3, kernel="linear").fit(X, y)
    model.predict(X, return_std=True)
    assert hasattr(model, "primal_coef_")
    model.set_params(kernel="rbf", fit_intercept=True).fit(Z, z)
    fresh = KernelRidge(0.3, kernel="rbf", fit_intercept=True).fit(Z, z)
    for mine, theirs in zip(model.predict(Z, return_std=True), fresh.predict(Z, return_std=True), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert model.effective_dof_ == fresh.effective_dof_
    np.testing.assert_array_equal(model.log_marginal_likelihood_, fresh.log_marginal_likelihood_)
    assert not hasattr(model, "primal_coef_")
    assert sorted(vars(model)) == sorted(vars(fresh))


def test_weights_of_an_earlier_fit_are_forgotten(rng):
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    w = rng.uniform(size=20) * (np.arange(20) % 3 > 0)
    model = KernelRidge(0.3, kernel="rbf").fit(X, y, w).fit(X, y)
    fresh = KernelRidge(0.3, kernel="rbf").fit(X, y)
    np.testing.assert_array_equal(model.predict(X, return_std=True)[1], fresh.predict(X, return_std=True)[1])


def test_the_gaussian_view_is_that_of_the_fit_and_not_of_later_parameters(rng):
    X, Y = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    model = KernelRidge(0.3, kernel="rbf").fit(X, Y)
    before = model.effective_dof_
    model.set_params(alpha=[5.0, 6.0], fit_intercept=True)
    assert np.ndim(model.effective_dof_) == 0
    assert model.effective_dof_ == before


def test_the_same_fit_is_the_same_to_the_last_bit(rng):
    X, y = rng.normal(size=(700, 3)), rng.normal(size=700)
    one, other = (KernelRidge(0.1, kernel=Gaussian()).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)
    assert one.route_ == other.route_


def test_the_first_warning_is_the_worst_of_all_targets(rng):
    X, Y = rng.normal(size=(12, 2)), rng.normal(size=(12, 3))
    with pytest.warns(IllConditionedWarning) as caught:
        model = KernelRidge([1.0, 1e-11, 0.1], kernel=Gaussian(30.0), solver="spectral").fit(X, Y)
    assert len(caught) == 1
    assert "with alpha = 1e-11" in str(caught[0].message)
    assert model.route_.digits < 6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelRidge([1.0, 0.1], kernel=Gaussian(30.0)).fit(X, Y[:, :2])


@pytest.mark.parametrize("offset", [1e4, 1e8])
def test_with_an_intercept_deviations_and_evidence_do_not_depend_on_where_the_targets_are(offset, rng):
    X, new = rng.normal(size=(30, 2)), rng.normal(size=(5, 2))
    y, kernel = np.sin(X[:, 0]) + 0.1 * rng.normal(size=30), Gaussian(1.0)
    evidence, scale = log_evidence(kernel(X), y, 0.1, intercept=True)
    variance = scale * posterior_variance(kernel(X), kernel(new, X), np.ones(5), 0.1, intercept=True)
    model = KernelRidge(0.1, kernel=kernel, fit_intercept=True).fit(X, y + offset)
    known = {"rtol": 10 * offset * np.finfo(float).eps}
    np.testing.assert_allclose(model.prior_variance_, scale, **known)
    np.testing.assert_allclose(model.log_marginal_likelihood_, evidence, **known)
    mean, std = model.predict(new, return_std=True)
    np.testing.assert_allclose(std, np.sqrt(variance), **known)
    lower, upper = model.predict_interval(new, method="gaussian")
    half = 1.6448536269514722 * np.sqrt(variance + 0.1 * scale)
    np.testing.assert_allclose([mean - lower, upper - mean], [half, half], **known)
