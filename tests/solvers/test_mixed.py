"""A single-precision factor, refined: the same backward error as a double-precision one, or not taken."""

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.errors import IllConditionedWarning, MercerError, MercerWarning, NotMercerWarning
from mercer.kernels import Gaussian
from mercer.solvers import DualSystem
from mercer.solvers.cholesky import Mixed, NotRefinable
from oracles import backward_error, kernel_ridge, reflected, with_spectrum

LARGE = 1600  # from 1500 rows on "auto" takes this route


@pytest.mark.parametrize("condition", [1.0, 1e2, 1e4, 1e6])
@pytest.mark.parametrize("n", [1, 5, 50, 300])
def test_refined_solves_are_backward_stable(n, condition, rng):
    alpha = 1.0 / condition
    K = with_spectrum(np.logspace(0, -20, n), rng)
    before = K.copy()
    B = rng.normal(size=(n, 3))
    G = Mixed(K, alpha, "a test")
    X = G.solve(B)
    assert backward_error(before + alpha * np.eye(n), X, B) <= 5
    assert (K == before).all()
    assert G.null_part(B) is None


def test_a_right_hand_side_of_zeros_gives_zeros(rng):
    B = np.zeros((20, 2))
    B[:, 1] = rng.normal(size=20)
    solved = Mixed(with_spectrum(np.linspace(1, 2, 20), rng), 1.0, "a test").solve(B)
    assert (solved[:, 0] == 0).all()
    assert (solved[:, 1] != 0).all()


@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1e8, 1e30])
def test_right_hand_sides_of_any_size_are_refined(scale, rng):
    K = with_spectrum(np.logspace(0, -3, 40), rng)
    b = rng.normal(size=(40, 1))
    G = Mixed(K, 0.01, "a test")
    np.testing.assert_allclose(G.solve(b * scale), G.solve(b) * scale, rtol=1e-11)


@pytest.mark.parametrize(("alpha", "largest"), [(0.0, 1.0), (1e-8, 1.0), (1.0, 1e8)])
def test_a_condition_that_may_be_large_is_not_refined(alpha, largest, rng):
    K = with_spectrum(np.linspace(0, largest, 30), rng)
    before = K.copy()
    with pytest.raises(NotRefinable):
        Mixed(K, alpha, "a test")
    assert (K == before).all()
    assert issubclass(NotRefinable, MercerError)


def test_refinement_that_does_not_converge_is_given_up_and_left_to_cholesky(monkeypatch, rng):
    monkeypatch.setattr("mercer.solvers.cholesky._REFINEMENTS", 1)
    K, B = with_spectrum(np.logspace(0, -9, 60), rng), rng.normal(size=(60, 2))
    with pytest.raises(NotRefinable):
        Mixed(K, 1e-6, "a test").solve(B)
    for intercept in (False, True):
        found = DualSystem(K.copy(), None, intercept=intercept).solve(B, 1e-6, "mixed")
        assert found.route.name == "cholesky"
        np.testing.assert_allclose(found.dual, kernel_ridge(K, B, 1e-6, None, intercept)[0], rtol=1e-7)


def test_an_indefinite_matrix_is_not_refined(rng):
    values = np.linspace(1, 2, 30)
    values[0] = -1.0
    with pytest.raises(NotRefinable):
        Mixed(with_spectrum(values, rng), 0.5, "a test")


def test_auto_takes_it_for_many_rows_and_equals_cholesky(rng):
    X, Y = rng.normal(size=(LARGE, 4)), rng.normal(size=(LARGE, 2))
    weights = rng.uniform(0.1, 3.0, size=LARGE)
    settings = {"kernel": Gaussian(1.5), "fit_intercept": True}
    mixed = KernelRidge(0.1, **settings).fit(X, Y, weights)
    exact = KernelRidge(0.1, solver="cholesky", **settings).fit(X, Y, weights)
    assert (mixed.route_.name, exact.route_.name) == ("mixed", "cholesky")
    assert mixed.route_.reason == f"dual, {LARGE} rows"
    np.testing.assert_allclose(mixed.dual_coef_, exact.dual_coef_, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(mixed.intercept_, exact.intercept_, rtol=1e-10)
    np.testing.assert_allclose(mixed.predict(X[:50]), exact.predict(X[:50]), rtol=1e-10, atol=1e-10)
    dual, intercept = kernel_ridge(Gaussian(1.5)(X), Y, 0.1, weights, intercept=True)
    np.testing.assert_allclose(mixed.dual_coef_, dual, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(mixed.intercept_, intercept, rtol=1e-9)
    # the Gaussian view factors again, in double precision
    np.testing.assert_allclose(mixed.log_marginal_likelihood_, exact.log_marginal_likelihood_, rtol=1e-10)


def test_many_rows_are_solved_backward_stably(rng):
    b = rng.normal(size=LARGE)
    for alpha in (1.0, 1e-3, 3e-6):
        K = reflected(np.logspace(0, -18, LARGE), rng)
        model = KernelRidge(alpha, kernel="precomputed").fit(K, b)
        assert model.route_.name == "mixed"
        assert backward_error(K + alpha * np.eye(LARGE), model.dual_coef_, b) <= 5
        assert 0.1 <= model.route_.condition / ((1 + alpha) / alpha) <= 10


def test_many_badly_conditioned_rows_fall_back_to_cholesky(rng):
    K = reflected(np.logspace(0, -18, LARGE), rng)
    b = rng.normal(size=LARGE)
    with pytest.warns(IllConditionedWarning, match="digits that can be trusted: about 4"):
        model = KernelRidge(1e-11, kernel="precomputed").fit(K, b)
    assert model.route_.name == "cholesky"
    assert backward_error(K + 1e-11 * np.eye(LARGE), model.dual_coef_, b) <= 5


@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_a_matrix_beyond_single_precision_is_still_solved_without_a_word(scale, rng):
    """float32 holds 1e-38 to 3e38; what does not fit must not overflow aloud."""
    K = reflected(np.logspace(0, -3, LARGE), rng)
    b = rng.normal(size=LARGE)
    model = KernelRidge(0.1 * scale, kernel="precomputed").fit(K * scale, b)
    expected = np.linalg.solve(K + 0.1 * np.eye(LARGE), b)
    np.testing.assert_allclose(model.dual_coef_ * scale, expected, rtol=1e-9, atol=1e-9)


def indefinite(rng):
    """Eigenvalues 1.5 but for one of -0.5, which no two rows alone give away."""
    u = rng.normal(size=LARGE)
    u /= np.linalg.norm(u)
    return 1.5 * np.eye(LARGE) - 2.0 * np.outer(u, u)


def test_the_condition_of_an_indefinite_matrix_is_not_taken_from_alpha(rng):
    """That no eigenvalue of A is below alpha holds for Mercer kernels only: here one is 1e-5."""
    model = KernelRidge(0.5 + 1e-5, kernel="precomputed").fit(indefinite(rng), rng.normal(size=LARGE))
    true = 2.0 / 1e-5
    assert true / 10 <= model.route_.condition <= true * 10


def test_an_indefinite_system_of_many_rows_is_told(rng):
    with pytest.warns(MercerWarning) as caught:
        KernelRidge(0.5 - 1e-6, kernel="precomputed").fit(indefinite(rng), rng.normal(size=LARGE))
    assert [warning.category for warning in caught] == [NotMercerWarning]
