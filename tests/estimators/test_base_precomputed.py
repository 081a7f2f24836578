"""Gram matrices in place of rows: what is refused, and what is told of matrices that are no Gram matrices."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from base_cases import rows_and_targets

from mercer import KernelRidge, KernelRidgeCV
from mercer.errors import InputError, NotMercerWarning
from mercer.kernels import Gaussian, Precomputed
from oracles import kernel_ridge
from refusals import refusal, tells


@pytest.fixture
def data(rng):
    return rows_and_targets(rng)


# -- precomputed ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["precomputed", Precomputed(), 2.0 * Precomputed()], ids=str)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_a_matrix_that_is_no_gram_matrix_is_refused_in_a_sentence(kernel, container, data):
    X, y = data
    K = X @ X.T
    assert tells(
        refusal(lambda: KernelRidge(kernel=kernel).fit(container(K[:, :10]), y)),
        "The precomputed kernel matrix",
        "got 24 x 10",
    )
    K[3, 20] += 7.5
    assert tells(
        refusal(lambda: KernelRidge(kernel=kernel).fit(container(K), y)),
        "The precomputed kernel matrix",
        f"got K[3, 20] = {K[3, 20]:.6g} and K[20, 3] = {K[20, 3]:.6g}",
    )
    K = np.eye(24)
    K[2, 2] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        KernelRidge(kernel=kernel).fit(K, y)


def test_asymmetry_far_down_in_a_large_matrix_is_found(rng):
    K = np.eye(1200)
    K[700, 1100] = 0.5
    assert tells(
        refusal(lambda: KernelRidge(kernel="precomputed").fit(K, rng.normal(size=1200))),
        "The precomputed kernel matrix",
        "got K[700, 1100] = 0.5 and K[1100, 700] = 0",
    )


def test_rounding_of_a_gram_matrix_is_no_asymmetry(data):
    X, y = data
    K = Gaussian()(X)
    noisy = K + 1e-12 * np.triu(np.ones((24, 24)))
    np.testing.assert_allclose(
        KernelRidge(kernel="precomputed").fit(noisy, y).dual_coef_,
        KernelRidge(kernel="precomputed").fit(K, y).dual_coef_,
        atol=1e-10,
    )


@pytest.mark.parametrize(
    ("K", "got"),
    [
        ([[1.0, 2.0], [2.0, 1.0]], "|K[0, 1]| = 2, above sqrt(K[0, 0] K[1, 1]) = 1"),
        ([[1.0, 0.0], [0.0, -3.0]], "K[1, 1] = -3"),
        ([[0.0, 0.5], [0.5, 1.0]], "|K[0, 1]| = 0.5, above sqrt(K[0, 0] K[1, 1]) = 0"),
    ],
)
def test_two_rows_that_give_an_indefinite_matrix_away_are_named(K, got):
    K, y = np.array(K), np.array([1.0, 2.0])
    with pytest.warns(NotMercerWarning) as caught:
        model = KernelRidge(0.1, kernel="precomputed").fit(K, y)
    assert len(caught) == 1
    assert tells(str(caught[0].message), "The precomputed kernel matrix", f"got {got}")
    assert caught[0].filename == __file__
    np.testing.assert_allclose(model.dual_coef_, kernel_ridge(K, y, 0.1)[0][:, 0], rtol=1e-12)


def test_an_indefinite_matrix_without_such_rows_is_told_by_its_eigenvalue():
    K, y = np.array([[1.0, 0.9, 0.9], [0.9, 1.0, 0.0], [0.9, 0.0, 1.0]]), np.array([1.0, 2.0, 3.0])
    lowest = np.linalg.eigvalsh(K)[0]
    with pytest.warns(NotMercerWarning) as caught:
        model = KernelRidge(0.1, kernel="precomputed").fit(K, y)
    assert len(caught) == 1
    assert tells(
        str(caught[0].message),
        "K + alpha I of KernelRidge",
        f"got an eigenvalue of {lowest + 0.1:.3g}, so the least-squares problem may have no minimum",
    )
    assert caught[0].filename == __file__
    np.testing.assert_allclose(model.dual_coef_, kernel_ridge(K, y, 0.1)[0][:, 0], rtol=1e-12)
    KernelRidge(0.3, kernel="precomputed").fit(K, y)  # enough alpha makes it definite: not a word


def test_diag_is_refused_where_it_is_not_one_number_per_row(data):
    X, y = data
    K = Gaussian()(X)
    model = KernelRidge(kernel="precomputed").fit(K, y)
    assert tells(refusal(lambda: model.predict(K[:2], return_std=True)), "KernelRidge with a precomputed kernel")
    must = "diag must be 2 finite, non-negative numbers, k(x, x) of each new row; got "
    assert refusal(lambda: model.predict(K[:2], return_std=True, diag=[1.0])) == f"{must}shape (1,)."
    assert refusal(lambda: model.predict(K[:2], return_std=True, diag=[[1.0], [1.0]])) == f"{must}shape (2, 1)."
    model.predict(K[:2])  # and is not needed without


@pytest.mark.parametrize("diag", [[1.0, -1.0], [1.0, np.nan], [np.inf, 1.0]])
def test_a_diag_of_bad_numbers_is_refused_by_its_numbers(diag, data):
    """The shape is right; it is the number that is wrong and must be named."""
    X, y = data
    K = Gaussian()(X)
    model = KernelRidge(kernel="precomputed").fit(K, y)
    got = refusal(lambda: model.predict(K[:2], return_std=True, diag=diag))
    assert "shape" not in got
    bad = next(value for value in diag if not 0 <= value < np.inf)
    assert f"got {bad:g}" in got


def test_a_diag_of_words_is_refused_in_a_sentence(data):
    X, y = data
    K = Gaussian()(X)
    model = KernelRidge(kernel="precomputed").fit(K, y)
    assert refusal(lambda: model.predict(K[:2], return_std=True, diag=["a", "b"])).startswith(
        "diag must be 2 finite, non-negative numbers, k(x, x) of each new row; got "
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_diag_beside_a_kernel_that_knows_it_is_refused(kernel, data):
    X, y = data
    model = KernelRidge(kernel=kernel).fit(X, y)
    for return_std in (True, False):
        assert tells(refusal(lambda std=return_std: model.predict(X[:2], return_std=std, diag=[1.0, 1.0])), "diag=")


@pytest.mark.parametrize("make", [KernelRidge, partial(KernelRidgeCV, alphas=[0.1])])
def test_a_kernel_matrix_of_the_wrong_side_is_explained(make, rng):
    X, y = rng.normal(size=(12, 3)), rng.normal(size=12)
    name = "kernel" if make is KernelRidge else "kernels"
    model = make(**{name: "precomputed"}).fit(X @ X.T, y)
    with pytest.raises(InputError, match="a column for each training row"):
        model.predict(X @ X[:5].T)
