"""k(X, Z) V by tiles equals the whole matrix times V, in the memory of a few tiles."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import KernelRidge, threads
from mercer.data import as_rows
from mercer.kernels import Gaussian, Laplacian, Linear, Polynomial, Precomputed
from mercer.kernels.tiles import column_numbers
from mercer.solvers.gram import columns_against, times

KERNELS = [Linear(), Gaussian(0.7), Laplacian() + 0.5 * Polynomial(2)]


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 4), st.sampled_from(KERNELS), st.integers(0, 2**16))
@settings(max_examples=30)
def test_a_product_equals_the_whole_matrix_times_the_vectors(m, n, targets, kernel, seed):
    rng = np.random.default_rng(seed)
    X, Z, V = rng.normal(size=(m, 3)), rng.normal(size=(n, 3)), rng.normal(size=(n, targets))
    np.testing.assert_allclose(times(kernel, as_rows(X), as_rows(Z), V), kernel(X, Z) @ V, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("count", [1, 2])
def test_several_tiles_equal_the_whole(kernel, count, rng):
    X, Z, V = rng.normal(size=(1203, 3)), rng.normal(size=(1010, 3)), rng.normal(size=(1010, 2))
    with threads(count):
        found = times(kernel, as_rows(X), as_rows(Z), V)
    np.testing.assert_allclose(found, kernel(X, Z) @ V, rtol=1e-9, atol=1e-9)


def test_a_given_matrix_is_multiplied_by_tiles_too(rng):
    K, V = rng.normal(size=(700, 1100)), rng.normal(size=(1100, 2))
    rows = as_rows(K)
    np.testing.assert_allclose(times(Precomputed(), rows, column_numbers(rows), V), K @ V, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_columns_come_block_after_block_and_cover_every_row(kernel, rng):
    X, Z = rng.normal(size=(1203, 3)), rng.normal(size=(30, 3))
    found = np.empty((30, 1203))
    seen = []
    for rows, columns in columns_against(kernel, as_rows(X), as_rows(Z)):
        found[:, rows] = columns
        seen += range(rows.start, rows.stop)
    assert seen == list(range(1203))
    np.testing.assert_allclose(found, kernel(Z, X), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kernel", [Gaussian(), Gaussian() + Linear()], ids=repr)
def test_predicting_many_rows_never_holds_the_matrix(kernel, rng):
    """20 000 x 2 000 kernel values would be 320 MB."""
    X, y, new = rng.normal(size=(2000, 4)), rng.normal(size=2000), rng.normal(size=(20_000, 4))
    model = KernelRidge(1.0, kernel=kernel).fit(X, y)
    tracemalloc.start()
    try:
        model.predict(new)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 60e6
