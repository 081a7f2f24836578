"""Rungs beyond the edge of a grid: new ones, however close the old ones are."""

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.selection.ladders import further_alphas, further_kernels
from mercer.selection.table import SearchTable, Winner


def table_of(kernels, alphas, winner):
    """A table whose winner stands at this place."""
    scores = np.zeros((len(kernels), len(alphas), 2, 1))
    scores[winner] = 1.0
    flat = np.ones(scores.shape[:2])
    return SearchTable(kernels, np.asarray(alphas), scores, scores.mean(axis=2), flat, flat, "score")


@pytest.mark.parametrize(("place", "beyond"), [(0, np.less), (999, np.greater)])
def test_a_dense_ladder_of_alphas_gets_rungs_that_are_new(place, beyond):
    alphas = np.linspace(5.0, 6.0, 1000)
    found = further_alphas(table_of([Gaussian()], alphas, (0, place)), Winner(0, (place,)))
    assert len(np.unique(found)) == 3
    assert beyond(found, alphas[place]).all()
    assert (np.maximum(found[1:] / found[:-1], found[:-1] / found[1:]) > 1.15).all()


def test_a_dense_ladder_of_widths_gets_rungs_that_are_new():
    kernels = [Gaussian(w) for w in (2.0, 2.0001, 2.0002)]
    found = further_kernels(table_of(kernels, [1.0], (2, 0)), Winner(2, (0,)))
    assert [kernel.width for kernel in found] == [2.4, 2.88, 3.46]


def test_a_wide_ladder_goes_on_as_it_was():
    found = further_alphas(table_of([Gaussian()], [1.0, 10.0, 100.0], (0, 2)), Winner(0, (2,)))
    assert found.tolist() == [1e3, 1e4, 1e5]
