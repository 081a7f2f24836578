"""Full conformal sets against their definition: every candidate refitted to n + 1 rows, for many values of z."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

import mercer
from drawn import others
from mercer import KernelRidge, KernelRidgeCV
from mercer.data import as_rows
from mercer.errors import IllConditionedWarning, InputError
from mercer.insight.conformal import conformal_sets, pieces
from mercer.kernels import Gaussian, Linear, Precomputed

pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")


def conforms(kernels, alphas, X, y, x0, z, confidence, intercept, alike=None):
    """Whether z is in the set, by inverting the matrix of n + 1 rows for every candidate."""
    both, targets, best = np.vstack([X, x0]), np.append(y, z), None
    for kernel in kernels:
        K = kernel(both)
        for alpha in alphas:
            P = np.linalg.inv(K + alpha * np.eye(len(K)))
            if intercept:
                ones = P.sum(axis=1)
                P = P - np.outer(ones, ones) / ones.sum()
            residuals = P @ targets / np.diag(P)
            error = np.sum(residuals**2)
            if best is None or error < best[0]:
                best = error, np.abs(residuals)
    found = best[1] if alike is None else best[1][np.append(alike, True)]
    return np.sum(found >= found[-1]) > np.floor(round((1 - confidence) * len(found), 9))


def inside(intervals, z):
    return bool(((intervals[:, 0] <= z) & (z <= intervals[:, 1])).any())


@given(st.integers(0, 10**6))
def test_sets_are_what_refitting_for_every_value_gives(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(5, 30)), int(rng.integers(1, 4))
    X, new = rng.normal(size=(n, d)), rng.normal(size=(2, d))
    y = X[:, 0] + rng.standard_t(2, size=n) + rng.choice([0.0, 100.0])
    kernels = [Gaussian(w) for w in (0.5, 1.0, 3.0)][: rng.integers(1, 4)]
    alphas = np.array([0.01, 0.1, 1.0, 10.0])[: rng.integers(1, 5)]
    confidence, intercept = float(rng.choice([0.5, 0.8, 0.9])), bool(rng.integers(2))
    found = conformal_sets(kernels, alphas, as_rows(X), y, as_rows(new), confidence, intercept=intercept)
    values = np.concatenate([np.linspace(y.min() - 5, y.max() + 5, 40), y.mean() + 100 * rng.normal(size=10)])
    for intervals, x0 in zip(found, new, strict=True):
        edges = intervals[np.isfinite(intervals)]
        for z in values[np.abs(values[:, None] - edges).min(axis=1, initial=np.inf) > 1e-6]:
            assert inside(intervals, z) == conforms(kernels, alphas, X, y, x0, z, confidence, intercept)
        for z in edges:  # just inside and just outside
            near = [z - 1e-5, z + 1e-5]
            assert [inside(intervals, each) for each in near] == [
                conforms(kernels, alphas, X, y, x0, each, confidence, intercept) for each in near
            ]


@given(st.integers(0, 10**6))
def test_pieces_are_where_each_quadratic_is_lowest(seed):
    rng = np.random.default_rng(seed)
    quadratics = np.column_stack([rng.normal(size=7), rng.normal(size=7), rng.uniform(0.1, 2, size=7)])
    found = pieces(quadratics)
    assert found[0][0] == -np.inf
    assert found[-1][1] == np.inf
    for low, high, chosen in found:
        z = 0.5 * (max(low, min(high, 0.0) - 1e3) + min(high, max(low, 0.0) + 1e3))  # never an end, where two are equal
        assert chosen == np.argmin(quadratics @ [1.0, z, z * z])


def drawn(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, X[:, 0] + 0.3 * rng.normal(size=n)


def test_the_interval_is_the_hull_of_the_set_and_several_targets_have_one_each():
    X, y = drawn()
    model = KernelRidge(0.1, kernel=Gaussian(1.0), fit_intercept=True).fit(X, np.column_stack([y, -3 * y]))
    first, second = model.predict_set(X[:3] + 0.1)
    lower, upper = model.predict_interval(X[:3] + 0.1, method="full")
    assert lower.shape == upper.shape == (3, 2)
    assert np.allclose(lower[:, 0], [each[0, 0] for each in first])
    assert np.allclose(first[0] * -3, second[0][::-1, ::-1], rtol=1e-8)
    one = KernelRidge(0.1, kernel=Gaussian(1.0), fit_intercept=True).fit(X, y)
    assert np.allclose(one.predict_set(X[:1] + 0.1)[0], first[0])


def test_too_few_rows_give_the_whole_line():
    X, y = drawn(8)
    (found,) = KernelRidge(0.1, kernel="rbf").fit(X, y).predict_set(X[:1], 0.9)
    assert found.tolist() == [[-np.inf, np.inf]]


def test_default_ladders_are_made_of_all_rows():
    X, y = drawn(25)
    new = np.array([[4.0, -2.0]])
    (found,) = KernelRidgeCV("gaussian", fit_intercept=True).fit(X, y).predict_set(new, 0.8)
    both = KernelRidgeCV("gaussian", fit_intercept=True).fit(np.vstack([X, new]), np.append(y, 0.0))
    (given,) = KernelRidgeCV(both.kernels_, both.alphas_, fit_intercept=True).fit(X, y).predict_set(new, 0.8)
    assert np.allclose(found, given, rtol=1e-6)


def test_precomputed_kernels_and_model_files(tmp_path):
    X, y = drawn(30)
    kernel, new = Gaussian(1.0), X[:4] + 0.2
    expected = KernelRidgeCV([kernel], [0.1, 1.0], fit_intercept=True).fit(X, y)
    gram = KernelRidgeCV([Precomputed()], [0.1, 1.0], fit_intercept=True).fit(kernel(X), y)
    found = gram.predict_set(kernel(new, X), diag=np.ones(4))
    mercer.save(expected, tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer").predict_set(new)
    for one, other, third in zip(found, expected.predict_set(new), again, strict=True):
        assert np.allclose(one, other)
        assert np.allclose(third, other)


def test_rows_are_compared_within_their_category():
    X, y = drawn(40)
    old, new = np.arange(40) % 2, np.array([0, 1])
    model = KernelRidge(0.1, kernel=Gaussian(1.0)).fit(X, y)
    found = model.predict_set(X[:2] + 0.1, 0.8, categories=(old, new))
    for intervals, x0, label in zip(found, X[:2] + 0.1, new, strict=True):
        for z in np.linspace(-4, 4, 60):
            near = np.abs(intervals - z).min() < 1e-6
            expected = conforms([Gaussian(1.0)], [0.1], X, y, x0, z, 0.8, False, old == label)
            assert near or inside(intervals, z) == expected


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"cv": 5}, "cv of KernelRidgeCV must have its default"),
        ({"rule": "one_se"}, "rule of KernelRidgeCV"),
        ({"scoring": "neg_mean_absolute_error"}, "scoring of KernelRidgeCV"),
        ({"extend_grid": True}, "extend_grid of KernelRidgeCV"),
    ],
)
def test_what_the_guarantee_does_not_cover_is_refused(how, said):
    X, y = drawn()
    search = KernelRidgeCV([Gaussian(1.0)], [0.1, 1.0], **how).fit(X, y)
    with pytest.raises(InputError, match=said):
        search.predict_set(X[:1])


def test_weights_no_penalty_and_strange_categories_are_refused():
    X, y = drawn()
    with pytest.raises(InputError, match="do not support sample_weight"):
        KernelRidge(0.1).fit(X, y, np.arange(1.0, 41.0)).predict_set(X[:1])
    with pytest.raises(InputError, match="alpha for full conformal sets must be above 0"):
        KernelRidge(0.0, kernel=Linear()).fit(X, y).predict_set(X[:1])
    with pytest.raises(InputError, match="categories must be a pair"):
        KernelRidge(0.1).fit(X, y).predict_set(X[:1], categories=y)
    with pytest.raises(InputError, match="selected for each target"):
        KernelRidgeCV([Gaussian(1.0)], [0.1, 1.0]).fit(X, np.column_stack([y, y])).predict_set(X[:1])


def test_sets_do_not_depend_on_the_unit_of_the_target():
    X, y = drawn(30)
    how = {"intercept": True}
    kernels, new = [Gaussian(0.5), Gaussian(1.0)], as_rows(X[:5] + 0.3)
    found = conformal_sets(kernels, [0.01, 0.1, 1.0], as_rows(X), y, new, 0.9, **how)
    tiny = conformal_sets(kernels, [0.01, 0.1, 1.0], as_rows(X), 1e-13 * y, new, 0.9, **how)
    for one, other in zip(found, tiny, strict=True):
        assert np.allclose(one, 1e13 * other)


def test_residuals_that_are_always_equal_are_ties():
    model = KernelRidge(0.1, kernel=Gaussian(1.0), fit_intercept=True).fit([[0.0]], [0.3])
    assert model.predict_set([[1.0]], 0.5)[0].tolist() == [[-np.inf, np.inf]]


def test_a_search_by_groups_is_not_covered():
    X, y = drawn(30)
    search = KernelRidgeCV([Gaussian(1.0)], [0.1, 1.0]).fit(X, y, groups=np.repeat(np.arange(6), 5))
    with pytest.raises(InputError, match="cv of KernelRidgeCV must have its default"):
        search.predict_set(X[:1])
    with pytest.raises(InputError, match="do not support groups"):
        search.without(0)
    assert mercer.influence(search).chosen is None


def dyadic(n=40, d=2, seed=0):
    """Rows that can be moved far away without rounding, and their targets."""
    rng = np.random.default_rng(seed)
    X = np.round(2**20 * rng.normal(size=(n + 2, d))) / 2**20
    return X[:n], X[:n, 0] + 0.3 * rng.normal(size=n), X[n:]


@pytest.mark.parametrize("d", [2, 60])  # fewer columns than rows, and more
@pytest.mark.parametrize("kernel", [Linear(), Gaussian(2.0), Gaussian(2.0) + 0.5 * Linear()])
def test_ends_do_not_depend_on_where_the_rows_are(kernel, d):
    X, y, new = dyadic(d=d)
    expected = np.vstack(conformal_sets([kernel], [0.1, 1.0], as_rows(X), y, as_rows(new), 0.8, intercept=True))
    for offset in (2.0**17, 2.0**23):
        rows, moved = as_rows(X + offset), as_rows(new + offset)
        found = np.vstack(conformal_sets([kernel], [0.1, 1.0], rows, y, moved, 0.8, intercept=True))
        assert np.allclose(found, expected, rtol=1e-10)
        model = KernelRidge(0.1, kernel=kernel, fit_intercept=True)
        first, second = (np.vstack(model.fit(X + by, y).predict_set(new + by, 0.8)) for by in (0.0, offset))
        assert np.allclose(first, second, rtol=1e-10)


def test_a_tiny_alpha_and_targets_far_from_zero_lose_no_digits():
    X, y, new = dyadic()
    expected = np.vstack(KernelRidge(1e-9, kernel=Linear(), fit_intercept=True).fit(X, y).predict_set(new))
    tiny = np.vstack(KernelRidge(1e-14, kernel=Linear(), fit_intercept=True).fit(X, y).predict_set(new))
    assert np.allclose(tiny, expected, rtol=1e-8)
    far = np.vstack(KernelRidge(1e-9, kernel=Linear(), fit_intercept=True).fit(X, y + 2.0**30).predict_set(new))
    assert np.allclose(far - 2.0**30, expected, atol=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.0)])
@pytest.mark.parametrize("method", ["full", "jackknife+"])
def test_ends_that_are_targets_include_them(kernel, method):
    rng, ends = np.random.default_rng(1), 0
    for _ in range(2):
        X = rng.integers(0, 3, size=(21, 1)).astype(float)
        y, held = X[:, 0] + rng.integers(0, 3, size=21), 0
        for i, rest in enumerate(others(21)):
            model = KernelRidge(0.1, kernel=kernel, fit_intercept=True).fit(X[rest], y[rest])
            (lower,), (upper,) = model.predict_interval(X[i : i + 1], method=method)
            end = min(abs(lower - y[i]), abs(upper - y[i])) < 1e-9
            assert lower <= y[i] <= upper or not end
            ends, held = ends + end, held + (lower <= y[i] <= upper)
        assert held >= 19 or method != "full"  # with each row as the new one, 2 of 21 have the 2 largest residuals
    assert ends


def test_digits_that_are_lost_are_told():
    X, y, new = dyadic(60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wide = KernelRidge(1e-9, kernel=Gaussian(3.0), fit_intercept=True).fit(X, y)
        none = KernelRidge(1e-17, kernel=Gaussian(9.0), fit_intercept=True).fit(X, y)
    with pytest.warns(IllConditionedWarning, match="About 4 digits of the ends of full conformal sets"):
        wide.predict_set(new)
    with pytest.warns(IllConditionedWarning, match="About 0 digits"):
        assert [each.tolist() for each in none.predict_set(new)] == [[[-np.inf, np.inf]]] * 2


def test_more_explicit_features_than_rows_are_used_if_the_model_uses_them():
    X, y, new = dyadic(20, d=30)
    how = {"kernel": Linear(), "fit_intercept": True}
    primal, dual = (
        KernelRidge(0.1, solver=solver, **how).fit(X, y).predict_set(new, 0.8) for solver in ("primal", "cholesky")
    )
    assert np.allclose(np.vstack(primal), np.vstack(dual), rtol=1e-9)


def test_sparse_rows_have_the_sets_of_dense_ones():
    X, y, new = dyadic()
    model = KernelRidge(0.1, kernel=Linear(), fit_intercept=True)
    dense = np.vstack(model.fit(X, y).predict_set(new))
    assert np.allclose(np.vstack(model.fit(csr_matrix(X), y).predict_set(csr_matrix(new))), dense, rtol=1e-9)


def test_a_ladder_among_given_kernels_is_made_again_with_the_new_row(rng):
    X = rng.normal(size=(30, 2))
    y, new = np.sin(X[:, 0]), rng.normal(size=(1, 2)) * 5
    search = KernelRidgeCV(["gaussian", Gaussian(1.0)], [0.1, 1.0]).fit(X, y)
    assert search.own_ladders() == (True, False)
    both = KernelRidgeCV(["gaussian", Gaussian(1.0)], [0.1, 1.0]).fit(np.vstack([X, new]), np.append(y, 0.0))
    given = KernelRidgeCV(both.kernels_, [0.1, 1.0]).fit(X, y)
    np.testing.assert_array_equal(search.predict_set(new)[0], given.predict_set(new)[0])
