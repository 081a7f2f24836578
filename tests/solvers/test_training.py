"""The Gram matrix of the training rows: fresh, symmetric, finite."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import KernelRidge
from mercer.data import as_rows
from mercer.errors import InputError
from mercer.kernels import Custom, Gaussian, Linear, Polynomial, Precomputed
from mercer.solvers.gram import training_matrix
from views import read_only


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(), Gaussian() * Linear()], ids=repr)
def test_it_is_the_kernel_of_the_rows_against_themselves(kernel, rng):
    X = read_only(rng.normal(size=(40, 3)))
    K = training_matrix(kernel, as_rows(X))
    np.testing.assert_array_equal(K, kernel(X))
    assert (K == K.T).all()
    assert K.flags.c_contiguous
    assert K.flags.writeable


@pytest.mark.parametrize("container", [np.array, sp.csr_array])
def test_a_given_matrix_is_copied(container, rng):
    K = rng.normal(size=(1030, 4))
    K = K @ K.T
    given = container(K)
    found = training_matrix(Precomputed(), as_rows(given))
    np.testing.assert_array_equal(found, K)
    assert not np.shares_memory(found, given if container is np.array else given.data)
    np.testing.assert_array_equal(training_matrix(2.0 * Precomputed(), as_rows(given)), 2.0 * K)


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_a_diagonal_that_overflows_is_refused_in_a_sentence():
    with pytest.raises(InputError) as caught:
        KernelRidge(kernel=Polynomial(50), solver="cholesky").fit([[1.0], [1e10]], [0.0, 1.0])
    assert str(caught.value) == (
        "k(x, x) of Polynomial(degree=50, offset=1.0, scale=1.0) must be finite; got inf in row 1. "
        "Scale the columns of X."
    )


@pytest.mark.parametrize("solver", ["auto", "cholesky"])
def test_the_refusal_of_an_overflow_is_the_only_word_said(solver):
    """NumPy's own warning about an overflow, from inside a tile, says nothing that the sentence does not."""
    with pytest.raises(InputError, match="must be finite"):
        KernelRidge(kernel=Polynomial(50), solver=solver).fit([[1.0], [1e10]], [0.0, 1.0])


def test_a_kernel_that_returns_the_wrong_shape_is_refused_in_a_sentence(rng):
    def rows_only(X, Z):
        return X.sum(axis=1)

    with pytest.raises(InputError) as caught:
        KernelRidge(kernel=Custom(rows_only)).fit(rng.normal(size=(6, 2)), rng.normal(size=6))
    assert str(caught.value) == (
        "The result of Custom(function=<rows_only>) must be an array of shape (6, 6), a row per row of X and a column "
        "per row of Z; got shape (6,). A kernel takes whole blocks (X, Z), not single rows."
    )


def test_a_kernel_that_is_not_finite_or_not_symmetric_is_refused_in_a_sentence(rng):
    X, y = rng.normal(size=(6, 2)), rng.normal(size=6)

    def not_finite(X, Z):
        return np.full((len(X), len(Z)), np.nan)

    def lopsided(X, Z):
        return X[:, :1] - 2 * Z[:, 1]

    with pytest.raises(InputError) as caught:
        KernelRidge(kernel=Custom(not_finite)).fit(X, y)
    assert str(caught.value) == "Every value of Custom(function=<not_finite>) must be finite; got NaN or infinity."
    with pytest.raises(
        InputError, match=r"^Custom\(function=<lopsided>\) must be symmetric, k\(x, z\) = k\(z, x\); got"
    ):
        KernelRidge(kernel=Custom(lopsided)).fit(X, y)
