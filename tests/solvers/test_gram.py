"""Gram matrices of training rows, and their products by tiles, whole, kept and nearest first."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mercer import KernelNeighborsRegressor, KernelRidge, threads
from mercer.data import as_rows
from mercer.errors import InputError
from mercer.kernels import (
    Custom,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Words,
)
from mercer.kernels.tiles import column_numbers
from mercer.solvers.gram import (
    KeptTiles,
    nearest_rows,
    symmetric_times,
    tile_bytes,
    times,
    training_matrix,
)
from refusals import tells
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
    assert tells(str(caught.value), "k(x, x) of Polynomial(degree=50, offset=1.0, scale=1.0)", "got inf in row 1")


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
    assert tells(str(caught.value), "The result of Custom(function=<rows_only>)", "got shape (6,)")


def test_a_kernel_that_is_not_finite_or_not_symmetric_is_refused_in_a_sentence(rng):
    X, y = rng.normal(size=(6, 2)), rng.normal(size=6)

    def not_finite(X, Z):
        return np.full((len(X), len(Z)), np.nan)

    def lopsided(X, Z):
        return X[:, :1] - 2 * Z[:, 1]

    with pytest.raises(InputError) as caught:
        KernelRidge(kernel=Custom(not_finite)).fit(X, y)
    assert tells(str(caught.value), "Every value of Custom(function=<not_finite>)", "got NaN or infinity")
    with pytest.raises(
        InputError, match=r"^Custom\(function=<lopsided>\) must be symmetric, k\(x, z\) = k\(z, x\); got"
    ):
        KernelRidge(kernel=Custom(lopsided)).fit(X, y)


# -- k(X, Z) V by tiles equals the whole matrix times V, in the memory of a few tiles --------------

TILED = [Linear(), Gaussian(0.7), Laplacian() + 0.5 * Polynomial(2)]


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 4), st.sampled_from(TILED), st.integers(0, 2**16))
def test_a_product_equals_the_whole_matrix_times_the_vectors(m, n, targets, kernel, seed):
    rng = np.random.default_rng(seed)
    X, Z, V = rng.normal(size=(m, 3)), rng.normal(size=(n, 3)), rng.normal(size=(n, targets))
    np.testing.assert_allclose(times(kernel, as_rows(X), as_rows(Z), V), kernel(X, Z) @ V, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("kernel", TILED, ids=repr)
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


@pytest.mark.slow
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


# -- Products from kept tiles are those of the matrix, whatever there was room for -----------------

KERNELS = [Gaussian(1.5), Laplacian(2.0) + 0.1 * Linear()]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_kept_and_new_tiles_give_the_same_product(kernel, share, rng):
    X, V = rng.normal(size=(1203, 3)), rng.normal(size=(1203, 2))
    tiles = KeptTiles(kernel, as_rows(X), int(share * tile_bytes(1203)))
    expected = kernel(X) @ V
    assert tiles.single
    assert share - 0.3 <= tiles.share <= share
    np.testing.assert_allclose(tiles(V), expected, rtol=0, atol=3e-6 * np.abs(expected).max())
    np.testing.assert_allclose(tiles(V), tiles(V), rtol=0, atol=0)


@pytest.mark.parametrize("n", [1, 499, 500, 501, 1750])
def test_the_bytes_named_beforehand_are_enough_for_all_tiles(n):
    tiles = KeptTiles(Linear(), as_rows(np.ones((n, 1))), tile_bytes(n))
    assert tiles.share == 1.0
    assert sum(kept.nbytes for kept in tiles._tiles) <= tile_bytes(n)


def test_no_rows_leave_the_room_that_was_given():
    tiles = KeptTiles(Linear(), as_rows(np.ones((1600, 1))), 3_000_000)
    assert 0 < sum(kept.nbytes for kept in tiles._tiles) <= 3_000_000


@pytest.mark.parametrize("size", [1e-15, 1e15])
def test_values_beyond_single_precision_are_multiplied_in_double(size, rng):
    X, V = size * rng.normal(size=(600, 2)), rng.normal(size=(600, 1))
    kernel = Polynomial(2, offset=0.0)
    tiles = KeptTiles(kernel, as_rows(X), tile_bytes(600))
    assert not tiles.single
    assert tiles.share == 0.0
    np.testing.assert_allclose(tiles(V), kernel(X) @ V, rtol=1e-9)


def test_vectors_of_any_size_are_multiplied(rng):
    X, V = rng.normal(size=(700, 2)), rng.normal(size=(700, 3)) * [1e-200, 1.0, 1e200]
    expected = Gaussian(1.0)(X) @ V
    found = KeptTiles(Gaussian(1.0), as_rows(X), 10**8)(V)
    np.testing.assert_allclose(found / np.abs(expected).max(axis=0), expected / np.abs(expected).max(axis=0), atol=1e-5)


def test_texts_have_tiles_too():
    texts = as_rows(["good day", "bad day", "good night"])
    np.testing.assert_allclose(KeptTiles(Words(), texts, 1000)(np.eye(3)), Words()(texts), atol=1e-6)


def test_threads_change_no_bit_of_a_product(rng):
    X, V = rng.normal(size=(2600, 3)), rng.normal(size=(2600, 2))
    rows = as_rows(X)
    found = []
    for count in (1, 2):
        with threads(count):
            found.append((KeptTiles(Gaussian(1.0), rows, 10**7)(V), symmetric_times(Gaussian(1.0), rows, V)))
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


def test_tiles_of_single_precision_are_summed_in_double(rng):
    X, V = rng.normal(size=(1100, 3)), rng.normal(size=(1100, 1))
    found = symmetric_times(Gaussian(1.0), as_rows(X), V, dtype=np.float32)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, Gaussian(1.0)(X) @ V, atol=1e-4)


# -- The nearest rows by tiles equal a full sort, ties and all -------------------------------------


def brute(kernel, X, Z, count):
    gaps = kernel.diag(Z) - 2 * kernel(X, Z)
    order = np.argsort(gaps, axis=1, kind="stable")[:, :count]
    return order, np.take_along_axis(gaps, order, axis=1)


@given(st.integers(1, 8), st.integers(1, 12), st.data())
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


@pytest.mark.slow
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
