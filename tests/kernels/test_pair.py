"""Rows against rows: the quantities kernels are made of, and the buffers they are written in."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from formulas import squared_distance, table, worst
from mercer.data import Rows, as_rows
from mercer.kernels import Gaussian, Laplacian, Matern, RationalQuadratic
from mercer.kernels.pair import Pair, Scratch


@pytest.fixture(params=[1, 2, 3, 20])
def columns(request):
    return request.param


@pytest.fixture
def x(rng, columns):
    return rng.normal(size=(7, columns))


@pytest.fixture
def z(rng, columns):
    return rng.normal(size=(5, columns))


@pytest.fixture(params=[False, True], ids=["alone", "shared"])
def shared(request):
    return request.param


MAKES = {
    "dense": (np.asarray, np.asarray),
    "sparse": (sparse.csr_array, sparse.csr_array),
    "matrix": (sparse.csr_matrix, sparse.csr_matrix),
    "left": (sparse.csr_array, np.asarray),
    "right": (np.asarray, sparse.csr_matrix),
}


@pytest.fixture(params=list(MAKES))
def pair(request, x, z, shared):
    left, right = MAKES[request.param]
    return Pair(as_rows(left(x)), as_rows(right(z)), shared=shared)


def test_dot_is_the_scalar_product(pair, x, z):
    assert worst(pair.dot(), x @ z.T) < 1e-14


@pytest.mark.parametrize("careful", [False, True])
def test_squared_distance_is_scaled_by_widths(pair, x, z, columns, careful, rng):
    right = table(squared_distance, x, z)
    assert worst(pair.squared_distance(1.0, careful=careful), right) < 1e-13
    assert worst(pair.squared_distance(0.5, careful=careful), right / 4) < 1e-13
    widths = rng.uniform(0.5, 2.0, size=columns)
    expected = table(squared_distance, x, z, width=widths)
    assert worst(pair.squared_distance(1 / widths, careful=careful), expected) < 1e-13


def test_distance_is_the_square_root(pair, x, z, columns, rng):
    widths = rng.uniform(0.5, 2.0, size=columns)
    assert worst(pair.distance(0.5), np.sqrt(table(squared_distance, x, z)) / 2) < 1e-13
    assert worst(pair.distance(1 / widths), np.sqrt(table(squared_distance, x, z, width=widths))) < 1e-13


def test_manhattan_is_the_sum_of_absolute_differences(pair, x, z, columns, rng):
    right = np.abs(x[:, None] - z).sum(axis=2)
    assert worst(pair.manhattan(0.5), right / 2) < 1e-13
    widths = rng.uniform(0.5, 2.0, size=columns)
    assert worst(pair.manhattan(1 / widths), (np.abs(x[:, None] - z) / widths).sum(axis=2)) < 1e-13


def test_every_answer_is_the_callers_own_to_overwrite(pair, x, z):
    for ask in (
        pair.dot,
        lambda: pair.squared_distance(1.0),
        lambda: pair.squared_distance(np.full(x.shape[1], 0.5)),
        lambda: pair.distance(1.0),
        lambda: pair.manhattan(1.0),
        lambda: pair.manhattan(np.full(x.shape[1], 0.5)),
        lambda: pair.full(2.0),
    ):
        tile = ask()
        kept = tile.copy()
        tile *= 7.0
        tile += 1.0
        assert worst(ask(), kept) < 1e-15


def test_single_precision_pairs_give_single_precision(x, z, shared):
    pair = Pair(as_rows(x), as_rows(z), dtype=np.float32, shared=shared)
    for tile in (
        pair.dot(),
        pair.squared_distance(1.0),
        pair.distance(1.0),
        pair.manhattan(1.0),
        pair.full(1.0),
        pair.buffer(),
    ):
        assert tile.dtype == np.float32
        assert tile.shape == (7, 5)
    assert worst(pair.manhattan(1.0), np.abs(x[:, None] - z).sum(axis=2)) < 1e-6
    wide = np.full(x.shape[1], 0.5)
    assert pair.manhattan(wide).dtype == np.float32


def test_equal_rows_are_exactly_zero_apart(x, shared):
    rows = as_rows(x)
    pair = Pair(rows, rows, same=True, shared=shared)
    assert (pair.squared_distance(0.37).diagonal() == 0.0).all()
    assert (pair.distance(0.37).diagonal() == 0.0).all()


@given(
    columns=st.integers(1, 6),
    seed=st.integers(0, 2**32 - 1),
    offset=st.sampled_from([0.0, 1e3, -1e6]),
    short=st.sampled_from([0.0, 1e-8, 1e-5, 1e-3]),
)
def test_short_distances_among_long_ones_are_exact(columns, seed, offset, short):
    rng = np.random.default_rng(seed)
    x = offset + rng.normal(size=(6, columns))
    z = x[:4] + short * rng.normal(size=(4, columns))
    right = np.sqrt(table(squared_distance, x, z))
    found = Pair(as_rows(x), as_rows(z)).distance(1.0)
    assert np.abs(found - right).max() < 1e-9


def test_when_every_distance_is_short_all_are_formed_from_differences(rng):
    x = 1e6 + 1e-6 * rng.normal(size=(6, 4))
    x[0] = 0.0  # one long distance makes all others short
    right = np.sqrt(table(squared_distance, x))
    pair = Pair(as_rows(x), as_rows(x))
    assert np.abs(pair.distance(1.0) - right).max() < 1e-9


def test_columns_are_a_pair_of_their_own(x, z, shared):
    pair = Pair(as_rows(x), as_rows(z), shared=shared)
    part = pair.columns((0,))
    assert worst(part.dot(), np.outer(x[:, 0], z[:, 0])) < 1e-14
    assert pair.columns((0,)) is part
    assert part.shared is shared


def test_mapped_rows_are_a_pair_of_their_own_and_mapped_once(x, z):
    calls = []

    def square(values):
        calls.append(len(values))
        return Rows(values**2)

    pair = Pair(as_rows(x), as_rows(z))
    assert worst(pair.mapped("square", square).dot(), x**2 @ (z**2).T) < 1e-13
    pair.mapped("square", square)
    assert calls == [7, 5]


def test_the_same_rows_are_mapped_to_the_same_rows(x):
    rows = as_rows(x)
    part = Pair(rows, rows, same=True).mapped("half", lambda values: Rows(values / 2))
    assert part.x is part.z
    assert part.same


def test_a_shared_pair_computes_a_dot_product_once(x, z):
    class Counting(Pair):
        count = 0

        def _dot(self):
            type(self).count += 1
            return super()._dot()

    pair = Counting(as_rows(x), as_rows(z), shared=True)
    pair.dot()
    pair.dot()
    assert Counting.count == 1


# -- buffers ----------------------------------------------------------------------------------------


def test_a_buffer_given_back_is_handed_out_again():
    scratch = Scratch()
    tile = scratch.take((10, 10), np.float64)
    scratch.give(tile)
    again = scratch.take((5, 4), np.float64)
    assert again.shape == (5, 4)
    assert np.shares_memory(tile, again)


def test_a_buffer_in_use_is_never_handed_out():
    scratch = Scratch()
    one, two = scratch.take((4, 4), np.float64), scratch.take((4, 4), np.float64)
    assert not np.shares_memory(one, two)


def test_a_buffer_that_is_too_small_is_left_alone():
    scratch = Scratch()
    small = scratch.take((2, 2), np.float64)
    scratch.give(small)
    large = scratch.take((9, 9), np.float64)
    assert not np.shares_memory(small, large)
    assert np.shares_memory(small, scratch.take((2, 2), np.float32))


def test_arrays_of_other_people_are_not_taken_for_buffers(rng):
    scratch = Scratch()
    theirs = rng.normal(size=(4, 4))
    scratch.give(theirs)
    scratch.give(theirs[1:].T)
    assert not np.shares_memory(scratch.take((2, 2), np.float64), theirs)


def test_a_buffer_of_another_precision_has_the_right_type():
    scratch = Scratch()
    scratch.give(scratch.take((4, 4), np.float64))
    tile = scratch.take((4, 8), np.float32)
    assert tile.dtype == np.float32
    tile[:] = 1.0
    assert tile.sum() == 32.0


def test_buffers_belong_to_a_thread():
    scratch = Scratch()
    mine = scratch.take((4, 4), np.float64)
    scratch.give(mine)
    with ThreadPoolExecutor(1) as other:
        assert not np.shares_memory(mine, other.submit(scratch.take, (4, 4), np.float64).result())
    assert np.shares_memory(mine, scratch.take((4, 4), np.float64))


def test_closing_a_shared_pair_gives_its_tiles_back(rng):
    scratch = Scratch()
    rows = as_rows(rng.normal(size=(6, 3)))
    pair = Pair(rows, rows, shared=True, scratch=scratch)
    kept = pair.dot()
    part = pair.columns((0, 1)).squared_distance(1.0)
    pair.close()
    fresh = [scratch.take((6, 6), np.float64) for _ in range(2)]
    assert not any(np.shares_memory(tile, other) for tile in fresh for other in (kept, part))


def test_empty_blocks_have_empty_tiles(columns):
    none, some = as_rows(np.empty((0, columns))), as_rows(np.ones((3, columns)))
    for left, right in [(none, some), (some, none), (none, none)]:
        pair = Pair(left, right)
        shape = len(left), len(right)
        assert pair.dot().shape == shape
        assert pair.squared_distance(1.0).shape == shape
        assert pair.distance(1.0).shape == shape
        assert pair.manhattan(1.0).shape == shape


@pytest.mark.parametrize("far", [1e12, 1e16, 1e20, 1e100])
@pytest.mark.parametrize("kernel", [Laplacian(2.0), Gaussian(2.0), Matern(2.0), RationalQuadratic(2.0)], ids=repr)
def test_one_far_row_changes_no_kernel_value_between_the_others(kernel, far, rng):
    X = rng.normal(size=(100, 2))
    K = kernel(np.vstack([X, [[far, 0.0]]]))
    gaps = X[:, None] - X
    r1, r = np.abs(gaps).sum(axis=2) / 2.0, np.sqrt((gaps**2).sum(axis=2)) / 2.0
    expected = {
        "Laplacian": np.exp(-r1),
        "Gaussian": np.exp(-(r**2) / 2),
        "Matern": (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r),
        "RationalQuadratic": 1 / (1 + r**2 / 2),
    }[type(kernel).__name__]
    np.testing.assert_allclose(K[:100, :100], expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(K[100, :100], 0.0, atol=1e-20)


def test_the_largest_numbers_have_manhattan_distances(rng):
    K = Laplacian()(np.array([[1e308], [1.5e308], [1.0]]))
    np.testing.assert_array_equal(K, np.eye(3))


@pytest.mark.parametrize("width", [1.7, "per column"])
@pytest.mark.parametrize("flags", [3, 16, 60])
def test_manhattan_distances_of_flags_are_those_of_numbers(rng, flags, width):
    """Columns of zero and one positive number are multiplied; the others are not."""
    X, Z = (np.hstack([rng.normal(size=(n, 4)), rng.uniform(size=(n, flags)) < 0.3]) for n in (30, 23))
    X[:, 4:] *= rng.uniform(0.1, 3.0, size=flags)
    Z[:, 4:] = X[rng.integers(30, size=23), 4:]
    X[:, 5] = 0.0
    widths = rng.uniform(0.5, 5.0, size=4 + flags) if width == "per column" else np.full(4 + flags, width)
    kernel = Laplacian(widths if width == "per column" else width)
    expected = np.exp(-(np.abs(X[:, None] - Z) / widths).sum(axis=2))
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-12)
    np.testing.assert_allclose(kernel(X.astype(np.float32), Z.astype(np.float32)), expected, rtol=1e-4)


def test_flags_of_tiny_widths_are_not_multiplied(rng):
    """A product of huge numbers would lose the small ones."""
    X = (rng.uniform(size=(12, 20)) < 0.5).astype(float)
    X[:, 0] = 1.0
    widths = np.r_[1e-15, np.full(19, 40.0)]
    expected = np.exp(-(np.abs(X[:, None] - X) / widths).sum(axis=2))
    np.testing.assert_allclose(Laplacian(widths)(X), expected, rtol=1e-12)
