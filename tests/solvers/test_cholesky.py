"""A = L L' in place: what it gives equals NumPy's, and the matrix can be had back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import KernelRidge
from mercer.errors import IllConditionedWarning, MercerError, MercerWarning, NotMercerWarning
from mercer.kernels import Gaussian
from mercer.solvers import DualSystem
from mercer.solvers.cholesky import Cholesky, Mixed, NotPositiveDefinite, NotRefinable, largest_eigenvalue, rich_start
from oracles import backward_error, kernel_ridge, reflected, with_spectrum


def positive(n, seed, condition=100.0):
    return with_spectrum(np.logspace(0, -np.log10(condition), n), np.random.default_rng(seed))


@given(st.integers(1, 12), st.integers(0, 2**16), st.floats(0.0, 10.0), st.integers(1, 3))
def test_solves_determinant_and_diagonal_equal_those_of_numpy(n, seed, alpha, targets):
    K = positive(n, seed)
    A = K + alpha * np.eye(n)
    B = np.random.default_rng(seed).normal(size=(n, targets))
    factor = Cholesky(K.copy(), alpha, "a test")
    np.testing.assert_allclose(factor.solve(B), np.linalg.solve(A, B), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(factor.times(B), A @ B, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(factor.log_determinant(), np.linalg.slogdet(A)[1], atol=1e-10)
    np.testing.assert_allclose(factor.diagonal(), np.linalg.inv(A).diagonal(), rtol=1e-11)


def scaled_condition(K):
    """Of the matrix with its rows and columns scaled to a diagonal of ones, which a Cholesky factor goes by."""
    scale = 1.0 / np.sqrt(K.diagonal())
    return np.linalg.cond(scale[:, None] * K * scale)


@pytest.mark.parametrize("n", [1, 2, 7, 501, 1030])
def test_the_matrix_comes_back_to_the_last_bit(n, rng):
    K = np.ascontiguousarray(np.exp(-0.5 * np.subtract.outer(np.arange(n), np.arange(n)) ** 2 / 4.0))
    before = K.copy()
    factor = Cholesky(K, 0.3, "a test")
    if n > 1:
        assert not (K == before).all()
    given_back = factor.release()
    assert (given_back == before).all()
    assert np.shares_memory(given_back, K)


@pytest.mark.parametrize("smallest", [0.0, -1e-3, 1e-17])
@pytest.mark.parametrize("n", [2, 9, 501])
def test_what_is_not_positive_definite_is_refused_and_given_back(n, smallest, rng):
    values = np.ones(n)
    values[0] = smallest
    K = with_spectrum(values, rng)
    before = K.copy()
    with pytest.raises(NotPositiveDefinite, match="not positive definite"):
        Cholesky(K, 0.0, "a test")
    assert (K == before).all()
    assert issubclass(NotPositiveDefinite, MercerError)


def test_a_matrix_with_nan_is_refused():
    with pytest.raises(NotPositiveDefinite):
        Cholesky(np.full((3, 3), np.nan), 1.0, "a test")


def test_several_blocks_of_the_diagonal_equal_those_of_the_inverse(rng):
    n = 1100
    x = rng.normal(size=(n, 3))
    K = x @ x.T
    expected = np.linalg.inv(K + np.eye(n)).diagonal()
    np.testing.assert_allclose(Cholesky(K, 1.0, "a test").diagonal(), expected, rtol=1e-9)


def test_a_solve_without_right_hand_sides_is_empty(rng):
    assert Cholesky(positive(4, 0), 1.0, "a test").solve(np.empty((4, 0))).shape == (4, 0)


@pytest.mark.parametrize("condition", [1.0, 1e2, 1e4, 1e6, 1e8, 1e10, 1e12, 1e14])
@pytest.mark.parametrize("n", [2, 3, 5, 50, 300])
def test_the_estimated_condition_is_within_a_factor_of_ten(n, condition, rng):
    K = with_spectrum(np.logspace(0, -np.log10(condition), n), rng)
    true = scaled_condition(K)
    found = Cholesky(K, 0.0, "a test").route().condition
    assert true / 10 <= found <= true * 10


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("n", [2, 3, 4, 10])
def test_the_condition_of_nearly_equal_rows_is_within_a_factor_of_ten(n, gap):
    """The smallest eigenvectors are differences of rows, orthogonal to the constant vector."""
    K = np.full((n, n), 1.0 - gap) + gap * np.eye(n)
    true = np.linalg.cond(K)
    found = Cholesky(K, 0.0, "a test").route().condition
    assert true / 10 <= found <= true * 10


@pytest.mark.parametrize("n", [4, 40])
def test_the_condition_of_alternating_and_antisymmetric_directions_is_found(n):
    for direction in (np.resize([1.0, -1.0], n), np.linspace(-1, 1, n), np.eye(n)[0], np.eye(n)[-1]):
        v = direction / np.linalg.norm(direction)
        K = np.eye(n) - (1 - 1e-8) * np.outer(v, v)
        true = scaled_condition((K + K.T) / 2)
        assert true / 10 <= Cholesky((K + K.T) / 2, 0.0, "a test").route().condition <= true * 10


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e160, 1e200])
def test_the_condition_does_not_depend_on_the_scale(scale, rng):
    """The factor's diagonal, about sqrt(scale), must not drown the matrix's in `times`; squares must not overflow."""
    K = with_spectrum(np.logspace(0, -4, 20), rng)
    found = Cholesky(K * scale, 0.0, "a test").condition()
    assert found == pytest.approx(Cholesky(K.copy(), 0.0, "a test").condition(), rel=1e-6)


@pytest.mark.parametrize("alpha", [1e100, 1e160, 1e250])
def test_a_huge_alpha_is_no_reason_to_leave_cholesky(alpha, rng):
    x, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    model = KernelRidge(alpha, kernel="rbf", solver="cholesky").fit(x, y)
    assert (model.route_.name, model.route_.reason) == ("cholesky", "dual, 20 rows")
    assert 1 <= model.route_.condition <= 2
    np.testing.assert_allclose(model.dual_coef_, y / alpha, rtol=1e-14)


@pytest.mark.parametrize("alpha", [0.0, 1e-10, 1e-3, 1.0])
@pytest.mark.parametrize("n", [5, 50, 300])
@pytest.mark.slow
def test_solves_are_backward_stable_from_condition_1_to_1e15(n, alpha, rng):
    B = rng.normal(size=(n, 3))
    succeeded = 0
    for exponent in range(16):
        K = with_spectrum(np.logspace(0, -exponent, n), rng)
        A = K + alpha * np.eye(n)
        try:
            X = Cholesky(K, alpha, "a test").solve(B)
        except NotPositiveDefinite:
            assert np.linalg.cond(A) > 1e14
            continue
        succeeded += 1
        assert backward_error(A, X, B) <= 5
    assert succeeded >= 14


def test_the_largest_eigenvalue_is_found_from_below(rng):
    A = with_spectrum(np.linspace(1, 5, 30), rng)
    found = largest_eigenvalue(A.__matmul__, rich_start(30))
    assert 2.5 <= found <= 5 * (1 + 1e-12)


def test_an_infinite_map_has_an_infinite_eigenvalue():
    with np.errstate(all="ignore"):
        assert largest_eigenvalue(lambda v: v * np.inf, rich_start(3)) == np.inf


# -- A single-precision factor, refined: the same backward error as a double-precision one, or not taken

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


@pytest.mark.slow
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


@pytest.mark.slow
def test_many_rows_are_solved_backward_stably(rng):
    b = rng.normal(size=LARGE)
    for alpha in (1.0, 1e-3, 3e-6):
        K = reflected(np.logspace(0, -18, LARGE), rng)
        model = KernelRidge(alpha, kernel="precomputed").fit(K, b)
        assert model.route_.name == "mixed"
        assert backward_error(K + alpha * np.eye(LARGE), model.dual_coef_, b) <= 5
        assert 0.1 <= model.route_.condition / ((1 + alpha) / alpha) <= 10


@pytest.mark.slow
def test_many_badly_conditioned_rows_fall_back_to_cholesky(rng):
    K = reflected(np.logspace(0, -18, LARGE), rng)
    b = rng.normal(size=LARGE)
    with pytest.warns(IllConditionedWarning, match="; about 4 digits of the solution are correct"):
        model = KernelRidge(1e-11, kernel="precomputed").fit(K, b)
    assert model.route_.name == "cholesky"
    assert backward_error(K + 1e-11 * np.eye(LARGE), model.dual_coef_, b) <= 5


@pytest.mark.slow
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


@pytest.mark.slow
def test_an_indefinite_system_of_many_rows_is_told(rng):
    with pytest.warns(MercerWarning) as caught:
        KernelRidge(0.5 - 1e-6, kernel="precomputed").fit(indefinite(rng), rng.normal(size=LARGE))
    assert [warning.category for warning in caught] == [NotMercerWarning]
