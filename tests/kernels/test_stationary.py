"""Kernels of the difference x - z, against their formulas, scikit-learn and each other."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_strategies import stationary_kernels
from scipy import sparse
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise

import formulas
from formulas import expected, table, worst
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Periodic, RationalQuadratic, Stationary
from mercer.testing import check_kernel
from refusals import refusal, tells

ONE_WIDTH = [
    Gaussian(0.7),
    Gaussian(0.7, per_dimension=True),
    Laplacian(1.3),
    Matern(0.9, nu=0.5),
    Matern(0.9, nu=1.5),
    Matern(0.9, nu=2.5),
    RationalQuadratic(1.1, shape=0.6),
    Periodic(1.4, period=0.8),
]
EUCLIDEAN = [each for each in ONE_WIDTH if not isinstance(each, Laplacian | Periodic)]


def named(kernel):
    return repr(kernel)


@pytest.mark.parametrize("columns", [1, 2, 3, 50])
@pytest.mark.parametrize("kernel", ONE_WIDTH, ids=named)
class TestEveryStationaryKernel:
    def test_it_equals_its_formula_pair_by_pair(self, kernel, columns, rng):
        X, Z = rng.normal(size=(9, columns)), rng.normal(size=(7, columns))
        assert worst(kernel(X), expected(kernel, X)) < 1e-13
        assert worst(kernel(X, Z), expected(kernel, X, Z)) < 1e-13

    def test_it_equals_its_formula_with_a_width_per_column(self, kernel, columns, rng):
        X, Z = rng.normal(size=(9, columns)), rng.normal(size=(7, columns))
        wide = kernel.set_params(width=rng.uniform(0.5, 2.0, size=columns))
        assert worst(wide(X), expected(wide, X)) < 1e-13
        assert worst(wide(X, Z), expected(wide, X, Z)) < 1e-13

    def test_a_width_per_column_that_is_the_same_everywhere_is_that_width(self, kernel, columns, rng):
        X = rng.normal(size=(9, columns))
        assert worst(kernel.set_params(width=[kernel.width] * columns)(X), kernel(X)) < 1e-14

    def test_its_diagonal_is_exactly_one(self, kernel, columns, rng):
        X = 1e3 * rng.normal(size=(9, columns))
        assert (kernel(X).diagonal() == 1.0).all()
        assert (kernel.diag(X) == 1.0).all()

    def test_no_value_exceeds_one_or_is_negative(self, kernel, columns, rng):
        X = rng.normal(size=(9, columns))
        X[4] = X[2] * (1 + 1e-15)
        K = kernel(X, X)
        assert K.max() <= 1.0
        assert K.min() >= 0.0

    def test_rows_far_from_the_origin_lose_no_digits(self, kernel, columns, rng):
        X = 1e6 + rng.normal(size=(9, columns))
        X[5:] = X[:4] + 1e-4 * rng.normal(size=(4, columns))
        assert worst(kernel(X), expected(kernel, X)) < 1e-9
        assert worst(kernel(X[:4], X[4:]), expected(kernel, X[:4], X[4:])) < 1e-9

    @pytest.mark.parametrize("scale", [1e-12, 1e12])
    def test_rows_and_widths_in_other_units_give_the_same_values(self, kernel, columns, scale, rng):
        X = rng.normal(size=(9, columns))
        units = {"width": kernel.width * scale}
        if isinstance(kernel, Periodic):
            units = {"period": kernel.period * scale}
        assert worst(kernel.set_params(**units)(X * scale), kernel(X)) < 1e-9

    def test_duplicate_rows_are_as_similar_as_a_row_to_itself(self, kernel, columns, rng):
        X = rng.normal(size=(6, columns))
        assert np.abs(kernel(np.vstack([X, X])).reshape(2, 6, 2, 6).diagonal(axis1=1, axis2=3) - 1).max() < 1e-9

    def test_sparse_rows_give_what_dense_rows_give(self, kernel, columns, rng):
        X, Z = (rng.normal(size=(n, columns)) * (rng.uniform(size=(n, columns)) < 0.5) for n in (12, 8))
        assert worst(kernel(sparse.csr_array(X)), kernel(X)) < 1e-9
        for left, right in [
            (sparse.csr_matrix(X), sparse.csc_array(Z)),
            (sparse.coo_array(X), Z),
            (X, sparse.csr_array(Z)),
        ]:
            assert worst(kernel(left, right), kernel(X, Z)) < 1e-9

    def test_single_precision_keeps_six_digits(self, kernel, columns, rng):
        X = rng.normal(size=(12, columns))
        single = kernel(X, dtype=np.float32)
        assert single.dtype == np.float32
        assert worst(single, kernel(X)) < 1e-5

    def test_it_passes_the_exam(self, kernel, columns, rng):
        check_kernel(kernel, rng.normal(size=(20, columns)))


@given(data=st.data(), columns=st.integers(1, 4), rows=st.integers(1, 8), seed=st.integers(0, 2**32 - 1))
def test_any_stationary_kernel_equals_its_formula_on_any_rows(data, columns, rows, seed):
    kernel = data.draw(stationary_kernels(columns))
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) + data.draw(st.sampled_from([0.0, -5.0, 1e6]))
    X[rng.integers(rows)] = X[0]
    if data.draw(st.booleans()):
        X[:, 0] = 1.0
    assert worst(kernel(X), expected(kernel, X)) < 1e-9


# -- the three conventions for the width of a Gaussian ----------------------------------------------


def test_gaussian_divides_the_squared_distance_by_two_squared_widths(rng):
    X = rng.normal(size=(6, 5))
    squared = pairwise.euclidean_distances(X, squared=True)
    assert worst(Gaussian(1.7)(X), np.exp(-squared / (2 * 1.7**2))) < 1e-13


def test_gaussian_per_dimension_also_divides_by_the_number_of_columns(rng):
    X = rng.normal(size=(6, 5))
    squared = pairwise.euclidean_distances(X, squared=True)
    assert worst(Gaussian(1.7, per_dimension=True)(X), np.exp(-squared / (2 * 5 * 1.7**2))) < 1e-13


def test_gaussian_from_gamma_multiplies_the_squared_distance(rng):
    X = rng.normal(size=(6, 5))
    for gamma in (1.0, 0.3, 4.0):
        assert worst(Gaussian.from_gamma(gamma)(X), table(formulas.gaussian_gamma, X, gamma=gamma)) < 1e-13


def test_gaussian_from_a_gamma_per_column(rng):
    X = rng.normal(size=(6, 3))
    gamma = [1.0, 0.25, 3.0]
    assert worst(Gaussian.from_gamma(gamma)(X), table(formulas.gaussian_gamma, X, gamma=gamma)) < 1e-13


def test_gaussian_from_gamma_is_a_plain_gaussian_that_can_be_written_down():
    kernel = Gaussian.from_gamma(2.0)
    assert kernel == Gaussian(0.5)
    assert repr(kernel) == "Gaussian(width=0.5)"


def test_gaussian_per_dimension_counts_the_columns_chosen_and_not_those_there_are(rng):
    X = rng.normal(size=(6, 5))
    kernel = Gaussian(1.5, per_dimension=True)
    assert worst(kernel.on([0, 3])(X), kernel(X[:, [0, 3]])) < 1e-15


def test_gaussian_per_dimension_of_no_columns_is_one():
    assert (Gaussian(per_dimension=True)(np.empty((2, 0))) == 1.0).all()


# -- against scikit-learn ---------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [1, 2, 4])
def test_gaussian_and_laplacian_equal_scikit_learns_rbf_and_laplacian(columns, rng):
    X, Z = rng.normal(size=(8, columns)), rng.normal(size=(5, columns))
    for gamma in (0.2, 1.0, 3.0):
        assert worst(Gaussian.from_gamma(gamma)(X, Z), pairwise.rbf_kernel(X, Z, gamma=gamma)) < 1e-13
        assert worst(Laplacian(1 / gamma)(X, Z), pairwise.laplacian_kernel(X, Z, gamma=gamma)) < 1e-13


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
@pytest.mark.parametrize("width", [0.8, [0.5, 1.0, 2.0]])
def test_matern_equals_scikit_learns(nu, width, rng):
    X, Z = rng.normal(size=(8, 3)), rng.normal(size=(5, 3))
    theirs = gp.Matern(length_scale=width, nu=nu)
    assert worst(Matern(width, nu)(X, Z), theirs(X, Z)) < 1e-13
    assert worst(Matern(width, nu)(X), theirs(X)) < 1e-13


def test_rational_quadratic_equals_scikit_learns(rng):
    X, Z = rng.normal(size=(8, 3)), rng.normal(size=(5, 3))
    for shape in (0.1, 1.0, 20.0):
        theirs = gp.RationalQuadratic(length_scale=1.7, alpha=shape)
        assert worst(RationalQuadratic(1.7, shape)(X, Z), theirs(X, Z)) < 1e-13


def test_periodic_equals_scikit_learns_on_one_column(rng):
    X, Z = rng.normal(size=(8, 1)), rng.normal(size=(5, 1))
    for width, period in [(1.0, 1.0), (0.4, 3.0), (5.0, 0.2)]:
        theirs = gp.ExpSineSquared(length_scale=width, periodicity=period)
        assert worst(Periodic(width, period)(X, Z), theirs(X, Z)) < 1e-12


# -- identities -------------------------------------------------------------------------------------


def test_matern_one_half_is_the_laplacian_on_one_column(rng):
    X = rng.normal(size=(9, 1))
    assert worst(Matern(0.7, nu=0.5)(X), Laplacian(0.7)(X)) < 1e-14


@pytest.mark.parametrize(
    "kernel", [Gaussian([0.5, 1.0, 2.0]), Laplacian([0.5, 1.0, 2.0]), Periodic([0.5, 1.0, 2.0], 1.7)], ids=named
)
def test_gaussian_laplacian_and_periodic_are_products_over_columns(kernel, rng):
    X = rng.normal(size=(9, 3))
    one, two, three = (kernel.set_params(width=w).on(j) for j, w in enumerate(kernel.width))
    assert worst((one * two * three)(X), kernel(X)) < 1e-13


def test_rational_quadratic_of_large_shape_is_the_gaussian(rng):
    X = rng.normal(size=(9, 3))
    assert worst(RationalQuadratic(0.8, shape=1e9)(X), Gaussian(0.8)(X)) < 1e-8


def test_periodic_repeats_after_every_period(rng):
    X = rng.normal(size=(6, 2))
    kernel = Periodic(width=0.7, period=0.25)
    assert worst(kernel(X + 0.25 * rng.integers(-4000, 4000, size=X.shape), X), kernel(X)) < 1e-9


def test_the_more_derivatives_the_closer_matern_is_to_the_gaussian(rng):
    X = rng.normal(size=(9, 2))
    gaps = [np.abs(Matern(1.0, nu)(X) - Gaussian(1.0)(X)).max() for nu in (0.5, 1.5, 2.5)]
    assert gaps == sorted(gaps, reverse=True)


# -- adversaries: rows that are near each other but far from the rest --------------------------------


@pytest.mark.parametrize("kernel", EUCLIDEAN, ids=named)
@pytest.mark.parametrize("columns", [1, 3])
def test_one_row_far_away_does_not_spoil_the_others(kernel, columns, rng):
    X = rng.normal(size=(20, columns))
    X[0] = 1e7
    assert worst(kernel(X), expected(kernel, X)) < 1e-9


@pytest.mark.parametrize("kernel", EUCLIDEAN, ids=named)
@pytest.mark.parametrize("columns", [1, 3])
def test_two_clusters_far_apart_keep_their_digits(kernel, columns, rng):
    X = rng.normal(size=(20, columns))
    X[10:] += 1e6
    assert worst(kernel(X), expected(kernel, X)) < 1e-9


@pytest.mark.parametrize("kernel", EUCLIDEAN, ids=named)
@pytest.mark.parametrize("scale", [1e6, 1e12])
def test_a_row_is_like_itself_however_small_the_width_is(kernel, scale, rng):
    X = scale * rng.normal(size=(20, 5))
    assert np.abs(kernel(X, X).diagonal() - 1.0).max() < 1e-9
    assert np.abs(kernel(X[:3], X[[0, 0, 0, 1, 2]])[0, :3] - 1.0).max() < 1e-9


@pytest.mark.parametrize("kernel", [Gaussian(0.01), Matern(0.01, nu=0.5), Laplacian(0.01)], ids=named)
@pytest.mark.parametrize("columns", [1, 3, 10])
def test_short_distances_far_from_the_origin_are_right_in_units_of_a_small_width(kernel, columns, rng):
    X = 1e6 + rng.uniform(0.0, 0.05, size=(15, columns))
    assert worst(kernel(X), expected(kernel, X)) < 1e-9


@pytest.mark.parametrize("kernel", EUCLIDEAN, ids=named)
def test_members_of_a_sum_share_a_distance_that_is_as_good(kernel, rng):
    X = rng.normal(size=(20, 4)) + 1e6
    both = kernel + 2.0 * kernel.set_params(width=0.3)
    assert worst(both(X), expected(both, X)) < 1e-9


@pytest.mark.parametrize("kernel", EUCLIDEAN, ids=named)
def test_sparse_rows_that_are_near_each_other_keep_their_digits(kernel, rng):
    X = 1e4 * rng.normal(size=(12, 6)) * (rng.uniform(size=(12, 6)) < 0.5)
    X[6:] = X[:6]
    X[6:, 0] += 0.25
    X[11] = X[10]
    assert worst(kernel(sparse.csr_array(X)), expected(kernel, X)) < 1e-9


@pytest.mark.parametrize("kernel", ONE_WIDTH, ids=named)
def test_single_precision_far_from_the_origin_keeps_six_digits(kernel, rng):
    X = 1e6 + rng.normal(size=(12, 4))
    assert worst(kernel(X, dtype=np.float32), kernel(X)) < 1e-5


@pytest.mark.parametrize(
    "kernel", [Gaussian(), Matern(nu=0.5), Matern(nu=1.5), Laplacian(), RationalQuadratic()], ids=named
)
def test_single_precision_of_near_rows_among_far_ones_keeps_four_digits(kernel, rng):
    X = 30.0 * rng.normal(size=(100, 4))
    X[50:] = X[:50] + 0.1 * rng.normal(size=(50, 4))
    assert worst(kernel(X, dtype=np.float32), kernel(X)) < 1e-4


@pytest.mark.parametrize("kernel", ONE_WIDTH, ids=named)
@pytest.mark.parametrize("columns", [2, 3])
def test_rows_whose_squares_overflow_are_never_answered_with_nan(kernel, columns, rng):
    X = 1e160 * rng.normal(size=(4, columns))
    try:
        K = kernel(X)
    except ValueError as problem:
        assert "finite" in str(problem)  # noqa: PT017 - either a sentence or the right values
    else:
        assert np.isfinite(K).all()
        assert (K.diagonal() == 1.0).all()


@pytest.mark.parametrize(("family", "name"), [(RationalQuadratic, "shape"), (Periodic, "period")])
def test_parameters_whose_inverse_overflows_are_refused(family, name):
    assert tells(refusal(family, **{name: 1e-320}), f"{name} of {family.__name__}", "got 1e-320")


# -- parameters -------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", [Gaussian, Laplacian, Matern, RationalQuadratic, Periodic])
@pytest.mark.parametrize(
    "width", [0, -1.0, math.nan, math.inf, 1e-200, 1e200, None, "wide", [], [1.0, -1.0], [[1.0, 2.0]], [1.0, None], 1j]
)
def test_a_width_that_is_none_is_refused_in_one_sentence(family, width):
    assert tells(refusal(family, width), f"width of {family.__name__}", f"got {width!r}")


def test_a_wrong_number_of_widths_is_refused_when_rows_are_seen(rng):
    said = refusal(Gaussian([1.0, 2.0]), rng.normal(size=(4, 3)))
    assert tells(said, "width of Gaussian", "got 2 numbers")
    assert refusal(Gaussian([1.0, 2.0]).diag, rng.normal(size=(4, 3))) == said


@pytest.mark.parametrize("nu", [2, 1.0, 0, -0.5, math.inf, math.nan, "1.5", None, [0.5]])
def test_matern_knows_three_smoothnesses(nu):
    assert tells(refusal(Matern, nu=nu), "nu of Matern", f"got {nu!r}")


def test_matern_refuses_an_array_of_smoothnesses_in_the_same_sentence():
    assert refusal(Matern, nu=np.array([0.5, 1.5])).startswith("nu of Matern must be 0.5, 1.5 or 2.5; got array")


@pytest.mark.parametrize("nu", [np.float64(1.5), np.float32(2.5)])
def test_matern_takes_numpys_numbers(nu, rng):
    X = rng.normal(size=(4, 2))
    assert (Matern(nu=nu)(X) == Matern(nu=float(nu))(X)).all()


@pytest.mark.parametrize("value", [0, 0.0, -1.0, math.inf, math.nan, "a", None, True, [1.0]])
@pytest.mark.parametrize(("family", "name"), [(RationalQuadratic, "shape"), (Periodic, "period")])
def test_shape_and_period_must_be_above_zero(family, name, value):
    assert tells(refusal(family, **{name: value}), f"{name} of {family.__name__}", f"got {value!r}")


def test_a_gamma_that_is_none_is_refused_by_its_own_name():
    assert tells(refusal(Gaussian.from_gamma, -1.0), "gamma of Gaussian", "got -1.0")


@pytest.mark.parametrize("value", [2.0, "no", None, 1])
def test_per_dimension_must_be_true_or_false(value):
    assert "per_dimension of Gaussian must be " in refusal(Gaussian, 1.0, value)


@pytest.mark.parametrize("width", ["2", True, ["1", "2"]])
def test_a_width_that_is_text_or_a_truth_value_is_no_number(width):
    assert tells(refusal(Gaussian, width), "width of Gaussian", f"got {width!r}")


@pytest.mark.parametrize("kernel", ONE_WIDTH, ids=named)
def test_a_stationary_kernel_has_no_finite_features(kernel, rng):
    X = rng.normal(size=(3, 2))
    assert kernel.feature_count(2) is None
    assert tells(refusal(kernel.feature_map, X), repr(kernel))


@pytest.mark.parametrize("kernel", ONE_WIDTH, ids=named)
def test_text_is_refused_with_the_way_out(kernel):
    name = type(kernel).__name__
    assert tells(refusal(kernel, ["hello", "hallo"]), name, "'hello'")
    assert tells(refusal(kernel, [["a", 1.0], ["b", 2.0]]), name)


def test_a_stationary_kernel_of_ones_own_is_its_profile(rng):
    class Cauchy(Stationary):
        def block(self, pair):
            return 1.0 / (1.0 + pair.squared_distance(self.inverse(pair.x.width)))

    X = rng.normal(size=(6, 3))
    wide = [0.5, 1.0, 2.0]
    assert worst(Cauchy(wide)(X), table(lambda x, z: 1 / (1 + formulas.squared_distance(x, z, wide)), X)) < 1e-13
    assert tells(refusal(Cauchy, -1.0), "width of Cauchy", "got -1.0")
    assert worst((Cauchy(wide) + Linear())(X), Cauchy(wide)(X) + X @ X.T) < 1e-13
