"""Randomly pivoted Cholesky: what it gives is a part of K, never more, and all of it where the rank allows."""

import numpy as np
import pytest

from mercer.data.rows import Rows
from mercer.gram.landmarks import pivoted_cholesky
from mercer.gram.product import symmetric_times, times
from mercer.kernels import Constant, Gaussian, Laplacian, Linear, Spectrum


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
