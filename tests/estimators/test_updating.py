"""Models without some rows, or with more, against refits."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import mercer
from mercer import KernelRidge, KernelRidgeCV
from mercer.errors import InputError
from mercer.kernels import Gaussian, Linear, Matern, Polynomial, Precomputed

pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")
KERNELS = [Gaussian(1.0), Linear(), Polynomial(2), Matern(1.0, nu=1.5) + Linear()]


@given(st.integers(0, 10**6))
def test_updates_are_refits(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 20))
    X, Y = rng.normal(size=(n, 2)), rng.normal(size=(n, 2)) + rng.choice([0.0, 100.0])
    weights = rng.choice([0.0, 0.5, 2.0], size=n) if rng.integers(2) else None
    if weights is not None:
        weights[:2] = 1.0
    alpha = [0.1, 0.5] if rng.integers(2) else 0.3
    model = KernelRidge(alpha, kernel=KERNELS[rng.integers(4)], fit_intercept=bool(rng.integers(2))).fit(X, Y, weights)
    gone = 2 + rng.permutation(n - 2)[: rng.integers(1, n - 2 + 1)]
    rest = np.setdiff1d(np.arange(n), gone)
    new = rng.normal(size=(5, 2))
    less = model.without(gone)
    own = None if weights is None else weights[rest]
    expected = clone(model).fit(X[rest], Y[rest], own)
    assert less.dual_coef_.shape == expected.dual_coef_.shape
    assert np.allclose(less.predict(new), expected.predict(new), rtol=1e-8, atol=1e-8 * np.abs(Y).max())
    more = less.with_rows(X[gone], Y[gone])
    both = None if own is None else np.append(own, np.ones(len(gone)))
    expected = clone(model).fit(np.vstack([X[rest], X[gone]]), np.vstack([Y[rest], Y[gone]]), both)
    assert np.allclose(more.predict(new), expected.predict(new), rtol=1e-8, atol=1e-8 * np.abs(Y).max())


def drawn(n=20):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, X[:, 0] + 0.1 * rng.normal(size=n)


def test_the_model_itself_stays_as_it_is_and_updates_can_be_chained_saved_and_asked(tmp_path):
    X, y = drawn()
    model = KernelRidge(0.1, kernel=Gaussian(1.0), fit_intercept=True).fit(X, y)
    before = model.predict(X)
    less = model.without([0, -1]).without(np.arange(18) == 3)
    assert np.array_equal(model.predict(X), before)
    expected = clone(model).fit(np.delete(X, [0, 4, 19], 0), np.delete(y, [0, 4, 19]))
    assert np.allclose(less.predict(X), expected.predict(X))
    assert np.allclose(less.predict_interval(X), expected.predict_interval(X))
    assert less.effective_dof_ == pytest.approx(expected.effective_dof_)
    mercer.save(less, tmp_path / "less.mercer")
    assert np.array_equal(mercer.load(tmp_path / "less.mercer").predict(X), less.predict(X))
    mercer.save(model, tmp_path / "model.mercer")
    assert np.allclose(mercer.load(tmp_path / "model.mercer").without(2).predict(X), model.without(2).predict(X))


def test_a_gram_matrix_loses_rows_and_columns():
    X, y = drawn()
    kernel = Gaussian(1.0)
    model = KernelRidge(0.1, kernel=Precomputed()).fit(kernel(X), y).without([1, 5])
    rest = np.delete(np.arange(20), [1, 5])
    expected = KernelRidge(0.1, kernel=kernel).fit(X[rest], y[rest])
    assert np.allclose(model.predict(kernel(X, X[rest])), expected.predict(X))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (20, "rows of without must be between 0 and 19; got 20"),
        (0.5, "rows of without must be row numbers"),
        ([], "rows of without must be row numbers"),
        (np.arange(20), "without cannot leave out all 20 rows"),
    ],
)
def test_rows_that_are_refused(rows, said):
    X, y = drawn()
    with pytest.raises(InputError, match=said):
        KernelRidge(0.1).fit(X, y).without(rows)


def test_new_rows_that_are_refused():
    X, y = drawn()
    with pytest.raises(InputError, match="y of with_rows must be finite, 1 for each of 2 rows"):
        KernelRidge(0.1).fit(X, y).with_rows(X[:2], [np.nan, 1.0])
    with pytest.raises(InputError, match="precomputed"):
        KernelRidge(0.1, kernel="precomputed").fit(np.eye(20), y).with_rows(np.eye(20)[:1], y[:1])


def test_a_search_chooses_again_without_and_with_rows():
    X, y = drawn(30)
    search = KernelRidgeCV([Gaussian(0.5), Gaussian(1.0), Gaussian(3.0)], [0.01, 0.1, 1.0]).fit(X, y)
    less = search.without([0, 4])
    expected = clone(search).fit(np.delete(X, [0, 4], 0), np.delete(y, [0, 4]))
    assert less.best_score_ == expected.best_score_
    more = less.with_rows(X[[0, 4]], y[[0, 4]])
    assert more.best_score_ == pytest.approx(search.best_score_)
    frame = pd.DataFrame(X, columns=["a", "b"])
    named = KernelRidgeCV([Gaussian(1.0).on(["a"])], [0.1, 1.0]).fit(frame, y)
    assert np.allclose(named.without(3).predict(frame), clone(named).fit(frame.drop(3), np.delete(y, 3)).predict(frame))
