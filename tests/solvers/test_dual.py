"""The dual system: singular, nearly singular and regular ones, weighted or not, in any order of alphas."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import KernelRidge
from mercer.errors import IllConditionedWarning, InputError, NotMercerWarning, SingularSystemWarning
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.solvers import DualSystem
from mercer.solvers.dual import Eigendecomposition, SpectralInverse
from oracles import backward_error, kernel_ridge, with_spectrum
from refusals import tells

EPS = np.finfo(float).eps


@pytest.mark.parametrize("solver", ["cholesky", "spectral", "mixed"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_solver_equals_the_bordered_system(solver, intercept, weighted, rng):
    n = 30
    K = with_spectrum(np.logspace(0, -3, n), rng)
    Y, w = rng.normal(size=(n, 2)), rng.uniform(0.2, 3, size=n) if weighted else None
    found = DualSystem(K.copy(), w, intercept=intercept).solve(Y, 0.05, solver)
    dual, b = kernel_ridge(K, Y, 0.05, w, intercept)
    np.testing.assert_allclose(found.dual, dual, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(found.intercept, b, rtol=1e-10, atol=1e-12)
    assert found.primal is None
    assert found.route.name == solver


def test_alphas_can_be_asked_for_in_any_order(rng):
    K = with_spectrum(np.logspace(0, -3, 20), rng)
    y = rng.normal(size=(20, 1))
    system = DualSystem(K.copy(), None)
    for alpha in (1.0, 1e-2, 10.0, 0.0, 0.5):
        for solver in ("cholesky", "mixed"):
            expected, _ = kernel_ridge(K, y, alpha)
            np.testing.assert_allclose(system.solve(y, alpha, solver).dual, expected, rtol=1e-9)
    for alpha in (1.0, 1e-2):
        expected, _ = kernel_ridge(K, y, alpha)
        np.testing.assert_allclose(system.solve(y, alpha, "spectral").dual, expected, rtol=1e-9)


def test_after_a_singular_alpha_the_regular_ones_are_still_solved(rng):
    x = rng.normal(size=(10, 2))
    K = Gaussian()(np.vstack([x, x]))
    y = rng.normal(size=(20, 1))
    system = DualSystem(K.copy(), None)
    assert system.solve(y, 0.0, "cholesky").route.singular
    expected, _ = kernel_ridge(K, y, 1.0)
    np.testing.assert_allclose(system.solve(y, 1.0, "cholesky").dual, expected, rtol=1e-9)


@pytest.mark.parametrize("solver", ["auto", "cholesky", "spectral"])
def test_singular_and_regular_alphas_may_stand_side_by_side(solver, rng):
    X = np.repeat(rng.normal(size=(8, 2)), 2, axis=0)
    Y = rng.normal(size=(16, 3))
    with pytest.warns(SingularSystemWarning) as caught:
        model = KernelRidge([1.0, 0.0, 0.1], kernel=Gaussian(), solver=solver).fit(X, Y)
    assert len(caught) == 1
    K = Gaussian()(X)
    np.testing.assert_allclose(model.dual_coef_[:, [0]], kernel_ridge(K, Y[:, 0], 1.0)[0], rtol=1e-8)
    np.testing.assert_allclose(model.dual_coef_[:, [2]], kernel_ridge(K, Y[:, 2], 0.1)[0], rtol=1e-8)
    shortest = np.linalg.lstsq(K, Y[:, 1], rcond=16 * EPS)[0]
    np.testing.assert_allclose(model.dual_coef_[:, 1], shortest, rtol=1e-6, atol=1e-8)


SINGULAR = {
    "duplicated rows": lambda rng: Gaussian()(np.repeat(rng.normal(size=(12, 2)), 2, axis=0)),
    "more rows than columns": lambda rng: Linear()(rng.normal(size=(25, 4))),
    "a polynomial of few monomials": lambda rng: Polynomial(2)(rng.normal(size=(30, 2))),
    "rank 3 of 20": lambda rng: with_spectrum(np.concatenate([[3.0, 2.0, 1.0], np.zeros(17)]), rng),
    "rank 0": lambda rng: np.zeros((4, 4)),
    "rank 1": lambda rng: np.ones((6, 6)),
}


@pytest.mark.parametrize("solver", ["auto", "cholesky", "spectral"])
@pytest.mark.parametrize("name", SINGULAR)
def test_singular_systems_get_the_shortest_solution_and_one_warning(name, solver, rng):
    K = SINGULAR[name](rng)
    n, Y = len(K), rng.normal(size=(len(K), 2))
    with pytest.warns(SingularSystemWarning) as caught:
        model = KernelRidge(0.0, kernel="precomputed", solver=solver).fit(K, Y)
    rank = np.linalg.matrix_rank(K, tol=n * EPS * np.abs(np.linalg.eigvalsh(K)).max(), hermitian=True)
    assert len(caught) == 1
    assert tells(str(caught[0].message), "The system of KernelRidge", rank, n)
    assert caught[0].filename == __file__
    expected = np.linalg.lstsq(K, Y, rcond=n * EPS)[0]
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(model.dual_coef_ / scale, expected / scale, atol=1e-9)
    assert model.route_.rank == rank
    assert model.route_.digits == 0.0
    assert str(model.route_).endswith(f": rank {rank} of {n}, minimum-norm solution")
    assert np.isnan(model.log_marginal_likelihood_).all()
    assert model.effective_dof_ == rank


def test_a_linear_kernel_with_more_rows_than_columns_equals_least_squares(rng):
    X, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    new = rng.normal(size=(7, 4))
    dual, primal = KernelRidge(0, solver="cholesky"), KernelRidge(0)
    with pytest.warns(SingularSystemWarning, match="rank 4 of 30 with alpha = 0"):
        dual.fit(X, y)
    primal.fit(X, y)  # whose 4 weights are unique
    w = np.linalg.lstsq(X, y, rcond=None)[0]
    np.testing.assert_allclose(dual.predict(new), new @ w, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(primal.predict(new), new @ w, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(dual.dual_coef_, primal.dual_coef_, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("exponent", [10, 11, 12, 13, 14])
def test_nearly_singular_systems_warn_with_the_digits_left(exponent, rng):
    K = with_spectrum(np.logspace(0, -exponent, 50), rng)
    y = rng.normal(size=50)
    with pytest.warns(IllConditionedWarning) as caught:
        model = KernelRidge(0.0, kernel="precomputed", solver="cholesky").fit(K, y)
    route = model.route_
    assert len(caught) == 1
    assert tells(str(caught[0].message), "The system of KernelRidge", f"{route.condition:.1g}", f"{route.digits:.0f}")
    assert caught[0].filename == __file__
    assert abs(route.digits + np.log10(EPS * np.linalg.cond(K))) <= 1
    assert backward_error(K, model.dual_coef_, y) <= 5


@pytest.mark.parametrize("exponent", [0, 3, 6, 9])
def test_well_conditioned_systems_say_nothing(exponent, rng):
    K = with_spectrum(np.logspace(0, -exponent, 50), rng)
    for solver in ("auto", "cholesky", "spectral"):
        y = rng.normal(size=50)
        model = KernelRidge(0.0, kernel="precomputed", solver=solver).fit(K, y)  # a warning would be an error
        assert not model.route_.singular
        assert -2.0 <= model.route_.digits + np.log10(EPS * np.linalg.cond(K)) <= 0.5
        assert backward_error(K, model.dual_coef_, y) <= 5


@pytest.mark.parametrize("alpha", [0.0, 1e-12, 1e-4])
@pytest.mark.parametrize("n", [5, 50, 300])
def test_fits_are_backward_stable_from_condition_1_to_1e15(n, alpha, rng):
    Y = rng.normal(size=(n, 2))
    for exponent in range(0, 16, 3):
        K = with_spectrum(np.logspace(0, -exponent, n), rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IllConditionedWarning)
            warnings.simplefilter("ignore", SingularSystemWarning)
            model = KernelRidge(alpha, kernel="precomputed").fit(K, Y)
        if model.route_.name == "cholesky":
            assert backward_error(K + alpha * np.eye(n), model.dual_coef_, Y) <= 5
        else:
            assert np.linalg.cond(K + alpha * np.eye(n)) > 1e14


@pytest.mark.parametrize("alpha", [1.0, 1e-6])
@pytest.mark.filterwarnings("ignore::mercer.errors.IllConditionedWarning")
def test_weights_over_24_orders_of_magnitude_are_solved(alpha, rng):
    """Scaling rows and columns changes the condition number, not the difficulty: nothing here is singular."""
    X, y, w = rng.normal(size=(20, 3)), rng.normal(size=20), np.logspace(-12, 12, 20)
    K = Gaussian(0.7)(X)
    A = K + alpha * np.diag(1 / w)
    s = 1 / np.sqrt(A.diagonal())
    assert np.linalg.cond(A * s[:, None] * s) < 1e4
    expected = s * np.linalg.solve(A * s[:, None] * s, s * y)
    model = KernelRidge(alpha, kernel=Gaussian(0.7), solver="cholesky").fit(X, y, w)
    np.testing.assert_allclose(model.dual_coef_, expected, rtol=1e-8)


@pytest.mark.parametrize("kernel", [Linear(), Gaussian()])
@pytest.mark.parametrize("solver", ["cholesky", "spectral"])
def test_alpha_zero_with_an_intercept_is_the_limit_of_small_alphas(kernel, solver, rng):
    base = rng.normal(size=(10, 2))
    X, y, new = np.vstack([base, base]), rng.normal(size=20), rng.normal(size=(5, 2))
    with pytest.warns(SingularSystemWarning) as caught:
        limit = KernelRidge(0.0, kernel=kernel, fit_intercept=True, solver=solver).fit(X, y)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IllConditionedWarning)
        near = KernelRidge(1e-9, kernel=kernel, fit_intercept=True, solver=solver).fit(X, y)
    np.testing.assert_allclose(limit.predict(new), near.predict(new), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(limit.intercept_, near.intercept_, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(limit.effective_dof_, near.effective_dof_, atol=1e-3)


def test_alpha_zero_with_an_intercept_inside_the_range_is_the_limit_too(rng):
    """Here the constant is among the features, so the intercept is told from them by the penalty alone."""
    X = rng.normal(size=(20, 2))
    y, new = rng.normal(size=20), rng.normal(size=(5, 2))
    with pytest.warns(SingularSystemWarning):
        limit = KernelRidge(0.0, kernel=Polynomial(1), fit_intercept=True, solver="cholesky").fit(X, y)
    near = KernelRidge(1e-7, kernel=Polynomial(1), fit_intercept=True, solver="primal").fit(X, y)
    np.testing.assert_allclose(limit.predict(new), near.predict(new), rtol=1e-5, atol=1e-6)
    assert limit.effective_dof_ == pytest.approx(3.0)


def test_alpha_zero_with_an_intercept_interpolates_through_a_regular_matrix(rng):
    X, y = rng.normal(size=(8, 2)), rng.normal(size=8)
    model = KernelRidge(0.0, kernel=Gaussian(0.5), fit_intercept=True).fit(X, y)
    dual, b = kernel_ridge(Gaussian(0.5)(X), y, 0.0, intercept=True)
    np.testing.assert_allclose(model.dual_coef_, dual[:, 0], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, b[0], rtol=1e-7)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-8)
    assert model.effective_dof_ == pytest.approx(8.0)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 1e-22, 1e-19])
def test_an_alpha_below_rounding_counts_the_degrees_of_freedom_that_there_are(alpha, intercept, rng):
    X = np.repeat(rng.normal(size=(8, 2)), 2, axis=0)
    with pytest.warns(SingularSystemWarning):
        model = KernelRidge(alpha, kernel=Linear(), solver="cholesky", fit_intercept=intercept).fit(
            X, rng.normal(size=16)
        )
    assert model.effective_dof_ == pytest.approx(2 + intercept)


@pytest.mark.parametrize("solver", ["cholesky", "spectral"])
def test_without_noise_and_with_an_intercept_nothing_is_uncertain_in_the_span_of_the_data(solver, rng):
    """At alpha = 0 the posterior knows f exactly wherever the rows span the features; so says the primal."""
    X, new = rng.normal(size=(20, 3)), rng.normal(size=(4, 3))
    y = X @ [1.0, -2.0, 0.5] + 3.0
    primal = KernelRidge(0.0, fit_intercept=True).fit(X, y)
    with pytest.warns(SingularSystemWarning):
        model = KernelRidge(0.0, fit_intercept=True, solver=solver).fit(X, y)
    _, expected = primal.predict(new, return_std=True)
    np.testing.assert_allclose(model.predict(new), new @ [1.0, -2.0, 0.5] + 3.0, rtol=1e-9)
    np.testing.assert_allclose(expected, 0.0, atol=1e-6)
    np.testing.assert_allclose(model.predict(new, return_std=True)[1], expected, atol=1e-5)


# -- One decomposition for every alpha; the shortest solution where there is none or many ----------


@given(st.integers(1, 12), st.integers(0, 2**16), st.floats(1e-3, 10.0))
def test_solves_determinant_and_diagonal_equal_those_of_numpy(n, seed, alpha):
    rng = np.random.default_rng(seed)
    K = with_spectrum(np.logspace(0, -6, n), rng)
    A, B = K + alpha * np.eye(n), rng.normal(size=(n, 2))
    G = SpectralInverse(Eigendecomposition(K.copy()), alpha, "a test")
    np.testing.assert_allclose(G.solve(B), np.linalg.solve(A, B), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(G.log_determinant(), np.linalg.slogdet(A)[1], atol=1e-9)
    np.testing.assert_allclose(G.diagonal(), np.linalg.inv(A).diagonal(), rtol=1e-9)
    assert not G.null_part(B).any()
    route = G.route()
    assert (route.name, route.reason, route.rank, route.size, route.negative) == ("spectral", "a test", n, n, 0.0)
    assert route.condition == pytest.approx(np.linalg.cond(A), rel=1e-6)


@given(st.integers(2, 12), st.data())
def test_a_singular_matrix_gives_the_pseudo_inverse(n, data):
    rank = data.draw(st.integers(0, n - 1))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    K = with_spectrum(np.concatenate([rng.uniform(0.1, 2.0, size=rank), np.zeros(n - rank)]), rng)
    B = rng.normal(size=(n, 2))
    G = SpectralInverse(Eigendecomposition(K.copy()), 0.0, "a test")
    shortest = np.linalg.lstsq(K, B, rcond=n * np.finfo(float).eps)[0] if rank else np.zeros_like(B)
    np.testing.assert_allclose(G.solve(B), shortest, rtol=1e-8, atol=1e-10)
    assert G.log_determinant() == -math.inf
    outside = G.null_part(B)
    np.testing.assert_allclose(K @ outside, 0.0, atol=1e-12)
    np.testing.assert_allclose(K @ G.solve(B) + outside, B, atol=1e-10)
    assert (G.route().rank, G.route().condition, G.route().singular) == (rank, math.inf, True)


def test_a_negative_eigenvalue_is_told(rng):
    K = with_spectrum([3.0, 1.0, -0.5], rng)
    B = rng.normal(size=(3, 1))
    G = SpectralInverse(Eigendecomposition(K.copy()), 0.1, "a test")
    assert G.route().negative == pytest.approx(-0.4)
    np.testing.assert_allclose(G.solve(B), np.linalg.solve(K + 0.1 * np.eye(3), B), rtol=1e-10)
    assert G.log_determinant() == pytest.approx(np.linalg.slogdet(K + 0.1 * np.eye(3))[1])


def test_rounding_below_zero_is_not_called_negative(rng):
    K = with_spectrum([1.0, 1e-17, -1e-17, 0.5], rng)
    assert SpectralInverse(Eigendecomposition(K), 0.0, "a test").route().negative == 0.0


def test_a_matrix_that_is_not_finite_is_refused():
    with pytest.raises(InputError) as caught:
        Eigendecomposition(np.full((2, 2), np.nan))
    assert tells(str(caught.value), "The kernel matrix", "got NaN or infinity")


def test_one_decomposition_serves_many_alphas(rng):
    X, Y = rng.normal(size=(40, 3)), rng.normal(size=(40, 25))
    alphas = np.logspace(-3, 3, 25)
    many = KernelRidge(alphas, kernel="rbf", fit_intercept=True).fit(X, Y)
    assert str(many.route_).startswith("spectral (dual, 40 rows, 25 alphas): condition number about ")
    for j in (0, 11, 24):
        one = KernelRidge(alphas[j], kernel="rbf", fit_intercept=True).fit(X, Y[:, j])
        assert one.route_.name == "cholesky"
        np.testing.assert_allclose(many.dual_coef_[:, j], one.dual_coef_, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(many.intercept_[j], one.intercept_, rtol=1e-8)
        np.testing.assert_allclose(many.effective_dof_[j], one.effective_dof_, rtol=1e-8)
        np.testing.assert_allclose(many.log_marginal_likelihood_[j], one.log_marginal_likelihood_, rtol=1e-8)
        mean, std = many.predict(X[:4] + 0.1, return_std=True)
        mean_one, std_one = one.predict(X[:4] + 0.1, return_std=True)
        np.testing.assert_allclose(mean[:, j], mean_one, rtol=1e-8)
        np.testing.assert_allclose(std[:, j], std_one, rtol=1e-8)


@pytest.mark.parametrize("alpha", [0.0, 1e-20])
def test_the_chosen_spectral_route_warns_once_of_a_singular_system(alpha, rng):
    X = np.repeat(rng.normal(size=(6, 2)), 2, axis=0)
    y = rng.normal(size=12)
    with pytest.warns(SingularSystemWarning) as caught:
        model = KernelRidge(alpha, kernel="rbf", solver="spectral").fit(X, y)
    assert len(caught) == 1
    np.testing.assert_allclose(model.predict(X), (y[::2] + y[1::2]).repeat(2) / 2, rtol=1e-8)


def test_the_spectral_route_warns_of_an_indefinite_matrix(rng):
    K = with_spectrum([3.0, 2.0, 1.0, -0.5], rng)
    K[0, 0] += 1e-12  # still symmetric
    y = rng.normal(size=4)
    with pytest.warns(NotMercerWarning) as caught:
        model = KernelRidge(0.1, kernel="precomputed", solver="spectral").fit(K, y)
    assert len(caught) == 1
    np.testing.assert_allclose(model.dual_coef_, np.linalg.solve(K + 0.1 * np.eye(4), y), rtol=1e-9)
