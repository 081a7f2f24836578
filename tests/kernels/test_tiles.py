"""Matrices by tiles: however they are cut and on however many threads, they are the same matrix."""

import numpy as np
import pytest
from scipy import sparse

import mercer
from formulas import worst
from mercer.data import as_rows
from mercer.errors import MemoryRefusal
from mercer.kernels import (
    Chi2,
    Constant,
    Cosine,
    Custom,
    FromFeatures,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
)
from mercer.kernels import tiles as module
from mercer.kernels.tiles import TILE, between, blocks, column_numbers, tile
from mercer.runtime import threads
from refusals import refusal
from views import read_only

KERNELS = [
    Linear(),
    Polynomial(3),
    Cosine(),
    Gaussian([0.5, 1.0, 2.0, 3.0]),
    Laplacian(2.0),
    Matern(nu=0.5),
    Matern(nu=2.5),
    RationalQuadratic(),
    Periodic(period=3.0),
    Chi2(),
    Sigmoid(),
    Constant(2.0),
    FromFeatures(np.sqrt),
    Custom(lambda X, Z: X @ Z.T),
    Gaussian() + Gaussian(2.0) * Linear() + Matern(nu=0.5) + 1.0,
    (Laplacian() + Laplacian(2.0)).normalized().on([0, 2]) * Gaussian().map(np.sqrt),
    (0.001 * Linear() ** 2).exp().normalized(),
]


@pytest.fixture
def many(rng):
    return rng.exponential(size=(1100, 4))


def test_blocks_cover_all_rows_once():
    assert blocks(0) == []
    assert blocks(3) == [slice(0, 3)]
    assert blocks(500) == [slice(0, 500)]
    assert blocks(1100) == [slice(0, 500), slice(500, 1000), slice(1000, 1100)]
    assert blocks(5, 2) == [slice(0, 2), slice(2, 4), slice(4, 5)]


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_many_tiles_are_the_whole_matrix_on_one_thread_and_on_two(kernel, many):
    with threads(1):
        one = kernel(many)
    with threads(2):
        two = kernel(read_only(many))
    assert worst(two, one) < 1e-12
    assert (one == one.T).all()
    assert (two == two.T).all()
    rows = as_rows(many)
    for part in (slice(0, 40), slice(480, 520), slice(1060, 1100)):
        assert worst(tile(kernel, rows[part], rows), one[part]) < 1e-12
    assert worst(kernel.diag(many), one.diagonal()) < 1e-12


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_many_tiles_of_two_tables_are_the_whole_matrix(kernel, many):
    X, Z = many[:620], many[510:]
    with threads(1):
        one = kernel(X, Z)
    with threads(2):
        two = kernel(X, Z)
    assert one.shape == (620, 590)
    assert worst(two, one) < 1e-12
    assert worst(one[510:, :110], kernel(many[510:620])) < 1e-12


def test_one_thread_and_two_give_the_same_single_precision(many):
    kernel = Gaussian() + Matern(nu=0.5)
    with threads(1):
        one = kernel(many, dtype=np.float32)
    with threads(2):
        two = kernel(many, dtype=np.float32)
    assert one.dtype == two.dtype == np.float32
    assert worst(two, one) < 1e-6


def test_a_smaller_tile_gives_the_same_matrix(monkeypatch, rng):
    X = rng.exponential(size=(23, 4))
    whole = [kernel(X) for kernel in KERNELS]
    monkeypatch.setattr(module.blocks, "__defaults__", (7,))
    assert blocks(23)[0] == slice(0, 7)
    for kernel, right in zip(KERNELS, whole, strict=True):
        found = kernel(X)
        assert worst(found, right) < 1e-12
        assert (found == found.T).all()


def test_sparse_rows_are_cut_like_dense_ones(rng):
    X = rng.exponential(size=(TILE + 30, 6)) * (rng.uniform(size=(TILE + 30, 6)) < 0.3)
    for kernel in (Linear(), Gaussian(), Laplacian() + Cosine()):
        assert worst(kernel(sparse.csr_matrix(X)), kernel(X)) < 1e-12


def test_a_matrix_can_be_written_where_the_caller_wants_it(rng):
    rows = as_rows(rng.normal(size=(12, 3)))
    part = np.empty((12, 5))
    assert between(Gaussian(), rows, rows[:5], out=part) is part
    assert worst(part, Gaussian()(rows)[:, :5]) < 1e-12


def test_a_matrix_that_would_not_fit_is_refused_before_it_is_allocated(monkeypatch, rng):
    monkeypatch.setenv("MERCER_MEMORY_LIMIT", "1000")
    said = (
        "A matrix of 100 x 100 kernel values needs 80.0 kB of memory; 1.0 kB is available. "
        "Use dtype=numpy.float32, or fewer rows at a time."
    )
    X = rng.normal(size=(100, 2))
    assert refusal(Linear(), X, kind=MemoryRefusal) == said
    assert refusal(Linear(), X, X, kind=MemoryRefusal) == said
    assert "needs 40.0 kB" in refusal(Linear(), X, dtype=np.float32, kind=MemoryRefusal)


def test_a_matrix_of_a_hundred_million_rows_is_refused_at_once():
    far = np.broadcast_to(np.zeros((1, 1)), (10**8, 1))

    class Unchecked(Kernel):
        def check(self, rows):
            pass

    assert "needs 80.0 PB of memory" in refusal(Unchecked(), as_rows(far[:1]).__class__(far), kind=MemoryRefusal)


def test_an_error_in_one_tile_is_raised_and_the_rest_is_left(many):
    calls = []

    def broken(X, Z):
        calls.append(len(X))
        raise RuntimeError("tile")

    for count in (1, 2):
        calls.clear()
        with threads(count), pytest.raises(RuntimeError, match="tile"):
            Custom(broken)(many)
        assert len(calls) < 6


def test_the_columns_of_a_given_matrix_are_numbered():
    assert column_numbers(as_rows(np.ones((2, 3)))).values.tolist() == [[0], [1], [2]]


def test_a_given_matrix_needs_no_symmetry(rng):
    K = rng.normal(size=(4, 4))
    assert (Precomputed()(K) == K).all()


NARROW = [Gaussian(0.1), Laplacian(0.02), Matern(0.1, nu=1.5), RationalQuadratic(0.01, shape=200.0), Periodic(0.01)]


@pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")
@pytest.mark.parametrize("kernel", NARROW)
def test_underflows_of_narrow_kernels_are_zeros_whatever_the_caller_wants_to_hear_of(kernel):
    rng = np.random.default_rng(0)
    X, y = 30 * rng.normal(size=(40, 2)), rng.normal(size=40)
    with np.errstate(all="raise"):
        assert np.isfinite(kernel(X)).all()
        model = mercer.KernelRidge(1.0, kernel=kernel, fit_intercept=True).fit(X, y)
        search = mercer.KernelRidgeCV([kernel], [1e-3, 1.0], cv=3, fit_intercept=True).fit(X, y)
        for one in (model, search):
            assert np.isfinite(one.predict(X + 0.1)).all()
            assert np.isfinite(one.predict_interval(X + 0.1)).all()
        labels = mercer.KernelRidgeClassifierCV([kernel], [1e-3, 1.0], cv=3).fit(X, y > 0)
        assert np.isfinite(labels.predict_proba(X + 5.0)).all()
        assert np.isfinite(model.without(3).with_rows(X[:2] + 1.0, y[:2]).predict_set(X[:2] + 0.1)).all()
        assert np.isfinite(mercer.marginal_effects(model).average).all()
        assert np.isfinite(mercer.influence(model).residual).all()
        nystroem = mercer.NystroemRidge(1.0, kernel=kernel, landmarks=20).fit(X, y)
        assert np.isfinite(nystroem.predict(X + 0.1)).all()
