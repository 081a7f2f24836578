"""The nearest rows by tiles equal a full sort, ties and all."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import threads
from mercer.data import as_rows
from mercer.gram import nearest_rows
from mercer.kernels import Gaussian, Linear, Polynomial


def brute(kernel, X, Z, count):
    gaps = kernel.diag(Z) - 2 * kernel(X, Z)
    order = np.argsort(gaps, axis=1, kind="stable")[:, :count]
    return order, np.take_along_axis(gaps, order, axis=1)


@given(st.integers(1, 8), st.integers(1, 12), st.data())
@settings(max_examples=60)
def test_whole_numbers_with_many_ties_equal_a_stable_sort(m, n, data):
    """On a small grid nearly everything is tied, and the arithmetic is exact."""
    count = data.draw(st.integers(1, n))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    X, Z = (rng.integers(-1, 2, size=(k, 2)).astype(float) for k in (m, n))
    for kernel in (Linear(), Polynomial(2)):
        places, gaps = nearest_rows(kernel, as_rows(X), as_rows(Z), kernel.diag(Z), count)
        expected, expected_gaps = brute(kernel, X, Z, count)
        np.testing.assert_array_equal(places, expected)
        np.testing.assert_array_equal(gaps, expected_gaps)


@pytest.mark.parametrize("count", [1, 3, 499, 500, 501, 1100])
@pytest.mark.parametrize("workers", [1, 2])
def test_more_rows_than_one_tile_equal_a_full_sort(count, workers, rng):
    X, Z = rng.normal(size=(600, 3)), rng.normal(size=(1100, 3))
    kernel = Gaussian(2.0)
    with threads(workers):
        places, gaps = nearest_rows(kernel, as_rows(X), as_rows(Z), kernel.diag(Z), count)
    expected, expected_gaps = brute(kernel, X, Z, count)
    np.testing.assert_allclose(gaps, expected_gaps, rtol=1e-9, atol=1e-12)
    assert (places == expected).mean() > 0.999
    assert (np.sort(places, axis=1)[:, 1:] != np.sort(places, axis=1)[:, :-1]).all()


@pytest.mark.parametrize("count", [1, 2, 5])
def test_ties_across_tiles_go_to_the_earlier_row(count):
    Z = np.zeros((1600, 1))
    Z[:, 0] = 5.0
    for row in (3, 499, 500, 501, 1000, 1599):
        Z[row] = 1.0
    places, _ = nearest_rows(Linear(), as_rows([[1.0]]), as_rows(Z), Linear().diag(Z), count)
    assert places.tolist() == [[3, 499, 500, 501, 1000][:count]]


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(), Polynomial(3)], ids=repr)
@pytest.mark.parametrize("n", [7, 64, 501, 1003])
def test_equal_rows_are_equally_near_wherever_they_stand(kernel, n, rng):
    """Two copies of a table, one behind the other: of each pair the earlier is nearest."""
    Z = rng.normal(size=(n, 5))
    both = np.vstack([Z, Z])
    X = rng.normal(size=(20, 5))
    places, gaps = nearest_rows(kernel, as_rows(X), as_rows(both), kernel.diag(both), 2)
    np.testing.assert_array_equal(places[:, 1], places[:, 0] + n)
    np.testing.assert_array_equal(gaps[:, 0], gaps[:, 1])
