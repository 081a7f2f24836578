"""How kernels change with the logarithms of their parameters, against central differences of the plain formulas."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_strategies import composed_kernels, positive, stationary_kernels, tables
from scipy import sparse

from formulas import expected
from mercer.data import as_rows
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
    SquaredDistance,
    Subsequence,
    Words,
    tiles,
)
from mercer.kernels.tiles import gradient

STEP = 1e-5


class Cauchy(Kernel):
    """A kernel of one's own: a positive number to tune, an integer and a text that are none."""

    reach: float = 1.5
    power: int = 2
    note: str = "mine"

    def block(self, pair):
        return (1.0 + pair.squared_distance(1.0 / self.reach)) ** -float(self.power)


class OwnProduct(Kernel):
    """A kernel of one's own around another."""

    inner: Kernel = Gaussian(0.7)
    strength: float = 0.4

    def block(self, pair):
        return self.strength * self.inner.values(pair) ** 2


def shifted(X):
    return np.hstack([X, X**2])


def moved(kernel, name, place, step):
    value = kernel.tunable()[name].copy()
    value[place] *= math.exp(step)
    return kernel.set_params(**{name: float(value) if value.ndim == 0 else value})


def agree_with_differences(kernel, X, rng, matrix=expected):
    """All slopes of sum M o K, to 1e-6 of sum |M| |dK| (and what differences of rounded numbers cannot show)."""
    n = X.shape[0]
    M = rng.normal(size=(n, n))
    M += M.T
    found = gradient(kernel, kernel.read(X), M)
    assert list(found) == list(kernel.tunable())
    K = matrix(kernel, X)
    for name, value in kernel.tunable().items():
        assert found[name].shape == value.shape
        for place in np.ndindex(value.shape):
            two_down, down, up, two_up = (matrix(moved(kernel, name, place, i * STEP), X) for i in (-2, -1, 1, 2))
            # Exact up to STEP^4: values of short periods change by 100s of their size, and STEP^2 would show.
            dK = (8 * (up - down) - (two_up - two_down)) / (12 * STEP)
            slack = 1e-6 * np.vdot(abs(M), abs(dK)) + 1e-9 * np.vdot(abs(M), abs(K))
            assert abs(found[name][place] - np.vdot(M, dK)) <= slack, (name, place)


def values(kernel, X):
    return kernel(X)


LEAVES = [
    Gaussian(0.8),
    Gaussian([0.5, 1.0, 2.0]),
    Gaussian(0.8, per_dimension=True),
    Gaussian([0.5, 1.0, 2.0], per_dimension=True),
    Laplacian(1.3),
    Laplacian([0.5, 1.0, 2.0]),
    *[Matern(width, nu=nu) for nu in (0.5, 1.5, 2.5) for width in (0.9, [0.5, 1.0, 2.0])],
    RationalQuadratic(0.7, 0.3),
    RationalQuadratic([0.5, 1.0, 2.0], 40.0),
    Periodic(0.9, 1.7),
    Periodic([0.5, 1.0, 2.0], 0.6),
    Polynomial(3, offset=0.5, scale=0.4),
    Polynomial(1, offset=0.0, scale=2.0),
    Sigmoid(0.5, 0.3),
    Sigmoid(0.5, 0.0),
    Chi2(0.7),
    Constant(2.0),
]
RULES = [
    Gaussian(0.8) + Laplacian([0.5, 1.0, 2.0]),
    Gaussian(0.8) * Gaussian([0.5, 1.0, 2.0]),
    2.5 * Matern(0.9),
    (Polynomial(2) + Gaussian()) ** 3,
    (0.3 * RationalQuadratic()).exp(),
    Gaussian(0.6).on([2]) * Laplacian([0.4, 0.9]).on([1, 0]),
    Polynomial(2, offset=0.3).normalized(),
    (Gaussian(0.5) * Polynomial(1, offset=0.2) + Constant(0.3)).normalized(),
    (2.0 * (Gaussian(0.5).on([0]) + 0.1 * Linear()) ** 2 * Periodic(1.2, 3.0)).normalized().exp(),
    0.5 * (Gaussian([1.0, 2.0]).on([0, 2]) + 1.0).normalized() + Cosine() * Chi2(0.2),
]


@pytest.mark.parametrize("kernel", LEAVES, ids=repr)
def test_slopes_of_every_kernel_are_those_of_its_formula(kernel, rng):
    X = rng.uniform(0.0, 2.0, size=(9, 3))
    X[4] = X[2]
    agree_with_differences(kernel, X, rng)


@pytest.mark.parametrize("kernel", RULES, ids=repr)
def test_slopes_of_every_rule_are_those_of_its_formula(kernel, rng):
    X = rng.uniform(0.0, 2.0, size=(9, 3))
    X[4], X[5] = X[2], 0.0
    agree_with_differences(kernel, X, rng)


@pytest.mark.slow
@given(st.data())
def test_slopes_of_any_kernel_that_can_be_written_are_those_of_its_formula(data):
    kernel, X = data.draw(composed_kernels()), data.draw(tables())
    agree_with_differences(kernel, X, np.random.default_rng(len(X)))


@given(st.data())
def test_slopes_on_one_column_are_those_of_the_formula(data):
    kernel = data.draw(stationary_kernels(1)) * data.draw(positive)
    X = data.draw(tables(columns=st.just(1), lowest=-2.0))
    agree_with_differences(kernel, X, np.random.default_rng(len(X)))


@given(st.data())
@pytest.mark.slow
def test_slopes_do_not_depend_on_the_tiles(data):
    kernel, X = data.draw(composed_kernels(depth=2)), data.draw(tables(rows=st.integers(7, 12)))
    M = np.random.default_rng(1).normal(size=(len(X), len(X)))
    M += M.T
    whole = gradient(kernel, kernel.read(X), M)
    scale = {name: np.abs(value) for name, value in gradient(kernel, kernel.read(X), abs(M)).items()}
    with pytest.MonkeyPatch.context() as patch:
        cuts = tiles.blocks
        patch.setattr("mercer.kernels.tiles.blocks", lambda n, size=5: cuts(n, min(size, 5)))
        cut = gradient(kernel, kernel.read(X), M)
    for name, value in whole.items():
        room = 1e-9 * (scale[name].max() + np.abs(value).max() + np.vdot(abs(M), abs(kernel(X))))
        assert np.abs(cut[name] - value).max() <= room


def test_slopes_over_several_true_tiles_are_those_of_differences(rng):
    X = rng.normal(size=(tiles.TILE + 30, 3))
    agree_with_differences(Gaussian([1.0, 2.0, 3.0]) + 0.5 * Laplacian(2.0), X, rng, values)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian([0.5, 1.0, 2.0, 0.7]),
        Matern(0.8, 2.5),
        Matern([0.5, 1.0, 2.0, 0.7], 0.5),
        RationalQuadratic([0.5, 1.0, 2.0, 0.7]),
        Polynomial(2, 0.5) + 0.3 * Gaussian(1.1),
        Polynomial(2, 0.5).normalized(),
        Gaussian([0.5, 2.0]).on([0, 3]),
    ],
    ids=repr,
)
def test_slopes_on_sparse_rows_are_those_on_dense_ones(kernel, rng):
    X = rng.normal(size=(11, 4)) * (rng.uniform(size=(11, 4)) < 0.5)
    M = rng.normal(size=(11, 11))
    M += M.T
    dense, thin = (gradient(kernel, kernel.read(table), M) for table in (X, sparse.csr_matrix(X)))
    for name, value in dense.items():
        np.testing.assert_allclose(thin[name], value, rtol=1e-9, atol=1e-9)
    agree_with_differences(kernel, X, rng)


@pytest.mark.parametrize(
    "kernel",
    [
        Cauchy(),
        OwnProduct(),
        0.5 * Cauchy(2.0) + OwnProduct(Cauchy(0.8)),
        (Cauchy(2.0) * Gaussian(1.0)).normalized(),
        Cauchy(0.9).on([1]) ** 2,
        Gaussian(0.9).map(shifted),
        Gaussian([0.9, 1.0, 1.1, 2.0, 2.1, 2.2]).map(shifted) + Laplacian(0.7),
        (Polynomial(2, 0.4).map(shifted).normalized() * 0.7).exp(),
        2.0 * Custom(lambda X, Z: X @ Z.T),
        0.5 * FromFeatures(shifted),
        0.3 * SquaredDistance() + Gaussian(0.5),
    ],
    ids=lambda kernel: type(kernel).__name__,
)
def test_slopes_of_kernels_of_ones_own_and_of_maps_are_those_of_differences(kernel, rng):
    X = rng.uniform(0.0, 2.0, size=(8, 3))
    X[3] = X[5]
    agree_with_differences(kernel, X, rng, values)


def test_what_is_tunable_are_positive_continuous_parameters_by_nested_name():
    kernel = 0.5 * Polynomial(3, offset=0.0) + Gaussian([1.0, 2.0]).on([0, 1]) * (Sigmoid(0.1, -1.0) + Constant(0))
    assert list(kernel.tunable()) == ["k1__base__scale", "k1__factor", "k2__k1__base__width", "k2__k2__k1__scale"]
    assert {name: value.tolist() for name, value in Cauchy().tunable().items()} == {"reach": 1.5}
    assert {name: value.tolist() for name, value in OwnProduct().tunable().items()} == {
        "inner__width": 0.7,
        "strength": 0.4,
    }


@pytest.mark.parametrize("kernel", [Linear(), Cosine(), SquaredDistance(), Words(), Subsequence(2), Precomputed()])
def test_kernels_without_continuous_parameters_have_nothing_to_tune(kernel):
    assert kernel.tunable() == {}


def test_a_factor_of_zero_stays_and_so_does_everything_below(rng):
    kernel, X = 0 * Gaussian(0.7) + Gaussian(0.5), rng.normal(size=(5, 2))
    found = gradient(kernel, as_rows(X), np.ones((5, 5)))
    assert sorted(found) == ["k1__base__width", "k2__width"]
    assert found["k1__base__width"] == 0.0


def test_only_the_upper_triangle_of_the_weights_counts(rng):
    X, M = rng.normal(size=(7, 2)), rng.normal(size=(7, 7))
    kernel = Gaussian([0.7, 1.1])
    mirrored = np.triu(M) + np.triu(M, 1).T
    assert (gradient(kernel, as_rows(X), M)["width"] == gradient(kernel, as_rows(X), mirrored)["width"]).all()


def test_far_from_the_origin_slopes_lose_no_digits(rng):
    X = rng.normal(size=(20, 4))
    M = rng.normal(size=(20, 20))
    M += M.T
    for kernel in (Gaussian([0.7, 1.0, 2.0, 3.0]), Matern([0.7, 1.0, 2.0, 3.0], 0.5), Laplacian([0.7, 1.0, 2.0, 3.0])):
        near, far = (gradient(kernel, as_rows(X + move), M)["width"] for move in (0.0, 2.0**20))
        np.testing.assert_allclose(far, near, rtol=1e-7, atol=1e-7)


def test_columns_of_very_different_scales_keep_their_own_slopes(rng):
    X = rng.normal(size=(12, 3))
    scales = np.array([1e-12, 1.0, 1e12])
    M = rng.normal(size=(12, 12))
    M += M.T
    plain = gradient(Gaussian([1.0, 2.0, 3.0]), as_rows(X), M)["width"]
    scaled = gradient(Gaussian(scales * [1.0, 2.0, 3.0]), as_rows(X * scales), M)["width"]
    np.testing.assert_allclose(scaled, plain, rtol=1e-9)


def test_slopes_change_neither_rows_nor_weights(rng):
    X, M = rng.normal(size=(6, 2)), np.ones((6, 6))
    X_before = X.copy()
    gradient((Gaussian([1.0, 2.0]) * Polynomial(2)).normalized(), as_rows(X), M)
    assert (X == X_before).all()
    assert (M == 1.0).all()
