"""Randomly pivoted Cholesky: what it gives is a part of K, never more, and all of it where the rank allows."""

import numpy as np
import pytest

from mercer.data.rows import Rows, as_rows
from mercer.errors import InputError
from mercer.kernels import Constant, Gaussian, Laplacian, Linear, Polynomial, Spectrum
from mercer.solvers.gram import symmetric_times, times
from mercer.solvers.landmarks import Features, draw_landmarks, pivoted_cholesky
from refusals import refusal


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Laplacian(2.0), Linear() + Gaussian(1.0)], ids=repr)
def test_what_is_left_has_no_negative_eigenvalue(kernel, rng):
    rows = Rows(rng.normal(size=(120, 3)))
    F, pivots = pivoted_cholesky(kernel, rows, 40, np.random.default_rng(0))
    K = kernel(rows)
    assert np.linalg.eigvalsh(K - F @ F.T).min() > -1e-10 * np.trace(K)
    assert F.shape[1] == len(pivots) == len(np.unique(pivots)) <= 40
    np.testing.assert_allclose((F @ F.T)[pivots], K[pivots], atol=1e-9)  # exact in the pivots' own rows


def test_all_of_a_matrix_of_low_rank_is_found(rng):
    rows = Rows(rng.normal(size=(200, 4)))
    F, _ = pivoted_cholesky(Linear(), rows, 50, np.random.default_rng(0))
    assert F.shape[1] == 4
    np.testing.assert_allclose(F @ F.T, Linear()(rows), atol=1e-10)


def test_duplicates_and_constants_need_one_pivot_each():
    rows = Rows(np.repeat([[0.0], [5.0]], 30, axis=0))
    F, pivots = pivoted_cholesky(Gaussian(1.0), rows, 20, np.random.default_rng(0))
    assert len(pivots) == 2
    np.testing.assert_allclose(F @ F.T, Gaussian(1.0)(rows), atol=1e-12)
    assert pivoted_cholesky(Constant(2.0), rows, 20, np.random.default_rng(0))[0].shape == (60, 1)


def test_a_kernel_that_is_zero_has_no_factor():
    assert pivoted_cholesky(Linear(), Rows(np.zeros((5, 2))), 3, np.random.default_rng(0))[0].shape == (5, 0)


def test_texts_have_pivots_too():
    texts = np.empty(4, dtype=object)
    texts[:] = ["abc", "abd", "xyz", "xyz"]
    rows = Rows(texts)
    F, _ = pivoted_cholesky(Spectrum(2), rows, 4, np.random.default_rng(0))
    np.testing.assert_allclose(F @ F.T, Spectrum(2)(["abc", "abd", "xyz", "xyz"]), atol=1e-12)


def test_the_seed_decides(rng):
    rows = Rows(rng.normal(size=(80, 2)))
    first, again, other = (pivoted_cholesky(Gaussian(1.0), rows, 10, np.random.default_rng(s))[1] for s in (0, 0, 1))
    assert first.tolist() == again.tolist() != other.tolist()


def test_a_symmetric_product_is_the_product(rng):
    rows, V = Rows(rng.normal(size=(1203, 2))), rng.normal(size=(1203, 3))
    np.testing.assert_allclose(symmetric_times(Gaussian(1.0), rows, V), times(Gaussian(1.0), rows, rows, V), rtol=1e-12)


@pytest.mark.parametrize("method", ["pivoted", "kmeans", "uniform"])
def test_landmarks_are_different_rows_and_as_many_as_asked(method, rng):
    rows = as_rows(rng.normal(size=(200, 3)))
    drawn = draw_landmarks(Gaussian(1.0), rows, 30, method, rng)
    assert len(drawn) == len(set(drawn.tolist())) == 30


@pytest.mark.parametrize("method", ["pivoted", "kmeans", "uniform"])
def test_no_more_landmarks_are_drawn_than_there_are_rows(method, rng):
    rows = as_rows(rng.normal(size=(7, 2)))
    assert sorted(draw_landmarks(Gaussian(1.0), rows, 50, method, rng).tolist()) == list(range(7))


@pytest.mark.parametrize("method", ["pivoted", "kmeans"])
def test_a_row_that_is_there_many_times_is_drawn_once(method, rng):
    rows = as_rows(np.repeat(rng.normal(size=(5, 2)), 20, axis=0))
    drawn = draw_landmarks(Gaussian(1.0), rows, 50, method, rng)
    assert len(np.unique(rows.values[drawn], axis=0)) == len(drawn) == 5


def test_pivots_leave_less_open_than_rows_drawn_by_chance(rng):
    crowd, few = rng.normal(scale=0.1, size=(950, 2)), rng.normal(scale=5.0, size=(50, 2))
    rows = as_rows(np.vstack([crowd, few]))
    kernel = Gaussian(1.0)

    def left_open(drawn):
        return float((1.0 - (Features.of(kernel, rows.values[drawn]).phi(rows.values) ** 2).sum(axis=1)).sum())

    uniform, mild = (left_open(draw_landmarks(kernel, rows, 40, method, rng)) for method in ("uniform", "pivoted"))
    assert left_open(pivoted_cholesky(kernel, rows, 40, rng)[1]) < 0.2 * uniform
    assert mild < 0.6 * uniform


def test_an_unknown_method_is_refused(rng):
    with pytest.raises(InputError, match=r"must be a known name; got 'pivot'\. Did you mean 'pivoted'\?"):
        draw_landmarks(Gaussian(1.0), as_rows([[1.0]]), 1, "pivot", rng)


# -- Features of landmarks: K_ZX' K_ZZ^-1 K_ZX, whatever the landmarks are -------------------------


def test_features_of_every_row_give_the_gram_matrix(rng):
    X = rng.normal(size=(40, 3))
    phi = Features.of(Gaussian(1.5), X).phi(X)
    assert np.abs(phi @ phi.T - Gaussian(1.5)(X)).max() < 1e-12


def test_features_give_the_nystroem_approximation(rng):
    X, Z = rng.normal(size=(60, 3)), rng.normal(size=(12, 3))
    kernel = Gaussian(2.0)
    phi = Features.of(kernel, Z).phi(X)
    expected = kernel(X, Z) @ np.linalg.solve(kernel(Z), kernel(Z, X))
    assert np.abs(phi @ phi.T - expected).max() < 1e-10


def test_landmarks_that_are_there_twice_are_left_out(rng):
    Z = rng.normal(size=(10, 2))
    features = Features.of(Gaussian(1.0), np.vstack([Z, Z, Z[:3]]))
    assert (features.count, features.given) == (10, 23)
    phi = features.phi(Z)
    assert np.abs(phi @ phi.T - Gaussian(1.0)(Z)).max() < 1e-10


def test_a_kernel_of_low_rank_has_as_many_features_as_its_rank(rng):
    Z = rng.normal(size=(30, 4))
    assert Features.of(Linear(), Z).count == 4
    assert Features.of(Polynomial(2), Z).count == 15


def test_features_of_the_first_landmarks_do_not_change_with_those_that_follow(rng):
    Z, X = rng.normal(size=(20, 3)), rng.normal(size=(50, 3))
    whole = Features.of(Gaussian(1.0), Z)
    half = Features.of(Gaussian(1.0), whole.landmarks[:10])
    assert np.abs(half.phi(X) @ half.phi(X).T - whole.phi(X)[:, :10] @ whole.phi(X)[:, :10].T).max() < 1e-12


def test_coefficients_predict_what_weights_of_features_do(rng):
    Z, X, w = rng.normal(size=(15, 2)), rng.normal(size=(700, 2)), rng.normal(size=(15, 2))
    features = Features.of(Gaussian(0.7), Z)
    predicted = features.times(X, features.coefficients(w))
    assert np.abs(predicted - features.phi(X) @ w).max() < 1e-10


def test_the_constant_is_close_to_one_on_its_rows_and_uses_the_first_half(rng):
    X = rng.uniform(size=(200, 2))
    features = Features.of(Gaussian(1.0), X[:40])
    u = features.constant(X)
    assert not u[features.count // 2 :].any()
    assert np.abs(features.phi(X) @ u - 1.0).max() < 0.01


def test_one_landmark_says_nothing_of_a_constant():
    features = Features.of(Gaussian(1.0), np.zeros((1, 1)))
    assert features.constant(np.zeros((3, 1))).tolist() == [0.0]


def test_the_least_eigenvalue_is_found(rng):
    Z = rng.normal(size=(50, 4))
    found = Features.of(Gaussian(1.0), Z).least_eigenvalue()
    true = np.linalg.eigvalsh(Gaussian(1.0)(Z))[0]
    assert true * (1 - 1e-9) <= found < 2 * true


def test_the_loss_of_digits_grows_with_the_condition_and_falls_with_alpha(rng):
    Z = rng.normal(size=(60, 3))
    narrow, wide = (Features.of(Gaussian(width), Z) for width in (0.2, 3.0))
    assert narrow.loss_of_digits(10_000, 1.0) < 1e-10 < wide.loss_of_digits(10_000, 1e-3)
    assert wide.loss_of_digits(10_000, 100.0) < wide.loss_of_digits(10_000, 1e-3)


def test_a_kernel_that_is_zero_on_all_landmarks_is_refused():
    with pytest.raises(
        InputError, match=(r"The kernel matrix of Linear\(\) on the landmarks is zero or not positive semi-definite")
    ):
        Features.of(Linear(), np.zeros((4, 2)))


def test_values_that_overflow_are_refused():
    with pytest.raises(InputError, match=r"must be finite; got NaN or infinity\. Scale X\."):
        Features.of(Polynomial(3), np.full((2, 2), 1e200))


@pytest.mark.parametrize("kernel", [Polynomial(2), Linear() * Linear(), 1e300 * Linear()], ids=repr)
@pytest.mark.parametrize("method", ["pivoted", "kmeans"])
def test_landmarks_of_values_that_overflow_are_refused_and_no_warning_is_given(method, kernel, rng):
    rows = as_rows(1e128 * rng.normal(size=(9, 2)))
    assert "Scale" in refusal(draw_landmarks, kernel, rows, 3, method, rng)
