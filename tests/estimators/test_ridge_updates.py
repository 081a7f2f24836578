"""Models without some rows, or with more, against refits."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
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
        (20, "rows of without() must be between 0 and 19; got 20"),
        (0.5, "rows of without() must be row numbers"),
        ([], "rows of without() must be row numbers"),
        (np.arange(20), "without() cannot leave out all 20 rows"),
    ],
)
def test_rows_that_are_refused(rows, said):
    X, y = drawn()
    with pytest.raises(InputError, match=re.escape(said)):
        KernelRidge(0.1).fit(X, y).without(rows)


def test_new_rows_that_are_refused():
    X, y = drawn()
    with pytest.raises(InputError, match="y of with_rows must be finite; got NaN"):
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


@given(st.integers(0, 10**6))
def test_many_small_parts_are_one_fit(seed):
    rng = np.random.default_rng(seed)
    n, t = int(rng.integers(3, 30)), int(rng.integers(1, 3))
    X, Y = rng.normal(size=(n, 2)), rng.normal(size=(n, t)) + rng.choice([0.0, 100.0])
    if rng.integers(2):
        X[1::3] = X[0]
    y = Y[:, 0] if t == 1 else Y
    alpha = rng.choice([1e-4, 0.3, 30.0], size=t) if t > 1 and rng.integers(2) else float(rng.choice([1e-4, 0.3]))
    model = KernelRidge(alpha, kernel=KERNELS[rng.integers(4)], fit_intercept=bool(rng.integers(2)))
    whole, parts = clone(model).fit(X, y), np.array_split(np.arange(n), rng.integers(1, n))
    for part in parts:
        assert model.partial_fit(X[part], y[part]) is model
    new = rng.normal(size=(5, 2))
    assert np.allclose(model.predict(new), whole.predict(new), rtol=1e-8, atol=1e-8 * np.abs(Y).max())
    assert np.allclose(model.effective_dof_, whole.effective_dof_, rtol=1e-8)
    assert np.allclose(model.predict_interval(new), whole.predict_interval(new), rtol=1e-7, atol=1e-7 * np.abs(Y).max())
    assert np.array_equal(model.X_fit_, X)


def test_a_grown_factor_that_has_drifted_is_made_anew(monkeypatch):
    X, y = drawn(40)
    model = KernelRidge(1e-3, kernel=Gaussian(1.0), fit_intercept=True).fit(X[:20], y[:20])
    factor = model.fitted_.systems[0][1].inverse
    factor._held[10, 3] += 1e-6  # as rounding might, after very many updates
    fits = []
    monkeypatch.setattr(KernelRidge, "fit", lambda self, *data, fit=KernelRidge.fit: fits.append(1) or fit(self, *data))
    more = model.with_rows(X[20:], y[20:])
    assert fits
    assert np.allclose(more.predict(X), clone(model).fit(X, y).predict(X), rtol=1e-9)


def test_rows_that_make_the_system_singular_are_fitted_by_another_route():
    X = np.repeat(np.arange(3.0), 3)[:, None]
    model = KernelRidge(1e-18, kernel=Gaussian(1.0)).fit(X[::3], np.arange(3.0))
    with pytest.warns(mercer.errors.SingularSystemWarning):
        more = model.with_rows(X, np.repeat(np.arange(3.0), 3))
    assert np.allclose(more.predict(X[::3]), np.arange(3.0), atol=1e-6)


def test_partial_fit_refuses_what_it_cannot_append():
    X, y = drawn()
    model = KernelRidge(1.0).partial_fit(X, y)
    with pytest.raises(InputError, match="y of partial_fit must be finite; got NaN"):
        model.partial_fit(X[:2], [1.0, np.nan])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :1], y)
    for kernel in ("precomputed", Precomputed()):
        assert not hasattr(KernelRidge(1.0, kernel=kernel).fit(X @ X.T, y), "partial_fit")


def test_a_search_says_whether_its_candidates_are_the_same():
    X, y = drawn()
    given = KernelRidgeCV([Gaussian(1.0), Gaussian(2.0)], [0.1, 1.0]).fit(X, y)
    assert given.without(3).updated_ == "the same candidates"
    assert given.with_rows(X[:1], y[:1]).updated_ == "the same candidates"
    assert KernelRidgeCV(alphas=[0.1, 1.0]).fit(X, y).without([0, 1]).updated_ == "kernels made again from the rows"


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.0)])
def test_updates_keep_the_alpha_and_kernel_of_the_fit(kernel):
    X, y = drawn()
    model = KernelRidge(0.1, kernel=kernel).fit(X[:10], y[:10]).set_params(alpha=50.0, kernel=Matern(3.0))
    expected = KernelRidge(0.1, kernel=kernel).fit(X, y).predict(X)
    assert np.allclose(model.with_rows(X[10:], y[10:]).predict(X), expected)
    assert np.allclose(model.partial_fit(X[10:], y[10:]).predict(X), expected)


def test_rows_that_cannot_be_joined_are_refused_in_a_sentence():
    X, y = drawn()
    with pytest.raises(InputError, match="Sparse rows cannot be added"):
        KernelRidge(1.0).partial_fit(X, y).partial_fit(csr_matrix(X), y)
    with pytest.raises(InputError, match="y of partial_fit must be 1 for each of 2 rows"):
        KernelRidge(1.0).partial_fit(X, y).partial_fit(X[:2], [[1], [1, 2]])


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear(), Polynomial(2)])
def test_targets_far_from_zero_lose_no_digits(kernel):
    X, y = drawn(40)
    y, gone = np.round(2**20 * y) / 2**20, [0, 5, 7]  # so that moving them is exact
    model = KernelRidge(0.1, kernel=kernel, fit_intercept=True)
    less = model.fit(X, y + 2.0**30).without(gone)
    near = clone(model).fit(np.delete(X, gone, 0), np.delete(y, gone))
    more = less.with_rows(X[gone], y[gone] + 2.0**30)
    whole = clone(model).fit(np.vstack([near.X_fit_, X[gone]]), np.append(np.delete(y, gone), y[gone]))
    for found, expected in ((less, near), (more, whole)):
        digits = -np.log10(np.abs(found.dual_coef_ - expected.dual_coef_).max() / np.abs(expected.dual_coef_).max())
        assert digits > found.route_.digits - 1
        assert np.allclose(mercer.marginal_effects(found).average, mercer.marginal_effects(expected).average)
        assert np.allclose(mercer.influence(found).residual, mercer.influence(expected).residual)


def test_the_route_of_a_model_without_rows_is_its_own():
    X, y = drawn()
    less = KernelRidge(0.1, kernel=Gaussian(1.0), fit_intercept=True).fit(X, y).without([0, 1, 2])
    assert (less.route_.rank, less.route_.size) == (17, 17)
    column = np.column_stack([X, np.arange(20) == 3])  # of which one row alone tells anything
    model = KernelRidge(1e-4, kernel=Linear(), fit_intercept=True).fit(column, y)
    less, expected = model.without(3), clone(model).fit(np.delete(column, 3, 0), np.delete(y, 3))
    assert less.route_.digits < model.route_.digits - 2
    assert np.allclose(less.dual_coef_, expected.dual_coef_, rtol=10 ** (1 - less.route_.digits))
    model = KernelRidge(1e-9, kernel=Linear(), fit_intercept=True).fit(column, y)  # too close to one: fitted again
    expected = clone(model).fit(np.delete(column, 3, 0), np.delete(y, 3))
    assert np.array_equal(model.without(3).dual_coef_, expected.dual_coef_)
    assert np.array_equal(KernelRidge(0.1).fit(X, y, np.arange(20) > 2).without(0).dual_coef_,
                          KernelRidge(0.1).fit(X, y, np.arange(20) > 2).dual_coef_[1:])  # fmt: skip


def test_drift_is_noticed_where_targets_are_far_from_zero(monkeypatch):
    X, y = drawn(40)
    model = KernelRidge(1e-3, kernel=Gaussian(1.0), fit_intercept=True).fit(X[:20], y[:20] + 1e9)
    model.fitted_.systems[0][1].inverse._held[10, 3] += 1e-6
    fits = []
    monkeypatch.setattr(KernelRidge, "fit", lambda self, *data, fit=KernelRidge.fit: fits.append(1) or fit(self, *data))
    model.with_rows(X[20:], y[20:] + 1e9)
    assert fits
