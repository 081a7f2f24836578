"""Products from kept tiles are those of the matrix, whatever there was room for."""

import numpy as np
import pytest

from mercer import threads
from mercer.data import as_rows
from mercer.kernels import Gaussian, Laplacian, Linear, Polynomial, Words
from mercer.solvers.gram import KeptTiles, kept_bytes, symmetric_times

KERNELS = [Gaussian(1.5), Laplacian(2.0) + 0.1 * Linear()]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_kept_and_new_tiles_give_the_same_product(kernel, share, rng):
    X, V = rng.normal(size=(1203, 3)), rng.normal(size=(1203, 2))
    tiles = KeptTiles(kernel, as_rows(X), int(share * kept_bytes(1203)))
    expected = kernel(X) @ V
    assert tiles.single
    assert share - 0.3 <= tiles.share <= share
    np.testing.assert_allclose(tiles(V), expected, rtol=0, atol=3e-6 * np.abs(expected).max())
    np.testing.assert_allclose(tiles(V), tiles(V), rtol=0, atol=0)


@pytest.mark.parametrize("n", [1, 499, 500, 501, 1750])
def test_the_bytes_named_beforehand_are_enough_for_all_tiles(n):
    tiles = KeptTiles(Linear(), as_rows(np.ones((n, 1))), kept_bytes(n))
    assert tiles.share == 1.0
    assert tiles._store.nbytes <= kept_bytes(n)


def test_no_rows_leave_the_room_that_was_given():
    tiles = KeptTiles(Linear(), as_rows(np.ones((1600, 1))), 3_000_000)
    assert 0 < tiles._store.nbytes <= 3_000_000


@pytest.mark.parametrize("size", [1e-15, 1e15])
def test_values_beyond_single_precision_are_multiplied_in_double(size, rng):
    X, V = size * rng.normal(size=(600, 2)), rng.normal(size=(600, 1))
    kernel = Polynomial(2, offset=0.0)
    tiles = KeptTiles(kernel, as_rows(X), kept_bytes(600))
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
