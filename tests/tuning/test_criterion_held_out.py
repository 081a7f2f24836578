"""The held-out criterion: its value against refitting, its gradient against differences."""

import math

import numpy as np
import pytest

from mercer.data import as_rows
from mercer.errors import MercerError
from mercer.kernels import Cosine, Gaussian, Laplacian, Linear, Matern
from mercer.solvers.problem import Problem, take_rows
from mercer.tuning.criterion import Distances, HeldOutCriterion, most_rows
from mercer.tuning.held_out import predict_new

KERNELS = [
    *(make(width) for make in (Gaussian, Laplacian) for width in (1.7, [0.8, 3.0, 1.2, 40.0])),
    *(Matern(width, nu) for nu in (0.5, 1.5, 2.5) for width in (1.7, [0.8, 3.0, 1.2, 40.0])),
]


def problem_of(rng, n=23, targets=1, *, weighted=False):
    X = rng.normal(size=(n, 4))
    X[5] = X[4]  # a pair at distance 0
    Y = np.column_stack([np.sin(X[:, t]) + 0.3 * rng.normal(size=n) for t in range(targets)])
    weights = rng.uniform(0.2, 3.0, size=n) if weighted else None
    return as_rows(X), Problem(1e3 * Y + 7.0, weights, intercept=True), rng.permutation(n) % 3


def by_refitting(kernel, alpha, rows, problem, folds):
    errors = np.empty_like(problem.Y)
    for fold in np.unique(folds):
        train, new = (take_rows(rows, problem, np.flatnonzero(which)) for which in (folds != fold, folds == fold))
        errors[folds == fold] = predict_new(kernel, alpha, *train, new[0]) - new[1].Y
    weights = np.ones(len(errors)) if problem.weights is None else problem.weights
    return math.log(float(weights @ errors**2 @ np.ones(errors.shape[1])) / errors.size)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.slow
def test_the_criterion_is_the_error_of_refitting(kernel, targets, weighted, rng):
    rows, problem, folds = problem_of(rng, targets=targets, weighted=weighted)
    for alpha in (1e-3, 0.5):
        found = HeldOutCriterion(rows, problem, folds).at(kernel, alpha)
        assert found.value == pytest.approx(by_refitting(kernel, alpha, rows, problem, folds), abs=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_slopes_are_those_of_differences(kernel, weighted, rng):
    rows, problem, folds = problem_of(rng, targets=2, weighted=weighted)
    criterion, step = HeldOutCriterion(rows, problem, folds), 1e-5
    found = criterion.at(kernel, 0.1)
    by_alpha = [criterion.at(kernel, 0.1 * math.exp(sign * step), slopes=False).value for sign in (1, -1)]
    assert found.by_alpha == pytest.approx((by_alpha[0] - by_alpha[1]) / (2 * step), abs=1e-6)
    for place in np.ndindex(np.shape(kernel.width)):
        values = []
        for sign in (1, -1):
            width = np.array(kernel.width, dtype=float)
            width[place] *= math.exp(sign * step)
            moved = kernel.set_params(width=width if width.ndim else float(width))
            values.append(criterion.at(moved, 0.1, slopes=False).value)
        slope = np.asarray(found.slopes["width"])[place]
        assert slope == pytest.approx((values[0] - values[1]) / (2 * step), abs=1e-6)


@pytest.mark.parametrize("kernel", [Laplacian([2.0, 5.0, 2.0, 1.0]), Matern([2.0, 5.0, 2.0, 1.0], 2.5)], ids=str)
def test_columns_that_share_a_width_have_one_slope_together(kernel, rng):
    rows, problem, folds = problem_of(rng)
    apart = HeldOutCriterion(rows, problem, folds).at(kernel, 0.1)
    shared = HeldOutCriterion(rows, problem, folds, [7, 3, 7, 5]).at(kernel, 0.1)
    assert shared.value == pytest.approx(apart.value)
    one, other = shared.slopes["width"], apart.slopes["width"]
    assert one == pytest.approx([other[0] + other[2], other[1], 0.0, other[3]])


def test_distances_of_several_chunks_equal_those_of_all_pairs(rng):
    Z = rng.normal(size=(300, 2))  # 44 850 pairs: two chunks
    held = Distances(Z, [0, 1], squared=False)
    assert len(held.parts) == 2
    i, j = np.triu_indices(300, 1)
    np.testing.assert_allclose(held.values, np.abs(Z[i] - Z[j]).T)
    np.testing.assert_allclose(held.total[0], np.abs(Z[i] - Z[j]).sum(axis=1))
    folds = np.arange(300) % 3
    problem = Problem(Z[:, :1] ** 2, None, intercept=True)
    rows, kernel = as_rows(Z), Matern([1.0, 2.0], 2.5)
    found = HeldOutCriterion(rows, problem, folds).at(kernel, 0.01)
    assert found.value == pytest.approx(by_refitting(kernel, 0.01, rows, problem, folds), abs=1e-8)


def test_a_system_that_is_not_positive_definite_is_infinitely_bad(rng):
    rows, problem, folds = problem_of(rng)
    assert HeldOutCriterion(rows, problem, folds).at(Gaussian(1e9), 1e-300).value == math.inf
    assert HeldOutCriterion(rows, problem, folds).at(Gaussian(1.0), math.nan).value == math.inf


def test_targets_of_one_value_leave_no_error(rng):
    rows, _, folds = problem_of(rng)
    criterion = HeldOutCriterion(rows, Problem(np.zeros((23, 1)), None, intercept=True), folds)
    assert criterion.at(Gaussian(1.0), 0.1).value == -math.inf
    assert criterion.baseline == -math.inf


def test_the_baseline_is_the_log_of_the_variance(rng):
    rows, problem, folds = problem_of(rng)
    assert HeldOutCriterion(rows, problem, folds).baseline == pytest.approx(math.log(problem.Y.var()))


def test_many_columns_leave_room_for_fewer_rows():
    assert most_rows(range(100)) == 1000
    assert most_rows([0] * 500) > 5000
    assert most_rows(range(10**6)) == 100


def test_other_kernels_are_an_internal_error(rng):
    rows, problem, folds = problem_of(rng)
    with pytest.raises(MercerError, match=r"^Internal error: the held-out criterion does not know Cosine\(\)\.$"):
        HeldOutCriterion(rows, problem, folds).at(Cosine(), 0.1)


def test_a_linear_kernel_has_the_criterion_of_refits_and_no_slopes(rng):
    rows, problem, folds = problem_of(rng)
    criterion = HeldOutCriterion(rows, problem, folds)
    squares = 0.0
    for fold in np.unique(folds):
        train, new = (take_rows(rows, problem, np.flatnonzero(which)) for which in (folds != fold, folds == fold))
        off = predict_new(Linear(), 0.5, *train, new[0]) - new[1].Y
        squares += float(np.sum(new[1].root[:, None] ** 2 * off**2))
    point = criterion.at(Linear(), 0.5)
    assert point.value == pytest.approx(np.log(squares / problem.Y.size), rel=1e-8)
    assert point.slopes == {}


@pytest.mark.parametrize("squared", [False, True])
def test_distances_of_columns_that_share_a_width_are_looked_up(rng, squared):
    """Many columns of a category have few distinct rows."""
    codes = rng.integers(9, size=31)
    Z = np.hstack([rng.normal(size=(31, 2)), np.eye(9)[codes] / np.sqrt(2), rng.normal(size=(31, 3))])
    share = [0, 1, *([2] * 9), *([5] * 3)]
    found = Distances(Z, share, squared=squared)
    by_column = np.abs(Z[:, None] - Z) ** (2 if squared else 1)
    for place, number in enumerate((0, 1, 2, 5)):
        expected = by_column[:, :, np.array(share) == number].sum(axis=2)[np.triu_indices(31, 1)]
        np.testing.assert_allclose(found.values[place], expected, rtol=1e-12, atol=1e-12)
