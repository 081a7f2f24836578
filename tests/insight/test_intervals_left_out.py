"""Models without single rows and folds: few rows, singular systems, any small table."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from interval_refits import QUIET, assert_same, refitted, table
from sklearn.model_selection import KFold

from mercer import KernelRidge
from mercer.data.folds import draw
from mercer.errors import SingularSystemWarning
from mercer.insight.intervals import fold_numbers
from mercer.kernels import Gaussian, Linear

pytestmark = pytest.mark.slow


def test_the_numbers_of_folds_follow_the_test_parts():
    assert fold_numbers(draw(3, np.zeros((7, 1)), np.zeros(7))).tolist() == [0, 0, 0, 1, 1, 2, 2]


def test_too_few_rows_have_no_ends(rng):
    X, y, new = table(rng, n=8)
    lower, upper = KernelRidge(0.2).fit(X, y).predict_interval(new, 0.9)
    assert (lower == -np.inf).all()
    assert (upper == np.inf).all()
    X, y, new = table(rng, n=9)
    assert np.isfinite(KernelRidge(0.2).fit(X, y).predict_interval(new, 0.9)).all()
    weights = np.array([0.0] + [1.0] * 8)  # eight rows count
    assert np.isinf(KernelRidge(0.2).fit(X, y, sample_weight=weights).predict_interval(new, 0.9)).all()
    assert np.isinf(KernelRidge(0.2).fit(X, y, sample_weight=weights).coverage(new, new[:, 0]).width)


@pytest.mark.parametrize("solver", ["cholesky", "primal"])
@pytest.mark.parametrize("intercept", [False, True])
def test_one_row_leaves_a_model_of_nothing(intercept, solver):
    model = KernelRidge(0.5, kernel=Linear(), fit_intercept=intercept, solver=solver).fit([[2.0]], [3.0])
    assert np.isinf(model.predict_interval([[1.0]])).all()
    assert_same(model.predict_interval([[1.0], [5.0]], 0.4), ([-3.0, -3.0], [3.0, 3.0]))


@QUIET
@pytest.mark.parametrize("solver", ["cholesky", "primal"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_two_rows(alpha, intercept, solver):
    X, y, new = np.array([[2.0], [3.0]]), np.array([3.0, 5.0]), np.array([[1.0], [4.0]])
    make = lambda: KernelRidge(alpha, kernel=Linear(), fit_intercept=intercept, solver=solver)  # noqa: E731
    model = make().fit(X, y)
    assert np.isinf(model.predict_interval(new)).all()
    assert_same(model.predict_interval(new, 0.5), refitted(make, X, y, new, 0.5))


SINGULAR = {
    "few features": lambda rng: (Linear(), rng.normal(size=(20, 3))),
    "a row that alone has its column": lambda rng: (
        Linear(),
        np.column_stack([rng.normal(size=(20, 2)), np.eye(20)[3]]),
    ),
    "pairs of rows": lambda rng: (Gaussian(1.0), np.repeat(rng.normal(size=(10, 2)) * 3, 2, axis=0)),
    "one pair of rows": lambda rng: (Gaussian(0.3), np.vstack([X := rng.normal(size=(19, 2)) * 3, X[:1]])),
    "more features than rows": lambda rng: (Linear(), rng.normal(size=(20, 30))),
    "as many features as rows": lambda rng: (Linear(), rng.normal(size=(20, 20))),
    "a regular matrix": lambda rng: (Gaussian(0.3), rng.normal(size=(20, 2)) * 3),
}


@QUIET
@pytest.mark.parametrize("method", ["jackknife+", "cv+"])
@pytest.mark.parametrize("solver", ["cholesky", "spectral", "primal"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", SINGULAR)
def test_no_penalty_at_all(rng, case, weighted, intercept, solver, method):
    kernel, X = SINGULAR[case](rng)
    if solver == "primal" and not isinstance(kernel, Linear):
        pytest.skip("no features")
    y, new = 2.0 + X[:, 0] + rng.normal(size=20), rng.normal(size=(5, X.shape[1]))
    weights = rng.uniform(0.5, 2.0, size=20) if weighted else None
    make = lambda: KernelRidge(0.0, kernel=kernel, fit_intercept=intercept, solver=solver)  # noqa: E731
    folds = None if method == "jackknife+" else [test for _, test in KFold(4).split(X)]
    found = make().fit(X, y, sample_weight=weights).predict_interval(new, 0.8, method, cv=4)
    assert_same(found, refitted(make, X, y, new, 0.8, weights, folds), 1e-7)


def test_a_singular_system_is_told_once_in_fit_and_not_again(rng):
    X, y, new = table(rng)
    with pytest.warns(SingularSystemWarning):
        model = KernelRidge(0.0, solver="cholesky").fit(X, y)
    assert np.isfinite(model.predict_interval(new)).all()


@QUIET
def test_indefinite_kernels_leave_rows_out_as_refits_do(rng):
    X, y, new = table(rng)
    make = lambda: KernelRidge(0.3, kernel="sigmoid", gamma=0.5)  # noqa: E731
    assert_same(make().fit(X, y).predict_interval(new, 0.8), refitted(make, X, y, new, 0.8), 1e-7)


# -- properties ------------------------------------------------------------------------------------------------


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(3, 30),
    targets=st.integers(1, 3),
    intercept=st.booleans(),
    shift=st.floats(-100.0, 100.0),
    factor=st.floats(0.01, 100.0),
    method=st.sampled_from(["jackknife+", "cv+", "gaussian"]),
)
def test_intervals_move_and_grow_with_the_targets_and_do_not_mind_the_order(
    seed, n, targets, intercept, shift, factor, method
):
    rng = np.random.default_rng(seed)
    X, Y, new = table(rng, n=n, targets=targets)
    shift = shift if intercept else 0.0  # a constant is what the intercept takes up
    model = KernelRidge(0.5, kernel=Gaussian(1.5), fit_intercept=intercept)
    test = rng.permutation(n) % 3
    cv = [(np.flatnonzero(test != i), np.flatnonzero(test == i)) for i in range(3)]
    lower, upper = model.fit(X, Y).predict_interval(new, 0.7, method, cv=cv)
    moved = model.fit(X, factor * Y + shift).predict_interval(new, 0.7, method, cv=cv)
    size = 1e-9 * (1.0 + abs(shift) + factor)
    if method != "gaussian" or not intercept:
        np.testing.assert_allclose(moved[0], factor * lower + shift, rtol=1e-8, atol=size)
        np.testing.assert_allclose(moved[1], factor * upper + shift, rtol=1e-8, atol=size)
    flipped = model.fit(X, -Y).predict_interval(new, 0.7, method, cv=cv)
    assert_same(flipped, (-upper, -lower))
    order = rng.permutation(n)
    place = np.argsort(order)
    again = model.fit(X[order], Y[order]).predict_interval(new, 0.7, method, cv=[(place[a], place[b]) for a, b in cv])
    assert_same(again, (lower, upper))


@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(1, 12), intercept=st.booleans(), alpha=st.sampled_from([0.01, 1.0])
)
def test_jackknife_of_any_small_table_equals_refits(seed, n, intercept, alpha):
    rng = np.random.default_rng(seed)
    X, y, new = table(rng, n=n)
    weights = rng.integers(0, 3, size=n) * 1.0
    weights[rng.integers(n)] = 1.0
    make = lambda: KernelRidge(alpha, kernel=Gaussian(1.5), fit_intercept=intercept)  # noqa: E731
    model = make().fit(X, y, sample_weight=weights)
    if (weights > 0).sum() > 1:
        assert_same(model.predict_interval(new, 0.6), refitted(make, X, y, new, 0.6, weights))


def test_more_confidence_is_wider(rng):
    X, y, new = table(rng, n=200)
    model = KernelRidge(0.5, kernel=Gaussian(1.5)).fit(X, y)
    for method in ("jackknife+", "cv+", "gaussian"):
        ends = [model.predict_interval(new, confidence, method) for confidence in (0.5, 0.8, 0.9, 0.99)]
        for (low, high), (lower, higher) in pairwise(ends):
            assert (lower <= low).all()
            assert (high <= higher).all()
