"""Ladders of kernels and alphas: from X alone, readable, and right at the edges."""

import re

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist

from mercer import KernelRidgeCV
from mercer.data import as_rows
from mercer.data.rows import Rows
from mercer.errors import EdgeOfGridWarning, InputError, MercerWarning
from mercer.kernels import (
    Cosine,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    RationalQuadratic,
)
from mercer.selection.ladders import (
    beyond_edges,
    column_spreads,
    resolve_alphas,
    resolve_kernels,
    round_rungs,
    width_ladder,
)
from mercer.selection.table import SearchTable, Winner


@pytest.fixture
def rows(rng):
    return Rows(rng.normal(size=(40, 3)))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("gaussian", Gaussian),
        (" RBF ", Gaussian),
        ("laplacian", Laplacian),
        ("matern", Matern),
        ("rational_quadratic", RationalQuadratic),
    ],
)
def test_a_family_with_a_width_is_a_ladder_of_ten(name, kind, rows):
    found = resolve_kernels(name, rows)
    assert len(found) == 10
    assert {type(kernel) for kernel in found} == {kind}
    widths = np.array([kernel.width for kernel in found])
    assert (np.diff(widths, axis=0) > 0).all()
    np.testing.assert_allclose(
        widths / widths[:, :1], np.tile(column_spreads(rows) / column_spreads(rows)[0], (10, 1)), 0.02
    )
    assert all(kernel == kind(kernel.width) for kernel in found)
    one = resolve_kernels(name, Rows(rows.values[:, :1]))
    assert all(np.ndim(kernel.width) == 0 for kernel in one)


def test_widths_span_a_quarter_of_the_short_distances_to_eight_times_the_long_ones(rows):
    for metric, manhattan in (("euclidean", False), ("cityblock", True)):
        short, long = np.quantile(pdist(rows.values, metric), [0.1, 0.9])
        ladder = width_ladder(rows, manhattan=manhattan)
        np.testing.assert_allclose([ladder[0], ladder[-1]], [0.25 * short, 8 * long], rtol=5e-3)
    np.testing.assert_allclose(np.diff(np.log(ladder)), np.log(ladder[-1] / ladder[0]) / 9, rtol=0.05)


def test_other_families(rows):
    assert resolve_kernels("linear", rows) == [Linear()]
    assert resolve_kernels("cosine", rows) == [Cosine()]
    assert resolve_kernels("precomputed", rows) == [Precomputed()]
    assert resolve_kernels("polynomial", rows) == resolve_kernels("poly", rows)
    assert resolve_kernels("poly", rows) == [Polynomial(degree) for degree in (1, 2, 3, 4, 5)]


def test_text_kernels_and_lists_of_everything(rows):
    assert resolve_kernels("gaussian(width=2) + 0.5 * linear()", rows) == [Gaussian(2) + 0.5 * Linear()]
    assert resolve_kernels(Gaussian(3.0), rows) == [Gaussian(3.0)]
    found = resolve_kernels([Gaussian(3.0), "linear", "polynomial(degree=7)", "laplacian"], rows)
    assert found[:3] == [Gaussian(3.0), Linear(), Polynomial(7)]
    assert len(found) == 13
    assert resolve_kernels((Linear(),), rows) == [Linear()]


@pytest.mark.parametrize(
    ("kernels", "sentence"),
    [
        ("gausian", "There is no kernel 'gausian'. Did you mean 'gaussian'?"),
        ([], "kernels must be a kernel, a list of kernels or a kernel name; got []."),
        (3, "kernels must be a kernel, a list of kernels or a kernel name; got 3."),
        (None, "kernels must be a kernel, a list of kernels or a kernel name; got None."),
        ([Linear(), 3], "Every item of kernels must be a kernel or a kernel name; got 3."),
    ],
)
def test_what_is_no_kernel_is_refused(kernels, sentence, rows):
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        resolve_kernels(kernels, rows)


def test_rows_that_are_all_alike_give_one_width():
    assert width_ladder(Rows(np.ones((5, 2)))).tolist() == [1.0]
    assert resolve_kernels("gaussian", Rows(np.ones((1, 2)))) == [Gaussian([1.0, 1.0])]


def test_a_ladder_of_widths_takes_sparse_rows_and_refuses_texts(rows):
    found = resolve_kernels("gaussian", Rows(sparse.csr_matrix(rows.values)))
    assert [kernel.width for kernel in found] == width_ladder(rows).tolist()  # scales of sparse columns are their own
    with pytest.raises(
        InputError,
        match=(
            r"^Kernel names such as 'gaussian' need numeric X, to choose default widths\. Use kernel objects with a "
            r"width instead\.$"
        ),
    ):
        resolve_kernels("gaussian", as_rows(["a", "b", "c"]))


def test_large_tables_are_sampled(rng):
    X = rng.normal(size=(2000, 2))
    chosen = np.linspace(0, 1999, 500).astype(int)
    np.testing.assert_array_equal(width_ladder(Rows(X)), width_ladder(Rows(X[chosen])))


def test_given_alphas_are_kept_as_they_are(rows):
    assert resolve_alphas([1.0, 0.1, 0.0, 1.0], [Linear()], rows).tolist() == [1.0, 0.1, 0.0, 1.0]
    assert resolve_alphas(2, [Linear()], rows).tolist() == [2.0]
    assert resolve_alphas(np.float32(0.5), [Linear()], rows).dtype == np.float64


@pytest.mark.parametrize("bad", [[], -1.0, [1.0, np.nan], [np.inf], "many", [[1.0]], [1, -1], print], ids=repr)
def test_alphas_that_are_none_are_refused(bad, rows):
    with pytest.raises(InputError, match=r"^alphas must be finite, non-negative numbers; got "):
        resolve_alphas(bad, [Linear()], rows)


def test_the_ladder_of_alphas_ends_at_the_largest_eigenvalue(rows):
    kernels = [Gaussian(0.5), Gaussian(3.0)]
    ladder = resolve_alphas(None, kernels, rows)
    top = max(np.linalg.eigvalsh(kernel(rows.values))[-1] for kernel in kernels)
    assert len(ladder) == 13
    assert ladder[0] == 1e-7
    assert 0.9 * top < ladder[-1] < 1.01 * top
    assert (np.diff(ladder) > 0).all()


def test_the_ladder_of_alphas_does_not_reach_below_rounding_error(rng):
    X = 1e4 * rng.normal(size=(30, 2))
    ladder = resolve_alphas(None, [Linear()], Rows(X))
    assert ladder[0] >= 0.99e-13 * ladder[-1]
    top = np.linalg.eigvalsh(Linear()(X))[-1]
    assert 0.5 * top < ladder[-1] < 1.01 * top


def test_the_ladder_of_a_gram_matrix_is_that_of_its_kernel(rng):
    X = rng.normal(size=(60, 2))
    by_kernel = resolve_alphas(None, [Gaussian()], Rows(X))
    np.testing.assert_array_equal(resolve_alphas(None, [Precomputed()], Rows(Gaussian()(X))), by_kernel)
    large = rng.normal(size=(600, 2))
    by_kernel = resolve_alphas(None, [Gaussian()], Rows(large))
    np.testing.assert_array_equal(resolve_alphas(None, [Precomputed()], Rows(Gaussian()(large))), by_kernel)


def test_a_kernel_that_is_zero_still_has_a_ladder():
    ladder = resolve_alphas(None, [Linear()], Rows(np.zeros((5, 2))))
    assert (ladder > 0).all()
    assert np.isfinite(ladder).all()


def test_rounded_to_three_digits():
    assert round_rungs(np.array([1.23456, 98765.0, 0.000123456])).tolist() == [1.23, 98800.0, 0.000123]


# -- Rungs beyond the edge of a grid: new ones, however close the old ones are ---------------------


def table_of(kernels, alphas, winner):
    """A table whose winner stands at this place."""
    scores = np.zeros((len(kernels), len(alphas), 2, 1))
    scores[winner] = 1.0
    flat = np.ones(scores.shape[:2])
    return SearchTable(kernels, np.asarray(alphas), scores, scores.mean(axis=2), flat, flat, "score")


@pytest.mark.parametrize(("place", "beyond"), [(0, np.less), (999, np.greater)])
def test_a_dense_ladder_of_alphas_gets_rungs_that_are_new(place, beyond):
    alphas = np.linspace(5.0, 6.0, 1000)
    found = beyond_edges(table_of([Gaussian()], alphas, (0, place)), Winner(0, (place,)))[1]
    assert len(np.unique(found)) == 3
    assert beyond(found, alphas[place]).all()
    assert (np.maximum(found[1:] / found[:-1], found[:-1] / found[1:]) > 1.15).all()


def test_a_dense_ladder_of_widths_gets_rungs_that_are_new():
    kernels = [Gaussian(w) for w in (2.0, 2.0001, 2.0002)]
    found = beyond_edges(table_of(kernels, [1.0], (2, 0)), Winner(2, (0,)))[0]
    assert [kernel.width for kernel in found] == [2.4, 2.88, 3.46]


def test_a_wide_ladder_goes_on_as_it_was():
    found = beyond_edges(table_of([Gaussian()], [1.0, 10.0, 100.0], (0, 2)), Winner(0, (2,)))[1]
    assert found.tolist() == [1e3, 1e4, 1e5]


def test_spreads_are_those_of_columns_whatever_their_values():
    rng = np.random.default_rng(0)
    normal = rng.normal(size=2000)
    outlier = np.where(np.arange(2000) == 7, 1e9, normal)
    rare = (np.arange(2000) < 10) * 5.0
    mostly_zero = np.where(np.arange(2000) < 30, np.linspace(1.0, 300.0, 2000) * 1e-3, 0.0)
    X = np.column_stack([normal, 1e6 + 1e-3 * normal, outlier, rare, mostly_zero, np.full(2000, 4.0)])
    found = column_spreads(Rows(X))
    np.testing.assert_allclose(found[:4], [1.0, 1e-3, 1.0, 5.0], rtol=0.1)
    assert 1e-3 < found[4] < 6e-3
    assert found[5] == 1.0
    assert column_spreads(Rows(X[:, :1])) is None
    assert column_spreads(as_rows(["a", "b"])) is None


def test_columns_of_different_units_are_fitted_as_well_as_scaled_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=120)
    units = np.array([1.0, 1e4, 1e-3])
    plain, scaled = (KernelRidgeCV().fit(rows[:80], y[:80]) for rows in (X, X * units))
    assert scaled.score(X[80:] * units, y[80:]) == pytest.approx(plain.score(X[80:], y[80:]), abs=0.01)
    with pytest.warns(MercerWarning, match="differ in scale .* Gaussian"):
        KernelRidgeCV([Gaussian(1.0)], [0.1]).fit(X * units, y)


def test_a_ladder_of_widths_by_column_grows_beyond_its_edge():
    kernels = [Gaussian([0.1 * 2**i, 20.0 * 2**i]) for i in range(4)]
    found = beyond_edges(table_of(kernels, [1.0], (3, 0)), Winner(3, (0,)))[0]
    assert [kernel.width.tolist() for kernel in found] == [[1.6, 320.0], [3.2, 640.0], [6.4, 1280.0]]


def test_what_rounding_left_of_a_constant_is_no_spread():
    X = np.random.default_rng(0).normal(size=(40, 2))
    nearly = np.where(np.arange(40) % 2 == 0, 0.3, 0.1 + 0.2)
    assert column_spreads(Rows(np.column_stack([X, nearly])))[2] == 1.0


@pytest.mark.parametrize("scale", [1e-200, 1e149])
def test_columns_too_small_or_large_for_a_width_are_named(scale):
    X = np.random.default_rng(0).normal(size=(20, 2)) * [1.0, scale]
    with pytest.raises(InputError, match="spread of column 1 of X must be between 1e-140 and 1e140"):
        resolve_kernels("gaussian", Rows(X))


def test_given_kernels_do_not_grow_beside_a_name(rng):
    X = rng.normal(size=(40, 2))
    with pytest.warns(EdgeOfGridWarning):
        search = KernelRidgeCV(["linear", Gaussian(0.1), Gaussian(0.2), Gaussian(0.4)], [1e-3]).fit(
            X, np.sin(2 * X[:, 0])
        )
    assert len(search.kernels_) == 4


def test_any_target_makes_default_alphas_grow():
    alphas, kernel = np.geomspace(1e-3, 1e3, 7), Gaussian(1.0)
    scores = np.empty((1, 7, 2, 2))
    scores[0, :, :, 0] = -np.arange(7.0)[:, None]
    scores[0, :, :, 1] = np.arange(7.0)[:, None]
    table = SearchTable([kernel], alphas, scores, scores.mean(axis=2), np.ones((1, 7)), np.zeros((1, 7)), "score")
    _, rungs = beyond_edges(table, Winner(0, (0, 6)), None, (False, True))
    assert rungs.min() > alphas.max()
