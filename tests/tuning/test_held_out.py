"""alpha for a kernel that is there: downhill near a first one, and models that are solved for one after the other."""

import math

import numpy as np
import pytest

from mercer.data import as_rows
from mercer.kernels import Gaussian, Linear
from mercer.solvers.problem import Problem, take_rows
from mercer.tuning.held_out import LeaveOutErrors, Predictor, downhill, predict_new
from oracles import kernel_ridge


@pytest.mark.parametrize("best", [1e-4, 3e-3, 0.1, 0.2, 7.0, 300.0])
def test_the_least_error_is_found_to_within_the_last_step(best):
    found = downhill(lambda alpha: abs(math.log(alpha / best)), 0.1)
    assert abs(math.log10(found / best)) <= 0.251


def test_no_alpha_is_tried_twice_and_smaller_ones_first():
    tried = []

    def error(alpha):
        tried.append(alpha)
        return abs(math.log(alpha / 0.02))

    downhill(error, 0.1)
    assert len(tried) == len(set(tried)) <= 8
    assert tried[0] < 0.1 or tried[1] < 0.1


def test_a_slope_without_end_is_followed_four_decades():
    assert downhill(lambda alpha: alpha, 1.0) == pytest.approx(1e-4)
    assert downhill(lambda alpha: -alpha, 1.0) == pytest.approx(1e4)


@pytest.mark.parametrize("ends", [(0.05, 0.2), (0.1, 0.1)])
def test_ends_are_not_passed(ends):
    assert downhill(lambda alpha: alpha, 0.1, ends=ends) == ends[0]
    assert downhill(lambda alpha: -alpha, 0.1, ends=ends) == ends[1]


def test_errors_that_are_all_alike_leave_alpha_where_it_is():
    assert downhill(lambda _: 1.0, 0.3) == 0.3


@pytest.mark.parametrize("kernel", [Gaussian(), Linear()])
def test_one_system_serves_one_alpha_after_the_other(kernel, rng):
    X, new, Y = rng.normal(size=(40, 2)), rng.normal(size=(5, 2)), rng.normal(size=(40, 2))
    predict = Predictor(kernel, as_rows(X), Problem(Y, None, intercept=True), as_rows(new))
    for alpha in (1.0, 0.1, 3.0):
        a, b = kernel_ridge(kernel(X), Y, alpha, intercept=True)
        np.testing.assert_allclose(predict(alpha), kernel(new, X) @ a + b, atol=1e-6)


def test_residuals_of_groups_and_folds_equal_refitting(rng):
    X, Y = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
    groups, folds, weights = np.arange(20) // 4, np.arange(20) % 3, rng.uniform(0.5, 2.0, size=20)
    rows, problem, kernel = as_rows(X), Problem(Y, weights, intercept=True), Gaussian(1.5)
    left = LeaveOutErrors(kernel, rows, problem, groups)
    by_group, by_fold = left.residuals(0.1, [np.flatnonzero(folds == fold) for fold in range(3)])
    for names, mine in ((groups, by_group), (folds, by_fold)):
        for name in np.unique(names):
            train, new = (take_rows(rows, problem, np.flatnonzero(which)) for which in (names != name, names == name))
            np.testing.assert_allclose(
                mine[names == name], predict_new(kernel, 0.1, *train, new[0]) - new[1].Y, atol=1e-9
            )
    assert left.error(0.1) == pytest.approx(np.mean(weights[:, None] * by_group**2))
    assert left.best[1] == 0.1


def test_a_singular_system_is_infinitely_bad_and_has_no_residuals():
    rows, problem = as_rows(np.ones((6, 1))), Problem(np.arange(6.0)[:, None], None, intercept=True)
    left = LeaveOutErrors(Gaussian(1.0), rows, problem)
    assert left.error(0.0) == math.inf
    assert all(np.isnan(each).all() for each in left.residuals(0.0, [np.arange(3)]))
