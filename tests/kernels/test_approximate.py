"""Approximate features stay within their bounds, share their frequencies, and say when they cannot be had."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import gammainc

from formulas import worst
from mercer.errors import MemoryRefusal
from mercer.kernels import (
    Constant,
    Cosine,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Stationary,
    Words,
)
from refusals import refusal, tells
from views import read_only

STATIONARY = [
    Gaussian(0.8),
    Gaussian([0.5, 1.0, 2.0]),
    Gaussian([0.5, 1.0, 2.0], per_dimension=True),
    Laplacian(1.5),
    Laplacian([0.5, 1.0, 4.0]),
    Matern(nu=0.5),
    Matern([0.5, 1.0, 2.0], nu=1.5),
    Matern(2.0, nu=2.5),
    RationalQuadratic(shape=0.5),
    RationalQuadratic([0.5, 1.0, 2.0], shape=3.0),
]
COMPOSED = [
    Gaussian() * Laplacian(2.0),
    2.5 * Matern() * (0.5 * Gaussian(2.0)),
    Gaussian().on([0, 2]) * Laplacian().on(1),
    Matern().on([2, 2]),
    Gaussian(2.0) ** 3,
    Gaussian() + 0.3 * Laplacian(),
    Gaussian() + Linear(),
    Polynomial(2) * Gaussian(),
    Gaussian() * Linear() + Gaussian() * Matern(),
    Linear() * Gaussian() * Laplacian(),
    Linear() * Gaussian() * Cosine(),
    3.0 * (Gaussian().map(np.tanh) + Cosine()) * Constant(0.5),
    0.0 * Gaussian(),
]


def gaps(kernel, left, right, X, Z):
    return np.abs(left @ right.T - kernel(X, Z))


# -- the power series of the Gaussian on one column -----------------------------------------------------


def test_the_series_of_the_lecture_term_by_term():
    """exp(-(x - z)^2) has the features exp(-x^2) sqrt(2^k / k!) x^k."""
    x = np.array([-1.2, 0.0, 0.3, 2.0])
    found = Gaussian.from_gamma(1.0).approximate_features(x[:, None], count=12)
    expected = [[math.exp(-a * a) * math.sqrt(2**k / math.factorial(k)) * a**k for k in range(12)] for a in x]
    assert found.method == "taylor"
    assert worst(found.features, np.array(expected)) < 1e-14


@given(st.integers(1, 60), st.floats(0.05, 5.0), st.floats(0.2, 3.0), st.integers(0, 2**16))
def test_the_bound_of_the_series_holds_and_is_attained(count, radius, width, seed):
    X = np.random.default_rng(seed).uniform(-radius, radius, size=(20, 1))
    kernel = Gaussian(width)
    found = kernel.approximate_features(X, count)
    gap = gaps(kernel, found.features, found.features, X, X)
    assert gap.max() <= found.bound
    tail = gammainc(count, (X**2).max() / width**2)
    assert gap.max() >= tail * (1 - 1e-6) - 1e-11  # at x = z, the longest
    assert found.bound == pytest.approx(tail, abs=1e-11 * max(1, (radius / width) ** 2))
    assert found.probability == 1
    assert found.pair_bound == found.bound
    assert (found.deviation() == 0).all()


def test_enough_terms_give_the_kernel_to_rounding(rng):
    X = rng.normal(size=(30, 1))
    found = Gaussian().approximate_features(X, count=60)
    assert found.bound < 1e-12
    assert gaps(Gaussian(), found.features, found.features, X, X).max() < 1e-14


def test_far_from_zero_the_series_needs_many_terms_but_does_not_vanish():
    """exp(-u^2 / 2) is below the smallest number there is, its product with u^j is not."""
    X = np.array([[45.0], [45.5]])
    found = Gaussian().approximate_features(X, count=2500)
    assert found.bound < 1e-8
    assert gaps(Gaussian(), found.features, found.features, X, X).max() < found.bound


def test_the_bound_for_new_rows_covers_old_and_new(rng):
    X, Z = rng.uniform(-1, 1, size=(10, 1)), rng.uniform(-3, 3, size=(12, 1))
    found = Gaussian().approximate_features(X, count=15)
    new = found.of(Z)
    assert new.bound == pytest.approx(gammainc(15, (Z**2).max()))
    assert gaps(Gaussian(), found.features, new.features, X, Z).max() <= new.bound
    assert gaps(Gaussian(), new.features, new.features, Z, Z).max() <= new.bound
    assert new.of(X).bound == new.bound


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian() + Linear(),
        2.5 * Gaussian(0.7),
        Gaussian() * Polynomial(2),
        (Gaussian() + Constant(2.0)) * Linear(),
        Gaussian(2.0) * Gaussian(3.0),
        3.0 * (Gaussian() + Gaussian(2.0)) * (Linear() + Gaussian()),
        Gaussian().map(np.tanh),
    ],
    ids=repr,
)
@pytest.mark.parametrize("count", [4, 10, 20])
def test_composed_series_stay_within_their_bound(kernel, count, rng):
    X, Z = rng.uniform(-2, 2, size=(15, 1)), rng.uniform(-2, 2, size=(8, 1))
    found = kernel.approximate_features(X, count, method="taylor")
    new = found.of(Z)
    assert found.probability == 1
    assert gaps(kernel, found.features, found.features, X, X).max() <= found.bound
    assert gaps(kernel, found.features, new.features, X, Z).max() <= new.bound


# -- random frequencies ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", STATIONARY + COMPOSED, ids=repr)
def test_random_features_stay_within_their_bound_and_their_deviation(kernel, rng):
    X, Z = read_only(rng.normal(size=(20, 3))), read_only(rng.normal(size=(6, 3)))
    found = kernel.approximate_features(X, 4000, random_state=1, probability=0.999)
    assert found.method == "fourier"
    gap = gaps(kernel, found.features, found.features, X, X)
    assert gap.max() <= found.bound
    assert (gap <= 6 * found.deviation() + 1e-12).all()  # six deviations: no chance at this seed
    assert gap.diagonal().max() < 1e-12 * (1 + kernel.diag(X).max())
    new = found.of(Z)
    assert gaps(kernel, found.features, new.features, X, Z).max() <= new.bound
    assert found.deviation(Z).shape == (20, 6)
    assert found.bound <= new.bound or found.probability == 1


@pytest.mark.no_cover  # many times what other tests run once: tracing would double its time
@pytest.mark.slow
@pytest.mark.parametrize("kernel", STATIONARY + COMPOSED, ids=repr)
def test_the_mean_and_deviation_over_draws_are_those_stated(kernel, rng):
    X, draws = rng.normal(size=(5, 3)), 400
    generator = np.random.default_rng(7)
    values = np.empty((draws, 5, 5))
    for i in range(draws):
        found = kernel.approximate_features(X, 10, random_state=generator)
        values[i] = found.features @ found.features.T
    deviation = found.deviation()
    assert (np.abs(values.mean(axis=0) - kernel(X)) <= 5 * deviation / math.sqrt(draws) + 1e-12).all()
    np.testing.assert_allclose(values.std(axis=0), deviation, rtol=0.15, atol=1e-6)


def test_bounds_fail_no_more_often_than_stated(rng):
    """Both of them, at a probability of one half; Hoeffding's is cautious, so they fail far less often."""
    X, kernel = rng.normal(size=(6, 2)), Laplacian()
    K, missed, pair = kernel(X), 0, 0
    for seed in range(200):
        found = kernel.approximate_features(X, 20, random_state=seed, probability=0.5)
        gap = gaps(kernel, found.features, found.features, X, X)
        missed += gap.max() > found.bound
        pair += gap[0, 1] > found.pair_bound
    assert K.shape == (6, 6)
    assert missed <= 100
    assert pair <= 100


def test_bounds_are_hoeffdings(rng):
    X = rng.normal(size=(10, 2))
    found = (3.0 * Gaussian()).approximate_features(X, 200, probability=0.9)
    assert found.pair_bound == pytest.approx(3 * math.sqrt(2 * math.log(2 / 0.1) / 100))
    assert found.bound == pytest.approx(3 * math.sqrt(2 * math.log(10 * 9 / 0.1) / 100))
    assert found.of(X[:5]).bound == pytest.approx(3 * math.sqrt(2 * math.log(15 * 14 / 0.1) / 100))
    two = (Gaussian() + 2.0 * Laplacian()).approximate_features(X, 200, probability=0.9)
    assert two.pair_bound == pytest.approx(math.sqrt(1 + 4) * math.sqrt(2 * math.log(2 / 0.1) / 100))
    assert two.features.shape == (10, 400)


# -- the same frequencies for other rows ------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [*STATIONARY[:4], *COMPOSED[:9]], ids=repr)
def test_the_same_seed_gives_new_rows_the_same_features(kernel, rng):
    X, Z = rng.normal(size=(9, 3)), rng.normal(size=(5, 3))
    train = kernel.approximate_features(X, 40, random_state=3)
    test = kernel.approximate_features(Z, 40, random_state=3)
    assert (train.of(Z).features == test.features).all()
    assert (train.of(X).features == train.features).all()
    assert (kernel.approximate_features(X, 40, random_state=4).features != train.features).any()


def test_without_a_seed_every_draw_is_new_and_of_keeps_it(rng):
    X = rng.normal(size=(9, 3))
    found, other = Gaussian().approximate_features(X), Gaussian().approximate_features(X)
    assert (found.features != other.features).any()
    assert (found.of(X[:4]).features == found.features[:4]).all()


def test_a_result_can_be_pickled_and_still_knows_its_frequencies(rng):
    X = rng.normal(size=(9, 3))
    found = (Gaussian() * Linear() + Matern().on([0])).approximate_features(X, 20)
    again = pickle.loads(pickle.dumps(found))
    assert (again.of(X).features == found.features).all()
    assert str(again) == str(found)


def test_sparse_rows_give_what_dense_rows_give(rng):
    X = rng.normal(size=(9, 3)) * (rng.uniform(size=(9, 3)) < 0.5)
    for kernel, columns in [(Gaussian() + Laplacian(), X), (Gaussian(), X[:, :1])]:
        dense = kernel.approximate_features(columns, 30, random_state=0)
        thin = kernel.approximate_features(sparse.csr_array(columns), 30, random_state=0)
        assert worst(thin.features, dense.features) < 1e-14
        assert thin.bound == dense.bound
        assert worst(thin.deviation(), dense.deviation()) < 1e-7


# -- choices ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "columns", "method"),
    [
        (Gaussian(), 1, "taylor"),
        (Gaussian(), 2, "fourier"),
        (Gaussian().on(1), 2, "taylor"),
        (2.0 * Gaussian().on(1) + Linear(), 2, "taylor"),
        (Gaussian().on(1) * Linear(), 2, "taylor"),
        (Gaussian().on(0) * Gaussian().on(1), 2, "fourier"),
        (Gaussian().map(lambda X: X[:, :1]), 2, "taylor"),
        (Laplacian(), 1, "fourier"),
        (Gaussian() + Matern(), 1, "fourier"),
        (Linear() + Constant(), 3, "exact"),
    ],
    ids=repr,
)
def test_the_method_follows_from_kernel_and_columns_alone(kernel, columns, method, rng):
    for scale in (1e-3, 1e3):
        assert kernel.approximate_features(scale * rng.normal(size=(4, columns)), 10).method == method


def test_finite_maps_are_given_exactly(rng):
    X = rng.normal(size=(6, 3))
    found = Polynomial(2).approximate_features(X, 10)
    assert (found.features == Polynomial(2).feature_map(X)).all()
    assert found.probability == 1
    assert gaps(Polynomial(2), found.features, found.features, X, X).max() <= found.bound < 1e-11
    assert str(found) == f"10 features of 6 rows (exact): every k(x, z) within {found.bound:.3g}."


def test_results_print_as_sentences(rng):
    X = rng.normal(size=(6, 3))
    assert str(Gaussian().approximate_features(X, 100)) == (
        "100 features of 6 rows (fourier): every k(x, z) within 0.506 with probability 0.95; a given one within 0.384."
    )


def test_a_stationary_kernel_of_ones_own_may_give_its_frequencies(rng):
    class Beat(Stationary):
        """cos(delta_1 / width): a kernel of two frequencies."""

        def block(self, pair):
            x, z = pair.dense()
            return np.cos((x[:, :1] - z[:, 0]) / self.width)

        def frequencies(self, columns, count, generator):
            result = np.zeros((count, columns))
            result[:, 0] = generator.choice([-1.0, 1.0], size=count) / self.width
            return result

    X = rng.normal(size=(6, 2))
    found = Beat(2.0).approximate_features(X, 10)
    assert gaps(Beat(2.0), found.features, found.features, X, X).max() < 1e-14


# -- refusals -----------------------------------------------------------------------------------------------


def ask(kernel, X, **how):
    return refusal(lambda: kernel.approximate_features(X, **how))


@pytest.mark.parametrize("kernel", [Periodic(), Gaussian().exp(), Gaussian().normalized()], ids=repr)
def test_kernels_without_frequencies_are_refused(kernel):
    assert tells(ask(kernel + Linear(), np.ones((2, 2))), "method='fourier'", repr(kernel))


def test_features_that_change_with_the_rows_are_no_approximation():
    assert "with kernels that have a finite feature map; got Words()." in ask(Words(), ["good day", "good"])


@pytest.mark.parametrize(("kernel", "columns"), [(Gaussian(), 2), (Laplacian(), 1)], ids=repr)
def test_kernels_without_a_series_are_refused(kernel, columns):
    assert tells(ask(kernel, np.ones((2, columns)), method="taylor"), "method='taylor'", repr(kernel), "'fourier'")


@pytest.mark.parametrize("factor", [Gaussian() + Linear(), 3.0 * (Gaussian() + Linear())], ids=repr)
def test_a_product_of_sums_is_to_be_written_out(factor):
    kernel = factor * (Gaussian() + Linear()) * Linear()
    assert tells(ask(kernel, np.ones((2, 2))), f"Random features of {kernel!r}")


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"count": 0}, "count of approximate_features must be an integer of at least 1; got 0."),
        ({"count": 2.0}, "count of approximate_features must be an integer of at least 1; got 2.0."),
        ({"count": 7}, "count of Fourier features must be even, a cosine and a sine for each frequency; got 7."),
        (
            {"method": "fourrier"},
            "method must be one of auto, taylor, fourier; got 'fourrier'. Did you mean 'fourier'?",
        ),
        ({"probability": 1.0}, "probability must be a number between 0 and 1; got 1.0."),
        (
            {"random_state": "x"},
            "random_state must be a non-negative integer, a numpy.random.Generator or None; got 'x'.",
        ),
    ],
)
def test_bad_arguments_get_their_sentence(how, said):
    assert ask(Gaussian(), np.ones((2, 2)), **how) == said


def test_new_rows_need_the_columns_of_the_old():
    found = Gaussian().approximate_features(np.ones((3, 2)), 10)
    assert tells(refusal(found.of, np.ones((3, 3))), "Z", "got 3 columns")


def test_rows_whose_angles_overflow_are_refused():
    said = ask(Gaussian(1e-100), np.full((2, 2), 1e300), random_state=0)
    assert tells(said, "1e-100")


@pytest.mark.parametrize("columns", [1, 3])
def test_tables_that_would_not_fit_are_refused_before_they_are_drawn(columns):
    said = refusal(
        lambda: Gaussian().approximate_features(np.ones((2, columns)), 10**13, random_state=0), kind=MemoryRefusal
    )
    expected = "2 x 10000000000000 features" if columns == 1 else "5000000000000 frequencies for 3 columns"
    assert said.startswith(f"A table of {expected} needs ")


def test_a_kernel_of_ones_own_is_refused_in_a_sentence():
    class Mine(Kernel):
        def block(self, pair):
            return pair.full(1.0)

    assert "with kernels that have a finite feature map; got Mine()." in ask(Mine(), np.ones((2, 2)))


def test_no_rows_have_features_of_the_right_width():
    assert Gaussian().approximate_features(np.empty((0, 2)), 10).features.shape == (0, 10)
    assert Gaussian().approximate_features(np.empty((0, 1)), 10).features.shape == (0, 10)
