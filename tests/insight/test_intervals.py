"""Prediction intervals: jackknife+, CV+ and the Gaussian view against refits, and how often they hold."""

import pickle
import warnings
from collections import Counter
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from interval_refits import QUIET, assert_same, refitted, table
from scipy import sparse
from scipy.stats import binom, norm
from sklearn.kernel_ridge import KernelRidge as SklearnKernelRidge
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, TimeSeriesSplit

from mercer import KernelRidge, KernelRidgeCV, threads
from mercer.errors import InputError
from mercer.insight.intervals import Coverage, count_covered, ranks
from mercer.kernels import Gaussian, Linear, Polynomial
from refusals import tells
from views import read_only

pytestmark = pytest.mark.slow

# -- jackknife+ ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("alpha", [1e-3, 0.1, 10.0])
def test_jackknife_equals_refitting_scikit_learn_without_every_row(rng, alpha, confidence):
    X, y, new = table(rng)
    make = lambda: SklearnKernelRidge(alpha=alpha, kernel="rbf", gamma=0.5)  # noqa: E731
    model = KernelRidge(alpha, kernel="rbf", gamma=0.5).fit(X, y)
    assert_same(model.predict_interval(new, confidence), refitted(make, X, y, new, confidence))


@pytest.mark.parametrize("weighted", ["none", "positive", "some zero"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    ("kernel", "solver"),
    [
        (Gaussian(1.5), "cholesky"),
        (Gaussian(1.5), "spectral"),
        (Linear(), "auto"),
        (Linear(), "cholesky"),
        (Polynomial(2), "primal"),
        (Polynomial(4), "primal"),
    ],
)
def test_jackknife_equals_refitting_without_every_row(rng, kernel, solver, intercept, weighted):
    X, y, new = table(rng)
    weights = {"none": None, "positive": rng.uniform(0.2, 3.0, size=25)}.get(
        weighted, rng.integers(0, 3, size=25) * 1.0
    )
    make = lambda: KernelRidge(0.2, kernel=kernel, solver=solver, fit_intercept=intercept)  # noqa: E731
    model = make().fit(X, y, sample_weight=weights)
    assert_same(model.predict_interval(new, 0.8), refitted(make, X, y, new, 0.8, weights), 1e-8)


@pytest.mark.parametrize("alpha", [1e-6, 1e-10])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("method", ["jackknife+", "cv+"])
@pytest.mark.parametrize("route", ["normal equations", "singular values, few", "singular values, many"])
def test_hardly_penalised_features(rng, route, method, intercept, alpha):
    X, y, new = table(rng, d=40 if "many" in route else 4)
    new[:, -1] *= 1e-3
    X[:, -1] = np.arange(len(X)) == 3  # a row whose leverage is one, up to alpha
    if "few" in route:
        X[:, 0] = X[:, 1] + 1e-5 * X[:, 0]
        new[:, 0] = new[:, 1] + 1e-5 * new[:, 0]
    make = lambda: KernelRidge(alpha, solver="primal", fit_intercept=intercept)  # noqa: E731
    folds = None if method == "jackknife+" else [test for _, test in KFold(3).split(X)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make().fit(X, y)
        expected = refitted(make, X, y, new, 0.8, folds=folds)
    assert route.partition(",")[0] in model.route_.reason
    assert_same(model.predict_interval(new, 0.8, method, cv=3), expected, 1e-8)


def test_several_targets_with_an_alpha_each(rng):
    X, Y, new = table(rng, targets=3)
    alphas = np.array([0.1, 2.0, 0.1])
    for method in ("jackknife+", "cv+", "gaussian"):
        model = KernelRidge(alphas, kernel=Gaussian(2.0), fit_intercept=True).fit(X, Y)
        lower, upper = model.predict_interval(new, 0.8, method, cv=5)
        assert lower.shape == upper.shape == (7, 3)
        for t, alpha in enumerate(alphas):
            alone = KernelRidge(alpha, kernel=Gaussian(2.0), fit_intercept=True).fit(X, Y[:, t])
            assert_same((lower[:, t], upper[:, t]), alone.predict_interval(new, 0.8, method, cv=5))


@pytest.mark.parametrize("method", ["jackknife+", "cv+"])
@pytest.mark.parametrize("zeros", [False, True])
def test_precomputed_kernels_give_the_intervals_of_their_kernel(rng, method, zeros):
    X, y, new = table(rng)
    weights = rng.integers(0 if zeros else 1, 3, size=25) * 1.0
    kernel = Gaussian(1.5)
    given_ = KernelRidge(0.2, kernel="precomputed", fit_intercept=True).fit(kernel(X), y, sample_weight=weights)
    own = KernelRidge(0.2, kernel=kernel, fit_intercept=True).fit(X, y, sample_weight=weights)
    found = given_.predict_interval(kernel(new, X), 0.8, method, cv=5)
    assert_same(found, own.predict_interval(new, 0.8, method, cv=5))
    make = lambda: KernelRidge(0.2, kernel="precomputed", fit_intercept=True)  # noqa: E731
    folds = None if method == "jackknife+" else [test for _, test in KFold(5).split(X)]
    assert_same(found, refitted(make, kernel(X), y, kernel(new, X), 0.8, weights, folds, gram=True))


def test_gaussian_intervals_of_precomputed_kernels_need_the_diagonal(rng):
    X, y, new = table(rng)
    kernel = Gaussian(1.5)
    given_ = KernelRidge(0.2, kernel="precomputed").fit(kernel(X), y)
    own = KernelRidge(0.2, kernel=kernel).fit(X, y).predict_interval(new, method="gaussian")
    assert_same(given_.predict_interval(kernel(new, X), method="gaussian", diag=np.ones(7)), own)
    with pytest.raises(
        InputError, match=r"needs k\(x, x\) of the new rows\. Pass diag=, an array with one number per row\."
    ):
        given_.predict_interval(kernel(new, X), method="gaussian")


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("method", ["jackknife+", "cv+"])
def test_sparse_rows_give_the_intervals_of_dense_ones(rng, monkeypatch, method, intercept):
    X, y, new = table(rng, n=30, d=6)
    X[rng.uniform(size=X.shape) < 0.5] = 0.0
    model = KernelRidge(0.2, fit_intercept=intercept)
    dense = model.fit(X, y).predict_interval(new, 0.8, method, cv=5)
    monkeypatch.setattr("mercer.solvers.primal._MODERATE", 0)  # so that it stays sparse
    monkeypatch.setattr("mercer.solvers.primal._BLOCK", 48)
    model.fit(sparse.csr_matrix(X), y)
    assert_same(model.predict_interval(sparse.csr_matrix(new), 0.8, method, cv=5), dense)


def test_the_mixed_solver_and_several_blocks_of_new_rows_change_nothing(rng):
    X, y, _ = table(rng, n=1600, m=0)
    new = rng.normal(size=(400, 3))
    model = KernelRidge(1.0, kernel=Gaussian(1.5)).fit(X, y)
    assert model.route_.name == "mixed"
    lower, upper = model.predict_interval(new)
    with threads(1):
        assert_same(
            KernelRidge(1.0, kernel=Gaussian(1.5), solver="cholesky").fit(X, y).predict_interval(new), (lower, upper)
        )
    assert_same(model.predict_interval(new[3:5]), (lower[3:5], upper[3:5]))


def test_a_kept_factor_is_forgotten_by_the_next_fit_and_by_pickles(rng):
    X, y, new = table(rng)
    model = KernelRidge(0.2, kernel=Gaussian(1.5)).fit(X, y)
    first = model.predict_interval(new)
    assert_same(model.predict_interval(new), first, 0)
    saved = pickle.dumps(model)
    assert len(saved) < 6000
    assert_same(pickle.loads(saved).predict_interval(new), first)
    second = model.fit(X, 2.0 * y).predict_interval(new)
    assert_same(second, (2.0 * first[0], 2.0 * first[1]))


# -- cv+ ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folds", [2, 5, 10, 25])
@pytest.mark.parametrize("alpha", [1e-3, 1.0])
def test_cv_plus_equals_refitting_scikit_learn_without_every_fold(rng, alpha, folds):
    X, y, new = table(rng)
    make = lambda: SklearnKernelRidge(alpha=alpha, kernel="laplacian", gamma=0.3)  # noqa: E731
    model = KernelRidge(alpha, kernel="laplacian", gamma=0.3).fit(X, y)
    parts = [test for _, test in KFold(folds).split(X)]
    assert_same(model.predict_interval(new, 0.8, "cv+", cv=folds), refitted(make, X, y, new, 0.8, folds=parts))


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    ("kernel", "solver"), [(Gaussian(1.5), "cholesky"), (Polynomial(2), "primal"), (Polynomial(4), "primal")]
)
def test_cv_plus_equals_refitting_without_every_fold(rng, kernel, solver, intercept, zeros):
    X, y, new = table(rng)
    weights = rng.integers(0, 3, size=25) * 1.0 if zeros else rng.uniform(0.2, 3.0, size=25)
    make = lambda: KernelRidge(0.2, kernel=kernel, solver=solver, fit_intercept=intercept)  # noqa: E731
    splitter = KFold(6, shuffle=True, random_state=1)
    model = make().fit(X, y, sample_weight=weights)
    expected = refitted(make, X, y, new, 0.8, weights, [test for _, test in splitter.split(X)])
    assert_same(model.predict_interval(new, 0.8, "cv+", cv=splitter), expected)


def test_few_large_folds_and_many_small_ones(rng):
    X, y, new = table(rng)
    make = lambda: KernelRidge(0.2, kernel=Gaussian(1.5), fit_intercept=True)  # noqa: E731
    for folds in (2, 5, 13):
        parts = [test for _, test in KFold(folds).split(X)]
        found = make().fit(X, y).predict_interval(new, 0.8, "cv+", cv=folds)
        assert_same(found, refitted(make, X, y, new, 0.8, folds=parts))


def test_folds_of_one_row_are_the_jackknife(rng):
    X, y, new = table(rng)
    model = KernelRidge(0.2, kernel=Gaussian(1.5), fit_intercept=True).fit(X, y)
    assert_same(model.predict_interval(new, 0.8, "cv+", cv=25), model.predict_interval(new, 0.8))
    backwards = [(np.delete(np.arange(25), i), [i]) for i in range(24, -1, -1)]
    assert_same(model.predict_interval(new, 0.8, "cv+", cv=backwards), model.predict_interval(new, 0.8))


def test_folds_are_shuffled_by_a_random_state_and_by_nothing_else(rng):
    X, y, new = table(rng)
    model = KernelRidge(0.2, kernel=Gaussian(1.5)).fit(X, y)
    plain, shuffled = (model.predict_interval(new, method="cv+", random_state=seed)[0] for seed in (None, 3))
    assert_same((plain,), (model.predict_interval(new, method="cv+", cv=KFold(10))[0],), 0)
    assert_same((shuffled,), (model.predict_interval(new, method="cv+", random_state=3)[0],), 0)
    assert not np.allclose(plain, shuffled)


@pytest.mark.parametrize("cv", [ShuffleSplit(4, random_state=0), TimeSeriesSplit(4)])
def test_folds_that_are_no_partition_are_refused(rng, cv):
    X, y, new = table(rng)
    with pytest.raises(InputError) as caught:
        KernelRidge().fit(X, y).predict_interval(new, method="cv+", cv=cv)
    assert tells(str(caught.value), "The folds of cv+", f"got {type(cv).__name__}, 4 splits")


def test_more_folds_than_rows_are_refused(rng):
    X, y, new = table(rng, n=4)
    with pytest.raises(InputError, match=r"The number of folds.* got 10"):
        KernelRidge().fit(X, y).predict_interval(new, method="cv+")


# -- the Gaussian view ----------------------------------------------------------------------------------


def test_gaussian_intervals_add_the_noise_to_the_latent_variance(rng):
    X, y, new = table(rng)
    model = KernelRidge(0.2, kernel=Gaussian(1.5), fit_intercept=True).fit(X, y)
    mean, std = model.predict(new, return_std=True)
    reach = norm.ppf(0.975) * np.sqrt(std**2 + 0.2 * model.prior_variance_)
    assert_same(model.predict_interval(new, 0.95, "gaussian"), (mean - reach, mean + reach))


# -- searches ---------------------------------------------------------------------------------------------


@QUIET
def test_a_search_gives_the_intervals_of_its_winner_on_its_own_folds(rng):
    X, y, new = table(rng, n=30)
    groups = rng.integers(0, 6, size=30)
    search = KernelRidgeCV([Gaussian(1.0), Gaussian(3.0)], [0.1, 1.0], cv=GroupKFold(4), fit_intercept=True)
    search.fit(X, y, groups=groups)
    make = lambda: KernelRidge(search.alpha_, kernel=search.best_kernel_, fit_intercept=True)  # noqa: E731
    parts = [split.test for split in search.folds_.splits]
    assert_same(search.predict_interval(new, 0.8, "cv+"), refitted(make, X, y, new, 0.8, folds=parts))
    assert_same(search.predict_interval(new, 0.8), refitted(make, X, y, new, 0.8))
    parts = [test for _, test in KFold(3).split(X)]
    assert_same(search.predict_interval(new, 0.8, "cv+", cv=3), refitted(make, X, y, new, 0.8, folds=parts))
    assert_same(
        search.predict_interval(new, method="gaussian"), search.best_estimator_.predict_interval(new, method="gaussian")
    )
    own, winner = search.coverage(new, new[:, 0]), search.best_estimator_.coverage(new, new[:, 0])
    assert (own.share, own.width) == (winner.share, winner.width)


@QUIET
def test_a_search_with_leave_one_out_has_the_jackknife_for_cv_plus(rng):
    X, Y, new = table(rng, targets=2)
    search = KernelRidgeCV(Gaussian(1.5), [0.1, 1.0, 10.0], alpha_per_target=True).fit(X, Y)
    assert_same(search.predict_interval(new, 0.8, "cv+"), search.predict_interval(new, 0.8))


@QUIET
def test_repeated_folds_are_no_partition(rng):
    X, y, new = table(rng)
    search = KernelRidgeCV(Gaussian(1.5), [0.1, 1.0], cv=5, repeats=2, random_state=0).fit(X, y)
    with pytest.raises(
        InputError, match=r"got 5-fold, shuffled, 2 repeats\. Set cv to a number of folds and repeats to"
    ):
        search.predict_interval(new, method="cv+")


# -- few rows, singular systems ------------------------------------------------------------------------------


@given(n=st.integers(1, 400), percent=st.integers(1, 99))
def test_ranks_are_those_of_whole_numbers(n, percent):
    low = (100 - percent) * (n + 1) // 100
    high = -(-percent * (n + 1) // 100)
    assert ranks(n, percent / 100) == (low, high)


# -- coverage -----------------------------------------------------------------------------------------------------


@pytest.mark.no_cover  # many times what other tests run once: tracing would double its time
def test_simulated_targets_are_covered_as_often_as_asked(rng):
    """One new row for each of many tables: hits are independent, so their number is binomial."""
    turns, hits = 400, Counter()
    asked = list(product(["jackknife+", "cv+", "gaussian"], [0.8, 0.9]))
    for _ in range(turns):
        X = rng.uniform(-3.0, 3.0, size=(40, 1))
        y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=40)
        model = KernelRidge(0.1, kernel=Gaussian(1.0)).fit(X[:-1], y[:-1])
        for method, confidence in asked:
            hits[method, confidence] += float(model.coverage(X[-1:], y[-1:], confidence, method))
    for method, confidence in asked:
        # jackknife+ and CV+ err a little on the safe side; the Gaussian view has an s^2 that is only estimated
        share = confidence if method != "gaussian" else confidence - 0.05
        assert binom.cdf(hits[method, confidence], turns, share) > 1e-4, (method, confidence)
        assert hits[method, confidence] / turns < confidence + 0.08, (method, confidence)


def test_skewed_noise_is_covered_by_the_jackknife(rng):
    X = rng.uniform(-3.0, 3.0, size=(2300, 1))
    y = np.sin(X[:, 0]) + rng.exponential(size=2300) ** 2
    model = KernelRidge(1.0, kernel=Gaussian(1.0), fit_intercept=True).fit(X[:300], y[:300])
    share = float(model.coverage(X[300:], y[300:]))
    assert abs(share - 0.9) < 0.05  # both the 2000 rows and the 300 that set the ends vary


def test_coverage_counts_rows_inside_per_target():
    lower, upper = np.zeros((4, 2)), np.full((4, 2), 2.0)
    found = count_covered(lower, upper, np.array([[0.0, 1.0], [2.0, 3.0], [-1.0, 1.0], [1.0, 1.0]]), 0.9, "cv+")
    assert found.share.tolist() == [0.75, 0.75]
    assert found.width.tolist() == [2.0, 2.0]
    assert float(found) == 0.75
    assert str(found) == "coverage 75.0 %, 75.0 % on 4 rows (nominal 90 %, method cv+); mean width 2, 2"
    with pytest.raises(AttributeError):
        found.share = 1.0


def test_ends_that_crossed_hold_nothing():
    found = count_covered(np.ones(2), np.zeros(2), np.full(2, 0.5), 0.1, "jackknife+")
    assert (found.share, found.width) == (0.0, 0.0)


def test_coverage_is_that_of_the_intervals(rng):
    X, Y, new = table(rng, targets=2)
    truth = rng.normal(size=(7, 2))
    for y, target in ((Y, truth), (Y[:, 0], truth[:, 0]), (Y[:, 0], truth[:, :1]), (Y[:, :1], truth[:, 0])):
        model = KernelRidge(0.2, kernel=Gaussian(1.5)).fit(X, y)
        lower, upper = model.predict_interval(new, 0.7, "cv+", cv=4)
        inside = (lower <= target.reshape(lower.shape)) & (target.reshape(lower.shape) <= upper)
        found = model.coverage(new, target, 0.7, "cv+", cv=4)
        assert isinstance(found, Coverage)
        np.testing.assert_array_equal(found.share, inside.mean(axis=0))
        np.testing.assert_allclose(found.width, (upper - lower).mean(axis=0))


def test_targets_of_another_shape_are_refused(rng):
    X, Y, new = table(rng, targets=2)
    model = KernelRidge(0.2).fit(X, Y)
    with pytest.raises(InputError) as caught:
        model.coverage(new, np.zeros((7, 3)))
    assert tells(str(caught.value), "y", "got shape (7, 3)")
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.coverage(new, np.zeros((6, 2)))


# -- manners ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [0.0, 1.0, 90, -0.1, np.nan, "0.9", None, True, [0.9]])
@pytest.mark.parametrize("method", ["jackknife+", "gaussian"])
def test_confidence_out_of_range_is_refused(rng, confidence, method):
    X, y, new = table(rng)
    with pytest.raises(InputError) as caught:
        KernelRidge().fit(X, y).predict_interval(new, confidence, method)
    assert tells(str(caught.value), "confidence", f"got {confidence!r}")


@pytest.mark.parametrize("method", ["jackknife", "naive", None, ["cv+"], "ful"])
def test_unknown_methods_are_refused(rng, method):
    X, y, new = table(rng)
    with pytest.raises(InputError) as caught:
        KernelRidge().fit(X, y).coverage(new, new[:, 0], method=method)
    assert tells(str(caught.value), "method", "'full'", f"got {method!r}")


@pytest.mark.parametrize("method", ["jackknife+", "cv+", "gaussian"])
def test_inputs_stay_as_they_are_and_may_be_frames_or_single_precision(rng, method):
    X, y, new = (array.astype(np.float32) for array in table(rng))
    kept = [array.copy() for array in (X, y, new)]
    model = KernelRidge(0.2, kernel=Gaussian(1.5), fit_intercept=True)
    plain = model.fit(read_only(X), read_only(y)).predict_interval(read_only(new), method=method)
    model.coverage(read_only(new), read_only(new[:, 0]), method=method)
    for before, after in zip(kept, (X, y, new), strict=True):
        np.testing.assert_array_equal(before, after)
    assert plain[0].dtype == np.float64
    names = ["a", "b", "c"]
    model.fit(pd.DataFrame(X, columns=names), pd.Series(y))
    assert_same(model.predict_interval(pd.DataFrame(new, columns=names), method=method), plain)
    double = model.fit(X.astype(float), y.astype(float)).predict_interval(new.astype(float), method=method)
    assert_same(plain, double)


def test_a_model_must_be_fitted_first(rng):
    from sklearn.exceptions import NotFittedError

    for model in (KernelRidge(), KernelRidgeCV()):
        with pytest.raises(NotFittedError):
            model.predict_interval(np.zeros((2, 3)))
