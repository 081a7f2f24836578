"""Kernels of the scalar product and other plain similarities, against formulas, features and scikit-learn."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_strategies import tables
from scipy import sparse
from sklearn.metrics import pairwise

import formulas
from formulas import expected, table, worst
from mercer.kernels import (
    AdditiveChi2,
    Chi2,
    Constant,
    Cosine,
    Linear,
    Polynomial,
    Sigmoid,
    SquaredDistance,
)
from mercer.testing import check_kernel
from refusals import refusal, tells

EVERY = [
    Linear(),
    Polynomial(),
    Polynomial(degree=1, offset=0.0, scale=0.5),
    Polynomial(degree=3, offset=0.0),
    Polynomial(degree=5, offset=0.5, scale=2.0),
    Polynomial(degree=7, offset=2, scale=1),
    Cosine(),
    Constant(),
    Constant(0),
    Constant(2.5),
    AdditiveChi2(),
    Chi2(),
    Chi2(gamma=0.3),
    Sigmoid(),
    Sigmoid(scale=0.2, offset=-1.0),
    SquaredDistance(),
]
FINITE = [k for k in EVERY if isinstance(k, Linear | Polynomial | Cosine | Constant)]


def named(kernel):
    return repr(kernel)


@pytest.mark.parametrize("columns", [1, 2, 3, 50])
@pytest.mark.parametrize("kernel", EVERY, ids=named)
class TestEveryKernel:
    def test_it_equals_its_formula_pair_by_pair(self, kernel, columns, rng):
        X, Z = rng.exponential(size=(9, columns)), rng.exponential(size=(7, columns))
        assert worst(kernel(X), expected(kernel, X)) < 1e-12
        assert worst(kernel(X, Z), expected(kernel, X, Z)) < 1e-12

    def test_its_diagonal_needs_no_matrix(self, kernel, columns, rng):
        X = rng.exponential(size=(9, columns))
        X[3] = 0.0
        assert worst(kernel.diag(X), expected(kernel, X).diagonal()) < 1e-12

    @pytest.mark.slow
    def test_sparse_rows_give_what_dense_rows_give(self, kernel, columns, rng):
        X, Z = (rng.exponential(size=(n, columns)) * (rng.uniform(size=(n, columns)) < 0.5) for n in (12, 8))
        assert worst(kernel(sparse.csr_array(X)), kernel(X)) < 1e-12
        assert worst(kernel.diag(sparse.csr_array(X)), kernel.diag(X)) < 1e-12
        for left, right in [
            (sparse.csr_matrix(X), sparse.csc_array(Z)),
            (sparse.coo_array(X), Z),
            (X, sparse.csr_array(Z)),
        ]:
            assert worst(kernel(left, right), kernel(X, Z)) < 1e-12

    def test_single_precision_keeps_six_digits(self, kernel, columns, rng):
        X = rng.exponential(size=(12, columns))
        single = kernel(X, dtype=np.float32)
        assert single.dtype == np.float32
        assert worst(single, kernel(X)) < 1e-5

    def test_it_passes_the_exam(self, kernel, columns, rng):
        X = rng.exponential(size=(20, columns))
        check_kernel(kernel, X if columns < 50 or kernel not in FINITE else X[:, :4])


@given(kernel=st.sampled_from(EVERY), X=tables(columns=st.integers(1, 4)))
def test_any_kernel_equals_its_formula_on_any_rows(kernel, X):
    assert worst(kernel(X), expected(kernel, X)) < 1e-12


@pytest.mark.parametrize("scale", [1e-12, 1e12])
@pytest.mark.parametrize(
    "kernel", [Linear(), Cosine(), Polynomial(3, 0.0), SquaredDistance(), AdditiveChi2()], ids=named
)
def test_rows_in_other_units_give_what_the_formula_gives(kernel, scale, rng):
    X = scale * rng.exponential(size=(9, 3))
    right = expected(kernel, X)
    assert np.abs(kernel(X) - right).max() <= 1e-12 * np.abs(right).max()


# -- against scikit-learn ---------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [1, 3, 20])
def test_dot_product_kernels_equal_scikit_learns(columns, rng):
    X, Z = rng.normal(size=(8, columns)), rng.normal(size=(5, columns))
    X[2] = 0.0
    assert worst(Linear()(X, Z), pairwise.linear_kernel(X, Z)) < 1e-13
    assert worst(Cosine()(X, Z), pairwise.cosine_similarity(X, Z)) < 1e-13
    ours = Polynomial(degree=3, offset=0.7, scale=0.4)(X, Z)
    assert worst(ours, pairwise.polynomial_kernel(X, Z, degree=3, gamma=0.4, coef0=0.7)) < 1e-13
    assert worst(Sigmoid(0.3, -0.2)(X, Z), pairwise.sigmoid_kernel(X, Z, gamma=0.3, coef0=-0.2)) < 1e-13
    assert worst(SquaredDistance()(X, Z), pairwise.euclidean_distances(X, Z, squared=True)) < 1e-13


@pytest.mark.parametrize("columns", [1, 3, 20])
def test_chi_squared_kernels_equal_scikit_learns(columns, rng):
    X, Z = rng.exponential(size=(8, columns)), rng.exponential(size=(5, columns))
    X[2] = 0.0
    Z[1, 0] = 0.0
    assert worst(AdditiveChi2()(X, Z), pairwise.additive_chi2_kernel(X, Z)) < 1e-13
    assert worst(Chi2(0.7)(X, Z), pairwise.chi2_kernel(X, Z, gamma=0.7)) < 1e-13


# -- the seeds' own numbers -------------------------------------------------------------------------


def test_the_square_of_the_scalar_product_in_two_dimensions_has_three_features(rng):
    X = rng.normal(size=(6, 2))
    phi = np.column_stack([X[:, 0] ** 2, math.sqrt(2) * X[:, 0] * X[:, 1], X[:, 1] ** 2])
    kernel = Polynomial(degree=2, offset=0.0)
    assert worst(kernel.feature_map(X), phi) < 1e-15
    assert worst(kernel(X), phi @ phi.T) < 1e-14
    assert worst(kernel(X), (X @ X.T) ** 2) < 1e-14


def test_the_quadratic_kernel_in_three_dimensions_has_ten_features(rng):
    X = rng.normal(size=(6, 3))
    a, b, c = X.T
    root = math.sqrt(2)
    phi = np.column_stack(
        [np.ones(6), root * a, root * b, root * c, a**2, root * a * b, root * a * c, b**2, root * b * c, c**2]
    )
    kernel = Polynomial(degree=2)
    assert kernel.feature_count(3) == 10
    assert worst(kernel.feature_map(X), phi) < 1e-15
    assert worst(kernel(X), (X @ X.T + 1) ** 2) < 1e-14


def test_the_homogeneous_quadratic_in_three_dimensions_has_six_features(rng):
    X = rng.normal(size=(6, 3))
    kernel = Polynomial(degree=2, offset=0.0)
    assert kernel.feature_count(3) == 6
    assert worst(kernel.feature_map(X) @ kernel.feature_map(X).T, (X @ X.T) ** 2) < 1e-14


def test_the_square_of_x_times_z_on_one_column_is_the_product_of_squares(rng):
    X = rng.normal(size=(6, 1))
    kernel = Polynomial(degree=2, offset=0.0)
    assert worst(kernel(X), np.outer(X**2, X**2)) < 1e-14
    assert worst(kernel.feature_map(X), X**2) < 1e-15


# -- explicit features ------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [1, 2, 4])
@pytest.mark.parametrize("kernel", FINITE, ids=named)
def test_scalar_products_of_features_are_the_kernel(kernel, columns, rng):
    X, Z = rng.normal(size=(6, columns)), rng.normal(size=(4, columns))
    X[1] = 0.0
    left, right = kernel.feature_map(X), kernel.feature_map(Z)
    assert left.shape == (6, kernel.feature_count(columns))
    assert worst(left @ right.T, kernel(X, Z)) < 1e-12
    assert worst(kernel.feature_map(sparse.csr_array(X)), left) < 1e-15


def test_the_number_of_monomials_is_the_binomial_number():
    assert Polynomial(degree=3).feature_count(5) == math.comb(8, 3)
    assert Polynomial(degree=3, offset=0).feature_count(5) == math.comb(7, 3)


@pytest.mark.parametrize("kernel", [AdditiveChi2(), Chi2(), Sigmoid(), SquaredDistance()], ids=named)
def test_the_others_have_no_finite_features(kernel, rng):
    assert kernel.feature_count(3) is None
    assert tells(refusal(kernel.feature_map, rng.exponential(size=(2, 3))), repr(kernel))


# -- manners and adversaries ------------------------------------------------------------------------


def test_the_cosine_of_a_zero_row_is_zero():
    K = Cosine()([[0.0, 0.0], [3.0, 4.0]])
    assert K.tolist() == [[0.0, 0.0], [0.0, 1.0]]
    assert Cosine().diag([[0.0, 0.0], [3.0, 4.0]]).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("scale", [1e-170, 1e170])
def test_the_cosine_does_not_depend_on_lengths_however_extreme(scale, rng):
    X = rng.normal(size=(5, 3))
    assert worst(Cosine()(scale * X), Cosine()(X)) < 1e-12
    assert worst(Cosine().diag(scale * X), np.ones(5)) < 1e-12


def test_chi_squared_of_two_zero_rows_is_one():
    assert Chi2()(np.zeros((2, 3))).tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_squared_distances_far_from_the_origin_lose_no_digits(rng):
    X = 1e6 + rng.normal(size=(9, 5))
    assert worst(SquaredDistance()(X), table(formulas.squared_distance, X)) < 1e-9


@pytest.mark.parametrize("kernel", [AdditiveChi2(), Chi2()], ids=named)
def test_histograms_must_not_be_negative(kernel):
    said = f"Negative values in data: X for {type(kernel).__name__} must be non-negative; got -0.5."
    X = [[1.0, 2.0], [-0.5, 1.0]]
    assert refusal(kernel, X) == said
    assert refusal(kernel, [[1.0, 2.0]], X) == said
    assert refusal(kernel, sparse.csr_array(X)) == said
    assert refusal(kernel.diag, X) == said
    assert refusal(kernel + Linear(), X) == said


@pytest.mark.parametrize(
    ("kernel", "X"),
    [
        (Linear(), np.full((3, 3), 1e200)),
        (Polynomial(degree=200), np.full((3, 3), 1e3)),
        (Linear().exp(), np.full((3, 3), 100.0)),
        (Linear() ** 100, np.full((3, 3), 1e3)),
        (SquaredDistance(), np.diag([1e200, 1e200, 1e200])),
    ],
    ids=lambda value: repr(value) if not isinstance(value, np.ndarray) else "",
)
def test_values_beyond_floating_point_are_refused_in_a_sentence(kernel, X):
    assert tells(refusal(kernel, X), f"Every value of {kernel!r}", "got NaN or infinity")


# -- parameters -------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", [-1, 1.5, 2.0, True, "2", None, math.nan])
def test_a_degree_is_a_whole_number_that_is_not_negative(degree):
    assert tells(refusal(Polynomial, degree=degree), "degree of Polynomial", f"got {degree!r}")


@pytest.mark.parametrize("value", [-1, -1e-9, math.inf, math.nan, True, "1", None, [1.0]])
@pytest.mark.parametrize(("family", "name"), [(Polynomial, "offset"), (Polynomial, "scale"), (Constant, "value")])
def test_offset_scale_and_value_must_not_be_negative(family, name, value):
    assert tells(refusal(family, **{name: value}), f"{name} of {family.__name__}", f"got {value!r}")


@pytest.mark.parametrize("value", [0, -1.0, math.inf, math.nan, True, "1", None])
def test_the_gamma_of_chi_squared_must_be_above_zero(value):
    assert tells(refusal(Chi2, gamma=value), "gamma of Chi2", f"got {value!r}")


@pytest.mark.parametrize("value", [math.inf, math.nan, True, "1", None])
@pytest.mark.parametrize("name", ["scale", "offset"])
def test_the_parameters_of_the_sigmoid_must_be_numbers(name, value):
    assert tells(refusal(Sigmoid, **{name: value}), f"{name} of Sigmoid", f"got {value!r}")


def test_a_whole_number_too_large_for_floating_point_is_refused_in_a_sentence():
    assert refusal(Constant, 10**400).startswith("value of Constant must be a finite number of at least 0; got 1000")


@pytest.mark.parametrize(
    ("exact", "rounded"),
    [
        (Constant(Fraction(1, 4)), Constant(0.25)),
        (Polynomial(2, Fraction(1, 4), Fraction(1, 2)), Polynomial(2, 0.25, 0.5)),
        (Sigmoid(Fraction(1, 4), Fraction(1, 2)), Sigmoid(0.25, 0.5)),
        (Fraction(1, 4) * Linear(), 0.25 * Linear()),
    ],
    ids=lambda kernel: type(kernel).__name__,
)
def test_a_fraction_is_a_number_like_any_other(exact, rounded, rng):
    X = rng.normal(size=(3, 2))
    assert (exact(X) == rounded(X)).all()
    assert exact == rounded


@pytest.mark.parametrize("one", [1, 1.0, np.int64(1), np.float32(1), np.float64(1)])
def test_numbers_of_every_make_are_taken(one, rng):
    X = rng.normal(size=(3, 2))
    assert (Polynomial(np.int64(2), one, one)(X) == Polynomial(2, 1.0, 1.0)(X)).all()
    assert Polynomial(np.int64(2), one, one) == Polynomial(2, 1.0, 1.0)
    assert hash(Constant(one)) == hash(Constant(1.0))


@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_a_polynomial_of_degree_zero_is_the_constant_one(offset, rng):
    X, kernel = rng.normal(size=(5, 2)), Polynomial(0, offset=offset)
    X[0] = 0.0
    for values in (kernel(X), kernel(X, X[:2]), kernel.diag(X), kernel.feature_map(X)):
        assert (values == 1.0).all()
    assert kernel.feature_names(X) == ["1"]
    assert kernel.certificate().valid
