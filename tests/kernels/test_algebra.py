"""New kernels from old ones: each rule as an identity, by formula and by features."""

import math

import numpy as np
import pytest
from algebra_cases import LEFT, RIGHT, left_rows, right_rows
from hypothesis import given
from hypothesis import strategies as st
from kernel_strategies import composed_kernels, tables
from scipy import sparse

from formulas import expected, worst
from mercer.kernels import (
    Chi2,
    Constant,
    Cosine,
    Exp,
    Gaussian,
    Laplacian,
    Linear,
    Mapped,
    Matern,
    Normalized,
    On,
    Periodic,
    Polynomial,
    Power,
    Product,
    RationalQuadratic,
    Scaled,
    Sigmoid,
    SquaredDistance,
    Sum,
)
from mercer.testing import check_kernel
from refusals import refusal, tells


@pytest.fixture
def X(rng):
    return left_rows(rng)


@pytest.fixture
def Z(rng):
    return right_rows(rng)


# -- identities -------------------------------------------------------------------------------------


def test_a_sum_adds_values(X, Z):
    assert worst((LEFT + RIGHT)(X, Z), LEFT(X, Z) + RIGHT(X, Z)) < 1e-14
    assert worst((LEFT + RIGHT).diag(X), LEFT.diag(X) + RIGHT.diag(X)) < 1e-14


def test_a_product_multiplies_values(X, Z):
    assert worst((LEFT * RIGHT)(X, Z), LEFT(X, Z) * RIGHT(X, Z)) < 1e-14
    assert worst((LEFT * RIGHT).diag(X), LEFT.diag(X) * RIGHT.diag(X)) < 1e-14


@pytest.mark.parametrize("factor", [0, 0.0, 1, 2.5, np.float32(0.5), np.int64(3)])
def test_a_factor_scales_values_from_either_side(factor, X, Z):
    assert worst((factor * RIGHT)(X, Z), float(factor) * RIGHT(X, Z)) < 1e-14
    assert factor * RIGHT == RIGHT * factor == Scaled(RIGHT, float(factor))
    assert worst((factor * RIGHT).diag(X), float(factor) * RIGHT.diag(X)) < 1e-14


@pytest.mark.parametrize("exponent", [1, 2, 3, 4, 5, 6, 7, 8, 13])
def test_a_power_is_a_product_of_copies(exponent, X, Z):
    kernel = 0.3 * RIGHT + LEFT
    assert worst((kernel**exponent)(X, Z), kernel(X, Z) ** exponent) < 1e-12
    assert worst((kernel**exponent).diag(X), kernel.diag(X) ** exponent) < 1e-12


def test_exp_is_the_exponential_of_values(X, Z):
    kernel = 0.2 * Linear() + LEFT
    assert worst(kernel.exp()(X, Z), np.exp(kernel(X, Z))) < 1e-14
    assert worst(kernel.exp().diag(X), np.exp(kernel.diag(X))) < 1e-14


def test_the_normalized_exponential_of_the_scalar_product_is_the_gaussian(X, Z):
    assert worst(Linear().exp().normalized()(X, Z), Gaussian()(X, Z)) < 1e-12


def test_normalized_refuses_a_negative_length(X):
    kernel = Sigmoid(scale=0.0, offset=-1.0)
    assert tells(refusal(kernel.normalized(), X), f"k(x, x) of {kernel!r}", f"got {math.tanh(-1.0)}")


def test_python_sums_kernels(X):
    terms = [Gaussian().on(0), Laplacian().on(1), Linear()]
    assert sum(terms) == terms[0] + terms[1] + terms[2]
    assert worst(sum(terms)(X), sum(each(X) for each in terms)) < 1e-14


def test_adding_a_number_adds_a_constant_kernel(X):
    assert RIGHT + 1.0 == Sum(RIGHT, Constant(1.0))
    assert 1.0 + RIGHT == Sum(Constant(1.0), RIGHT)
    assert worst((LEFT + 1.5)(X), LEFT(X) + 1.5) < 1e-14
    assert np.float64(2.0) + LEFT == Constant(2.0) + LEFT


def test_adding_nothing_changes_nothing():
    assert LEFT + 0 is LEFT
    assert 0 + LEFT is LEFT
    assert LEFT + 0.0 is LEFT


def test_adding_a_negative_number_is_refused():
    assert tells(refusal(lambda: LEFT + -1), "value of Constant", "got -1")
    assert tells(refusal(lambda: math.nan + LEFT), "value of Constant", "got nan")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda k: k + "a",
        lambda k: "a" + k,
        lambda k: k * "a",
        lambda k: k * None,
        lambda k: k + True,
        lambda k: True * k,
        lambda k: k - 1,
        lambda k: k - k,
        lambda k: k / 2,
        lambda k: -k,
        lambda k: 2**k,
        lambda k: k @ k,
        lambda k: k + {k},
    ],
)
def test_what_is_no_rule_of_the_algebra_is_a_type_error(wrong):
    with pytest.raises(TypeError):
        wrong(LEFT)


@pytest.mark.parametrize(
    "wrong", [lambda k: np.array([1.0, 2.0]) * k, lambda k: k * np.array([1.0, 2.0]), lambda k: np.ones(2) + k]
)
def test_an_array_of_factors_makes_no_array_of_kernels(wrong):
    with pytest.raises(TypeError):
        wrong(LEFT)


def test_operators_build_the_named_rules():
    assert LEFT + RIGHT == Sum(LEFT, RIGHT)
    assert LEFT * RIGHT == Product(LEFT, RIGHT)
    assert LEFT**3 == Power(LEFT, 3)
    assert LEFT.exp() == Exp(LEFT)
    assert LEFT.on([0]) == On(LEFT, [0])
    assert LEFT.map(np.abs) == Mapped(LEFT, np.abs)
    assert LEFT.normalized() == Normalized(LEFT)


@pytest.mark.slow
@given(kernel=composed_kernels(), X=tables())
def test_any_composed_kernel_equals_its_definition_pair_by_pair(kernel, X):
    right = expected(kernel, X)
    assert worst(kernel(X), right) < 1e-9
    assert worst(kernel(X, X[::-1]), right[:, ::-1]) < 1e-9
    assert worst(kernel.diag(X), right.diagonal()) < 1e-9


@given(kernel=composed_kernels(depth=2), X=tables(rows=st.integers(2, 12)))
@pytest.mark.slow
def test_any_composed_kernel_passes_the_exam(kernel, X):
    check_kernel(kernel, X)


@given(kernel=composed_kernels(depth=2), X=tables(rows=st.integers(2, 12)))
def test_any_composed_kernel_takes_sparse_rows(kernel, X):
    assert kernel.takes_sparse
    assert worst(kernel(sparse.csr_array(X)), kernel(X)) < 1e-7  # distances of sparse rows have their own test


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian() + Gaussian(2.0) + Matern(0.5) + Matern(0.7, nu=0.5) + RationalQuadratic(),
        Laplacian() * Laplacian(2.0) + Laplacian([1.0, 2.0, 3.0]),
        Gaussian([1.0, 2.0, 3.0]) * Gaussian([1.0, 2.0, 3.0]) + Gaussian([3.0, 2.0, 1.0]),
        Linear() + Linear() ** 2 + Polynomial(3) + Cosine(),
        Periodic().on(0) * Periodic(2.0).on(0) + Periodic(period=2.0).on(0),
        Gaussian().on(0) + Gaussian().on([0, 1]) + Gaussian().on(0) * Linear().on(1),
        Chi2().on([0, 1]) + Chi2(2.0).on([0, 1]) * Gaussian(),
    ],
    ids=repr,
)
def test_members_that_share_distances_do_not_disturb_one_another(kernel, rng):
    X = rng.exponential(size=(9, 3))
    assert worst(kernel(X), expected(kernel, X)) < 1e-12
    assert worst(kernel(X, dtype=np.float32), expected(kernel, X)) < 1e-5
    check_kernel(kernel, X)


def test_squared_distance_is_made_of_scalar_products(X):
    # ||x - z||^2 = x'x - 2 x'z + z'z
    squares = (X**2).sum(axis=1)
    assert worst(SquaredDistance()(X), squares[:, None] - 2 * Linear()(X) + squares) < 1e-13


# -- zero rows --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel",
    [
        LEFT + RIGHT,
        LEFT * RIGHT,
        2.0 * LEFT,
        RIGHT**3,
        LEFT.exp(),
        LEFT.map(np.abs),
        LEFT.on([0, 1]),
        RIGHT.normalized(),
    ],
    ids=repr,
)
def test_no_rows_give_an_empty_matrix(kernel, X):
    none = np.empty((0, 3))
    assert kernel(none).shape == (0, 0)
    assert kernel(none, X).shape == (0, 9)
    assert kernel(X, none).shape == (9, 0)
    assert kernel.diag(none).shape == (0,)


@pytest.mark.slow
def test_a_sum_over_hundreds_of_columns_is_as_good_as_one_of_two():
    X = np.random.default_rng(0).normal(size=(4, 700))
    long = sum(Gaussian(1.0 + j).on([j]) for j in range(700))
    np.testing.assert_allclose(long(X), sum(Gaussian(1.0 + j)(X[:, [j]]) for j in range(700)), rtol=1e-12)
    np.testing.assert_allclose(long.diag(X), np.full(4, 700.0))
    assert long == sum(Gaussian(1.0 + j).on([j]) for j in range(700))
    assert hash(long) != hash(long + Linear())
    assert repr(long).count(" + ") == 699
    assert len(long.certificate().parts) == 700
    assert long.certificate().valid


def test_brackets_on_the_right_stay_and_make_another_kernel():
    left, right = (Linear() + Cosine()) + Constant(), Linear() + (Cosine() + Constant())
    assert left != right
    assert repr(right) == "Linear() + (Cosine() + Constant(value=1.0))"
    assert [part.kernel for part in left.certificate().parts] == [Linear(), Cosine(), Constant()]
