"""One decomposition for every alpha; the shortest solution where there is none or many."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import KernelRidge
from mercer.errors import InputError, NotMercerWarning, SingularSystemWarning
from mercer.solvers.dual import Eigendecomposition
from oracles import with_spectrum


@given(st.integers(1, 12), st.integers(0, 2**16), st.floats(1e-3, 10.0))
@settings(max_examples=40)
def test_solves_determinant_and_diagonal_equal_those_of_numpy(n, seed, alpha):
    rng = np.random.default_rng(seed)
    K = with_spectrum(np.logspace(0, -6, n), rng)
    A, B = K + alpha * np.eye(n), rng.normal(size=(n, 2))
    G = Eigendecomposition(K.copy()).at(alpha, "a test")
    np.testing.assert_allclose(G.solve(B), np.linalg.solve(A, B), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(G.log_determinant(), np.linalg.slogdet(A)[1], atol=1e-9)
    np.testing.assert_allclose(G.diagonal(), np.linalg.inv(A).diagonal(), rtol=1e-9)
    assert G.null_part(B) is None
    route = G.route()
    assert (route.name, route.reason, route.rank, route.size, route.negative) == ("spectral", "a test", n, n, 0.0)
    assert route.condition == pytest.approx(np.linalg.cond(A), rel=1e-6)


@given(st.integers(2, 12), st.data())
@settings(max_examples=40)
def test_a_singular_matrix_gives_the_pseudo_inverse(n, data):
    rank = data.draw(st.integers(0, n - 1))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    K = with_spectrum(np.concatenate([rng.uniform(0.1, 2.0, size=rank), np.zeros(n - rank)]), rng)
    B = rng.normal(size=(n, 2))
    G = Eigendecomposition(K.copy()).at(0.0, "a test")
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
    G = Eigendecomposition(K.copy()).at(0.1, "a test")
    assert G.route().negative == pytest.approx(-0.4)
    np.testing.assert_allclose(G.solve(B), np.linalg.solve(K + 0.1 * np.eye(3), B), rtol=1e-10)
    assert G.log_determinant() == pytest.approx(np.linalg.slogdet(K + 0.1 * np.eye(3))[1])


def test_rounding_below_zero_is_not_called_negative(rng):
    K = with_spectrum([1.0, 1e-17, -1e-17, 0.5], rng)
    assert Eigendecomposition(K).at(0.0, "a test").route().negative == 0.0


def test_a_matrix_that_is_not_finite_is_refused():
    with pytest.raises(InputError) as caught:
        Eigendecomposition(np.full((2, 2), np.nan))
    assert str(caught.value) == "The Gram matrix must be finite; got NaN or infinity."


def test_one_decomposition_serves_many_alphas(rng):
    X, Y = rng.normal(size=(40, 3)), rng.normal(size=(40, 25))
    alphas = np.logspace(-3, 3, 25)
    many = KernelRidge(alphas, kernel="rbf", fit_intercept=True).fit(X, Y)
    assert str(many.route_).startswith("spectral (dual, 40 rows, 25 alphas): condition about ")
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
