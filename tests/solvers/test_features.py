"""Features of landmarks: K_ZX' K_ZZ^-1 K_ZX, whatever the landmarks are."""

import numpy as np
import pytest

from mercer.errors import InputError
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.solvers.landmarks import Features


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
    with pytest.raises(InputError, match=r"Linear\(\) on the landmarks must be above 0 for some row; got 0 everywhere"):
        Features.of(Linear(), np.zeros((4, 2)))


def test_values_that_overflow_are_refused():
    with pytest.raises(InputError, match=r"must be finite; got NaN or infinity\. Scale X\."):
        Features.of(Polynomial(3), np.full((2, 2), 1e200))
