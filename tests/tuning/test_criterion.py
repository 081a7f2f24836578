"""The leave-one-out error and the evidence against refits and densities, their slopes against differences."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from sklearn.kernel_ridge import KernelRidge as Theirs
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from mercer.data import as_rows
from mercer.kernels import Constant, Gaussian, Laplacian, Linear, Matern, Polynomial, RationalQuadratic, Sigmoid
from mercer.solvers.problem import Problem
from mercer.tuning.criterion import OBJECTIVES, Criterion
from oracles import kernel_ridge
from refits import held_out

STEP = 1e-5
KERNELS = [
    Gaussian([0.7, 1.0, 2.0]),
    2.0 * Laplacian(1.5),
    Matern(1.0, 0.5) + 0.3 * Polynomial(2, 0.5, 0.4),
    RationalQuadratic(0.8, 0.6) * Gaussian([1.0, 2.0]).on([0, 2]),
]


def drawn(rng, n=14, targets=1, weighted=False):
    X, Y = rng.normal(size=(n, 3)), rng.normal(size=(n, targets)) + 3.0
    return X, Y, rng.uniform(0.3, 3.0, n) if weighted else None


def criterion(X, Y, weights=None, intercept=False, objective="loo"):
    return Criterion(as_rows(X), Problem(Y, weights, intercept), objective)


def refitted(K, Y, alpha, weights, intercept):
    """Log of the mean squared error of as many refits as there are rows."""
    everyone = np.arange(len(K))
    errors = [
        held_out(K, Y, alpha, np.delete(everyone, i), everyone[[i]], weights, intercept)[0] - Y[i] for i in everyone
    ]
    return math.log(np.mean(np.square(errors)))


def minus_log_evidence(K, Y, alpha, weights, intercept):
    """Per row and target. With intercept: the density of y integrated over every constant, by its closed form."""
    n, total = len(K), 0.0
    A = K + alpha * np.diag(np.ones(n) if weights is None else 1.0 / weights)
    G, ones = np.linalg.inv(A), np.ones(n)
    for y in Y.T:
        a = kernel_ridge(K, y, alpha, weights, intercept)[0][:, 0]
        free = n - intercept
        s2 = y @ a / free
        total += 0.5 * y @ a / s2 + 0.5 * np.linalg.slogdet(A)[1] + 0.5 * free * math.log(2 * math.pi * s2)
        total += 0.5 * math.log(ones @ G @ ones) if intercept else 0.0
    return total / Y.size


@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_both_criteria_are_what_refits_and_the_density_say(kernel, intercept, weighted, targets, rng):
    X, Y, weights = drawn(rng, targets=targets, weighted=weighted)
    K = kernel(X)
    loo = criterion(X, Y, weights, intercept).at(kernel, 0.3)
    assert loo.value == pytest.approx(refitted(K, Y, 0.3, weights, intercept), abs=1e-9)
    evidence = criterion(X, Y, weights, intercept, "evidence").at(kernel, 0.3)
    assert evidence.value == pytest.approx(minus_log_evidence(K, Y, 0.3, weights, intercept), abs=1e-9)


def test_leave_one_out_is_scikit_learns(rng):
    X, Y, weights = drawn(rng, weighted=True)
    own = Theirs(alpha=0.3, kernel="rbf", gamma=0.5)
    values = cross_val_predict(own, X, Y, cv=LeaveOneOut(), params={"sample_weight": weights})
    # scikit-learn and we both add alpha / w_i to the diagonal
    found = criterion(X, Y, weights).at(Gaussian(1.0), 0.3).value
    assert found == pytest.approx(math.log(np.mean((values - Y) ** 2)), abs=1e-9)


def test_the_evidence_is_the_density_of_y_at_the_best_variance(rng):
    X, Y, _ = drawn(rng)
    y, A = Y[:, 0], Gaussian(1.0)(X) + 0.3 * np.eye(len(X))
    best = y @ np.linalg.solve(A, y) / len(y)
    density = max(multivariate_normal(cov=best * factor * A).logpdf(y) for factor in (0.9, 0.99, 1.0, 1.01, 1.1))
    assert criterion(X, Y, objective="evidence").at(Gaussian(1.0), 0.3).value == pytest.approx(-density / len(y))


def test_with_intercept_the_evidence_is_integrated_over_every_constant(rng):
    X, Y, weights = drawn(rng, n=6, weighted=True)
    y, A = Y[:, 0], Gaussian(1.0)(X) + 0.3 * np.diag(1.0 / weights)
    s2 = y @ kernel_ridge(Gaussian(1.0)(X), y, 0.3, weights, True)[0][:, 0] / 5
    constants = np.linspace(-60.0, 60.0, 24001)
    density = multivariate_normal(cov=s2 * A).pdf(y - constants[:, None])
    integral = density.sum() * (constants[1] - constants[0])
    found = criterion(X, Y, weights, True, "evidence").at(Gaussian(1.0), 0.3).value
    assert found == pytest.approx(-math.log(integral) / 6, abs=1e-9)


@pytest.mark.slow
@given(
    st.sampled_from(KERNELS),
    st.sampled_from(OBJECTIVES),
    st.booleans(),
    st.booleans(),
    st.integers(1, 3),
    st.integers(4, 20),
    st.floats(-3.0, 1.0),
    st.integers(0, 2**32 - 1),
)
def test_slopes_are_those_of_differences(kernel, objective, intercept, weighted, targets, n, power, seed):
    alpha, rng = 10.0**power, np.random.default_rng(seed)
    X, Y, weights = drawn(rng, n, targets, weighted)
    found = criterion(X, Y, weights, intercept, objective)
    point = found.at(kernel, alpha)

    def difference(move):
        up, down = (found.at(*move(math.exp(step)), slopes=False).value for step in (STEP, -STEP))
        return (up - down) / (2 * STEP)

    assert point.by_alpha == pytest.approx(difference(lambda by: (kernel, alpha * by)), rel=1e-5, abs=1e-6)
    for name, slope in point.slopes.items():
        value = np.asarray(kernel.get_params()[name], dtype=float)
        for place in np.ndindex(value.shape):

            def move(by, name=name, value=value, place=place):
                moved = value.copy()
                moved[place] *= by
                return kernel.set_params(**{name: moved if value.ndim else float(moved)}), alpha

            assert slope[place] == pytest.approx(difference(move), rel=1e-5, abs=1e-6), (name, place)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_without_slopes_the_value_is_the_same(objective, rng):
    X, Y, weights = drawn(rng, weighted=True)
    found = criterion(X, Y, weights, True, objective)
    bare = found.at(KERNELS[0], 0.2, slopes=False)
    assert bare.value == found.at(KERNELS[0], 0.2).value
    assert bare.slopes == {}


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_several_tiles_are_as_good_as_one(objective, rng, monkeypatch):
    X, Y, weights = drawn(rng, n=23, targets=2, weighted=True)
    whole = criterion(X, Y, weights, True, objective).at(KERNELS[0], 0.2)
    monkeypatch.setattr("mercer.kernels.tiles.blocks", lambda n: [slice(i, min(i + 7, n)) for i in range(0, n, 7)])
    cut = criterion(X, Y, weights, True, objective).at(KERNELS[0], 0.2)
    np.testing.assert_allclose(cut.slopes["width"], whole.slopes["width"], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_where_the_system_is_not_positive_definite_the_value_is_infinite(objective, rng):
    X, Y, _ = drawn(rng)
    point = criterion(10.0 * X, Y, objective=objective).at(Sigmoid(1.0, 0.0), 1e-6)
    assert (point.value, point.slopes, point.by_alpha) == (math.inf, {}, 0.0)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("size", [1e30, 1e50, 1e77, 5e76, 1e90])
def test_kernels_that_overflow_are_infinitely_bad_and_raise_no_warning(size, intercept, objective, rng):
    X, Y, _ = drawn(rng)
    X[0] *= size
    point = criterion(X, Y, None, intercept, objective).at(Polynomial(2), 1.0)
    assert point.value == math.inf or all(np.isfinite(slope).all() for slope in point.slopes.values())
    assert size < 1e77 or point.value == math.inf


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_zero_targets_leave_no_error(objective, rng):
    X, _, _ = drawn(rng)
    point = criterion(X, np.zeros((14, 1)), objective=objective).at(Gaussian(), 0.1)
    assert (point.value, point.slopes) == (-math.inf, {})


def test_a_constant_target_is_what_the_intercept_is_for(rng):
    X, _, _ = drawn(rng)
    Y = np.full((14, 1), 7.0)
    assert criterion(X, Y, intercept=True).at(Gaussian(), 0.1).value < math.log(1e-24)
    assert criterion(X, Y).at(Gaussian(), 0.1).value == pytest.approx(refitted(Gaussian()(X), Y, 0.1, None, False))


@pytest.mark.parametrize("intercept", [False, True])
def test_three_rows_are_enough(intercept, rng):
    X, Y, _ = drawn(rng, n=3)
    value = criterion(X, Y, intercept=intercept).at(Gaussian(), 0.1).value
    assert value == pytest.approx(refitted(Gaussian()(X), Y, 0.1, None, intercept), abs=1e-9)


def test_duplicate_rows_are_no_trouble(rng):
    X, Y, _ = drawn(rng)
    X[3:9] = X[2]
    value = criterion(X, Y, intercept=True).at(Matern(1.0, 0.5), 0.1).value
    assert value == pytest.approx(refitted(Matern(1.0, 0.5)(X), Y, 0.1, None, True), abs=1e-9)


def test_a_kernel_without_parameters_has_a_slope_by_alpha_alone(rng):
    X, Y, _ = drawn(rng)
    point = criterion(X, Y).at(Linear() + Constant(0), 0.5)
    assert point.slopes == {}
    assert point.by_alpha != 0.0


def test_the_given_arrays_stay_as_they_are(rng):
    X, Y, weights = drawn(rng, weighted=True)
    before = X.copy(), Y.copy(), weights.copy()
    criterion(X, Y, weights, True).at(KERNELS[0], 0.2)
    for old, new in zip(before, (X, Y, weights), strict=True):
        assert (old == new).all()
