"""The primal system, D unknowns: the same answers as the dual, to rounding."""

import math
from contextlib import nullcontext

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mercer import KernelRidge, cross_validate
from mercer.errors import InputError, SingularSystemWarning
from mercer.kernels import Constant, Cosine, Linear, Outer, Polynomial
from mercer.solvers import PrimalSystem
from oracles import kernel_ridge, log_evidence, posterior_variance, smoother
from refusals import tells

KERNELS = [
    Linear(),
    Polynomial(2),
    Polynomial(3, offset=0.5, scale=0.2),
    Cosine(),
    Constant(2.0),
    Linear() + Constant(0.3),
    0.5 * Linear() * Linear(),
    Outer(lambda X: X[:, 0]) + Linear(),
]


def weights_of(kind, n, rng):
    if kind == "none":
        return None
    w = rng.uniform(0.2, 3.0, size=n)
    if kind == "some zero":
        w[::4] = 0.0
    return w


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weights", ["none", "positive", "some zero"])
def test_primal_and_dual_agree_in_everything(kernel, intercept, weights, rng):
    n = 40
    X, Y, new = rng.normal(size=(n, 2)), rng.normal(size=(n, 2)) + 1.0, rng.normal(size=(6, 2))
    w = weights_of(weights, n, rng)
    settings = {"alpha": [0.7, 0.05], "kernel": kernel, "fit_intercept": intercept}
    primal = KernelRidge(**settings, solver="primal").fit(X, Y, w)
    dual = KernelRidge(**settings, solver="cholesky").fit(X, Y, w)
    assert (primal.route_.name, dual.route_.name) == ("primal", "cholesky")
    np.testing.assert_allclose(primal.dual_coef_, dual.dual_coef_, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(primal.intercept_, dual.intercept_, rtol=1e-9, atol=1e-10)
    mean, std = primal.predict(new, return_std=True)
    mean_dual, std_dual = dual.predict(new, return_std=True)
    np.testing.assert_allclose(mean, mean_dual, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(std, std_dual, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(primal.log_marginal_likelihood_, dual.log_marginal_likelihood_, rtol=1e-9)
    np.testing.assert_allclose(primal.effective_dof_, dual.effective_dof_, rtol=1e-8)
    np.testing.assert_allclose(primal.prior_variance_, dual.prior_variance_, rtol=1e-9)


@pytest.mark.parametrize("alpha", [1e-3, 1e-10])
@pytest.mark.parametrize("intercept", [False, True])
def test_both_ways_of_solving_equal_brute_force(alpha, intercept, rng):
    """Normal equations at the larger alpha, singular values at the smaller: features that are nearly the same."""
    nearly = np.array([[1.0, 1.0, 1.0], [0.0, 1e-2, 0.0], [0.0, 0.0, 1e-4]])
    X, new = rng.normal(size=(25, 3)) @ nearly + [0.0, 0.01, 0.0], rng.normal(size=(4, 3)) @ nearly
    y, w = rng.normal(size=25), rng.uniform(0.5, 2, size=25)
    model = KernelRidge(alpha, fit_intercept=intercept).fit(X, y, w)
    way = "normal equations" if alpha == 1e-3 else "singular values"
    assert model.route_.reason == f"3 features, 25 rows; {way}"
    ones = np.ones((25, 1))
    F, N = (np.hstack([X, ones]), np.hstack([new, ones[:4]])) if intercept else (X, new)
    D = math.sqrt(alpha) * np.eye(3, F.shape[1])
    stacked = np.vstack([np.sqrt(w)[:, None] * F, D])
    coefficients = np.linalg.lstsq(stacked, np.concatenate([np.sqrt(w) * y, np.zeros(3)]), rcond=None)[0]
    np.testing.assert_allclose(model.predict(new), N @ coefficients, rtol=1e-9)
    np.testing.assert_allclose(model.primal_coef_, coefficients[:3], rtol=1e-6)
    half = np.linalg.inv(np.linalg.qr(stacked)[1])
    covariance = half @ half.T
    variance = alpha * np.einsum("ij,jk,ik->i", N, covariance, N) * model.prior_variance_
    np.testing.assert_allclose(model.predict(new, return_std=True)[1], np.sqrt(variance), rtol=1e-5)
    dof = np.trace((F * w[:, None]) @ covariance @ F.T)
    assert model.effective_dof_ == pytest.approx(dof, rel=1e-6)


@given(st.integers(1, 8), st.integers(1, 8), st.booleans(), st.booleans(), st.integers(0, 2**16))
def test_any_number_of_rows_and_columns_equals_brute_force(n, d, intercept, weighted, seed):
    rng = np.random.default_rng(seed)
    X, y, new = rng.normal(size=(n, d)), rng.normal(size=n), rng.normal(size=(3, d))
    w = rng.uniform(0.1, 2, size=n) if weighted else None
    model = KernelRidge(0.3, solver="primal", fit_intercept=intercept).fit(X, y, w)
    K = X @ X.T
    dual, b = kernel_ridge(K, y, 0.3, w, intercept)
    np.testing.assert_allclose(model.dual_coef_, dual[:, 0], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, b[0], atol=1e-10)
    np.testing.assert_allclose(model.predict(new), new @ X.T @ dual[:, 0] + b[0], atol=1e-10)
    np.testing.assert_allclose(model.effective_dof_, np.trace(smoother(K, 0.3, w, intercept)), atol=1e-9)
    if n > 1 or not intercept:
        evidence, scale = log_evidence(K, y, 0.3, w, intercept)
        np.testing.assert_allclose(model.log_marginal_likelihood_, evidence, rtol=1e-7, atol=1e-7)
        variance = posterior_variance(K, new @ X.T, (new**2).sum(axis=1), 0.3, w, intercept)
        np.testing.assert_allclose(model.predict(new, return_std=True)[1] ** 2, variance * scale, atol=1e-8)


@pytest.mark.parametrize(
    "container", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.coo_matrix, sp.dia_array, sp.bsr_array]
)
@pytest.mark.parametrize("alpha", [0.2, 0.0])
@pytest.mark.parametrize("intercept", [False, True])
def test_sparse_rows_give_what_dense_ones_do(container, alpha, intercept, rng):
    X = rng.normal(size=(30, 5)) * (rng.uniform(size=(30, 5)) < 0.5)
    y, w = rng.normal(size=30), rng.uniform(0.5, 2, size=30)
    sparse = KernelRidge(alpha, fit_intercept=intercept).fit(container(X), y, w)
    dense = KernelRidge(alpha, fit_intercept=intercept).fit(X, y, w)
    assert sparse.route_.name == "primal"
    np.testing.assert_allclose(sparse.primal_coef_, dense.primal_coef_, rtol=1e-9)
    np.testing.assert_allclose(sparse.predict(container(X)), dense.predict(X), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(sparse.predict(X), dense.predict(X), rtol=1e-9, atol=1e-11)
    std = dense.predict(X, return_std=True)[1]
    np.testing.assert_allclose(sparse.predict(container(X), return_std=True)[1], std, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(sparse.effective_dof_, dense.effective_dof_, rtol=1e-9)


@pytest.mark.parametrize("offset", [1e2, 1e4, 1e6, 1e7])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_columns_far_from_zero_cost_no_more_digits_than_centring_does(container, offset, rng):
    """With an intercept, moving X changes nothing but the intercept; only the digits of X itself are lost."""
    X, w = rng.normal(size=(30, 3)), np.array([1.0, -2.0, 0.5])
    X = (X + offset) - offset  # what is left of it at that distance
    y = X @ w + 1.0
    near = KernelRidge(1e-3, fit_intercept=True).fit(X, y)
    far = KernelRidge(1e-3, fit_intercept=True).fit(container(X + offset), y)
    np.testing.assert_allclose(far.primal_coef_, near.primal_coef_, rtol=1e-14 * offset + 1e-10)
    np.testing.assert_allclose(far.predict(X + offset), near.predict(X), atol=1e-13 * offset + 1e-10)


@pytest.mark.parametrize("offset", [1e4, 1e6])
def test_a_sparse_table_too_large_to_centre_does_not_claim_digits_it_has_lost(offset, monkeypatch, rng):
    """Where F'F is centred by formula, as for tables that would not fit densely, the answer or its digits must tell."""
    monkeypatch.setattr("mercer.solvers.primal._MODERATE", 0, raising=False)
    X, w = rng.normal(size=(30, 3)), np.array([1.0, -2.0, 0.5])
    X = (X + offset) - offset
    near = KernelRidge(1e-3, fit_intercept=True).fit(X, X @ w)
    far = KernelRidge(1e-3, fit_intercept=True).fit(sp.csr_array(X + offset), X @ w)
    error = np.abs(far.primal_coef_ / near.primal_coef_ - 1).max()
    assert error <= 100 * max(10.0**-far.route_.digits, 1e-15 * offset)


@pytest.mark.parametrize("value", [0.0, 0.1, 1.0, 1e6 / 3])
@pytest.mark.parametrize("n", [3, 6, 7, 10, 30])
def test_a_constant_column_beside_an_intercept_carries_nothing(value, n, rng):
    X, y = np.full((n, 1), value), rng.normal(size=n)
    model = KernelRidge(0.0, fit_intercept=True).fit(X, y)
    np.testing.assert_allclose(model.primal_coef_, [0.0], atol=1e-10)
    np.testing.assert_allclose(model.predict([[value], [value + 1]]), y.mean(), atol=1e-9)
    assert model.effective_dof_ == pytest.approx(1.0)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("value", [0.1, np.pi * 1e3, np.pi * 1e7, np.pi * 1e10])
def test_a_large_constant_column_gets_no_weight(value, container, rng):
    x = rng.normal(size=20)
    X = np.column_stack([np.full(20, value), x])
    model = KernelRidge(1e-3, fit_intercept=True).fit(container(X), 3.0 * x + 1.0)
    alone = KernelRidge(1e-3, fit_intercept=True).fit(x[:, None], 3.0 * x + 1.0)
    assert abs(model.primal_coef_[0]) <= 1e-6
    np.testing.assert_allclose(model.primal_coef_[1], alone.primal_coef_[0], rtol=1e-6)
    np.testing.assert_allclose(model.predict(X), alone.predict(x[:, None]), rtol=1e-5)


@pytest.mark.parametrize("alpha", [1e-6, 1e-12, 1e-20, 1e-28, 1e-40])
@pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")
def test_equal_columns_share_their_weight_however_small_alpha_is(alpha, rng):
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    doubled = np.hstack([X, X[:, :1]])
    model = KernelRidge(alpha, solver="primal").fit(doubled, y)
    np.testing.assert_allclose(model.primal_coef_[0], model.primal_coef_[3], rtol=1e-3)
    np.testing.assert_allclose(model.predict(doubled), X @ np.linalg.lstsq(X, y, rcond=None)[0], rtol=1e-4, atol=1e-5)
    assert model.effective_dof_ == pytest.approx(3.0, abs=1e-3)


def test_more_features_than_rows_are_solved_too(rng):
    X, y, new = rng.normal(size=(6, 20)), rng.normal(size=6), rng.normal(size=(3, 20))
    primal = KernelRidge(0.1, solver="primal").fit(X, y)
    dual = KernelRidge(0.1).fit(X, y)
    assert dual.route_.name == "cholesky"
    np.testing.assert_allclose(primal.predict(new), dual.predict(new), rtol=1e-9)
    with pytest.warns(SingularSystemWarning, match="rank 6 of 20"):
        interpolating = KernelRidge(0.0, solver="primal").fit(X, y)
    np.testing.assert_allclose(interpolating.primal_coef_, np.linalg.pinv(X) @ y, rtol=1e-9)
    np.testing.assert_allclose(interpolating.predict(X), y, rtol=1e-9)
    assert interpolating.route_.rank == 6
    assert interpolating.effective_dof_ == pytest.approx(6.0)


def test_the_evidence_of_a_regular_gram_matrix_needs_no_alpha(rng):
    """With at least as many features as rows K is regular at alpha = 0, and y has a density."""
    X, y = rng.normal(size=(6, 20)), rng.normal(size=6)
    with pytest.warns(SingularSystemWarning, match="rank 6 of 20"):
        dual, primal = (KernelRidge(0.0, solver=solver).fit(X, y) for solver in ("cholesky", "primal"))
    assert math.isfinite(dual.log_marginal_likelihood_)
    np.testing.assert_allclose(primal.log_marginal_likelihood_, dual.log_marginal_likelihood_, rtol=1e-8)


def test_ordinary_least_squares_on_a_polynomial_basis(rng):
    x = np.linspace(-1, 1, 15)
    y = 1.0 - 2.0 * x + 3.0 * x**3 + 0.01 * rng.normal(size=15)
    model = KernelRidge(0.0, kernel=Polynomial(3)).fit(x[:, None], y)  # without a warning: the curve is unique
    assert model.route_.name == "primal"
    np.testing.assert_allclose(model.predict(x[:, None]), np.polyval(np.polyfit(x, y, 3), x), rtol=1e-8, atol=1e-9)
    assert model.effective_dof_ == pytest.approx(4.0)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("rows", [4, 5, 6, 7, 9])
def test_polynomials_without_penalty_warn_where_they_are_not_unique(rows, intercept):
    x = np.linspace(-1, 1, rows)
    model = KernelRidge(0.0, kernel=Polynomial(5), fit_intercept=intercept)
    with nullcontext() if rows > 5 else pytest.warns(SingularSystemWarning, match=f"rank {rows} of 6"):
        model.fit(x[:, None], 1.0 + x**2)
    np.testing.assert_allclose(model.predict(x[:, None]), 1.0 + x**2, atol=1e-8)


def test_rank_deficient_features_without_penalty_get_the_shortest_weights(rng):
    X = rng.normal(size=(20, 2)) @ rng.normal(size=(2, 4))
    y = rng.normal(size=20)
    with pytest.warns(SingularSystemWarning) as caught:
        model = KernelRidge(0.0).fit(X, y)
    assert len(caught) == 1
    assert tells(str(caught[0].message), "The system of KernelRidge", "rank 2 of 4")
    np.testing.assert_allclose(model.primal_coef_, np.linalg.pinv(X, rcond=1e-12) @ y, rtol=1e-8)
    inside = X[:3]
    outside = inside + np.linalg.svd(X)[2][-1]
    _, std = model.predict(np.vstack([inside, outside]), return_std=True)
    np.testing.assert_allclose(std[:3], 0.0, atol=1e-6)
    np.testing.assert_allclose(std[3:] ** 2, model.prior_variance_, rtol=1e-6)


def test_a_system_of_one_row_and_an_intercept_is_the_row(rng):
    fit = PrimalSystem(np.array([[2.0, 3.0]]), None, intercept=True).at(0.0).solve(np.array([[5.0]]))
    assert fit.intercept.tolist() == [5.0]
    assert fit.primal.tolist() == [[0.0], [0.0]]
    assert not fit.route.singular  # the bordered system [[k, 1], [1, 0]] is regular


@pytest.mark.parametrize("solver", ["primal", "cholesky", "spectral"])
def test_a_regular_gram_matrix_beside_an_intercept_is_not_called_singular(solver, rng):
    """Centring takes one from the rank, the intercept gives it back; only the weights of 20 features are not unique."""
    X, y = rng.normal(size=(6, 20)), rng.normal(size=6)
    with pytest.warns(SingularSystemWarning, match=r"of 20 with alpha = 0"):
        model = KernelRidge(0.0, solver=solver, fit_intercept=True).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-9)
    assert not model.route_.singular
    assert model.effective_dof_ == pytest.approx(6.0)


def test_columns_whose_squares_overflow_are_refused_in_a_sentence(rng):
    X, y = rng.normal(size=(20, 3)) * 1e160, rng.normal(size=20)
    with pytest.raises(InputError, match=r"Scale the columns of X\.$"):
        KernelRidge().fit(X, y)


@pytest.mark.parametrize("alpha", [1e-30, 1e-12, 1e-3])
@pytest.mark.parametrize("constant", [0.1, 1e8 / 3, -1e-8 / 7])
def test_constant_columns_beside_an_intercept_are_no_features(constant, alpha, rng):
    """Less their rounded mean they are rounding noise, which so small an alpha would not keep small."""
    X, new = rng.normal(size=(23, 2)), rng.normal(size=(5, 2))
    y = X @ [1.0, -2.0] + 3.0 + 0.1 * rng.normal(size=23)
    A = np.hstack([X - X.mean(axis=0), np.ones((23, 1))])
    w = np.linalg.solve(A.T @ A + np.diag([alpha, alpha, 0.0]), A.T @ y)
    wide, wide_new = (np.hstack([table, np.full((len(table), 3), constant)]) for table in (X, new))
    model = KernelRidge(alpha, kernel=Linear(), fit_intercept=True, solver="primal").fit(wide, y)
    expected = (new - X.mean(axis=0)) @ w[:2] + w[2]
    np.testing.assert_allclose(model.predict(wide_new), expected, rtol=1e-9)
    np.testing.assert_allclose(model.primal_coef_, [*w[:2], 0.0, 0.0, 0.0], atol=1e-9)
    held_out = cross_validate(KernelRidge(alpha, kernel=Linear(), fit_intercept=True), wide, y, cv=4)
    for test in np.array_split(np.arange(23), 4):
        train = np.setdiff1d(np.arange(23), test)
        own = X[train].mean(axis=0)
        A = np.hstack([X[train] - own, np.ones((len(train), 1))])
        w = np.linalg.solve(A.T @ A + np.diag([alpha, alpha, 0.0]), A.T @ y[train])
        np.testing.assert_allclose(held_out.predictions[0, test], (X[test] - own) @ w[:2] + w[2], rtol=1e-9)
