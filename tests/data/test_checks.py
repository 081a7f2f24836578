"""Checks of what estimators take besides X: what passes, and the sentence for what does not."""

import numpy as np
import pytest

from mercer.data.checks import bad_pair, check_alpha, check_gram, check_weights
from refusals import refusal, tells
from views import read_only

# -- alpha ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0, 0.5, np.float32(0.5), [0.5], np.array(0.5), np.array([0.5])])
def test_one_alpha_is_given_to_every_target(alpha):
    assert check_alpha("Model", alpha, 3).tolist() == [float(np.ravel(alpha)[0])] * 3


def test_one_alpha_per_target_is_kept_and_copied():
    alpha = np.array([0.1, 0.2])
    found = check_alpha("Model", read_only(alpha), 2)
    assert found.tolist() == [0.1, 0.2]
    found[0] = 7.0
    assert alpha[0] == 0.1


@pytest.mark.parametrize("alpha", [-1.0, np.nan, np.inf, None, "much"])
def test_an_alpha_that_is_none_is_refused(alpha):
    assert tells(refusal(check_alpha, "Model", alpha, 1), "alpha of Model", f"got {alpha!r}")


@pytest.mark.parametrize("alpha", ["0.5", ["0.5"]])
def test_an_alpha_that_is_text_is_no_number(alpha):
    assert "alpha of Model must be" in refusal(check_alpha, "Model", alpha, 1)


def test_several_alphas_of_which_one_is_bad_are_refused():
    assert tells(refusal(check_alpha, "Model", [1, -2], 2), "alpha of Model", "got [1, -2]")


def test_a_wrong_number_of_alphas_is_refused():
    assert tells(refusal(check_alpha, "Model", [1, 2], 1), "alpha of Model", "got an array of shape (2,)")
    assert tells(refusal(check_alpha, "Model", [1, 2], 3), "alpha of Model", "got an array of shape (2,)")
    assert tells(refusal(check_alpha, "Model", [[1]], 1), "alpha of Model", "got an array of shape (1, 1)")
    assert tells(refusal(check_alpha, "Model", [], 1), "alpha of Model", "got an array of shape (0,)")


# -- weights ----------------------------------------------------------------------------------------


def test_weights_that_are_usable_are_given_back():
    weights = read_only([0.0, 1.0, 2.5])
    assert check_weights("Model", weights) is weights


def test_a_negative_weight_is_refused_with_its_row():
    assert tells(
        refusal(check_weights, "Model", np.array([1.0, -2.0, -0.5])), "sample_weight of Model", "got -2 in row 1"
    )


def test_weights_that_are_all_zero_are_refused():
    assert tells(refusal(check_weights, "Model", np.zeros(3)), "sample_weight of Model", "got only zeros")


# -- Gram matrices ----------------------------------------------------------------------------------


def test_a_symmetric_matrix_is_given_back(rng):
    A = rng.normal(size=(6, 6))
    K = read_only(A + A.T)
    assert check_gram(K) is K
    assert check_gram(np.zeros((2, 2))).shape == (2, 2)
    assert check_gram(np.empty((0, 0))).shape == (0, 0)


def test_rounding_is_no_asymmetry(rng):
    A = rng.normal(size=(6, 6))
    K = A + A.T
    K[0, 1] *= 1 + 1e-10
    assert check_gram(K) is K


def test_a_matrix_that_is_not_square_is_refused():
    assert tells(refusal(check_gram, np.ones((2, 3))), "The precomputed kernel matrix", "got 2 x 3")


def test_the_worst_asymmetry_is_named():
    K = np.eye(4)
    K[0, 1] = 0.1
    K[2, 3] = 0.5
    assert tells(refusal(check_gram, K), "The precomputed kernel matrix", "got K[2, 3] = 0.5 and K[3, 2] = 0")


def test_an_asymmetry_far_down_a_large_matrix_is_found():
    K = np.eye(1203)
    K[1201, 7] = 0.5
    assert "K[7, 1201] = 0 and K[1201, 7] = 0.5" in refusal(check_gram, K)


def test_small_matrices_are_judged_by_their_own_size():
    K = 1e-12 * np.array([[1.0, 0.5], [0.4, 1.0]])
    assert "must be symmetric" in refusal(check_gram, K)


def test_a_matrix_of_a_kernel_has_no_bad_pair(rng):
    A = rng.normal(size=(700, 3))
    assert bad_pair(read_only(A @ A.T)) is None
    assert bad_pair(np.zeros((3, 3))) is None
    assert bad_pair(np.empty((0, 0))) is None


def test_a_negative_diagonal_is_a_bad_pair():
    assert bad_pair(np.diag([1.0, -0.25, 1.0])) == "K[1, 1] = -0.25"


def test_a_value_larger_than_both_lengths_allow_is_a_bad_pair():
    K = np.eye(3)
    K[0, 2] = K[2, 0] = 1.5
    assert bad_pair(K) == "|K[0, 2]| = 1.5, above sqrt(K[0, 0] K[2, 2]) = 1"
    assert bad_pair(1.0 - np.eye(2)) == "|K[0, 1]| = 1, above sqrt(K[0, 0] K[1, 1]) = 0"


def test_a_bad_pair_far_down_a_large_matrix_is_found():
    K = np.eye(1203)
    K[1201, 1100] = K[1100, 1201] = -2.0
    assert bad_pair(K) == "|K[1100, 1201]| = 2, above sqrt(K[1100, 1100] K[1201, 1201]) = 1"


def test_a_bad_pair_proves_a_negative_eigenvalue(rng):
    for _ in range(20):
        A = rng.normal(size=(5, 5))
        K = A + A.T
        if bad_pair(K):
            assert np.linalg.eigvalsh(K)[0] < 0
