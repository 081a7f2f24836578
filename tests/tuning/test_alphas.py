"""alpha for a kernel that is there: downhill near a first one, and models that are solved for one after the other."""

import math

import numpy as np
import pytest

from mercer.data import as_rows
from mercer.kernels import Gaussian
from mercer.selection.problem import Problem
from mercer.solvers import SolverChoice
from mercer.tuning import alphas as module
from mercer.tuning.alphas import Predictor, downhill, predicted
from oracles import kernel_ridge


@pytest.mark.parametrize("best", [1e-4, 3e-3, 0.1, 0.2, 7.0, 300.0])
@pytest.mark.parametrize("fine", [True, False])
def test_the_least_error_is_found_to_within_the_last_step(best, fine):
    found = downhill(lambda alpha: abs(math.log(alpha / best)), 0.1, fine=fine)
    assert abs(math.log10(found / best)) <= (0.126 if fine else 0.251)


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


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
@pytest.mark.parametrize("tolerance", [None, 1e-10])
def test_one_matrix_serves_one_alpha_after_the_other(solver, tolerance, rng, monkeypatch):
    monkeypatch.setattr(module, "choose", lambda *_, **__: SolverChoice(solver, "a test", 0))
    X, new, Y = rng.normal(size=(40, 2)), rng.normal(size=(5, 2)), rng.normal(size=(40, 2))
    predict = Predictor(Gaussian(), as_rows(X), Problem(Y, None, intercept=True), as_rows(new), tolerance)
    for alpha in (1.0, 0.1, 3.0):
        a, b = kernel_ridge(Gaussian()(X), Y, alpha, intercept=True)
        np.testing.assert_allclose(predict(alpha), Gaussian()(new, X) @ a + b, atol=1e-6)


def test_a_rough_solution_is_rough_and_a_plain_one_is_not(rng, monkeypatch):
    monkeypatch.setattr(module, "choose", lambda *_, **__: SolverChoice("cg", "a test", 0))
    X, y = rng.normal(size=(300, 3)), rng.normal(size=(300, 1))
    rows, problem = as_rows(X), Problem(y, None, intercept=True)
    exact = predicted(Gaussian(), 0.01, rows, problem, rows)
    rough = Predictor(Gaussian(), rows, problem, rows, tolerance=1e-2)(0.01)
    np.testing.assert_allclose(rough, exact, atol=0.1)
