"""The nearest rows by tiles equal a full sort, ties and all."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import KernelNeighborsRegressor, threads
from mercer.data import as_rows
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial, RationalQuadratic
from mercer.solvers.gram import nearest_rows


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


@pytest.mark.parametrize("width", [0.05, 1e-3, 1e-80])
@pytest.mark.parametrize("kernel", [Gaussian, Laplacian, Matern, RationalQuadratic])
def test_rows_that_the_kernel_hardly_relates_are_ordered_by_their_distance(kernel, width, rng):
    X, Z = rng.uniform(0, 10, size=(40, 2)), rng.uniform(0, 10, size=(60, 2))
    gaps = np.abs(X[:, None] - Z)
    distances = gaps.sum(axis=2) if kernel is Laplacian else np.sqrt((gaps**2).sum(axis=2))
    nearest = np.argsort(distances, axis=1)[:, :3]
    targets = rng.normal(size=60)
    model = KernelNeighborsRegressor(kernel(width), n_neighbors=3).fit(Z, targets)
    np.testing.assert_array_equal(model.kneighbors(X, return_distance=False), nearest)
    np.testing.assert_allclose(model.predict(X), targets[nearest].mean(axis=1), rtol=1e-13)
    far, _ = model.kneighbors(X)
    np.testing.assert_allclose(far, np.sqrt(2 - 2 * np.take_along_axis(kernel(width)(X, Z), nearest, 1)), rtol=1e-12)


@pytest.mark.parametrize("make", [lambda k: 3.0 * k, lambda k: k * k, lambda k: k.on([0, 1]), lambda k: k**3])
def test_scaled_multiplied_and_selected_kernels_have_the_neighbours_of_their_factor(make, rng):
    X, Z = rng.uniform(0, 10, size=(20, 2)), rng.uniform(0, 10, size=(40, 2))
    nearest = np.argsort(((X[:, None] - Z) ** 2).sum(axis=2), axis=1)[:, :4]
    kernel = make(Gaussian(0.05))
    places, _ = nearest_rows(kernel, as_rows(X), as_rows(Z), kernel.diag(Z), 4)
    np.testing.assert_array_equal(places, nearest)
