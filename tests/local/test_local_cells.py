"""Coefficients and held-out predictions of cells against refits from raw rows with the same partition.

Covers: local.search.
"""

import numpy as np
import pytest

from drawn import CASES, SOAK
from mercer import LocalRidgeCV
from mercer.data.folds import Split
from mercer.data.rows import Rows
from mercer.kernels import Gaussian, Laplacian, Linear, Matern
from mercer.local.cells import CellProblem, LocalFit, inverse_widths
from mercer.local.partition import Partition
from mercer.local.search import LocalPlan
from mercer.solvers.problem import Problem


def ridge(K, new, Y, weights, alpha, intercept):
    """Predictions from the textbook system, with the constant as one more unknown."""
    n, A = len(K), K + alpha * np.diag(1.0 / weights)
    if not intercept:
        return new @ np.linalg.solve(A, Y)
    bordered = np.block([[A, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solved = np.linalg.solve(bordered, np.vstack([Y, np.zeros((1, Y.shape[1]))]))
    return new @ solved[:n] + solved[n]


def refit(case, row, kept):
    """What the cells that answer a row predict from rows that are kept."""
    X, Y, weights, kernel, alpha, intercept, cells = case
    answers, by = cells.partition.answers(X[[row]] * cells.scale, cells.mix)
    total = 0.0
    for cell, weight in zip(answers[0], by[0], strict=True):
        system = cells.partition.system(int(cell), cells.system_rows)
        rest = system[kept[system]]
        if cells.splits is not None and len(system) - len(rest) > len(system) // 2:
            rest = cells.partition.system(int(cell), cells.system_rows, ~kept)
        own = np.ones(len(rest)) if weights is None else weights[rest]
        total += weight * ridge(kernel(X[rest]), kernel(X[[row]], X[rest]), Y[rest], own, alpha, intercept)[0]
    return total


def draw_case(rng):
    n, d, t = int(rng.integers(12, 140)), int(rng.integers(1, 4)), int(rng.integers(1, 3))
    X = rng.normal(size=(n, d))
    if rng.random() < 0.4:
        X = np.round(X)  # ties and copies
    Y = np.sin(X[:, :1]) + 0.1 * rng.normal(size=(n, t)) + 10.0 ** rng.integers(-1, 3)
    weights = rng.uniform(0.5, 2.0, n) if rng.random() < 0.5 else None
    width = rng.uniform(0.5, 3.0, d)
    kernel = [Matern(width, nu=1.5), Laplacian(width), Gaussian(1.0) + 0.3 * Gaussian(3.0), Gaussian(1.0) + Linear()][
        int(rng.integers(4))
    ]
    alpha, intercept = 10.0 ** rng.uniform(-3, 1), bool(rng.random() < 0.8)
    splits = None
    if rng.random() < 0.6:
        groups = rng.integers(0, int(rng.integers(2, 12)), n)
        splits = [Split(np.flatnonzero(groups != g), np.flatnonzero(groups == g)) for g in np.unique(groups)]
        splits = [split for split in splits if len(split.train)]
    scale = inverse_widths(kernel, Rows(X), np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0))
    partition = Partition.of(X * scale, int(rng.integers(5, 20)))
    problem = Problem(Y, weights, intercept).subtract_mean()
    cells = CellProblem(Rows(X), problem, partition, scale, int(rng.integers(20, 60)), int(rng.integers(1, 4)), splits)
    return X, Y, weights, kernel, alpha, intercept, cells


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(CASES))
def test_held_out_predictions_equal_refits_with_the_same_partition(seed):
    rng = np.random.default_rng([SOAK, 91, seed])
    case = draw_case(rng)
    X, Y, _, kernel, alpha, _, cells = case
    fitted = LocalFit.of(cells, kernel, alpha)
    n = len(X)
    for row in rng.permutation(n)[:6]:
        if cells.splits is None:
            kept, held_out = np.arange(n) != row, fitted.held_out[row]
        else:
            tested = [place for place, split in enumerate(cells.splits) if row in split.test]
            if not tested:
                continue
            kept, held_out = cells.train_marks[tested[0]], fitted.held_out[tested[0], row]
        size = np.abs(Y).max()
        assert np.abs(refit(case, row, kept) - held_out).max() < 1e-8 * size
        split = None if cells.splits is None else tested[0]
        assert np.abs(fitted.refit_row(int(row), split) - held_out).max() < 1e-8 * size
        alone = fitted.left_out()[row]
        if split is not None and not np.isnan(alone).any():
            assert np.abs(refit(case, row, np.arange(n) != row) - alone).max() < 1e-8 * size


def test_predictions_are_those_of_the_cells_that_answer():
    rng = np.random.default_rng(5)
    case = draw_case(rng)
    X, _, _, kernel, alpha, _, cells = case
    fitted = LocalFit.of(cells, kernel, alpha)
    everything = np.ones(len(X), dtype=bool)
    expected = np.stack([refit(case, row, everything) for row in range(5)])
    assert np.allclose(fitted.values(X[:5]), expected, rtol=1e-9)


def test_a_singular_system_is_solved_by_the_solution_of_minimum_norm():
    X = np.repeat(np.arange(6.0), 2)[:, None]
    problem = Problem(np.sin(X), None, intercept=False)
    cells = CellProblem(Rows(X), problem, Partition.of(X, 12), np.ones(1), 12, 1)
    fitted = LocalFit.of(cells, Gaussian(1.0), 0.0)
    assert np.abs(fitted.held_out - np.sin(X)).max() < 1e-6  # a copy is left in every system
    assert fitted.solutions[0].condition == np.inf


@pytest.mark.filterwarnings("ignore::mercer.errors.IllConditionedWarning")
def test_no_cell_predicts_beyond_its_limits():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(300, 1)), [[80.0]]])
    y = X[:, 0] ** 2
    y[-1] = 1.0
    model = LocalRidgeCV([Gaussian(50.0)], [1e-8], core_rows=32, system_rows=64).fit(X, y)
    low, high = y.min() - 0.1 * np.ptp(y), y.max() + 0.1 * np.ptp(y)
    predicted = model.predict([[-500.0], [90.0]])
    assert ((predicted >= low - 1e-9) & (predicted <= high + 1e-9)).all()
    assert np.abs(model.residuals_).max() <= 1.2 * np.ptp(y)


def test_the_plan_counts_cells_time_and_memory():
    class Sizes:
        core_rows, system_rows, mix = 128, 1024, 1

    small, large = (LocalPlan.of(n, 8, 1, Sizes, 10, 0) for n in (1000, 1_000_000))
    assert (small.cells, small.system_rows) == (1, 1000)
    assert large.cells == 8192
    assert large.seconds > 100 * small.seconds
    assert large.bytes < 4e9
    assert "1000000 rows in 8192 cells" in str(large)
