"""Where tuning begins: typical widths, sensitivities, widths of another kernel."""

import math

import numpy as np
import pytest

from mercer.data import as_rows
from mercer.kernels import Gaussian, Laplacian, Matern
from mercer.solvers.problem import Problem
from mercer.tuning.criterion import HeldOutCriterion
from mercer.tuning.descent import best_start, typical_width, widths_by_sensitivity, widths_of


def criterion_of(X, y, share=None):
    return HeldOutCriterion(as_rows(X), Problem(y[:, None], None, intercept=True), np.arange(len(y)) % 3, share)


@pytest.mark.parametrize("columns", [1, 4, 30])
def test_typical_widths_are_typical_distances(columns, rng):
    X, Z = rng.normal(size=(2, 4000, columns))
    l1, l2 = np.abs(X - Z).sum(axis=1).mean(), np.sqrt(((X - Z) ** 2).sum(axis=1).mean())
    assert typical_width(Laplacian(), columns) == pytest.approx(l1, rel=0.05)
    assert typical_width(Gaussian(), columns) == pytest.approx(l2, rel=0.05)


def test_columns_that_matter_get_shorter_widths(rng):
    X = rng.normal(size=(120, 6))
    widths = widths_by_sensitivity(criterion_of(X, np.sin(2.0 * X[:, 1]) + X[:, 4]))
    assert set(np.argsort(widths)[:2]) == {1, 4}
    others = np.delete(widths, [1, 4])
    assert others.min() > 1.5 * widths[[1, 4]].max()
    assert np.isfinite(widths).all()


def test_sensitivities_are_mean_squared_derivatives(rng):
    """Of a fit that reproduces a linear function, derivatives are its coefficients, up to a common factor."""
    X = rng.uniform(-1.0, 1.0, size=(200, 3))
    widths = widths_by_sensitivity(criterion_of(X, X @ [4.0, 2.0, 1.0]))
    np.testing.assert_allclose(widths / widths[0], [1.0, 2.0, 4.0], rtol=0.1)


def test_columns_that_share_a_width_share_its_start(rng):
    X = rng.normal(size=(60, 3))
    widths = widths_by_sensitivity(criterion_of(X, X[:, 0] ** 2, share=[0, 1, 0]))
    assert widths[0] == widths[2] < widths[1]


def test_widths_go_over_to_kernels_of_another_distance():
    ends = widths_of(Laplacian([1.0, 4.0]), Matern(nu=2.5), 2)
    for each, ratio in zip(ends, (4.0, 2.0), strict=True):
        assert each[1] / each[0] == pytest.approx(ratio)
        assert 2.0 * np.sum(each**-2.0) == pytest.approx(1.0)
    assert [each.tolist() for each in widths_of(Laplacian(3.0), Laplacian(), 2)] == [[3.0, 3.0]]


def test_the_first_alpha_is_the_best_of_five(rng):
    X = rng.normal(size=(40, 2))
    criterion = criterion_of(X, np.sin(X[:, 0]))
    start = best_start(criterion, Gaussian(2.0))
    values = {each: criterion.at(start.kernel, each, slopes=False).value for each in (1e-4, 1e-3, 1e-2, 1e-1, 1.0)}
    assert values[start.alpha] == start.value == min(values.values()) < math.inf
